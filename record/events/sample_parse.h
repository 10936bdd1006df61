/* Parses a PERF_RECORD_SAMPLE of our layout (perf_layout.h) in place. */
#ifndef NSPROF_SAMPLE_PARSE_H
#define NSPROF_SAMPLE_PARSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Maximum entries of a chain: 127 frames, the kernel's limit, and markers. */
#define RAW_CHAIN_MAX 160

/* What else an event was opened with, beside LAYOUT_SAMPLE_TYPE. */
struct sample_layout {
	uint64_t period;	/* the event's, if fixed; 0: each sample has its own */
	bool has_stack;		/* user registers and stack */
	/*
	 * No call graph was asked for. A chain is that of another recorder's event: the kernel fills in
	 * what samples one software event for all that listen to it.
	 */
	bool no_chain;
	bool has_cgroup;
	bool has_raw;		/* PERF_SAMPLE_RAW */
	bool has_reads;		/* PERF_SAMPLE_READ: its group, with ids and both times */
	bool has_count;		/* PERF_SAMPLE_READ: its own count, with both times */
	bool has_lost;		/* PERF_FORMAT_LOST in these */
};

struct raw_sample {
	/*
	 * All but event, stack, unmasked and copy_full. Registers and payload are not masked yet, and
	 * the payload is as long as the kernel wrote it.
	 */
	struct sample_in in;
	const uint8_t *stack;	/* in the record; NULL if there is none */
	const uint64_t *reads;	/* in the record: nreads of count, id, and with has_lost lost samples */
	uint32_t nreads;
	uint64_t count;		/* with has_count */
	uint64_t ip;		/* the sampled address; perf.data only */
	uint64_t asked, size;	/* bytes: room in the record, really copied */
	/* built here if the kernel gave no chain, or none for 32-bit code */
	uint64_t chain[RAW_CHAIN_MAX];
};

/* Pointers in @raw point into @h. -EINVAL if inner lengths do not fit. */
int sample_parse(const struct perf_event_header *h, const struct sample_layout *l, struct raw_sample *raw);

/*
 * Builds a chain of one from the sampled address @ip, in @raw itself. For events without call
 * graphs, or if nothing is left of the chain. @misc: of the record's header; it tells which context
 * the address belongs to.
 */
void sample_chain_of_ip(struct raw_sample *raw, uint16_t misc, uint64_t ip);

#endif
