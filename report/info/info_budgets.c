#include "info/info_budgets.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "recording/budget_text.h"

#define SHOWN 20	/* rows in text; JSON has all */

void info_budgets_add(struct info_budgets *ib, const struct ev_budget *ev)
{
	/* Each segment has its own counts. */
	for (size_t i = 0; i < ib->n; i++) {
		struct ev_budget *b = &ib->v[i];

		if (b->kind == ev->kind && b->by_user == ev->by_user && b->uid == ev->uid && !strcmp(b->cgroup, ev->cgroup)) {
			b->count += ev->count;
			return;
		}
	}
	XGROW(ib->v, ib->n, ib->cap);
	ib->v[ib->n] = *ev;
	ib->v[ib->n++].cgroup = xstrdup(ev->cgroup);
}

void info_budgets_fini(struct info_budgets *ib)
{
	for (size_t i = 0; i < ib->n; i++)
		free((char *)(uintptr_t)ib->v[i].cgroup);
	free(ib->v);
}

static const char *container_of(const struct ctr_table *ctrs, const struct ev_budget *b)
{
	const struct ctr *c = ctr_table_of(ctrs, b->cgroup);

	return c ? c->label : "";
}

void info_budgets_text(const struct info_budgets *ib, const struct ctr_table *ctrs, FILE *to)
{
	for (size_t i = 0; i < ib->n && i < SHOWN; i++) {
		const struct ev_budget *b = &ib->v[i];
		struct strbuf line = STRBUF_INIT;

		if (!i)
			fputs("\nbudgets: left out because a tenant had used up its own; others lost nothing by it\n", to);
		budget_text_who(b, container_of(ctrs, b), &line);
		strbuf_adds(&line, ": ");
		budget_text_what(b, &line);
		fprintf(to, "%12s  %s\n", "", line.s);
		strbuf_fini(&line);
	}
	if (ib->n > SHOWN)
		fprintf(to, "%12s  and %zu more: see --json\n", "", ib->n - SHOWN);
}

void info_budgets_json(const struct info_budgets *ib, const struct ctr_table *ctrs, struct json *j)
{
	json_begin_array(j, "budgets");
	for (size_t i = 0; i < ib->n; i++) {
		const struct ev_budget *b = &ib->v[i];
		const char *key = budget_text_key(b->kind);

		json_begin_object(j, NULL);
		json_name(j, "cgroup", b->cgroup);
		json_name(j, "container", container_of(ctrs, b));
		if (b->by_user)
			json_u64(j, "uid", b->uid);
		json_str(j, "what", key ? key : "unknown");
		json_u64(j, "count", b->count);
		json_end_object(j);
	}
	json_end_array(j);
}
