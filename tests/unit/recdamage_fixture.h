/*
 * In-memory recordings for tests that damage them, and what a reader delivers from them. The
 * expected remainder is computed from the block headers, independently of the reader's code.
 */
#ifndef NSPROF_RECDAMAGE_FIXTURE_H
#define NSPROF_RECDAMAGE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/util.h"
#include "bytes/crc32c.h"
#include "event.h"
#include "recgen.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"

struct image {		/* a recording in memory */
	uint8_t *b;
	size_t len;
};

struct block {
	size_t off, end;	/* bytes of header and payload */
	struct rec_block_header h;
};

/* Around sample @i: its thread comes, or leaves. */
static inline void make_switch(struct rec_writer *w, unsigned int i, bool out)
{
	struct ev_switch ev = { .time = i + 1, .pid = 1, .tid = i / 2 % 5, .cpu = i % 2, .out = out };

	assert_int_equal(rec_writer_switch(w, &ev), 0);
}

/*
 * What the writer was given: sample @i has time i + 1, and is followed by a comm event with the
 * same time. @nevents: of samples; if not 0, each sample is between two switches.
 */
static inline struct image make_of(unsigned int nsamples, unsigned int per_block, uint64_t seed, uint32_t nevents)
{
	struct capture cap = { CAPTURE_KALLSYMS, 0, "ffffffff81000000 T _text\n", 25, 0 };
	struct ev_ledger ledger = { .kept = nsamples };
	struct ev_tally tally[] = { { .second = 1, .kept = 7 }, { .second = 1, .cpu = 1 } };
	struct ev_counts counts[] = { { .count = 1ull << 60 }, { .cpu = 1, .count = 5 } };
	struct gen *g = calloc(1, sizeof(*g));
	struct image im;
	struct rec_writer *w;
	struct stat st;
	int fd = memfd_create("image", 0);

	assert_true(fd >= 0);
	gen_init(g, seed, 4, 300);
	g->nevents = nevents;
	w = gen_writer(g, fd);
	rec_writer_info(w, "event", "cycles");
	for (unsigned int i = 0; i < nsamples; i++) {
		struct ev_comm ev = { .time = i + 1, .pid = 1, .tid = 1, .comm = "x" };

		gen_next(g);
		g->s.time = i + 1;
		if (nevents)
			make_switch(w, i, false);
		rec_writer_sample(w, &g->s);
		rec_writer_comm(w, &ev);
		if (nevents)
			make_switch(w, i, true);
		if (i % per_block == per_block - 1) {
			/*
			 * With the pool used up, the block would stay open and also take the next
			 * samples.
			 */
			while (rec_writer_fill(w) > 50)
				usleep(100);
			rec_writer_tick(w, 1);
			rec_writer_tick(w, 1000000000);
		}
		if (i == nsamples / 2)
			rec_writer_capture(w, &cap);
	}
	rec_writer_tally(w, tally, 2);
	rec_writer_counts(w, counts, 2);
	rec_writer_ledger(w, &ledger);
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	gen_fini(g);
	free(g);
	assert_int_equal(fstat(fd, &st), 0);
	im.len = (size_t)st.st_size;
	im.b = malloc(im.len);
	assert_int_equal(pread(fd, im.b, im.len, 0), im.len);
	close(fd);
	return im;
}

static inline struct image make(unsigned int nsamples, unsigned int per_block, uint64_t seed)
{
	return make_of(nsamples, per_block, seed, 0);
}

/* Finds the blocks of an undamaged image; returns their number. */
static inline size_t blocks_of(const struct image *im, struct block *out, size_t max)
{
	size_t n = 0, off = 64;

	while (off + 32 <= im->len) {
		assert_true(n < max);
		memcpy(&out[n].h, im->b + off, 32);
		assert_int_equal(out[n].h.magic, REC_BLOCK_MAGIC);
		out[n].off = off;
		off += 32 + out[n].h.stored_len;
		out[n++].end = off;
	}
	return n;
}

/* Recomputes the checksum of a block that was changed. */
static inline void fix_crc(struct image *im, const struct block *b)
{
	uint32_t crc;

	memset(im->b + b->off + 28, 0, 4);
	crc = crc32c(0, im->b + b->off, b->end - b->off);
	memcpy(im->b + b->off + 28, &crc, 4);
}

static inline int file_of(const struct image *im, size_t len, char path[32])
{
	int fd = gen_memfd(path);

	assert_int_equal(write(fd, im->b, len), len);
	return fd;
}

struct got {
	/* By time: how often it was delivered. */
	uint8_t sample[4096], comm[4096], sw[4096];
	uint64_t samples, comms, switches;
	uint64_t now;			/* time of the last sample or switch */
	uint64_t digest;		/* of all samples */
	bool wrong;			/* a time that was never written */
	struct gen *gen;		/* not NULL: check the content, too */
	unsigned int next;		/* the generator's next sample */
	struct rec_reader *r;		/* for begin_ahead(): */
	unsigned int alone;		/* blocks left until then */
};

static inline int got_sample(void *ctx, const struct ev_sample *ev)
{
	struct got *g = ctx;
	uint64_t val, want;

	g->samples++;
	g->now = ev->time;
	g->digest = gen_digest(g->digest, ev);
	if (!ev->time || ev->time > ARRAY_SIZE(g->sample)) {
		g->wrong = true;
		return 0;
	}
	g->sample[ev->time - 1]++;
	if (!g->gen)
		return 0;
	for (; g->next < ev->time; g->next++)
		gen_next(g->gen);
	assert_int_equal(ev->tid, g->gen->s.tid);
	assert_int_equal(ev->event, g->gen->s.event);
	assert_int_equal(ev->payload_len, g->gen->s.payload_len);
	if (ev->payload_len)
		assert_memory_equal(ev->payload, g->gen->s.payload, ev->payload_len);
	assert_memory_equal(ev->regs, g->gen->s.regs, sizeof(ev->regs));
	if (!g->gen->s.stack) {
		assert_int_equal(ev->stack.lo, ev->stack.hi);
		return 0;
	}
	assert_int_equal(ev->stack.lo, g->gen->sw.base);
	for (uint32_t i = 0, k = 0; i < g->gen->sw.nwords; i++) {
		want = k < g->gen->sw.nkept && g->gen->sw.idx[k] == i ? g->gen->sw.val[k++] : 0;
		assert_int_equal(stack_view_read(&ev->stack, ev->stack.lo + 8 * (uint64_t)i, &val),
				 0);
		assert_true(val == want);
	}
	return 0;
}

static inline int got_comm(void *ctx, const struct ev_comm *ev)
{
	struct got *g = ctx;

	g->comms++;
	g->digest++;
	if (!ev->time || ev->time > ARRAY_SIZE(g->comm))
		g->wrong = true;
	else
		g->comm[ev->time - 1]++;
	return 0;
}

static inline int got_event(void *ctx, const struct ev_event *ev)
{
	struct got *g = ctx;

	g->digest = hash_combine(g->digest, ev->index + ev->period);
	return 0;
}

/* Neither before an older sample nor after a younger one, if nothing is wrong. */
static inline int got_switch(void *ctx, const struct ev_switch *ev)
{
	struct got *g = ctx;

	g->switches++;
	g->digest = hash_combine(g->digest, ev->time + ev->tid);
	if (!ev->time || ev->time > ARRAY_SIZE(g->sw) || ev->time < g->now)
		g->wrong = true;
	else
		g->sw[ev->time - 1]++;
	g->now = ev->time;
	return 0;
}

static const struct event_ops got_ops = {
	.sample = got_sample, .comm = got_comm, .event = got_event, .cpu_switch = got_switch,
};

static inline int ignore_tally(void *ctx, const struct ev_tally *row)
{
	*(unsigned int *)ctx += row->kept != 0;
	return 0;
}

static inline int ignore_counts(void *ctx, const struct ev_counts *row)
{
	*(unsigned int *)ctx += row->count != 0;
	return 0;
}

static inline int ignore_capture(void *ctx, const struct capture *cap)
{
	const uint8_t *p = cap->data;
	unsigned int *sum = ctx;

	for (size_t i = 0; i < cap->size; i++)	/* sanitizers check that all of it is there */
		*sum += p[i];
	return 0;
}

/* Called before each block. */
static inline void begin_ahead(void *ctx)
{
	struct got *g = ctx;

	if (!g->alone--)
		rec_reader_work_ahead(g->r);
}

/*
 * The thread that decodes ahead must not change the result: compares with @g, the result of reading
 * @r. The first @alone blocks are read without it.
 */
static inline void same_ahead(const char *path, struct rec_reader *r, const struct got *g, unsigned int alone)
{
	const struct rec_damage *a = rec_reader_damage(r), *b;
	struct rec_reader *other = rec_reader_open(path);
	struct got *ahead = calloc(1, sizeof(*ahead));
	struct event_ops ops = got_ops;

	ahead->r = other;
	ahead->alone = alone;
	ops.block = begin_ahead;
	assert_int_equal(rec_reader_events(other, &ops, ahead), 0);
	assert_int_equal(ahead->samples, g->samples);
	assert_int_equal(ahead->comms, g->comms);
	assert_int_equal(ahead->switches, g->switches);
	assert_true(ahead->digest == g->digest);
	b = rec_reader_damage(other);
	assert_true(a->cut == b->cut && a->cut_at == b->cut_at && a->bad_blocks == b->bad_blocks &&
		    a->first_bad == b->first_bad && a->lost_samples == b->lost_samples);
	rec_reader_close(other);
	free(ahead);
}

/* Reads everything. NULL: the file could not be opened. */
static inline struct rec_reader *read_all(const char *path, struct got *g)
{
	struct rec_reader *r = rec_reader_open(path);
	static unsigned int files;
	struct ev_ledger l;
	unsigned int sum = 0;

	if (!r)
		return NULL;
	assert_int_equal(rec_reader_events(r, &got_ops, g), 0);
	/* Starting a thread for each of tens of thousands would take a minute. */
	if (!(files++ % 32))
		same_ahead(path, r, g, files / 32 % 3);
	rec_reader_captures(r, ignore_capture, &sum);
	rec_reader_tally(r, ignore_tally, &sum);
	rec_reader_counts(r, ignore_counts, &sum);
	rec_reader_ledger(r, &l);
	return r;
}

#endif
