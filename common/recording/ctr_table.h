/*
 * What a recording says of containers and other cgroups, gathered from its ev_container: who they are, how they
 * are called in output, and what their CPU limit did to them while they were recorded.
 */
#ifndef NSPROF_CTR_TABLE_H
#define NSPROF_CTR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event.h"

/* Strings are the table's, and "" when unknown. */
struct ctr {
	const char *cgroup;	/* its own; see ev_container */
	const char *runtime, *id, *name, *image, *pod, *pod_ns, *pod_uid;
	/*
	 * What people call it: "shop/web-0/nginx" in Kubernetes, else its name, else the beginning of its id; "" for
	 * what is no container. Of those of one name that live at the same time under different runtimes, all but
	 * the first to be seen have ":" and the beginning of the id behind it. Once there is one, it never changes.
	 */
	const char *label;
	bool gone;		/* its cgroup was removed and did not come again */
	uint64_t quota_us, period_us;	/* the latest limit; quota 0: none is known */
	/* Within the recording, over all its lives; 0 unless they could be read. */
	bool have_usage, have_throttling;
	uint64_t usage_us, nr_periods, nr_throttled, throttled_us;
};

struct ctr_table *ctr_table_new(void);
void ctr_table_free(struct ctr_table *t);

/* In the order of the recording. */
void ctr_table_add(struct ctr_table *t, const struct ev_container *ev);

/*
 * The container that @path, below the hierarchy, is or lies in, the innermost; where it is in none, the cgroup
 * of that very path. NULL when the recording does not know it. Valid until the next ctr_table_add().
 */
const struct ctr *ctr_table_of(const struct ctr_table *t, const char *path);

/* All, in the order in which they were seen first. Valid as above. */
const struct ctr *ctr_table_all(const struct ctr_table *t, size_t *n);

/* Is it one, or only a cgroup? */
static inline bool ctr_is_container(const struct ctr *c)
{
	return c->label[0] != '\0';
}

/* "container web (docker)", "cgroup '/a.slice'". */
void ctr_name_text(const struct ctr *c, struct strbuf *out);
/* "limit 0.50 CPUs"; nothing where no limit is known. */
void ctr_limit_text(const struct ctr *c, struct strbuf *out);
/* "throttled in 74 of 507 periods, 3.8 s"; nothing if it never was. */
void ctr_throttle_text(const struct ctr *c, struct strbuf *out);
/* All three, as a line without its end: why its profile is to be read with care. Nothing if never throttled. */
void ctr_throttle_line(const struct ctr *c, struct strbuf *out);

#endif
