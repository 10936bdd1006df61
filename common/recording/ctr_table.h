/*
 * The containers and other cgroups of a recording, gathered from its ev_container: their names in
 * output, and what their CPU limit did to them while they were recorded.
 */
#ifndef NSPROF_CTR_TABLE_H
#define NSPROF_CTR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event.h"

/* The table owns the strings; "" when unknown. */
struct ctr {
	const char *cgroup;	/* its own; see ev_container */
	const char *runtime, *id, *name, *image, *pod, *pod_ns, *pod_uid;
	/*
	 * Name in output: "shop/web-0/nginx" in Kubernetes, else its name, else its id prefix; ""
	 * when it is not a container. If containers of different runtimes have the same name at the
	 * same time, all but the first one seen get ":" and the id prefix appended. A label never
	 * changes.
	 */
	const char *label;
	bool gone;		/* its cgroup was removed and did not come back */
	uint64_t quota_us, period_us;	/* the latest limit; quota 0: no known limit */
	uint64_t old_quota_us, old_period_us;	/* the one before; quota 0: none is known */
	/* Within the recording, sum over all its lives; 0 unless they could be read. */
	bool have_usage, have_throttling;
	uint64_t usage_us, nr_periods, nr_throttled, throttled_us;
};

struct ctr_table *ctr_table_new(void);
void ctr_table_free(struct ctr_table *t);

/* Call it in the order of the recording. */
void ctr_table_add(struct ctr_table *t, const struct ev_container *ev);

/*
 * The innermost container that is at @path (relative to the hierarchy's root) or contains it.
 * Outside of containers, the cgroup of exactly that path. NULL when the recording does not know it.
 * Valid until the next ctr_table_add().
 */
const struct ctr *ctr_table_of(const struct ctr_table *t, const char *path);

/*
 * Did a CPU limit throttle the cgroup at @path, or one that contains it, within the recording? By
 * the events so far; false if they have no counters.
 */
bool ctr_table_throttled(const struct ctr_table *t, const char *path);

/* All, in the order in which they were first seen. Valid as above. */
const struct ctr *ctr_table_all(const struct ctr_table *t, size_t *n);

/* Is it a container, not only a cgroup? */
static inline bool ctr_is_container(const struct ctr *c)
{
	return c->label[0] != '\0';
}

/* "container web (docker)", "cgroup '/a.slice'". */
void ctr_name_text(const struct ctr *c, struct strbuf *out);
/*
 * "limit 0.50 CPUs"; "limit 0.50 CPUs, then 0.10", "limit 0.50 CPUs, then none" if it changed. Nothing
 * when no limit is known.
 */
void ctr_limit_text(const struct ctr *c, struct strbuf *out);
/* "throttled in 74 of 507 periods, 3.8 s"; nothing if it never was. */
void ctr_throttle_text(const struct ctr *c, struct strbuf *out);
/*
 * All three as one line, without newline, to warn readers of its profile. Nothing if never
 * throttled.
 */
void ctr_throttle_line(const struct ctr *c, struct strbuf *out);

#endif
