/*
 * Would a recording start? Opens its events and maps its rings as nsprof record does, and closes
 * them at once.
 */
#ifndef NSPROF_TRIAL_OPEN_H
#define NSPROF_TRIAL_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "events/cgroup_perf.h"
#include "events/target.h"

struct trial_open {
	int err;		/* 0: it would start; otherwise negative errno */
	/* the failed system call, static; NULL: none, or it failed before any event */
	const char *call;
	struct strbuf said;	/* the recorder's message if it cannot start, one line; owned */
	bool narrowed;		/* user space only */
	int side_err;		/* why mappings are not traced: negative errno, otherwise 0 */
	int wanted_err;		/* why cpu-clock is used instead: negative errno, otherwise 0 */
	enum cgroup_reach reach;	/* TARGET_CGROUPS only */
	int map_err;	/* why the rings are smaller than planned: negative errno, otherwise 0 */
	uint64_t ring_bytes;	/* of one CPU */
	uint64_t ring_ms;	/* their capacity at the default rate */
	size_t ncpus;
};

/*
 * Fills @t for a recording of @kind with default options and @event (NULL: the default event).
 * @pid: the thread for TARGET_TIDS, otherwise 0. TARGET_CGROUPS tries the whole visible hierarchy,
 * TARGET_COMMAND a child that never execs. Release with trial_open_fini().
 */
void trial_open_run(struct trial_open *t, enum target_kind kind, const char *event, uint32_t pid);
/* Checks only what every recording needs first: is nsopen_proc() usable? */
void trial_open_proc(struct trial_open *t);
/* Appends what failed, with the call, to @text, and what helps to @remedy. */
void trial_open_explain(const struct trial_open *t, struct strbuf *text, struct strbuf *remedy);
void trial_open_fini(struct trial_open *t);

#endif
