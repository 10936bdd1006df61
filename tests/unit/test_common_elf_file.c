/*
 * elf_file against binutils: symbols against nm, linkage tables against objdump, build-ids against
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

#include "cfi.h"
#include "elf_file.h"
#include "random.h"
#include "strbuf.h"
#include "toolrun.h"
#include "util.h"

static struct elf_file *open_elf(const char *name)
{
	struct elf_file *ef = tool_open_elf(name);

	assert_non_null(ef);
	return ef;
}

static const char c_source[] =
	"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n"
	"static int cmp(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
	"__attribute__((weak)) int weakling(int n) { return n; }\n"
	"int main(int c, char **v) { int n = c * 40 + 3; int a[n]; for (int i = 0; i < n; i++) a[i] = rand();\n"
	"void *(*volatile f)(size_t) = malloc; free(f(10)); \n"
	"qsort(a, n, sizeof(*a), cmp); if (c > 1) { char b[c * 10]; snprintf(b, sizeof b, \"%s\", v[1]); puts(b); }\n"
	"return weakling(printf(\"%d %f\\n\", a[0], (double)a[1]) + (int)strlen(v[0])); }\n";

static bool build(const char *command)
{
	tool_write("x.c", c_source);
	return tool_run("%s", command) == 0;
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
 * What nm says of @file's executable sections into nm.out;
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
	if (!build("gcc -O2 -g -o prog x.c -lm && gcc -static -O2 -o static x.c"))
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

/* What is remembered is what the tables have, in their order, whenever it is asked for. */
static void test_symbols_again(void **state)
{
	struct elf_file *ef;
	int n;

	(void)state;
	if (!build("gcc -O2 -g -o prog x.c -lm"))
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

/* Every layout of linkage table there is, against the names objdump makes up for it. */
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
		if (!build(builds[i])) {
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
		/* The lazy half of an IBT table has names with us, none with objdump. */
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

/* A static program's table has no names but those of the indirect functions behind it. */
static void test_plt_static(void **state)
{
	struct elf_file *ef;

	(void)state;
	if (!build("gcc -static -O2 -o prog x.c"))
		skip();
	ef = open_elf("prog");
	print_syms(ef, "ours", false, false, true);
	elf_file_close(ef);
	/*
	 * objdump -d: "401018: ff 25 e2 2f 0a 00  jmp *0xa2fe2(%rip)  # 4a4000 <...>" tells the
	 * slot of an entry, readelf -r "4a4000 ... R_X86_64_IRELATIVE 41e430" the resolver of the
	 * slot.
	 */
	assert_int_equal(
		tool_run("objdump -d -j .plt prog | sed -n 's/^ *\\([0-9a-f]*\\):.*jmp .*# \\([0-9a-f]*\\) .*/\\2 \\1/p' | "
			 "sort >entries; readelf -rW prog | awk '/IRELATIV/ {sub(/^0+/, \"\", $1); print $1, $NF}' | sort "
			 ">slots; join entries slots | awk '{print $2, $3}' | sort >resolvers; [ -s resolvers ]"),
		0);
	/* As many as there are, and each name the name of a symbol at that resolver. */
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
	if (!build("gcc -O2 -o prog x.c && readelf -n prog | awk '/Build ID/{printf \"%s\", $3}' >id"))
		skip();
	tool_read("id", &want);
	ef = open_elf("prog");
	len = elf_file_build_id(ef, id);
	assert_int_equal(len, 20);
	for (size_t i = 0; i < len; i++)
		strbuf_addf(&have, "%02x", id[i]);
	assert_string_equal(have.s, want.s);
	elf_file_close(ef);

	/* Only the section is left: a separate debug file. Only the segment: no section headers. */
	assert_int_equal(tool_run("objcopy --only-keep-debug prog prog.dbg"), 0);
	ef = open_elf("prog.dbg");
	assert_int_equal(elf_file_build_id(ef, id), 20);
	elf_file_close(ef);

	assert_true(build("gcc -O2 -Wl,--build-id=none -o prog x.c"));
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
	if (!build("gcc -O2 -no-pie -o prog x.c"))
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
	/* The entry lies in .text, whose end readelf tells. */
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
	/* Enough of it that every linker finds compressing worth it. */
	if (!build("for i in $(seq 400); do echo \"int f$i(int a) { volatile int b[$i]; b[a] = $i; return b[0]; }\"; done "
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

/* Damaged compressed sections, read both ways: an error or other bytes, within the size stated. */
static void test_compressed_damaged(void **state)
{
	static const char *const kinds[] = { "zlib", "zstd" };
	uint64_t seed = 5;

	(void)state;
	if (!build("for i in $(seq 400); do echo \"int f$i(int a) { volatile int b[$i]; b[a] = $i; return b[0]; }\"; "
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
				/* Any bytes, and mostly near the headers. */
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
	if (build("gcc -O2 -shared -fPIC -Wl,--hash-style=sysv -o sysv.so x.c"))
		check_sectionless("sysv.so", 2);
	if (build("gcc -O2 -shared -fPIC -Wl,--hash-style=gnu -o gnu.so x.c"))
		check_sectionless("gnu.so", 2);
}

/* A file that is cut while it is open gives errors, not SIGBUS. */
static void test_truncated_while_open(void **state)
{
	const uint8_t *data;
	struct elf_file *ef;
	size_t size;

	(void)state;
	if (!build("gcc -O2 -g -o prog x.c"))
		skip();
	ef = open_elf("prog");
	assert_int_equal(truncate(tool_path("prog"), 100), 0);
	assert_int_not_equal(elf_file_section(ef, ".text", &data, &size, NULL), 0);
	print_syms(ef, "ours", true, true, true);
	elf_file_close(ef);
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

/* Asks for each string of the section @str of a handle. */
static void all_texts(struct elf_file *ef, const Elf_Data *str)
{
	for (size_t at = 0; str && at < str->d_size;) {
		const char *s = (const char *)str->d_buf + at;

		assert_ptr_equal(elf_file_text(ef, s), s);
		at += strlen(s) + 1;
	}
}

/* The handles' debug sections are the file's, compressed or not; location lists are left out. */
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

		if (!build(commands[f])) {
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
			/* Of a compressed file they have the sections unpacked. */
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

/* Of a compressed .debug_info there is what was asked for, and more at most; with and without a thread ahead. */
static void test_info_by_pieces(void **state)
{
	static const char *const kinds[] = { "zlib", "zstd" };

	(void)state;
	/* Types: a compiler is done with them in no time. */
	if (!build("for i in $(seq 5000); do echo \"struct s$i { int a$i, b[$i]; char *c; struct s$i *d; } v$i;\"; "
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
				elf_file_unpack_ahead(packed, 1);
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
			/* Closed with all or some of it still to do. */
			packed = open_elf("packed");
			elf_file_unpack_ahead(packed, 1);
			elf_file_close(packed);
			/* More than there are threads: asked for before and after their turn, or not at all. */
			for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
				many[i] = open_elf("packed");
				elf_file_unpack_ahead(many[i], 1);
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

/* The units of the section @info: where the @i-th begins, and behind the last one where it ends. */
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

/* Of a plain .debug_info there are the units that were asked for and all headers before them; of older DWARF, all. */
static void test_info_by_units(void **state)
{
	(void)state;
	for (int version = 4; version <= 5; version++) {
		size_t size, n, starts[16];
		struct elf_file *plain, *ef;
		const uint8_t *want, *have;
		uint64_t svma;

		if (!build("for f in a b c; do for i in $(seq 1500); do "
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

/* Where section @name is in the file that @ef reads; its number. */
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
	return build("for i in $(seq 3000); do echo \"struct a_structure_of_number_$i { int a$i; } v$i;\"; done >>x.c && "
		     "gcc -O1 -g -gz=none -o strings x.c -w");
}

/* Of a plain .debug_str there is its end, and the strings that were asked for. */
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
	/* Strings that go on in the next piece among them. */
	all_texts(ef, section_of(elf_file_handle(ef), ".debug_str"));
	assert_memory_equal(have, want, size);
	elf_file_close(ef);
	elf_file_close(plain);
}

/* What was read stays when the file changes, what comes after it is other strings or none, and each of them ends. */
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

/* A section that lacks a NUL at its end, or whose bytes are another one's as well. */
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

	/* libdw has to find the last NUL at once, and what begins behind it has to end. */
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

#define INSN_MAX 15	/* bytes of the longest instruction */

/* What @ef gives as code everywhere in @l, with either end, is what the file has there. */
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
	if (!build("gcc -static -O2 -o static x.c -lm"))
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
		cmocka_unit_test(test_handles),
		cmocka_unit_test(test_info_by_pieces),
		cmocka_unit_test(test_info_by_units),
		cmocka_unit_test(test_strings_by_pieces),
		cmocka_unit_test(test_strings_changed),
		cmocka_unit_test(test_strings_odd),
		cmocka_unit_test(test_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, tool_setup, tool_teardown);
}
