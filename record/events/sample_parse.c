/* Order of the fields: the comment at PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h. */
#include "events/sample_parse.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "events/perf_layout.h"

/* The unread rest of a sample. */
struct body {
	const uint8_t *p, *end;
	bool bad;
};

static uint64_t get_u64(struct body *b)
{
	uint64_t v = 0;

	if (b->end - b->p < (ptrdiff_t)sizeof(v)) {
		b->bad = true;
		return 0;
	}
	memcpy(&v, b->p, sizeof(v));
	b->p += sizeof(v);
	return v;
}

static const uint8_t *get_bytes(struct body *b, uint64_t len)
{
	const uint8_t *p = b->p;

	if ((uint64_t)(b->end - b->p) < len) {
		b->bad = true;
		return NULL;
	}
	b->p += len;
	return p;
}

/* True if they are those of 32-bit code. */
static bool get_regs(struct body *b, struct sample_in *in)
{
	uint64_t abi = get_u64(b);

	memset(in->regs, 0, sizeof(in->regs));
	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return false;
	for (uint64_t mask = UREG_MASK; mask; mask &= mask - 1)
		in->regs[__builtin_ctzll(mask)] = get_u64(b);
	/* Our rules cannot unwind 32-bit code: its words are 4 bytes wide. */
	in->has_regs = abi == PERF_SAMPLE_REGS_ABI_64;
	return !in->has_regs;
}

static void get_stack(struct body *b, struct raw_sample *raw)
{
	raw->asked = get_u64(b);
	if (!raw->asked)
		return;
	raw->stack = get_bytes(b, raw->asked);
	raw->size = get_u64(b);
	/* Beyond the bytes really copied lies data of older records. */
	if (raw->size > raw->asked)
		b->bad = true;
}

void sample_chain_of_ip(struct raw_sample *raw, uint16_t misc, uint64_t ip)
{
	switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
	case PERF_RECORD_MISC_KERNEL:
		raw->chain[0] = PERF_CONTEXT_KERNEL;
		break;
	case PERF_RECORD_MISC_HYPERVISOR:
		raw->chain[0] = PERF_CONTEXT_HV;
		break;
	case PERF_RECORD_MISC_GUEST_KERNEL:
		raw->chain[0] = PERF_CONTEXT_GUEST_KERNEL;
		break;
	case PERF_RECORD_MISC_GUEST_USER:
		raw->chain[0] = PERF_CONTEXT_GUEST_USER;
		break;
	default:
		raw->chain[0] = PERF_CONTEXT_USER;
	}
	raw->chain[1] = ip;
	raw->in.chain = raw->chain;
	raw->in.nchain = 2;
}

/*
 * Adds the address where 32-bit code entered the kernel, behind the kernel's part of the chain.
 * Nothing else tells of it.
 */
static void add_user_ip(struct raw_sample *raw)
{
	struct sample_in *in = &raw->in;

	if (in->nchain > RAW_CHAIN_MAX - 2)
		return;
	if (in->chain != raw->chain)
		memcpy(raw->chain, in->chain, in->nchain * sizeof(*in->chain));
	raw->chain[in->nchain++] = (uint64_t)PERF_CONTEXT_USER;
	raw->chain[in->nchain++] = in->regs[UREG_IP];
	in->chain = raw->chain;
}

/* {number, enabled, running, {count, id, lost} of each} */
static void get_reads(struct body *b, bool has_lost, struct raw_sample *raw)
{
	const uint64_t n = get_u64(b);

	get_bytes(b, 2 * sizeof(uint64_t));
	raw->nreads = (uint32_t)MIN(n, (uint64_t)SAMPLED_EVENTS_MAX);
	raw->reads = (const void *)get_bytes(b, MIN(n, LAYOUT_RECORD_MAX) * (has_lost ? 3 : 2) * sizeof(uint64_t));
}

/* A length of 32 bits and the data, together a multiple of 8. */
static void get_raw(struct body *b, struct sample_in *in)
{
	const uint8_t *len = get_bytes(b, sizeof(uint32_t));
	uint32_t n = 0;

	if (len)
		memcpy(&n, len, sizeof(n));
	in->payload = get_bytes(b, n);
	in->payload_len = in->payload ? n : 0;
	b->bad |= (n + sizeof(n)) % 8;
}

int sample_parse(const struct perf_event_header *h, const struct sample_layout *l, struct raw_sample *raw)
{
	const uint8_t *base = (const uint8_t *)h;
	struct body b = { base + sizeof(*h), base + h->size, false };
	struct sample_in *in = &raw->in;
	uint64_t ip, v, n;
	bool narrow = false;

	get_u64(&b);		/* identifier: the caller knows the event */
	ip = get_u64(&b);
	v = get_u64(&b);
	in->pid = (uint32_t)v;
	in->tid = (uint32_t)(v >> 32);
	in->time = get_u64(&b);
	in->cpu = (uint32_t)get_u64(&b);
	in->period = l->period ? l->period : get_u64(&b);
	if (l->has_count) {
		raw->count = get_u64(&b);
		get_bytes(&b, (l->has_lost ? 3 : 2) * sizeof(uint64_t));
	}
	if (l->has_reads)
		get_reads(&b, l->has_lost, raw);
	n = get_u64(&b);
	in->chain = (const void *)get_bytes(&b, MIN(n, LAYOUT_RECORD_MAX) * 8);
	in->nchain = in->chain ? (uint32_t)n : 0;
	if (l->has_raw)
		get_raw(&b, in);
	in->has_regs = false;
	raw->stack = NULL;
	raw->asked = raw->size = 0;
	if (l->has_stack) {
		narrow = get_regs(&b, in);
		get_stack(&b, raw);
	}
	in->cgroup = l->has_cgroup ? get_u64(&b) : 0;
	if (b.bad)
		return -EINVAL;
	if (!in->nchain || l->no_chain)
		sample_chain_of_ip(raw, h->misc, ip);
	if (narrow && (h->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL)
		add_user_ip(raw);
	return 0;
}
