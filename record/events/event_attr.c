#include "events/event_attr.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "event.h"
#include "events/odd_period.h"
#include "events/perf_layout.h"
#include "events/perm.h"

#define FEATS_SAMPLE (FEAT_FORMAT_LOST | FEAT_SAMPLE_CGROUP | FEAT_EXCLUDE_GUEST)
#define FEATS_SIDE (FEAT_FORMAT_LOST | FEAT_CGROUP | FEAT_KSYMBOL | FEAT_NAMESPACES)
/*
 * A short-lived process must be read while it lives. But a wake-up for each record costs the
 * process 6 us in a virtual machine (an interrupt to its own CPU), and an exec writes eight
 * records. So this is less than an exec writes with its comm and its first two mappings. Every exec
 * wakes us, and we look for what follows (loop.c).
 */
#define SIDE_WAKE 256u
#define RATE_DEFAULT 100000	/* if the kernel's limit cannot be read: its initial value */

static int sys_open(struct perf_event_attr *attr, const struct event_place *at)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, at->pid, at->cpu, at->group, at->flags | PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void attr_common(struct perf_event_attr *attr, const struct events *ev)
{
	memset(attr, 0, sizeof(*attr));
	attr->size = sizeof(*attr);
	attr->sample_type = LAYOUT_SAMPLE_TYPE;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	attr->watermark = 1;
	attr->inherit = target_is_tasks(ev->target) && !ev->opts->no_inherit;
	attr->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	if (ev->feats & FEAT_FORMAT_LOST)
		attr->read_format |= PERF_FORMAT_LOST;
}

/* Bytes written between two wake-ups; the kernel has no value for "never". */
static uint64_t data_watermark(const struct events *ev, const struct rec_event *e)
{
	if (e->unbounded && events_split(ev))
		return ev->extra_bytes / 4;
	if (events_paced(ev))
		return ev->data_bytes;
	return ev->data_bytes / (events_roomy(ev) ? 2 : 4);
}

/* What the event reports in addition to samples. */
static void attr_tells(struct perf_event_attr *attr, const struct events *ev)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
	/*
	 * Not attr.build_id: once one listener asks for it, the kernel sets the build-id flag for
	 * all later listeners of the record (6.18, perf_event_mmap_output() leaves the bit set in
	 * the header), and a perf running at the same time would abort. The build-id is read from
	 * the file instead.
	 */
	attr->cgroup = !!(ev->feats & FEAT_CGROUP);
	attr->ksymbol = !!(ev->feats & FEAT_KSYMBOL);
	attr->namespaces = !!(ev->feats & FEAT_NAMESPACES);
}

uint64_t event_first_period(const struct events *ev, const struct rec_event *e)
{
	/* What reports its switches is opened before it. */
	return e->sel.waits ? odd_period_near(e->now, ev->nswitches) : e->now;
}

/* Frequency or period, and what else tells how samples are taken. Members of {...}:S take none. */
static void attr_rate(struct perf_event_attr *attr, const struct events *ev, const struct rec_event *e)
{
	if (e->member)
		return;
	attr->freq = !e->period;
	if (e->period) {
		attr->sample_period = event_first_period(ev, e);
	} else {
		attr->sample_freq = e->freq;
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	}
	if (e->sel.tracepoint && ev->opts->payloads != PAYLOADS_NONE)
		attr->sample_type |= PERF_SAMPLE_RAW;
	if (e->weighed)
		attr->sample_type |= PERF_SAMPLE_PERIOD;
	if (e->counted)
		attr->sample_type |= PERF_SAMPLE_READ;
	if (e->reads) {
		attr->sample_type |= PERF_SAMPLE_READ;
		attr->read_format |= PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	}
}

static void attr_stacks(struct perf_event_attr *attr, const struct rec_event *e, const struct record_opts *o)
{
	const struct stack_terms *s = &e->stacks;

	attr->exclude_callchain_kernel = s->callgraph == CALLGRAPH_NONE || e->sel.exclude_kernel || (o->user_chains && !o->kernel_chains);
	attr->exclude_callchain_user = s->callgraph != CALLGRAPH_FP || (o->kernel_chains && !o->user_chains);
	attr->sample_max_stack = (uint16_t)s->max_stack;
	if (s->callgraph != CALLGRAPH_DWARF || e->member)
		return;
	attr->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	attr->sample_regs_user = UREG_MASK;
	attr->sample_stack_user = s->dump_size;
}

void event_layout(const struct events *ev, size_t event, struct sample_layout *l)
{
	const struct rec_event *e = &ev->v[event];

	*l = (struct sample_layout){
		.period = e->weighed ? 0 : e->now,
		.has_stack = e->stacks.callgraph == CALLGRAPH_DWARF,
		.no_chain = e->stacks.callgraph == CALLGRAPH_NONE,
		.has_cgroup = ev->feats & FEAT_SAMPLE_CGROUP,
		.has_raw = e->sel.tracepoint && ev->opts->payloads != PAYLOADS_NONE,
		.has_reads = e->reads,
		.has_count = e->counted,
		.has_lost = ev->feats & FEAT_FORMAT_LOST,
	};
}

static void attr_sample(struct perf_event_attr *attr, const struct events *ev, size_t event, bool in_group)
{
	const struct rec_event *e = &ev->v[event];
	const struct record_opts *o = ev->opts;

	attr_common(attr, ev);
	evsel_attr(&e->sel, attr);
	/* Members go on and off with their leader. */
	attr->disabled = !in_group;
	attr->enable_on_exec = !in_group && ev->on_exec && !o->start_off;
	attr->exclude_hv = e->sel.exclude_kernel;
	attr->exclude_guest = ev->feats & FEAT_EXCLUDE_GUEST && !e->guests;
	attr->inherit &= !ev->v[e->sel.leader].alone;
	attr_rate(attr, ev, e);
	if (ev->feats & FEAT_SAMPLE_CGROUP)
		attr->sample_type |= PERF_SAMPLE_CGROUP;
	attr_stacks(attr, e, o);
	if (ev->shared_side && !event)
		attr_tells(attr, ev);
	attr->wakeup_watermark = (uint32_t)data_watermark(ev, e);
}

static void attr_side(struct perf_event_attr *attr, const struct events *ev)
{
	attr_common(attr, ev);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_period = 1;
	/* It counts nothing, but without these bits it would need the right to see the kernel. */
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr_tells(attr, ev);
	attr->wakeup_watermark = SIDE_WAKE;
}

static void attr_switches(struct perf_event_attr *attr, const struct events *ev)
{
	attr_common(attr, ev);
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_DUMMY;
	attr->sample_period = 1;
	attr->exclude_kernel = 1;
	attr->exclude_hv = 1;
	attr->context_switch = 1;
	attr->disabled = 1;
	attr->enable_on_exec = ev->on_exec && !ev->opts->start_off;
	attr->wakeup_watermark = (uint32_t)(ev->switch_bytes / 4);
}

/* Without stacks, and so without the time that these take. */
static void attr_wakeups(struct perf_event_attr *attr, const struct events *ev)
{
	attr_common(attr, ev);
	attr->type = PERF_TYPE_TRACEPOINT;
	attr->config = ev->wakeup_source.id;
	attr->sample_period = 1;
	attr->sample_type = (LAYOUT_SAMPLE_TYPE & ~(uint64_t)PERF_SAMPLE_CALLCHAIN) | PERF_SAMPLE_RAW;
	attr->inherit = 0;
	/* An exec enables events of its thread only. */
	attr->disabled = !ev->on_exec || ev->opts->start_off;
	attr->wakeup_watermark = (uint32_t)(ev->wakeup_bytes / 4);
}

/* kernel.perf_event_max_sample_rate, Hz. */
static uint64_t max_rate(void)
{
	const long max = perm_sysctl("perf_event_max_sample_rate", RATE_DEFAULT);

	return (uint64_t)MAX(max, 1);
}

/*
 * The kernel lowers its limit by itself when interrupts of hardware counters take too long. It
 * refuses higher frequencies with EINVAL. Events that are open keep their frequency.
 */
int event_open(struct events *ev, size_t event, const struct event_place *at)
{
	struct perf_event_attr attr;
	uint64_t max;
	int fd;

	if (event == EVENT_SIDE)
		attr_side(&attr, ev);
	else if (event == EVENT_SWITCHES)
		attr_switches(&attr, ev);
	else if (event == EVENT_WAKEUPS)
		attr_wakeups(&attr, ev);
	else
		attr_sample(&attr, ev, event, at->group >= 0);
	fd = sys_open(&attr, at);
	while (fd == -EINVAL && attr.freq && (max = max_rate()) < attr.sample_freq) {
		attr.sample_freq = max;
		fd = sys_open(&attr, at);
		if (fd >= 0) {
			ev->clamped = max;
			ev->lowest = ev->lowest ? MIN(ev->lowest, max) : max;
		}
	}
	return fd;
}

/* Subset @i of the bits in @set, in counting order: subsets with few removals come early. */
static uint32_t subset(uint32_t set, uint32_t i)
{
	uint32_t out = 0;

	for (; set; set &= set - 1, i >>= 1)
		if (i & 1)
			out |= set & -set;
	return out;
}

/* The kernel refuses unknown attributes with EINVAL and does not say which. */
static int probe(struct events *ev, size_t event, uint32_t set, const struct event_place *at)
{
	const uint32_t have = ev->feats & set, all = ev->feats;
	int fd = -EINVAL;

	for (uint32_t i = 0; i < 1u << __builtin_popcount(have) && fd == -EINVAL; i++) {
		ev->feats = all & ~subset(have, i);
		fd = event_open(ev, event, at);
	}
	if (fd < 0)
		ev->feats = all;
	return fd;
}

/*
 * What the kernel can do is known from the first event. Some PMUs cannot exclude guests, and before
 * 6.12 the kernel cannot read groups of inherited events.
 */
static int probe_next(struct events *ev, size_t event, const struct event_place *at)
{
	struct rec_event *e = &ev->v[event];
	int fd = event_open(ev, event, at);

	if (fd == -EINVAL && ev->feats & FEAT_EXCLUDE_GUEST) {
		e->guests = true;
		fd = event_open(ev, event, at);
		e->guests = fd >= 0;
	}
	if (fd == -EINVAL && e->reads && target_is_tasks(ev->target) && !ev->opts->no_inherit) {
		e->alone = true;
		fd = event_open(ev, event, at);
		e->alone = fd >= 0;
	}
	return fd;
}

int event_open_probing(struct events *ev, size_t event, const struct event_place *at)
{
	const bool samples = event != EVENT_SIDE, tells = !samples || (ev->shared_side && !event);
	const uint32_t set = (samples ? FEATS_SAMPLE : 0) | (tells ? FEATS_SIDE : 0);
	int fd;

	if (samples && (ev->probed || ev->v[event].reads)) {
		fd = probe_next(ev, event, at);
		if (fd != -EINVAL || ev->probed)
			return fd;
	}
	fd = probe(ev, event, set, at);
	if (fd == -EACCES && tells && ev->feats & FEAT_NAMESPACES) {
		ev->feats &= ~(uint32_t)FEAT_NAMESPACES;
		fd = probe(ev, event, set, at);
	}
	ev->probed |= samples && fd >= 0;
	return fd;
}

int events_check_freq(const struct record_opts *o, const struct evsel *sels, size_t n)
{
	const uint64_t max = max_rate();

	for (size_t i = 0; i < n && o->strict_freq; i++) {
		if (sels[i].period || sels[i].freq == EVSEL_FREQ_MAX || sels[i].freq <= max)
			continue;
		pr_err("%llu Hz is above kernel.perf_event_max_sample_rate (%llu), and --strict-freq permits no lower frequency",
		       (unsigned long long)sels[i].freq, (unsigned long long)max);
		return -EINVAL;
	}
	return 0;
}

uint64_t events_clamp_freq(uint64_t freq, bool *told)
{
	const uint64_t max = max_rate();

	if (freq <= max)
		return freq;
	if (freq == EVSEL_FREQ_MAX && !*told)
		pr_info("the maximum frequency is %llu Hz", (unsigned long long)max);
	else if (!*told)
		pr_warn("%llu Hz is above kernel.perf_event_max_sample_rate, recording at %llu Hz", (unsigned long long)freq,
			(unsigned long long)max);
	*told = true;
	return max;
}
