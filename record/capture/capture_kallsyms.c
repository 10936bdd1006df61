/*
 * The kernel symbols that a recording needs. /proc/kallsyms has no sizes: a symbol ends where the
 * next one begins, so each address needs two starts. Core symbols are sorted. Those of modules and
 * BPF programs follow in any order, at higher addresses. Format: Linux, kernel/kallsyms.c s_show().
 *
 * The file has 5 to 15 MB, which the kernel prints for each reader, and a recording needs a few
 * hundred addresses. So the text is reduced while it is read, to the few lines that may be needed.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "capture/capture.h"
#include "base/pcset.h"
#include "host/nsopen.h"

/* Limit for the kept text: if a kernel's symbols are unsorted, all of it is kept. */
#define KEPT_MAX (64u << 20)
#define READ_SIZE (128u << 10)

struct kline {
	uint64_t addr;
	const char *text;	/* the whole line */
	size_t len;		/* bytes, including the newline */
	bool code;		/* type t, T, w, W */
};

/* Nearest symbol starts around an address; 0 and UINT64_MAX = none. */
struct around {
	uint64_t pred, succ;	/* among all symbols */
	uint64_t code_pred, code_succ;
};

struct search {
	struct pcset pcs;	/* runtime addresses */
	struct around *at;	/* one entry per pc */
};

static void search_init(struct search *s, const uint64_t *addrs, size_t n)
{
	memset(s, 0, sizeof(*s));
	pcset_init(&s->pcs, addrs, n);
	s->at = xcalloc(s->pcs.n + 1, sizeof(*s->at));
	for (size_t i = 0; i < s->pcs.n; i++)
		s->at[i].succ = s->at[i].code_succ = UINT64_MAX;
}

/* Finds the next line at *@pos of the form "hex type name"; false at the end. */
static bool next_line(const char *text, size_t len, size_t *pos, struct kline *line)
{
	while (*pos < len) {
		const char *p = text + *pos, *nl = memchr(p, '\n', len - *pos), *d = p;
		uint64_t addr = 0;

		*pos = nl ? (size_t)(nl - text) + 1 : len;
		if (!nl)
			continue;
		for (; hex_digit(*d) >= 0; d++)
			addr = addr << 4 | (uint64_t)hex_digit(*d);
		if (d == p || nl - d < 4 || d[0] != ' ' || d[2] != ' ')
			continue;
		line->addr = addr;
		line->text = p;
		line->len = (size_t)(nl - p) + 1;
		line->code = d[1] == 't' || d[1] == 'T' || d[1] == 'w' || d[1] == 'W';
		return true;
	}
	return false;
}

static void measure(struct search *s, const struct kline *l)
{
	size_t i = pcset_from(&s->pcs, l->addr);

	if (i < s->pcs.n) {
		s->at[i].pred = MAX(s->at[i].pred, l->addr);
		if (l->code)
			s->at[i].code_pred = MAX(s->at[i].code_pred, l->addr);
	}
	if (i > 0) {
		s->at[i - 1].succ = MIN(s->at[i - 1].succ, l->addr);
		if (l->code)
			s->at[i - 1].code_succ = MIN(s->at[i - 1].code_succ, l->addr);
	}
}

static void spread(struct search *s)
{
	for (size_t i = 1; i < s->pcs.n; i++) {
		struct around *a = &s->at[i], *b = &s->at[s->pcs.n - 1 - i];

		a->pred = MAX(a->pred, a[-1].pred);
		a->code_pred = MAX(a->code_pred, a[-1].code_pred);
		b->succ = MIN(b->succ, b[1].succ);
		b->code_succ = MIN(b->code_succ, b[1].code_succ);
	}
}

static bool wanted(const struct search *s, const struct kline *l)
{
	size_t i = pcset_from(&s->pcs, l->addr);
	const struct around *a;

	if (i < s->pcs.n) {
		a = &s->at[i];
		if (a->pred == l->addr || (l->code && a->code_pred == l->addr))
			return true;
	}
	if (!i)
		return false;
	a = &s->at[i - 1];
	return a->succ == l->addr || (l->code && a->code_succ == l->addr);
}

/* ---- thinning ---- */

/*
 * Consecutive lines with no wanted address between them. Only those at their lowest and highest
 * address can be nearest to a wanted address, and likewise the lowest and highest of the code
 * symbols among them.
 */
struct run {
	size_t i;		/* index of the wanted address at or above all of them */
	bool any, ascending, any_code;
	uint64_t lo, hi;	/* addresses of the first and the last line */
	uint64_t code_lo, code_hi;
	const char *text, *end;	/* the lines */
	const char *hi_text, *code_text, *code_hi_text;	/* first line at hi, code_lo, code_hi */
};

struct thinner {
	const struct pcset *pcs;
	struct strbuf *out;
	struct run run;
	uint64_t last;		/* address of the latest line */
	bool in_order;		/* all lines so far were in order of address */
	bool hidden;		/* all addresses are 0 */
	bool done;		/* no later line can be needed */
};

static void keep_at(struct thinner *t, const char *from, uint64_t addr)
{
	const struct run *r = &t->run;
	size_t len = (size_t)(r->end - from), pos = 0;
	struct kline l;

	while (next_line(from, len, &pos, &l) && l.addr == addr)
		strbuf_add(t->out, l.text, l.len);
}

static void end_run(struct thinner *t)
{
	const struct run *r = &t->run;

	if (!r->any)
		return;
	if (!r->ascending) {
		strbuf_add(t->out, r->text, (size_t)(r->end - r->text));
	} else {
		/* Keeps each address once, in order. */
		keep_at(t, r->text, r->lo);
		if (r->any_code && r->code_lo != r->lo && r->code_lo != r->hi)
			keep_at(t, r->code_text, r->code_lo);
		if (r->any_code && r->code_hi != r->code_lo && r->code_hi != r->hi)
			keep_at(t, r->code_hi_text, r->code_hi);
		if (r->hi != r->lo)
			keep_at(t, r->hi_text, r->hi);
	}
	/* Further core symbols are higher, and all others lie above them. */
	if (t->in_order && r->i == t->pcs->n && r->any_code && r->hi > r->code_lo)
		t->done = true;
	t->run.any = false;
}

static void begin_run(struct thinner *t, const struct kline *l)
{
	t->run = (struct run){
		.i = pcset_from(t->pcs, l->addr), .any = true, .ascending = true,
		.lo = l->addr, .hi = l->addr, .text = l->text, .hi_text = l->text,
	};
}

static bool same_run(const struct thinner *t, uint64_t addr)
{
	const struct pcset *pcs = t->pcs;
	const size_t i = t->run.i;

	return t->run.any && (!i || addr > pcs->v[i - 1]) && (i == pcs->n || addr <= pcs->v[i]);
}

static void add_line(struct thinner *t, const struct kline *l)
{
	struct run *r = &t->run;

	if (!same_run(t, l->addr)) {
		end_run(t);
		begin_run(t, l);
	}
	if (l->addr < r->hi) {
		r->ascending = false;
	} else if (l->addr > r->hi) {
		r->hi = l->addr;
		r->hi_text = l->text;
	}
	if (l->code && (!r->any_code || l->addr != r->code_hi)) {
		if (!r->any_code) {
			r->code_lo = l->addr;
			r->code_text = l->text;
		}
		r->any_code = true;
		r->code_hi = l->addr;
		r->code_hi_text = l->text;
	}
	r->end = l->text + l->len;
}

/* @text consists of whole lines. */
static void thin_out(struct thinner *t, const char *text, size_t len)
{
	struct kline l;
	size_t pos = 0;

	while (!t->done && next_line(text, len, &pos, &l)) {
		t->hidden = t->hidden && !l.addr;
		t->in_order = t->in_order && l.addr >= t->last;
		t->last = l.addr;
		add_line(t, &l);
	}
	end_run(t);
}

static int kept = -1;

/* O_RDONLY fd, or negative errno. */
static int open_kallsyms(void)
{
	char *path = xasprintf("%s/kallsyms", nsopen_proc());
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	fd = fd < 0 ? -errno : fd;
	free(path);
	return fd;
}

void capture_kallsyms_keep(void)
{
	if (kept < 0)
		kept = open_kallsyms();
}

/* Any number of readers, one after the other: the kernel keeps one position in the list of symbols. */
static pthread_mutex_t reading = PTHREAD_MUTEX_INITIALIZER;

static int read_kallsyms(struct thinner *t)
{
	int fd = kept >= 0 ? kept : open_kallsyms(), ret = 0;
	size_t n = 0, whole;
	off_t at = 0;
	ssize_t got;
	char *buf, *nl;

	if (fd < 0)
		return fd;
	buf = xmalloc(READ_SIZE);
	pthread_mutex_lock(&reading);
	while (!t->done) {
		got = pread(fd, buf + n, READ_SIZE - n, at);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			ret = got ? -errno : 0;
			break;
		}
		n += (size_t)got;
		at += got;
		/* The kernel returns about a page per read; more lines make longer runs. */
		if (n < READ_SIZE / 2)
			continue;
		nl = memrchr(buf, '\n', n);
		whole = nl ? (size_t)(nl - buf) + 1 : n;
		thin_out(t, buf, whole);
		memmove(buf, buf + whole, n - whole);
		n -= whole;
		if (t->out->len > KEPT_MAX) {
			ret = -EFBIG;
			break;
		}
	}
	if (!ret && !t->done)
		thin_out(t, buf, n);
	pthread_mutex_unlock(&reading);
	free(buf);
	if (fd != kept)
		close(fd);
	return ret;
}

int capture_kallsyms(const uint64_t *addrs, size_t n, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;
	struct thinner t = { .out = &text, .in_order = true, .hidden = true };
	struct search s;
	struct kline line;
	size_t pos;
	int err;

	search_init(&s, addrs, n);
	t.pcs = &s.pcs;
	err = read_kallsyms(&t);
	for (pos = 0; !err && next_line(text.s, text.len, &pos, &line);)
		measure(&s, &line);
	spread(&s);
	for (pos = 0; !err && !t.hidden && next_line(text.s, text.len, &pos, &line);) {
		if (wanted(&s, &line))
			strbuf_add(out, line.text, line.len);
	}
	pcset_fini(&s.pcs);
	free(s.at);
	strbuf_fini(&text);
	if (!err && t.hidden)
		err = -EPERM;
	return err;
}
