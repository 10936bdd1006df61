/*
 * Who makes the recorder work, and how much of it each of them may take (contrib/doc/budgets.md). A
 * tenant is a container, or outside of containers a user in a cgroup. What a tenant may hold is a
 * part of its own and a fair share of a pool. So one that takes all it can get leaves the others
 * what they need, and all of them together stay bounded.
 */
#ifndef NSPROF_TENANTS_H
#define NSPROF_TENANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "event.h"

/* What is held for a tenant until it is given back. */
enum tenant_hold {
	HOLD_PATHS,	/* bytes of paths */
	HOLD_FILES,	/* binaries */
	HOLD_MAPS,	/* mappings */
	HOLD_ADDRS,	/* addresses seen */
	TENANT_HOLDS,
};

/* What is left of a budget that comes back with time and with samples. */
struct tenant_rate {
	int64_t left;		/* bytes or ns; below 0: used in advance */
	int64_t least;		/* that was ever left */
	uint64_t time;		/* ns, of the latest refill */
};

struct tenant {
	uint32_t index;		/* in the table */
	char *cgroup;		/* owned; folded, see tenants_of(); "" = unknown */
	bool fixed;		/* a container: its processes cannot leave it by themselves */
	bool by_user;		/* only the processes of @uid there */
	uint32_t uid;
	uint64_t held[TENANT_HOLDS], most[TENANT_HOLDS];	/* now, and at any time */
	uint32_t dead;		/* processes that have ended and are still kept */
	struct tenant_rate bytes;	/* of side-band in the recording */
	struct tenant_rate paths;	/* bytes of paths that were new */
	struct tenant_rate ns;		/* of the drain's time in /proc and in files */
	struct tenant_rate rows;	/* ns, of the time for rows of binaries */
	/* By enum budget_kind: in this segment, and in those before. */
	uint64_t left_out[BUDGET_KINDS], past[BUDGET_KINDS];
};

struct tenants {
	struct tenant **v;	/* owned */
	size_t n, cap;
	struct u64map by_key;	/* hash of cgroup and user to index + 1 */
	struct u64map children;	/* hash of a cgroup to the number of tenants below it */
	uint64_t nobody[TENANT_HOLDS];	/* held without a tenant, as by an import */
	uint64_t pool[TENANT_HOLDS];	/* what they hold beyond their own parts */
	size_t heavy[TENANT_HOLDS];	/* tenants with a part of that */
};

void tenants_init(struct tenants *ts);
void tenants_fini(struct tenants *ts);

/*
 * The tenant of a process of user @uid in @cgroup, a path of /proc/PID/cgroup. Inside of containers
 * the outermost one counts: what a tenant can make there belongs to it. Borrowed until tenants_fini().
 */
struct tenant *tenants_of(struct tenants *ts, const char *cgroup, uint32_t uid);

/* A number that tells @t from others, for opener_for(): its new cgroups and processes have the same. */
uint64_t tenant_account(const struct tenant *t);

/* May @t hold @n more? Then it does. NULL: no tenant, with wide limits; has all rates, below. */
bool tenants_take(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n);
/* It holds @n more, or less, whatever it may. */
void tenants_add(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n);
void tenants_give(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n);
/* Nobody holds any of it any more. */
void tenants_clear(struct tenants *ts, enum tenant_hold what);

/* A sample of @t came: a recording with more samples may have more of the rest. */
void tenant_sampled(struct tenant *t);
/* May it write side-band at @time? @n bytes were written. */
bool tenant_may_write(struct tenant *t, uint64_t time);
void tenant_wrote(struct tenant *t, uint64_t n);
/* May it have a new path that counts for @n bytes, at @time? Then it has. */
bool tenant_may_name(struct tenant *t, uint64_t n, uint64_t time);
/* May the drain spend time on it at @time? It spent @ns. */
bool tenant_has_time(struct tenant *t, uint64_t time);
/* Has it used much more than it may? Then even what cannot be put off is left out. */
bool tenant_in_debt(struct tenant *t, uint64_t time);
void tenant_spent(struct tenant *t, uint64_t ns);
/* May rows of one of its binaries be captured at @time? That took @ns. */
bool tenant_may_capture(struct tenant *t, uint64_t time);
void tenant_captured(struct tenant *t, uint64_t ns);

/* @n of @kind were left out. */
void tenant_left_out(struct tenant *t, enum budget_kind kind, uint64_t n);
/*
 * Fills @ev, but for its time, with what was left out of @kind: in this segment, or with @all in
 * the whole run. Its path is borrowed. False: nothing was.
 */
bool tenants_left_out(const struct tenant *t, enum budget_kind kind, bool all, struct ev_budget *ev);
/*
 * Appends how much of its budgets @t has used at most, in percent of what it has whatever others do:
 * "paths 12 %, ...". False: less than @percent of each.
 */
bool tenants_used(const struct tenant *t, unsigned int percent, struct strbuf *out);
/* A new segment begins. */
void tenants_cut(struct tenants *ts);

#endif
