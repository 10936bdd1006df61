/* Suggests values for a filter (filter_hint.h). */
#include "naming/filter_hint.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "modules/module.h"
#include "recording/rec_reader.h"
#include "replay/replay.h"
#include "replay/sample_cgroups.h"
#include "replay/sample_filter.h"

#define SHOWN 8
#define COMPARED 128	/* bytes of a text, from its end: paths often begin alike */

struct survey {
	const struct filter *f;
	struct intern *texts;
	struct u64map values[FILTER_KEYS];	/* number, or id of the text -> samples */
	uint64_t met[FILTER_KEYS];	/* samples that match the key's conditions */
	uint64_t first, last;		/* of the first and last sample, ns as in ev_sample.time */
	uint64_t samples;
};

struct candidate {
	uint64_t value, samples;
	size_t distance;
};

/* ---- distance ---- */

static const char *tail(const char *s)
{
	size_t len = strlen(s);

	return s + (len > COMPARED ? len - COMPARED : 0);
}

size_t filter_hint_distance(const char *glob, const char *text)
{
	size_t row[COMPARED + 1], n = 0, m;
	char plain[COMPARED + 1];

	for (const char *p = tail(glob); *p; p++)
		if (!strchr("*?[]", *p))
			plain[n++] = *p;
	plain[n] = '\0';
	if (strcasestr(text, plain))
		return 0;
	/* Levenshtein distance, one row at a time. */
	text = tail(text);
	m = strlen(text);
	for (size_t k = 0; k <= m; k++)
		row[k] = k;
	for (size_t i = 0; i < n; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < m; k++) {
			bool same = tolower((unsigned char)plain[i]) == tolower((unsigned char)text[k]);
			size_t change = diagonal + !same;

			diagonal = row[k + 1];
			row[k + 1] = MIN(change, MIN(row[k], row[k + 1]) + 1);
		}
	}
	return row[m];
}

/* ---- survey ---- */

static int on_sample(void *ctx, const struct replay_sample *s)
{
	struct survey *sv = ctx;
	struct strbuf buf = STRBUF_INIT;

	for (int k = 0; k < FILTER_KEYS; k++) {
		enum filter_key key = (enum filter_key)k;
		const char *text;
		uint64_t value;

		if (!sv->f->has[key] || key == FILTER_STATE)
			continue;
		sv->met[key] += filter_meets(sv->f, key, s);
		text = filter_text(key, s, &buf);
		value = text ? intern_add(sv->texts, text) : filter_number(sv->f, key, s);
		if (key != FILTER_TIME)
			*u64map_put(&sv->values[key], value, NULL) += 1;
	}
	if (!sv->samples || s->ev->time < sv->first)
		sv->first = s->ev->time;
	sv->last = MAX(sv->last, s->ev->time);
	sv->samples++;
	strbuf_fini(&buf);
	return 0;
}

/* ---- telling ---- */

static bool is_text(enum filter_key key)
{
	return key == FILTER_CONTAINER || key == FILTER_CGROUP || key == FILTER_COMM;
}

static int compare(const void *pa, const void *pb)
{
	const struct candidate *a = pa, *b = pb;

	if (a->distance != b->distance)
		return a->distance < b->distance ? -1 : 1;
	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->value < b->value ? -1 : 1;
}

static size_t distance(const struct survey *sv, enum filter_key key, const char *text)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < sv->f->n; i++)
		if (sv->f->conds[i].key == key)
			least = MIN(least, filter_hint_distance(sv->f->conds[i].text, text));
	return least;
}

static void add_values(const struct survey *sv, enum filter_key key, struct strbuf *out)
{
	const struct u64map *values = &sv->values[key];
	struct candidate *list = xcalloc(values->n, sizeof(*list));
	struct strbuf text = STRBUF_INIT;
	uint64_t value, samples;
	size_t n = 0, it = 0;

	while (u64map_next(values, &it, &value, &samples)) {
		list[n] = (struct candidate){ .value = value, .samples = samples };
		if (is_text(key))
			list[n].distance = distance(sv, key, intern_str(sv->texts, (uint32_t)value));
		n++;
	}
	qsort(list, n, sizeof(*list), compare);
	for (size_t i = 0; i < MIN(n, (size_t)SHOWN); i++) {
		strbuf_reset(&text);
		if (is_text(key))
			escape_name(&text, intern_str(sv->texts, (uint32_t)list[i].value));
		else
			strbuf_addf(&text, "%" PRIu64, list[i].value);
		strbuf_addf(out, "%s'%s' (%" PRIu64 ")", i ? ", " : "", text.s, list[i].samples);
	}
	if (n > SHOWN)
		strbuf_addf(out, " and %zu more", n - SHOWN);
	strbuf_fini(&text);
	free(list);
}

static void add_conditions(const struct filter *f, enum filter_key key, struct strbuf *out)
{
	const char *sep = "";

	for (size_t i = 0; i < f->n; i++) {
		if (f->conds[i].key != key)
			continue;
		strbuf_addf(out, "%s%s=%s", sep, filter_key_name(key), f->conds[i].text);
		sep = " or ";
	}
}

/*
 * The argument of perf's --time, which counts times as nsprof script shows them; NULL: not given.
 */
static const char *span(const struct filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->conds[i].span)
			return f->conds[i].text;
	return NULL;
}

/* No sample is in the requested times. */
static void tell_times(const struct survey *sv)
{
	/* A ring may hold samples from before the recording began. They count as its very start. */
	const uint64_t start = span(sv->f) ? 0 : sv->f->start;
	uint64_t first = MAX(sv->first, start) - start, last = MAX(sv->last, start) - start;
	struct strbuf sb = STRBUF_INIT;

	if (span(sv->f))
		strbuf_addf(&sb, "--time %s", span(sv->f));
	else
		strbuf_adds(&sb, "--filter ");
	if (!span(sv->f))
		add_conditions(sv->f, FILTER_TIME, &sb);
	pr_err("no sample matches %s; there are samples from %.3f to %.3f s%s", sb.s, (double)first / 1e9,
	       (double)last / 1e9, span(sv->f) ? "; --filter time=FROM-TO counts from the start" : "");
	strbuf_fini(&sb);
}

/* No sample matches the conditions of @key. */
static void tell_key(const struct survey *sv, enum filter_key key)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_adds(&sb, "no sample matches --filter ");
	add_conditions(sv->f, key, &sb);
	strbuf_adds(&sb, "; values in the recording, with their samples: ");
	add_values(sv, key, &sb);
	pr_err("%s", sb.s);
	strbuf_fini(&sb);
}

static void tell(const struct survey *sv)
{
	struct strbuf sb = STRBUF_INIT;
	const char *sep = "";
	bool told = false;

	if (!sv->samples) {
		pr_err("the recording has no samples at all, with or without --filter");
		return;
	}
	for (int k = 0; k < FILTER_KEYS; k++) {
		if (!sv->f->has[k] || sv->met[k] || k == FILTER_STATE)
			continue;
		if (k == FILTER_TIME)
			tell_times(sv);
		else
			tell_key(sv, (enum filter_key)k);
		told = true;
	}
	if (told)
		return;
	strbuf_adds(&sb, "no sample matches all --filter conditions: ");
	for (int k = 0; k < FILTER_KEYS; k++) {
		if (!sv->f->has[k])
			continue;
		strbuf_adds(&sb, sep);
		add_conditions(sv->f, (enum filter_key)k, &sb);
		/* The state is known only when waits are weighed. */
		if (k == FILTER_STATE)
			strbuf_adds(&sb, " matches none of them");
		else
			strbuf_addf(&sb, " matches %" PRIu64, sv->met[k]);
		sep = ", ";
	}
	pr_err("%s", sb.s);
	strbuf_fini(&sb);
}

void filter_hint_tell(const struct filter *f, const struct container_names *names, struct rec_reader *r)
{
	struct survey sv = { .f = f, .texts = intern_new() };
	struct modules *mods = modules_new();
	struct replay *rp = replay_new(mods);

	sample_cgroups_expect(replay_cgroups(rp), names);
	/* Damage was reported by the first pass. */
	if (!replay_run(rp, r, on_sample, &sv))
		tell(&sv);
	replay_free(rp);
	modules_free(mods);
	for (int k = 0; k < FILTER_KEYS; k++)
		u64map_fini(&sv.values[k]);
	intern_free(sv.texts);
}
