#include "run/unanswered.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/opener_loss.h"

/* Lines; the rest is one more. */
#define LINES_MAX 8

struct line {
	char *who, *what;	/* owned; what: the first of them */
	uint64_t n;
};

struct lines {
	struct line v[LINES_MAX];
	size_t n;
	uint64_t more;
};

static void add(void *ctx, const struct opener_miss *m)
{
	struct lines *l = ctx;
	size_t i = 0;

	pr_verbose("%s: '%s' in cgroup '%s', asked %" PRIu64 " time%s", m->hangs ? "no answer" : "no answer in time", m->what, m->who,
		   m->tries, plural(m->tries));
	if (!m->hangs)
		return;
	while (i < l->n && strcmp(l->v[i].who, m->who) != 0)
		i++;
	if (i == LINES_MAX) {
		l->more++;
		return;
	}
	if (i == l->n)
		l->v[l->n++] = (struct line){ xstrdup(m->who), xstrdup(m->what), 0 };
	l->v[i].n++;
}

static void tell(const struct line *l)
{
	char more[32] = "";

	if (l->n > 1)
		snprintf(more, sizeof(more), " and %" PRIu64 " more", l->n - 1);
	if (l->who[0])
		pr_warn("'%s'%s in cgroup '%s' could not be read: the file system or process does not answer; names from there may be missing",
			l->what, more, l->who);
	else
		pr_warn("'%s'%s could not be read: the file system or process does not answer; names from there may be missing",
			l->what, more);
}

void unanswered_tell(void)
{
	struct lines l = { .n = 0 };
	uint64_t more = opener_misses(add, &l);

	for (size_t i = 0; i < l.n; i++) {
		tell(&l.v[i]);
		free(l.v[i].who);
		free(l.v[i].what);
	}
	more += l.more;
	if (more)
		pr_warn("%" PRIu64 " more file%s of others could not be read: their file systems or processes do not answer", more,
			plural(more));
}
