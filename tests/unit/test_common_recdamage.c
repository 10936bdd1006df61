/*
 * Damaged recordings: whatever is whole is delivered, what is missing is said, and no bytes crash
 * the reader. What must be left is worked out here from the block headers, apart from the reader's
 * own code.
 */
#include <errno.h>
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

#include "crc32c.h"
#include "event.h"
#include "event_codec.h"
#include "log.h"
#include "nibble_codec.h"
#include "rec_reader.h"
#include "rec_writer.h"
#include "recgen.h"
#include "recording.h"
#include "sample_codec.h"
#include "util.h"

struct image {		/* a recording in memory */
	uint8_t *b;
	size_t len;
};

struct block {
	size_t off, end;	/* bytes of header and payload */
	struct rec_block_header h;
};

/*
 * What the writer was given: sample @i has time i + 1, and a comm event with the same time follows
 * it.
 */
static struct image make(unsigned int nsamples, unsigned int per_block, uint64_t seed)
{
	struct capture cap = { CAPTURE_KALLSYMS, 0, "ffffffff81000000 T _text\n", 25, 0 };
	struct ev_ledger ledger = { .kept = nsamples };
	struct ev_tally tally[] = { { .second = 1, .kept = 7 }, { .second = 1, .cpu = 1 } };
	struct ev_counts counts[] = { { .count = 1ull << 60 }, { .cpu = 1, .count = 5 } };
	struct gen *g = calloc(1, sizeof(*g));
	struct image im;
	struct rec_writer *w;
	struct stat st;
	int fd = memfd_create("image", 0), err;

	assert_true(fd >= 0);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	rec_writer_info(w, "event", "cycles");
	gen_init(g, seed, 4, 300);
	for (unsigned int i = 0; i < nsamples; i++) {
		struct ev_comm ev = { .time = i + 1, .pid = 1, .tid = 1, .comm = "x" };

		gen_next(g);
		g->s.time = i + 1;
		rec_writer_sample(w, &g->s);
		rec_writer_comm(w, &ev);
		if (i % per_block == per_block - 1) {
			/* With the pool used up the block would stay open, and take the next samples in. */
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

/* The blocks of an undamaged image; how many. */
static size_t blocks_of(const struct image *im, struct block *out, size_t max)
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

/* The checksum of a block that was changed. */
static void fix_crc(struct image *im, const struct block *b)
{
	uint32_t crc;

	memset(im->b + b->off + 28, 0, 4);
	crc = crc32c(0, im->b + b->off, b->end - b->off);
	memcpy(im->b + b->off + 28, &crc, 4);
}

static int file_of(const struct image *im, size_t len, char path[32])
{
	int fd = gen_memfd(path);

	assert_int_equal(write(fd, im->b, len), len);
	return fd;
}

struct got {
	uint8_t sample[4096], comm[4096];	/* by time: how often it was delivered */
	uint64_t samples, comms;
	uint64_t digest;		/* of all samples */
	bool wrong;			/* a time that was never written */
	struct gen *gen;		/* not NULL: check the content, too */
	unsigned int next;		/* sample the generator stands before */
	struct rec_reader *r;		/* for begin_ahead(): */
	unsigned int alone;		/* blocks to come until then */
};

static int got_sample(void *ctx, const struct ev_sample *ev)
{
	struct got *g = ctx;
	uint64_t val, want;

	g->samples++;
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

static int got_comm(void *ctx, const struct ev_comm *ev)
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

static const struct event_ops got_ops = { .sample = got_sample, .comm = got_comm };

static int ignore_tally(void *ctx, const struct ev_tally *row)
{
	*(unsigned int *)ctx += row->kept != 0;
	return 0;
}

static int ignore_counts(void *ctx, const struct ev_counts *row)
{
	*(unsigned int *)ctx += row->count != 0;
	return 0;
}

static int ignore_capture(void *ctx, const struct capture *cap)
{
	const uint8_t *p = cap->data;
	unsigned int *sum = ctx;

	for (size_t i = 0; i < cap->size; i++)	/* sanitizers watch that all of it is there */
		*sum += p[i];
	return 0;
}

/* Before a block. */
static void begin_ahead(void *ctx)
{
	struct got *g = ctx;

	if (!g->alone--)
		rec_reader_work_ahead(g->r);
}

/*
 * What the thread decodes ahead makes no difference to: @g, which @r was read to. The first @alone blocks are read
 * without it.
 */
static void same_ahead(const char *path, struct rec_reader *r, const struct got *g, unsigned int alone)
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
	assert_true(ahead->digest == g->digest);
	b = rec_reader_damage(other);
	assert_true(a->cut == b->cut && a->cut_at == b->cut_at && a->bad_blocks == b->bad_blocks &&
		    a->first_bad == b->first_bad && a->lost_samples == b->lost_samples);
	rec_reader_close(other);
	free(ahead);
}

/* Read all there is. NULL: it could not be opened. */
static struct rec_reader *read_all(const char *path, struct got *g)
{
	struct rec_reader *r = rec_reader_open(path);
	static unsigned int files;
	struct ev_ledger l;
	unsigned int sum = 0;

	if (!r)
		return NULL;
	assert_int_equal(rec_reader_events(r, &got_ops, g), 0);
	/* A thread for each of tens of thousands would take a minute. */
	if (!(files++ % 32))
		same_ahead(path, r, g, files / 32 % 3);
	rec_reader_captures(r, ignore_capture, &sum);
	rec_reader_tally(r, ignore_tally, &sum);
	rec_reader_counts(r, ignore_counts, &sum);
	rec_reader_ledger(r, &l);
	return r;
}

/*
 * Hundreds of files here cannot be opened, and say so: not on our stderr. Returns what to restore.
 */
static int stderr_away(void)
{
	FILE *null = fopen("/dev/null", "w");
	int saved = dup(STDERR_FILENO);

	assert_non_null(null);
	dup2(fileno(null), STDERR_FILENO);
	fclose(null);
	return saved;
}

static void stderr_back(int saved)
{
	dup2(saved, STDERR_FILENO);
	close(saved);
}

/* ---- cut ---- */

static void test_every_truncation(void **state)
{
	struct image im = make(40, 8, 3);
	struct block blk[64];
	size_t nblk = blocks_of(&im, blk, 64);

	(void)state;
	for (size_t len = 0; len <= im.len; len++) {
		uint64_t samples = 0, comms = 0, cut_at = 64;
		bool end = false;
		struct got *g = calloc(1, sizeof(*g));
		const struct rec_damage *d;
		struct rec_reader *r;
		char path[32];
		int fd = file_of(&im, len, path), saved;

		for (size_t i = 0; i < nblk && blk[i].end <= len; i++) {
			samples += blk[i].h.samples;
			comms += blk[i].h.events;
			cut_at = blk[i].end;
			end = blk[i].h.type == REC_END;
		}
		saved = stderr_away();
		r = read_all(path, g);
		stderr_back(saved);
		if (len < 64) {
			assert_null(r);
		} else {
			assert_non_null(r);
			d = rec_reader_damage(r);
			assert_int_equal(g->samples, samples);
			assert_int_equal(g->comms, comms);
			assert_int_equal(d->cut, !end);
			if (d->cut)
				assert_int_equal(d->cut_at, cut_at);
			assert_int_equal(d->bad_blocks, 0);
			rec_reader_close(r);
		}
		close(fd);
		free(g);
	}
	assert_int_equal(blk[nblk - 1].h.type, REC_END);
	free(im.b);
}

/* ---- flipped ---- */

/* Bytes change, checksums do not: every sample that comes is one that was written, whole. */
static void test_every_byte_flipped(void **state)
{
	struct image im = make(24, 8, 4);
	unsigned int opened = 0;

	(void)state;
	for (size_t at = 0; at < im.len; at++) {
		static const uint8_t flips[] = { 0x01, 0x80, 0xff };

		for (size_t f = 0; f < ARRAY_SIZE(flips); f++) {
			struct got *g = calloc(1, sizeof(*g));
			struct rec_reader *r;
			char path[32];
			int fd, saved;

			im.b[at] ^= flips[f];
			fd = file_of(&im, im.len, path);
			g->gen = calloc(1, sizeof(*g->gen));
			gen_init(g->gen, 4, 4, 300);
			saved = stderr_away();
			r = read_all(path, g);
			stderr_back(saved);
			assert_false(g->wrong);
			for (int i = 0; i < 24; i++)
				assert_true(g->sample[i] <= 1 && g->comm[i] <= 1);
			opened += r != NULL;
			/* Bytes of a block are lost without a word only if nothing was in them. */
			if (r && g->samples + g->comms < 48)
				assert_true(rec_reader_damage(r)->bad_blocks ||
					    rec_reader_damage(r)->cut);
			rec_reader_close(r);
			im.b[at] ^= flips[f];
			gen_fini(g->gen);
			free(g->gen);
			free(g);
			close(fd);
		}
	}
	assert_true(opened > im.len);
	free(im.b);
}

/* Hostile: the checksum is right, the payload is not. Only that nothing breaks. */
static void test_flips_with_right_checksum(void **state)
{
	struct image im = make(24, 8, 5);
	struct block blk[64];
	size_t nblk = blocks_of(&im, blk, 64);

	(void)state;
	for (size_t b = 0; b < nblk; b++) {
		for (size_t at = blk[b].off; at < blk[b].end; at++) {
			struct got *g = calloc(1, sizeof(*g));
			uint8_t old = im.b[at];
			struct rec_reader *r;
			char path[32];
			int fd;

			im.b[at] ^= (uint8_t)(1 + at * 37 % 255);
			fix_crc(&im, &blk[b]);
			fd = file_of(&im, im.len, path);
			r = read_all(path, g);
			assert_non_null(r);
			rec_reader_close(r);
			close(fd);
			im.b[at] = old;
			fix_crc(&im, &blk[b]);
			free(g);
		}
	}
	free(im.b);
}

/* The same below the checksums and lengths, where flipped bits reach the decoders of samples. */
static void test_hostile_samples(void **state)
{
	struct sample_enc *e = sample_enc_new(100);
	struct sample_dec *d = sample_dec_new();
	struct nibble_enc *n = nibble_enc_new();
	struct gen *g = calloc(1, sizeof(*g));
	struct strbuf syms = STRBUF_INIT, forms[2] = { STRBUF_INIT, STRBUF_INIT };
	unsigned int failed = 0, decoded = 0;

	(void)state;
	gen_init(g, 9, 6, 1000);
	for (int i = 0; i < 60; i++) {
		gen_next(g);
		sample_enc_add(e, &g->s, &syms);
	}
	nibble_enc_pack(n, &syms, &forms[0]);
	nibble_plain(&syms, &forms[1]);
	for (int round = 0; round < 2000; round++) {
		struct strbuf *code = &forms[round % 2];
		struct { size_t at; char old; } undo[4];
		struct sample_block block = { .symbols = syms.len / REC_SYMBOL, .plain = round % 2 };
		struct ev_sample ev;
		uint64_t val;
		int err = 0;

		for (int i = 0; i < 4; i++) {
			undo[i].at = gen_below(g, (uint32_t)code->len);
			undo[i].old = code->s[undo[i].at];
			code->s[undo[i].at] = (char)gen_rnd(g);
		}
		cursor_init(&block.code, code->s, code->len);
		sample_dec_key(d);
		sample_dec_block(d, &block);
		/* Wrong symbols may well be more samples than there were, but not without end. */
		while (!err) {
			err = sample_dec_next(d, &ev);
			if (err)
				break;
			decoded++;
			assert_true(ev.nchain <= REC_CHAIN_LEN);
			assert_true(ev.stack.hi - ev.stack.lo <= 8 * STACK_WORDS_MAX);
			assert_true(ev.changed_end <= ev.stack.hi);
			for (uint64_t a = ev.stack.lo; a < ev.stack.hi; a += 8)
				assert_int_equal(stack_view_read(&ev.stack, a, &val), 0);
		}
		failed += err != 0;
		for (int i = 3; i >= 0; i--)
			code->s[undo[i].at] = undo[i].old;
	}
	/* Sound samples before the damage, and an end to each round. */
	assert_true(decoded > 10000);
	assert_int_equal(failed, 2000);
	strbuf_fini(&syms);
	strbuf_fini(&forms[0]);
	strbuf_fini(&forms[1]);
	gen_fini(g);
	free(g);
	nibble_enc_free(n);
	sample_enc_free(e);
	sample_dec_free(d);
}

static int count(void *ctx, const char *s)
{
	*(size_t *)ctx += strlen(s);
	return 0;
}

static int n_dso(void *ctx, const struct ev_dso *e) { return count(ctx, e->path); }
static int n_proc(void *ctx, const struct ev_proc *e)
{
	assert_true(e->nspid_n <= 8);
	return count(ctx, e->comm) + count(ctx, e->exe) + count(ctx, e->root) +
	       count(ctx, e->cgroup);
}
static int n_mmap(void *ctx, const struct ev_mmap *e)
{
	assert_true(e->start + e->len >= e->start);
	return count(ctx, e->path);
}
static int n_comm(void *ctx, const struct ev_comm *e) { return count(ctx, e->comm); }
static int n_cgroup(void *ctx, const struct ev_cgroup *e) { return count(ctx, e->path); }
static int n_ksymbol(void *ctx, const struct ev_ksymbol *e) { return count(ctx, e->name); }

static void test_hostile_events(void **state)
{
	static const struct event_ops ops = { .dso = n_dso,
					      .proc = n_proc,
					      .mmap = n_mmap,
					      .comm = n_comm,
					      .cgroup = n_cgroup,
					      .ksymbol = n_ksymbol };
	struct ev_dso dso = { .id = 1, .build_id_len = 20, .path = "/lib/x" };
	struct ev_proc proc = { .time = 1,
				.serial = 1,
				.nspid = { 1, 2 },
				.nspid_n = 2,
				.comm = "a",
				.exe = "/b",
				.root = "/",
				.cgroup = "/c" };
	struct ev_mmap map = { .time = 2, .start = 4096, .len = 8192, .path = "//anon" };
	struct ev_comm comm = { .time = 3, .comm = "x" };
	struct ev_task task = { .time = 4 };
	struct ev_cgroup cg = { .id = 5, .path = "/" };
	struct ev_ksymbol ks = { .time = 6, .name = "bpf" };
	struct event_enc e = { 0 };
	struct strbuf out = STRBUF_INIT;
	struct gen g = { .rnd = 1 };
	unsigned int failed = 0;
	size_t sum = 0;

	(void)state;
	event_enc_begin(&e);
	event_enc_dso(&e, &out, &dso);
	event_enc_proc(&e, &out, &proc);
	event_enc_mmap(&e, &out, &map);
	event_enc_comm(&e, &out, &comm);
	event_enc_fork(&e, &out, &task);
	event_enc_exit(&e, &out, &task);
	event_enc_cgroup(&e, &out, &cg);
	event_enc_ksymbol(&e, &out, &ks);
	for (int round = 0; round < 50000; round++) {
		/* A copy of exactly that size, so that a sanitizer sees any step beyond. */
		size_t len = round % 2 ? out.len : gen_below(&g, (uint32_t)out.len + 1);
		uint8_t *copy = malloc(len + 1);
		struct cursor c;
		uint64_t time = 0;
		int ret, err = 0;

		memcpy(copy, out.s, len);
		if (len)
			copy[gen_below(&g, (uint32_t)len)] = (uint8_t)gen_rnd(&g);
		cursor_init(&c, copy, len);
		while (!err && cursor_left(&c))
			err = event_dec_next(&c, &time, &ops, &sum, &ret);
		failed += err != 0;
		free(copy);
	}
	assert_true(failed > 1000 && failed < 50000);
	strbuf_fini(&out);
	event_enc_fini(&e);
}

/* ---- resuming at a KEY block ---- */

/*
 * A recording of 200 STREAM blocks with 8 samples each: KEY blocks are 0, 64, 128 and 192. Damage
 * in block @victim; @header: in its length, else in its payload; @index: the END block and its
 * index are left.
 */
static void resume(unsigned int victim, bool header, bool index)
{
	struct image im = make(1600, 8, 6);
	struct block *blk = calloc(1024, sizeof(*blk));
	size_t nblk = blocks_of(&im, blk, 1024), at = 0, len = im.len;
	struct got *g = calloc(1, sizeof(*g));
	unsigned int stream = 0, key;
	const struct rec_damage *d;
	struct rec_reader *r;
	char path[32];
	int fd;

	for (size_t i = 0; i < nblk; i++) {
		if (blk[i].h.type == REC_STREAM) {
			assert_int_equal(blk[i].h.samples, 8);
			assert_int_equal(!!(blk[i].h.flags & REC_F_KEY), stream % 64 == 0);
			if (stream++ == victim)
				at = i;
		}
		if (blk[i].h.type == REC_END && !index)
			len = blk[i].off;
	}
	assert_int_equal(stream, 200);
	if (header)
		im.b[blk[at].off + 9] ^= 0x15;	/* second byte of stored_len */
	else
		im.b[blk[at].end - 3] ^= 0x40;
	fd = file_of(&im, len, path);
	g->gen = calloc(1, sizeof(*g->gen));
	gen_init(g->gen, 6, 4, 300);
	r = read_all(path, g);
	assert_non_null(r);
	for (unsigned int alone = 0; alone < 3; alone++)
		same_ahead(path, r, g, alone);
	d = rec_reader_damage(r);
	/* Samples come back with the next KEY block, side-band with the next block. */
	key = victim % 64 ? (victim / 64 + 1) * 64 : victim + 64;
	if (key > 200)
		key = 200;
	for (unsigned int i = 0; i < 1600; i++) {
		unsigned int b = i / 8;

		assert_int_equal(g->sample[i], b < victim || b >= key);
		assert_int_equal(g->comm[i], b != victim);
	}
	assert_false(g->wrong);
	assert_int_equal(d->cut, !index);
	assert_int_equal(d->bad_blocks, 1);
	assert_int_equal(d->first_bad, blk[at].off);
	/* Without the index nobody knows what a block with a damaged header had in it. */
	assert_int_equal(d->lost_samples, 8 * (key - victim - (header && !index)));
	rec_reader_close(r);
	close(fd);
	gen_fini(g->gen);
	free(g->gen);
	free(g);
	free(blk);
	free(im.b);
}

static void test_resume_at_key(void **state)
{
	(void)state;
	for (int header = 0; header < 2; header++) {
		for (int index = 0; index < 2; index++) {
			resume(0, header, index);
			resume(1, header, index);
			resume(70, header, index);
			resume(127, header, index);
			resume(128, header, index);
			resume(199, header, index);
		}
	}
}

/*
 * Damage that shows only when all samples of block @victim were taken, and the next ones may be decoded already: it
 * says that it has one more. Those up to the next KEY block are not to be had.
 */
static void resume_counted(unsigned int victim)
{
	struct image im = make(1600, 8, 6);
	struct block *blk = calloc(1024, sizeof(*blk));
	size_t nblk = blocks_of(&im, blk, 1024);
	struct got *g = calloc(1, sizeof(*g));
	unsigned int key = (victim / 64 + 1) * 64, stream = 0;
	struct rec_reader *r;
	char path[32];
	int fd;

	for (size_t i = 0; i < nblk; i++) {
		if (blk[i].h.type == REC_STREAM && stream++ == victim) {
			im.b[blk[i].off + offsetof(struct rec_block_header, samples)]++;
			fix_crc(&im, &blk[i]);
		}
	}
	fd = file_of(&im, im.len, path);
	g->gen = calloc(1, sizeof(*g->gen));
	gen_init(g->gen, 6, 4, 300);
	r = read_all(path, g);
	assert_non_null(r);
	for (unsigned int i = 0; i < 1600; i++) {
		assert_int_equal(g->sample[i], i / 8 <= victim || i / 8 >= key);
		assert_int_equal(g->comm[i], 1);
	}
	assert_false(g->wrong);
	assert_int_equal(rec_reader_damage(r)->bad_blocks, 1);
	assert_int_equal(rec_reader_damage(r)->lost_samples, 8 * (key - victim - 1));
	for (unsigned int alone = 0; alone < 3; alone++)
		same_ahead(path, r, g, alone);
	rec_reader_close(r);
	close(fd);
	gen_fini(g->gen);
	free(g->gen);
	free(g);
	free(blk);
	free(im.b);
}

static void test_resume_behind_samples(void **state)
{
	(void)state;
	resume_counted(0);
	resume_counted(61);
	resume_counted(62);
	resume_counted(63);
	resume_counted(130);
}

/* A type that only a later version knows is stepped over. */
static void test_unknown_block(void **state)
{
	struct image im = make(16, 8, 7);
	struct block blk[64];
	size_t nblk = blocks_of(&im, blk, 64);
	struct got *g = calloc(1, sizeof(*g));
	struct rec_reader *r;
	struct ev_ledger l;
	uint16_t type = 999;
	char path[32];
	int fd;

	(void)state;
	for (size_t i = 0; i < nblk; i++)
		if (blk[i].h.type == REC_LEDGER) {
			memcpy(im.b + blk[i].off + 4, &type, 2);
			fix_crc(&im, &blk[i]);
		}
	for (int pass = 0; pass < 2; pass++) {	/* with and without the index */
		memset(g, 0, sizeof(*g));
		fd = file_of(&im, pass ? blk[nblk - 1].end : im.len, path);
		r = read_all(path, g);
		assert_non_null(r);
		assert_int_equal(g->samples, 16);
		assert_int_equal(rec_reader_damage(r)->bad_blocks, 0);
		assert_false(rec_reader_damage(r)->cut);
		assert_false(rec_reader_ledger(r, &l));
		rec_reader_close(r);
		close(fd);
	}
	free(g);
	free(im.b);
}

/* ---- other files ---- */

/* What stderr got while opening @path, which must fail. In @out. */
static void open_fails(const char *path, char *out, size_t size)
{
	FILE *f = tmpfile();
	int saved = dup(STDERR_FILENO);
	ssize_t n;

	assert_non_null(f);
	dup2(fileno(f), STDERR_FILENO);
	assert_null(rec_reader_open(path));
	dup2(saved, STDERR_FILENO);
	close(saved);
	n = pread(fileno(f), out, size - 1, 0);
	assert_true(n > 0);
	out[n] = '\0';
	fclose(f);
	/* One line. */
	assert_ptr_equal(strchr(out, '\n'), out + n - 1);
	assert_non_null(strstr(out, path));
}

static void test_foreign_files(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *says;
	} files[] = {
		{ "", 0, "is empty" },
		{ "#!/bin/sh\n", 10, "is not an nsprof recording (bad magic)" },
		{ "x", 1, "is not an nsprof recording (bad magic)" },
		{ "\x7f" "ELF", 4, "is not an nsprof recording (bad magic)" },
		{ "NSPROF\n\n 0123456789", 19, "is not an nsprof recording (bad magic)" },
		{ "NSPR", 4, "is cut inside its header" },
		{ "NSPROF\r\n\1\0\0\0", 12, "is cut inside its header" },
	};
	struct image im = make(8, 8, 8);
	char path[32], out[512];
	int fd;

	(void)state;
	log_init("nsprof info");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct image f = { (uint8_t *)(uintptr_t)files[i].bytes, files[i].len };

		fd = file_of(&f, f.len, path);
		open_fails(path, out, sizeof(out));
		assert_non_null(strstr(out, files[i].says));
		close(fd);
	}
	open_fails("/tmp", out, sizeof(out));
	assert_non_null(strstr(out, "is a directory"));
	open_fails("/nonexistent/nsprof.data", out, sizeof(out));
	assert_non_null(strstr(out, "No such file or directory"));
	im.b[8] = REC_VERSION + 1;
	fd = file_of(&im, im.len, path);
	open_fails(path, out, sizeof(out));
	assert_non_null(strstr(out, "has version 3 of the format"));
	close(fd);
	free(im.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_truncation),
		cmocka_unit_test(test_every_byte_flipped),
		cmocka_unit_test(test_flips_with_right_checksum),
		cmocka_unit_test(test_hostile_samples),
		cmocka_unit_test(test_hostile_events),
		cmocka_unit_test(test_resume_at_key),
		cmocka_unit_test(test_resume_behind_samples),
		cmocka_unit_test(test_unknown_block),
		cmocka_unit_test(test_foreign_files),
	};

	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
