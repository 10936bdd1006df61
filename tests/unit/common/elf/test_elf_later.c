/*
 * What libdw reads from debug info through an elf_file's handles: the whole content of the file as
 * it was when first opened, although entries and strings are loaded only on demand (elf_later.c,
 * elf_image.c).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "elf/elf_file.h"
#include "toolrun.h"

static struct elf_file *open_elf(const char *name)
{
	struct elf_file *ef = tool_open_elf(name);

	assert_non_null(ef);
	return ef;
}

static Elf_Data *section_of(Elf *elf, const char *want)
{
	Elf_Scn *scn = NULL;
	size_t shstrndx;

	assert_int_equal(elf_getshdrstrndx(elf, &shstrndx), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;

		assert_non_null(gelf_getshdr(scn, &sh));
		if (sh.sh_type != SHT_NOBITS && !strcmp(elf_strptr(elf, shstrndx, sh.sh_name), want))
			return elf_rawdata(scn, NULL);
	}
	return NULL;
}

/* Reads each string of the section @str of a handle. */
static void all_texts(struct elf_file *ef, const Elf_Data *str)
{
	for (size_t at = 0; str && at < str->d_size;) {
		const char *s = (const char *)str->d_buf + at;

		assert_ptr_equal(elf_file_text(ef, s), s);
		at += strlen(s) + 1;
	}
}

/*
 * The handles' debug sections equal those of the file, compressed or not; location lists are left
 * out.
 */
static void test_handles(void **state)
{
	static const char *const same[] = {
		".debug_info", ".debug_abbrev", ".debug_str", ".debug_aranges", ".eh_frame",
	};
	static const char *const commands[] = {
		"gcc -O2 -g -gz=none -o handled x.c", "gcc -O2 -g -gz=zlib -o handled x.c",
		"gcc -O2 -g -m32 -c -o handled x.c",
	};

	(void)state;
	for (size_t f = 0; f < 3; f++) {
		struct elf_file *ef;
		Elf *ref;
		int fd;

		if (!tool_build(commands[f])) {
			assert_int_not_equal(f, 0);	/* no 32-bit headers, no zlib */
			continue;
		}
		ef = open_elf("handled");
		fd = open(tool_path("handled"), O_RDONLY | O_CLOEXEC);
		ref = elf_begin(fd, ELF_C_READ, NULL);
		assert_non_null(ref);
		for (unsigned int h = 0; h < 2; h++) {
			Elf *ours = elf_file_handle_of(ef, h);

			assert_non_null(ours);
			elf_file_need_info(ef, 0, UINT64_MAX);
			all_texts(ef, section_of(ours, ".debug_str"));
			/* A compressed file's handles have the sections unpacked. */
			for (size_t i = 0; f == 1 && i < 5; i++) {
				Elf_Data *b = section_of(ours, same[i]);
				const uint8_t *data;
				size_t size;

				if (elf_file_section(ef, same[i], &data, &size, NULL) || !b)
					continue;
				assert_int_equal(size, b->d_size);
				assert_memory_equal(data, b->d_buf, size);
			}
			if (f == 1)
				continue;
			assert_null(section_of(ours, ".debug_loclists"));
			for (size_t i = 0; i < 5; i++) {
				Elf_Data *a = section_of(ref, same[i]), *b = section_of(ours, same[i]);

				if (!a)
					continue;
				assert_non_null(b);
				assert_int_equal(a->d_size, b->d_size);
				assert_memory_equal(a->d_buf, b->d_buf, a->d_size);
			}
		}
		assert_ptr_equal(elf_file_handle(ef), elf_file_handle_of(ef, 0));
		assert_null(elf_file_handle_of(ef, ELF_HANDLES_MAX));
		elf_end(ref);
		close(fd);
		elf_file_close(ef);
	}
}

static void expect_all(void *ctx, const uint8_t *data, size_t size)
{
	assert_true(data && size);
	elf_file_expect_info(ctx, UINT64_MAX);
}

/*
 * A handle of a compressed .debug_info has what was requested, possibly more; with and without the
 * thread that unpacks ahead.
 */
static void test_info_by_pieces(void **state)
{
	static const char *const kinds[] = { "zlib", "zstd" };

	(void)state;
	/* Types: they cost the compiler no time. */
	if (!tool_build("for i in $(seq 5000); do echo \"struct s$i { int a$i, b[$i]; char *c; struct s$i *d; } v$i;\"; "
		   "done >>x.c && gcc -O1 -g -gz=none -o prog x.c -w"))
		skip();
	for (size_t run = 0; run < 4; run++) {
		struct elf_file *plain = open_elf("prog"), *packed, *many[8];
		size_t n, last = 0;
		const uint8_t *want;
		Elf_Data *have;

		assert_int_equal(elf_file_section(plain, ".debug_info", &want, &n, NULL), 0);
		assert_true(n > 300000);
		if (!tool_run("objcopy --compress-debug-sections=%s prog packed 2>/dev/null", kinds[run % 2])) {
			packed = open_elf("packed");
			if (run / 2)
				elf_file_unpack_ahead(packed, 1, expect_all, packed);
			have = section_of(elf_file_handle(packed), ".debug_info");
			assert_non_null(have);
			assert_int_equal(have->d_size, n);
			for (size_t end = 1; end < n; end = end * 3 + 1000) {
				elf_file_need_info(packed, 0, end);
				assert_memory_equal((uint8_t *)have->d_buf + last, want + last, end - last);
				last = end;
			}
			elf_file_need_info(packed, 0, UINT64_MAX);
			assert_memory_equal(have->d_buf, want, n);
			elf_file_close(packed);
			/* Closed before any of it, or part of it, was unpacked. */
			packed = open_elf("packed");
			elf_file_unpack_ahead(packed, 1, expect_all, packed);
			elf_file_close(packed);
			/*
			 * More files than threads: needed before and after their turn, or not at
			 * all.
			 */
			for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
				many[i] = open_elf("packed");
				elf_file_unpack_ahead(many[i], 1, expect_all, many[i]);
			}
			for (size_t i = ARRAY_SIZE(many); i-- > 0;) {
				have = i % 3 ? section_of(elf_file_handle(many[i]), ".debug_info") : NULL;
				if (have) {
					elf_file_need_info(many[i], 0, UINT64_MAX);
					assert_memory_equal(have->d_buf, want, n);
				}
				assert_true(have || i % 3 == 0);
				elf_file_close(many[i]);
			}
		}
		elf_file_close(plain);
	}
}

/* What a test needs to wait for a thread. */
struct heard {
	struct elf_file *ef;
	uint8_t *data;
	size_t size;
	uint64_t end;		/* expected end, bytes of .debug_info */
	sem_t is;
};

static void hear(void *ctx, const uint8_t *data, size_t size)
{
	struct heard *h = ctx;

	h->data = malloc(size);
	memcpy(h->data, data, size);
	h->size = size;
	elf_file_expect_info(h->ef, h->end);
	sem_post(&h->is);
}

/*
 * The thread that unpacks ahead exposes .debug_aranges, and goes as far as expected, at most
 * slightly beyond.
 */
static void test_info_expected(void **state)
{
	struct elf_file *plain, *packed;
	const uint8_t *want, *ranges;
	size_t n, nranges, more;
	struct heard h = { 0 };
	Elf_Data *have;

	(void)state;
	if (!tool_build("for i in $(seq 20000); do echo \"struct s$i { int a$i, b[$i]; char *c; struct s$i *d; } v$i;\"; "
		   "done >>x.c && gcc -O1 -g -gz=none -o prog x.c -w && objcopy --compress-debug-sections=zlib prog packed"))
		skip();
	plain = open_elf("prog");
	assert_int_equal(elf_file_section(plain, ".debug_info", &want, &n, NULL), 0);
	assert_int_equal(elf_file_section(plain, ".debug_aranges", &ranges, &nranges, NULL), 0);
	assert_true(n > 1000000);
	h.ef = packed = open_elf("packed");
	h.end = n / 4;
	assert_int_equal(sem_init(&h.is, 0, 0), 0);
	elf_file_unpack_ahead(packed, 1, hear, &h);
	assert_int_equal(sem_wait(&h.is), 0);
	assert_int_equal(h.size, nranges);
	assert_memory_equal(h.data, ranges, nranges);
	have = section_of(elf_file_handle(packed), ".debug_info");
	assert_non_null(have);
	/* The thread's output may be compared only after it has stopped. */
	while (!want[h.end - 1])
		h.end--;
	for (int i = 0; i < 10000 && ((volatile uint8_t *)have->d_buf)[h.end - 1] != want[h.end - 1]; i++)
		usleep(1000);
	elf_file_unpack_stop(packed);
	assert_memory_equal(have->d_buf, want, h.end);
	more = h.end + (256 << 10);
	for (size_t i = more; i < n; i++)
		assert_int_equal(((uint8_t *)have->d_buf)[i], 0);
	/* Bytes that were not expected are unpacked when they are needed. */
	elf_file_need_info(packed, n - 1, n);
	assert_memory_equal(have->d_buf, want, n);
	sem_destroy(&h.is);
	free(h.data);
	elf_file_close(packed);
	elf_file_close(plain);
}

/* Where the units of the section @info begin, and after the last one, where it ends. */
static size_t unit_starts(const uint8_t *info, size_t size, size_t *starts, size_t max)
{
	size_t n = 0, at = 0;
	uint32_t len;

	for (; at < size && n + 1 < max; n++) {
		starts[n] = at;
		memcpy(&len, info + at, 4);
		at += 4 + len;
	}
	assert_int_equal(at, size);
	starts[n] = at;
	return n;
}

/*
 * A handle of a plain .debug_info has the units that were requested and all headers before them;
 * with older DWARF, everything.
 */
static void test_info_by_units(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		size_t size, n, starts[16];
		struct elf_file *plain, *ef;
		const uint8_t *want, *have;
		uint64_t svma;

		if (!tool_build("for f in a b c; do for i in $(seq 1500); do "
			   "echo \"struct s$i { int a$i, b[$i]; char *c; struct s$i *d; } v_$f$i;\"; done >$f.c; done") ||
		    tool_run("gcc -gdwarf-%d -gz=none -o units x.c a.c b.c c.c -w", version))
			skip();
		plain = open_elf("units");
		ef = open_elf("units");
		assert_int_equal(elf_file_section(plain, ".debug_info", &want, &size, NULL), 0);
		n = unit_starts(want, size, starts, 16);
		assert_true(n >= 4);
		have = section_of(elf_file_handle(ef), ".debug_info")->d_buf;
		elf_file_need_info(ef, starts[2], starts[3]);
		assert_memory_equal(have + starts[2], want + starts[2], starts[3] - starts[2]);
		for (size_t i = 0; i < 3; i++)
			assert_memory_equal(have + starts[i], want + starts[i], 40);
		assert_int_equal(!memcmp(have, want, size), version < 5);
		elf_file_need_info(ef, starts[1], starts[2]);
		assert_memory_equal(have + starts[1], want + starts[1], starts[3] - starts[1]);
		elf_file_need_info(ef, 0, UINT64_MAX);
		assert_memory_equal(have, want, size);
		assert_int_equal(elf_file_section(ef, ".plt", &want, &size, &svma), 0);
		assert_true(elf_file_in_plt(ef, svma) && elf_file_in_plt(ef, svma + size - 1));
		assert_int_equal(elf_file_section(ef, ".text", &want, &size, &svma), 0);
		assert_false(elf_file_in_plt(ef, svma) || elf_file_in_plt(ef, svma + size));
		elf_file_close(ef);
		elf_file_close(plain);
	}
}

/* Where section @name is in the file that @ef reads; returns its number. */
static size_t place_of(struct elf_file *ef, const char *name, GElf_Shdr *sh)
{
	Elf *elf = elf_file_handle(ef);
	Elf_Scn *scn = NULL;
	size_t shstrndx;

	assert_int_equal(elf_getshdrstrndx(elf, &shstrndx), 0);
	while ((scn = elf_nextscn(elf, scn))) {
		assert_non_null(gelf_getshdr(scn, sh));
		if (!strcmp(elf_strptr(elf, shstrndx, sh->sh_name), name))
			return elf_ndxscn(scn);
	}
	fail();
	return 0;
}

static bool build_strings(void)
{
	return tool_build("for i in $(seq 3000); do echo \"struct a_structure_of_number_$i { int a$i; } v$i;\"; done >>x.c && "
		     "gcc -O1 -g -gz=none -o strings x.c -w");
}

/* A handle of a plain .debug_str has its end, and the strings that were requested. */
static void test_strings_by_pieces(void **state)
{
	static const uint8_t none[4096];
	const char *mid = "a_structure_of_number_1500";
	struct elf_file *plain, *ef;
	const uint8_t *want, *have;
	size_t size, at;

	(void)state;
	if (!build_strings())
		skip();
	plain = open_elf("strings");
	ef = open_elf("strings");
	assert_int_equal(elf_file_section(plain, ".debug_str", &want, &size, NULL), 0);
	assert_true(size > 50000);
	have = section_of(elf_file_handle(ef), ".debug_str")->d_buf;
	assert_memory_equal(have, none, sizeof(none));
	assert_memory_equal(have + size - 16, want + size - 16, 16);
	assert_null(elf_file_text(ef, NULL));
	assert_string_equal(elf_file_text(ef, mid), mid);
	at = (size_t)((const uint8_t *)memmem(want, size, mid, strlen(mid)) - want);
	assert_string_equal(elf_file_text(ef, (const char *)have + at), mid);
	assert_memory_not_equal(have, want, size);
	/* Among them strings that continue in the next piece. */
	all_texts(ef, section_of(elf_file_handle(ef), ".debug_str"));
	assert_memory_equal(have, want, size);
	elf_file_close(ef);
	elf_file_close(plain);
}

/*
 * What was read stays when the file changes. Later reads give other strings or none, and each
 * string is terminated.
 */
static void test_strings_changed(void **state)
{
	(void)state;
	if (!build_strings())
		skip();
	for (int cut = 0; cut < 2; cut++) {
		struct elf_file *ef;
		const char *have;
		char first[256];
		GElf_Shdr sh;
		char *junk;
		int fd;

		assert_int_equal(tool_run("cp strings changed"), 0);
		ef = open_elf("changed");
		place_of(ef, ".debug_str", &sh);
		have = section_of(elf_file_handle(ef), ".debug_str")->d_buf;
		snprintf(first, sizeof(first), "%s", elf_file_text(ef, have));
		assert_true(first[0] && strlen(first) < 255);
		fd = open(tool_path("changed"), O_RDWR | O_CLOEXEC);
		junk = malloc(sh.sh_size);
		memset(junk, 'x', sh.sh_size);
		assert_int_equal(cut ? ftruncate(fd, 4096) : (int)pwrite(fd, junk, sh.sh_size, (off_t)sh.sh_offset),
				 cut ? 0 : sh.sh_size);
		assert_string_equal(elf_file_text(ef, have), first);
		for (size_t at = 0; at < sh.sh_size; at += 1000)
			assert_true(strlen(elf_file_text(ef, have + at)) < sh.sh_size - at);
		assert_int_equal(have[sh.sh_size / 2], cut ? 0 : 'x');
		close(fd);
		free(junk);
		elf_file_close(ef);
	}
}

/* A section without a NUL at its end, or one whose bytes belong to another section as well. */
static void test_strings_odd(void **state)
{
	struct elf_file *ef;
	GElf_Shdr sh, info;
	struct strbuf sb = STRBUF_INIT;
	const char *have;
	size_t index;
	Elf64_Ehdr eh;

	(void)state;
	if (!build_strings())
		skip();
	ef = open_elf("strings");
	place_of(ef, ".debug_str", &sh);
	index = place_of(ef, ".debug_info", &info);
	elf_file_close(ef);
	tool_read("strings", &sb);

	/* libdw must find the last NUL at once, and every string after it must be terminated. */
	memset(sb.s + sh.sh_offset + sh.sh_size - 10000, 'x', 10000);
	sb.s[sh.sh_offset + sh.sh_size - 10001] = '\0';
	tool_write_bytes("odd", sb.s, sb.len);
	ef = open_elf("odd");
	have = section_of(elf_file_handle(ef), ".debug_str")->d_buf;
	assert_memory_equal(have + sh.sh_size - 10001, sb.s + sh.sh_offset + sh.sh_size - 10001, 10001);
	assert_int_equal(have[0], 0);
	assert_true(strlen(elf_file_text(ef, have + sh.sh_size - 5000)) >= 5000);
	elf_file_close(ef);

	memcpy(&eh, sb.s, sizeof(eh));
	info.sh_offset = sh.sh_offset + 100;
	memcpy(sb.s + eh.e_shoff + index * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_offset), &info.sh_offset, 8);
	tool_write_bytes("odd", sb.s, sb.len);
	ef = open_elf("odd");
	have = section_of(elf_file_handle(ef), ".debug_str")->d_buf;
	assert_memory_equal(have, sb.s + sh.sh_offset, sh.sh_size);
	elf_file_close(ef);
	strbuf_fini(&sb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_info_by_pieces),
		cmocka_unit_test(test_info_expected),
		cmocka_unit_test(test_info_by_units),
		cmocka_unit_test(test_strings_by_pieces),
		cmocka_unit_test(test_strings_changed),
		cmocka_unit_test(test_strings_odd),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
