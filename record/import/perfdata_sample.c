/*
 * Parses the body of a sample. The order of its fields is that of perf_output_sample() in
 * kernel/events/core.c.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/util.h"
#include "events/sample_parse.h"
#include "import/perfdata.h"

/* PERF_SAMPLE_READ: of one event, or of its group. */
static void skip_read(struct perfdata_cursor *c, uint64_t format)
{
	uint64_t fields = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST), n = 1;
	uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);

	if (format & PERF_FORMAT_GROUP)
		n = perfdata_u64(c);
	perfdata_bytes(c, 8 * times);
	if (n > UINT16_MAX)
		c->bad = true;
	else
		perfdata_bytes(c, 8 * n * fields);
}

static void skip_branches(struct perfdata_cursor *c, uint64_t type)
{
	uint64_t n = perfdata_u64(c);

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		perfdata_u64(c);
	if (n > UINT16_MAX)
		c->bad = true;
	else
		perfdata_bytes(c, 24 * n);
	/* PERF_SAMPLE_BRANCH_COUNTERS, Linux 6.8: one word for each. */
	if (type & 1u << 19)
		perfdata_bytes(c, 8 * n);
}

/* Words in the recorded machine's order, in place if possible. */
static const uint8_t *words(struct perfdata_cursor *c, uint64_t n, uint64_t **room)
{
	const uint8_t *p = n > UINT16_MAX ? NULL : perfdata_bytes(c, 8 * n);
	uint64_t *to = *room;

	c->bad |= !p;
	/* After a compressed record, nothing is aligned. */
	if (!p || (!c->swap && !((uintptr_t)p & 7)))
		return p;
	memcpy(to, p, 8 * n);
	for (uint64_t i = 0; c->swap && i < n; i++)
		to[i] = __builtin_bswap64(to[i]);
	*room += n;
	return (const uint8_t *)to;
}

static void take_regs(struct perfdata_cursor *c, uint64_t mask, struct sample_in *in)
{
	uint64_t abi = perfdata_u64(c), have = 0;

	if (abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	for (; mask; mask &= mask - 1) {
		int r = __builtin_ctzll(mask);
		uint64_t v = perfdata_u64(c);

		if (r < UREG_MAX && UREG_MASK >> r & 1) {
			in->regs[r] = v;
			have |= 1ull << r;
		}
	}
	/* Unwinding needs these two. Other missing ones are 0, like masked ones. */
	in->has_regs = abi == PERF_SAMPLE_REGS_ABI_64 && have >> UREG_IP & 1 && have >> UREG_SP & 1;
}

static void take_stack(struct perfdata_cursor *c, struct raw_sample *raw, uint64_t **room)
{
	raw->asked = perfdata_u64(c);
	if (!raw->asked)
		return;
	raw->stack = words(c, raw->asked / 8, room);
	perfdata_bytes(c, raw->asked % 8);
	raw->size = perfdata_u64(c);
	/* Beyond the bytes really copied lies data of older records. */
	c->bad |= raw->size > raw->asked;
}

/* Parses the chain, and skips the fields before it and those before the registers. */
static void take_chain(struct perfdata_cursor *c, const struct perfdata_attr *a, struct raw_sample *raw, uint64_t **room)
{
	uint64_t n;

	if (a->sample_type & PERF_SAMPLE_READ)
		skip_read(c, a->read_format);
	if (a->sample_type & PERF_SAMPLE_CALLCHAIN) {
		n = perfdata_u64(c);
		raw->in.chain = (const void *)words(c, n, room);
		raw->in.nchain = raw->in.chain ? (uint32_t)n : 0;
	}
	if (a->sample_type & PERF_SAMPLE_RAW) {
		raw->in.payload_len = perfdata_u32(c);
		raw->in.payload = perfdata_bytes(c, raw->in.payload_len);
	}
	if (a->sample_type & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(c, a->branch_type);
}

/* Only the cgroup is needed after the stack copy. */
static uint64_t take_cgroup(struct perfdata_cursor *c, const struct perfdata_attr *a)
{
	static const uint64_t before[] = {
		PERF_SAMPLE_WEIGHT, PERF_SAMPLE_WEIGHT_STRUCT, PERF_SAMPLE_DATA_SRC, PERF_SAMPLE_TRANSACTION,
	};

	if (!(a->sample_type & PERF_SAMPLE_CGROUP))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		perfdata_bytes(c, a->sample_type & before[i] ? 8 : 0);
	if (a->sample_type & PERF_SAMPLE_REGS_INTR && perfdata_u64(c) != PERF_SAMPLE_REGS_ABI_NONE)
		perfdata_bytes(c, 8ull * (unsigned int)__builtin_popcountll(a->regs_intr));
	perfdata_bytes(c, a->sample_type & PERF_SAMPLE_PHYS_ADDR ? 8 : 0);
	return perfdata_u64(c);
}

/* Before the counters, all fields have one word each. */
static struct perfdata_cursor at_counters(const struct perfdata *pd, const struct perfdata_record *r)
{
	static const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				       PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				       PERF_SAMPLE_PERIOD;
	struct perfdata_cursor c = { .p = r->body, .end = r->body + r->len, .swap = pd->swap };

	perfdata_bytes(&c, 8ull * (unsigned int)__builtin_popcountll(r->attr->sample_type & before));
	return c;
}

bool perfdata_is_offcpu(const struct perfdata_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_BPF_OUTPUT && !strcmp(a->name, "offcpu-time");
}

/*
 * Since Linux 6.16, a raw record tells of the thread that was off the CPU, and the fields before it
 * of the one that ran last: {pid, tid} {ns} {words of the chain, chain} {cgroup}
 * (tools/perf/util/bpf_off_cpu.c and its BPF program).
 */
static void take_offcpu(const struct perfdata *pd, const struct perfdata_attr *a, struct raw_sample *raw,
			uint64_t **room, struct perfdata_cursor *all)
{
	struct sample_in *in = &raw->in;
	struct perfdata_cursor c = { .p = in->payload, .end = in->payload + in->payload_len, .swap = pd->swap };
	uint64_t n, cgroup;

	in->pid = perfdata_u32(&c);
	in->tid = perfdata_u32(&c);
	in->period = perfdata_u64(&c);
	n = perfdata_u64(&c);
	in->chain = (const void *)words(&c, n, room);
	in->nchain = in->chain ? (uint32_t)n : 0;
	cgroup = perfdata_u64(&c);
	if (a->sample_type & PERF_SAMPLE_CGROUP)
		in->cgroup = cgroup;
	all->bad |= c.bad;
}

size_t perfdata_reads(const struct perfdata *pd, const struct perfdata_record *r, struct perfdata_read *out)
{
	const uint64_t format = r->attr->read_format;
	const uint64_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) + !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	struct perfdata_cursor c = at_counters(pd, r);
	uint64_t n = 1;

	if (!(r->attr->sample_type & PERF_SAMPLE_READ) || !(format & PERF_FORMAT_ID))
		return 0;
	if (format & PERF_FORMAT_GROUP) {
		n = perfdata_u64(&c);
		perfdata_bytes(&c, 8 * times);
	}
	n = MIN(n, (uint64_t)PERFDATA_READS);
	for (uint64_t i = 0; i < n; i++) {
		out[i].value = perfdata_u64(&c);
		/* For a single event, its times come in between. */
		perfdata_bytes(&c, format & PERF_FORMAT_GROUP ? 0 : 8 * times);
		out[i].id = perfdata_u64(&c);
		perfdata_bytes(&c, format & PERF_FORMAT_LOST ? 8 : 0);
	}
	return c.bad ? 0 : n;
}

bool perfdata_cookie(const struct perfdata *pd, const struct perfdata_record *r, uint64_t *cookie)
{
	struct perfdata_cursor c = at_counters(pd, r);
	uint64_t n;

	if (!(r->attr->sample_type & PERF_SAMPLE_CALLCHAIN))
		return false;
	if (r->attr->sample_type & PERF_SAMPLE_READ)
		skip_read(&c, r->attr->read_format);
	n = perfdata_u64(&c);
	if (n < 2 || n > UINT16_MAX || !perfdata_bytes(&c, 8 * (n - 2)) || perfdata_u64(&c) != CHAIN_DEFERRED)
		return false;
	*cookie = perfdata_u64(&c);
	return !c.bad;
}

int perfdata_sample(const struct perfdata *pd, const struct perfdata_record *r, struct raw_sample *raw, uint64_t *room)
{
	struct perfdata_cursor c = { .p = r->body, .end = r->body + r->len, .swap = pd->swap };
	const struct perfdata_attr *a = r->attr;
	const uint64_t type = a->sample_type;
	struct sample_in *in = &raw->in;

	memset(raw, 0, sizeof(*raw));
	perfdata_bytes(&c, type & PERF_SAMPLE_IDENTIFIER ? 8 : 0);
	raw->ip = type & PERF_SAMPLE_IP ? perfdata_u64(&c) : 0;
	if (type & PERF_SAMPLE_TID) {
		in->pid = perfdata_u32(&c);
		in->tid = perfdata_u32(&c);
	}
	in->time = r->time;
	in->cpu = r->cpu;
	perfdata_bytes(&c, type & PERF_SAMPLE_TIME ? 8 : 0);
	perfdata_bytes(&c, type & PERF_SAMPLE_ADDR ? 8 : 0);
	perfdata_bytes(&c, type & PERF_SAMPLE_ID ? 8 : 0);
	perfdata_bytes(&c, type & PERF_SAMPLE_STREAM_ID ? 8 : 0);
	perfdata_bytes(&c, type & PERF_SAMPLE_CPU ? 8 : 0);
	in->period = type & PERF_SAMPLE_PERIOD ? perfdata_u64(&c) : a->period;
	if (!(type & PERF_SAMPLE_PERIOD) && a->flags & PERFDATA_FREQ)
		in->period = 1;
	take_chain(&c, a, raw, &room);
	if (type & PERF_SAMPLE_REGS_USER)
		take_regs(&c, a->regs_user, in);
	if (type & PERF_SAMPLE_STACK_USER)
		take_stack(&c, raw, &room);
	else
		in->has_regs = false;
	in->cgroup = take_cgroup(&c, a);
	if (type & PERF_SAMPLE_RAW && perfdata_is_offcpu(a) && !c.bad)
		take_offcpu(pd, a, raw, &room, &c);
	if (c.bad)
		return -EINVAL;
	if (!in->nchain)
		sample_chain_of_ip(raw, r->misc, raw->ip);
	return 0;
}
