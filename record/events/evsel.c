#include "events/evsel.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "cli/event_name.h"

/* Why an event that perf accepts does not exist here; NULL: perf does not know it, either. */
static const char *why_unknown(const char *text)
{
	const char *colon = strchr(text, ':');

	if (text[0] == 'r' && text[1] && !text[1 + strspn(text + 1, "0123456789abcdefABCDEF")])
		return "a raw event, and its number means something else on each type of CPU";
	if (strchr(text, '/'))
		return "an event of one kind of PMU";
	if (!strncmp(text, "mem:", 4))
		return "a breakpoint";
	/* More than modifiers follow the colon: GROUP:NAME. */
	if (colon && colon > text && colon[1 + strspn(colon + 1, "ukhGHpPSDWI")])
		return "a tracepoint";
	return NULL;
}

static int unknown(const char *text, size_t len)
{
	char meant[160];
	struct suggest s;

	suggest_init(&s, text, len);
	event_name_suggest(&s);
	if (*suggest_text(&s, "", meant, sizeof(meant)))
		pr_err("unknown event '%.*s'.%s", (int)len, text, meant);
	else
		pr_err("unknown event '%.*s'; known are cycles, instructions, cpu-clock, "
		       "task-clock, page-faults, context-switches, cpu-migrations, cache-misses, "
		       "branches, branch-misses, minor-faults, major-faults, L1-dcache-load-misses and the like",
		       (int)len, text);
	return -EINVAL;
}

int evsel_parse(struct evsel *ev, const char *text)
{
	size_t len = strcspn(text, ":");
	const char *mod = text[len] ? text + len + 1 : "";
	const struct event_name *n;
	bool user = false, kernel = false;

	if (strchr(text, ',') || text[0] == '{') {
		pr_err("one event at a time: '%s' names several", text);
		return -EINVAL;
	}
	n = event_name_find(text, len);
	if (!n && why_unknown(text)) {
		pr_err("event '%s' is %s: perf can sample by that, nsprof cannot; use CPU time, counters, "
		       "page-faults or context-switches", text, why_unknown(text));
		return -EINVAL;
	}
	if (!n)
		return unknown(text, len);
	for (const char *p = mod; *p; p++) {
		switch (*p) {
		case 'u':
			user = true;
			break;
		case 'k':
			kernel = true;
			break;
		case 'p':	/* precision: the highest available is always right */
		case 'P':
		case 'H':	/* host only: what we do anyway */
			break;
		default:
			pr_err("unknown modifier '%c' in event '%s'; allowed are u, k and p", *p,
			       text);
			return -EINVAL;
		}
	}
	ev->name = n->name;
	ev->type = n->type;
	ev->config = n->config;
	/* Naming one of them excludes the other; naming both excludes none. */
	ev->exclude_user = kernel && !user;
	ev->exclude_kernel = user && !kernel;
	return 0;
}

bool evsel_fall_back(struct evsel *ev, int err)
{
	if (err != -ENOENT && err != -ENXIO && err != -ENODEV && err != -EOPNOTSUPP)
		return false;
	if (ev->type != PERF_TYPE_HARDWARE || ev->config != PERF_COUNT_HW_CPU_CYCLES)
		return false;
	ev->name = "cpu-clock";
	ev->type = PERF_TYPE_SOFTWARE;
	ev->config = PERF_COUNT_SW_CPU_CLOCK;
	return true;
}

bool evsel_is_clock(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE && (ev->config == PERF_COUNT_SW_CPU_CLOCK ||
						  ev->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool evsel_counts_work(const struct evsel *ev)
{
	return evsel_is_clock(ev) || (ev->type == PERF_TYPE_HARDWARE && (ev->config == PERF_COUNT_HW_CPU_CYCLES ||
									 ev->config == PERF_COUNT_HW_INSTRUCTIONS));
}

bool evsel_counts_each(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_SOFTWARE && !evsel_is_clock(ev);
}

bool evsel_is_hardware(const struct evsel *ev)
{
	return ev->type == PERF_TYPE_HARDWARE || ev->type == PERF_TYPE_HW_CACHE;
}

const char *evsel_modifier(const struct evsel *ev)
{
	return ev->exclude_kernel ? "u" : ev->exclude_user ? "k" : "";
}

void evsel_attr(const struct evsel *ev, struct perf_event_attr *attr)
{
	attr->type = ev->type;
	attr->config = ev->config;
	attr->exclude_user = ev->exclude_user;
	attr->exclude_kernel = ev->exclude_kernel;
}
