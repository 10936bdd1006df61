#include "containers/cgroup_units.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/clock.h"

void cgroup_units_init(struct cgroup_units *us, const struct cgroup_fs *fs, struct rec_writer *w)
{
	*us = (struct cgroup_units){ .w = w, .segment = 1 };
	cgroup_cpu_open(&us->cpu, fs);
}

static void free_strings(const struct ev_container *ev)
{
	const char *const strings[] = { ev->cgroup, ev->runtime, ev->id, ev->name, ev->image,
					ev->pod, ev->pod_ns, ev->pod_uid };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free((char *)strings[i]);
}

static void unit_free(struct cgroup_unit *u)
{
	free_strings(&u->ev);
	cgroup_cpu_at_fini(&u->at);
	free(u);
}

void cgroup_units_fini(struct cgroup_units *us)
{
	for (size_t i = 0; i < us->n; i++)
		unit_free(us->v[i]);
	free(us->v);
	u64map_fini(&us->by_path);
	u64map_fini(&us->born);
	cgroup_cpu_close(&us->cpu);
}

struct cgroup_unit *cgroup_units_find(const struct cgroup_units *us, const char *path, size_t len)
{
	const uint64_t *slot = u64map_get(&us->by_path, hash_bytes(path, len));
	struct cgroup_unit *u = slot ? us->v[*slot] : NULL;

	return u && !strncmp(u->ev.cgroup, path, len) && !u->ev.cgroup[len] ? u : NULL;
}

static void look(struct cgroup_units *us, struct cgroup_unit *u, bool limit)
{
	u->read_at = clock_mono_ns();
	if (!u->ev.gone && cgroup_cpu_read(&us->cpu, &u->at, limit, &u->r))
		u->ev.gone = true;
}

/* The next write reports an error of the writer, too. */
static void put(struct cgroup_units *us, const struct cgroup_unit *u, const struct cpu_reading *r, uint64_t at,
		bool from_zero)
{
	struct ev_container ev = u->ev;

	ev.time = at ? at : clock_mono_ns();
	ev.have_usage = r->have_usage;
	ev.have_throttling = r->have_throttling;
	ev.quota_us = r->quota_us;
	ev.period_us = r->period_us;
	if (!from_zero) {
		ev.usage_us = r->usage_us;
		ev.nr_periods = r->nr_periods;
		ev.nr_throttled = r->nr_throttled;
		ev.throttled_us = r->throttled_us;
	}
	rec_writer_container(us->w, &ev);
}

/* Without a limit there are no periods (kernel/sched/fair.c), so periods show that there was one. */
static bool had_limit(const struct cpu_reading *r)
{
	return r->quota_us || r->nr_periods;
}

void cgroup_units_look_first(struct cgroup_units *us, struct cgroup_unit *u)
{
	const bool first = !u->r.have_usage;

	look(us, u, true);
	if (first && !u64map_get(&us->born, u->ev.node))
		u->first_us = u->r.usage_us;
	u->unwritten &= !had_limit(&u->r);
}

bool cgroup_units_look(struct cgroup_units *us, struct cgroup_unit *u)
{
	struct cpu_reading was = u->r;
	const uint64_t was_at = u->read_at;

	look(us, u, was.quota_us);
	if (!was.quota_us && u->r.nr_periods != was.nr_periods)
		look(us, u, true);
	if (u->unwritten && !had_limit(&u->r)) {
		u->r = was;
		u->read_at = was_at;
		return false;
	}
	/*
	 * Version 2 counts periods only while the cpu controller is on. It may be turned on for the
	 * sake of the limit, and then counts from 0.
	 */
	if (u->unwritten || (was.have_usage && !was.have_throttling && u->r.have_throttling)) {
		was.have_throttling = u->r.have_throttling;
		put(us, u, &was, was_at, u64map_get(&us->born, u->ev.node));
	}
	if (!u->unwritten && u->r.quota_us == was.quota_us && u->r.period_us == was.period_us)
		return false;
	u->unwritten = false;
	return true;
}

void cgroup_units_put(struct cgroup_units *us, const struct cgroup_unit *u, bool from_zero)
{
	put(us, u, &u->r, u->read_at, from_zero);
}

/* @ctr: NULL = not a container. */
static void describe(struct ev_container *ev, const char *own, const struct container *ctr)
{
	struct strbuf name = STRBUF_INIT;

	if (ctr && ctr->together[0])
		pr_warn("the containers %s share the cgroup '%s': its samples may be of any of them and are reported under all their names; "
			"give each container its own cgroup to tell them apart",
			ctr->together, own);
	ev->cgroup = xstrdup(own);
	ev->runtime = xstrdup(ctr ? ctr->runtime : "");
	ev->id = xstrdup(ctr ? ctr->id : "");
	if (ctr && !ctr->together[0])
		strbuf_addf(&name, "%s%s", ctr->name, ctr->apart);
	ev->name = xstrdup(!ctr ? "" : ctr->together[0] ? ctr->together : name.s);
	strbuf_fini(&name);
	ev->image = xstrdup(ctr ? ctr->image : "");
	ev->pod = xstrdup(ctr ? ctr->pod : "");
	ev->pod_ns = xstrdup(ctr ? ctr->pod_ns : "");
	ev->pod_uid = xstrdup(ctr ? ctr->pod_uid : "");
}

struct cgroup_unit *cgroup_units_add(struct cgroup_units *us, const char *own, const struct container *ctr, uint64_t node)
{
	struct cgroup_unit *u = xcalloc(1, sizeof(*u));

	describe(&u->ev, own, ctr);
	u->unnamed = ctr && ctr->unnamed;
	u->ev.node = node;
	XGROW(us->v, us->n, us->cap);
	*u64map_put(&us->by_path, hash_bytes(own, strlen(own)), NULL) = us->n;
	us->v[us->n++] = u;
	return u;
}

void cgroup_unit_name(struct cgroup_unit *u, const struct container *ctr)
{
	const struct ev_container old = u->ev;

	describe(&u->ev, ctr->cgroup, ctr);
	u->unnamed = ctr->unnamed;
	free_strings(&old);
}

static void add_used(struct facts_used *used, const struct cgroup_unit *u)
{
	if (!u->chosen || u->unwritten || !u->r.have_usage)
		return;
	used->us += u->r.usage_us - u->first_us;
	used->until = MAX(used->until, u->read_at);
}

struct facts_used cgroup_units_used(const struct cgroup_units *us)
{
	struct facts_used used = us->past;

	for (size_t i = 0; i < us->n; i++)
		add_used(&used, us->v[i]);
	return used;
}

void cgroup_units_drop(struct cgroup_units *us, size_t i)
{
	struct cgroup_unit *u = us->v[i], *moved = us->v[us->n - 1];
	const uint64_t hash = hash_bytes(u->ev.cgroup, strlen(u->ev.cgroup));
	uint64_t *slot = u64map_get(&us->by_path, hash);

	if (u->segment == us->segment && u->read_at && !u->unwritten)
		cgroup_units_put(us, u, false);
	add_used(&us->past, u);
	/* Another cgroup may have its path by now. */
	if (slot && *slot == i)
		u64map_del(&us->by_path, hash);
	u64map_del(&us->born, u->ev.node);
	unit_free(u);
	us->v[i] = moved;
	if (--us->n == i)
		return;
	slot = u64map_get(&us->by_path, hash_bytes(moved->ev.cgroup, strlen(moved->ev.cgroup)));
	if (slot && *slot == us->n)
		*slot = i;
}

void cgroup_units_cut(struct cgroup_units *us)
{
	size_t kept = 0;

	u64map_clear(&us->by_path);
	u64map_clear(&us->born);
	for (size_t i = 0; i < us->n; i++) {
		struct cgroup_unit *u = us->v[i];

		if (u->segment != us->segment || u->ev.gone) {
			add_used(&us->past, u);
			unit_free(u);
			continue;
		}
		u->soon = u->late = false;
		*u64map_put(&us->by_path, hash_bytes(u->ev.cgroup, strlen(u->ev.cgroup)), NULL) = kept;
		us->v[kept++] = u;
	}
	us->n = kept;
	us->segment++;
}
