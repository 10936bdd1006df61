/*
 * Notices what goes away during a recording, which nobody else reports.
 *
 * CPUs: the kernel takes the events off a CPU that goes offline (perf_event_exit_cpu() in
 * kernel/events/core.c) and does not put them back. It tells their owner neither by poll(2) nor by
 * a record. Events of threads are not bound to a CPU and continue. Cgroups: the events of a removed
 * cgroup stay and count nothing. A new cgroup with that path is another one, with events of its
 * own. For each new cgroup the kernel writes a PERF_RECORD_CGROUP with its path, so it is known
 * within a tick of the loop. If there are no such records, or if they have other paths because we
 * see only a part of the hierarchy, missing paths are looked up in turn.
 */
#ifndef NSPROF_WATCH_H
#define NSPROF_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "events/open.h"
#include "run/late_cgroups.h"
#include "sink/sink.h"

struct watch {
	struct events *ev;	/* borrowed, as sink */
	struct sink *sink;
	uint32_t segment;	/* the sink's segment that has all of the state below */
	int fd;			/* /sys/devices/system/cpu/online; -1: nothing to watch */
	char text[4096];	/* its latest content: "0-3,5" */
	bool *away;		/* for each CPU of the target: offline at the latest look; owned */
	size_t naway;
	size_t next;		/* the next cgroup to look at */
	struct late_cgroups pickup;
	uint64_t told_lowest;	/* Hz: events.lowest, as written to the recording */
	bool made;		/* a path of the target was created again, see watch_made() */
};

/*
 * Changes are also written to the recording of @sink and counted in its ledger. Without the file of
 * online CPUs, CPUs are not watched. Release with watch_fini().
 */
void watch_init(struct watch *h, struct events *ev, struct sink *sink);
void watch_fini(struct watch *h);

/*
 * Call regularly. Warns about each CPU of the target that is gone, and opens its events again when
 * it is back. Warns about each cgroup that was removed or came back; each call looks at some of
 * them. @since_ns: how long sampling has been on, for the warnings. @on: it is on.
 */
void watch_check(struct watch *h, bool on, uint64_t since_ns);

/*
 * Call after each drain. Checks cgroups as watch_check(), at once, if side-band reported that one
 * was created again. Picks up cgroups that match only now. In a new segment, writes what is missing
 * at its beginning.
 */
void watch_made(struct watch *h, bool on, uint64_t since_ns);

#endif
