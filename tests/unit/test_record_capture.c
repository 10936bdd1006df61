/*
 * Captured rows. The sliced ELF file has to answer for each of the chosen addresses what the whole
 * binary answers, to us and to other tools, and stay small.
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
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "cfi.h"
#include "debugfile.h"
#include "elf_file.h"
#include "nsopen.h"
#include "strbuf.h"

static char tmpdir[64];

static int make_tmpdir(void **state)
{
	(void)state;
	snprintf(tmpdir, sizeof(tmpdir), "/tmp/nsprof-capture-XXXXXX");
	return mkdtemp(tmpdir) ? 0 : -1;
}

/* @fmt is a shell command; "$t" in it is the temporary folder. Its exit status. */
static int __attribute__((format(printf, 1, 2))) sh(const char *fmt, ...)
{
	char cmd[2048], full[2200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(cmd, sizeof(cmd), fmt, ap);
	va_end(ap);
	snprintf(full, sizeof(full), "export LC_ALL=C t='%s'; %s", tmpdir, cmd);
	return system(full);
}

static int remove_tmpdir(void **state)
{
	(void)state;
	return sh("rm -rf \"$t\"");
}

static void write_file(const char *name, const void *data, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", tmpdir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

static int open_tmp(const char *name)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", tmpdir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* xorshift64, so that a failure can be repeated. */
static uint64_t rnd(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* ---- answers of an ELF file, found the slow and obvious way ---- */

struct sym_list {
	struct elf_sym *v;
	size_t n, cap;
};

static int add_sym(void *ctx, const struct elf_sym *s)
{
	struct sym_list *l = ctx;

	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 1024;
		l->v = realloc(l->v, l->cap * sizeof(*l->v));
		assert_non_null(l->v);
	}
	l->v[l->n++] = *s;
	return 0;
}

static int name_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/*
 * The names for @pc as one text, sorted, each once: those of the sized symbols that hold it, or,
 * when there are none, of the unsized ones at the nearest start if nothing sized starts there or
 * later.
 */
static void names_at(const struct sym_list *l, const struct elf_file *ef, uint64_t pc,
		     struct strbuf *out)
{
	const char *names[256];
	uint64_t nearest = 0;
	size_t n = 0;
	bool sized_there = false;

	for (size_t i = 0; i < l->n && n < 256; i++) {
		if (l->v[i].svma <= pc && pc - l->v[i].svma < l->v[i].size)
			names[n++] = l->v[i].name;
		if (l->v[i].svma <= pc && l->v[i].svma > nearest)
			nearest = l->v[i].svma;
	}
	for (size_t i = 0; i < l->n; i++) {
		if (l->v[i].svma <= nearest && nearest - l->v[i].svma < l->v[i].size)
			sized_there = true;
	}
	for (size_t i = 0; i < l->n && !n && nearest && pc < elf_file_code_end(ef, nearest); i++) {
		if (l->v[i].svma == nearest && !sized_there)
			names[n++] = l->v[i].name;
	}
	qsort(names, n, sizeof(*names), name_cmp);
	strbuf_reset(out);
	for (size_t i = 0; i < n; i++) {
		if (!i || strcmp(names[i - 1], names[i]))
			strbuf_addf(out, "%s\n", names[i]);
	}
}

static bool rule_equal(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off &&
	       a->expr_len == b->expr_len &&
	       (!a->expr_len || memcmp(a->expr, b->expr, a->expr_len) == 0);
}

/*
 * Slice @b says of @pc what @a does. An FDE may hold less of the function, but not of the start-up
 * code, which is known by its extent. Not @wanted: it may also have nothing to say.
 */
static void compare_rows(struct cfi *a, struct cfi *b, uint64_t pc, uint64_t entry, bool wanted)
{
	struct cfi_fde fa, fb;
	struct cfi_row ra, rb;
	int ea = cfi_find(a, pc, &fa), eb = cfi_find(b, pc, &fb);

	if (eb && !wanted)
		return;
	assert_int_equal(ea, eb);
	if (ea)
		return;
	assert_true(fb.start >= fa.start && fb.end <= fa.end && pc >= fb.start && pc < fb.end);
	if (entry >= fa.start && entry < fa.end) {
		assert_int_equal(fa.start, fb.start);
		assert_int_equal(fa.end, fb.end);
	}
	ea = cfi_row(a, &fa, pc, &ra);
	eb = cfi_row(b, &fb, pc, &rb);
	assert_int_equal(ea, eb);
	if (ea)
		return;
	assert_int_equal(ra.start, rb.start);
	assert_int_equal(ra.end, rb.end);
	assert_int_equal(ra.signal_frame, rb.signal_frame);
	assert_true(rule_equal(&ra.cfa, &rb.cfa));
	for (int r = 0; r < CFI_NREGS; r++)
		assert_true(rule_equal(&ra.regs[r], &rb.regs[r]));
}

struct answers {
	struct elf_file *ef;
	struct sym_list syms;
	struct cfi *cfi;
};

static void answers_init(struct answers *a, struct elf_file *ef, struct elf_file *debug)
{
	struct cfi_sections secs, other;

	memset(a, 0, sizeof(*a));
	a->ef = ef;
	elf_file_symbols(ef, add_sym, &a->syms);
	elf_file_cfi_sections(ef, &secs);
	if (debug) {
		elf_file_symbols(debug, add_sym, &a->syms);
		elf_file_cfi_sections(debug, &other);
		if (!secs.debug_frame.data)
			secs.debug_frame = other.debug_frame;
	}
	a->cfi = cfi_new(&secs);
}

static void answers_fini(struct answers *a)
{
	cfi_free(a->cfi);
	free(a->syms.v);
}

static int off_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* @n random byte offsets in executable segments. */
static void random_offs(const struct elf_file *ef, uint64_t *offs, size_t n, uint64_t seed)
{
	const struct elf_load *loads;
	size_t nloads = elf_file_loads(ef, &loads), nx = 0, x[16];

	for (size_t i = 0; i < nloads && nx < 16; i++) {
		if ((loads[i].flags & PF_X) && loads[i].filesz)
			x[nx++] = i;
	}
	assert_true(nx > 0);
	for (size_t i = 0; i < n; i++) {
		const struct elf_load *l = &loads[x[rnd(&seed) % nx]];

		offs[i] = l->offset + rnd(&seed) % l->filesz;
	}
	qsort(offs, n, sizeof(*offs), off_cmp);
}

/* The extent of the start-up code's FDE survives, whichever address of it was seen. */
static void check_entry(int fd, struct cfi *whole, uint64_t entry, const struct elf_load *loads,
			size_t nloads)
{
	struct strbuf out = STRBUF_INIT;
	struct elf_file *sliced;
	struct answers slice;
	struct cfi_fde fde;
	uint64_t off = 0;
	int err;

	if (cfi_find(whole, entry, &fde))
		return;
	for (size_t i = 0; i < nloads; i++) {
		if (entry >= loads[i].vaddr && entry < loads[i].vaddr + loads[i].filesz)
			off = fde.end - 1 - loads[i].vaddr + loads[i].offset;
	}
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&slice, sliced, NULL);
	compare_rows(whole, slice.cfi, fde.end - 1, entry, true);
	answers_fini(&slice);
	elf_file_close(sliced);
	strbuf_fini(&out);
}

/* Slice the file at @fd and compare. Returns the size of the slice, bytes. */
static size_t check_slice(int fd, int rootfd, const char *path, int debugfd, size_t n,
			  uint64_t seed, const char *slice_name)
{
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	struct elf_file *ef, *debug = NULL, *sliced;
	const struct elf_load *la, *lb;
	struct answers whole, slice;
	uint64_t *offs = calloc(n, sizeof(*offs)), svma, svma2;
	uint8_t ida[20], idb[20];
	size_t size, len, named = 0;
	int err, hostfd = -1;

	ef = elf_file_open_fd(fd, &err);
	assert_non_null(ef);
	/* A debug package of the host proves itself by the build-id, and the slice has its names. */
	if (debugfd < 0 && path && !elf_file_has_symtab(ef)) {
		int host = nsopen_host_root();

		hostfd = debugfile_find(host, path, ef, NULL);
		close(host);
		debugfd = hostfd;
	}
	if (debugfd >= 0)
		debug = elf_file_open_fd(debugfd, &err);
	if (hostfd >= 0)
		close(hostfd);
	random_offs(ef, offs, n, seed);
	assert_int_equal(capture_elf(fd, rootfd, path, offs, n, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	if (slice_name)
		write_file(slice_name, out.s, out.len);

	assert_int_equal(elf_file_type(ef), elf_file_type(sliced));
	assert_int_equal(elf_file_machine(ef), elf_file_machine(sliced));
	assert_int_equal(elf_file_entry(ef), elf_file_entry(sliced));
	len = elf_file_build_id(ef, ida);
	assert_int_equal(elf_file_build_id(sliced, idb), len);
	assert_memory_equal(ida, idb, len);
	assert_int_equal(elf_file_loads(ef, &la), elf_file_loads(sliced, &lb));
	for (size_t i = 0, k = elf_file_loads(ef, &la); i < k; i++) {
		assert_int_equal(la[i].offset, lb[i].offset);
		assert_int_equal(la[i].filesz, lb[i].filesz);
		assert_int_equal(la[i].vaddr, lb[i].vaddr);
		assert_int_equal(la[i].memsz, lb[i].memsz);
		assert_int_equal(la[i].flags, lb[i].flags);
	}

	answers_init(&whole, ef, debug);
	answers_init(&slice, sliced, NULL);
	for (size_t i = 0; i < n; i++) {
		assert_true(elf_file_off_to_svma(ef, offs[i], &svma));
		assert_true(elf_file_off_to_svma(sliced, offs[i], &svma2));
		assert_int_equal(svma, svma2);
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		named += na.len > 0;
		if (na.len != nb.len || (na.len && memcmp(na.s, nb.s, na.len)))
			fail_msg("%#lx: whole file: %s, slice: %s", svma, na.len ? na.s : "-",
				 nb.len ? nb.s : "-");
		compare_rows(whole.cfi, slice.cfi, svma, elf_file_entry(ef), true);
		/* And around it, where nobody asked: never anything that is not so. */
		for (int k = 1; k < 8; k++) {
			uint64_t step = rnd(&seed) % (k < 4 ? 16 : 256);

			compare_rows(whole.cfi, slice.cfi, svma + step, elf_file_entry(ef), false);
			compare_rows(whole.cfi, slice.cfi, svma - step, elf_file_entry(ef), false);
		}
	}
	if (elf_file_entry(ef)) {
		/* The start-up code's address is one of them now and then only: ask for it alone. */
		check_entry(fd, whole.cfi, elf_file_entry(ef), la, elf_file_loads(ef, &la));
	}
	print_message("# %s: %zu addresses, %zu named, %zu symbols of %zu, %zu bytes\n",
		      path ? path : "memory", n, named, slice.syms.n, whole.syms.n, out.len);
	assert_true(named > n / 10);
	size = out.len;
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(debug);
	elf_file_close(ef);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
	free(offs);
	return size;
}

/* Other people's readers: no complaint, and the names they know. */
static void check_tools(const char *slice_name)
{
	assert_int_equal(
		sh("readelf -a --wide $t/%s >$t/readelf.out 2>$t/readelf.err && ! [ -s $t/readelf.err ]",
		   slice_name),
		0);
	/* N: do not look for the file .gnu_debuglink names. */
	assert_int_equal(
		sh("readelf -wN -wF $t/%s >$t/readelf.out 2>$t/readelf.err && ! [ -s $t/readelf.err ]",
		   slice_name),
		0);
	assert_int_equal(
		sh("nm $t/%s >$t/nm.out 2>$t/nm.err && [ -s $t/nm.out ] && ! [ -s $t/nm.err ]",
		   slice_name),
		0);
	/* libdwfl and elfutils' readelf, where they are installed. */
	assert_int_equal(sh("if command -v eu-unstrip >/dev/null; then "
			    "a=$(readelf -n $t/%s | awk '/Build ID/{print $3}'); "
			    "eu-unstrip -n -e $t/%s >$t/eu.out && grep -q \"$a\" $t/eu.out; fi",
			    slice_name, slice_name), 0);
	assert_int_equal(
		sh("if command -v eu-readelf >/dev/null; then eu-readelf -a $t/%s >/dev/null; fi",
		   slice_name),
		0);
}

static void test_libc(void **state)
{
	int fd = open("/lib/x86_64-linux-gnu/libc.so.6", O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size;

	(void)state;
	if (fd < 0)
		skip();
	assert_int_equal(fstat(fd, &st), 0);
	size = check_slice(fd, -1, "libc.so.6", -1, 300, 1, "libc.slice");
	print_message("# libc: %zu of %ld bytes\n", size, (long)st.st_size);
	assert_true(size < (size_t)st.st_size / 15);
	check_tools("libc.slice");
	for (uint64_t seed = 2; seed < 8; seed++)
		check_slice(fd, -1, "libc.so.6", -1, 40, seed, NULL);
	close(fd);
}

/*
 * Labels without sizes, aliases, functions inside functions, gaps: what hand-written assembly has.
 */
static const char asm_source[] =
	".text\n.globl _start\n_start: nop\n nop\n"
	"unsized1: nop\n nop\n nop\n"
	".globl sized\n.type sized,@function\nsized: nop\nlabel_in_sized: nop\n nop\n.size sized,.-sized\n"
	".skip 16,0x90\n"
	".type a1,@function\na1: \n.weak a2\n.type a2,@function\na2:\nalias_unsized: nop\n nop\n"
	".size a1,.-a1\n.size a2,.-a2\n"
	".type outer,@function\nouter: nop\n nop\n.type inner,@function\ninner: nop\n nop\n.size inner,.-inner\n"
	" nop\nlate_label: nop\n nop\n.size outer,.-outer\n"
	"after_outer: nop\n nop\n.skip 8,0x90\n"
	"last_unsized: nop\n nop\n nop\n"
	".section .note.GNU-stack,\"\",@progbits\n";

static void test_every_byte(void **state)
{
	struct answers whole, slice;
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	const struct elf_load *loads;
	struct elf_file *ef, *sliced;
	uint64_t off, svma, end = 0;
	size_t nloads, x = 0, checked = 0;
	int fd, err;

	(void)state;
	write_file("a.s", asm_source, strlen(asm_source));
	if (sh("cd $t && gcc -nostdlib -static -o asm a.s 2>/dev/null"))
		skip();
	fd = open_tmp("asm");
	ef = elf_file_open_fd(fd, &err);
	assert_non_null(ef);
	nloads = elf_file_loads(ef, &loads);
	for (size_t i = 0; i < nloads; i++) {
		if (loads[i].flags & PF_X)
			x = i;
	}
	answers_init(&whole, ef, NULL);
	end = loads[x].filesz;
	/* Each byte alone: nothing may lean on what is in the slice for another address. */
	for (uint64_t i = 0; i < end; i++) {
		off = loads[x].offset + i;
		svma = loads[x].vaddr + i;
		strbuf_reset(&out);
		assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out), 0);
		sliced = elf_file_open_mem(out.s, out.len, &err);
		assert_non_null(sliced);
		answers_init(&slice, sliced, NULL);
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		if (na.len != nb.len || (na.len && memcmp(na.s, nb.s, na.len)))
			fail_msg("%#lx: whole file: %s, slice: %s", svma, na.len ? na.s : "-",
				 nb.len ? nb.s : "-");
		checked += na.len > 0;
		answers_fini(&slice);
		elf_file_close(sliced);
	}
	assert_true(checked > 20);
	answers_fini(&whole);
	elf_file_close(ef);
	close(fd);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
}

/* ---- separate debug files, below a root of their own ---- */

static const char c_source[] =
	"static int __attribute__((noinline)) hidden_leaf(int n) { return n * 3 + 1; }\n"
	"static int __attribute__((noinline)) hidden_mid(int n) { return hidden_leaf(n) + hidden_leaf(n + 1); }\n"
	"int main(int c, char **v) { (void)v; return hidden_mid(c) & 1; }\n";

/* Builds $t/root/bin/prog, stripped, as the shell command @split leaves it. */
static bool build_split(const char *cflags, const char *split)
{
	write_file("p.c", c_source, strlen(c_source));
	return sh("cd $t && rm -rf root full && mkdir -p root/bin && gcc -O2 -fno-inline -g %s -o full p.c 2>/dev/null && "
		  "cp full root/bin/prog && %s",
		  cflags, split) == 0;
}

/* Whether the slice for an address in function @name of the unstripped program has that name. */
static bool slice_has(const char *name)
{
	struct strbuf out = STRBUF_INIT;
	struct sym_list syms = { 0 };
	struct elf_file *full, *sliced;
	struct elf_sym *want = NULL;
	char root[128];
	uint64_t off;
	const struct elf_load *loads;
	bool found = false;
	int fd, fullfd, rootfd, err;

	snprintf(root, sizeof(root), "%s/root", tmpdir);
	rootfd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fullfd = open_tmp("full");
	fd = open_tmp("root/bin/prog");
	full = elf_file_open_fd(fullfd, &err);
	assert_non_null(full);
	elf_file_symbols(full, add_sym, &syms);
	for (size_t i = 0; i < syms.n; i++) {
		if (strcmp(syms.v[i].name, name) == 0)
			want = &syms.v[i];
	}
	assert_non_null(want);
	off = UINT64_MAX;
	for (size_t i = 0, n = elf_file_loads(full, &loads); i < n; i++) {
		if (want->svma - loads[i].vaddr < loads[i].filesz)
			off = want->svma - loads[i].vaddr + loads[i].offset + 1;
	}
	assert_true(off != UINT64_MAX);
	assert_int_equal(capture_elf(fd, rootfd, "/bin/prog", &off, 1, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	syms.n = 0;
	elf_file_symbols(sliced, add_sym, &syms);
	for (size_t i = 0; i < syms.n; i++)
		found = found || strcmp(syms.v[i].name, name) == 0;
	elf_file_close(sliced);
	elf_file_close(full);
	close(fd);
	close(fullfd);
	close(rootfd);
	free(syms.v);
	strbuf_fini(&out);
	return found;
}

static void test_debuglink(void **state)
{
	(void)state;
	/* Beside the binary, proved by build-id. */
	if (!build_split(
		    "",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && strip root/bin/prog && "
		    "objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_leaf"));
	/* In .debug, and below /usr/lib/debug. */
	assert_int_equal(sh("cd $t/root && mkdir bin/.debug && mv bin/prog.dbg bin/.debug/"), 0);
	assert_true(slice_has("hidden_leaf"));
	assert_int_equal(
		sh("cd $t/root && mkdir -p usr/lib/debug/bin && mv bin/.debug/prog.dbg usr/lib/debug/bin/"),
		0);
	assert_true(slice_has("hidden_leaf"));
	assert_int_equal(sh("rm -rf $t/root/usr"), 0);
	assert_false(slice_has("hidden_leaf"));
}

static void test_debuglink_crc(void **state)
{
	(void)state;
	/* No build-id: the CRC is the proof, and a file that does not match it is refused. */
	if (!build_split(
		    "-Wl,--build-id=none",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && "
		    "strip root/bin/prog && objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_mid"));
	assert_int_equal(sh("printf x >>$t/root/bin/prog.dbg"), 0);
	assert_false(slice_has("hidden_mid"));
}

static void test_debuglink_wrong_build_id(void **state)
{
	(void)state;
	if (!build_split(
		    "",
		    "gcc -O1 -g -o other p.c && objcopy --only-keep-debug other root/bin/prog.dbg && "
		    "strip root/bin/prog && objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	assert_false(slice_has("hidden_leaf"));
}

static void test_build_id_dir(void **state)
{
	(void)state;
	if (!build_split(
		    "",
		    "id=$(readelf -n full | awk '/Build ID/{print $3}') && a=$(echo $id | cut -c1-2) && "
		    "b=$(echo $id | cut -c3-) && mkdir -p root/usr/lib/debug/.build-id/$a && "
		    "objcopy --only-keep-debug full root/usr/lib/debug/.build-id/$a/$b.debug && strip root/bin/prog"))
		skip();
	assert_true(slice_has("hidden_leaf"));
}

/* The binary has no unwind tables; its debug file has .debug_frame. */
static void test_debug_frame_from_debug_file(void **state)
{
	struct strbuf out = STRBUF_INIT;
	struct cfi_sections secs;
	struct elf_file *full, *sliced;
	struct answers whole, slice;
	struct cfi_fde fde;
	uint64_t off = 0;
	const struct elf_load *loads;
	char root[128];
	int fd, fullfd, rootfd, err;

	(void)state;
	if (!build_split(
		    "-fno-asynchronous-unwind-tables -fno-unwind-tables -nostartfiles -Wl,-e,main",
		    "objcopy --only-keep-debug full root/bin/prog.dbg && strip root/bin/prog && "
		    "objcopy --add-gnu-debuglink=root/bin/prog.dbg root/bin/prog"))
		skip();
	snprintf(root, sizeof(root), "%s/root", tmpdir);
	rootfd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	fullfd = open_tmp("full");
	fd = open_tmp("root/bin/prog");
	full = elf_file_open_fd(fullfd, &err);
	elf_file_cfi_sections(full, &secs);
	assert_null(secs.eh_frame.data);
	assert_non_null(secs.debug_frame.data);
	answers_init(&whole, full, NULL);
	assert_int_equal(cfi_nth(whole.cfi, 0, &fde), 0);
	for (size_t i = 0, n = elf_file_loads(full, &loads); i < n; i++) {
		if (fde.start - loads[i].vaddr < loads[i].filesz)
			off = fde.start - loads[i].vaddr + loads[i].offset;
	}
	assert_int_equal(capture_elf(fd, rootfd, "/bin/prog", &off, 1, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	answers_init(&slice, sliced, NULL);
	assert_false(cfi_empty(slice.cfi));
	compare_rows(whole.cfi, slice.cfi, fde.start, 0, true);
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(full);
	close(fd);
	close(fullfd);
	close(rootfd);
	strbuf_fini(&out);
}

/* Slice $t/prog for the first byte of symbol @name of $t/full; whether it has .gnu_debugdata. */
static bool slice_has_debugdata(const char *name)
{
	struct strbuf out = STRBUF_INIT;
	struct sym_list syms = { 0 };
	struct elf_file *full, *sliced;
	const struct elf_load *loads;
	const uint8_t *data;
	uint64_t off = UINT64_MAX;
	size_t size = 0, nloads;
	int fd = open_tmp("prog"), fullfd = open_tmp("full"), err;
	bool has;

	full = elf_file_open_fd(fullfd, &err);
	assert_non_null(full);
	elf_file_symbols(full, add_sym, &syms);
	nloads = elf_file_loads(full, &loads);
	for (size_t i = 0; i < syms.n; i++) {
		for (size_t k = 0; k < nloads && strcmp(syms.v[i].name, name) == 0; k++) {
			if (syms.v[i].svma - loads[k].vaddr < loads[k].filesz)
				off = syms.v[i].svma - loads[k].vaddr + loads[k].offset;
		}
	}
	assert_true(off != UINT64_MAX);
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	has = elf_file_section(sliced, ".gnu_debugdata", &data, &size, NULL) == 0;
	if (has) {
		assert_int_equal(size, 21);
		assert_memory_equal(data, "stands for xz of ELF\n", 21);
	}
	elf_file_close(sliced);
	elf_file_close(full);
	close(fd);
	close(fullfd);
	free(syms.v);
	strbuf_fini(&out);
	return has;
}

/* MiniDebugInfo comes along when an address has no name without it, and only then. */
static void test_debugdata(void **state)
{
	(void)state;
	write_file("p.c", c_source, strlen(c_source));
	if (sh("cd $t && gcc -O2 -fno-inline -rdynamic -o full p.c 2>/dev/null && cp full prog && strip prog && "
	       "echo 'stands for xz of ELF' >dd && objcopy --add-section .gnu_debugdata=dd prog"))
		skip();
	assert_true(slice_has_debugdata("hidden_leaf"));
	assert_false(slice_has_debugdata("main"));
}

static void test_vdso(void **state)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct strbuf out = STRBUF_INIT, na = STRBUF_INIT, nb = STRBUF_INIT;
	struct elf_file *ef, *sliced;
	struct answers whole, slice;
	uint64_t offs[50], svma;
	size_t size, named = 0;
	int err;

	(void)state;
	if (!eh)
		skip();
	size = eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize;
	ef = elf_file_open_mem(eh, size, &err);
	assert_non_null(ef);
	random_offs(ef, offs, 50, 11);
	assert_int_equal(capture_elf_mem(eh, size, offs, 50, &out), 0);
	sliced = elf_file_open_mem(out.s, out.len, &err);
	assert_non_null(sliced);
	answers_init(&whole, ef, NULL);
	answers_init(&slice, sliced, NULL);
	for (size_t i = 0; i < 50; i++) {
		if (!elf_file_off_to_svma(ef, offs[i], &svma))
			continue;
		names_at(&whole.syms, ef, svma, &na);
		names_at(&slice.syms, ef, svma, &nb);
		assert_int_equal(na.len, nb.len);
		assert_memory_equal(na.s ? na.s : "", nb.s ? nb.s : "", na.len);
		compare_rows(whole.cfi, slice.cfi, svma, 0, true);
		named += na.len > 0;
	}
	assert_true(named > 0);
	answers_fini(&whole);
	answers_fini(&slice);
	elf_file_close(sliced);
	elf_file_close(ef);
	strbuf_fini(&out);
	strbuf_fini(&na);
	strbuf_fini(&nb);
}

static void test_not_elf(void **state)
{
	struct strbuf out = STRBUF_INIT;
	uint64_t off = 0;
	int fd;

	(void)state;
	write_file("text", "#!/bin/sh\necho hello, this is no ELF file\n", 42);
	fd = open_tmp("text");
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out), -ENOEXEC);
	close(fd);
	write_file("empty", "", 0);
	fd = open_tmp("empty");
	assert_int_equal(capture_elf(fd, -1, NULL, &off, 1, &out), -ENOEXEC);
	close(fd);
	assert_int_equal(capture_elf_mem("\177ELF", 4, &off, 1, &out), -ENOEXEC);
	assert_int_equal(out.len, 0);
}

/*
 * Flipped bytes: any answer but a crash, and what comes out is still ELF. Run this one with
 * SAN=address.
 */
static void test_damaged(void **state)
{
	uint64_t seed = 42, offs[20];
	struct strbuf file = STRBUF_INIT, out = STRBUF_INIT;
	struct elf_file *ef;
	char buf[65536];
	size_t got, ok = 0;
	FILE *f;
	int err;

	(void)state;
	write_file("d.c", c_source, strlen(c_source));
	if (sh("cd $t && gcc -O2 -g -o dmg d.c 2>/dev/null"))
		skip();
	snprintf(buf, sizeof(buf), "%s/dmg", tmpdir);
	f = fopen(buf, "r");
	assert_non_null(f);
	while ((got = fread(buf, 1, sizeof(buf), f)) > 0)
		strbuf_add(&file, buf, got);
	fclose(f);
	ef = elf_file_open_mem(file.s, file.len, &err);
	random_offs(ef, offs, 20, 7);
	elf_file_close(ef);
	for (int round = 0; round < 3000; round++) {
		char *copy = malloc(file.len);
		size_t size = round % 10 ? file.len : rnd(&seed) % file.len;

		memcpy(copy, file.s, file.len);
		for (uint64_t k = 0, n = 1 + rnd(&seed) % 8; k < n; k++) {
			uint64_t at = rnd(&seed);

			/*
			 * A third of them in the program headers, a third in the section headers.
			 */
			if (at % 3 == 0)
				at = 16 + (at >> 8) % 800;
			else if (at % 3 == 1)
				at = file.len - 1 - (at >> 8) % 2500;
			copy[at % file.len] = (char)rnd(&seed);
		}
		strbuf_reset(&out);
		if (!capture_elf_mem(copy, size, offs, 20, &out)) {
			ef = elf_file_open_mem(out.s, out.len, &err);
			assert_non_null(ef);
			elf_file_close(ef);
			ok++;
		}
		free(copy);
	}
	print_message("# %zu of 3000 damaged files still gave a slice\n", ok);
	assert_true(ok > 100);
	strbuf_fini(&file);
	strbuf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_libc),
		cmocka_unit_test(test_every_byte),
		cmocka_unit_test(test_debuglink),
		cmocka_unit_test(test_debuglink_crc),
		cmocka_unit_test(test_debuglink_wrong_build_id),
		cmocka_unit_test(test_build_id_dir),
		cmocka_unit_test(test_debug_frame_from_debug_file),
		cmocka_unit_test(test_debugdata),
		cmocka_unit_test(test_vdso),
		cmocka_unit_test(test_not_elf),
		cmocka_unit_test(test_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_tmpdir, remove_tmpdir);
}
