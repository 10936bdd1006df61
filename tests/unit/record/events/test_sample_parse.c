/*
 * Round trips of samples: records with random fields are written in both byte orders, as the
 * comment at PERF_RECORD_SAMPLE in include/uapi/linux/perf_event.h describes them, and read by the
 * parsers of perf.data and of our own rings.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "events/perf_layout.h"
#include "events/sample_parse.h"
#include "import/perfdata.h"
#include "random.h"

#define CHAIN_MAX 20u
#define STACK_MAX 512u		/* bytes */
#define ATTR_BYTES 128u
#define HEADER_BYTES 104u

static uint64_t seed = 1;

static uint64_t any(uint64_t below)
{
	return random_next(&seed) % below;
}

/* The content of one record. */
struct said {
	uint64_t type, regs, period, ip, time, cgroup, chain[CHAIN_MAX], reg[64], stack[STACK_MAX / 8];
	uint32_t pid, tid, cpu;
	unsigned int nchain, asked, size;	/* of the stack: bytes */
	uint64_t abi;
};

struct out {
	uint8_t b[8192];
	size_t n;
	bool swap;
};

static void put(struct out *o, uint64_t v, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++)
		o->b[o->n++] = (uint8_t)(v >> 8 * (o->swap ? bytes - 1 - i : i));
}

static void put_some(struct out *o, unsigned int words)
{
	while (words--)
		put(o, random_next(&seed), 8);
}

static void put_if(struct out *o, const struct said *s, uint64_t bit, uint64_t v)
{
	if (s->type & bit)
		put(o, v, 8);
}

static void put_ids(struct out *o, const struct said *s)
{
	put(o, s->pid, 4);
	put(o, s->tid, 4);
}

static void put_cpu(struct out *o, const struct said *s)
{
	put(o, s->cpu, 4);
	put(o, 0, 4);
}

static void put_regs(struct out *o, const struct said *s)
{
	put(o, s->abi, 8);
	for (unsigned int i = 0; s->abi && i < 64; i++)
		if (s->regs >> i & 1)
			put(o, s->reg[i], 8);
}

static void put_stack(struct out *o, const struct said *s)
{
	put(o, s->asked, 8);
	if (!s->asked)
		return;
	for (unsigned int i = 0; i < s->asked / 8; i++)
		put(o, s->stack[i], 8);
	put(o, s->size, 8);
}

static size_t begin(struct out *o, uint32_t type)
{
	size_t at = o->n;

	put(o, type, 4);
	put(o, PERF_RECORD_MISC_USER, 2);
	put(o, 0, 2);
	return at;
}

static void end(struct out *o, size_t at)
{
	size_t n = o->n;

	o->n = at + 6;
	put(o, n - at, 2);
	o->n = n;
}

static void put_sample(struct out *o, const struct said *s)
{
	size_t at = begin(o, PERF_RECORD_SAMPLE);

	put_if(o, s, PERF_SAMPLE_IDENTIFIER, 7);
	put_if(o, s, PERF_SAMPLE_IP, s->ip);
	if (s->type & PERF_SAMPLE_TID)
		put_ids(o, s);
	put_if(o, s, PERF_SAMPLE_TIME, s->time);
	put_if(o, s, PERF_SAMPLE_ADDR, random_next(&seed));
	put_if(o, s, PERF_SAMPLE_ID, 7);
	put_if(o, s, PERF_SAMPLE_STREAM_ID, 7);
	if (s->type & PERF_SAMPLE_CPU)
		put_cpu(o, s);
	put_if(o, s, PERF_SAMPLE_PERIOD, s->period);
	/* A group read, with times and IDs: {nr, enabled, running, {value, id} ...}. */
	if (s->type & PERF_SAMPLE_READ) {
		put(o, 2, 8);
		put_some(o, 2);
		for (unsigned int i = 0; i < 4; i++)
			put(o, 100 + i, 8);
	}
	put_if(o, s, PERF_SAMPLE_CALLCHAIN, s->nchain);
	for (unsigned int i = 0; s->type & PERF_SAMPLE_CALLCHAIN && i < s->nchain; i++)
		put(o, s->chain[i], 8);
	if (s->type & PERF_SAMPLE_RAW) {
		put(o, 20, 4);
		put(o, 0x7766554433221100, 8);
		put_some(o, 1);
		put(o, 0, 4);
	}
	if (s->type & PERF_SAMPLE_BRANCH_STACK) {
		put(o, 3, 8);
		put_some(o, 3 * 3);
	}
	if (s->type & PERF_SAMPLE_REGS_USER)
		put_regs(o, s);
	if (s->type & PERF_SAMPLE_STACK_USER)
		put_stack(o, s);
	put_if(o, s, PERF_SAMPLE_WEIGHT, random_next(&seed));
	put_if(o, s, PERF_SAMPLE_DATA_SRC, random_next(&seed));
	put_if(o, s, PERF_SAMPLE_TRANSACTION, random_next(&seed));
	if (s->type & PERF_SAMPLE_REGS_INTR) {
		put(o, PERF_SAMPLE_REGS_ABI_64, 8);
		put_some(o, 2);		/* regs_intr has two bits */
	}
	put_if(o, s, PERF_SAMPLE_PHYS_ADDR, random_next(&seed));
	put_if(o, s, PERF_SAMPLE_CGROUP, s->cgroup);
	end(o, at);
}

/* A name of 8 bytes, and the fields that sample_id_all appends. */
static void put_comm(struct out *o, const struct said *s)
{
	size_t at = begin(o, PERF_RECORD_COMM);

	put_ids(o, s);
	memcpy(o->b + o->n, "command", 8);
	o->n += 8;
	if (s->type & PERF_SAMPLE_TID)
		put_ids(o, s);
	put_if(o, s, PERF_SAMPLE_TIME, s->time);
	put_if(o, s, PERF_SAMPLE_ID, 7);
	put_if(o, s, PERF_SAMPLE_STREAM_ID, 7);
	if (s->type & PERF_SAMPLE_CPU)
		put_cpu(o, s);
	put_if(o, s, PERF_SAMPLE_IDENTIFIER, 7);
	end(o, at);
}

static void make_up(struct said *s, uint64_t type, uint64_t regs)
{
	memset(s, 0, sizeof(*s));
	s->type = type;
	s->regs = regs;
	s->period = random_next(&seed);
	s->ip = random_next(&seed);
	s->time = random_next(&seed) >> 1;
	s->cgroup = random_next(&seed);
	s->pid = (uint32_t)random_next(&seed);
	s->tid = (uint32_t)random_next(&seed);
	s->cpu = (uint32_t)any(4096);
	s->nchain = (unsigned int)any(CHAIN_MAX);
	s->asked = (unsigned int)any(STACK_MAX / 8) * 8;
	s->size = (unsigned int)any(s->asked + 1);
	s->abi = any(5) ? PERF_SAMPLE_REGS_ABI_64 : PERF_SAMPLE_REGS_ABI_NONE;
	for (unsigned int i = 0; i < CHAIN_MAX; i++)
		s->chain[i] = random_next(&seed);
	for (unsigned int i = 0; i < 64; i++)
		s->reg[i] = random_next(&seed);
	for (unsigned int i = 0; i < STACK_MAX / 8; i++)
		s->stack[i] = random_next(&seed);
}

static void check_regs(const struct said *s, const struct sample_in *in)
{
	const uint64_t needed = 1ull << UREG_IP | 1ull << UREG_SP;
	const uint64_t both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	bool has = (s->type & both) == both && s->abi && (s->regs & needed) == needed;

	assert_int_equal(in->has_regs, has);
	for (unsigned int i = 0; has && i < UREG_MAX; i++)
		if (UREG_MASK >> i & 1)
			assert_int_equal(in->regs[i], s->regs >> i & 1 ? s->reg[i] : 0);
}

static void check(const struct said *s, const struct raw_sample *raw)
{
	const struct sample_in *in = &raw->in;
	uint64_t ip = s->type & PERF_SAMPLE_IP ? s->ip : 0, word;

	assert_int_equal(in->pid, s->type & PERF_SAMPLE_TID ? s->pid : 0);
	assert_int_equal(in->tid, s->type & PERF_SAMPLE_TID ? s->tid : 0);
	assert_int_equal(in->time, s->type & PERF_SAMPLE_TIME ? s->time : 0);
	assert_int_equal(in->cpu, s->type & PERF_SAMPLE_CPU ? s->cpu : 0);
	if (s->type & PERF_SAMPLE_PERIOD)
		assert_int_equal(in->period, s->period);
	assert_int_equal(in->cgroup, s->type & PERF_SAMPLE_CGROUP ? s->cgroup : 0);
	if (s->type & PERF_SAMPLE_CALLCHAIN && s->nchain) {
		assert_int_equal(in->nchain, s->nchain);
		assert_memory_equal(in->chain, s->chain, 8ul * s->nchain);
	} else {
		assert_int_equal(in->nchain, 2);
		assert_int_equal(in->chain[0], (uint64_t)PERF_CONTEXT_USER);
		assert_int_equal(in->chain[1], ip);
	}
	check_regs(s, in);
	if (!(s->type & PERF_SAMPLE_STACK_USER) || !s->asked) {
		assert_null(raw->stack);
		return;
	}
	assert_int_equal(raw->asked, s->asked);
	assert_int_equal(raw->size, s->size);
	for (unsigned int i = 0; i < s->asked / 8; i++) {
		memcpy(&word, raw->stack + 8ul * i, 8);
		assert_int_equal(word, s->stack[i]);
	}
}

/* ---- perf.data ---- */

static void put_flag(struct out *o, size_t at, unsigned int bit)
{
	o->b[at + bit / 8] |= (uint8_t)(o->swap ? 0x80u >> bit % 8 : 1u << bit % 8);
}

/* A file with one event whose samples have these fields; the data follows. */
static void put_head(struct out *o, uint64_t type, uint64_t regs)
{
	size_t attr;

	memset(o->b, 0, sizeof(o->b));
	o->n = 0;
	memcpy(o->b, o->swap ? "2ELIFREP" : "PERFILE2", 8);
	o->n = 8;
	put(o, HEADER_BYTES, 8);
	put(o, ATTR_BYTES + 16, 8);
	put(o, HEADER_BYTES, 8);
	put(o, ATTR_BYTES + 16, 8);
	put(o, HEADER_BYTES + ATTR_BYTES + 16, 8);
	attr = HEADER_BYTES;
	o->n = attr;
	put(o, PERF_TYPE_SOFTWARE, 4);
	put(o, ATTR_BYTES, 4);
	put(o, PERF_COUNT_SW_CPU_CLOCK, 8);
	put(o, 1000, 8);
	put(o, type, 8);
	put(o, PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING, 8);
	put_flag(o, o->n, 10);	/* freq */
	put_flag(o, o->n, 18);	/* sample_id_all */
	o->n = attr + 80;
	put(o, regs, 8);
	put(o, STACK_MAX, 4);
	put(o, 0, 4);
	put(o, 3, 8);		/* regs_intr */
	o->n = HEADER_BYTES + ATTR_BYTES + 16;
}

struct seen_addrs {
	struct perfdata *pd;
	const struct said *s;
	unsigned int samples, comms;
	int err;
	uint64_t room[PERFDATA_ROOM / 8];
};

static int take(void *ctx, const struct perfdata_record *r)
{
	struct seen_addrs *seen = ctx;
	const struct said *s = seen->s;
	struct raw_sample raw;

	if (r->type == PERF_RECORD_COMM) {
		seen->comms++;
		assert_int_equal(r->time, s->type & PERF_SAMPLE_TIME ? s->time : 0);
		assert_int_equal(r->cpu, s->type & PERF_SAMPLE_CPU ? s->cpu : 0);
		assert_int_equal(r->len, 16);
		assert_memory_equal(r->body + 8, "command", 8);
		return 0;
	}
	seen->samples++;
	seen->err = perfdata_sample(seen->pd, r, &raw, seen->room);
	if (!seen->err)
		check(s, &raw);
	return 0;
}

/* Reads the file @o, whose data begins after the header. */
static void read_back(struct out *o, struct seen_addrs *seen)
{
	size_t data = HEADER_BYTES + ATTR_BYTES + 16, n = o->n;
	int fd = memfd_create("perf.data", 0);

	o->n = 48;
	put(o, n - data, 8);
	o->n = n;
	assert_int_equal(write(fd, o->b, n), n);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	seen->pd = perfdata_open(fd, "made up");
	assert_non_null(seen->pd);
	assert_int_equal(perfdata_each(seen->pd, false, take, seen), 0);
	assert_false(seen->pd->cut);
	perfdata_free(seen->pd);
	close(fd);
}

static const uint64_t fields = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
	PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN |
	PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
	PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP;

static void test_any_fields(void **state)
{
	struct seen_addrs *seen = calloc(1, sizeof(*seen));
	struct out *o = calloc(1, sizeof(*o));
	struct said s;

	(void)state;
	for (unsigned int i = 0; i < 2000; i++) {
		uint64_t regs = any(2) ? UREG_MASK : random_next(&seed) & 0xff0fff;

		make_up(&s, i < 32 ? fields : random_next(&seed) & random_next(&seed) & fields, regs);
		*seen = (struct seen_addrs){ .s = &s };
		o->swap = i % 2;
		put_head(o, s.type, regs);
		put_comm(o, &s);
		put_sample(o, &s);
		put_comm(o, &s);
		read_back(o, seen);
		assert_int_equal(seen->samples, 1);
		assert_int_equal(seen->comms, 2);
		assert_int_equal(seen->err, 0);
	}
	free(o);
	free(seen);
}

/* The cgroup is the last field read: whatever is missing, it does not fit. */
static void test_too_short(void **state)
{
	struct seen_addrs *seen = calloc(1, sizeof(*seen));
	struct out *o = calloc(1, sizeof(*o));
	struct said s;

	(void)state;
	for (unsigned int i = 0; i < 500; i++) {
		size_t at;

		make_up(&s, (random_next(&seed) & fields) | PERF_SAMPLE_CGROUP, UREG_MASK);
		*seen = (struct seen_addrs){ .s = &s };
		o->swap = i % 2;
		put_head(o, s.type, UREG_MASK);
		at = o->n;
		put_sample(o, &s);
		o->n -= 8 * (1 + any((o->n - at) / 8 - 1));
		end(o, at);
		read_back(o, seen);
		assert_int_equal(seen->samples, 1);
		assert_int_equal(seen->err, -EINVAL);
	}
	free(o);
	free(seen);
}

/* ---- our rings ---- */

static void check_raw(bool raws, const struct raw_sample *raw)
{
	if (!raws)
		return;
	assert_int_equal(raw->in.payload_len, 20);
	assert_int_equal(raw->in.payload[0], 0);
	assert_int_equal(raw->in.payload[7], 0x77);
}

/* {count, id} of two events */
static void check_reads(bool reads, const struct raw_sample *raw)
{
	if (!reads)
		return;
	assert_int_equal(raw->nreads, 2);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(raw->reads[i], 100 + i);
}

static void test_our_layout(void **state)
{
	struct out *o = calloc(1, sizeof(*o));
	struct raw_sample raw;
	struct said s;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		bool stack = any(2), cgroup = any(2), raws = any(2), reads = any(2);
		const uint64_t fixed = any(2) ? 1 + any(100000) : 0;
		uint64_t type = LAYOUT_SAMPLE_TYPE | (fixed ? 0 : PERF_SAMPLE_PERIOD) |
			(stack ? PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER : 0) |
			(cgroup ? PERF_SAMPLE_CGROUP : 0) | (raws ? PERF_SAMPLE_RAW : 0) | (reads ? PERF_SAMPLE_READ : 0);

		const struct sample_layout l = {
			.period = fixed, .has_stack = stack, .has_cgroup = cgroup, .has_raw = raws, .has_reads = reads,
		};

		make_up(&s, type, UREG_MASK);
		o->n = 0;
		put_sample(o, &s);
		assert_int_equal(sample_parse((void *)o->b, &l, &raw), 0);
		check(&s, &raw);
		if (fixed)
			assert_int_equal(raw.in.period, fixed);
		check_raw(raws, &raw);
		check_reads(reads, &raw);
		o->n -= 8 * (1 + any(o->n / 8 - 1));
		end(o, 0);
		assert_int_equal(sample_parse((void *)o->b, &l, &raw), -EINVAL);
	}
	free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_fields),
		cmocka_unit_test(test_too_short),
		cmocka_unit_test(test_our_layout),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
