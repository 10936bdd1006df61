/* Sliced ELF files in a recording: unpacking gives the same bytes again, or nothing. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "bytes/codec.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "elf/elf_write.h"
#include "event.h"
#include "random.h"
#include "recording.h"
#include "recording/rec_reader.h"
#include "recording/rec_writer.h"
#include "slice/slice_codec.h"
#include "slice/slice_priv.h"
#include "toolrun.h"

struct fixture {
	struct slice_enc *enc;
	struct slice_dec *dec;
	struct codec_enc *codec;
	struct elf_file *ef;		/* this program */
	struct elf_sym *syms;
	size_t nsyms;
	uint64_t *pcs;
};

static uint64_t rnd_state;

static uint32_t rnd(uint32_t below)
{
	return (uint32_t)random_next(&rnd_state) % below;
}

static int keep(void *ctx, const struct elf_sym *sym)
{
	struct fixture *f = ctx;

	f->syms = realloc(f->syms, (f->nsyms + 1) * sizeof(*sym));
	f->syms[f->nsyms++] = *sym;
	return 0;
}

static int by_svma(const void *a, const void *b)
{
	const struct elf_sym *x = a, *y = b;

	return x->svma < y->svma ? -1 : x->svma > y->svma;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->enc = slice_enc_new();
	f->dec = slice_dec_new();
	f->codec = codec_enc_new(6);
	f->ef = tool_open_elf("/proc/self/exe");
	if (!f->ef || elf_file_symbols(f->ef, keep, f))
		return -1;
	qsort(f->syms, f->nsyms, sizeof(*f->syms), by_svma);
	f->pcs = calloc(f->nsyms, sizeof(*f->pcs));
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	slice_enc_free(f->enc);
	slice_dec_free(f->dec);
	codec_enc_free(f->codec);
	elf_file_close(f->ef);
	free(f->syms);
	free(f->pcs);
	free(f);
	return 0;
}

/* A slice of this program with every @step-th function; whole FDEs or the rows of one address. */
static void make_slice(struct fixture *f, size_t step, bool rows, struct strbuf *out)
{
	struct elf_sym *syms = calloc(f->nsyms, sizeof(*syms));
	struct strbuf eh_frame = STRBUF_INIT;
	struct elf_slice s = { .type = ET_DYN, .machine = EM_X86_64, .syms = syms };
	struct cfi_sections secs;
	uint8_t id[20];
	struct cfi *cfi;

	for (size_t i = 0; i < f->nsyms; i += step) {
		f->pcs[s.nsyms] = f->syms[i].svma + f->syms[i].size / 2;
		syms[s.nsyms++] = f->syms[i];
	}
	elf_file_cfi_sections(f->ef, &secs);
	cfi = cfi_new(&secs);
	if (rows)
		assert_true(cfi_emit_rows(cfi, NULL, f->pcs, s.nsyms, 0, &eh_frame) > 0);
	else
		assert_true(cfi_emit(cfi, f->pcs, s.nsyms, &eh_frame) > 0);
	cfi_free(cfi);
	s.eh_frame = eh_frame.s;
	s.eh_frame_size = eh_frame.len;
	s.nloads = elf_file_loads(f->ef, &s.loads);
	s.build_id = id;
	s.build_id_len = elf_file_build_id(f->ef, id);
	s.entry = elf_file_entry(f->ef);
	s.debuglink = "a.debug\0CRC4";
	s.debuglink_size = 12;
	elf_write(&s, out);
	strbuf_fini(&eh_frame);
	free(syms);
}

/*
 * Unpacked only for its names, @packed (@len bytes) gives @elf as it is written without call frame
 * information.
 */
static void names_alone(struct fixture *f, const struct strbuf *elf, const char *packed, size_t len)
{
	struct strbuf want = STRBUF_INIT, got = STRBUF_INIT;
	struct elf_slice s;

	assert_true(slice_parse(elf->s, elf->len, &s));
	s.eh_frame = NULL;
	s.eh_frame_size = 0;
	elf_write(&s, &want);
	assert_int_equal(slice_unpack_names(f->dec, packed, len, elf->len, &got), 0);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.s, want.s, want.len);
	free((void *)s.loads);
	free((void *)s.syms);
	strbuf_fini(&want);
	strbuf_fini(&got);
}

/*
 * Packs @elf; if that is possible, unpacking must give it back. Returns the packed size in bytes,
 * or 0.
 */
static size_t there_and_back(struct fixture *f, const struct strbuf *elf)
{
	struct strbuf packed = STRBUF_INIT, back = STRBUF_INIT;
	size_t n;

	strbuf_adds(&packed, "before");
	if (!slice_pack(f->enc, f->codec, elf->s, elf->len, &packed)) {
		assert_int_equal(packed.len, 6);
	} else {
		assert_true(packed.len - 6 < elf->len);
		assert_int_equal(slice_unpack(f->dec, packed.s + 6, packed.len - 6, elf->len, &back),
				 0);
		assert_int_equal(back.len, elf->len);
		assert_memory_equal(back.s, elf->s, elf->len);
		names_alone(f, elf, packed.s + 6, packed.len - 6);
	}
	n = packed.len - 6;
	strbuf_fini(&packed);
	strbuf_fini(&back);
	return n;
}

static void test_real_slices(void **state)
{
	static const size_t steps[] = { 1, 2, 7, 50, 100 };
	struct fixture *f = *state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(steps); i++) {
		struct strbuf elf = STRBUF_INIT;
		size_t n;

		make_slice(f, steps[i / 2], i % 2, &elf);
		n = there_and_back(f, &elf);
		assert_true(n > 0);
		assert_true(n < elf.len / 3);
		strbuf_fini(&elf);
	}
}

/* Slices with parts missing, and with sizes and offsets that no linker makes. */
static void test_odd_slices(void **state)
{
	struct elf_sym syms[] = {
		{ .svma = 0x1000, .size = 16, .name = "a", .type = STT_FUNC, .bind = STB_LOCAL },
		{ .svma = 0x1000, .size = 16, .name = "b", .type = STT_FUNC, .bind = STB_GLOBAL },
		{ .svma = 0x1004, .size = UINT64_MAX, .name = "", .type = STT_GNU_IFUNC,
		  .bind = STB_WEAK },
		{ .svma = UINT64_MAX, .size = 2, .name = "end", .type = 15, .bind = 15 },
	};
	const struct elf_load loads[] = {
		{ .offset = 0x2000, .filesz = 9, .vaddr = 0x1000, .memsz = 5, .flags = PF_X },
		{ .offset = UINT64_MAX, .filesz = 1, .vaddr = 0, .memsz = 0, .flags = UINT32_MAX },
	};
	struct elf_slice s = { .machine = EM_X86_64 };

	for (unsigned int has = 0; has < 32; has++) {
		struct strbuf elf = STRBUF_INIT;

		s.loads = loads;
		s.nloads = has & 1 ? 2 : 0;
		s.syms = syms;
		s.nsyms = has & 2 ? 4 : 0;
		s.build_id = (const uint8_t *)"0123456789abcdef0123";
		s.build_id_len = has & 4 ? 19 : 0;
		s.debugdata = "xz";
		s.debugdata_size = has & 8 ? 2 : 0;
		s.eh_frame = "\0\0\0";
		s.eh_frame_size = has & 16 ? 4 : 0;
		elf_write(&s, &elf);
		assert_true(there_and_back(*state, &elf) > 0);
		strbuf_fini(&elf);
	}
}

/* Whatever the bytes are, unpacking gives nothing else. */
static void test_other_bytes(void **state)
{
	struct fixture *f = *state;
	struct strbuf elf = STRBUF_INIT, bad = STRBUF_INIT;
	size_t packed = 0, refused = 0;

	make_slice(f, 40, true, &elf);
	for (unsigned int i = 0; i < 3000; i++) {
		strbuf_reset(&bad);
		strbuf_add(&bad, elf.s, i % 3 ? elf.len : rnd((uint32_t)elf.len));
		for (uint32_t k = 1 + rnd(2); k && bad.len; k--)
			bad.s[rnd((uint32_t)bad.len)] = (char)(rnd(2) ? rnd(256) : 1u << rnd(8));
		if (there_and_back(f, &bad))
			packed++;
		else
			refused++;
	}
	/* A name or an address may have any value; a header may not. */
	assert_true(packed > 100);
	assert_true(refused > 100);
	strbuf_reset(&bad);
	assert_int_equal(there_and_back(f, &bad), 0);
	for (unsigned int i = 0; i < 5000; i++)
		strbuf_addc(&bad, (char)rnd(256));
	memcpy(bad.s, elf.s, 64);
	assert_int_equal(there_and_back(f, &bad), 0);
	strbuf_fini(&elf);
	strbuf_fini(&bad);
}

/* Damage gives an error or a file of the right size, with little time and memory. */
static void test_damage(void **state)
{
	struct fixture *f = *state;
	struct strbuf elf = STRBUF_INIT, packed = STRBUF_INIT, back = STRBUF_INIT;
	char *copy;

	make_slice(f, 60, true, &elf);
	assert_true(slice_pack(f->enc, f->codec, elf.s, elf.len, &packed));
	for (unsigned int i = 0; i < 4000; i++) {
		size_t len = i % 4 ? packed.len : rnd((uint32_t)packed.len);
		uint64_t size = i % 5 ? elf.len : rnd(2) ? rnd(1u << 24) : random_next(&rnd_state);

		/* A buffer of exactly that size, so that reading past it is seen. */
		copy = malloc(len ? len : 1);
		memcpy(copy, packed.s, len);
		for (uint32_t k = rnd(4); k && len; k--)
			copy[rnd(rnd(2) ? MIN((uint32_t)len, 16u) : (uint32_t)len)] = (char)rnd(256);
		strbuf_reset(&back);
		if (!slice_unpack(f->dec, copy, len, size, &back))
			assert_int_equal(back.len, size);
		strbuf_reset(&back);
		if (!slice_unpack_names(f->dec, copy, len, size, &back))
			assert_true(back.len <= size);
		free(copy);
	}
	/* The decoder works as before. */
	strbuf_reset(&back);
	assert_int_equal(slice_unpack(f->dec, packed.s, packed.len, elf.len, &back), 0);
	assert_memory_equal(back.s, elf.s, elf.len);
	assert_int_not_equal(slice_unpack(f->dec, packed.s, packed.len, elf.len + 8, &back), 0);
	strbuf_fini(&elf);
	strbuf_fini(&packed);
	strbuf_fini(&back);
}

static int on_capture(void *ctx, const struct capture *cap)
{
	struct strbuf **want = ctx;
	const struct strbuf *elf = want[cap->id];

	assert_int_equal(cap->kind, CAPTURE_ELF);
	assert_int_equal(cap->size, elf->len);
	assert_memory_equal(cap->data, elf->s, elf->len);
	want[cap->id] = NULL;
	return 0;
}

/* Data that would expand very much is stored unpacked, and is rejected in packed form. */
static void test_growth(void **state)
{
	struct fixture *f = *state;
	struct elf_slice s = { .machine = EM_X86_64, .debugdata_size = 4u << 20 };
	struct strbuf elf = STRBUF_INIT, packed = STRBUF_INIT;
	char *zeros = calloc(1, s.debugdata_size);

	s.debugdata = zeros;
	elf_write(&s, &elf);
	assert_int_equal(there_and_back(f, &elf), 0);
	for (uint32_t i = 0; i < s.debugdata_size; i++)
		zeros[i] = (char)rnd(4);
	strbuf_reset(&elf);
	elf_write(&s, &elf);
	assert_true(there_and_back(f, &elf) > 0);
	assert_true(slice_pack(f->enc, f->codec, elf.s, elf.len, &packed));
	assert_int_not_equal(slice_unpack(f->dec, packed.s, packed.len, UINT64_MAX, &elf), 0);
	assert_int_not_equal(slice_unpack(f->dec, packed.s, elf.len / 256, elf.len, &elf), 0);
	strbuf_fini(&elf);
	strbuf_fini(&packed);
	free(zeros);
}

/* The same slices when they were packed. */
static int on_packed(void *ctx, const struct capture *cap)
{
	struct capture plain = *cap;
	struct slice_dec *d = slice_dec_new();
	struct strbuf out = STRBUF_INIT;
	int ret;

	assert_int_equal(cap->packed == 0, cap->id == 1);
	if (cap->packed) {
		/* A truncated one is rejected. */
		assert_int_not_equal(slice_unpack(d, cap->data, cap->packed / 2, cap->size, &out), 0);
		strbuf_reset(&out);
		assert_int_equal(slice_unpack(d, cap->data, cap->packed, cap->size, &out), 0);
		plain.data = out.s;
		plain.packed = 0;
	}
	ret = on_capture(ctx, &plain);
	strbuf_fini(&out);
	slice_dec_free(d);
	return ret;
}

/* Through a recording: packed if that is possible, otherwise unchanged. */
static void test_recording(void **state)
{
	struct strbuf slice = STRBUF_INIT, other = STRBUF_INIT, *want[] = { &slice, &other, &slice };
	struct strbuf *again[] = { &slice, &other, &slice };
	int fd = memfd_create("recording", 0), err;
	struct rec_block_header h;
	struct rec_writer *w;
	struct rec_reader *r;
	off_t at = sizeof(struct rec_file_header);
	char path[32];

	make_slice(*state, 1, true, &slice);
	strbuf_add(&other, slice.s, slice.len - 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	w = rec_writer_new(fd, &err);
	assert_non_null(w);
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct capture cap = { CAPTURE_ELF, i, want[i]->s, want[i]->len, 0 };

		assert_int_equal(rec_writer_capture(w, &cap), 0);
	}
	assert_int_equal(rec_writer_finish(w), 0);
	rec_writer_free(w);
	for (uint32_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_int_equal(pread(fd, &h, sizeof(h), at), sizeof(h));
		assert_int_equal(h.type, REC_CAPTURE);
		assert_int_equal(h.flags, i == 1 ? REC_F_ZSTD : REC_F_SLICE);
		at += (off_t)sizeof(h) + h.stored_len;
	}
	r = rec_reader_open(path);
	assert_non_null(r);
	assert_int_equal(rec_reader_captures(r, on_capture, want), 0);
	assert_int_equal(rec_reader_captures_packed(r, on_packed, again), 0);
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_null(want[i]);
		assert_null(again[i]);
	}
	rec_reader_close(r);
	close(fd);
	strbuf_fini(&slice);
	strbuf_fini(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_real_slices),
		cmocka_unit_test(test_odd_slices),
		cmocka_unit_test(test_other_bytes),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_recording),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
