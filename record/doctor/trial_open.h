/* Would a recording start? Its events are opened and its rings mapped as nsprof record does it, and closed again at once. */
#ifndef NSPROF_TRIAL_OPEN_H
#define NSPROF_TRIAL_OPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "events/cgroup_perf.h"
#include "events/target.h"

struct trial_open {
	int err;		/* 0: it would start; else negative errno */
	const char *call;	/* the system call that failed; NULL: none, or before any event. Static */
	struct strbuf said;	/* what the recorder says when it cannot start, one line; owned */
	bool narrowed;		/* user space only */
	int side_err;		/* why mappings are not traced: negative errno, else 0 */
	int wanted_err;		/* why cpu-clock is taken: negative errno, else 0 */
	enum cgroup_reach reach;	/* of TARGET_CGROUPS */
	int map_err;		/* why the rings are smaller than planned: negative errno, else 0 */
	uint64_t ring_bytes;	/* of one CPU */
	uint64_t ring_ms;	/* what they hold at the default rate */
	size_t ncpus;
};

/*
 * Fill @t for a recording of @kind with the default options but for @event (NULL: that, too). @pid: the thread of
 * TARGET_TIDS, else 0. TARGET_CGROUPS is all of the hierarchy that can be seen, TARGET_COMMAND a child that never execs.
 * Own with trial_open_fini().
 */
void trial_open_run(struct trial_open *t, enum target_kind kind, const char *event, uint32_t pid);
/* Only what every recording asks first: is nsopen_proc() of any use? */
void trial_open_proc(struct trial_open *t);
/* What failed, with the call; and what helps. Adds to both. */
void trial_open_explain(const struct trial_open *t, struct strbuf *text, struct strbuf *remedy);
void trial_open_fini(struct trial_open *t);

#endif
