/*
 * Kernel symbols for the addresses of a recording. If a BPF program may be loaded, it looks them up
 * one by one (1 ms, and 1.2 us per address). Otherwise /proc/kallsyms is read (60 ms: the kernel
 * prints all of its 120,000 symbols). Either way, the rows are lines of /proc/kallsyms.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "capture/ksym_bpf.h"
#include "host/nsopen.h"

/*
 * With more addresses, the file is as fast: 18,000 in 3,000 functions take 12 ms, 57,000 in 20,000
 * functions 70 ms, the file 50 to 75 ms (Linux 6.18). A lookup takes 1.2 us, and each function
 * needs two: one for its own name and one for the symbol after it.
 */
#define ASK_MAX 40000

/*
 * Where Linux has code on x86-64, including modules, BPF programs and trampolines: from the
 * kernel's text mapping to MODULES_END (Documentation/arch/x86/x86_64/mm.rst).
 */
#define KERNEL_TEXT_START	0xffffffff80000000
#define KERNEL_MODULES_END	0xffffffffff000000
/* The kernel proper ends here (KERNEL_IMAGE_SIZE; half of it without KASLR). */
#define KERNEL_TEXT_END		0xffffffffc0000000

/* Bytes; addresses this close are mostly in one function. From 64 to 1024 the cost is similar. */
#define APART 256

struct row {
	/* runtime addresses of a symbol; end is where the next one may begin */
	uint64_t start, end;
	size_t line, len;	/* position and length of its line in the text */
};

struct asking {
	struct ksym_bpf *kb;
	struct row *rows;
	size_t n, cap;
	struct strbuf text;
	uint64_t *left;		/* addresses without a symbol */
	size_t nleft, left_cap;
	size_t nasked;
};

/*
 * Does /proc/kallsyms show us addresses? Its reader needs CAP_SYSLOG, or permission by
 * kptr_restrict and perf_event_paranoid; a BPF program would ignore both. If an administrator hides
 * the kernel's layout, recordings must not reveal it. The first few lines tell: only one or two
 * per-CPU symbols are really at 0.
 */
static bool addresses_shown(void)
{
	char *path = xasprintf("%s/kallsyms", nsopen_proc()), buf[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool shown = false, in_addr = true;
	ssize_t n = -1;

	free(path);
	if (fd >= 0) {
		n = read(fd, buf, sizeof(buf));
		close(fd);
	}
	for (ssize_t i = 0; i < n && !shown; i++) {
		if (buf[i] == '\n')
			in_addr = true;
		else if (buf[i] == ' ')
			in_addr = false;
		else
			shown = in_addr && buf[i] != '0';
	}
	return shown;
}

/*
 * The kernel does not return the type letter. Sampled addresses are in code, and the symbols after
 * them are in code or mark its end, so 't' is right for readers of these rows.
 */
static void add_row(struct asking *a, uint64_t addr, const struct ksym *sym)
{
	const uint64_t start = addr - sym->offset;
	struct row *r;

	if (a->n && a->rows[a->n - 1].start == start)
		return;
	XGROW(a->rows, a->n, a->cap);
	r = &a->rows[a->n++];
	r->start = start;
	r->end = start + sym->size;
	r->line = a->text.len;
	strbuf_addf(&a->text, "%016" PRIx64 " t %.*s", start, (int)sym->name_len, sym->name);
	/* BPF programs and trampolines come without the module that the file shows for them. */
	if (sym->module)
		strbuf_addf(&a->text, "\t[%.*s]", (int)sym->module_len, sym->module);
	else if (start >= KERNEL_TEXT_END)
		strbuf_adds(&a->text, "\t[bpf]");
	strbuf_addc(&a->text, '\n');
	r->len = a->text.len - r->line;
}

static int ask_batch(struct asking *a, const uint64_t *addrs, size_t n)
{
	struct ksym syms[KSYM_BPF_BATCH];
	int err = ksym_bpf_lookup(a->kb, addrs, n, syms);

	if (err)
		return err;
	a->nasked += n;
	for (size_t i = 0; i < n; i++) {
		if (syms[i].name_len) {
			add_row(a, addrs[i], &syms[i]);
			continue;
		}
		XGROW(a->left, a->nleft, a->left_cap);
		a->left[a->nleft++] = addrs[i];
	}
	return 0;
}

static bool may_be_code(uint64_t addr)
{
	return addr >= KERNEL_TEXT_START && addr < KERNEL_MODULES_END;
}

/*
 * Looks up those of @addrs (sorted) that are in none of the @known rows. Only the first of
 * addresses less than @apart bytes apart is looked up, as most functions contain several addresses.
 */
static int ask(struct asking *a, const uint64_t *addrs, size_t n, size_t known, uint64_t apart)
{
	uint64_t batch[KSYM_BPF_BATCH], last = 0;
	size_t k = 0, r = 0;
	int err;

	for (size_t i = 0; i < n; i++) {
		while (r < known && a->rows[r].end <= addrs[i])
			r++;
		if (!may_be_code(addrs[i]) || (r < known && a->rows[r].start <= addrs[i]) ||
		    (last && addrs[i] - last < apart))
			continue;
		last = addrs[i];
		batch[k++] = addrs[i];
		if (k < KSYM_BPF_BATCH)
			continue;
		err = ask_batch(a, batch, k);
		if (err)
			return err;
		k = 0;
	}
	return k ? ask_batch(a, batch, k) : 0;
}

static int by_start(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

/* Sorts the rows and drops duplicates. */
static void sort_rows(struct asking *a)
{
	size_t n = 0;

	if (a->n)
		qsort(a->rows, a->n, sizeof(*a->rows), by_start);
	for (size_t i = 0; i < a->n; i++) {
		if (!n || a->rows[i].start != a->rows[n - 1].start)
			a->rows[n++] = a->rows[i];
	}
	a->n = n;
}

/* Looks up a few of the addresses first, then those that turn out to be in other symbols. */
static int ask_symbols(struct asking *a, const uint64_t *addrs, size_t n)
{
	int err = ask(a, addrs, n, 0, APART);

	if (err)
		return err;
	sort_rows(a);
	a->nleft = 0;
	err = ask(a, addrs, n, a->n, 0);
	sort_rows(a);
	return err;
}

/*
 * Looks up the symbol at each symbol's end that has no row yet. After the last symbol of a module
 * or BPF program there is none, and the file would not tell its end either.
 */
static int ask_ends(struct asking *a)
{
	const size_t nleft = a->nleft;
	uint64_t *ends = xcalloc(a->n + 1, sizeof(*ends));
	size_t n = 0;
	int err;

	for (size_t i = 0; i < a->n; i++) {
		if (i + 1 == a->n || a->rows[i].end < a->rows[i + 1].start)
			ends[n++] = a->rows[i].end;
	}
	err = ask(a, ends, n, 0, 0);
	free(ends);
	sort_rows(a);
	a->nleft = nleft;
	return err;
}

/*
 * It is not known which addresses are return addresses, so the byte before each is looked up, too.
 * At the start of a module or BPF program, or after a call at its end, one of the two is outside.
 * That is not a missing symbol.
 */
static bool beside_symbol(const struct asking *a, uint64_t addr)
{
	for (size_t i = 0; i < a->n; i++) {
		if (a->rows[i].start == addr + 1 || a->rows[i].end == addr)
			return true;
	}
	return false;
}

static void drop_beside(struct asking *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->nleft; i++) {
		if (!beside_symbol(a, a->left[i]))
			a->left[n++] = a->left[i];
	}
	a->nleft = n;
}

static int ask_with(struct asking *a, struct ksym_bpf *kb, const uint64_t *addrs, size_t n)
{
	int err;

	a->kb = kb;
	err = ask_symbols(a, addrs, n);
	if (err)
		return err;
	drop_beside(a);
	return ask_ends(a);
}

/* What capture_ksyms_prepare() opened. A program has room for one batch. */
static struct {
	bool done, shown;
	int err;		/* of ksym_bpf_open(); 0: kb is open */
	struct ksym_bpf kb;
	pthread_mutex_t lock;	/* guards kb */
} early = { .lock = PTHREAD_MUTEX_INITIALIZER };

void capture_ksyms_prepare(void)
{
	early.shown = addresses_shown();
	capture_kallsyms_keep();
	early.err = early.shown ? ksym_bpf_open(&early.kb) : -EPERM;
	early.done = true;
}

static int ask_all(struct asking *a, const uint64_t *addrs, size_t n)
{
	struct ksym_bpf kb;
	int err;

	if (early.done && !early.err) {
		pthread_mutex_lock(&early.lock);
		err = ask_with(a, &early.kb, addrs, n);
		pthread_mutex_unlock(&early.lock);
		return err;
	}
	err = early.done ? early.err : ksym_bpf_open(&kb);
	if (err)
		return err;
	err = ask_with(a, &kb, addrs, n);
	ksym_bpf_close(&kb);
	return err;
}

static void put_rows(const struct asking *a, struct strbuf *out)
{
	for (size_t i = 0; i < a->n; i++)
		strbuf_add(out, a->text.s + a->rows[i].line, a->rows[i].len);
}

int capture_ksyms(const uint64_t *addrs, size_t n, struct strbuf *out)
{
	struct asking a = { .text = STRBUF_INIT };
	int err;

	if (n > ASK_MAX || !(early.done ? early.shown : addresses_shown())) {
		pr_verbose("reading kernel symbols from /proc/kallsyms: %s", n > ASK_MAX ?
			   "too many addresses for single lookups" : "it seems to hide addresses");
		return capture_kallsyms(addrs, n, out);
	}
	err = ask_all(&a, addrs, n);
	if (err) {
		pr_verbose("reading kernel symbols from /proc/kallsyms: cannot look them up with a BPF "
			   "program: %s", strerror(-err));
		err = capture_kallsyms(addrs, n, out);
	} else {
		pr_verbose("kernel symbols: %zu addresses, %zu looked up by a BPF program, %zu left for "
			   "/proc/kallsyms", n, a.nasked, a.nleft);
		put_rows(&a, out);
		if (a.nleft)
			err = capture_kallsyms(a.left, a.nleft, out);
		/* The program's results are valid without the file. */
		if (a.n)
			err = 0;
	}
	free(a.rows);
	free(a.left);
	strbuf_fini(&a.text);
	return err;
}
