#include "events/ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/util.h"
#include "events/perf_layout.h"

#define LINE 64u
/* Cache lines at the start of a sample: times, registers, the callchain, the top of the stack. */
#define LINES_AHEAD 8u

/* Bytes to read before the kernel gets the room back. */
#define RELEASE_BYTES 65536
/* 1/KEPT_SHARE of the ring is kept after reading: some samples. */
#define KEPT_SHARE 64

void ring_init(struct ring *r, struct perf_event_mmap_page *page, void *data, size_t bytes)
{
	memset(r, 0, sizeof(*r));
	r->fd = -1;
	r->page = page;
	r->data = data;
	r->size = bytes;
}

int ring_map(struct ring *r, int fd, size_t bytes, bool sideband)
{
	size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
	void *m = mmap(NULL, page_size + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (m == MAP_FAILED)
		return -errno;
	ring_init(r, m, (uint8_t *)m + page_size, bytes);
	r->fd = fd;
	r->sideband = sideband;
	return 0;
}

void ring_unmap(struct ring *r)
{
	if (r->page)
		munmap(r->page, (size_t)(r->data - (uint8_t *)r->page) + r->size);
	r->page = NULL;
	r->fd = -1;
}

void ring_refresh(struct ring *r)
{
	r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
}

/* Records are 8-aligned, as is the end of the ring, so a header or a time never wraps. */
static const void *at(const struct ring *r, uint64_t pos)
{
	return r->data + (pos & (r->size - 1));
}

/*
 * The real length of the record at @pos. If several events report a kernel symbol,
 * perf_event_ksymbol_output() in kernel/events/core.c reuses one header and adds the size of the id
 * fields for each event (6.18 still does). The later records are shorter than their size says and
 * end with old bytes of the ring. The name ends in its first word that contains a 0.
 */
static uint16_t written(const struct ring *r, uint64_t pos)
{
	const struct perf_event_header *h = at(r, pos);

	if (h->type != PERF_RECORD_KSYMBOL)
		return h->size;
	for (uint16_t off = LAYOUT_KSYMBOL_NAME; off + 8 + LAYOUT_ID_SIZE < h->size; off += 8)
		if (memchr(at(r, pos + off), '\0', 8))
			return off + 8 + LAYOUT_ID_SIZE;
	return h->size;
}

bool ring_time(struct ring *r, uint64_t *time)
{
	const struct perf_event_header *h;
	uint64_t left = r->head - r->tail, off;

	if (left < sizeof(*h))
		return false;
	h = at(r, r->tail);
	/* The kernel never writes this. Without sizes, the next record cannot be found. */
	if (h->size < sizeof(*h) + LAYOUT_ID_SIZE || h->size > left || h->size % 8) {
		r->broken++;
		r->tail = r->head;
		return false;
	}
	off = h->type == PERF_RECORD_SAMPLE ? LAYOUT_SAMPLE_TIME : written(r, r->tail) - LAYOUT_ID_TIME;
	memcpy(time, at(r, r->tail + off), sizeof(*time));
	return true;
}

const struct perf_event_header *ring_record(const struct ring *r, void *bounce)
{
	const struct perf_event_header *h = at(r, r->tail);
	size_t pos = (size_t)(r->tail & (r->size - 1)), first = r->size - pos;
	const uint16_t len = written(r, r->tail);
	struct perf_event_header *copy = bounce;

	if (len <= first && len == h->size)
		return h;
	first = MIN(first, len);
	memcpy(bounce, r->data + pos, first);
	memcpy((uint8_t *)bounce + first, r->data, len - first);
	copy->size = len;
	return copy;
}

void ring_prefetch(const struct ring *r)
{
	const struct perf_event_header *h = at(r, r->tail);
	const uint64_t next = r->tail + h->size;

	if (r->head - next < h->size || next > r->head)
		return;
	for (uint64_t off = 0; off < LINES_AHEAD * LINE; off += LINE)
		__builtin_prefetch(at(r, next + off));
	__builtin_prefetch(at(r, next + h->size - 1));
}

static void release_to(struct ring *r, uint64_t pos)
{
	__atomic_store_n(&r->page->data_tail, pos, __ATOMIC_RELEASE);
	r->released = pos;
}

void ring_release(struct ring *r)
{
	if (r->released != r->tail)
		release_to(r, r->tail);
}

void ring_next(struct ring *r)
{
	const struct perf_event_header *h = at(r, r->tail);

	r->tail += h->size;
}

bool ring_ahead(struct ring *r, struct ring_glimpse *g)
{
	const uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	const struct perf_event_header *h;
	uint64_t left;

	if (r->shown < r->tail)
		r->shown = r->tail;
	left = head - r->shown;
	if (left < sizeof(*h))
		return false;
	h = at(r, r->shown);
	/* As in ring_time(), which counts it. */
	if (h->size < sizeof(*h) + LAYOUT_ID_SIZE || h->size > left || h->size % 8) {
		r->shown = head;
		return false;
	}
	g->type = h->type;
	g->misc = h->misc;
	memcpy(&g->first, at(r, r->shown + sizeof(*h)), sizeof(g->first));
	memcpy(&g->time, at(r, r->shown + written(r, r->shown) - LAYOUT_ID_TIME), sizeof(g->time));
	r->shown += h->size;
	return true;
}

void ring_ahead_again(struct ring *r)
{
	r->shown = r->tail;
}

void ring_release_due(struct ring *r)
{
	const uint64_t kept = r->size / KEPT_SHARE;

	if (r->tail - r->released >= kept + RELEASE_BYTES)
		release_to(r, r->tail - kept);
}
