#include "run/budget_summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "containers/cgroup_facts.h"
#include "procs/proctab.h"
#include "recording/budget_text.h"

/* Tenants with a line of their own. */
#define SHOWN 5

struct lines {
	const struct cgroup_facts *facts;
	struct ev_budget last;		/* of the line that is being made */
	struct strbuf what;
	size_t n;
};

static void print(struct lines *l)
{
	struct strbuf who = STRBUF_INIT;

	if (!l->what.len || ++l->n > SHOWN)
		return;
	budget_text_who(&l->last, l->facts ? cgroup_facts_name(l->facts, l->last.cgroup) : "", &who);
	pr_warn("the budget of %s is used up: %s; others lost nothing by it", who.s, l->what.s);
	strbuf_fini(&who);
}

static void take(void *ctx, const struct ev_budget *ev)
{
	struct lines *l = ctx;

	if (l->what.len && (strcmp(ev->cgroup, l->last.cgroup) || ev->by_user != l->last.by_user || ev->uid != l->last.uid)) {
		print(l);
		strbuf_reset(&l->what);
	}
	if (l->what.len)
		strbuf_adds(&l->what, ", ");
	budget_text_what(ev, &l->what);
	if (ev->kind != BUDGET_SAMPLES)
		strbuf_adds(&l->what, " left out");
	l->last = *ev;
}

void budget_summary_print(const struct proctab *pt, const struct cgroup_facts *facts)
{
	struct lines l = { .facts = facts, .what = STRBUF_INIT };

	proctab_left_out(pt, take, &l);
	print(&l);
	if (l.n > SHOWN)
		pr_warn("the budgets of %zu more are used up: see 'nsprof info'", l.n - SHOWN);
	strbuf_fini(&l.what);
}
