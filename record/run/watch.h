/*
 * What goes away while it is recorded, and is told by nobody.
 *
 * CPUs: the kernel takes the events off a CPU that goes offline (perf_event_exit_cpu() in kernel/events/core.c)
 * without a word to their owner, neither by poll(2) nor by a record, and does not put them back. Events of
 * threads are not bound to that and go on by themselves. Cgroups: their events stay and count nothing any more;
 * a new cgroup of that path is another one, with events of its own. Of each that is made the kernel writes a
 * PERF_RECORD_CGROUP with its path, so that it is known within a tick of the loop. Where there are no such records, or
 * they have another path since we see a part of the hierarchy only, paths that are away are looked for in turn.
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
	uint32_t segment;	/* of the sink, in which all below has been written */
	int fd;			/* /sys/devices/system/cpu/online; -1 where there is nothing to watch */
	char text[4096];	/* what it said last: "0-3,5" */
	bool *away;		/* for each CPU of the target: offline since an earlier look; owned */
	size_t naway;
	size_t next;		/* cgroup to look at next */
	struct late_cgroups pickup;
	uint64_t told_lowest;	/* Hz: events.lowest, as the recording has it */
	bool made;		/* one of the target's paths was made anew, see watch_made() */
};

/*
 * What is found is written to the recording of @sink, too, and counted in its ledger. Where the file is missing,
 * nothing is watched. Own with watch_fini().
 */
void watch_init(struct watch *h, struct events *ev, struct sink *sink);
void watch_fini(struct watch *h);

/*
 * Look, once in a while: a warning for each CPU of the target that is gone, its events opened anew when it is back;
 * a warning for each cgroup that was removed or came back, of which some are looked at in turn. @since_ns: how long sampling has been on, for the warnings. @on: it is on.
 */
void watch_check(struct watch *h, bool on, uint64_t since_ns);

/*
 * After each drain: as watch_check(), at once, for cgroups of which side-band has told that they were made anew; and for
 * those that come to match what was asked for. In a new segment: what it begins without.
 */
void watch_made(struct watch *h, bool on, uint64_t since_ns);

#endif
