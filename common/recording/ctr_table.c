#include "recording/ctr_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"

#define ID_LEN 64	/* hexadecimal digits of a sha256 */
#define ID_SHOWN 12	/* as in docker ps */

/* Counters of one cgroup as read. */
struct life {
	uint64_t node;		/* ev_container.node */
	bool have_usage, have_throttling;
	uint64_t usage_us, nr_periods, nr_throttled, throttled_us;	/* of the first reading */
};

struct ctr_table {
	struct ctr *row;	/* owned */
	struct life *life;	/* owned; the current life of each row */
	size_t n, cap;		/* of both */
	struct intern *strings;
	struct u64map by_path;	/* interned path -> index of the latest row there */
	struct u64map by_label;	/* interned name -> index of the row with that label */
	struct u64map throttled;	/* set of interned paths */
};

struct ctr_table *ctr_table_new(void)
{
	struct ctr_table *t = xcalloc(1, sizeof(*t));

	t->strings = intern_new();
	return t;
}

void ctr_table_free(struct ctr_table *t)
{
	if (!t)
		return;
	intern_free(t->strings);
	u64map_fini(&t->by_path);
	u64map_fini(&t->by_label);
	u64map_fini(&t->throttled);
	free(t->row);
	free(t->life);
	free(t);
}

static const char *keep(struct ctr_table *t, const char *s)
{
	return intern_str(t->strings, intern_add(t->strings, s));
}

static void add_short_id(struct strbuf *sb, const char *id)
{
	size_t len = strlen(id);

	strbuf_add(sb, id, len == ID_LEN && strspn(id, "0123456789abcdef") == len ? ID_SHOWN : len);
}

/*
 * The label, unless another container has the same. If the id is its only name, the id is
 * shortened.
 */
static void plain_label(const struct ctr *c, struct strbuf *sb)
{
	if (c->pod[0])
		strbuf_addf(sb, "%s/%s/", c->pod_ns[0] ? c->pod_ns : "?", c->pod);
	if (c->name[0] && strcmp(c->name, c->id))
		strbuf_adds(sb, c->name);
	else if (c->id[0])
		add_short_id(sb, c->id);
	else if (c->runtime[0])
		strbuf_adds(sb, c->cgroup);
}

static void find_label(struct ctr_table *t, size_t at)
{
	struct ctr *c = &t->row[at];
	struct strbuf sb = STRBUF_INIT;
	uint64_t *slot;
	bool is_new;

	plain_label(c, &sb);
	if (sb.len) {
		slot = u64map_put(&t->by_label, intern_add(t->strings, sb.s), &is_new);
		/*
		 * A restart keeps the name, and after its end another runtime's container may take
		 * it over.
		 */
		if (!is_new && !t->row[*slot].gone && strcmp(t->row[*slot].runtime, c->runtime)) {
			strbuf_addc(&sb, ':');
			add_short_id(&sb, c->id);
		} else {
			*slot = at;
		}
	}
	c->label = keep(t, sb.s ? sb.s : "");
	strbuf_fini(&sb);
}

static void describe(struct ctr_table *t, struct ctr *c, const struct ev_container *ev)
{
	c->runtime = keep(t, ev->runtime);
	c->id = keep(t, ev->id);
	c->name = keep(t, ev->name);
	c->image = keep(t, ev->image);
	c->pod = keep(t, ev->pod);
	c->pod_ns = keep(t, ev->pod_ns);
	c->pod_uid = keep(t, ev->pod_uid);
	find_label(t, (size_t)(c - t->row));
}

/*
 * The recorder knew cgroup @c before its container. Version 0.1.0 then starts the counters from
 * zero again.
 */
static void name_row(struct ctr_table *t, struct ctr *c, const struct ev_container *ev)
{
	struct life *l = &t->life[c - t->row];

	if (ev->have_usage && ev->usage_us < l->usage_us) {
		*l = (struct life){ .node = l->node };
		c->usage_us = c->nr_periods = c->nr_throttled = c->throttled_us = 0;
	}
	describe(t, c, ev);
}

static struct ctr *add_row(struct ctr_table *t, uint32_t path, const struct ev_container *ev)
{
	struct ctr *c;

	XGROW(t->row, t->n, t->cap);
	t->life = xrealloc(t->life, t->cap * sizeof(*t->life));
	t->life[t->n] = (struct life){ .node = ev->node };
	c = &t->row[t->n];
	*c = (struct ctr){ .cgroup = intern_str(t->strings, path) };
	*u64map_put(&t->by_path, path, NULL) = t->n;
	t->n++;
	describe(t, c, ev);
	return c;
}

/* The counters of a cgroup only grow. A new cgroup at the same path starts at 0. */
static void add_usage(struct ctr *c, struct life *l, const struct ev_container *ev)
{
	if (!ev->have_usage)
		return;
	if (l->have_usage && ev->usage_us >= l->usage_us)
		c->usage_us += ev->usage_us - l->usage_us;
	l->usage_us = ev->usage_us;
	l->have_usage = c->have_usage = true;
}

static void add_throttling(struct ctr *c, struct life *l, const struct ev_container *ev)
{
	if (!ev->have_throttling)
		return;
	if (l->have_throttling && ev->nr_periods >= l->nr_periods &&
	    ev->nr_throttled >= l->nr_throttled && ev->throttled_us >= l->throttled_us) {
		c->nr_periods += ev->nr_periods - l->nr_periods;
		c->nr_throttled += ev->nr_throttled - l->nr_throttled;
		c->throttled_us += ev->throttled_us - l->throttled_us;
	}
	l->nr_periods = ev->nr_periods;
	l->nr_throttled = ev->nr_throttled;
	l->throttled_us = ev->throttled_us;
	l->have_throttling = c->have_throttling = true;
}

static void set_limit(struct ctr *c, const struct ev_container *ev)
{
	if (c->quota_us && (ev->quota_us != c->quota_us || ev->period_us != c->period_us)) {
		c->old_quota_us = c->quota_us;
		c->old_period_us = c->period_us;
	}
	c->quota_us = ev->quota_us;
	c->period_us = ev->period_us;
}

void ctr_table_add(struct ctr_table *t, const struct ev_container *ev)
{
	uint32_t path = intern_add(t->strings, ev->cgroup);
	uint64_t *slot = u64map_get(&t->by_path, path);
	struct ctr *c = slot ? &t->row[*slot] : NULL;
	struct life *l;

	if (!c || strcmp(c->id, ev->id)) {
		if (c && !ctr_is_container(c) && ev->node && t->life[c - t->row].node == ev->node)
			name_row(t, c, ev);
		else
			c = add_row(t, path, ev);
	}
	l = &t->life[c - t->row];
	if (l->node != ev->node)
		*l = (struct life){ .node = ev->node };
	c->gone = ev->gone;
	set_limit(c, ev);
	add_usage(c, l, ev);
	add_throttling(c, l, ev);
	if (c->nr_throttled || c->throttled_us)
		u64map_put(&t->throttled, path, NULL);
}

const struct ctr *ctr_table_of(const struct ctr_table *t, const char *path)
{
	const struct ctr *cgroup = NULL;
	size_t len = strlen(path);

	for (const size_t all = len; len; len--) {
		const uint64_t *slot;

		if (len < all && path[len] != '/')
			continue;
		slot = u64map_get(&t->by_path, intern_addn(t->strings, path, len));
		if (slot && ctr_is_container(&t->row[*slot]))
			return &t->row[*slot];
		if (slot && len == all)
			cgroup = &t->row[*slot];
	}
	return cgroup;
}

bool ctr_table_throttled(const struct ctr_table *t, const char *path)
{
	const size_t all = strlen(path);

	for (size_t len = all; len; len--) {
		if ((len == all || path[len] == '/') && u64map_get(&t->throttled, intern_addn(t->strings, path, len)))
			return true;
	}
	return false;
}

const struct ctr *ctr_table_all(const struct ctr_table *t, size_t *n)
{
	*n = t->n;
	return t->row;
}

/* ---- text ---- */

void ctr_name_text(const struct ctr *c, struct strbuf *out)
{
	bool is = ctr_is_container(c);

	strbuf_adds(out, is ? "container " : "cgroup '");
	escape_name(out, is ? c->label : c->cgroup);
	if (!is) {
		strbuf_addc(out, '\'');
	} else if (c->runtime[0]) {
		strbuf_adds(out, " (");
		escape_name(out, c->runtime);
		strbuf_addc(out, ')');
	}
}

static double cpus(uint64_t quota_us, uint64_t period_us)
{
	return period_us ? (double)quota_us / (double)period_us : 0;
}

void ctr_limit_text(const struct ctr *c, struct strbuf *out)
{
	const double now = cpus(c->quota_us, c->period_us), old = cpus(c->old_quota_us, c->old_period_us);

	if (old > 0 && now > 0 && old != now)
		strbuf_addf(out, "limit %.2f CPUs, then %.2f", old, now);
	else if (now > 0)
		strbuf_addf(out, "limit %.2f CPUs", now);
	else if (old > 0)
		strbuf_addf(out, "limit %.2f CPUs, then none", old);
}

void ctr_throttle_text(const struct ctr *c, struct strbuf *out)
{
	double s = (double)c->throttled_us / 1e6;

	if (c->nr_throttled)
		strbuf_addf(out, "throttled in %" PRIu64 " of %" PRIu64 " period%s, %.*f s",
			    c->nr_throttled, c->nr_periods, plural(c->nr_periods), s < 1 ? 3 : 1, s);
}

void ctr_throttle_line(const struct ctr *c, struct strbuf *out)
{
	if (!c->nr_throttled)
		return;
	ctr_name_text(c, out);
	strbuf_adds(out, ": ");
	ctr_throttle_text(c, out);
	if (c->quota_us || c->old_quota_us)
		strbuf_adds(out, ", ");
	ctr_limit_text(c, out);
}
