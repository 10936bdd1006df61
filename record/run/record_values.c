/* Values of nsprof record's options (record_values.h). */
#include "run/record_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/opt.h"
#include "events/record_opts.h"

#define RING_BYTES_MAX (1ull << 30)
#define DECIMAL "0123456789."
#define DURATION_MAX 1e9	/* seconds */
#define DELAY_MAX 1000000000ull	/* ms */
#define SWITCH_MIN 0.1		/* seconds: two ticks of the drain loop */
#define OVERWRITE_NS 30000000000ull

int record_number(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *v < min || *v > max)
		return -EINVAL;
	return 0;
}

int record_take_callgraph(void *dst, const char *arg)
{
	struct stack_terms how = { .dump_size = DUMP_SIZE_MAX };
	struct record_opts *o = dst;
	const char *why;
	int err = callgraph_parse(arg, strlen(arg), &how, &why);

	if (err == -ENOTSUP)
		pr_err("perf has --call-graph %s, nsprof does not: %s. It takes dwarf[,SIZE], fp or none.", arg, why);
	else if (err == -ERANGE)
		pr_err("invalid stack copy size '%s'; --call-graph dwarf,SIZE takes 8 to %d bytes", strchr(arg, ',') + 1, DUMP_SIZE_MAX);
	else if (err)
		pr_err("unknown call graph '%s'; --call-graph takes dwarf[,SIZE], fp or none", arg);
	if (err)
		return -EINVAL;
	o->callgraph = how.callgraph;
	if (o->callgraph == CALLGRAPH_DWARF)
		o->dump_size = how.dump_size;
	return 0;
}

/* -g turns call graphs on: dwarf, unless --call-graph chose another kind. */
int record_take_g(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	(void)arg;
	if (o->callgraph == CALLGRAPH_NONE)
		o->callgraph = CALLGRAPH_DWARF;
	return 0;
}

int record_take_no_callgraph(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	(void)arg;
	o->callgraph = CALLGRAPH_NONE;
	return 0;
}

int record_take_stacks(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->full_stacks = !strcmp(arg, "full");
	if (o->full_stacks || !strcmp(arg, "masked"))
		return 0;
	pr_err("invalid value '%s' for --stacks; it takes masked or full", arg);
	return -EINVAL;
}

int record_take_list(void *dst, const char *arg)
{
	opt_join(dst, ',', arg);
	return 0;
}

int record_take_roots(void *dst, const char *arg)
{
	opt_join(dst, ':', arg);
	return 0;
}

/* "64" pages or "1M". A part after a comma sizes AUX areas, which nsprof does not use. */
int record_take_mmap(void *dst, const char *arg)
{
	static const char units[] = "BKMG";
	struct record_opts *o = dst;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), v, want, bytes = page;
	const char *unit;
	char *end;

	errno = 0;
	v = strtoull(arg, &end, 10);
	unit = *end && *end != ',' ? strchr(units, *end) : NULL;
	if (unit)
		end++;
	if (arg[0] < '0' || arg[0] > '9' || errno || (*end && *end != ',') || !v ||
	    v > RING_BYTES_MAX)
		goto bad;
	want = unit ? v << (10 * (unit - units)) : v * page;
	if (want > RING_BYTES_MAX)
		goto bad;
	while (bytes < want)
		bytes *= 2;
	if (bytes != want)
		pr_info("rounding the ring size up to %llu KiB", (unsigned long long)bytes / 1024);
	o->ring_bytes = bytes;
	return 0;
bad:
	pr_err("invalid ring size '%s'; -m takes a number of pages (a power of two) or a size like 8M, at most 1G", arg);
	return -EINVAL;
}

/* @text as "10M"; as with perf, the unit is required. 0 or -EINVAL. */
static int parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "BKMG";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end && !end[1] ? strchr(units, *end) : NULL;
	if (text[0] < '0' || text[0] > '9' || errno || !unit || !*bytes || *bytes >> 32)
		return -EINVAL;
	*bytes <<= 10 * (unit - units);
	return 0;
}

/* @text as "30s", "0.5s", "5m", "2h", "1d". 0 or -EINVAL. */
static int parse_time(const char *text, uint64_t *ns)
{
	static const char units[] = "smhd";
	static const double secs[] = { 1, 60, 3600, 86400 };
	const char *unit;
	char *end;
	double v;

	v = strtod(text, &end);
	unit = *end && !end[1] ? strchr(units, *end) : NULL;
	if (text[0] < '0' || text[0] > '9' || !unit || text + strspn(text, DECIMAL) != end)
		return -EINVAL;
	v *= secs[unit - units];
	if (!(v >= SWITCH_MIN) || v > DURATION_MAX)
		return -EINVAL;
	*ns = (uint64_t)(v * 1e9);
	return 0;
}

/* "500us", "1ms", "0.5s"; as with perf, a number alone is milliseconds. */
int record_take_off_cpu_thresh(void *dst, const char *arg)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "", 1e6 }, { "ms", 1e6 }, { "us", 1e3 }, { "ns", 1 }, { "s", 1e9 } };
	struct record_opts *o = dst;
	char *end;
	const double v = strtod(arg, &end);

	for (size_t i = 0; i < ARRAY_SIZE(units) && *arg >= '0' && *arg <= '9'; i++) {
		if (strcmp(end, units[i].name) || arg + strspn(arg, DECIMAL) != end || v * units[i].ns > DURATION_MAX * 1e9)
			continue;
		o->off_cpu_thresh_ns = (uint64_t)(v * units[i].ns + 0.5);
		return 0;
	}
	pr_err("invalid time '%s' for --off-cpu-thresh; it takes a time, e.g. 1ms (ns, us, ms, s)", arg);
	return -EINVAL;
}

int record_take_switch_output(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->switch_output = true;
	o->switch_bytes = o->switch_ns = 0;
	if (!arg || !strcmp(arg, "signal") || !parse_size(arg, &o->switch_bytes))
		return 0;
	o->switch_bytes = 0;
	if (!parse_time(arg, &o->switch_ns))
		return 0;
	pr_err("invalid value '%s' for --switch-output; it takes signal, a size (100M; B, K, M, G) or a time of at least 0.1s "
	       "(30s; s, m, h, d)", arg);
	return -EINVAL;
}

int record_take_overwrite(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->overwrite = true;
	o->overwrite_ns = OVERWRITE_NS;
	if (!arg || !parse_time(arg, &o->overwrite_ns))
		return 0;
	pr_err("invalid time '%s'; --overwrite takes how much to keep, e.g. 30s (s, m, h, d)", arg);
	return -EINVAL;
}

int record_take_max_size(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!parse_size(arg, &o->max_bytes))
		return 0;
	pr_err("invalid size '%s'; --max-size takes a number with a unit, e.g. 100M (B, K, M, G)", arg);
	return -EINVAL;
}

int record_take_event_budget(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!strcmp(arg, "none")) {
		o->event_budget = EVENT_BUDGET_NONE;
		return 0;
	}
	if (!parse_size(arg, &o->event_budget))
		return 0;
	pr_err("invalid size '%s'; --event-budget takes none or a number with a unit, e.g. 50M (B, K, M, G)", arg);
	return -EINVAL;
}

int record_take_max_files(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!record_number(arg, 1, UINT32_MAX, &o->switch_max_files))
		return 0;
	pr_err("invalid number of files '%s'; --switch-max-files takes 1 or more", arg);
	return -EINVAL;
}

int record_take_duration(void *dst, const char *arg)
{
	struct record_opts *o = dst;
	char *end;
	double secs = strtod(arg, &end);

	/* strtod(3) also takes blanks and other notations. */
	if (end == arg || arg[strspn(arg, DECIMAL "eE+-")] || *end || !(secs > 0) || secs > DURATION_MAX) {
		pr_err("invalid duration '%s'; --duration takes seconds, e.g. 10 or 0.5", arg);
		return -EINVAL;
	}
	o->duration_ns = MAX((uint64_t)(secs * 1e9), 1);
	return 0;
}

int record_take_clock(void *dst, const char *arg)
{
	static const char *const mono[] = { "mono", "monotonic", "CLOCK_MONOTONIC", "1" };
	static const char *const others[] = {
		"raw", "monotonic_raw", "CLOCK_MONOTONIC_RAW", "real", "realtime", "CLOCK_REALTIME", "boot", "boottime",
		"CLOCK_BOOTTIME", "tai", "CLOCK_TAI",
	};
	bool known = arg[0] >= '0' && arg[0] <= '9' && !arg[strspn(arg, "0123456789")];

	(void)dst;
	for (size_t i = 0; i < ARRAY_SIZE(mono); i++)
		if (!strcasecmp(arg, mono[i]))
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		known = known || !strcasecmp(arg, others[i]);
	if (!known) {
		pr_err("unknown clock '%s'; recordings use CLOCK_MONOTONIC and also store the wall-clock time", arg);
		return -EINVAL;
	}
	pr_info("clock '%s' is not used: recordings use CLOCK_MONOTONIC and also store the wall-clock time", arg);
	return 0;
}

/*
 * "10-20,30-40", ms after the start: windows in which sampling is on. Appends to the toggles; 0 or
 * -EINVAL.
 */
static int parse_windows(struct record_opts *o, const char *text)
{
	uint64_t ms, last = 0;
	size_t cap = 0;
	char *end;

	for (const char *p = text;; p = end + 1) {
		errno = 0;
		ms = strtoull(p, &end, 10);
		if (*p < '0' || *p > '9' || errno || ms > DELAY_MAX || (o->ntoggles && ms <= last))
			return -EINVAL;
		XGROW(o->toggles_ms, o->ntoggles, cap);
		o->toggles_ms[o->ntoggles++] = last = ms;
		/* A window has a beginning and an end. */
		if (!*end && o->ntoggles % 2 == 0)
			return 0;
		if (*end != (o->ntoggles % 2 ? '-' : ','))
			return -EINVAL;
	}
}

int record_take_delay(void *dst, const char *arg)
{
	struct record_opts *o = dst;
	uint64_t ms;

	free(o->toggles_ms);
	o->toggles_ms = NULL;
	o->ntoggles = 0;
	o->start_off = true;
	if (!strcmp(arg, "-1"))
		return 0;
	if (!record_number(arg, 0, DELAY_MAX, &ms)) {
		o->start_off = ms;
		o->toggles_ms = xmemdup(&ms, sizeof(ms));
		o->ntoggles = !!ms;
		return 0;
	}
	if (!parse_windows(o, arg))
		return 0;
	pr_err("invalid delay '%s'; -D takes milliseconds (at most %llu), -1 (wait until --control says enable) or windows like "
	       "10-20,30-40", arg, DELAY_MAX);
	return -EINVAL;
}

int record_take_realtime(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!record_number(arg, 1, 99, &o->realtime))
		return 0;
	pr_err("invalid realtime priority '%s'; -r takes 1 to 99", arg);
	return -EINVAL;
}
