/*
 * Kernel symbols found by a BPF program (ksym_bpf.h), compared with /proc/kallsyms of the machine
 * that runs the tests. Without root or bpf(2) the tests are skipped with the reason.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "capture/capture.h"
#include "capture/ksym_bpf.h"
#include "host/nsopen.h"

/* ---- tables ---- */

struct line {
	uint64_t addr;
	char type;
	char name[600];		/* "vfs_read", "ip_rcv\t[mod]" */
};

struct table {
	struct line *v;		/* sorted, aliases adjacent */
	size_t n, cap;
};

static int by_addr(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void table_add(struct table *t, const char *text, size_t len)
{
	struct line *l;
	char copy[640];
	int at;

	assert_true(len < sizeof(copy));
	memcpy(copy, text, len);
	copy[len] = '\0';
	if (t->n == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 1024;
		t->v = realloc(t->v, t->cap * sizeof(*t->v));
	}
	l = &t->v[t->n];
	assert_int_equal(sscanf(copy, "%16lx %c %n", &l->addr, &l->type, &at), 2);
	snprintf(l->name, sizeof(l->name), "%.590s", copy + at);
	t->n++;
}

static struct table table_of(const char *text, size_t len)
{
	struct table t = { NULL, 0, 0 };
	const char *nl;

	for (; len && (nl = memchr(text, '\n', len)); text = nl + 1) {
		table_add(&t, text, (size_t)(nl - text));
		len -= (size_t)(nl - text) + 1;
	}
	assert_int_equal(len, 0);
	if (t.n)
		qsort(t.v, t.n, sizeof(*t.v), by_addr);
	return t;
}

/* The first line above @addr. */
static size_t above(const struct table *t, uint64_t addr)
{
	size_t lo = 0, hi = t->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->v[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct table kernel;

/* All of /proc/kallsyms. BPF programs loaded meanwhile belong to other tests. */
static void read_kernel(void)
{
	FILE *f = fopen("/proc/kallsyms", "re");
	struct strbuf text = STRBUF_INIT;
	char buf[65536];
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf, 1, sizeof(buf), f)))
		strbuf_add(&text, buf, n);
	fclose(f);
	free(kernel.v);
	kernel = table_of(text.s, text.len);
	strbuf_fini(&text);
}

static void need_bpf(void)
{
	struct ksym_bpf kb;
	int err = ksym_bpf_open(&kb);

	if (err) {
		printf("# skipped: no BPF program may be loaded here: %s\n", strerror(-err));
		skip();
	}
	ksym_bpf_close(&kb);
	if (!kernel.v)
		read_kernel();
	if (!kernel.n || !kernel.v[kernel.n - 1].addr) {
		printf("# skipped: /proc/kallsyms shows no addresses (kptr_restrict, or not root)\n");
		skip();
	}
}

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* ---- text ---- */

static void check_parse(const char *line, const char *name, uint64_t offset, uint64_t size,
			const char *module)
{
	struct ksym s;

	assert_true(ksym_parse(line, strlen(line), &s));
	assert_int_equal(s.name_len, strlen(name));
	assert_memory_equal(s.name_len ? s.name : "", name, s.name_len);
	assert_int_equal(s.offset, offset);
	assert_int_equal(s.size, size);
	assert_int_equal(!s.module, !module);
	if (module) {
		assert_int_equal(s.module_len, strlen(module));
		assert_memory_equal(s.module, module, s.module_len);
	}
}

static void test_parse(void **state)
{
	static const char *const bad[] = {
		"", "name", "name+0x1", "name+0x1/", "name+0x1/0x", "name+1/2", "+0x1/0x2",
		"name/0x2", "name+0x1/0x2 mod", "name+0x1/0x2 []", "name+0x1/0x2 [mod",
		"name+0x1/0x2g", "name+0x11111111111111111/0x2", "name ",
	};
	struct ksym s;

	(void)state;
	check_parse("vfs_read+0x1c/0x2f0", "vfs_read", 0x1c, 0x2f0, NULL);
	check_parse("a+0x0/0x0", "a", 0, 0, NULL);
	check_parse("ip_rcv+0x0/0x40 [mod_x]", "ip_rcv", 0, 0x40, "mod_x");
	check_parse("bpf_prog_6deef7357e7b4530_x+0x5/0x80", "bpf_prog_6deef7357e7b4530_x", 5, 0x80,
		    NULL);
	/* Names may contain any character of a number. */
	check_parse("f.constprop.0+0x2/0x3+0xabcdef/0xffffffffffffffff", "f.constprop.0+0x2/0x3",
		    0xabcdef, UINT64_MAX, NULL);
	check_parse("0xffffffffff600000", "", 0, 0, NULL);
	check_parse("0x0", "", 0, 0, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(ksym_parse(bad[i], strlen(bad[i]), &s));
}

/* ---- against the file ---- */

static bool is_code(char type)
{
	return strchr("tTwW", type);
}

/*
 * Whether @rows names @addr as the whole table does, by one of the names that its symbol has there.
 */
static void check_named(const struct table *rows, uint64_t addr)
{
	size_t want = above(&kernel, addr), got = above(rows, addr);
	bool found = false;

	assert_true(want && got);
	assert_int_equal(rows->v[got - 1].addr, kernel.v[want - 1].addr);
	for (size_t i = want; i && kernel.v[i - 1].addr == rows->v[got - 1].addr; i--)
		found |= !strcmp(kernel.v[i - 1].name, rows->v[got - 1].name);
	if (!found)
		fail_msg("%lx is no %s", (unsigned long)addr, rows->v[got - 1].name);
}

/* Every symbol with a row ends where it does in the whole table. */
static void check_end(const struct table *rows, uint64_t addr)
{
	size_t want = above(&kernel, addr), got = above(rows, addr);

	if (want < kernel.n) {
		assert_true(got < rows->n);
		assert_int_equal(rows->v[got].addr, kernel.v[want].addr);
	}
}

static struct table capture(const uint64_t *addrs, size_t n)
{
	struct strbuf out = STRBUF_INIT;
	struct table t;

	assert_int_equal(capture_ksyms(addrs, n, &out), 0);
	t = table_of(out.len ? out.s : "", out.len);
	strbuf_fini(&out);
	return t;
}

/* Code from _stext to _etext, whose symbols are adjacent, without gaps. */
static void text_range(size_t *from, size_t *to)
{
	*from = *to = 0;
	for (size_t i = 0; i < kernel.n; i++) {
		if (!strcmp(kernel.v[i].name, "_stext"))
			*from = i;
		if (!strcmp(kernel.v[i].name, "_etext"))
			*to = i;
	}
	assert_true(*from < *to);
}

static void test_spread(void **state)
{
	uint64_t addrs[9000], behind = 0;
	struct table rows;
	size_t from, to, n = 0, aliases = 0;

	(void)state;
	need_bpf();
	text_range(&from, &to);
	/* The first byte, the last byte and one in between, of 3000 symbols. */
	for (size_t k = 0; k < 3000; k++) {
		size_t i = from + k * (to - from) / 3000, next = above(&kernel, kernel.v[i].addr);
		uint64_t start = kernel.v[i].addr, end = kernel.v[next].addr;

		if (start < behind)
			continue;
		behind = end;
		addrs[n++] = start;
		addrs[n++] = start + (end - start) / 2;
		addrs[n++] = end - 1;
	}
	assert_true(n > 6000);
	rows = capture(addrs, n);
	for (size_t i = 0; i < n; i++) {
		check_named(&rows, addrs[i]);
		check_end(&rows, addrs[i]);
	}
	for (size_t i = 0; i < rows.n; i++) {
		assert_int_equal(rows.v[i].type, 't');
		assert_true(!i || rows.v[i].addr > rows.v[i - 1].addr);
		aliases += above(&kernel, rows.v[i].addr - 1) + 1 < above(&kernel, rows.v[i].addr);
	}
	printf("# %zu addresses, %zu rows, %zu of symbols with several names\n", n, rows.n, aliases);
	free(rows.v);
}

/* Each code symbol with several names, by its first byte. */
static void test_aliases(void **state)
{
	uint64_t *addrs;
	struct table rows;
	size_t from, to, n = 0;

	(void)state;
	need_bpf();
	text_range(&from, &to);
	addrs = calloc(to - from, sizeof(*addrs));
	for (size_t i = from + 1; i < to; i++) {
		if (kernel.v[i].addr == kernel.v[i - 1].addr && is_code(kernel.v[i].type) &&
		    (!n || addrs[n - 1] != kernel.v[i].addr))
			addrs[n++] = kernel.v[i].addr;
	}
	rows = capture(addrs, n);
	for (size_t i = 0; i < n; i++)
		check_named(&rows, addrs[i]);
	free(rows.v);
	free(addrs);
}

/*
 * Addresses outside the kernel's text get no row; a valid address among them still does.
 */
static void test_garbage(void **state)
{
	size_t from, to, one;
	uint64_t at, addrs[12];
	struct table rows;

	(void)state;
	need_bpf();
	text_range(&from, &to);
	one = (from + to) / 2;
	at = kernel.v[one].addr;
	memcpy(addrs, (uint64_t[]){ 0, 1, 0x7fffffffffff, 0x8000000000000000, 0xffff888000001000,
				    0xffffffff7fffffff, 0xffffffff80000000, at, at, 0xffffffffff000000,
				    0xffffffffff600000, UINT64_MAX }, sizeof(addrs));
	rows = capture(addrs, 12);
	check_named(&rows, at);
	check_end(&rows, at);
	free(rows.v);
	rows = capture(addrs, 6);
	assert_int_equal(rows.n, 0);
	free(rows.v);
	rows = capture(NULL, 0);
	assert_int_equal(rows.n, 0);
	free(rows.v);
}

/*
 * Modules, and ftrace's trampoline, which "%pS" does not know. No BPF programs: those of others
 * come and go.
 */
static bool in_module(const struct line *l)
{
	return is_code(l->type) && strchr(l->name, '\t') && !strstr(l->name, "\t[bpf]");
}

static void test_modules(void **state)
{
	size_t n = 0, k = 0;

	(void)state;
	need_bpf();
	for (size_t i = 0; i < kernel.n; i++)
		n += in_module(&kernel.v[i]);
	if (!n) {
		printf("# skipped: no module and no trampoline has symbols here\n");
		skip();
	}
	for (size_t i = 0; i < kernel.n; i++) {
		struct table rows;

		if (!in_module(&kernel.v[i]) || k++ % (1 + n / 200))
			continue;
		rows = capture(&kernel.v[i].addr, 1);
		check_named(&rows, kernel.v[i].addr);
		free(rows.v);
	}
	printf("# %zu symbols outside of the kernel proper\n", n);
}

/* The address at which the kernel put the program; 0 if it does not say. */
static uint64_t program_address(int fd)
{
	struct bpf_prog_info info;
	union bpf_attr attr;
	uint64_t addr = 0;

	memset(&info, 0, sizeof(info));
	info.nr_jited_ksyms = 1;
	info.jited_ksyms = (uintptr_t)&addr;
	memset(&attr, 0, sizeof(attr));
	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = sizeof(info);
	attr.info.info = (uintptr_t)&info;
	return syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) ? 0 : addr;
}

/* The BPF program that looks up symbols has a symbol itself until it is closed. */
static void test_bpf_program(void **state)
{
	struct ksym_bpf kb;
	struct table rows;
	uint64_t start, addr;
	struct ksym s;

	(void)state;
	need_bpf();
	assert_int_equal(ksym_bpf_open(&kb), 0);
	start = program_address(kb.prog);
	read_kernel();
	addr = start + 3;
	if (!start || above(&kernel, start) == above(&kernel, start - 1)) {
		ksym_bpf_close(&kb);
		printf("# skipped: this kernel does not list BPF programs (bpf_jit_kallsyms)\n");
		skip();
	}
	assert_int_equal(ksym_bpf_lookup(&kb, &addr, 1, &s), 0);
	assert_true(s.name_len > strlen("_nsprof_ksym"));
	assert_memory_equal(s.name + s.name_len - strlen("_nsprof_ksym"), "_nsprof_ksym",
			    strlen("_nsprof_ksym"));
	assert_int_equal(s.offset, 3);
	rows = capture(&addr, 1);
	check_named(&rows, addr);
	free(rows.v);
	/*
	 * The byte before it belongs to no symbol; the next symbol further below in the file does
	 * not count.
	 */
	rows = capture((const uint64_t[]){ start - 1, start }, 2);
	check_named(&rows, start);
	assert_int_equal(rows.v[0].addr, start);
	free(rows.v);
	ksym_bpf_close(&kb);
}

static void test_batch(void **state)
{
	uint64_t addrs[KSYM_BPF_BATCH + 1] = { 0 };
	struct ksym s[KSYM_BPF_BATCH + 1];
	struct ksym_bpf kb;

	(void)state;
	need_bpf();
	assert_int_equal(ksym_bpf_open(&kb), 0);
	assert_int_equal(ksym_bpf_lookup(&kb, addrs, 0, s), 0);
	assert_int_equal(ksym_bpf_lookup(&kb, addrs, KSYM_BPF_BATCH, s), 0);
	for (size_t i = 0; i < KSYM_BPF_BATCH; i++)
		assert_int_equal(s[i].name_len, 0);
	assert_int_equal(ksym_bpf_lookup(&kb, addrs, KSYM_BPF_BATCH + 1, s), -EINVAL);
	ksym_bpf_close(&kb);
}

/* ---- several at once ---- */

#define THREADS 4

struct worker {
	pthread_t thread;
	uint64_t addrs[400];
	struct strbuf out;
	int err;
};

static void *work(void *p)
{
	struct worker *w = p;

	w->err = capture_ksyms(w->addrs, ARRAY_SIZE(w->addrs), &w->out);
	return NULL;
}

static void test_threads(void **state)
{
	static struct worker w[THREADS];
	size_t from, to;
	int before;

	(void)state;
	need_bpf();
	text_range(&from, &to);
	before = open_files();
	for (size_t i = 0; i < THREADS; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(w[i].addrs); k++)
			w[i].addrs[k] = kernel.v[from + (k * THREADS + i) * (to - from) / 1600].addr;
		assert_int_equal(pthread_create(&w[i].thread, NULL, work, &w[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		struct table rows;

		assert_int_equal(pthread_join(w[i].thread, NULL), 0);
		assert_int_equal(w[i].err, 0);
		rows = table_of(w[i].out.s, w[i].out.len);
		for (size_t k = 0; k < ARRAY_SIZE(w[i].addrs); k++)
			check_named(&rows, w[i].addrs[k]);
		free(rows.v);
		strbuf_fini(&w[i].out);
	}
	assert_int_equal(open_files(), before);
}

/* ---- without ---- */

static int drop_bpf(void)
{
	struct __user_cap_header_struct h = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct d[2];

	if (syscall(SYS_capget, &h, d))
		return -1;
	d[CAP_SYS_ADMIN / 32].effective &= ~(1u << CAP_SYS_ADMIN % 32);
	d[39 / 32].effective &= ~(1u << 39 % 32); /* CAP_BPF, which old headers lack */
	return (int)syscall(SYS_capset, &h, d);
}

/*
 * In a child without CAP_BPF that may read /proc/kallsyms. Returns 0 or the number of the failed
 * check.
 */
static int without_bpf(const uint64_t *addrs, size_t n)
{
	struct strbuf out = STRBUF_INIT, want = STRBUF_INIT;
	int before = open_files();
	struct ksym_bpf kb;

	if (drop_bpf())
		return 1;
	if (ksym_bpf_open(&kb) != -EPERM)
		return 2;
	if (kb.map || kb.prog >= 0 || kb.data >= 0 || kb.format >= 0)
		return 3;
	if (capture_ksyms(addrs, n, &out) || capture_kallsyms(addrs, n, &want))
		return 4;
	if (!out.len || out.len != want.len || memcmp(out.s, want.s, out.len) != 0)
		return 5;
	return open_files() == before ? 0 : 6;
}

static void test_not_permitted(void **state)
{
	uint64_t addrs[50];
	size_t from, to;
	int status;
	pid_t pid;

	(void)state;
	need_bpf();
	text_range(&from, &to);
	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		addrs[i] = kernel.v[from + i * (to - from) / ARRAY_SIZE(addrs)].addr;
	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(without_bpf(addrs, ARRAY_SIZE(addrs)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* With a file made here, which has none of the answers that a BPF program would give. */
static void check_file(const char *text, size_t n, int err, const char *want)
{
	char dir[] = "/tmp/nsprof-ksyms-XXXXXX", path[64];
	uint64_t *addrs = calloc(n, sizeof(*addrs));
	struct strbuf out = STRBUF_INIT;
	FILE *f;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/kallsyms", dir);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	for (size_t i = 0; i < n; i++)
		addrs[i] = 0xffffffff81000000 + i;
	nsopen_set_proc(dir);
	assert_int_equal(capture_ksyms(addrs, n, &out), err);
	nsopen_set_proc("/proc");
	assert_string_equal(out.len ? out.s : "", want);
	strbuf_fini(&out);
	free(addrs);
	unlink(path);
	rmdir(dir);
}

/* Hidden addresses stay hidden; many addresses are looked up in the file. */
static void test_file(void **state)
{
	static const char hidden[] = "0000000000000000 T _stext\n0000000000000000 T next\n";
	static const char shown[] = "ffffffff81000000 T first\nffffffff81010000 T second\n";

	(void)state;
	check_file(hidden, 3, -EPERM, "");
	check_file("", 3, -EPERM, "");
	check_file(shown, 50000, 0, shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_garbage),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_bpf_program),
		cmocka_unit_test(test_batch),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_not_permitted),
		cmocka_unit_test(test_file),
	};
	int failed;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	free(kernel.v);
	return failed;
}
