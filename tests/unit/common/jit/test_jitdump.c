/*
 * Cutting small jitdumps out of large ones: which functions are kept, from which times, and what is
 * rejected.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "in_range.h"
#include "jitdump.h"

static void header(struct strbuf *d)
{
	struct jitdump_header h = { JITDUMP_MAGIC, JITDUMP_VERSION, 40, 62, 0, 7, 1, 0 };

	strbuf_add(d, &h, sizeof(h));
}

static void prefix(struct strbuf *d, uint32_t id, size_t body, uint64_t time)
{
	struct jitdump_prefix p = { id, (uint32_t)(sizeof(p) + body), time };

	strbuf_add(d, &p, sizeof(p));
}

static void load(struct strbuf *d, uint64_t time, uint64_t addr, uint64_t size, uint64_t index,
		 const char *name, size_t code)
{
	struct jitdump_load l = { 7, 7, addr, addr, size, index };

	prefix(d, JITDUMP_LOAD, sizeof(l) + strlen(name) + 1 + code, time);
	strbuf_add(d, &l, sizeof(l));
	strbuf_add(d, name, strlen(name) + 1);
	while (code--)
		strbuf_addc(d, '\x90');
}

static void move(struct strbuf *d, uint64_t time, uint64_t from, uint64_t to, uint64_t size,
		 uint64_t index)
{
	struct jitdump_move m = { 7, 7, to, from, to, size, index };

	prefix(d, JITDUMP_MOVE, sizeof(m), time);
	strbuf_add(d, &m, sizeof(m));
}

static void unwinding(struct strbuf *d, const char *rows, uint64_t hdr)
{
	struct jitdump_unwind u = { strlen(rows), hdr, 0 };

	prefix(d, JITDUMP_UNWINDING_INFO, sizeof(u) + strlen(rows), 1);
	strbuf_add(d, &u, sizeof(u));
	strbuf_add(d, rows, strlen(rows));
}

struct entry {
	uint64_t off;
	uint32_t line, column;
	const char *file;
};

static void lines(struct strbuf *d, uint64_t addr, const struct entry *e, size_t n, size_t fill)
{
	const struct jitdump_debug head = { addr, n };
	size_t body = sizeof(head) + fill;

	for (size_t i = 0; i < n; i++)
		body += sizeof(struct jitdump_entry) + strlen(e[i].file) + 1;
	prefix(d, JITDUMP_DEBUG_INFO, body, 1);
	strbuf_add(d, &head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const struct jitdump_entry je = { addr + e[i].off, e[i].line, e[i].column };

		strbuf_add(d, &je, sizeof(je));
		strbuf_add(d, e[i].file, strlen(e[i].file) + 1);
	}
	while (fill--)
		strbuf_addc(d, '\0');
}

static void describe_lines(const char *body, size_t len, struct strbuf *text)
{
	struct jitdump_debug head;
	size_t at = sizeof(head);

	memcpy(&head, body, sizeof(head));
	strbuf_addf(text, "lines:%lx", head.addr);
	for (uint64_t i = 0; i < head.n; i++) {
		struct jitdump_entry e;

		memcpy(&e, body + at, sizeof(e));
		at += sizeof(e);
		strbuf_addf(text, " %lx,%u,%u,%s", e.addr, e.line, e.discrim,
			    strcmp(body + at, "\xff") ? body + at : "same");
		at += strlen(body + at) + 1;
	}
	assert_int_equal(at, len);
	strbuf_addc(text, '\n');
}

static int slice(const struct strbuf *d, const uint64_t *addrs, size_t n, struct strbuf *out)
{
	int fd = memfd_create("dump", MFD_CLOEXEC), ret;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, d->s, d->len), d->len);
	ret = jitdump_slice(fd, addrs, n, 0, out);
	close(fd);
	return ret;
}

/*
 * "TIME ADDR+SIZE NAME\n" for each LOAD of a dump, "rows:BYTES\n" for each UNWINDING_INFO,
 * "lines:ADDR[ ADDR,LINE,COLUMN,FILE]...\n" for each DEBUG_INFO.
 */
static void describe(const struct strbuf *d, struct strbuf *text)
{
	struct jitdump_header h;
	size_t pos = sizeof(h);

	strbuf_adds(text, "");
	if (!d->len)
		return;
	memcpy(&h, d->s, sizeof(h));
	assert_int_equal(h.magic, JITDUMP_MAGIC);
	assert_int_equal(h.total_size, sizeof(h));
	while (pos < d->len) {
		const char *body = d->s + pos + sizeof(struct jitdump_prefix);
		struct jitdump_prefix p;
		struct jitdump_unwind u;
		struct jitdump_load l;

		memcpy(&p, d->s + pos, sizeof(p));
		assert_true(p.total_size <= d->len - pos);
		if (p.id == JITDUMP_LOAD) {
			memcpy(&l, body, sizeof(l));
			assert_int_equal(p.total_size,
					 sizeof(p) + sizeof(l) + strlen(body + sizeof(l)) + 1);
			strbuf_addf(text, "%lu %lx+%lx %s\n", p.time, l.addr, l.size,
				    body + sizeof(l));
		} else if (p.id == JITDUMP_DEBUG_INFO) {
			describe_lines(body, p.total_size - sizeof(p), text);
		} else {
			assert_int_equal(p.id, JITDUMP_UNWINDING_INFO);
			memcpy(&u, body, sizeof(u));
			assert_int_equal(p.total_size, sizeof(p) + sizeof(u) + u.size);
			strbuf_addf(text, "rows:%.*s\n", (int)u.size, body + sizeof(u));
		}
		pos += p.total_size;
	}
}

static void check(const struct strbuf *d, const uint64_t *addrs, size_t n, const char *want)
{
	struct strbuf out = STRBUF_INIT, text = STRBUF_INIT;

	assert_int_equal(slice(d, addrs, n, &out), 0);
	describe(&out, &text);
	assert_string_equal(text.len ? text.s : "", want);
	strbuf_fini(&out);
	strbuf_fini(&text);
}

static void test_records(void **state)
{
	static const uint64_t some[] = { 0xfff, 0x100f, 0x1110, 0x5004 };
	struct strbuf d = STRBUF_INIT;

	(void)state;
	header(&d);
	check(&d, NULL, 0, "");
	load(&d, 10, 0x1000, 0x10, 0, "a", 16);
	unwinding(&d, "the rows of b", 4);
	load(&d, 20, 0x1100, 0x10, 1, "b with blanks", 16);
	prefix(&d, JITDUMP_DEBUG_INFO, 300, 25);
	for (int i = 0; i < 300; i++)
		strbuf_addc(&d, 'x');
	prefix(&d, 77, 0, 26);
	unwinding(&d, "only the header", 15);
	load(&d, 30, 0x2000, 0x10, 2, "c", 0);
	load(&d, 28, 0x1008, 0x10, 3, "late", 0);
	load(&d, 31, 0x3000, 0, 4, "empty", 0);
	load(&d, 31, 0x3000, 0x10, 5, "", 0);
	move(&d, 40, 0x1100, 0x5000, 0x10, 1);
	move(&d, 41, 0x1100, 0x6000, 0x10, 1);	/* it is no longer there */
	move(&d, 42, 0x1000, 0x6000, 0x10, 9);	/* there is no such function */
	move(&d, 43, 0x5000, 0x7000, 0x10, 1);
	check(&d, NULL, 0,
	      "rows:the rows of b\n43 7000+10 b with blanks\n"
	      "rows:the rows of b\n40 5000+10 b with blanks\n"
	      "30 2000+10 c\n28 1008+10 late\n"
	      "rows:the rows of b\n20 1100+10 b with blanks\n10 1000+10 a\n");
	check(&d, some, 4,
	      "rows:the rows of b\n40 5000+10 b with blanks\n28 1008+10 late\n10 1000+10 a\n");
	check(&d, some, 1, "");
	prefix(&d, JITDUMP_CLOSE, 0, 50);
	load(&d, 60, 0x1000, 0x10, 6, "behind the end", 0);
	check(&d, some, 2, "28 1008+10 late\n10 1000+10 a\n");
	strbuf_fini(&d);
}

/*
 * The lines of the requested code, also of code that moved, and none if anything about them is
 * wrong.
 */
static void test_lines(void **state)
{
	static const struct entry some[] = {
		{ 0, 10, 1, "/src/a.js" }, { 8, 12, 5, "\xff" }, { 4, 11, 2, "/src/a.js" },
		{ 12, 3, 1, "b.js" }, { 12, 4, 9, "b.js" },
	}, outside[] = { { 0, 1, 0, "x.js" }, { 16, 2, 0, "x.js" } }, binary[] = { { 0, 1, 0, "x\x01.js" } },
	unnamed[] = { { 0, 1, 0, "\xff" } }, v8[] = { { 64, 1, 0, "v.js" }, { 72, 2, 0, "v.js" } },
	v8_fixed[] = { { 0, 1, 0, "v.js" }, { 8, 2, 0, "v.js" } };
	static const uint64_t first[] = { 0x1005, 0x1006, 0x100d }, moved[] = { 0x2007 }, below[] = { 0x3002 };
	struct strbuf d = STRBUF_INIT;

	(void)state;
	header(&d);
	lines(&d, 0x1000, some, 5, 7);
	load(&d, 10, 0x1000, 0x10, 0, "a", 16);
	move(&d, 20, 0x1000, 0x2000, 0x10, 0);
	check(&d, first, 3, "lines:1000 1004,11,2,/src/a.js 100c,4,9,b.js\n10 1000+10 a\n");
	check(&d, moved, 1, "lines:2000 2004,11,2,/src/a.js\n20 2000+10 a\n");
	check(&d, NULL, 0,
	      "lines:2000 2000,10,1,/src/a.js 2004,11,2,same 2008,12,5,same 200c,3,1,b.js 200c,4,9,same\n20 2000+10 a\n"
	      "lines:1000 1000,10,1,/src/a.js 1004,11,2,same 1008,12,5,same 100c,3,1,b.js 100c,4,9,same\n10 1000+10 a\n");

	/*
	 * Below the first entry; of other code; beyond the function; an invalid name; bytes left
	 * over.
	 */
	header((strbuf_reset(&d), &d));
	lines(&d, 0x3000, some + 2, 1, 0);
	load(&d, 10, 0x3000, 0x10, 0, "below", 0);
	check(&d, below, 1, "10 3000+10 below\n");
	for (int i = 0; i < 5; i++) {
		header((strbuf_reset(&d), &d));
		switch (i) {
		case 0: lines(&d, 0x1008, some, 1, 0); break;
		case 1: lines(&d, 0x1000, outside, 2, 0); break;
		case 2: lines(&d, 0x1000, binary, 1, 0); break;
		case 3: lines(&d, 0x1000, unnamed, 1, 0); break;
		case 4: lines(&d, 0x1000, some, 1, 8); break;
		}
		load(&d, 10, 0x1000, 0x10, 0, "a", 0);
		check(&d, first, 3, "10 1000+10 a\n");
	}

	/* V8's line addresses are 64 too high, except when they begin with the function. */
	header((strbuf_reset(&d), &d));
	lines(&d, 0x1000, v8, 2, 0);
	load(&d, 10, 0x1000, 0x10, 0, "JS:*f v.js:1:1", 0);
	lines(&d, 0x2000, v8_fixed, 2, 0);
	load(&d, 20, 0x2000, 0x10, 0, "JS:*g v.js:1:1", 0);
	lines(&d, 0x3000, v8, 2, 0);
	load(&d, 30, 0x3000, 0x80, 0, "java", 0);
	/*
	 * V8's lines whose file names have their first 16 bytes overwritten: accepted if the rest
	 * matches the file in the function's name.
	 */
	for (uint64_t i = 0; i < 3; i++) {
		static const char *const names[] = {
			"JS:*get x /home/a b/src/x.js:1:13", "JS:*get x /home/a b/src/x.ts:1:13",
			"JS:*get x /home/a b/srcs/x.js:1:13",
		};
		static const struct entry e[] = {
			{ 64, 5, 1, "/home/a b/src/x.js" }, { 70, 6, 1, "/home/a b/src/x.js" },
		};

		lines(&d, 0x4000, e, 2, 0);
		for (size_t k = 1; k <= 2; k++)
			memcpy(d.s + d.len - k * (16 + 19) + 16, "\xda\x8b\x03\0\0\0\0\0garbage!", 16);
		load(&d, 40 + i, 0x4000, 0x10, 0, names[i], 0);
	}
	check(&d, NULL, 0, "42 4000+10 JS:*get x /home/a b/srcs/x.js:1:13\n"
	      "41 4000+10 JS:*get x /home/a b/src/x.ts:1:13\n"
	      "lines:4000 4000,5,1,/home/a b/src/x.js 4006,6,1,same\n40 4000+10 JS:*get x /home/a b/src/x.js:1:13\n"
	      "lines:3000 3040,1,0,v.js 3048,2,0,same\n30 3000+80 java\n"
	      "lines:2000 2000,1,0,v.js 2008,2,0,same\n20 2000+10 JS:*g v.js:1:1\n"
	      "lines:1000 1000,1,0,v.js 1008,2,0,same\n10 1000+10 JS:*f v.js:1:1\n");
	strbuf_fini(&d);
}

/* Two dumps of one process, merged in either order. */
static void test_join(void **state)
{
	static const struct {
		uint32_t pid;
		uint64_t begun, flags;
		const char *want;
	} cases[] = {
		{ 7, 15, 0, "30 2000+10 young\n20 1000+10 after\n10 1000+10 before\n" },
		{ 8, 15, 0, "30 2000+10 young\n10 1000+10 before\n" },
		{ 8, 20, 0, "30 2000+10 young\n20 1000+10 after\n10 1000+10 before\n" },
		{ 7, 15, JITDUMP_ARCH_TIME, NULL },
	};

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct jitdump_header h = { JITDUMP_MAGIC, 1, 40, 62, 0, cases[i / 2].pid, cases[i / 2].begun, cases[i / 2].flags };
		struct strbuf d = STRBUF_INIT, old = STRBUF_INIT, young = STRBUF_INIT, none = STRBUF_INIT, text = STRBUF_INIT;
		struct strbuf *to = i % 2 ? &old : &young;
		const char *want = cases[i / 2].want;

		header(&d);
		load(&d, 10, 0x1000, 0x10, 0, "before", 0);
		load(&d, 20, 0x1000, 0x10, 1, "after", 0);
		assert_int_equal(slice(&d, NULL, 0, &old), 0);
		strbuf_reset(&d);
		strbuf_add(&d, &h, sizeof(h));
		load(&d, 30, 0x2000, 0x10, 0, "young", 0);
		assert_int_equal(slice(&d, NULL, 0, &young), 0);
		if (!want)
			want = i % 2 ? "20 1000+10 after\n10 1000+10 before\n" : "30 2000+10 young\n";
		jitdump_join(to, i % 2 ? &young : &old);
		jitdump_join(to, &none);
		jitdump_join(&none, to);
		describe(&none, &text);
		assert_string_equal(text.s, want);
		strbuf_fini(&d);
		strbuf_fini(&old);
		strbuf_fini(&young);
		strbuf_fini(&none);
		strbuf_fini(&text);
	}
}

/*
 * The producer is in the middle of a record: each prefix of the file gives the records complete by
 * then.
 */
static void test_growing(void **state)
{
	struct strbuf d = STRBUF_INIT;
	size_t first, second;

	(void)state;
	header(&d);
	load(&d, 10, 0x1000, 0x10, 0, "a", 16);
	first = d.len;
	unwinding(&d, "rows", 0);
	load(&d, 20, 0x2000, 0x10, 1, "b", 16);
	second = d.len;
	for (size_t len = 0; len <= second; len++) {
		struct strbuf cut = { d.s, len, len };
		static const uint64_t addr = 0x1004;

		if (len < sizeof(struct jitdump_header)) {
			struct strbuf out = STRBUF_INIT;

			assert_int_equal(slice(&cut, NULL, 0, &out), -ENOEXEC);
			assert_int_equal(out.len, 0);
			continue;
		}
		check(&cut, &addr, 1, len < first ? "" : "10 1000+10 a\n");
		check(&cut, NULL, 0, len < first ? "" : len < second ? "10 1000+10 a\n" :
		      "rows:rows\n20 2000+10 b\n10 1000+10 a\n");
	}
	strbuf_fini(&d);
}

static void test_refused(void **state)
{
	static const struct {
		struct jitdump_header h;
		int want;
	} cases[] = {
		{ { JITDUMP_MAGIC, 1, 40, 62, 0, 7, 1, 0 }, 0 },
		{ { JITDUMP_MAGIC, 1, 40, 0, 0, 7, 1, JITDUMP_ARCH_TIME }, 0 },
		{ { JITDUMP_MAGIC, 2, 40, 62, 0, 7, 1, 0 }, -ENOTSUP },
		{ { JITDUMP_MAGIC_SWAPPED, 1 << 24, 40 << 24, 0, 0, 0, 0, 0 }, -ENOTSUP },
		{ { JITDUMP_MAGIC, 1, 39, 62, 0, 7, 1, 0 }, -ENOEXEC },
		{ { JITDUMP_MAGIC, 1, UINT32_MAX, 62, 0, 7, 1, 0 }, -ENOEXEC },
		{ { 0x464c457f, 1, 40, 62, 0, 7, 1, 0 }, -ENOEXEC },
	};
	struct strbuf d = STRBUF_INIT, out = STRBUF_INIT;
	int pipefd[2];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		strbuf_reset(&d);
		strbuf_add(&d, &cases[i].h, sizeof(cases[i].h));
		load(&d, 10, 0x1000, 0x10, 0, "a", 0);
		strbuf_reset(&out);
		assert_int_equal(slice(&d, NULL, 0, &out), cases[i].want);
		assert_int_equal(out.len != 0, cases[i].want == 0);
	}
	assert_int_equal(pipe(pipefd), 0);
	assert_int_equal(jitdump_slice(pipefd[0], NULL, 0, 0, &out), -ENOEXEC);
	close(pipefd[0]);
	close(pipefd[1]);
	strbuf_fini(&d);
	strbuf_fini(&out);
}

/* Hostile sizes: none leads out of the file or into a loop, and earlier records stay. */
static void test_hostile(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 15, 16, 17, 56, 57, 1u << 20, INT32_MAX, UINT32_MAX };
	struct strbuf d = STRBUF_INIT, out = STRBUF_INIT;
	unsigned int seed = 5;
	size_t whole;

	(void)state;
	header(&d);
	load(&d, 10, 0x1000, 0x10, 0, "good", 16);
	whole = d.len;
	for (uint32_t id = 0; id < 6; id++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
			struct jitdump_prefix p = { id, sizes[i], 20 };
			static const uint64_t addr = 0x1000;

			d.len = whole;
			strbuf_add(&d, &p, sizeof(p));
			for (int k = 0; k < 200; k++)
				strbuf_addc(&d, '\xff');
			check(&d, &addr, 1, "10 1000+10 good\n");
		}
	}
	/* Arbitrary bytes after valid records. */
	for (int round = 0; round < 3000; round++) {
		size_t n;

		d.len = sizeof(struct jitdump_header);
		unwinding(&d, "some rows", 2);
		lines(&d, 0x1000, (const struct entry[]){ { 0, 1, 2, "a.js" }, { 64, 1, 2, "\xff" } }, 2, 0);
		load(&d, 10, 0x1000, 0x1000, 0, "one", 40);
		load(&d, 20, 0x1800, 0x1000, 1, "two", 40);
		move(&d, 30, 0x1000, 0x9000, 0x1000, 0);
		n = 1 + (size_t)rand_r(&seed) % 8;
		while (n--) {
			size_t at = sizeof(struct jitdump_header) +
				    (size_t)rand_r(&seed) % (d.len - sizeof(struct jitdump_header));

			d.s[at] = (char)rand_r(&seed);
		}
		strbuf_reset(&out);
		assert_int_equal(slice(&d, NULL, 0, &out), 0);
	}
	strbuf_fini(&d);
	strbuf_fini(&out);
}

/* Twenty thousand functions at the same addresses: the result stays small. */
static void test_caps(void **state)
{
	struct strbuf d = STRBUF_INIT, out = STRBUF_INIT;
	char *name = malloc(4000);
	struct jitdump_load l;

	(void)state;
	memset(name, 'n', 3999);
	name[3999] = '\0';
	header(&d);
	for (uint64_t i = 0; i < 20000; i++)
		load(&d, i, 0x1000, 0x1000, i, name, 0);
	assert_int_equal(slice(&d, NULL, 0, &out), 0);
	assert_within(out.len, 31u << 20, 33u << 20);
	memcpy(&l, out.s + sizeof(struct jitdump_header) + sizeof(struct jitdump_prefix), sizeof(l));
	assert_int_equal(l.index, 19999);
	strbuf_fini(&d);
	strbuf_fini(&out);
	free(name);
}

static void test_marks(void **state)
{
	(void)state;
	assert_true(jitdump_marks("/tmp/jit-1.dump"));
	assert_true(jitdump_marks("/home/u/.debug/jit/x/jit-4194304.dump"));
	assert_false(jitdump_marks("jit-1.dump"));
	assert_false(jitdump_marks("/tmp/jit-.dump"));
	assert_false(jitdump_marks("/tmp/jit-1.dump2"));
	assert_false(jitdump_marks("/tmp/jit-1.dum"));
	assert_false(jitdump_marks("/tmp/jit-+1.dump"));
	assert_false(jitdump_marks("/tmp/jit-12345678901.dump"));
	assert_false(jitdump_marks("/tmp/jit-1.dump/x"));
	assert_false(jitdump_marks("//anon"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_caps),
		cmocka_unit_test(test_marks),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("common jitdump", tests, NULL, NULL);
}
