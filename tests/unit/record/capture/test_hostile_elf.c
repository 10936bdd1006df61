/*
 * Binaries that state tables of hundreds of MiB in a few KiB of disk: neither a first look, which
 * the drain takes, nor a capture brings them into memory. Each is looked at in a child, and the
 * kernel says how much memory that took.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "capture/capture.h"
#include "elf/elf_file.h"
#include "toolrun.h"

#define MIB (1ull << 20)
#define ROOM (64 * MIB)
/* Beside the tables: the symbols that are kept, and what is written. */
#define CAPTURE_MAX (160 * MIB)
#define LOOK_MAX (24 * MIB)

static uint64_t code_off;	/* file offset of main() */

static int setup(void **state)
{
	FILE *f;
	char line[256];
	unsigned long svma = 0;

	if (tool_setup(state))
		return -1;
	tool_write("prog.c", "volatile int n; int other(void) { return n; } int main(void) { return other() + n; }\n");
	if (tool_run("gcc -g -O1 -o prog prog.c && readelf -sW prog | awk '$8 == \"main\" { print $2 }' >at"))
		return -1;
	f = tool_open_text("at");
	if (!f || !fgets(line, sizeof(line), f) || sscanf(line, "%lx", &svma) != 1)
		return -1;
	fclose(f);
	/* gcc links the segment of code at equal addresses and offsets. */
	code_off = svma;
	return 0;
}

/* A copy of "prog" as "bad", open for changes. */
static int copy(Elf64_Ehdr *eh)
{
	int fd;

	assert_int_equal(tool_run("cp prog bad"), 0);
	fd = open(tool_path("bad"), O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, eh, sizeof(*eh), 0), sizeof(*eh));
	return fd;
}

static void put(int fd, const void *data, size_t size, uint64_t off)
{
	assert_int_equal(pwrite(fd, data, size, (off_t)off), (ssize_t)size);
}

/* Makes section @name as large as @size, all of it at the sparse end. */
static void blow_up(int fd, const Elf64_Ehdr *eh, const char *name, uint64_t size)
{
	Elf64_Shdr strs, sh;
	char have[32];

	assert_int_equal(pread(fd, &strs, sizeof(strs), (off_t)(eh->e_shoff + eh->e_shstrndx * sizeof(sh))), sizeof(strs));
	for (unsigned int i = 0; i < eh->e_shnum; i++) {
		const uint64_t at = eh->e_shoff + i * sizeof(sh);
		const off_t end = lseek(fd, 0, SEEK_END);

		memset(have, 0, sizeof(have));
		assert_int_equal(pread(fd, &sh, sizeof(sh), (off_t)at), sizeof(sh));
		if (pread(fd, have, sizeof(have) - 1, (off_t)(strs.sh_offset + sh.sh_name)) <= 0 || strcmp(have, name))
			continue;
		sh.sh_offset = (uint64_t)end;
		sh.sh_size = size;
		put(fd, &sh, sizeof(sh), at);
		assert_int_equal(ftruncate(fd, end + (off_t)size), 0);
		return;
	}
	fail_msg("no section %s", name);
}

static void huge_symtab(void)
{
	Elf64_Ehdr eh;
	int fd = copy(&eh);

	blow_up(fd, &eh, ".symtab", 480 * MIB);
	blow_up(fd, &eh, ".strtab", 480 * MIB);
	close(fd);
}

static void huge_dynsym(void)
{
	Elf64_Ehdr eh;
	int fd = copy(&eh);

	blow_up(fd, &eh, ".dynsym", 480 * MIB);
	blow_up(fd, &eh, ".dynstr", 480 * MIB);
	blow_up(fd, &eh, ".rela.dyn", 480 * MIB);
	close(fd);
}

static void huge_frames(void)
{
	Elf64_Ehdr eh;
	int fd = copy(&eh);

	blow_up(fd, &eh, ".eh_frame", 480 * MIB);
	blow_up(fd, &eh, ".eh_frame_hdr", 480 * MIB);
	close(fd);
}

/* As large as they may be, and full: a record for each address. */
static void full_frames(void)
{
	enum { CHUNK = 1 << 20, FRAMES = 40 };
	/* The end of a CIE "zR" with absolute addresses, then FDEs of 24 bytes for 16 bytes each. */
	static const uint8_t cie[] = { 20, 0, 0, 0, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1, 0, 0 };
	uint8_t *buf = calloc(1, CHUNK);
	Elf64_Ehdr eh;
	uint64_t at, n = 0;
	int fd = copy(&eh);

	at = (uint64_t)lseek(fd, 0, SEEK_END);
	blow_up(fd, &eh, ".eh_frame", FRAMES * MIB);
	blow_up(fd, &eh, ".eh_frame_hdr", 0);
	put(fd, cie, sizeof(cie), at);
	for (uint64_t off = sizeof(cie); off + CHUNK < FRAMES * MIB; off += CHUNK / 24 * 24) {
		for (uint64_t i = 0; i < CHUNK / 24; i++, n++) {
			const uint32_t words[2] = { 20, (uint32_t)(off + i * 24 + 4) };
			const uint64_t range[2] = { 0x1000 + 16 * n, 16 };

			memcpy(buf + i * 24, words, sizeof(words));
			memcpy(buf + i * 24 + 8, range, 16);
		}
		put(fd, buf, CHUNK / 24 * 24, at + off);
	}
	close(fd);
	free(buf);
}

/* As many symbols as there may be, all of them at main(). */
static void full_symtab(void)
{
	enum { N = 1 << 16, CHUNKS = 24 };
	Elf64_Sym *syms = calloc(N, sizeof(*syms));
	Elf64_Ehdr eh;
	uint64_t at;
	int fd = copy(&eh);

	for (size_t i = 0; i < N; i++)
		syms[i] = (Elf64_Sym){ .st_name = 1 + (uint32_t)i % 64, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .st_shndx = SHN_ABS,
				       .st_value = code_off, .st_size = 1 + i };
	at = (uint64_t)lseek(fd, 0, SEEK_END);
	blow_up(fd, &eh, ".symtab", CHUNKS * N * sizeof(*syms));
	for (uint64_t i = 0; i < CHUNKS; i++)
		put(fd, syms, N * sizeof(*syms), at + i * N * sizeof(*syms));
	close(fd);
	free(syms);
}

/* Program headers with notes of 1 MiB each, none of which is a build-id. */
static void many_notes(void)
{
	enum { N = 4000 };
	Elf64_Phdr *ph = calloc(N, sizeof(*ph));
	Elf64_Ehdr eh;
	int fd = copy(&eh);

	eh.e_phoff = (uint64_t)lseek(fd, 0, SEEK_END);
	for (size_t i = 0; i < N; i++)
		ph[i] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_offset = 4096 * i, .p_filesz = MIB, .p_align = 4 };
	put(fd, ph, N * sizeof(*ph), eh.e_phoff);
	eh.e_phnum = N;
	put(fd, &eh, sizeof(eh), 0);
	assert_int_equal(ftruncate(fd, (off_t)(64 * MIB)), 0);
	close(fd);
	free(ph);
}

/* More sections than fit into the header's field: libelf has memory for each. */
static void many_sections(void)
{
	Elf64_Shdr sh = { .sh_size = 60 * MIB };
	Elf64_Ehdr eh;
	int fd = copy(&eh);

	eh.e_shoff = 4096 * 16;
	eh.e_shnum = 0;
	put(fd, &eh, sizeof(eh), 0);
	put(fd, &sh, sizeof(sh), eh.e_shoff);
	assert_int_equal(ftruncate(fd, (off_t)(4000 * MIB)), 0);
	close(fd);
}

static void without_symbols(void)
{
	assert_int_equal(tool_run("mv prog full && objcopy -w --strip-symbol '*' full prog"), 0);
}

static void with_symbols(void)
{
	assert_int_equal(tool_run("mv full prog"), 0);
}

/* Debug info, for functions without a symbol. */
static void huge_debug(void)
{
	static const char *const names[] = { ".debug_info", ".debug_abbrev", ".debug_str", ".debug_aranges" };
	Elf64_Ehdr eh;
	int fd;

	without_symbols();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		fd = i ? open(tool_path("bad"), O_RDWR | O_CLOEXEC) : copy(&eh);
		blow_up(fd, &eh, names[i], 480 * MIB);
		close(fd);
	}
	with_symbols();
}

static size_t put_leb(uint8_t *p, uint32_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

/*
 * @n units of @size bytes (DWARF 4), full of functions at main(). One after the other needs another
 * table of abbreviations of 4 MiB.
 */
static void full_debug(uint32_t n, uint32_t size)
{
	enum { TABLE = 4 << 20 };
	/* 1: a unit; 2: a function, an address and a length */
	static const uint8_t first[] = { 1, 0x11, 1, 0, 0, 2, 0x2e, 0, 0x11, 0x01, 0x12, 0x0b, 0, 0 };
	uint8_t *table = calloc(1, TABLE), *units = calloc(n, size);
	Elf64_Ehdr eh;
	uint64_t at;
	int fd;

	memcpy(table, first, sizeof(first));
	at = sizeof(first);
	for (uint32_t code = 3; at + 16 < TABLE; code++) {
		at += put_leb(table + at, code);
		table[at] = 0x34;
		at += 4;	/* no children, no attributes */
	}
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t len = size - 4, table_at = i % 2 * TABLE;
		uint8_t *u = units + (size_t)i * size;

		memcpy(u, &len, 4);
		u[4] = 4;
		memcpy(u + 6, &table_at, 4);
		u[10] = 8;
		u[11] = 1;
		for (uint32_t k = 12; k + 10 < size; k += 10) {
			u[k] = 2;
			memcpy(u + k + 1, &code_off, 8);
			u[k + 9] = 1;
		}
	}
	without_symbols();
	fd = copy(&eh);
	at = (uint64_t)lseek(fd, 0, SEEK_END);
	blow_up(fd, &eh, ".debug_info", (uint64_t)n * size);
	put(fd, units, (size_t)n * size, at);
	at = (uint64_t)lseek(fd, 0, SEEK_END);
	blow_up(fd, &eh, ".debug_abbrev", 2 * TABLE);
	put(fd, table, TABLE, at);
	put(fd, table, TABLE, at + TABLE);
	blow_up(fd, &eh, ".debug_aranges", 0);
	close(fd);
	with_symbols();
	free(table);
	free(units);
}

static void many_units(void)
{
	full_debug(100000, 32);
}

static void large_unit(void)
{
	full_debug(1, 20 << 20);
}

static int look(int fd)
{
	uint8_t id[20];
	int err;
	struct elf_file *ef = elf_file_open_fd(fd, &err);

	if (!ef)
		return 0;
	elf_file_build_id(ef, id);
	elf_file_has_symtab(ef);
	elf_file_close(ef);
	return 0;
}

static int take(int fd)
{
	uint64_t offs[] = { code_off, code_off + 4 };
	struct strbuf out = STRBUF_INIT;
	int ret;

	elf_files_room(ROOM);
	ret = capture_elf(fd, -1, NULL, offs, 2, &out, NULL);
	strbuf_fini(&out);
	return ret >= 0 || ret == -ENOEXEC ? 0 : 1;
}

static int nothing(int fd)
{
	return fd < 0;
}

/* The measure of time: an emulated machine is a hundred times slower. Takes 40 ms or so elsewhere. */
static int write_room(int fd)
{
	volatile uint64_t *room = malloc(ROOM);

	for (size_t i = 0; room && i < ROOM / sizeof(*room); i++)
		room[i] = i;
	return fd < 0 || !room;
}

/* Bytes of memory that @fn takes in a child, at most; and its CPU time, ms. */
static uint64_t memory_of(int (*fn)(int fd), unsigned int *ms)
{
	struct rusage ru;
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		_exit(fn(tool_open("bad")));
	assert_int_equal(wait4(pid, &status, 0, &ru), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	*ms = (unsigned int)((ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000 + (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000);
	return (uint64_t)ru.ru_maxrss << 10;
}

static void test_bounded(void **state)
{
	static const struct {
		const char *name;
		void (*make)(void);
	} kinds[] = {
		{ "symbol table", huge_symtab }, { "dynamic symbols and relocations", huge_dynsym }, { "frames", huge_frames },
		{ "frames, full", full_frames }, { "symbols, full", full_symtab }, { "notes", many_notes },
		{ "sections", many_sections }, { "debug info", huge_debug }, { "debug info, many units", many_units },
		{ "debug info, a large unit", large_unit },
	};
	unsigned int ms, unit;

	(void)state;
	huge_symtab();
	memory_of(write_room, &unit);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint64_t base, looked, took;

		kinds[i].make();
		base = memory_of(nothing, &ms);
		looked = memory_of(look, &ms) - base;
		print_message("# %s: a look takes %lu KiB and %u ms\n", kinds[i].name, looked >> 10, ms);
		took = memory_of(take, &ms) - base;
		print_message("# %s: a capture takes %lu KiB and %u ms\n", kinds[i].name, took >> 10, ms);
		assert_true((int64_t)looked < (int64_t)LOOK_MAX);
		assert_true((int64_t)took < (int64_t)CAPTURE_MAX);
		assert_true(ms < 100 + 50 * unit);
	}
}

/* An ordinary binary has room. */
static void test_ordinary(void **state)
{
	struct strbuf out = STRBUF_INIT;
	int fd = tool_open("prog"), err;
	struct elf_file *ef;

	(void)state;
	elf_files_room(ROOM);
	assert_int_equal(capture_elf(fd, -1, NULL, &code_off, 1, &out, NULL), 0);
	ef = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(ef);
	elf_file_close(ef);
	elf_files_room(64);
	strbuf_reset(&out);
	assert_int_equal(capture_elf(fd, -1, NULL, &code_off, 1, &out, NULL), 1);
	elf_files_room(UINT64_MAX);
	close(fd);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_bounded), cmocka_unit_test(test_ordinary) };

	cmocka_set_message_output(CM_OUTPUT_TAP);
	if (!tool_have("gcc readelf awk")) {
		puts("1..0 # SKIP needs gcc and binutils");
		return 0;
	}
	return cmocka_run_group_tests(tests, setup, tool_teardown);
}
