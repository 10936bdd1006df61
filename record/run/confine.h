/*
 * The recorder gives up what it does not need once its events, its output and its command are
 * ready (contrib/doc/sandbox.md). A layer that the kernel or a container does not have is left out;
 * the other layers hold without it.
 */
#ifndef NSPROF_CONFINE_H
#define NSPROF_CONFINE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "host/sandbox.h"

struct confine {
	bool late_events;	/* events may have to be opened later: for CPUs and cgroups */
	bool kernel;		/* the kernel's names will be looked up */
	bool rotates;		/* files are made, renamed and removed until the end */
	const char *output;	/* borrowed; the file, for @rotates */
	pid_t child;		/* the command; 0 = none */
	uint64_t caps;		/* set by confine_prepare() */
};

/* Opens what later needs rights, and finds out which capabilities must stay. */
void confine_prepare(struct confine *c);
/*
 * Gives up capabilities, and the right to write to files by name, for this thread and those that it
 * starts.
 */
void confine_rights(const struct confine *c);
/*
 * Then, for all threads: no system call but those that recording takes. Says with -v what is in
 * force. 0, or the negative errno of sandbox_filter().
 */
int confine_calls(const struct confine *c);
/* Appends what is in force. @err: of confine_calls(). */
void confine_describe(const struct sandbox_state *st, int err, struct strbuf *out);

#endif
