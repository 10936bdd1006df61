#include "diff/diff_comparable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "diff/diff_amounts.h"
#include "profile/profile.h"

/*
 * Maximum difference between sides, in percentage points of the samples: beyond it, the missing
 * part may be what changed.
 */
#define LOSS_MAX 5.0
#define TRUNCATED_MAX 10.0
/* Percent of samples; less is not mentioned. */
#define LOSS_TOLD 0.1

/*
 * Settings that must agree: if they differ, different things were sampled, or other stacks of the
 * same things.
 */
static const struct setting {
	const char *key, *what;
} settings[] = {
	{ "event", "different events" },
	{ "event_modifier", "different parts of the event" },
	{ "call_graph", "different kinds of stacks" },
	{ "inlines", "inlined functions on one side only (--no-inline leaves them out)" },
	/* These may differ. */
	{ "hostname", NULL }, { "ncpus", NULL }, { "stack_bytes", NULL }, { "target", NULL },
};

/*
 * Strips an event's modifier to the letters that select what is sampled. "p" sets the precision of
 * addresses and is perf's default.
 */
static char *parts_of(const char *modifier)
{
	char *parts = xstrdup(modifier), *to = parts;

	for (const char *s = modifier; *s; s++)
		if (*s != 'p')
			*to++ = *s;
	*to = '\0';
	return parts;
}

static bool same_parts(const char *a, const char *b)
{
	char *pa = parts_of(a), *pb = parts_of(b);
	bool same = !strcmp(pa, pb);

	free(pa);
	free(pb);
	return same;
}

static void one_setting(const struct setting *s, const struct diff_input *a, const struct diff_input *b, struct strbuf *why,
			size_t *nwhy, struct strbuf *notes)
{
	const char *va = profile_meta(a->profile, s->key), *vb = profile_meta(b->profile, s->key);

	/* For a known event, no modifier means all of it. */
	if (!strcmp(s->key, "event_modifier") && profile_meta(a->profile, "event") && profile_meta(b->profile, "event")) {
		va = va ? va : "";
		vb = vb ? vb : "";
		if (same_parts(va, vb))
			return;
	}
	if (!va || !vb || !strcmp(va, vb))
		return;
	if (!s->what) {
		strbuf_addf(notes, "%s differs: ", s->key);
		escape_text(notes, va);
		strbuf_adds(notes, " and ");
		escape_text(notes, vb);
		strbuf_addc(notes, '\n');
		return;
	}
	strbuf_addf(why, "%s: '", s->what);
	escape_text(why, a->path);
	strbuf_addf(why, "' has %s ", s->key);
	escape_text(why, *va ? va : "none");
	strbuf_adds(why, ", '");
	escape_text(why, b->path);
	strbuf_adds(why, "' ");
	escape_text(why, *vb ? vb : "none");
	strbuf_addc(why, '\n');
	++*nwhy;
}

/* Percent of samples; NAN if unknown. */
static double lost_share(const struct profile *p)
{
	double lost = profile_number(p, "lost") + profile_number(p, "dropped"), all = profile_number(p, "kept") + profile_number(p, "cut") + lost;

	return all > 0 ? 100 * lost / all : NAN;
}

static double meta_share(const struct profile *p, const char *key)
{
	double all = (double)p->samples;

	return all > 0 && profile_meta(p, key) ? 100 * profile_number(p, key) / all : NAN;
}

/* @counted: "samples" or "waits". */
static size_t shares_differ(const char *what, const char *counted, double a, double b, double max, const struct diff_input *ia,
			    const struct diff_input *ib, struct strbuf *why)
{
	if (!(fabs(a - b) > max))
		return 0;
	strbuf_addf(why, "%s: %.1f %% of the %s of '", what, a, counted);
	escape_text(why, ia->path);
	strbuf_addf(why, "', %.1f %% of '", b);
	escape_text(why, ib->path);
	strbuf_addf(why, "'; more than %.0f points apart\n", max);
	return 1;
}

/* Appends what readers should know from the profile itself. */
static void own_notes(const struct diff_input *in, const struct diff_opts *opts, struct strbuf *notes)
{
	const struct profile *p = in->profile;
	const double lost = 100 * amounts_missing(p);

	for (uint32_t i = 0; i < p->nmeta; i++) {
		const char *key = intern_str(p->strings, p->meta[i].key);

		if (strcmp(key, "note") && strcmp(key, "throttled") && strcmp(key, "filter"))
			continue;
		escape_text(notes, in->path);
		strbuf_adds(notes, !strcmp(key, "filter") ? ": only " : ": ");
		escape_text(notes, intern_str(p->strings, p->meta[i].value));
		strbuf_addc(notes, '\n');
	}
	if (lost >= LOSS_TOLD) {
		escape_text(notes, in->path);
		strbuf_adds(notes, ": ");
		strbuf_add_number(notes, lost, 2);
		strbuf_addf(notes, " %% of its samples were lost or not taken%s\n",
			    opts->per == DIFF_PER_TOTAL ? "" : "; amounts assume that they were like the others");
	}
	if (p->cut) {
		escape_text(notes, in->path);
		strbuf_adds(notes, ": ends early; only the part that exists is compared\n");
	}
}

static size_t alone(const struct diff_input *in, const struct diff_opts *opts, struct strbuf *why)
{
	const struct profile *p = in->profile;
	const char *reason = NULL;

	if (!p->samples)
		reason = "has no samples";
	else if (p->samples == UINT64_MAX || p->period == UINT64_MAX)
		reason = "has counts that overflow 64 bits";
	else if (opts->period && !p->period)
		reason = "has no periods; use --weight samples";
	else if (opts->per == DIFF_PER_SECOND && !p->block_ns && !profile_meta(p, "duration_ns"))
		reason = "has no duration; compare shares, or use --scale";
	if (!reason)
		return 0;
	strbuf_adds(why, "'");
	escape_text(why, in->path);
	strbuf_addf(why, "' %s\n", reason);
	return 1;
}

size_t diff_fit(const struct diff_input *in, size_t n, const struct diff_opts *opts, struct strbuf *why, struct strbuf *notes)
{
	const char *counted = profile_counted(profile_meta(in[0].profile, "event"));
	size_t nwhy = 0;

	for (size_t i = 0; i < n; i++) {
		nwhy += alone(&in[i], opts, why);
		own_notes(&in[i], opts, notes);
	}
	for (size_t i = 1; i < n && !nwhy; i++) {
		for (size_t k = 0; k < sizeof(settings) / sizeof(settings[0]); k++)
			one_setting(&settings[k], &in[0], &in[i], why, &nwhy, notes);
		nwhy += shares_differ("losses differ too much", "samples", lost_share(in[0].profile), lost_share(in[i].profile), LOSS_MAX,
				      &in[0], &in[i], why);
		nwhy += shares_differ("shares of truncated stacks differ too much", counted, meta_share(in[0].profile, "truncated"),
				      meta_share(in[i].profile, "truncated"), TRUNCATED_MAX, &in[0], &in[i], why);
		nwhy += shares_differ("shares of stacks without a root differ too much", counted, meta_share(in[0].profile, "incomplete"),
				      meta_share(in[i].profile, "incomplete"), TRUNCATED_MAX, &in[0], &in[i], why);
	}
	return nwhy;
}
