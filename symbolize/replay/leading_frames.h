/* The frames in front of a stack: whose sample it is ("--by"). */
#ifndef NSPROF_LEADING_FRAMES_H
#define NSPROF_LEADING_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"
#include "replay/replay.h"

/* The frame of one kind, neither LEAD_NONE nor LEAD_PROCESS; clean (escape.h). */
void leading_frame(const struct lead *lead, enum lead_by by, const struct replay_sample *s, struct strbuf *out);
/*
 * The frame LEAD_PROCESS of @img; clean. A process keeps one name from one exec to the next: the one its main thread has last.
 * So ask when the replay is over.
 */
void leading_process(const struct image *img, struct strbuf *out);
/* Is it a container runtime's process in a container? */
bool leading_is_helper(const struct replay_sample *s);
/*
 * Whose a sample is, as a profile has it; strings are ids in @texts, and clean. But @out->process is the index of the
 * image until leading_process_text() can tell its name.
 */
void leading_thread(const struct lead *lead, const struct replay_sample *s, struct intern *texts,
		 struct profile_thread *out);
/* What to put there: an id in @texts. When the replay is over. */
uint32_t leading_process_text(const struct image *img, struct intern *texts);
/*
 * Short name of the container a cgroup path belongs to: the first 12 digits of cgroup_path_id(). True then; else "host" for the root cgroup, or the path itself.
 */
bool leading_container(const char *cgroup, struct strbuf *out);
/* The container of a sample as people call it, by the recording; where that does not tell, as above. */
void leading_sample_container(const struct replay_sample *s, struct strbuf *out);

#endif
