/* Applies conditions to the counts of a profile, and to where its samples were (select.h). */
#include "input/select.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"
#include "profile/wait_frames.h"

/* Checks the conditions of @f on threads. */
static bool thread_meets(const struct profile *p, const struct profile_thread *t, const struct filter *f)
{
	/*
	 * In the order of enum filter_key. A merged thread has no number, and no filter asks for
	 * 2^64-1.
	 */
	const char *const texts[] = { profile_text(p, t->container), profile_text(p, t->cgroup), profile_text(p, t->comm) };
	const int32_t numbers[] = { t->pid, t->nspid, t->tid };

	for (int k = FILTER_CONTAINER; k <= FILTER_COMM; k++)
		if (!filter_accepts(f, (enum filter_key)k, texts[k - FILTER_CONTAINER], 0))
			return false;
	for (int k = FILTER_PID; k <= FILTER_TID; k++) {
		int32_t n = numbers[k - FILTER_PID];

		if (!filter_accepts(f, (enum filter_key)k, NULL, n < 0 ? UINT64_MAX : (uint64_t)n))
			return false;
	}
	return true;
}

/* How many of the remaining stacks are whole is unknown. */
static void forget_verdicts(struct profile *p)
{
	profile_unset_meta(p, "truncated");
	profile_unset_meta(p, "incomplete");
}

static void tell_condition(struct profile *p, const char *key, const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	strbuf_addf(&sb, "%s=%s", key, text);
	profile_set_meta(p, "filter", sb.s);
	strbuf_fini(&sb);
}

static void tell_profile(struct profile *p, const struct filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		tell_condition(p, filter_key_name(f->conds[i].key), f->conds[i].text);
	if (f->has[FILTER_TIME]) {
		struct strbuf sb = STRBUF_INIT;

		/* A block is in if its beginning is. */
		filter_times(f, p->block_ns, &sb);
		profile_set_meta(p, "times", sb.s);
		strbuf_fini(&sb);
	}
	forget_verdicts(p);
}

static void tell_blocks(const struct profile *p)
{
	pr_info("--filter time= on a saved profile selects whole blocks of %.3g s", (double)p->block_ns / 1e9);
}

/* Conditions on a count; NULL: none. */
struct chosen {
	const bool *threads;	/* by id */
	const bool *frames;	/* by id of the innermost frame, or of what Self counts */
	const struct wait_frames *waits;
	const struct filter *rest;	/* times and states */
};

/* What its thread does. */
static enum lead_state state_of(const struct profile *p, uint32_t node)
{
	const struct profile_frame *f = &p->frames[p->nodes[node].frame];
	const enum lead_state state = f->kind == PROFILE_USER && !f->dso ? lead_state_find(profile_text(p, f->name)) : STATES;

	return state < STATES ? state : STATE_RUNNING;
}

/* A stack off the CPU ends with what the thread waits for and its state, and is in the function that waits. */
static bool is_in(const struct profile *p, const struct chosen *ch, uint32_t node)
{
	const uint32_t own = wait_frames_own(ch->waits, node);

	return ch->frames[p->nodes[node].frame] ||
	       (own != node && (ch->frames[p->nodes[own].frame] || ch->frames[p->nodes[p->nodes[node].parent].frame]));
}

static bool is_chosen(const struct profile *p, const struct chosen *ch, const struct profile_count *c)
{
	return (!ch->threads || ch->threads[c->thread]) && (!ch->frames || is_in(p, ch, c->node)) &&
	       (!ch->rest || (filter_accepts(ch->rest, FILTER_TIME, NULL, (uint64_t)c->block * p->block_ns) &&
			       filter_accepts(ch->rest, FILTER_STATE, NULL, state_of(p, c->node))));
}

static void add_saturated(uint64_t *to, uint64_t n)
{
	if (__builtin_add_overflow(*to, n, to))
		*to = UINT64_MAX;
}

/* Returns the number of counts that stay. */
static size_t keep(struct profile *p, const struct chosen *ch)
{
	size_t n = 0;

	p->samples = p->period = 0;
	for (uint32_t e = 0; e < p->nevents; e++)
		p->events[e].samples = p->events[e].period = 0;
	p->nblocks = 0;
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count c = p->counts[i];

		if (!is_chosen(p, ch, &c))
			continue;
		p->counts[n++] = c;
		add_saturated(&p->samples, c.samples);
		add_saturated(&p->period, c.period);
		if (p->nevents) {
			add_saturated(&p->events[c.event].samples, c.samples);
			add_saturated(&p->events[c.event].period, c.period);
		}
		if (p->block_ns)
			p->nblocks = MAX(p->nblocks, c.block + 1);
	}
	p->ncounts = n;
	return n;
}

int select_counts(struct profile *p, const struct filter *f, const char *name)
{
	bool *in = xcalloc(p->nthreads, sizeof(*in));
	const struct chosen ch = { .threads = in, .rest = f };
	size_t n;

	if (f->has[FILTER_TIME] && !p->block_ns) {
		pr_err("--filter time=: '%s' has no times", name);
		free(in);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < p->nthreads; i++)
		in[i] = thread_meets(p, &p->threads[i], f);
	n = keep(p, &ch);
	free(in);
	if (!n) {
		pr_err("no sample of '%s' matches all --filter conditions; --sort container,comm,pid shows what it has", name);
		return -ENODATA;
	}
	tell_profile(p, f);
	if (f->has[FILTER_TIME])
		tell_blocks(p);
	return 0;
}

/* ---- where samples were ---- */

struct names {
	char **v;	/* owned, with the texts */
	size_t n, cap;
};

/*
 * Length of text at @s that looks like brackets or a comma but is part of a name: a C++ operator,
 * or the arrow in Rust's "fn(i32) -> i32". 0: none. @at_word: no letter precedes it. Template
 * operators have a blank after the operator ("operator<< <int>").
 */
static size_t operator_len(const char *s, bool at_word)
{
	static const char word[] = "operator";
	const size_t n = sizeof(word) - 1;

	if (!strncmp(s, "->", 2))
		return 2;
	if (!at_word || strncmp(s, word, n))
		return 0;
	return s[n] == ',' && s[n + 1] == '(' ? n + 1 : n + strspn(s + n, "<>=-!");
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static void names_split(struct names *names, const char *list)
{
	const char *from = list;
	int depth = 0;	/* bracket depth: "std::map<int, long>" */

	for (const char *s = list;; s++) {
		s += operator_len(s, s == list || !in_word(s[-1]));
		if (*s && strchr("<([{", *s))
			depth++;
		else if (*s && strchr(">)]}", *s))
			depth--;
		if (*s && (*s != ',' || depth > 0))
			continue;
		XGROW(names->v, names->n, names->cap);
		names->v[names->n++] = xstrndup(from, (size_t)(s - from));
		if (!*s)
			break;
		from = s + 1;
	}
}

static bool names_have(const struct names *names, const char *text)
{
	for (size_t i = 0; i < names->n; i++)
		if (!strcmp(names->v[i], text) || !fnmatch(names->v[i], text, 0))
			return true;
	return false;
}

static void names_fini(struct names *names)
{
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i]);
	free(names->v);
}

static bool has_dso(const struct profile *p, const struct profile_frame *f, const struct names *dsos)
{
	const char *path = profile_text(p, f->dso), *last = strrchr(path, '/');

	return f->dso && (names_have(dsos, path) || (last && names_have(dsos, last + 1)));
}

static bool knows_dsos(const struct profile *p)
{
	for (uint32_t i = 1; i < p->nframes; i++)
		if (p->frames[i].dso)
			return true;
	return false;
}

int select_places(struct profile *p, const char *dsos, const char *symbols, const char *name)
{
	struct names files = { 0 }, functions = { 0 };
	struct wait_frames waits;
	bool *in;
	struct chosen ch;
	size_t n;

	if (dsos && !knows_dsos(p)) {
		pr_err("--dsos: '%s' does not record the files of its functions", name);
		return -EINVAL;
	}
	if (dsos)
		names_split(&files, dsos);
	if (symbols)
		names_split(&functions, symbols);
	in = xcalloc(p->nframes, sizeof(*in));
	for (uint32_t i = 1; i < p->nframes; i++)
		in[i] = (!dsos || has_dso(p, &p->frames[i], &files)) &&
			(!symbols || names_have(&functions, profile_text(p, p->frames[i].name)));
	wait_frames_init(&waits, p);
	ch = (struct chosen){ .frames = in, .waits = &waits };
	n = keep(p, &ch);
	wait_frames_fini(&waits);
	free(in);
	names_fini(&files);
	names_fini(&functions);
	if (!n) {
		pr_err("no sample of '%s' is in %s%s%s; --sort dso,symbol --no-children shows what it has", name,
		       symbols ? symbols : "code", dsos ? " of " : "", dsos ? dsos : "");
		return -ENODATA;
	}
	if (dsos)
		tell_condition(p, "dso", dsos);
	if (symbols)
		tell_condition(p, "symbol", symbols);
	forget_verdicts(p);
	return 0;
}
