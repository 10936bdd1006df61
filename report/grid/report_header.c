/* The header of a report (report_header.h). */
#include "grid/report_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"
#include "recording/ledger_sums.h"

#define INTERRUPTED "interrupted: some samples or names are missing"

static uint64_t total(const struct header *h)
{
	/* The unit of folded text is unknown. */
	return h->period && h->profile->period ? h->profile->period : h->profile->samples;
}

const char *header_unit(const struct header *h)
{
	const struct profile *p = h->profile;
	const char *event = profile_meta(p, "event");

	/* Each event is counted in its own unit. */
	for (uint32_t i = 0; i < p->nevents; i++)
		if (p->events[i].by_period)
			return "counts";
	if (p->nevents)
		return "samples";
	if (!h->period || !h->profile->period)
		return profile_counted(event);
	return event && profile_time_of(event, profile_meta(p, "event_unit")) ? "ns" : "events";
}

static void add_time(uint64_t ns, const char *event, struct strbuf *out)
{
	const char *of = event ? profile_time_of(event, "ns") : NULL;

	strbuf_add_number(out, (double)ns / (ns < 1000000 ? 1e3 : ns < 1000000000 ? 1e6 : 1e9), 4);
	strbuf_addf(out, " %s%s%s", ns < 1000000 ? "us" : ns < 1000000000 ? "ms" : "s", of ? " " : "", of ? of : "");
}

/* "1 wait", "12 samples": @many is the plural. */
static void add_count(uint64_t n, const char *many, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIu64 " %.*s%s", n, (int)strlen(many) - 1, many, plural(n));
}

void header_add_amount(const struct header *h, uint64_t n, struct strbuf *out)
{
	const char *unit = header_unit(h);

	if (strcmp(unit, "ns") != 0) {
		add_count(n, unit, out);
		return;
	}
	add_time(n, profile_meta(h->profile, "event"), out);
}

static bool has_waits(const struct profile *p)
{
	for (uint32_t i = 0; i < p->nevents; i++)
		if (profile_has_waits(profile_text(p, p->events[i].name)))
			return true;
	return false;
}

/*
 * Appends "12 samples", or "12 samples, 3456 events" if something else is counted. Waits are no samples, and
 * are in off-cpu and wall, so there a sum would say nothing.
 */
static void add_total(const struct header *h, struct strbuf *out)
{
	if (has_waits(h->profile)) {
		strbuf_addf(out, "%" PRIu32 " events", h->profile->nevents);
		return;
	}
	add_count(h->profile->samples, profile_counted(h->profile->nevents ? NULL : profile_meta(h->profile, "event")), out);
	if (h->profile->nevents)
		strbuf_addf(out, " of %" PRIu32 " events", h->profile->nevents);
	if (h->profile->nevents || !h->period || !h->profile->period)
		return;
	strbuf_adds(out, ", ");
	header_add_amount(h, total(h), out);
	strbuf_addc(out, ',');
}

/* The number of different stacks over all threads. */
static uint64_t stacks(const struct profile *p)
{
	bool *seen = xcalloc(p->nnodes, sizeof(*seen));
	uint64_t n = 0;

	for (size_t i = 0; i < p->ncounts; i++) {
		n += !seen[p->counts[i].node];
		seen[p->counts[i].node] = true;
	}
	free(seen);
	return n;
}

static uint64_t known(uint64_t n)
{
	return n != PROFILE_UNKNOWN ? n : 0;
}

/* As far as it is known of one of several events. */
static void ledger_of_event(const struct profile_event *ev, struct ev_ledger *l)
{
	*l = (struct ev_ledger){
		.kept = known(ev->kept), .lost_kernel = known(ev->lost), .cut = known(ev->cut), .dropped = known(ev->dropped),
		.withheld = known(ev->withheld), .throttled = known(ev->throttled_times), .throttled_samples = known(ev->throttled_samples),
	};
}

/* Appends a line for each of several events: how often it was sampled, and what it counted. */
static void add_events(const struct header *h, struct strbuf *out)
{
	const struct profile *p = h->profile;

	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct profile_event *ev = &p->events[i];
		const bool clock = !strcmp(profile_text(p, ev->unit), "ns");
		struct strbuf name = STRBUF_INIT, lacks = STRBUF_INIT;
		struct ev_ledger l;

		profile_event_text(p, i, &name);
		strbuf_adds(out, "# event ");
		escape_text(out, name.s ? name.s : "");
		if (ev->frequency)
			strbuf_addf(out, ", %" PRIu64 " Hz", ev->frequency);
		else if (ev->fixed_period > clock && strcmp(profile_text(p, ev->name), "off-cpu") != 0)
			strbuf_addf(out, ", every %" PRIu64 "%s", ev->fixed_period, clock ? " ns" : "");
		strbuf_adds(out, ": ");
		add_count(ev->samples, profile_counted(profile_text(p, ev->name)), out);
		if (ev->by_period && clock) {
			strbuf_adds(out, ", ");
			add_time(ev->period, profile_text(p, ev->name), out);
		} else if (ev->by_period) {
			strbuf_addf(out, ", %" PRIu64 " event%s", ev->period, plural(ev->period));
		}
		ledger_of_event(ev, &l);
		ledger_sums_text(&l, &lacks);
		if (lacks.len)
			strbuf_addf(out, ", %s", lacks.s);
		/* Unknown for some of the samples. */
		if (profile_meta(p, "truncated"))
			strbuf_addf(out, ", %" PRIu64 " truncated", ev->truncated);
		strbuf_adds(out, "\n");
		strbuf_fini(&name);
		strbuf_fini(&lacks);
	}
}

static uint64_t meta_u64(const struct profile *p, const char *key)
{
	const char *v = profile_meta(p, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* Appends all values of @key, each as "@before<value>@after". */
static void add_meta(const struct profile *p, const char *key, const char *before, const char *after,
		     struct strbuf *out)
{
	for (uint32_t i = 0; i < p->nmeta; i++)
		if (!strcmp(profile_text(p, p->meta[i].key), key)) {
			strbuf_adds(out, before);
			escape_text(out, profile_text(p, p->meta[i].value));
			strbuf_adds(out, after);
		}
}

/* Fills @l as far as the profile has a ledger. False: unknown. */
static bool ledger_of(const struct profile *p, struct ev_ledger *l)
{
	*l = (struct ev_ledger){
		.kept = meta_u64(p, "kept"), .lost_kernel = meta_u64(p, "lost"), .cut = meta_u64(p, "cut"),
		.dropped = meta_u64(p, "dropped"), .withheld = meta_u64(p, "withheld"),
		.throttled = meta_u64(p, "throttled_times"), .throttled_samples = meta_u64(p, "throttled_samples"),
	};
	return profile_meta(p, "kept");
}

/* Appends the filters as one list. */
static void add_filters(const struct profile *p, const char *before, const char *after, struct strbuf *out)
{
	struct strbuf list = STRBUF_INIT;

	add_meta(p, "filter", ", ", "", &list);
	if (list.len)
		strbuf_addf(out, "%s%s%s", before, list.s + strlen(", "), after);
	strbuf_fini(&list);
}

/* Appends what was recorded, how and where. */
static void add_command(const struct profile *p, struct strbuf *out)
{
	if (!profile_meta(p, "command"))
		return;
	strbuf_adds(out, "# ");
	add_meta(p, "hostname", "on ", ": ", out);
	add_meta(p, "command", "", "\n", out);
}

/* The facts that a reader of the table needs first; perf report also prints such a header. */
void header_text(const struct header *h, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;
	const struct profile *p = h->profile;
	struct ev_ledger l;

	strbuf_adds(&sb, "# ");
	add_total(h, &sb);
	strbuf_addf(&sb, " in %" PRIu64 " different stack%s, from '", stacks(h->profile), plural(stacks(h->profile)));
	escape_text(&sb, h->path);
	strbuf_adds(&sb, "'\n");
	add_command(p, &sb);
	add_events(h, &sb);
	if (profile_meta(p, "event")) {
		if (p->nevents) {
			strbuf_adds(&sb, "# all events");
		} else {
			add_meta(p, "event", "# event ", "", &sb);
			add_meta(p, "event_modifier", ":", "", &sb);
			add_meta(p, "frequency", ", ", " Hz", &sb);
		}
		add_meta(p, "target", ", ", "", &sb);
		if (ledger_of(p, &l)) {
			size_t at = sb.len;

			strbuf_adds(&sb, "; ");
			ledger_sums_text(&l, &sb);
			if (sb.len == at + 2)
				strbuf_adds(&sb, "0 lost");
			/* Unknown for some of the samples. */
			add_meta(p, "truncated", ", ", " truncated", &sb);
		}
		add_meta(p, "note", "; ", "", &sb);
		strbuf_adds(&sb, "\n");
	} else {
		add_meta(p, "note", "# ", "\n", &sb);
	}
	add_meta(p, "throttled", "# ", "\n", &sb);
	if (h->interrupted)
		strbuf_adds(&sb, "# " INTERRUPTED "\n");
	add_filters(p, "# only ", "\n", &sb);
	strbuf_adds(&sb, "#\n");
	fwrite(sb.s, 1, sb.len, to);
	strbuf_fini(&sb);
}

/* A picture is passed on without the recording, so it must say itself what it does not show. */
void header_subtitle(const struct header *h, struct strbuf *sub)
{
	const struct profile *p = h->profile;
	struct strbuf sb = STRBUF_INIT;
	struct ev_ledger l;

	add_total(h, sub);
	strbuf_addf(sub, " in %" PRIu64 " stack%s", stacks(h->profile), plural(stacks(h->profile)));
	if (h->interrupted)
		strbuf_adds(sub, "; " INTERRUPTED);
	add_filters(p, "; only ", "", sub);
	if (ledger_of(p, &l)) {
		ledger_sums_text(&l, &sb);
		if (sb.len)
			strbuf_addf(sub, "; %s", sb.s);
	}
	add_meta(p, "note", "; ", "", sub);
	add_meta(p, "throttled", "; ", "", sub);
	strbuf_fini(&sb);
}

static void json_known(struct json *j, const char *key, uint64_t n)
{
	if (n != PROFILE_UNKNOWN)
		json_u64(j, key, n);
}

/* With several events, which are columns. */
static void events_json(const struct profile *p, struct json *j)
{
	json_begin_array(j, "events");
	for (uint32_t i = 0; i < p->nevents; i++) {
		const struct profile_event *ev = &p->events[i];
		struct strbuf name = STRBUF_INIT;

		profile_event_text(p, i, &name);
		json_begin_object(j, NULL);
		json_str(j, "event", name.s ? name.s : "");
		json_str(j, "unit", ev->by_period ? "period" : "samples");
		json_str(j, "period_unit", ev->unit ? profile_text(p, ev->unit) : "events");
		json_u64(j, "samples", ev->samples);
		json_u64(j, "period", ev->period);
		if (ev->frequency)
			json_u64(j, "frequency", ev->frequency);
		if (ev->fixed_period)
			json_u64(j, "fixed_period", ev->fixed_period);
		json_known(j, "kept", ev->kept);
		json_known(j, "lost", ev->lost);
		json_known(j, "cut", ev->cut);
		json_known(j, "dropped", ev->dropped);
		json_known(j, "withheld", ev->withheld);
		json_known(j, "throttled_times", ev->throttled_times);
		json_known(j, "throttled_samples", ev->throttled_samples);
		if (profile_meta(p, "truncated")) {
			json_u64(j, "truncated", ev->truncated);
			json_u64(j, "incomplete", ev->incomplete);
		}
		json_end_object(j);
		strbuf_fini(&name);
	}
	json_end_array(j);
}

void header_json(const struct header *h, struct json *j)
{
	static const char *const texts[] = {
		"event", "event_modifier", "event_unit", "hostname", "target", "command", "call_graph", "stacks",
	};
	static const char *const numbers[] = {
		"frequency", "fixed_period", "stack_bytes", "ncpus", "begin_wall_ns", "duration_ns", "kept", "lost", "cut",
		"dropped", "withheld", "throttled_times", "throttled_samples", "truncated", "incomplete",
	};
	static const char *const lists[] = { "filter", "throttled", "note" };
	const struct profile *p = h->profile;

	json_str(j, "input", h->path);
	if (p->nevents)
		events_json(p, j);
	json_str(j, "unit", h->period ? "period" : "samples");
	json_u64(j, "total", total(h));
	json_u64(j, "different_stacks", stacks(h->profile));
	json_bool(j, "interrupted", h->interrupted);
	/* Several events are described above. */
	for (size_t i = p->nevents ? 2 : 0; i < ARRAY_SIZE(texts); i++)
		if (profile_meta(p, texts[i]))
			json_str(j, texts[i], profile_meta(p, texts[i]));
	for (size_t i = p->nevents ? 2 : 0; i < ARRAY_SIZE(numbers); i++)
		if (profile_meta(p, numbers[i]))
			json_u64(j, numbers[i], meta_u64(p, numbers[i]));
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		json_begin_array(j, lists[i]);
		for (uint32_t k = 0; k < p->nmeta; k++)
			if (!strcmp(profile_text(p, p->meta[k].key), lists[i]))
				json_str(j, NULL, profile_text(p, p->meta[k].value));
		json_end_array(j);
	}
}
