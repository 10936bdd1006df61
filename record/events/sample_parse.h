/* A PERF_RECORD_SAMPLE of our layout (perf_layout.h), taken apart in place. */
#ifndef NSPROF_SAMPLE_PARSE_H
#define NSPROF_SAMPLE_PARSE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "event.h"

/* Entries of a chain: 127 frames, which is what kernels take, and markers. */
#define RAW_CHAIN_MAX 160

struct raw_sample {
	struct sample_in in;	/* all but stack, unmasked and copy_full; registers are unmasked yet */
	const uint8_t *stack;	/* in the record; NULL when there is none */
	uint64_t ip;		/* which was hit; of perf.data only */
	uint64_t asked, size;	/* bytes: room in the record, really copied */
	uint64_t chain[RAW_CHAIN_MAX];	/* made up where the kernel gave none, or none of 32-bit code */
};

/*
 * @period: that of the event, if it is fixed; 0: each sample has its own. @has_stack, @has_cgroup: whether the event was
 * opened with user registers and stack, and with cgroup ids. Pointers in @raw lead into @h. -EINVAL when inner lengths do
 * not fit.
 */
int sample_parse(const struct perf_event_header *h, uint64_t period, bool has_stack, bool has_cgroup,
		 struct raw_sample *raw);

/*
 * No call graph, or nothing left of it: the address @ip that was hit is a chain of one, in @raw itself. @misc: of the record's header,
 * which says whose address it is.
 */
void sample_chain_of_ip(struct raw_sample *raw, uint16_t misc, uint64_t ip);

#endif
