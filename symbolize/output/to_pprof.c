#include "output/to_pprof.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec_zlib.h"
#include "modules/module.h"
#include "profile/profile.h"

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION, PROFILE_STRING,
       PROFILE_TIME = 9, PROFILE_DURATION, PROFILE_PERIOD_TYPE, PROFILE_PERIOD, PROFILE_COMMENT,
       PROFILE_DEFAULT_TYPE };
enum { VALUE_TYPE = 1, VALUE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_STR, LABEL_NUM };
enum { MAPPING_ID = 1, MAPPING_FILENAME = 5, MAPPING_BUILD_ID, MAPPING_HAS_FUNCTIONS };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILENAME };

struct pprof {
	const struct profile *p;
	struct strbuf out;
	struct intern *strings;		/* the string table; 0 is "", as the format requires */
	struct u64map mappings;		/* string id of a file -> mapping id */
	uint32_t nevents;		/* at least 1; each has two values */
	uint64_t *values;		/* owned; of the current sample: samples and period by event */
	struct strbuf one, inner;	/* the current message, and one within it */
};

/* ---- the wire format: protobuf.dev/programming-guides/encoding ---- */

static void put_varint(struct strbuf *sb, uint64_t v)
{
	uint8_t byte;

	for (; v >= 0x80; v >>= 7) {
		byte = (uint8_t)(v | 0x80);
		strbuf_add(sb, &byte, 1);
	}
	byte = (uint8_t)v;
	strbuf_add(sb, &byte, 1);
}

static void put_u64(struct strbuf *sb, unsigned int field, uint64_t v)
{
	if (!v)
		return;
	put_varint(sb, field << 3);
	put_varint(sb, v);
}

static void put_bytes(struct strbuf *sb, unsigned int field, const void *data, size_t len)
{
	put_varint(sb, field << 3 | 2);
	put_varint(sb, len);
	strbuf_add(sb, data, len);
}

static void put_message(struct pprof *w, unsigned int field)
{
	put_bytes(&w->out, field, w->one.s, w->one.len);
	strbuf_reset(&w->one);
}

/* ---- strings ---- */

static uint64_t str(struct pprof *w, const char *s)
{
	return intern_add(w->strings, s);
}

static uint64_t text(struct pprof *w, uint32_t id)
{
	return str(w, intern_str(w->p->strings, id));
}

/* ---- contents ---- */

static void value_type(struct pprof *w, unsigned int field, const char *type, const char *unit)
{
	put_u64(&w->one, VALUE_TYPE, str(w, type));
	put_u64(&w->one, VALUE_UNIT, str(w, unit));
	put_message(w, field);
}

/* The build-id of the only binary at @path; "" if there are several or none is known. */
static void build_id_of(const struct modules *mods, const char *path, char hex[2 * BUILD_ID_MAX + 1])
{
	const struct module *m, *found = NULL;
	size_t it = 0;

	hex[0] = '\0';
	while ((m = modules_next((struct modules *)(uintptr_t)mods, &it))) {
		if (strcmp(m->dso.path, path) != 0)
			continue;
		if (found)
			return;
		found = m;
	}
	for (size_t i = 0; found && i < found->dso.build_id_len; i++)
		sprintf(hex + 2 * i, "%02x", found->dso.build_id[i]);
}

static uint64_t mapping_of(struct pprof *w, uint32_t dso, const struct modules *mods)
{
	char hex[2 * BUILD_ID_MAX + 1];
	const char *path = intern_str(w->p->strings, dso);
	bool is_new;
	uint64_t *slot, id;

	if (!dso)
		return 0;
	slot = u64map_put(&w->mappings, dso, &is_new);
	if (!is_new)
		return *slot;
	id = w->mappings.n;
	*slot = id;
	build_id_of(mods, path, hex);
	put_u64(&w->one, MAPPING_ID, id);
	put_u64(&w->one, MAPPING_FILENAME, str(w, path));
	put_u64(&w->one, MAPPING_BUILD_ID, str(w, hex));
	put_u64(&w->one, MAPPING_HAS_FUNCTIONS, 1);
	put_message(w, PROFILE_MAPPING);
	return id;
}

/* Writes a location and a function for each frame, all with the frame's number. */
static void put_frame(struct pprof *w, uint32_t i, const struct modules *mods)
{
	const struct profile_frame *f = &w->p->frames[i];
	const char *line = intern_str(w->p->strings, f->srcline), *colon = strrchr(line, ':');
	uint64_t mapping = mapping_of(w, f->dso, mods);
	char *file = xstrndup(line, colon ? (size_t)(colon - line) : 0);

	put_u64(&w->one, FUNCTION_ID, i);
	put_u64(&w->one, FUNCTION_NAME, text(w, f->name));
	put_u64(&w->one, FUNCTION_SYSTEM_NAME, text(w, f->name));
	put_u64(&w->one, FUNCTION_FILENAME, str(w, file));
	put_message(w, PROFILE_FUNCTION);
	put_u64(&w->inner, LINE_FUNCTION, i);
	put_u64(&w->inner, LINE_LINE, colon ? strtoull(colon + 1, NULL, 10) : 0);
	put_u64(&w->one, LOCATION_ID, i);
	put_u64(&w->one, LOCATION_MAPPING, mapping);
	put_bytes(&w->one, LOCATION_LINE, w->inner.s, w->inner.len);
	strbuf_reset(&w->inner);
	put_message(w, PROFILE_LOCATION);
	free(file);
}

static void label(struct pprof *w, const char *key, const char *s, int64_t num)
{
	if (s ? !*s : num < 0)
		return;
	put_u64(&w->inner, LABEL_KEY, str(w, key));
	if (s)
		put_u64(&w->inner, LABEL_STR, str(w, s));
	else
		put_u64(&w->inner, LABEL_NUM, (uint64_t)num);
	put_bytes(&w->one, SAMPLE_LABEL, w->inner.s, w->inner.len);
	strbuf_reset(&w->inner);
}

static void put_sample(struct pprof *w, const struct profile_count *c)
{
	const struct profile *p = w->p;
	const struct profile_thread *t = &p->threads[c->thread];

	for (uint32_t node = c->node; node; node = p->nodes[node].parent)
		put_varint(&w->inner, p->nodes[node].frame);
	put_bytes(&w->one, SAMPLE_LOCATION, w->inner.s, w->inner.len);
	strbuf_reset(&w->inner);
	for (uint32_t i = 0; i < 2 * w->nevents; i++)
		put_varint(&w->inner, w->values[i]);
	put_bytes(&w->one, SAMPLE_VALUE, w->inner.s, w->inner.len);
	strbuf_reset(&w->inner);
	if (c->thread) {
		label(w, "pid", NULL, t->pid);
		label(w, "tid", NULL, t->tid);
		label(w, "process", intern_str(p->strings, t->process), 0);
		label(w, "comm", intern_str(p->strings, t->comm), 0);
		label(w, "container", intern_str(p->strings, t->container), 0);
		label(w, "cgroup", intern_str(p->strings, t->cgroup), 0);
	}
	put_message(w, PROFILE_SAMPLE);
}

static int by_thread_and_node(const void *a, const void *b)
{
	const struct profile_count *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/*
 * The format has no times, and a sample has a value for each event: counts with the same thread and
 * stack are merged.
 */
static void put_samples(struct pprof *w)
{
	struct profile_count *counts = xcalloc(w->p->ncounts + 1, sizeof(*counts));

	if (w->p->ncounts) {
		memcpy(counts, w->p->counts, w->p->ncounts * sizeof(*counts));
		qsort(counts, w->p->ncounts, sizeof(*counts), by_thread_and_node);
	}
	for (size_t i = 0; i < w->p->ncounts;) {
		const struct profile_count *first = &counts[i];

		memset(w->values, 0, 2 * w->nevents * sizeof(*w->values));
		for (; i < w->p->ncounts && !by_thread_and_node(first, &counts[i]); i++) {
			w->values[2 * counts[i].event] += counts[i].samples;
			w->values[2 * counts[i].event + 1] += counts[i].period;
		}
		put_sample(w, first);
	}
	free(counts);
}

static uint64_t meta_number(const struct profile *p, const char *key)
{
	const char *v = profile_meta(p, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

static void put_rest(struct pprof *w, const char *type, const char *unit)
{
	static const char *const comments[] = { "command", "target", "hostname", "throttled", "note" };
	const uint64_t hz = meta_number(w->p, "frequency"), fixed = meta_number(w->p, "fixed_period");

	put_u64(&w->out, PROFILE_TIME, meta_number(w->p, "begin_wall_ns"));
	put_u64(&w->out, PROFILE_DURATION, meta_number(w->p, "duration_ns"));
	value_type(w, PROFILE_PERIOD_TYPE, type, unit);
	/*
	 * For an event that is not a clock, the frequency does not determine the period, which
	 * varies.
	 */
	put_u64(&w->out, PROFILE_PERIOD, fixed ? fixed : hz && !strcmp(unit, "nanoseconds") ? 1000000000 / hz : 0);
	/* By default the last type counts: with one event its period, with several that of the last. */
	if (profile_by_period(w->p) || w->p->nevents)
		put_u64(&w->out, PROFILE_DEFAULT_TYPE, str(w, type));
	for (size_t i = 0; i < ARRAY_SIZE(comments); i++) {
		const char *v = profile_meta(w->p, comments[i]);

		if (v)
			put_u64(&w->out, PROFILE_COMMENT, str(w, v));
	}
	for (uint32_t i = 0; i < intern_count(w->strings); i++)
		put_bytes(&w->out, PROFILE_STRING, intern_str(w->strings, i), intern_len(w->strings, i));
}

/* The name of a type: "cpu" for the first CPU clock; Pyroscope knows "off_cpu". */
static const char *type_name(const char *event, bool clock, bool *clock_seen)
{
	const char *of = profile_time_of(event, clock ? "ns" : "");

	if (profile_is_off_cpu(event))
		return "off_cpu";
	if (!clock || *clock_seen || !of || strcmp(of, "of CPU time") != 0)
		return event;
	*clock_seen = true;
	return "cpu";
}

/*
 * The types of one event's values. With several, only the first may be called "samples", and only the
 * first clock "cpu".
 */
static void put_types(struct pprof *w, uint32_t at, bool *clock_seen)
{
	const struct profile_event *ev = &w->p->events[at];
	const bool clock = !strcmp(profile_text(w->p, ev->unit), "ns");
	struct strbuf name = STRBUF_INIT, samples = STRBUF_INIT;

	profile_event_text(w->p, at, &name);
	strbuf_addf(&samples, "%s:samples", name.s ? name.s : "");
	value_type(w, PROFILE_SAMPLE_TYPE, at ? samples.s : "samples", "count");
	value_type(w, PROFILE_SAMPLE_TYPE, type_name(name.s ? name.s : "", clock, clock_seen), clock ? "nanoseconds" : "count");
	strbuf_fini(&name);
	strbuf_fini(&samples);
}

int to_pprof(FILE *to, const struct profile *p, const struct modules *mods)
{
	struct pprof w = { .p = p, .strings = intern_new() };
	const char *event = profile_meta(p, "event");
	const bool clock = p->nevents ? !strcmp(profile_text(p, p->events[0].unit), "ns") : !event || profile_time_of(event, profile_meta(p, "event_unit"));
	struct strbuf first = STRBUF_INIT;
	bool clock_seen = false;
	int err;

	w.nevents = MAX(p->nevents, 1u);
	w.values = xcalloc(2 * (size_t)w.nevents, sizeof(*w.values));
	for (uint32_t i = 0; i < p->nevents; i++)
		put_types(&w, i, &clock_seen);
	if (!p->nevents) {
		value_type(&w, PROFILE_SAMPLE_TYPE, "samples", "count");
		value_type(&w, PROFILE_SAMPLE_TYPE, type_name(event ? event : "cpu-clock", clock, &clock_seen),
			   clock ? "nanoseconds" : "count");
	}
	for (uint32_t i = 1; i < p->nframes; i++)
		put_frame(&w, i, mods);
	put_samples(&w);
	profile_event_text(p, 0, &first);
	clock_seen = false;
	put_rest(&w, type_name(p->nevents ? first.s : event ? event : "cpu-clock", clock, &clock_seen), clock ? "nanoseconds" : "count");
	strbuf_fini(&first);
	err = zlib_gzip(to, w.out.s, w.out.len);
	strbuf_fini(&w.out);
	strbuf_fini(&w.one);
	strbuf_fini(&w.inner);
	intern_free(w.strings);
	u64map_fini(&w.mappings);
	free(w.values);
	return err;
}
