/*
 * Damaged recordings: everything intact is delivered, gaps are reported, and no bytes crash the
 * reader. test_recresume.c shows where samples resume after damage.
 */
#include <errno.h>

#include "base/log.h"
#include "recdamage_fixture.h"
#include "recording/event_codec.h"
#include "samples/nibble_codec.h"
#include "samples/sample_codec.h"

/*
 * Hundreds of files fail to open here and report it: keeps that off our stderr. Returns what to
 * restore.
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

static void cut_everywhere(uint32_t nevents, unsigned int n)
{
	struct image im = make_of(n, 8, 3, nevents);
	struct block blk[64];
	size_t nblk = blocks_of(&im, blk, 64);

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
			/* The list of events. */
			if (blk[i].h.type == REC_STREAM && blk[i].h.flags & REC_F_KEY)
				comms -= nevents;
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
			assert_int_equal(g->switches, nevents ? 2 * samples : 0);
			assert_false(g->wrong);
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

static void test_every_truncation(void **state)
{
	(void)state;
	cut_everywhere(0, 40);
	cut_everywhere(3, 16);
}

/* ---- flipped ---- */

/* Bytes change, checksums do not: every delivered sample is one that was written, complete. */
static void flip_each_byte(uint32_t nevents, unsigned int n)
{
	struct image im = make_of(n, 8, 4, nevents);
	const uint64_t all = nevents ? n * 4 : n * 2;
	unsigned int opened = 0;

	for (size_t at = 0; at < im.len; at++) {
		static const uint8_t flips[] = { 0x01, 0x80, 0xff };

		for (size_t f = nevents ? at % 3 : 0; f < ARRAY_SIZE(flips); f += nevents ? 3 : 1) {
			struct got *g = calloc(1, sizeof(*g));
			struct rec_reader *r;
			char path[32];
			int fd, saved;

			im.b[at] ^= flips[f];
			fd = file_of(&im, im.len, path);
			g->gen = calloc(1, sizeof(*g->gen));
			gen_init(g->gen, 4, 4, 300);
			g->gen->nevents = nevents;
			saved = stderr_away();
			r = read_all(path, g);
			stderr_back(saved);
			assert_false(g->wrong);
			for (unsigned int i = 0; i < n; i++)
				assert_true(g->sample[i] <= 1 && g->comm[i] <= 1 && g->sw[i] <= 2);
			opened += r != NULL;
			/*
			 * Bytes of a block may be lost without a report only if the block held
			 * nothing.
			 */
			if (r && g->samples + g->comms + g->switches < all)
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
	assert_true(opened > im.len / 2);
	free(im.b);
}

static void test_every_byte_flipped(void **state)
{
	(void)state;
	flip_each_byte(0, 24);
	flip_each_byte(2, 16);
}

/* Hostile input: a valid checksum and a damaged payload. The only check is that nothing crashes. */
static void flip_with_right_checksum(uint32_t nevents, unsigned int n)
{
	struct image im = make_of(n, 8, 5, nevents);
	struct block blk[64];
	size_t nblk = blocks_of(&im, blk, 64);

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

static void test_flips_with_right_checksum(void **state)
{
	(void)state;
	flip_with_right_checksum(0, 24);
	flip_with_right_checksum(2, 8);
}

/* The same below the checksums and lengths, so that flipped bits reach the sample decoders. */
static void hostile_samples(uint32_t nevents, int rounds)
{
	struct sample_enc *e = sample_enc_new(100);
	struct sample_dec *d = sample_dec_new();
	struct nibble_enc *n = nibble_enc_new();
	struct gen *g = calloc(1, sizeof(*g));
	struct strbuf syms = STRBUF_INIT, forms[2] = { STRBUF_INIT, STRBUF_INIT };
	unsigned int decoded = 0;
	int failed = 0;

	gen_init(g, 9, 6, 1000);
	g->nevents = nevents;
	if (nevents) {
		sample_enc_events(e);
		sample_dec_events(d);
	}
	for (int i = 0; i < 60; i++) {
		gen_next(g);
		sample_enc_add(e, &g->s, MARKS_NONE, &syms);
	}
	nibble_enc_pack(n, &syms, &forms[0]);
	nibble_plain(&syms, &forms[1]);
	for (int round = 0; round < rounds; round++) {
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
		/* Wrong symbols may decode to more samples than there were, but not endlessly. */
		while (!err) {
			err = sample_dec_next(d, &ev);
			if (err)
				break;
			decoded++;
			assert_true(ev.nchain <= REC_CHAIN_LEN);
			assert_true(ev.stack.hi - ev.stack.lo <= 8 * STACK_WORDS_MAX);
			assert_true(ev.changed_end <= ev.stack.hi);
			assert_true(ev.event < (nevents ? SAMPLED_EVENTS_MAX : 1));
			assert_true(ev.payload_len <= (nevents ? PAYLOAD_MAX : 0));
			for (uint64_t a = ev.stack.lo; a < ev.stack.hi; a += 8)
				assert_int_equal(stack_view_read(&ev.stack, a, &val), 0);
		}
		failed += err != 0;
		for (int i = 3; i >= 0; i--)
			code->s[undo[i].at] = undo[i].old;
	}
	/* Intact samples before the damage, and every round ends. */
	assert_true(decoded > 5 * (unsigned int)rounds);
	assert_int_equal(failed, rounds);
	strbuf_fini(&syms);
	strbuf_fini(&forms[0]);
	strbuf_fini(&forms[1]);
	gen_fini(g);
	free(g);
	nibble_enc_free(n);
	sample_enc_free(e);
	sample_dec_free(d);
}

static void test_hostile_samples(void **state)
{
	(void)state;
	hostile_samples(0, 2000);
	hostile_samples(30, 1000);
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
static int n_event(void *ctx, const struct ev_event *e)
{
	assert_true(e->index < SAMPLED_EVENTS_MAX && e->leader < SAMPLED_EVENTS_MAX);
	return count(ctx, e->name) + count(ctx, e->modifier) + count(ctx, e->unit) + count(ctx, e->filter) + count(ctx, e->fields);
}

static void test_hostile_events(void **state)
{
	static const struct event_ops ops = { .dso = n_dso,
					      .proc = n_proc,
					      .mmap = n_mmap,
					      .comm = n_comm,
					      .cgroup = n_cgroup,
					      .ksymbol = n_ksymbol,
					      .event = n_event };
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
	struct ev_event event = { .time = 7, .index = 9, .name = "a:b", .fields = "field:int x;\n" };
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
	event_enc_event(&e, &out, &event);
	for (int round = 0; round < 50000; round++) {
		/* A copy of exactly that size, so that a sanitizer sees any access beyond it. */
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

/* A block type that only a later version knows is skipped. */
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

/* What was written to stderr while opening @path, which must fail, to @out. */
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
		{ "#!/bin/sh\n", 10, "is not an nsprof recording or a perf.data file" },
		{ "x", 1, "is not an nsprof recording or a perf.data file" },
		{ "\x7f" "ELF", 4, "is not an nsprof recording; it is a program or library, not a profile" },
		{ "NSPROF\n\n 0123456789", 19, "is not an nsprof recording or a perf.data file" },
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
	assert_non_null(strstr(out, "has format version 4; this nsprof reads versions 2 and 3"));
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
		cmocka_unit_test(test_unknown_block),
		cmocka_unit_test(test_foreign_files),
	};

	log_set_verbosity(-1);
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
