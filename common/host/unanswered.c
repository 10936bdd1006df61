#include "host/unanswered.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"

/* Lines in all and of one tenant. The rest share one more. */
#define LINES_MAX 16
#define TENANT_MAX 2

struct line {
	char *who, *what;	/* owned; what: the first of them */
	char *type, *point;	/* owned; NULL = unknown */
	uint64_t mount;		/* 0 = unknown */
	uint32_t pid;
	bool memory, late;	/* late: no longer asked, because its tenant answers late */
	uint64_t n;
};

struct lines {
	struct line v[LINES_MAX];
	size_t n;
	uint64_t more;
	void (*whose)(void *ctx, const struct opener_miss *m, struct strbuf *out);
	void *ctx;
};

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool belongs(const struct line *l, const struct opener_miss *m, const char *who)
{
	return !strcmp(l->who, who) && l->memory == m->mount.memory && l->late == !m->hangs && l->mount == m->mount.id && same(l->type, m->mount.type);
}

static char *copy(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

/* Counts one more in line @i, which may be new. */
static void count(struct lines *l, size_t i, const struct opener_miss *m, const char *who)
{
	if (i == l->n)
		l->v[l->n++] = (struct line){ xstrdup(who), xstrdup(m->what), copy(m->mount.type), copy(m->mount.point),
					      m->mount.id, m->pid, m->mount.memory, !m->hangs, 0 };
	l->v[i].n++;
}

static void add(void *ctx, const struct opener_miss *m)
{
	struct strbuf who = STRBUF_INIT;
	size_t i = 0, others = 0;
	struct lines *l = ctx;

	strbuf_adds(&who, "");
	if (l->whose)
		l->whose(l->ctx, m, &who);
	pr_verbose("%s: '%s'%s%s, file system %s, asked %" PRIu64 " time%s", m->hangs ? "no answer" : "no answer in time", m->what,
		   who.len ? " of " : "", who.s, m->mount.type ? m->mount.type : "unknown", m->tries, plural(m->tries));
	if (m->hangs || !m->tries) {
		for (; i < l->n && !belongs(&l->v[i], m, who.s); i++)
			others += !strcmp(l->v[i].who, who.s);
		if (i == l->n && (i == LINES_MAX || others == TENANT_MAX))
			l->more++;
		else
			count(l, i, m, who.s);
	}
	strbuf_fini(&who);
}

static void tell(const struct line *l)
{
	struct strbuf sb = STRBUF_INIT;

	if (l->memory && l->pid)
		strbuf_addf(&sb, "%s of process %" PRIu32, l->what, l->pid);
	else
		strbuf_addf(&sb, l->memory ? "%s" : "'%s'", l->what);
	if (l->n > 1)
		strbuf_addf(&sb, " and %" PRIu64 " more", l->n - 1);
	if (l->who[0])
		strbuf_addf(&sb, " of %s", l->who);
	strbuf_adds(&sb, " could not be read: ");
	if (l->late)
		strbuf_addf(&sb, "other%s answered so late that %s not asked", l->who[0] ? " files of it" : "s",
			    l->n > 1 ? "they were" : "it was");
	else if (l->memory)
		strbuf_addf(&sb, "the process%s keep%s %s memory locked", l->n > 1 ? "es" : "", l->n > 1 ? "" : "s", l->n > 1 ? "their" : "its");
	else if (l->type && l->point)
		strbuf_addf(&sb, "the file system, %s at '%s', does not answer", l->type, l->point);
	else if (l->type)
		strbuf_addf(&sb, "the file system (%s) does not answer", l->type);
	else
		strbuf_adds(&sb, "the file system or process does not answer");
	pr_warn("%s; names from there may be missing", sb.s);
	strbuf_fini(&sb);
}

void unanswered_tell(void (*whose)(void *ctx, const struct opener_miss *m, struct strbuf *out), void *ctx)
{
	struct lines l = { .whose = whose, .ctx = ctx };
	uint64_t more = opener_misses(add, &l);

	for (size_t i = 0; i < l.n; i++) {
		tell(&l.v[i]);
		free(l.v[i].who);
		free(l.v[i].what);
		free(l.v[i].type);
		free(l.v[i].point);
	}
	more += l.more;
	if (more)
		pr_warn("%" PRIu64 " more file%s of others could not be read: their file systems or processes do not answer", more,
			plural(more));
}
