/*
 * elf_file compared with binutils: symbols with nm, linkage tables with objdump, build-ids with
 * readelf.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "cfi/cfi.h"
#include "elf/elf_file.h"
#include "random.h"
#include "toolrun.h"

static struct elf_file *open_elf(const char *name)
{
	struct elf_file *ef = tool_open_elf(name);

	assert_non_null(ef);
	return ef;
}

/* ---- lines "ADDRESS name", sorted by sort(1), as the common form ---- */

struct print_ctx {
	FILE *f;
	bool dynsym, plt, symtab;	/* what to print */
};

static bool is_plt(const char *name)
{
	const char *at = strrchr(name, '@');

	return at && strcmp(at, "@plt") == 0;
}

static int print_sym(void *ctx, const struct elf_sym *s)
{
	struct print_ctx *p = ctx;

	if (is_plt(s->name) ? p->plt : s->dynsym ? p->dynsym : p->symtab)
		fprintf(p->f, "%016lx %s\n", s->svma, s->name);
	return 0;
}

static void print_syms(struct elf_file *ef, const char *name, bool symtab, bool dynsym, bool plt)
{
	struct print_ctx p = { .symtab = symtab, .dynsym = dynsym, .plt = plt };

	p.f = fopen(tool_path(name), "w");
	assert_non_null(p.f);
	assert_int_equal(elf_file_symbols(ef, print_sym, &p), 0);
	assert_int_equal(fclose(p.f), 0);
}

/* Both files sorted have the same lines, and there are at least @min. */
static void same_lines(const char *a, const char *b, int min)
{
	if (tool_run("sort -u %s >a.sorted; sort -u %s >b.sorted; diff a.sorted b.sorted >diff.out", a,
		     b)) {
		tool_run("head -20 diff.out | sed 's/^/# /'");
		fail_msg("%s and %s differ", a, b);
	}
	assert_int_equal(tool_run("[ $(wc -l <a.sorted) -ge %d ]", min), 0);
}

/*
 * nm's output for the symbols in @file's executable sections into nm.out;
 * "name|value|class|type|size|line|section" with -f sysv.
 */
static void nm_code(const char *file)
{
	assert_int_equal(
		tool_run("readelf -SW %s | sed 's/^ *\\[ *[0-9]*\\] *//' | awk '/ AX / {print $1}' >code; "
			 "nm -f sysv %s | tr -d ' ' | awk -F'|' 'FNR == NR {code[$1] = 1; next} "
			 "($4 == \"FUNC\" || $4 == \"NOTYPE\" || $4 ~ /IFUNC|:10$/) && ($7 in code) {print $2, $1}' code - >nm.out",
			 file, file),
		0);
}

static void test_symtab(void **state)
{
	struct elf_file *ef;

	(void)state;
	if (!tool_build("gcc -O2 -g -o prog x.c -lm && gcc -static -O2 -o static x.c"))
		skip();
	ef = open_elf("prog");
	assert_true(elf_file_has_symtab(ef));
	print_syms(ef, "ours", true, false, false);
	nm_code("prog");
	same_lines("ours", "nm.out", 5);
	elf_file_close(ef);

	ef = open_elf("static");
	print_syms(ef, "ours", true, false, false);
	nm_code("static");
	same_lines("ours", "nm.out", 500);
	elf_file_close(ef);

	assert_int_equal(tool_run("cp prog stripped && strip stripped"), 0);
	ef = open_elf("stripped");
	assert_false(elf_file_has_symtab(ef));
	elf_file_close(ef);
}

static int stop_at_fifth(void *ctx, const struct elf_sym *s)
{
	(void)s;
	return ++*(int *)ctx == 5 ? 7 : 0;
}

/* Remembered symbols equal those of the tables, in the same order, at every lookup. */
static void test_symbols_again(void **state)
{
	struct elf_file *ef;
	int n;

	(void)state;
	if (!tool_build("gcc -O2 -g -o prog x.c -lm"))
		skip();
	ef = open_elf("prog");
	print_syms(ef, "plain", true, true, true);
	elf_file_remember_symbols(ef);
	for (int i = 0; i < 2; i++) {
		n = 0;
		assert_int_equal(elf_file_symbols(ef, stop_at_fifth, &n), 7);
		assert_int_equal(n, 5);
		print_syms(ef, "again", true, true, true);
		assert_int_equal(tool_run("grep -q ' main$' plain && grep -q '@plt$' plain && cmp plain again"), 0);
	}
	elf_file_close(ef);
}

static void test_dynsym(void **state)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";
	struct elf_file *ef;

	(void)state;
	if (access(libc, R_OK))
		skip();
	ef = open_elf(libc);
	print_syms(ef, "ours", false, true, false);
	assert_int_equal(
		tool_run("nm -D --without-symbol-versions %s | awk '$2 ~ /^[tTwWiu]$/ && NF == 3 {print $1, $3}' "
			 ">nm.out",
			 libc),
		0);
	same_lines("ours", "nm.out", 2000);
	elf_file_close(ef);
}

/* Every existing linkage table layout, compared with the names that objdump constructs for it. */
static void test_plt(void **state)
{
	static const char *const builds[] = {
		"gcc -O2 -o prog x.c",
		"gcc -O2 -Wl,-z,lazy -o prog x.c",
		"gcc -O2 -Wl,-z,now -o prog x.c",
		"gcc -O2 -fcf-protection -Wl,-z,ibtplt -Wl,-z,lazy -o prog x.c",
		"gcc -O2 -fcf-protection -Wl,-z,ibtplt -Wl,-z,now -o prog x.c",
		"gcc -O2 -no-pie -o prog x.c",
		"gcc -O2 -fuse-ld=gold -o prog x.c",
		"gcc -O2 -fuse-ld=lld -o prog x.c",
	};
	struct elf_file *ef;
	int tried = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++) {
		if (!tool_build(builds[i])) {
			print_message("# cannot run: %s\n", builds[i]);
			continue;
		}
		ef = open_elf("prog");
		print_syms(ef, "ours", false, false, true);
		elf_file_close(ef);
		/* "0000000000001030 <puts@plt>:" */
		assert_int_equal(
			tool_run("objdump -d prog | sed -n 's/^\\([0-9a-f]*\\) <\\([^>]*@plt\\)>:$/\\1 \\2/p' >objdump.out"),
			0);
		/* We name the lazy half of an IBT table; objdump does not. */
		if (strstr(builds[i], "ibtplt")) {
			assert_int_equal(tool_run("grep -F -f objdump.out ours >ours.sec"), 0);
			same_lines("ours.sec", "objdump.out", 4);
			assert_int_equal(
				tool_run("awk '{print $2}' ours >n1; awk '{print $2}' objdump.out >n2"),
				0);
			same_lines("n1", "n2", 4);
		} else {
			same_lines("ours", "objdump.out", 4);
		}
		tried++;
	}
	if (!tried)
		skip();
}

/* A static program's table has only the names of the indirect functions that it jumps to. */
static void test_plt_static(void **state)
{
	struct elf_file *ef;

	(void)state;
	if (!tool_build("gcc -static -O2 -o prog x.c"))
		skip();
	ef = open_elf("prog");
	print_syms(ef, "ours", false, false, true);
	elf_file_close(ef);
	/*
	 * objdump -d: "401018: ff 25 e2 2f 0a 00  jmp *0xa2fe2(%rip)  # 4a4000 <...>" gives the
	 * slot of an entry; readelf -r: "4a4000 ... R_X86_64_IRELATIVE 41e430" gives the resolver
	 * of the slot.
	 */
	assert_int_equal(
		tool_run("objdump -d -j .plt prog | sed -n 's/^ *\\([0-9a-f]*\\):.*jmp .*# \\([0-9a-f]*\\) .*/\\2 \\1/p' | "
			 "sort >entries; readelf -rW prog | awk '/IRELATIV/ {sub(/^0+/, \"\", $1); print $1, $NF}' | sort "
			 ">slots; join entries slots | awk '{print $2, $3}' | sort >resolvers; [ -s resolvers ]"),
		0);
	/* All entries are there, and each name is that of a symbol at its resolver. */
	assert_int_equal(
		tool_run("sed 's/^0*//; s/@plt$//' ours | sort >o; [ $(wc -l <o) -eq $(wc -l <resolvers) ]"),
		0);
	assert_int_equal(
		tool_run("nm prog | awk '$2 == \"i\" {sub(/^0+/, \"\", $1); print $1, $3}' | sort -u >ifuncs; "
			 "join -o 1.2,2.2 resolvers o | sort -u >pairs; [ -s pairs ] && ! comm -23 pairs ifuncs | grep -q ."),
		0);
}

static void test_build_id(void **state)
{
	struct strbuf want = STRBUF_INIT, have = STRBUF_INIT;
	struct elf_file *ef;
	uint8_t id[20];
	size_t len;

	(void)state;
	if (!tool_build("gcc -O2 -o prog x.c && readelf -n prog | awk '/Build ID/{printf \"%s\", $3}' >id"))
		skip();
	tool_read("id", &want);
	ef = open_elf("prog");
	len = elf_file_build_id(ef, id);
	assert_int_equal(len, 20);
	for (size_t i = 0; i < len; i++)
		strbuf_addf(&have, "%02x", id[i]);
	assert_string_equal(have.s, want.s);
	elf_file_close(ef);

	/*
	 * A separate debug file has the section but not the segment. Without a build-id the length
	 * is 0.
	 */
	assert_int_equal(tool_run("objcopy --only-keep-debug prog prog.dbg"), 0);
	ef = open_elf("prog.dbg");
	assert_int_equal(elf_file_build_id(ef, id), 20);
	elf_file_close(ef);

	assert_true(tool_build("gcc -O2 -Wl,--build-id=none -o prog x.c"));
	ef = open_elf("prog");
	assert_int_equal(elf_file_build_id(ef, id), 0);
	elf_file_close(ef);
	strbuf_fini(&want);
	strbuf_fini(&have);
}

static void test_segments(void **state)
{
	const struct elf_load *loads;
	struct elf_file *ef;
	uint64_t svma;
	size_t n, x = 0;

	(void)state;
	if (!tool_build("gcc -O2 -no-pie -o prog x.c"))
		skip();
	ef = open_elf("prog");
	assert_int_equal(elf_file_type(ef), ET_EXEC);
	assert_int_equal(elf_file_machine(ef), EM_X86_64);
	assert_true(elf_file_is64(ef));
	n = elf_file_loads(ef, &loads);
	assert_true(n >= 2);
	for (size_t i = 0; i < n; i++) {
		if (loads[i].flags & PF_X)
			x = i;
	}
	assert_true(elf_file_off_to_svma(ef, loads[x].offset + 5, &svma));
	assert_int_equal(svma, loads[x].vaddr + 5);
	assert_false(elf_file_off_to_svma(ef, 1ull << 40, &svma));
	/* The entry point lies in .text; readelf gives its end. */
	assert_int_equal(
		tool_run("readelf -SW prog | awk '$2 == \".text\" || $3 == \".text\" {for (i = 1; i < NF; i++) "
			 "if ($i == \"PROGBITS\") printf \"%%s %%s\", $(i + 1), $(i + 3)}' >text"),
		0);
	{
		struct strbuf sb = STRBUF_INIT;
		uint64_t start, size;
		char *p;

		tool_read("text", &sb);
		start = strtoull(sb.s, &p, 16);
		size = strtoull(p, NULL, 16);
		assert_true(size > 0);
		assert_int_equal(elf_file_code_end(ef, elf_file_entry(ef)), start + size);
		assert_int_equal(elf_file_code_end(ef, 1), 0);
		strbuf_fini(&sb);
	}
	elf_file_close(ef);
}

static void test_compressed(void **state)
{
	const uint8_t *a, *b;
	struct elf_file *plain, *packed;
	size_t na, nb;

	(void)state;
	/* Enough content that every linker finds it worth compressing. */
	if (!tool_build("for i in $(seq 400); do echo \"int f$i(int a) { volatile int b[$i]; b[a] = $i; return b[0]; }\"; done "
			 ">>x.c && gcc -O1 -g -fno-asynchronous-unwind-tables -fno-unwind-tables -c -o x.o x.c && "
			 "gcc -o prog x.o && objcopy --compress-debug-sections=zlib prog zlib && "
			 "objcopy --compress-debug-sections=zlib-gnu prog zgnu"))
		skip();
	assert_int_equal(
		tool_run("readelf -SW zgnu | grep -q zdebug_frame && readelf -tW zlib | grep -A2 debug_frame | "
			 "grep -q COMPRESSED"),
		0);
	plain = open_elf("prog");
	assert_int_equal(elf_file_section(plain, ".debug_frame", &a, &na, NULL), 0);
	assert_true(na > 5000);
	for (int i = 0; i < 2; i++) {
		packed = open_elf(i ? "zgnu" : "zlib");
		assert_true(elf_file_has_section(packed, ".debug_frame"));
		for (int again = 0; again < 2; again++) {
			assert_int_equal(elf_file_section(packed, ".debug_frame", &b, &nb, NULL),
					 0);
			assert_int_equal(na, nb);
			assert_memory_equal(a, b, na);
		}
		elf_file_close(packed);
	}
	assert_int_equal(elf_file_section(plain, ".nothing", &b, &nb, NULL), -ENOENT);
	assert_int_equal(elf_file_section(plain, ".bss", &b, &nb, NULL), -ENOENT);
	assert_false(elf_file_has_section(plain, ".bss"));
	if (tool_run("objcopy --compress-debug-sections=zstd prog zstd 2>/dev/null")) {
		print_message("# objcopy cannot compress with zstd: not tested\n");
	} else {
		packed = open_elf("zstd");
		for (int again = 0; again < 2; again++) {
			assert_int_equal(elf_file_section(packed, ".debug_frame", &b, &nb, NULL), 0);
			assert_int_equal(na, nb);
			assert_memory_equal(a, b, na);
		}
		assert_non_null(elf_file_handle(packed));
		elf_file_close(packed);
	}
	elf_file_close(plain);
}

/*
 * Damaged compressed sections, read both ways: an error or other bytes, within the declared size.
 */
static void test_compressed_damaged(void **state)
{
	static const char *const kinds[] = { "zlib", "zstd" };
	uint64_t seed = 5;

	(void)state;
	if (!tool_build("for i in $(seq 400); do echo \"int f$i(int a) { volatile int b[$i]; b[a] = $i; return b[0]; }\"; "
		   "done >>x.c && gcc -O1 -g -o prog x.c -w"))
		skip();
	for (size_t k = 0; k < 2; k++) {
		struct strbuf good = STRBUF_INIT;

		if (tool_run("objcopy --compress-debug-sections=%s prog packed 2>/dev/null", kinds[k]))
			continue;
		tool_read("packed", &good);
		for (int round = 0; round < 300; round++) {
			uint8_t *bad = malloc(good.len);
			const uint8_t *data;
			struct elf_file *ef;
			size_t n;
			int err;

			memcpy(bad, good.s, good.len);
			for (int i = 0; i < 8; i++) {
				/* Any byte may change, mostly near the headers. */
				bad[random_next(&seed) % (i & 1 ? good.len : 2048) + (i & 1 ? 0 : good.len - 2048)] =
					(uint8_t)random_next(&seed);
			}
			ef = elf_file_open_mem(bad, good.len, &err);
			if (ef) {
				if (!elf_file_section(ef, ".debug_info", &data, &n, NULL))
					assert_true(n <= 512u << 20);
				elf_file_handle(ef);
				elf_file_close(ef);
			}
			free(bad);
		}
		strbuf_fini(&good);
	}
}

/* ---- section headers stripped ---- */

static void no_sections(const char *from, const char *to)
{
	struct strbuf sb = STRBUF_INIT;
	Elf64_Ehdr eh;

	if (from[0] == '/')
		assert_int_equal(tool_run("cp %s copy", from), 0);
	tool_read(from[0] == '/' ? "copy" : from, &sb);
	memcpy(&eh, sb.s, sizeof(eh));
	sb.len = eh.e_shoff;
	eh.e_shoff = 0;
	eh.e_shnum = 0;
	eh.e_shstrndx = 0;
	memcpy(sb.s, &eh, sizeof(eh));
	tool_write_bytes(to, sb.s, sb.len);
	strbuf_fini(&sb);
}

static void check_sectionless(const char *path, int min)
{
	struct cfi_sections sa, sb;
	struct elf_file *a, *b;
	struct cfi *ca, *cb;
	struct cfi_fde fa, fb;
	uint8_t ida[20], idb[20];
	size_t n = 0;

	no_sections(path, "bare");
	a = open_elf(path);
	b = open_elf("bare");
	print_syms(a, "with", false, true, false);
	print_syms(b, "without", false, true, false);
	same_lines("with", "without", min);
	assert_int_equal(elf_file_build_id(a, ida), elf_file_build_id(b, idb));
	assert_memory_equal(ida, idb, 20);
	elf_file_cfi_sections(a, &sa);
	elf_file_cfi_sections(b, &sb);
	assert_int_equal(sa.eh_frame.svma, sb.eh_frame.svma);
	ca = cfi_new(&sa);
	cb = cfi_new(&sb);
	while (!cfi_nth(ca, n, &fa)) {
		assert_int_equal(cfi_nth(cb, n, &fb), 0);
		assert_int_equal(fa.start, fb.start);
		assert_int_equal(fa.end, fb.end);
		assert_int_equal(cfi_find(cb, fa.end - 1, &fb), 0);
		assert_int_equal(fa.start, fb.start);
		n++;
	}
	assert_int_equal(cfi_nth(cb, n, &fb), -ENOENT);
	assert_true(n > 3);
	print_message("# %s without section headers: %zu FDEs\n", path, n);
	cfi_free(ca);
	cfi_free(cb);
	elf_file_close(a);
	elf_file_close(b);
}

static void test_sectionless(void **state)
{
	static const char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";

	(void)state;
	if (access(libc, R_OK))
		skip();
	check_sectionless(libc, 2000);
	if (tool_build("gcc -O2 -shared -fPIC -Wl,--hash-style=sysv -o sysv.so x.c"))
		check_sectionless("sysv.so", 2);
	if (tool_build("gcc -O2 -shared -fPIC -Wl,--hash-style=gnu -o gnu.so x.c"))
		check_sectionless("gnu.so", 2);
}

/* A file that is truncated while it is open gives errors, not SIGBUS. */
static void test_truncated_while_open(void **state)
{
	const uint8_t *data;
	struct elf_file *ef;
	size_t size;

	(void)state;
	if (!tool_build("gcc -O2 -g -o prog x.c"))
		skip();
	ef = open_elf("prog");
	assert_int_equal(truncate(tool_path("prog"), 100), 0);
	assert_int_not_equal(elf_file_section(ef, ".text", &data, &size, NULL), 0);
	print_syms(ef, "ours", true, true, true);
	elf_file_close(ef);
}

/* A section that was given back is read again. If the file was truncated meanwhile, that fails. */
static void test_given_back(void **state)
{
	struct strbuf text = STRBUF_INIT;
	const uint8_t *data, *other;
	struct elf_file *ef;
	size_t size, n;

	(void)state;
	if (!tool_build("gcc -static -O2 -o static x.c -lm && objcopy -O binary --only-section=.text static text.bin"))
		skip();
	tool_read("text.bin", &text);
	assert_true(text.len > 65536);
	ef = open_elf("static");
	for (int again = 0; again < 3; again++) {
		assert_int_equal(elf_file_section(ef, ".text", &data, &size, NULL), 0);
		assert_int_equal(size, text.len);
		assert_memory_equal(data, text.s, size);
		/*
		 * A section that does not exist, and a small one, which stays readable after it was
		 * given back.
		 */
		assert_int_equal(elf_file_section(ef, ".interp", &other, &n, NULL), -ENOENT);
		assert_int_equal(elf_file_section(ef, ".note.gnu.build-id", &other, &n, NULL), 0);
		elf_file_give_back(ef, other);
		assert_int_equal(other[0], 4);
		elf_file_give_back(ef, NULL);
		elf_file_give_back(ef, data + 1);
		assert_memory_equal(data, text.s, size);
		elf_file_give_back(ef, data);
	}
	assert_int_equal(truncate(tool_path("static"), 8192), 0);
	assert_int_equal(elf_file_section(ef, ".text", &data, &size, NULL), -EINVAL);
	elf_file_close(ef);
	strbuf_fini(&text);
}

static void test_refused(void **state)
{
	int fd, err = 0;

	(void)state;
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_null(elf_file_open_fd(fd, &err));
	assert_int_equal(err, -EINVAL);
	close(fd);
	assert_null(elf_file_open_fd(-1, &err));
	assert_int_equal(err, -EBADF);
	assert_null(elf_file_open_mem("!<arch>\nnot an ELF file at all", 30, &err));
	assert_int_equal(err, -ENOEXEC);
}

#define INSN_MAX 15	/* length of the longest instruction */

/* Code that @ef returns anywhere in @l, up to either end, equals the bytes of the file. */
static void compare_code(struct elf_file *ef, const struct elf_load *l, const uint8_t *file)
{
	const uint8_t *code;

	for (uint64_t at = 0; at < l->filesz; at += at % 4096 < 20 || at % 4096 > 4076 ? 1 : 97) {
		const size_t n = elf_file_code(ef, l->vaddr + at, &code);

		assert_true(n >= MIN(l->filesz - at, (uint64_t)INSN_MAX) && n <= l->filesz - at);
		assert_memory_equal(code, file + l->offset + at, n);
	}
	assert_int_equal(elf_file_code(ef, l->vaddr + l->filesz, &code), 0);
	assert_int_equal(elf_file_code(ef, l->vaddr - 1, &code), 0);
}

static void test_code(void **state)
{
	static uint8_t file[8 << 20];
	const struct elf_load *loads;
	struct elf_file *ef, *mem;
	size_t size, n, code = 0;
	int err;
	FILE *f;

	(void)state;
	if (!tool_build("gcc -static -O2 -o static x.c -lm"))
		skip();
	f = fopen(tool_path("static"), "r");
	size = fread(file, 1, sizeof(file), f);
	fclose(f);
	assert_true(size > 65536 && size < sizeof(file));
	ef = open_elf("static");
	mem = elf_file_open_mem(file, size, &err);
	n = elf_file_loads(ef, &loads);
	for (size_t i = 0; i < n; i++) {
		if (!(loads[i].flags & PF_X))
			continue;
		compare_code(ef, &loads[i], file);
		compare_code(mem, &loads[i], file);
		code += loads[i].filesz;
	}
	assert_true(code > 65536);
	elf_file_close(ef);
	elf_file_close(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symtab),
		cmocka_unit_test(test_symbols_again),
		cmocka_unit_test(test_dynsym),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_plt_static),
		cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_segments),
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_compressed),
		cmocka_unit_test(test_compressed_damaged),
		cmocka_unit_test(test_sectionless),
		cmocka_unit_test(test_truncated_while_open),
		cmocka_unit_test(test_given_back),
		cmocka_unit_test(test_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
