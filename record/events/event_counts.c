/* What the kernel counted, as read(2) gives it. */
#include "events/open.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/util.h"
#include "event.h"
#include "host/clock.h"

/* The result of read(2) on an event with our read_format. */
struct read_values {
	uint64_t count, enabled, running;
	uint64_t lost;		/* with FEAT_FORMAT_LOST only */
};

static bool read_event(const struct events *ev, int fd, struct read_values *v)
{
	size_t want = ev->feats & FEAT_FORMAT_LOST ? sizeof(*v) : sizeof(*v) - sizeof(v->lost);

	memset(v, 0, sizeof(*v));
	return read(fd, v, want) == (ssize_t)want;
}

/* The same for a leader with PERF_FORMAT_GROUP: it comes first among the members of its group. */
static bool read_leader(const struct events *ev, int fd, struct read_values *v)
{
	/* their number, enabled, running; then for each the count, the id, and what it lost */
	const size_t head = 3, each = ev->feats & FEAT_FORMAT_LOST ? 3 : 2;
	uint64_t buf[3 + 3 * SAMPLED_EVENTS_MAX];
	const ssize_t got = read(fd, buf, sizeof(buf));

	memset(v, 0, sizeof(*v));
	if (got < (ssize_t)((head + each) * sizeof(*buf)))
		return false;
	*v = (struct read_values){ buf[3], buf[1], buf[2], each > 2 ? buf[5] : 0 };
	return true;
}

static bool count_event(const struct events *ev, const struct event_fd *e, struct events_count *c)
{
	struct read_values v;
	bool ok = ev->v[e->event].reads ? read_leader(ev, e->fd, &v) : read_event(ev, e->fd, &v);

	c->count += v.count;
	c->enabled += v.enabled;
	c->running += v.running;
	c->lost += v.lost;
	return ok;
}

uint64_t events_lost(const struct events *ev, int fd)
{
	struct read_values v;

	return read_event(ev, fd, &v) ? v.lost : 0;
}

static struct events_count *place_of(const struct events *ev, struct events_count *counts, const struct event_fd *e)
{
	return &counts[(size_t)e->event * ev->target->nall + e->cpu];
}

static bool owns_ring(const struct events *ev, const struct event_fd *e)
{
	return e->fd == ev->data[e->cpu].fd || e->fd == ev->data[ev->target->ncpus + e->cpu].fd;
}

void events_drop_cgroup(struct events *ev, uint64_t id)
{
	size_t kept = 0;

	for (size_t i = 0; i < ev->nsamples; i++) {
		const struct event_fd e = ev->samples[i];

		if (e.cgroup != id || owns_ring(ev, &e)) {
			ev->samples[kept++] = e;
			continue;
		}
		count_event(ev, &e, place_of(ev, ev->closed, &e));
		if (e.id)
			event_ids_drop(&ev->ids, e.id, clock_mono_ns());
		close(e.fd);
	}
	ev->nsamples = kept;
}

/*
 * perf_read_value() adds up the living children and what ended ones left (sync_child_event()).
 * Their losses are counted at the parent from the start: __perf_output_begin() in
 * kernel/events/ring_buffer.c.
 */
bool events_counts(const struct events *ev, struct events_count *counts)
{
	struct read_values v;
	bool all = true;

	if (ev->target->nall)
		memcpy(counts, ev->closed, ev->n * ev->target->nall * sizeof(*counts));
	for (size_t i = 0; i < ev->nsamples; i++) {
		struct events_count *c = place_of(ev, counts, &ev->samples[i]);

		c->events++;
		all &= count_event(ev, &ev->samples[i], c);
	}
	for (size_t i = 0; i < ev->nsides; i++)
		if (read_event(ev, ev->sides[i].fd, &v))
			counts[ev->sides[i].cpu].side_lost += v.lost;
	for (size_t i = 0; i < ev->nswitches; i++)
		counts[ev->switches[i].cpu].switch_lost += events_lost(ev, ev->switches[i].fd);
	for (size_t i = 0; i < ev->nwakeups; i++)
		counts[ev->wakeups[i].cpu].wakeup_lost += events_lost(ev, ev->wakeups[i].fd);
	if (ev->switches_lost)
		counts->switch_lost += ev->switches_lost;
	return all;
}

bool events_can_set_period(const struct events *ev)
{
	return !target_is_tasks(ev->target) || ev->opts->no_inherit;
}

int events_set_period(struct events *ev, size_t event, uint64_t period)
{
	int err = 0;

	ev->v[event].now = period;
	for (size_t i = 0; i < ev->nsamples; i++) {
		const struct event_fd *e = &ev->samples[i];

		if (e->event != event)
			continue;
		if (ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &period))
			err = -errno;
		else
			event_ids_put(&ev->ids, e->id, e->event, clock_mono_ns());
	}
	return err;
}
