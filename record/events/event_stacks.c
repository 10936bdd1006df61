#include "events/event_stacks.h"

#include <errno.h>

#include "base/log.h"
#include "base/util.h"
#include "events/perf_layout.h"
#include "events/perm.h"

#define MAX_STACK 127	/* if the kernel's limit cannot be read: its initial value */

static enum callgraph callgraph_of(const struct evsel *sel, const struct record_opts *o)
{
	return sel->stacks.callgraph != CALLGRAPH_UNSET ? sel->stacks.callgraph : o->callgraph;
}

struct stack_terms event_stacks(const struct evsel *sel, const struct record_opts *o)
{
	struct stack_terms s = sel->stacks;

	s.callgraph = callgraph_of(sel, o);
	/* Samples without user callchains need no stack copy. */
	if (s.callgraph == CALLGRAPH_DWARF && o->kernel_chains && !o->user_chains)
		s.callgraph = CALLGRAPH_FP;
	if (s.callgraph != CALLGRAPH_DWARF)
		s.dump_size = 0;
	else if (!s.dump_size)
		s.dump_size = o->dump_size;
	return s;
}

uint64_t event_stacks_record(const struct stack_terms *stacks, const struct record_opts *o)
{
	uint64_t bytes = 512;	/* fixed fields, registers, a kernel chain of some depth */

	if (o->payloads != PAYLOADS_NONE)
		bytes += 256;	/* few tracepoints have more */
	if (stacks->callgraph == CALLGRAPH_DWARF)
		bytes += stacks->dump_size;
	else if (stacks->callgraph == CALLGRAPH_FP)
		bytes += 1024;	/* at most 127 user frames */
	return MIN(bytes, LAYOUT_RECORD_MAX - 8);
}

static int check_terms(const struct evsel *sel, const struct record_opts *o)
{
	const long max = perm_sysctl("perf_event_max_stack", MAX_STACK);
	const enum callgraph how = callgraph_of(sel, o);

	if (sel->stacks.dump_size && how != CALLGRAPH_DWARF) {
		pr_err("event '%s': stack-size= is the size of stack copies, and only call-graph=dwarf takes them", sel->name);
		return -EINVAL;
	}
	if (sel->stacks.max_stack && how == CALLGRAPH_NONE) {
		pr_err("event '%s': max-stack= limits stacks, and it takes none: add call-graph=dwarf or call-graph=fp", sel->name);
		return -EINVAL;
	}
	if (sel->stacks.max_stack > max) {
		pr_err("event '%s': max-stack=%u is above kernel.perf_event_max_stack (%ld)", sel->name, sel->stacks.max_stack, max);
		return -EINVAL;
	}
	return 0;
}

static bool same(const struct stack_terms *a, const struct stack_terms *b)
{
	return a->callgraph == b->callgraph && a->dump_size == b->dump_size && a->max_stack == b->max_stack;
}

/*
 * The kernel fills in one struct perf_sample_data for all events that count the same thing, and the
 * second one finds the stack of the first, and even its id (sampled_events.c, find_mixed()).
 */
static int check_pair(const struct evsel *a, const struct evsel *b, const struct record_opts *o)
{
	const struct stack_terms sa = event_stacks(a, o), sb = event_stacks(b, o);

	if (a->type != PERF_TYPE_SOFTWARE || evsel_is_clock(a) || b->type != a->type || b->config != a->config || same(&sa, &sb))
		return 0;
	/* One comes in user space only, and the other in the kernel only. */
	if ((a->exclude_user && b->exclude_kernel) || (a->exclude_kernel && b->exclude_user))
		return 0;
	pr_err("events '%s' and '%s' count the same, and the kernel takes one stack for both: give them the same call-graph, "
	       "stack-size and max-stack", a->name, b->name);
	return -EINVAL;
}

/* Is it only read when the leader of its group is sampled? */
static bool is_member(const struct evlist *el, size_t i)
{
	return el->v[i].leader != i && el->v[el->v[i].leader].sample_read;
}

static int check_event(const struct evlist *el, size_t i, const struct record_opts *o)
{
	static const struct stack_terms none;
	const struct evsel *sel = &el->v[i];
	int err = check_terms(sel, o);

	if (err)
		return err;
	if (is_member(el, i)) {
		if (!same(&sel->stacks, &none))
			pr_info("event '%s' has the stacks of '%s', which leads its group: its own terms for stacks change nothing", sel->name,
				el->v[sel->leader].name);
		return 0;
	}
	for (size_t k = 0; k < i && !err; k++)
		if (!is_member(el, k))
			err = check_pair(&el->v[k], sel, o);
	return err;
}

int event_stacks_check(const struct evlist *el, const struct record_opts *o)
{
	bool any = false;
	int err = 0;

	for (size_t i = 0; i < el->n && !err; i++) {
		err = check_event(el, i, o);
		any |= callgraph_of(&el->v[i], o) != CALLGRAPH_NONE;
	}
	if (!err && any && o->full_stacks)
		pr_warn("--stacks=full: the recording will hold all data on the stacks, such as keys and passwords; guard it like a core dump");
	return err;
}
