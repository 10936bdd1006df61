/* The closing lines about tenants that used up their budgets. */
#ifndef NSPROF_BUDGET_SUMMARY_H
#define NSPROF_BUDGET_SUMMARY_H

struct cgroup_facts;
struct proctab;

/* Warns once for each of the first few tenants. @facts knows names of containers; NULL: nobody does. */
void budget_summary_print(const struct proctab *pt, const struct cgroup_facts *facts);

#endif
