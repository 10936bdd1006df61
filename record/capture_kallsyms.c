/*
 * The kernel symbols that a recording can ask for. /proc/kallsyms has no sizes: a symbol ends where
 * the next one begins, so each address brings two starts. Core symbols are sorted, those of modules
 * and BPF programs come behind them in any order. Format: Linux, kernel/kallsyms.c s_show().
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "capture.h"
#include "nsopen.h"
#include "pcset.h"
#include "util.h"
#include "xalloc.h"

/* A line has about 50 bytes: five million symbols, twenty times what kernels have. */
#define KALLSYMS_MAX (256u << 20)

struct kline {
	uint64_t addr;
	const char *text;	/* the whole line */
	size_t len;		/* bytes, newline included */
	bool code;		/* type t, T, w, W */
};

/* Nearest symbol starts around one address; 0 and UINT64_MAX = none. */
struct around {
	uint64_t pred, succ;	/* among all symbols */
	uint64_t code_pred, code_succ;
};

struct search {
	struct pcset pcs;	/* runtime addresses */
	struct around *at;	/* one for each */
};

static void search_init(struct search *s, const uint64_t *addrs, size_t n)
{
	memset(s, 0, sizeof(*s));
	pcset_init(&s->pcs, addrs, n);
	s->at = xcalloc(s->pcs.n + 1, sizeof(*s->at));
	for (size_t i = 0; i < s->pcs.n; i++)
		s->at[i].succ = s->at[i].code_succ = UINT64_MAX;
}

/* The next line at *@pos that is "hex type name"; false at the end. */
static bool next_line(const char *text, size_t len, size_t *pos, struct kline *line)
{
	while (*pos < len) {
		const char *p = text + *pos, *nl = memchr(p, '\n', len - *pos);
		size_t n = nl ? (size_t)(nl - p) + 1 : len - *pos;
		char *end;

		*pos += n;
		line->addr = strtoull(p, &end, 16);
		if (!nl || end == p || end + 3 >= nl || end[0] != ' ' || end[2] != ' ')
			continue;
		line->text = p;
		line->len = n;
		line->code = memchr("tTwW", end[1], 4) != NULL;
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

static char *read_kallsyms(size_t *len, int *err)
{
	char *path = xasprintf("%s/kallsyms", nsopen_proc()), *text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	free(path);
	if (fd < 0) {
		*err = -errno;
		return NULL;
	}
	text = nsopen_slurp(fd, KALLSYMS_MAX, len, err);
	close(fd);
	return text;
}

int capture_kallsyms(const uint64_t *addrs, size_t n, struct strbuf *out)
{
	struct search s;
	struct kline line;
	bool hidden = true;
	size_t len, pos;
	char *text;
	int err = 0;

	text = read_kallsyms(&len, &err);
	if (!text)
		return err;
	search_init(&s, addrs, n);
	for (pos = 0; next_line(text, len, &pos, &line);) {
		hidden = hidden && !line.addr;
		measure(&s, &line);
	}
	spread(&s);
	for (pos = 0; !hidden && next_line(text, len, &pos, &line);) {
		if (wanted(&s, &line))
			strbuf_add(out, line.text, line.len);
	}
	pcset_fini(&s.pcs);
	free(s.at);
	free(text);
	return hidden ? -EPERM : 0;
}
