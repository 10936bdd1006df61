/*
 * The frames in front of a stack that say whose it is ("--by"): what those know of them that write folded text and those
 * that show a profile.
 */
#ifndef NSPROF_LEAD_FRAMES_H
#define NSPROF_LEAD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Behind a container's frame when the process is its runtime's. Longer than any process's name, and no
 * container is called so.
 */
#define LEADING_RUNTIME_HELPER "[runtime_helper]"

enum lead_by {
	LEAD_NONE,
	LEAD_COMM,	/* "nginx" */
	LEAD_PROCESS,	/* "nginx-4711" */
	LEAD_THREAD,	/* "nginx-4711/4713" */
	LEAD_CONTAINER,	/* "1f2e3d4c5b6a"; behind it "[runtime_helper]" where it applies */
	LEAD_KINDS,
};

struct lead {
	enum lead_by by[LEAD_KINDS];	/* root first */
	uint32_t n;
	bool merge_threads;	/* threadname.h; of such a thread the number is "N", too; not of a process */
};

/*
 * Kinds separated by commas: "container,process". "container" alone means "container,comm"; LEAD_NONE
 * adds no frame. Leaves merge_threads. 0 or -EINVAL.
 */
int lead_parse(const char *text, struct lead *out);
/* A single one: 0 or -EINVAL. */
int lead_parse_kind(const char *text, size_t len, enum lead_by *out);
/*
 * Appends the frame of a thread, LEAD_COMM, _PROCESS or _THREAD: @comm is the name of the thread, with LEAD_PROCESS of the process, "" or
 * NULL when it has none; @merged: it is one of several of which @tid does not tell.
 */
void lead_thread_text(enum lead_by by, const char *comm, uint32_t pid, uint32_t tid, bool merged, struct strbuf *out);

#endif
