/*
 * One perf_event ring buffer: a producer in the kernel, this reader. Protocol: the comment at
 * data_head in include/uapi/linux/perf_event.h. Records are read in place and handed on before
 * their room is given back; only a record that wraps around the end is copied.
 */
#ifndef NSPROF_RING_H
#define NSPROF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	int fd;				/* borrowed: the event that owns the ring; -1 = none */
	struct perf_event_mmap_page *page;	/* NULL = not mapped */
	uint8_t *data;
	uint64_t size;			/* bytes of data, a power of two */
	uint64_t head; /* records below it are whole (as of the last ring_refresh) */
	uint64_t tail;			/* next record to read */
	uint64_t released;		/* what the kernel knows as our tail */
	uint64_t shown;			/* records below it were shown by ring_ahead() */
	uint64_t broken; /* times a header made no sense and the rest was thrown away */
	bool sideband;
};

/*
 * Map the ring of event @fd with @bytes of data (a power of two, whole pages). 0, or negative errno
 * (-EPERM: over perf_event_mlock_kb, -ENOMEM). No message.
 */
int ring_map(struct ring *r, int fd, size_t bytes, bool sideband);
void ring_unmap(struct ring *r);	/* accepts one that is not mapped */

/* A ring over given memory: for tests, and the part of ring_map() behind mmap(2). */
void ring_init(struct ring *r, struct perf_event_mmap_page *page, void *data, size_t bytes);

/* See what the kernel has written. */
void ring_refresh(struct ring *r);

/* Time of the next record in ns. False when there is none. */
bool ring_time(struct ring *r, uint64_t *time);

/*
 * The next record, whole and contiguous; @bounce (LAYOUT_RECORD_MAX bytes) is used if it wraps, or if
 * the kernel gave it a size it has not.
 * Only after ring_time() said true. Valid until ring_next().
 */
const struct perf_event_header *ring_record(const struct ring *r, void *bounce);

/*
 * The record behind it will be read soon. Samples lie 64 KiB apart, which no CPU foresees; the next is
 * taken to be of this one's size, its last line holds what stands behind the stack.
 */
void ring_prefetch(const struct ring *r);

/* Go on to the record behind it. The kernel keeps off what was read until it is given back: */
void ring_next(struct ring *r);
/* everything, */
void ring_release(struct ring *r);
/*
 * or all but the last 1/64 of the ring, as soon as it is 64 KiB, so that the kernel's line is not taken for each record. What was read
 * lately can be read again: all that begins at @released or behind it.
 */
void ring_release_due(struct ring *r);

/* Of a record that lies in the ring, not read yet. */
struct ring_glimpse {
	uint32_t type;
	uint16_t misc;
	uint64_t first;		/* the 8 bytes behind the header; of COMM pid and tid */
	uint64_t time;		/* ns; of side-band, not of samples */
};

/*
 * The next record of a ring of side-band, whole, of those that were not shown before, also of those that came after the last
 * ring_refresh(). False when there is none. Reading goes on where it was.
 */
bool ring_ahead(struct ring *r, struct ring_glimpse *g);
/* Show those that were not read yet once more. */
void ring_ahead_again(struct ring *r);

#endif
