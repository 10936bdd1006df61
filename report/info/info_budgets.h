/* What tenants' budgets left out of a recording, for `nsprof info`. */
#ifndef NSPROF_INFO_BUDGETS_H
#define NSPROF_INFO_BUDGETS_H

#include <stddef.h>
#include <stdio.h>

#include "bytes/json.h"
#include "event.h"
#include "recording/ctr_table.h"

struct info_budgets {
	struct ev_budget *v;	/* owned, with their paths; one for each tenant and kind */
	size_t n, cap;
};

void info_budgets_add(struct info_budgets *ib, const struct ev_budget *ev);
void info_budgets_fini(struct info_budgets *ib);

/* @ctrs knows the names of containers. */
void info_budgets_text(const struct info_budgets *ib, const struct ctr_table *ctrs, FILE *to);
/* Writes "budgets" into the open object. */
void info_budgets_json(const struct info_budgets *ib, const struct ctr_table *ctrs, struct json *j);

#endif
