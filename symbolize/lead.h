/* The frames in front of a stack: whose sample it is ("--by"). */
#ifndef NSPROF_LEAD_H
#define NSPROF_LEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leading.h"
#include "profile.h"
#include "replay.h"
#include "strbuf.h"

/* The frames of a sample, root first and clean (clean.h), into @out[0..LEAD_MAX). How many. */
size_t lead_frames(const struct lead *lead, const struct replay_sample *s, struct strbuf *out);
/* Whose a sample is, as a profile has it; strings are ids in @texts, and clean. */
void lead_thread(const struct lead *lead, const struct replay_sample *s, struct intern *texts,
		 struct profile_thread *out);
/* The frame of one kind, not LEAD_NONE; clean. */
void lead_frame(const struct lead *lead, enum lead_by by, const struct replay_sample *s, struct strbuf *out);
/*
 * Short name of the container a cgroup path belongs to: the first 12 digits of the innermost
 * 64-digit hexadecimal id in it (docker, podman, containerd, CRI-O; with or without "docker-" and
 * ".scope"). True then; else "host" for the root cgroup, or the path itself.
 */
bool lead_container(const char *cgroup, struct strbuf *out);
/* The container of a sample as people call it, by the recording; where that does not tell, as above. */
void lead_sample_container(const struct replay_sample *s, struct strbuf *out);

#endif
