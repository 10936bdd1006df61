#include "sink/drain.h"

#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "events/perf_layout.h"
#include "sink/sink_wakeups.h"

/* A side-band ring with one part in this many in use fills up faster than it is drained. */
#define FLOOD_PART 8
/* Up to this fill, a ring leaves time for other work than draining. */
#define ROOM_PERCENT 25

void drain_init(struct drain *d, struct ring *data, size_t ndata, struct ring *side, size_t nside)
{
	d->rings = xcalloc(ndata + nside, sizeof(struct ring *));
	d->n = 0;
	/*
	 * Data rings are read before side-band rings: the mapping that a sample needs was written
	 * before it, so it is visible when the sample is.
	 */
	for (size_t i = 0; i < ndata; i++)
		if (data[i].page)
			d->rings[d->n++] = &data[i];
	for (size_t i = 0; i < nside; i++)
		if (side[i].page)
			d->rings[d->n++] = &side[i];
	d->heap = xcalloc(ndata + nside, sizeof(*d->heap));
	d->last = 0;
	d->side_news = d->side_flood = false;
	d->bounce = xmalloc(LAYOUT_RECORD_MAX);
}

void drain_fini(struct drain *d)
{
	free(d->rings);
	free(d->heap);
	free(d->bounce);
}

/* At equal times, side-band goes first. */
static bool before(const struct drain_head *a, const struct drain_head *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->ring->sideband && !b->ring->sideband;
}

static void sift_down(struct drain_head *heap, size_t n, size_t i)
{
	for (;;) {
		size_t min = i, l = 2 * i + 1, r = l + 1;
		struct drain_head tmp;

		if (l < n && before(&heap[l], &heap[min]))
			min = l;
		if (r < n && before(&heap[r], &heap[min]))
			min = r;
		if (min == i)
			return;
		tmp = heap[i];
		heap[i] = heap[min];
		heap[min] = tmp;
		i = min;
	}
}

/*
 * Room goes back to the kernel as soon as nobody reads there any more: after each sample, or after
 * its batch, which may have come from any ring.
 */
static void give_back(struct drain *d, struct ring *last, const struct sink *s)
{
	if (sink_pending(s))
		return;
	if (s->nslots == 1) {
		ring_release_due(last);
		return;
	}
	for (size_t i = 0; i < d->n; i++)
		ring_release_due(d->rings[i]);
}

unsigned int drain_fill(const struct drain *d, uint64_t least)
{
	unsigned int max = 0;

	for (size_t i = 0; i < d->n; i++) {
		struct ring *r = d->rings[i];

		/* What nothing bounds is thinned instead. */
		if (r->sideband || r->extra || r->size < least)
			continue;
		ring_refresh(r);
		max = MAX(max, (unsigned int)((r->head - r->tail) * 100 / r->size));
	}
	return max;
}

bool drain_has_room(const struct drain *d)
{
	for (size_t i = 0; i < d->n; i++) {
		const struct ring *r = d->rings[i];
		const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_RELAXED);

		if ((head - r->released) * 100 > r->size * ROOM_PERCENT)
			return false;
	}
	return true;
}

uint64_t drain_round(struct drain *d, uint64_t limit, struct sink *s)
{
	uint64_t count = 0;
	size_t n = 0;

	d->side_news = d->side_flood = false;
	for (size_t i = 0; i < d->n; i++) {
		struct ring *r = d->rings[i];
		uint64_t head = r->head;

		ring_refresh(r);
		if (!r->sideband)
			continue;
		d->side_news |= r->head != head;
		d->side_flood |= r->head - r->tail > r->size / FLOOD_PART;
	}
	for (size_t i = 0; i < d->n; i++) {
		struct drain_head h = { 0, d->rings[i] };

		if (ring_time(h.ring, &h.time) && h.time <= limit)
			d->heap[n++] = h;
	}
	for (size_t i = n / 2; i-- > 0;)
		sift_down(d->heap, n, i);
	while (n && !s->err) {
		struct drain_head *top = &d->heap[0];
		const struct perf_event_header *rec = ring_record(top->ring, d->bounce);

		if (top->time < d->last)
			s->ledger->l.unordered++;
		else
			d->last = top->time;
		ring_prefetch(top->ring);
		if (top->ring->wakeups)
			sink_wakeups_take(s, rec, top->time);
		else
			sink_record(s, rec, top->time, rec == d->bounce ? NULL : top->ring, top->ring->sideband);
		if (rec == d->bounce)	/* the next one to wrap will need it */
			sink_flush(s);
		ring_next(top->ring);
		give_back(d, top->ring, s);
		count++;
		if (!ring_time(top->ring, &top->time) || top->time > limit)
			*top = d->heap[--n];
		sift_down(d->heap, n, 0);
	}
	sink_finish(s);
	for (size_t i = 0; i < d->n; i++)
		ring_release(d->rings[i]);
	return count;
}
