/* The frames in front of a stack: its container, process or thread (--by). */
#ifndef NSPROF_LEADING_FRAMES_H
#define NSPROF_LEADING_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"
#include "replay/replay.h"

/*
 * The frame of kind @by, for folded text (folded_frame.h): LEAD_COMM, LEAD_THREAD or LEAD_CONTAINER.
 */
void leading_frame(const struct lead *lead, enum lead_by by, const struct replay_sample *s, struct strbuf *out);
/*
 * The LEAD_PROCESS frame of @img, for folded text. From one exec to the next, a process has one name: the
 * last one of its main thread. So call it after the replay.
 */
void leading_process(const struct image *img, struct strbuf *out);
/* The LEAD_FIELD frame, for folded text. @fields as in profile_thread.fields. */
void leading_field(const struct lead *lead, const char *fields, struct strbuf *out);
/* The LEAD_EVENT frame, for folded text. NULL: the recording's only event has no name. */
void leading_event(const struct ev_event *ev, struct strbuf *out);
/* Is it a container runtime's process in a container? */
bool leading_is_helper(const struct replay_sample *s);
/*
 * The thread of a sample, as in a profile. Strings are ids in @texts, and text (escape.h). But @out->process
 * is the image's index until leading_process_text() can replace it.
 */
void leading_thread(const struct lead *lead, const struct replay_sample *s, struct intern *texts,
		 struct profile_thread *out);
/* The final value of @out->process: an id in @texts. Call it after the replay. */
uint32_t leading_process_text(const struct image *img, struct intern *texts);
/*
 * Short name of the container that a cgroup path belongs to: the first 12 digits of
 * cgroup_path_id(), with those of an outer container before them. Returns true then. Otherwise "host" for the root cgroup, or the path itself.
 */
bool leading_container(const char *cgroup, struct strbuf *out);
/* The container's name for a sample, from the recording; if it has none, as above. */
void leading_sample_container(const struct replay_sample *s, struct strbuf *out);

#endif
