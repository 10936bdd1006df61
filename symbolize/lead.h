/* The frames in front of a stack: whose sample it is ("--by"). */
#ifndef NSPROF_LEAD_H
#define NSPROF_LEAD_H

#include <stddef.h>

#include "replay.h"
#include "strbuf.h"

enum lead_by {
	LEAD_COMM,	/* "nginx" */
	LEAD_PROCESS,	/* "nginx-4711" */
	LEAD_THREAD,	/* "nginx-4711/4713" */
	LEAD_CONTAINER,	/* "1f2e3d4c5b6a", then "nginx" */
	LEAD_NONE,
};

#define LEAD_MAX 2	/* frames, at most */

/* "comm", "process" ...: 0 or -EINVAL. */
int lead_parse(const char *text, enum lead_by *out);
/* The frames of a sample, root first and clean (clean.h), into @out[0..LEAD_MAX). How many. */
size_t lead_frames(enum lead_by by, const struct replay_sample *s, struct strbuf *out);
/*
 * Short name of the container a cgroup path belongs to: the first 12 digits of the innermost
 * 64-digit hexadecimal id in it (docker, podman, containerd, CRI-O; with or without "docker-" and
 * ".scope"), "host" for the root cgroup, else the path itself.
 */
void lead_container(const char *cgroup, struct strbuf *out);
/* The container of a sample as people call it, by the recording; where that does not tell, as above. */
void lead_sample_container(const struct replay_sample *s, struct strbuf *out);

#endif
