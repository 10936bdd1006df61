#include "import/import_event.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "import/import_switches.h"
#include "recording/rec_events.h"

#define LISTED 12	/* maximum number of events in a message */

const char *import_event_name(const struct perfdata_attr *a)
{
	static const char *const software[] = { "cpu-clock", "task-clock", "page-faults", "context-switches",
						"cpu-migrations", "minor-faults", "major-faults" };
	static const char *const hardware[] = { "cycles", "instructions", "cache-references", "cache-misses",
						"branches", "branch-misses", "bus-cycles" };
	const uint32_t config = (uint32_t)a->config;	/* the upper half is the PMU */

	if (a->name[0])
		return a->name;
	if (a->type == PERF_TYPE_SOFTWARE && a->config < ARRAY_SIZE(software))
		return software[a->config];
	if (a->type == PERF_TYPE_HARDWARE && config < ARRAY_SIZE(hardware))
		return hardware[config];
	return "event";
}

/* ---- names ---- */

/* The parts of a name: "cycles:P", "sched:sched_switch:u", "cpu_core/cycles/P". */
struct event_text {
	const char *pmu, *event, *modifier;
	size_t pmu_len, event_len;	/* pmu_len 0: no PMU */
};

static struct event_text take_apart(const struct perfdata_attr *a)
{
	const char *name = import_event_name(a), *slash = strchr(name, '/'), *end = strrchr(name, '/'), *colon;

	if (slash && end > slash)
		return (struct event_text){ name, slash + 1, end[1] == ':' ? end + 2 : end + 1, (size_t)(slash - name),
					    (size_t)(end - slash - 1) };
	/* The name of a tracepoint contains a ':'. */
	colon = strchr(name, ':');
	if (colon && a->type == PERF_TYPE_TRACEPOINT)
		colon = strchr(colon + 1, ':');
	return (struct event_text){ NULL, name, colon ? colon + 1 : "", 0, colon ? (size_t)(colon - name) : strlen(name) };
}

static bool text_is(const char *text, size_t len, const char *s)
{
	return strlen(s) == len && !memcmp(text, s, len);
}

/* Is @name the event's, with or without the modifier? */
static bool has_name(const struct perfdata_attr *a, const char *name)
{
	const struct event_text t = take_apart(a);
	const char *own = import_event_name(a);

	if (!strcmp(own, name))
		return true;
	if (t.pmu_len)
		return text_is(own, (size_t)(t.event + t.event_len + 1 - own), name);
	return text_is(t.event, t.event_len, name);
}

/* Is @name that of the event without its PMU? */
static bool has_bare_name(const struct perfdata_attr *a, const char *name)
{
	const struct event_text t = take_apart(a);
	const size_t len = t.event_len;

	if (strncmp(name, t.event, len) != 0)
		return false;
	return !name[len] || (name[len] == ':' && !strcmp(name + len + 1, t.modifier));
}

/*
 * Is it the PMU of a kind of CPU? If the file does not list them, the names that kernels use decide
 * (x86, arm, Apple).
 */
static bool is_core_pmu(const struct perfdata *pd, const char *pmu, size_t len)
{
	static const char *const kinds[] = { "cpu_", "armv", "apple_" };

	for (size_t i = 0; i < pd->ncore_pmus; i++)
		if (text_is(pmu, len, pd->core_pmus[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !pd->ncore_pmus; i++)
		if (len > strlen(kinds[i]) && !memcmp(pmu, kinds[i], strlen(kinds[i])))
			return true;
	return false;
}

/* Are they one event, counted by a separate PMU on each kind of CPU? */
static bool same_event(const struct perfdata *pd, const struct perfdata_attr *a, const struct perfdata_attr *b)
{
	const struct event_text ta = take_apart(a), tb = take_apart(b);

	if (ta.pmu_len && tb.pmu_len)
		return ta.event_len == tb.event_len && !memcmp(ta.event, tb.event, ta.event_len) && !strcmp(ta.modifier, tb.modifier) &&
		       is_core_pmu(pd, ta.pmu, ta.pmu_len) && is_core_pmu(pd, tb.pmu, tb.pmu_len);
	/*
	 * Events with a number in the kernel: the PMU is in the upper half (PERF_PMU_TYPE_SHIFT in
	 * perf_event.h).
	 */
	return (a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE) && a->type == b->type &&
	       (uint32_t)a->config == (uint32_t)b->config && a->config >> 32 && b->config >> 32 && a->config != b->config &&
	       !((a->flags ^ b->flags) & PERFDATA_EXCLUDES);
}

/* ---- choosing ---- */

static void tell_events(const struct perfdata *pd, const char *name, const char *shown)
{
	struct strbuf sb = STRBUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < pd->nattrs; i++)
		if (!PERFDATA_IS_DUMMY(&pd->attrs[i]) && n++ < LISTED)
			strbuf_addf(&sb, "%s'%s'", n > 1 ? ", " : "", import_event_name(&pd->attrs[i]));
	if (!n && !pd->nattrs)
		pr_err("%s ends before its first event: perf record failed or was killed, or the file was not copied whole", shown);
	else if (!n)
		pr_err("%s has no events", shown);
	else
		pr_err("%s has no event '%s'; it has %s%s", shown, name ? name : "", sb.s, n > LISTED ? " and others" : "");
	strbuf_fini(&sb);
}

/* The first match that has samples, or otherwise the first match: index + 1, or 0. */
static size_t find(const struct perfdata *pd, const char *name, bool (*fits)(const struct perfdata_attr *a, const char *name))
{
	size_t found = 0;

	for (size_t i = 0; i < pd->nattrs; i++) {
		const struct perfdata_attr *a = &pd->attrs[i];

		if (name ? !fits(a, name) : PERFDATA_IS_DUMMY(a))
			continue;
		if (!found || (!pd->attrs[found - 1].samples && a->samples))
			found = i + 1;
	}
	return found;
}

/* Is @name the beginning or the end of the event's? */
static bool has_part(const struct perfdata_attr *a, const char *name)
{
	const char *own = import_event_name(a);
	const size_t n = strlen(own), len = strlen(name);

	return len && len <= n && (!memcmp(own, name, len) || !memcmp(own + n - len, name, len));
}

/* The only event that has @name as a part, as find(). 0 also if there are several. */
static size_t find_part(const struct perfdata *pd, const char *name)
{
	size_t first = find(pd, name, has_part);

	for (size_t i = 0; first && i < pd->nattrs; i++)
		if (i != first - 1 && has_part(&pd->attrs[i], name) && !same_event(pd, &pd->attrs[i], &pd->attrs[first - 1]))
			first = 0;
	return first;
}

/* Names event @e of the recording after the attr @a; @several: it has other attrs, too. */
static void name_event(struct import_named *e, const struct perfdata_attr *a, bool several)
{
	struct event_text t = take_apart(a);

	if (t.pmu_len && !several)
		t = (struct event_text){ .event = import_event_name(a), .event_len = strlen(import_event_name(a)), .modifier = "" };
	e->name = xstrndup(t.event, t.event_len);
	e->modifier = xstrdup(t.modifier);
}

/* Adds the event of attr @at, with those attrs that are the same event. @whole: of this very name. */
static void add_event(struct import_event *ev, struct perfdata *pd, size_t at, const char *whole)
{
	struct import_named e = { .attr = at };
	bool several = false;

	for (size_t i = 0; i < pd->nattrs; i++) {
		struct perfdata_attr *a = &pd->attrs[i];

		if (i != at && (a->taken || !same_event(pd, a, &pd->attrs[at]) || (whole && !has_name(a, whole))))
			continue;
		a->taken = true;
		a->event = ev->n;
		several |= i != at;
	}
	name_event(&e, &pd->attrs[at], several);
	ev->v = xrealloc(ev->v, (ev->n + 1) * sizeof(*ev->v));
	ev->v[ev->n++] = e;
}

int import_event_choose(struct import_event *ev, struct perfdata *pd, const char *name, const char *shown)
{
	bool whole = name;
	size_t first = find(pd, name, has_name);

	if (!first) {
		whole = false;
		first = find(pd, name, has_bare_name);
	}
	if (!first && name)
		first = find_part(pd, name);
	if (!first) {
		tell_events(pd, name, shown);
		return -ENOENT;
	}
	for (size_t i = 0; i < pd->nattrs; i++)
		pd->attrs[i].taken = false;
	add_event(ev, pd, first - 1, whole ? name : NULL);
	for (size_t i = 0; i < pd->nattrs && !name && ev->n < SAMPLED_EVENTS_MAX; i++)
		if (!pd->attrs[i].taken && !PERFDATA_IS_DUMMY(&pd->attrs[i]))
			add_event(ev, pd, i, NULL);
	return 0;
}

struct perfdata_attr *import_event_first(const struct import_event *ev, const struct perfdata *pd)
{
	return &pd->attrs[ev->v[0].attr];
}

bool import_event_is_clock(const struct perfdata_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

/* The attr that samples of @a have: with PERF_SAMPLE_READ, that of the leader of its group. */
static const struct perfdata_attr *sampled(const struct perfdata *pd, const struct perfdata_attr *a)
{
	return a->leader && pd->attrs[a->leader - 1].taken ? &pd->attrs[a->leader - 1] : a;
}

void import_event_stacks(const struct import_event *ev, const struct perfdata *pd, uint32_t at, struct ev_event *out)
{
	const struct perfdata_attr *a = sampled(pd, &pd->attrs[ev->v[at].attr]);

	out->callgraph = CALLGRAPH_NONE;
	out->dump_size = out->max_stack = 0;
	if (a->sample_type & PERF_SAMPLE_STACK_USER) {
		out->callgraph = CALLGRAPH_DWARF;
		out->dump_size = a->stack_user;
	} else if (a->sample_type & PERF_SAMPLE_CALLCHAIN || perfdata_is_offcpu(a)) {
		out->callgraph = CALLGRAPH_FP;
		out->max_stack = a->max_stack;
	}
}

static struct ev_event describe(const struct import_event *ev, const struct perfdata *pd, uint32_t at, bool fields)
{
	const struct import_named *e = &ev->v[at];
	const struct perfdata_attr *a = &pd->attrs[e->attr], *leader = sampled(pd, a);
	const bool by_freq = a->flags & PERFDATA_FREQ, member = leader != a;

	/* As nsprof record --off-cpu describes it. */
	if (import_switches_asked(pd) && import_switches_weigh(a) && !member)
		return (struct ev_event){
			.index = at, .role = ROLE_WAITS, .leader = at, .type = a->type, .config = a->config,
			.freq = by_freq ? a->period : 0, .period = by_freq ? 0 : a->period,
			.name = REC_EVENTS_OFF_CPU, .modifier = e->modifier, .unit = "ns", .filter = "", .fields = "",
		};

	if (perfdata_is_offcpu(a))
		return (struct ev_event){
			.index = at, .role = ROLE_SAMPLES, .leader = at, .type = a->type, .config = a->config,
			.name = e->name, .modifier = e->modifier, .unit = "ns", .filter = "", .fields = "",
		};

	return (struct ev_event){
		.index = at, .role = member ? ROLE_MEMBER : ROLE_SAMPLES, .leader = member ? leader->event : at,
		.type = a->type, .config = a->config, .config1 = a->config1, .config2 = a->config2,
		.freq = by_freq && !member ? a->period : 0, .period = by_freq || member ? 0 : a->period,
		.name = e->name, .modifier = e->modifier, .unit = import_event_is_clock(a) ? "ns" : "", .filter = "",
		.fields = fields ? perfdata_format(pd, a) : "",
	};
}

struct ev_event import_event_describe(const struct import_event *ev, const struct perfdata *pd, uint32_t at, bool fields)
{
	struct ev_event out = describe(ev, pd, at, fields), first;

	/* The settings describe the first event. */
	import_event_stacks(ev, pd, 0, &first);
	import_event_stacks(ev, pd, at, &out);
	if (out.callgraph == first.callgraph && out.dump_size == first.dump_size && out.max_stack == first.max_stack) {
		out.callgraph = CALLGRAPH_UNSET;
		out.dump_size = out.max_stack = 0;
	}
	return out;
}

/* ---- counters ---- */

bool import_event_counts(const struct perfdata_record *r)
{
	return r->attr->sample_type & PERF_SAMPLE_READ && r->attr->read_format & PERF_FORMAT_ID;
}

/*
 * Events inherited by threads count per thread, and their samples name the thread (PERF_SAMPLE_READ
 * with attr.inherit, Linux 6.12). Other events count for the CPU or thread they were opened for.
 */
static uint64_t counter_key(const struct perfdata_attr *a, uint64_t id, uint32_t tid)
{
	return a->flags & PERFDATA_INHERIT && a->sample_type & PERF_SAMPLE_TID ? hash_combine(hash_u64(id), tid) : id;
}

void import_event_look(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_read reads[PERFDATA_READS];
	size_t n;

	if (r->attr->leader)
		return;
	n = perfdata_reads(pd, r, reads);
	for (size_t i = 0; i < n; i++) {
		const uint64_t *slot = u64map_get(&pd->ids, reads[i].id);

		if (slot && !pd->attrs[*slot].leader)
			pd->attrs[*slot].leader = (size_t)(r->attr - pd->attrs) + 1;
	}
}

size_t import_event_parts(struct import_event *ev, const struct perfdata *pd, const struct perfdata_record *r, uint32_t tid,
			  struct import_part *out)
{
	struct perfdata_read reads[PERFDATA_READS];
	const size_t n = perfdata_reads(pd, r, reads);
	bool found = false;
	size_t parts = 0;

	for (size_t i = 0; i < n; i++) {
		const uint64_t *slot = u64map_get(&pd->ids, reads[i].id);
		bool is_new = false;
		uint64_t *before, counted;

		if (!slot || !pd->attrs[*slot].taken)
			continue;
		before = u64map_put(&ev->before, counter_key(r->attr, reads[i].id, tid), &is_new);
		if (!is_new && reads[i].value < *before)
			continue;	/* damaged, or after a newer one */
		counted = reads[i].value - (is_new ? 0 : *before);
		*before = reads[i].value;
		found = true;
		if (counted)
			out[parts++] = (struct import_part){ pd->attrs[*slot].event, counted };
	}
	/* No counter of a chosen event was found: use the period in the sample. */
	if (!found && r->attr->taken)
		out[parts++] = (struct import_part){ r->attr->event, 0 };
	return parts;
}

void import_event_fini(struct import_event *ev)
{
	for (uint32_t i = 0; i < ev->n; i++) {
		free(ev->v[i].name);
		free(ev->v[i].modifier);
	}
	free(ev->v);
	u64map_fini(&ev->before);
}
