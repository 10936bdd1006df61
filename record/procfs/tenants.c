#include "procfs/tenants.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "host/cgroup_path.h"

/*
 * What each tenant may hold whatever others hold, and the pool for those that need more. Figures
 * of real programs are in contrib/doc/budgets.md.
 */
static const struct {
	uint64_t own, pool, nobody;
} limits[TENANT_HOLDS] = {
	[HOLD_PATHS] = { 1 << 20, 4 << 20, UINT64_MAX },
	[HOLD_FILES] = { 2048, 12288, 65536 },
	[HOLD_MAPS] = { 65536, 131072, UINT64_MAX },
	[HOLD_ADDRS] = { 128 << 10, 768 << 10, 4 << 20 },
};

/* Rates: at once, in each second, and for each sample. */
struct rate {
	int64_t burst, second, sample;
};

static const struct rate byte_rate = { 2 << 20, 32 << 10, 2 << 10 };
static const struct rate path_rate = { 1 << 20, 128 << 10, 1 << 10 };
/* At once: less than the rings hold, even if several tenants begin at the same time. */
static const struct rate ns_rate = { 100000000, 50000000, 200000 };
/* On a thread of its own. A large binary takes 0.1 s. */
static const struct rate rows_rate = { 5000000000, 50000000, 100000 };

/* Tenants in all; later ones share the account of the first. */
#define TENANTS_MAX 8192
/*
 * Tenants below a cgroup that is neither a slice nor a container: whoever it was given to may make
 * more without end. Later ones share one account.
 */
#define CHILDREN_MAX 64
/* Components of the path of a cgroup of unknown shape that tell tenants apart. */
#define DEPTH_MAX 3

#define NS_PER_SEC 1000000000ull

static uint64_t key_of(const char *cgroup, size_t len, uint64_t uid)
{
	return hash_combine(hash_bytes(cgroup, len), uid);
}

/* @uid UINT64_MAX: of any user. */
static struct tenant *find(const struct tenants *ts, const char *cgroup, size_t len, uint64_t uid)
{
	const uint64_t *slot = u64map_get(&ts->by_key, key_of(cgroup, len, uid));
	struct tenant *t = slot ? ts->v[*slot - 1] : NULL;

	return t && !strncmp(t->cgroup, cgroup, len) && !t->cgroup[len] ? t : NULL;
}

static struct tenant *add(struct tenants *ts, const char *cgroup, size_t len, uint64_t uid)
{
	struct tenant *t = xcalloc(1, sizeof(*t));

	t->index = (uint32_t)ts->n;
	t->cgroup = xstrndup(cgroup, len);
	t->by_user = uid != UINT64_MAX;
	t->uid = t->by_user ? (uint32_t)uid : 0;
	t->bytes.left = t->bytes.least = byte_rate.burst;
	t->paths.left = t->paths.least = path_rate.burst;
	t->ns.left = t->ns.least = ns_rate.burst;
	t->rows.left = t->rows.least = rows_rate.burst;
	XGROW(ts->v, ts->n, ts->cap);
	ts->v[ts->n++] = t;
	*u64map_put(&ts->by_key, key_of(cgroup, len, uid), NULL) = ts->n;
	return t;
}

void tenants_init(struct tenants *ts)
{
	*ts = (struct tenants){ 0 };
	add(ts, "", 0, UINT64_MAX);
}

void tenants_fini(struct tenants *ts)
{
	for (size_t i = 0; i < ts->n; i++) {
		free(ts->v[i]->cgroup);
		free(ts->v[i]);
	}
	free(ts->v);
	u64map_fini(&ts->by_key);
	u64map_fini(&ts->children);
}

/* ---- which tenant ---- */

static size_t component_end(const char *path, size_t at)
{
	return at + 1 + strcspn(path + at + 1, "/");
}

static bool ends_with(const char *s, size_t len, const char *end)
{
	const size_t n = strlen(end);

	return len >= n && !memcmp(s + len - n, end, n);
}

static bool is_user_slice(const char *s, size_t len)
{
	return !strncmp(s, "user-", 5) && ends_with(s, len, ".slice");
}

/*
 * The bytes of @path, of no container, that tell tenants apart. *@slices: all of it but the last
 * component are slices of systemd.
 */
static size_t fold(const char *path, bool *slices)
{
	size_t end = 0, depth = 0;

	*slices = true;
	if (!strcmp(path, "/"))
		return 1;
	while (path[end] && path[end + 1] && depth < DEPTH_MAX) {
		const size_t begin = end + 1;

		end = component_end(path, end);
		if (is_user_slice(path + begin, end - begin))
			return end;
		if (*slices && ends_with(path, end, ".slice"))
			continue;
		/* A unit in a slice; what is below it belongs to it. */
		if (*slices && begin > 1)
			return end;
		*slices = false;
		depth++;
	}
	return end;
}

static size_t parent_len(const char *path, size_t len)
{
	while (len && path[--len] != '/')
		;
	return len;
}

struct tenant *tenants_of(struct tenants *ts, const char *cgroup, uint32_t uid)
{
	size_t len = cgroup_path_outermost(cgroup, NULL, 0);
	const bool container = len;
	bool slices = true;
	struct tenant *t;
	uint64_t *n;

	if (!container)
		len = fold(cgroup, &slices);
	t = find(ts, cgroup, len, container ? UINT64_MAX : uid);
	if (t)
		return t;
	if (ts->n >= TENANTS_MAX)
		return ts->v[0];
	if (container) {
		t = add(ts, cgroup, len, UINT64_MAX);
		t->fixed = true;
		return t;
	}
	n = u64map_put(&ts->children, hash_bytes(cgroup, parent_len(cgroup, len)), NULL);
	if (!slices && *n >= CHILDREN_MAX) {
		len = parent_len(cgroup, len);
		t = find(ts, cgroup, len, UINT64_MAX);
		return t ? t : add(ts, cgroup, len, UINT64_MAX);
	}
	++*n;
	return add(ts, cgroup, len, uid);
}

uint64_t tenant_account(const struct tenant *t)
{
	return key_of(t->cgroup, strlen(t->cgroup), t->by_user ? t->uid : UINT64_MAX);
}

/* ---- what is held ---- */

/* What of @held is beyond a tenant's own part. */
static uint64_t beyond(enum tenant_hold what, uint64_t held)
{
	return held > limits[what].own ? held - limits[what].own : 0;
}

/* Sets what @t holds of @what. */
static void hold(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t held)
{
	const uint64_t was = beyond(what, t->held[what]), is = beyond(what, held);

	ts->pool[what] += is - was;
	ts->heavy[what] += (is > 0) - (was > 0);
	t->held[what] = held;
	t->most[what] = MAX(t->most[what], held);
}

bool tenants_take(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n)
{
	uint64_t was, is;

	if (!t && ts->nobody[what] >= limits[what].nobody)
		return false;
	if (!t) {
		ts->nobody[what] += n;
		return true;
	}
	was = beyond(what, t->held[what]);
	is = beyond(what, t->held[what] + n);
	/* When the pool is used up, only those with less than an equal share of it may have more. */
	if (is > was && ts->pool[what] + is - was > limits[what].pool &&
	    is > limits[what].pool / (ts->heavy[what] + !was))
		return false;
	hold(ts, t, what, t->held[what] + n);
	return true;
}

void tenants_add(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n)
{
	if (t)
		hold(ts, t, what, t->held[what] + n);
	else
		ts->nobody[what] += n;
}

void tenants_give(struct tenants *ts, struct tenant *t, enum tenant_hold what, uint64_t n)
{
	if (t)
		hold(ts, t, what, t->held[what] - MIN(n, t->held[what]));
	else
		ts->nobody[what] -= MIN(n, ts->nobody[what]);
}

void tenants_clear(struct tenants *ts, enum tenant_hold what)
{
	for (size_t i = 0; i < ts->n; i++)
		hold(ts, ts->v[i], what, 0);
	ts->nobody[what] = 0;
}

/* ---- what comes back with time ---- */

static void refill(struct tenant_rate *r, const struct rate *rate, uint64_t time)
{
	const uint64_t since = MIN(time > r->time ? time - r->time : 0, 1000 * NS_PER_SEC);

	r->left += (int64_t)(since * (uint64_t)rate->second / NS_PER_SEC);
	r->left = MIN(r->left, rate->burst);
	r->time = MAX(time, r->time);
}

void tenant_sampled(struct tenant *t)
{
	if (!t)
		return;
	t->bytes.left = MIN(t->bytes.left + byte_rate.sample, byte_rate.burst);
	t->paths.left = MIN(t->paths.left + path_rate.sample, path_rate.burst);
	t->ns.left = MIN(t->ns.left + ns_rate.sample, ns_rate.burst);
	t->rows.left = MIN(t->rows.left + rows_rate.sample, rows_rate.burst);
}

static bool has_left(struct tenant_rate *r, const struct rate *rate, uint64_t time)
{
	/* Most of the time, nothing needs to be worked out. */
	if (r->left > rate->burst / 2)
		return true;
	refill(r, rate, time);
	return r->left > 0;
}

static void use(struct tenant_rate *r, uint64_t n)
{
	r->left -= (int64_t)n;
	r->least = MIN(r->least, r->left);
}

bool tenant_may_write(struct tenant *t, uint64_t time)
{
	return !t || has_left(&t->bytes, &byte_rate, time);
}

void tenant_wrote(struct tenant *t, uint64_t n)
{
	if (t)
		use(&t->bytes, n);
}

bool tenant_may_name(struct tenant *t, uint64_t n, uint64_t time)
{
	if (!t)
		return true;
	if (!has_left(&t->paths, &path_rate, time))
		return false;
	use(&t->paths, n);
	return true;
}

bool tenant_has_time(struct tenant *t, uint64_t time)
{
	return !t || has_left(&t->ns, &ns_rate, time);
}

bool tenant_in_debt(struct tenant *t, uint64_t time)
{
	return !tenant_has_time(t, time) && t->ns.left < -ns_rate.burst;
}

void tenant_spent(struct tenant *t, uint64_t ns)
{
	if (t)
		use(&t->ns, ns);
}

bool tenant_may_capture(struct tenant *t, uint64_t time)
{
	return !t || has_left(&t->rows, &rows_rate, time);
}

void tenant_captured(struct tenant *t, uint64_t ns)
{
	if (t)
		use(&t->rows, ns);
}

void tenant_left_out(struct tenant *t, enum budget_kind kind, uint64_t n)
{
	if (t)
		t->left_out[kind] += n;
}

bool tenants_left_out(const struct tenant *t, enum budget_kind kind, bool all, struct ev_budget *ev)
{
	*ev = (struct ev_budget){
		.kind = kind, .count = t->left_out[kind] + (all ? t->past[kind] : 0),
		.cgroup = t->cgroup, .by_user = t->by_user, .uid = t->uid,
	};
	return ev->count;
}

bool tenants_used(const struct tenant *t, unsigned int percent, struct strbuf *out)
{
	static const char *const holds[TENANT_HOLDS] = {
		[HOLD_PATHS] = "paths", [HOLD_FILES] = "binaries", [HOLD_MAPS] = "mappings", [HOLD_ADDRS] = "addresses",
	};
	const struct {
		const char *name;
		const struct tenant_rate *r;
		const struct rate *rate;
	} rates[] = {
		{ "side-band", &t->bytes, &byte_rate }, { "new paths", &t->paths, &path_rate }, { "time", &t->ns, &ns_rate },
		{ "captures", &t->rows, &rows_rate },
	};
	uint64_t most = 0;

	for (size_t i = 0; i < TENANT_HOLDS; i++) {
		const uint64_t used = t->most[i] * 100 / limits[i].own;

		most = MAX(most, used);
		strbuf_addf(out, "%s %" PRIu64 " (%" PRIu64 " %%), ", holds[i], t->most[i], used);
	}
	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		const uint64_t used = (uint64_t)(rates[i].rate->burst - rates[i].r->least) * 100 / (uint64_t)rates[i].rate->burst;

		most = MAX(most, used);
		strbuf_addf(out, "%s%s %" PRIu64 " %%", i ? ", " : "", rates[i].name, used);
	}
	return most >= percent;
}

void tenants_cut(struct tenants *ts)
{
	for (size_t i = 0; i < ts->n; i++)
		for (size_t kind = 0; kind < BUDGET_KINDS; kind++) {
			ts->v[i]->past[kind] += ts->v[i]->left_out[kind];
			ts->v[i]->left_out[kind] = 0;
		}
}
