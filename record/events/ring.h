/*
 * One perf_event ring buffer: the kernel produces, this reader consumes. Protocol: the comment at
 * data_head in include/uapi/linux/perf_event.h. Records are read and passed on in place before
 * their room is released. Only a record that wraps around the end is copied.
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
	uint64_t head; /* records below it are complete (at the last ring_refresh()) */
	uint64_t tail;			/* next record to read */
	uint64_t released;		/* the tail that the kernel knows */
	uint64_t shown;			/* ring_ahead() has shown the records below it */
	uint64_t broken; /* how often a header was invalid and the rest was dropped */
	bool sideband;
	bool extra;			/* of events that nothing bounds, beside others, or of switches and wake-ups */
	bool wakeups;			/* of these alone */
};

/*
 * Maps the ring of event @fd with @bytes of data (a power of two, whole pages). 0, or negative
 * errno (-EPERM: above perf_event_mlock_kb, -ENOMEM). No message.
 */
int ring_map(struct ring *r, int fd, size_t bytes, bool sideband);
void ring_unmap(struct ring *r);	/* does nothing if it is not mapped */

/* Initializes a ring over given memory: for tests, and used by ring_map() after mmap(2). */
void ring_init(struct ring *r, struct perf_event_mmap_page *page, void *data, size_t bytes);

/* Reads how far the kernel has written. */
void ring_refresh(struct ring *r);

/* Time of the next record in ns. False if there is none. */
bool ring_time(struct ring *r, uint64_t *time);

/*
 * The next record, whole and contiguous. It is copied to @bounce (LAYOUT_RECORD_MAX bytes) if it
 * wraps, or if the kernel gave it a wrong size. Only after ring_time() returned true. Valid until
 * ring_next().
 */
const struct perf_event_header *ring_record(const struct ring *r, void *bounce);

/*
 * Prefetches the record behind the next one, which will be read soon. Samples are 64 KiB apart,
 * which no CPU predicts. The record is assumed to be as long as the one before it; its last line
 * holds what follows the stack copy.
 */
void ring_prefetch(const struct ring *r);

/*
 * Moves on to the next record. The kernel does not overwrite what was read until it is released.
 * ring_release() releases everything.
 */
void ring_next(struct ring *r);
void ring_release(struct ring *r);
/*
 * Releases all but the last 1/64 of the ring, once 64 KiB can be released, so that the kernel's
 * cache line is not touched for each record. What was read lately can be read again: all records
 * that begin at @released or later.
 */
void ring_release_due(struct ring *r);

/* A record in the ring that was not read yet. */
struct ring_glimpse {
	uint32_t type;
	uint16_t misc;
	uint64_t first;		/* the 8 bytes after the header; pid and tid of a COMM */
	uint64_t time;		/* ns; side-band only, not samples */
};

/*
 * The next whole record of a side-band ring that was not shown before, including records newer than
 * the last ring_refresh(). False if there is none. Does not affect reading.
 */
bool ring_ahead(struct ring *r, struct ring_glimpse *g);
/* Lets ring_ahead() show all unread records once more. */
void ring_ahead_again(struct ring *r);

#endif
