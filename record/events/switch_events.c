#include "events/switch_events.h"

#include <errno.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "events/open.h"

static struct ring *ring_of(const struct events *ev, uint32_t c)
{
	return &ev->data[2 * (size_t)ev->target->ncpus + c];
}

int switch_events_open(struct events *ev, int pid, const struct cgroup *cg, uint32_t c, struct event_place *where)
{
	const int cpu = (int)ev->target->cpus[c];
	int fd;

	*where = (struct event_place){ cg ? cg->fd : pid, cpu, -1, cg ? PERF_FLAG_PID_CGROUP : 0 };
	if (events_waits(ev) == SIZE_MAX)
		return 0;
	fd = event_open(ev, EVENT_SWITCHES, where);
	if (fd < 0)
		return fd;
	XGROW(ev->switches, ev->nswitches, ev->cap_switches);
	ev->switches[ev->nswitches++] = (struct event_fd){ .fd = fd, .cpu = c, .cgroup = cg ? cg->id : 0 };
	return 0;
}

/* Sends the records of @e to its CPU's ring. */
static int send_to_ring(const struct events *ev, const struct event_fd *e)
{
	return ioctl(e->fd, PERF_EVENT_IOC_SET_OUTPUT, ring_of(ev, e->cpu)->fd) ? -errno : 0;
}

int switch_events_add(struct events *ev, const struct cgroup *cg, uint32_t c)
{
	const size_t first = ev->nswitches;
	struct event_place at;
	int err = switch_events_open(ev, -1, cg, c, &at);

	if (err || ev->nswitches == first)
		return err;
	err = ring_of(ev, c)->page ? send_to_ring(ev, &ev->switches[first]) : -ENXIO;
	if (err)
		switch_events_close_from(ev, first);
	return err;
}

int switch_events_map(struct events *ev)
{
	for (size_t i = 0; i < ev->nswitches; i++) {
		const struct event_fd *e = &ev->switches[i];
		struct ring *r = ring_of(ev, e->cpu);
		int err = r->page ? send_to_ring(ev, e) : ring_map(r, e->fd, ev->switch_bytes, false);

		if (err)
			return err;
		r->extra = true;
	}
	return 0;
}

void switch_events_enable_from(struct events *ev, size_t first)
{
	for (size_t i = first; i < ev->nswitches; i++)
		ioctl(ev->switches[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void switch_events_close_from(struct events *ev, size_t first)
{
	while (ev->nswitches > first)
		close(ev->switches[--ev->nswitches].fd);
}

void switch_events_drop(struct events *ev, uint64_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < ev->nswitches; i++) {
		const struct event_fd e = ev->switches[i];

		if (e.cgroup != id || e.fd == ring_of(ev, e.cpu)->fd) {
			ev->switches[kept++] = e;
			continue;
		}
		ev->switches_lost += events_lost(ev, e.fd);
		close(e.fd);
	}
	ev->nswitches = kept;
}
