/* Jitted functions by address and time, and their rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "cfi/cfi.h"
#include "jitdump.h"
#include "modules/addrspace.h"
#include "modules/jitcode.h"
#include "modules/module.h"
#include "support/symbol.h"

static uint32_t next_id = 1;

static void header(struct strbuf *d, uint64_t flags)
{
	struct jitdump_header h = { JITDUMP_MAGIC, JITDUMP_VERSION, 40, 62, 0, 7, 1, flags };

	strbuf_reset(d);
	strbuf_add(d, &h, sizeof(h));
}

static void load(struct strbuf *d, uint64_t time, uint64_t addr, uint64_t size, const char *name)
{
	struct jitdump_load l = { 7, 7, addr, addr, size, 0 };
	struct jitdump_prefix p = { JITDUMP_LOAD, 0, time };

	p.total_size = (uint32_t)(sizeof(p) + sizeof(l) + strlen(name) + 1);
	strbuf_add(d, &p, sizeof(p));
	strbuf_add(d, &l, sizeof(l));
	strbuf_add(d, name, strlen(name) + 1);
}

static void rows(struct strbuf *d, const void *data, size_t size)
{
	struct jitdump_prefix p = { JITDUMP_UNWINDING_INFO, 0, 0 };
	struct jitdump_unwind u = { size, 0, 0 };

	p.total_size = (uint32_t)(sizeof(p) + sizeof(u) + size);
	strbuf_add(d, &p, sizeof(p));
	strbuf_add(d, &u, sizeof(u));
	strbuf_add(d, data, size);
}

static const char *name_at(const struct jitcode *jc, uint64_t addr, uint64_t time)
{
	const struct jit_func *f = jitcode_find(jc, (struct avma){ addr }, time);

	return f ? f->name : "";
}

static void test_times(void **state)
{
	struct strbuf d = STRBUF_INIT;
	struct jitcode *jc;
	size_t n = 0;

	(void)state;
	header(&d, 0);
	assert_null(jitcode_new(d.s, d.len, &next_id, 1u << 23));
	load(&d, 300, 0x1080, 0x100, "third");
	load(&d, 200, 0x1000, 0x100, "second, later in the file");
	load(&d, 200, 0x1000, 0x100, "second");
	load(&d, 100, 0x1000, 0x40, "first");
	jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
	assert_non_null(jc);
	assert_string_equal(name_at(jc, 0xfff, 150), "");
	assert_string_equal(name_at(jc, 0x1000, 0), "first");	/* the record came late */
	assert_string_equal(name_at(jc, 0x1000, 199), "first");
	assert_string_equal(name_at(jc, 0x1000, 200), "second, later in the file");
	assert_string_equal(name_at(jc, 0x1040, 0), "second, later in the file");
	assert_string_equal(name_at(jc, 0x1090, 299), "second, later in the file");
	assert_string_equal(name_at(jc, 0x1090, 300), "third");
	assert_string_equal(name_at(jc, 0x107f, UINT64_MAX), "second, later in the file");
	assert_string_equal(name_at(jc, 0x117f, 0), "third");
	assert_string_equal(name_at(jc, 0x1180, 300), "");
	jitcode_advance(jc, &n, 99);
	assert_int_equal(n, 0);
	jitcode_advance(jc, &n, 200);
	assert_int_equal(n, 3);
	jitcode_advance(jc, &n, 150);
	assert_int_equal(n, 3);
	jitcode_advance(jc, &n, 1000);
	assert_int_equal(n, 4);
	jitcode_free(jc);

	/*
	 * With the CPU's own clock, times cannot be compared: the newest record counts at any time.
	 */
	header(&d, JITDUMP_ARCH_TIME);
	load(&d, 300, 0x1000, 0x100, "newest");
	load(&d, 200, 0x1000, 0x100, "older");
	jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
	assert_string_equal(name_at(jc, 0x1000, 0), "newest");
	assert_string_equal(name_at(jc, 0x1000, 250), "newest");
	jitcode_free(jc);
	strbuf_fini(&d);
}

/* Compared with the definition, with many overlapping functions. */
static void test_brute_force(void **state)
{
	enum { N = 300, SPACE = 1024, TIMES = 64 };
	struct { uint64_t time, start, end; } f[N];
	struct strbuf d = STRBUF_INIT;
	unsigned int seed = 3;

	(void)state;
	for (int round = 0; round < 20; round++) {
		struct jitcode *jc;
		uint64_t time = TIMES;
		int n = 1 + rand_r(&seed) % N;

		header(&d, 0);
		for (int i = 0; i < n; i++) {
			char name[16];

			/* Newest first, as in a slice. */
			if (rand_r(&seed) % 4 == 0 && time)
				time--;
			f[i].time = time;
			f[i].start = 0x1000 + (uint64_t)rand_r(&seed) % (SPACE - 128);
			f[i].end = f[i].start + 1 + (uint64_t)rand_r(&seed) % 128;
			sprintf(name, "f%d", i);
			load(&d, f[i].time, f[i].start, f[i].end - f[i].start, name);
		}
		jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
		for (uint64_t a = 0x1000; a < 0x1000 + SPACE; a++) {
			uint64_t t = (uint64_t)rand_r(&seed) % (TIMES + 1);
			char want[16] = "";
			int best = -1;

			for (int i = n; i-- > 0;) {
				bool later = f[i].time > t;

				if (a < f[i].start || a >= f[i].end)
					continue;
				if (best < 0 || !later ||
				    (f[best].time > t && f[i].time == f[best].time))
					best = i;
			}
			if (best >= 0)
				sprintf(want, "f%d", best);
			assert_string_equal(name_at(jc, a, t), want);
		}
		jitcode_free(jc);
	}
	strbuf_fini(&d);
}

/* CIE and FDE of a function of 24 bytes, as python3.13 -X perf_jit writes them; @start is the
 * function's position relative to the FDE's field. */
static size_t python_rows(uint8_t *out, int32_t start, uint32_t len)
{
	static const uint8_t bytes[] = {
		0x14, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 0x10, 1, 0x1b, 0x0c, 7, 8, 0x90,
		1, 0, 0, 0x14, 0, 0, 0, 0x1c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x44, 0x0e, 0x10,
		0x46, 0x0e, 8, 0,
	};

	memcpy(out, bytes, sizeof(bytes));
	memcpy(out + 32, &start, 4);
	memcpy(out + 36, &len, 4);
	return sizeof(bytes);
}

/* The CFA at @addr by the rows of @jc, as an offset from the stack pointer; -1: no rows. */
static int64_t cfa_at(const struct jitcode *jc, uint64_t addr)
{
	const struct jit_func *f = jitcode_find(jc, (struct avma){ addr }, 0);
	uint64_t bias = 0;
	struct module *m = f ? jitcode_module(f, &bias) : NULL;
	struct cfi_fde fde;
	struct cfi_row row;

	if (!m || cfi_find(module_cfi(m), addr - bias, &fde) ||
	    cfi_row(module_cfi(m), &fde, addr - bias, &row) || row.cfa.reg != CFI_REG_SP)
		return -1;
	assert_int_equal(fde.start + bias, f->start);
	return row.cfa.off;
}

static void test_rows(void **state)
{
	const uint64_t at = 0x7f6fd9fed000;
	/* Where the specification's only reader places it; where no reader does. */
	static const int32_t starts[] = { -0x30, -0x1234, 0x100 };
	struct strbuf d = STRBUF_INIT;
	uint8_t eh[64];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct jitcode *jc;

		header(&d, 0);
		rows(&d, eh, python_rows(eh, starts[i], 11));
		load(&d, 1, at, 11, "py::f:x.py");
		load(&d, 1, at + 0x100, 11, "without");
		jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
		assert_int_equal(cfa_at(jc, at), 8);
		assert_int_equal(cfa_at(jc, at + 4), 16);
		assert_int_equal(cfa_at(jc, at + 9), 16);
		assert_int_equal(cfa_at(jc, at + 10), 8);
		assert_int_equal(cfa_at(jc, at + 11), -1);
		assert_int_equal(cfa_at(jc, at + 0x100), -1);
		jitcode_free(jc);
	}
	/* Absolute pointers. */
	for (size_t i = 0; i < 2; i++) {
		struct jitcode *jc;
		uint64_t abs[2] = { at, 11 };

		python_rows(eh, 0, 0);
		memmove(eh + 48, eh + 40, 8);
		eh[16] = 0;
		eh[24] = 0x1c;
		memcpy(eh + 32, abs, 16);
		header(&d, 0);
		rows(&d, eh, 56);
		load(&d, 1, at, 11, "py::f:x.py");
		/* No free ids: no rows. */
		jc = i ? jitcode_new(d.s, d.len, &next_id, next_id - 1) :
			 jitcode_new(d.s, d.len, &next_id, 1u << 23);
		assert_int_equal(cfa_at(jc, at + 4), i ? -1 : 16);
		jitcode_free(jc);
	}
	strbuf_fini(&d);
}

/* Lines by address, compared with a walk over the entries; base names; line 0 counts as no line. */
static void test_lines(void **state)
{
	struct jitdump_line v[40];
	struct strbuf d = STRBUF_INIT;
	unsigned int seed = 3;

	(void)state;
	for (int round = 0; round < 300; round++) {
		const size_t n = 1 + (size_t)rand_r(&seed) % 40;
		struct jitcode *jc;

		for (size_t i = 0; i < n; i++)
			v[i] = (struct jitdump_line){
				.off = (uint64_t)(rand_r(&seed) % 100), .line = (uint32_t)rand_r(&seed) % 4,
				.file = rand_r(&seed) % 2 ? "/a/b/one.js" : "two.js",
			};
		header(&d, 0);
		jitdump_lines_put(&d, 1, 0x1000, v, n);
		load(&d, 1, 0x1000, 100, "f");
		load(&d, 1, 0x2000, 100, "without");
		jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
		for (uint64_t off = 0; off < 100; off++) {
			const struct jit_func *f = jitcode_find(jc, (struct avma){ 0x1000 + off }, 1);
			const struct jitdump_line *best = NULL;
			struct source_line at;

			for (size_t i = 0; i < n; i++)
				if (v[i].off <= off && (!best || v[i].off >= best->off))
					best = &v[i];
			if (!best || !best->line) {
				assert_false(jitcode_line(f, 0x1000 + off, &at));
				continue;
			}
			assert_true(jitcode_line(f, 0x1000 + off, &at));
			assert_int_equal(at.line, best->line);
			assert_string_equal(at.file, best->file[0] == '/' ? "one.js" : "two.js");
		}
		jitcode_free(jc);
	}
	strbuf_fini(&d);
}

/* Damaged slices and rows: no crash, and nothing beyond the requested function. */
static void test_damaged(void **state)
{
	struct strbuf d = STRBUF_INIT;
	unsigned int seed = 11;
	uint8_t eh[64];

	(void)state;
	for (int round = 0; round < 5000; round++) {
		int n = rand_r(&seed) % 6;
		struct jitcode *jc;
		size_t len;

		header(&d, 0);
		rows(&d, eh, python_rows(eh, -0x30, 11));
		load(&d, 1, 0x1000, 11, "one");
		rows(&d, eh, python_rows(eh, -0x30, 11));
		jitdump_lines_put(&d, 1, 0x2000, &(struct jitdump_line){ .off = 2, .line = 3, .file = "x.js" }, 1);
		load(&d, 1, 0x2000, 11, "two");
		len = d.len;
		if (rand_r(&seed) % 8 == 0)
			len = (size_t)rand_r(&seed) % len;
		while (n--)
			d.s[(size_t)rand_r(&seed) % d.len] = (char)rand_r(&seed);
		jc = jitcode_new(d.s, len, &next_id, 1u << 23);
		for (uint64_t a = 0xffe; jc && a < 0x2010; a = a == 0x1010 ? 0x1ffe : a + 1) {
			const struct jit_func *f = jitcode_find(jc, (struct avma){ a }, 1);
			struct source_line at;
			struct module *m;
			uint64_t bias;

			if (!f)
				continue;
			assert_true(f->start <= a && a < f->end);
			jitcode_line(f, a, &at);
			m = jitcode_module(f, &bias);
			if (m)
				module_cfi(m);
		}
		jitcode_free(jc);
	}
	strbuf_fini(&d);
}

/* An address space gets another generation exactly when lookups in it may differ. */
static void test_addrspace(void **state)
{
	struct addrspace *as = addrspace_new(), *child;
	struct strbuf d = STRBUF_INIT;
	struct jitcode *jc;
	uint32_t gen;

	(void)state;
	header(&d, 0);
	load(&d, 200, 0x1000, 0x10, "second");
	load(&d, 100, 0x1000, 0x10, "first");
	jc = jitcode_new(d.s, d.len, &next_id, 1u << 23);
	gen = as->generation;
	addrspace_advance(as, 50);
	assert_int_equal(as->generation, gen);
	assert_null(addrspace_find_jit(as, (struct avma){ 0x1000 }));
	addrspace_set_jit(as, jc);
	assert_int_not_equal(as->generation, gen);
	addrspace_advance(as, 150);
	gen = as->generation;
	assert_string_equal(addrspace_find_jit(as, (struct avma){ 0x1000 })->name, "first");
	addrspace_advance(as, 199);
	assert_int_equal(as->generation, gen);
	child = addrspace_clone(as);
	addrspace_advance(as, 250);
	assert_int_not_equal(as->generation, gen);
	assert_string_equal(addrspace_find_jit(as, (struct avma){ 0x1000 })->name, "second");
	assert_string_equal(addrspace_find_jit(child, (struct avma){ 0x1000 })->name, "first");
	addrspace_free(child);
	addrspace_free(as);
	jitcode_free(jc);
	strbuf_fini(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_brute_force),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_addrspace),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("symbolize jitcode", tests, NULL, NULL);
}
