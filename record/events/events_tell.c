#include "events/open.h"

#include <string.h>

#include "base/log.h"
#include "base/util.h"
#include "events/perm.h"
#include "events/ringplan.h"

static const struct {
	uint32_t feat;
	const char *what;
} feat_names[] = {
	{ FEAT_FORMAT_LOST, "its own count of lost samples" },
	{ FEAT_SAMPLE_CGROUP, "cgroup ids in samples" },
	{ FEAT_EXCLUDE_GUEST, "the exclusion of guests" },
	{ FEAT_CGROUP, "cgroup names" },
	{ FEAT_KSYMBOL, "names of BPF programs" },
	{ FEAT_NAMESPACES, "namespaces of processes (or the right to see them)" },
};

/*
 * The rings hold less than they should, because memory or the amount that may be locked is limited.
 */
static void tell_ring_time(const struct events *ev, uint64_t ms)
{
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	const bool locked = ev->data_bytes < events_plan_data(ev);

	say = ms < RING_MS_SCARCE ? pr_warn : pr_info;
	say("rings hold %llu ms of samples instead of %d (%llu KiB on %s%zu CPU%s, %s)%s",
	    (unsigned long long)ms, RING_MS, (unsigned long long)ev->data_bytes / 1024,
	    plural_of(ev->target->ncpus, "", "each of "), ev->target->ncpus, plural(ev->target->ncpus),
	    locked ? "kernel.perf_event_mlock_kb and 'ulimit -l' allow no more"
		   : "the memory for all rings is limited",
	    ms >= RING_MS_SCARCE ? ""
	    : locked		 ? ": samples may be lost; raise them, or lower -F or --call-graph dwarf,SIZE"
				 : ": samples may be lost; lower -F or --call-graph dwarf,SIZE, or use -m");
}

/* Does a ring hold less than one sample? */
static bool tell_too_small(const struct events *ev, bool extra)
{
	const uint64_t ring = extra ? ev->extra_bytes : ev->data_bytes, record = events_record(ev, extra);

	if (ring > record)
		return false;
	pr_warn("a ring of %llu KiB does not hold one sample of up to %llu KiB: such samples will "
		"be lost; use a larger -m or a smaller --call-graph dwarf,SIZE", (unsigned long long)ring / 1024,
		(unsigned long long)(record + 1023) / 1024);
	return true;
}

static void tell_event(const struct rec_event *e)
{
	if (e->wanted != e->sel.name)
		pr_info("no hardware counter for '%s' on this machine, recording '%s'", e->wanted, e->sel.name);
	if (e->period != e->sel.period)
		pr_warn("the kernel's clocks have no period below %u ns: recording one sample every %u ns, not %llu",
			CLOCK_PERIOD_MIN, CLOCK_PERIOD_MIN, (unsigned long long)e->sel.period);
	if (e->alone)
		pr_warn("this kernel cannot read the group of '%s' in threads and processes that start later (Linux 6.12 can): "
			"the group is recorded without them", e->sel.name);
}

void events_tell(const struct events *ev)
{
	uint64_t ms = events_ring_ms(ev);

	for (size_t i = 0; i < ev->n; i++)
		tell_event(&ev->v[i]);
	for (size_t i = 0; i < ev->nleft; i++)
		pr_warn("left out: %s", ev->left[i].why);
	if (ev->narrowed)
		pr_info("recording user space only: kernel.perf_event_paranoid is %d and "
			"CAP_PERFMON is missing", perm_paranoid());
	if (ev->side_err)
		pr_warn("mappings are not traced (%s): processes that start from now on may lack "
			"names", strerror(-ev->side_err));
	if (ev->missed)
		pr_warn("%zu thread%s began while nsprof attached to the process: samples of %s and of threads %s may be missing; -G and --container miss none",
			ev->missed, plural(ev->missed), plural_of(ev->missed, "it", "them"), plural_of(ev->missed, "it starts", "they start"));
	if (ev->shared_side)
		pr_verbose("%zu threads: one event per thread and CPU records both samples and mappings", ev->target->ntids);
	pr_verbose("rings of %llu KiB (%llu ms) and %llu KiB for mappings on %s%zu CPU%s",
		   (unsigned long long)ev->data_bytes / 1024, (unsigned long long)ms,
		   (unsigned long long)ev->side_bytes / 1024, plural_of(ev->target->ncpus, "", "each of "), ev->target->ncpus,
		   plural(ev->target->ncpus));
	if (events_split(ev))
		pr_verbose("further rings of %llu KiB for the events that nothing bounds", (unsigned long long)ev->extra_bytes / 1024);
	if (!tell_too_small(ev, false) && !(events_split(ev) && tell_too_small(ev, true)) && ms < RING_MS && !ev->opts->ring_bytes)
		tell_ring_time(ev, ms);
	for (size_t i = 0; i < ARRAY_SIZE(feat_names); i++)
		if (!(ev->feats & feat_names[i].feat))
			pr_verbose("the kernel lacks %s", feat_names[i].what);
}

