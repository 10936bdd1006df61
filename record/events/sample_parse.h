/* Parses a PERF_RECORD_SAMPLE of our layout (perf_layout.h) in place. */
#ifndef NSPROF_SAMPLE_PARSE_H
#define NSPROF_SAMPLE_PARSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Maximum entries of a chain: 127 frames, the kernel's limit, and markers. */
#define RAW_CHAIN_MAX 160

struct raw_sample {
	/* all but stack, unmasked and copy_full; registers are not masked yet */
	struct sample_in in;
	const uint8_t *stack;	/* in the record; NULL if there is none */
	uint64_t ip;		/* the sampled address; perf.data only */
	uint64_t asked, size;	/* bytes: room in the record, really copied */
	/* built here if the kernel gave no chain, or none for 32-bit code */
	uint64_t chain[RAW_CHAIN_MAX];
};

/*
 * @period: the event's, if fixed; 0: each sample has its own. @has_stack, @has_cgroup: whether the
 * event was opened with user registers and stack, and with cgroup ids. Pointers in @raw point into
 * @h. -EINVAL if inner lengths do not fit.
 */
int sample_parse(const struct perf_event_header *h, uint64_t period, bool has_stack, bool has_cgroup,
		 struct raw_sample *raw);

/*
 * Builds a chain of one from the sampled address @ip, in @raw itself. For events without call
 * graphs, or if nothing is left of the chain. @misc: of the record's header; it tells which context
 * the address belongs to.
 */
void sample_chain_of_ip(struct raw_sample *raw, uint16_t misc, uint64_t ip);

#endif
