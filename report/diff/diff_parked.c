#include "diff/diff_parked.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "diff/diff_side.h"
#include "diff/diff_threads.h"
#include "diff/diff_times.h"
#include "input/reshape.h"
#include "profile/lead_frames.h"
#include "profile/profile.h"

#define PARKED_SHARE 0.9
/* So much of the time it has to be known where a thread was, or nothing is. */
#define KNOWN_SHARE 0.1

/* In parked.only: threads of this kind are parked in several places. */
#define SEVERAL UINT64_MAX

/* Does the stack of a place end with what the thread waits for: "[futex]"? */
enum reason { NO_REASON, REASON };

/* One of the profiles. */
struct input {
	const struct profile *p;	/* borrowed */
	uint32_t *place;	/* owned; node -> where a thread is off the CPU (node of parked.all); 0: it is not */
	uint64_t *kind;		/* owned; thread -> hash of its names without numbers; 0: it has none */
	bool *parked;		/* owned; by thread */
	const struct parked *all;
};

struct parked {
	struct profile *all;	/* owned; stacks of all profiles, with names as compared */
	struct u64map places;	/* hash of kind and place, where threads of this kind are parked -> enum reason */
	struct u64map only;	/* kind that is parked -> its place; 0: not known, since none ran; SEVERAL */
};

static const char *leaf(const struct profile *p, uint32_t node)
{
	return profile_text(p, p->frames[p->nodes[node].frame].name);
}

static bool is_before(const struct profile *p, uint32_t place)
{
	return !strcmp(leaf(p, place), WAITS_BEFORE);
}

static bool is_unknown(const struct profile *p, uint32_t place)
{
	return is_before(p, place) || !strcmp(leaf(p, place), WAITS_NO_STACK);
}

static bool has_reason(const struct profile *p, uint32_t node)
{
	return *leaf(p, node) == '[' && !p->frames[p->nodes[node].frame].dso && strcmp(leaf(p, node), WAITS_PARKED) != 0;
}

/* Is the time of a stack that ends with @state off the CPU, and at one place? */
static bool is_place(const struct profile *p, uint32_t node, enum lead_state state)
{
	if (!node || state == STATES || state == STATE_RUNNING)
		return false;
	return strcmp(leaf(p, node), WAITS_STARTING) != 0 && strncmp(leaf(p, node), WAITS_BRIEF, strlen(WAITS_BRIEF)) != 0;
}

/* Stacks end with their state. */
static uint32_t *places_of(struct profile *all, const struct profile *p, const struct diff_opts *o)
{
	uint32_t *frames = diff_side_frames(all, p, o), *place = reshape_nodes(all, p, frames);

	for (uint32_t i = p->nnodes; i-- > 0;) {
		const enum lead_state state = i ? lead_state_find(leaf(p, i)) : STATES;

		/* Parents come before their children, so theirs is still a node of @all. */
		place[i] = is_place(p, p->nodes[i].parent, state) ? place[p->nodes[i].parent] : 0;
	}
	free(frames);
	return place;
}

static struct input input_of(struct parked *all, const struct profile *p, const struct diff_opts *o)
{
	struct input in = {
		.p = p, .place = places_of(all->all, p, o), .kind = xcalloc(p->nthreads, sizeof(*in.kind)),
		.parked = xcalloc(p->nthreads, sizeof(*in.parked)), .all = all,
	};

	for (uint32_t i = 1; i < p->nthreads; i++) {
		const struct profile_thread *t = &p->threads[i];

		if (t->comm || t->process)
			in.kind[i] = hash_combine(diff_threads_name(p, t->comm), diff_threads_name(p, t->process));
	}
	return in;
}

static double covered_ns(const struct profile *p)
{
	struct spans s = times_of(p);
	double ns = 0;

	for (size_t i = 0; i < s.n; i++)
		ns += (double)(s.v[i].to - s.v[i].from);
	free(s.v);
	return ns;
}

static void note(struct parked *all, uint64_t kind, uint32_t place, enum reason reason)
{
	uint64_t *only = u64map_put(&all->only, kind, NULL);

	if (is_unknown(all->all, place))
		return;
	*u64map_put(&all->places, hash_combine(kind, place), NULL) = reason;
	*only = !*only || *only == place ? place : SEVERAL;
}

static void find(struct parked *all, struct input *in)
{
	const struct profile *p = in->p;
	const double all_ns = covered_ns(p);
	struct u64map at = U64MAP_INIT;		/* thread << 32 | place; 0: not known -> ns */

	for (size_t i = 0; i < p->ncounts && all_ns > 0; i++) {
		const struct profile_count *c = &p->counts[i];
		const uint32_t place = in->place[c->node];

		if (place && in->kind[c->thread])
			*u64map_put(&at, (uint64_t)c->thread << 32 | (is_unknown(all->all, place) ? 0 : place), NULL) += c->period;
	}
	for (size_t i = 0; i < p->ncounts && at.n; i++) {
		const struct profile_count *c = &p->counts[i];
		const uint32_t place = in->place[c->node];
		const uint64_t *ns = place ? u64map_get(&at, (uint64_t)c->thread << 32) : NULL;
		const double unknown_ns = ns ? (double)*ns : 0;

		if (!place || !in->kind[c->thread])
			continue;
		if (is_unknown(all->all, place)) {
			if (unknown_ns < PARKED_SHARE * all_ns)
				continue;
		} else {
			ns = u64map_get(&at, (uint64_t)c->thread << 32 | place);
			if ((double)*ns < MAX(PARKED_SHARE * (all_ns - unknown_ns), KNOWN_SHARE * all_ns))
				continue;
		}
		in->parked[c->thread] = true;
		note(all, in->kind[c->thread], place, has_reason(p, p->nodes[c->node].parent) ? REASON : NO_REASON);
	}
	u64map_fini(&at);
}

/* The place of a count whose thread is parked there, 0: at one that is not known; UINT32_MAX: it is not parked. */
static uint32_t parked_at(const struct input *in, const struct profile_count *c)
{
	const struct parked *all = in->all;
	const uint32_t place = in->place[c->node];
	const uint64_t kind = in->kind[c->thread], *only;

	if (!place || !kind)
		return UINT32_MAX;
	if (u64map_get(&all->places, hash_combine(kind, place)))
		return place;
	only = u64map_get(&all->only, kind);
	if (!only || !is_unknown(all->all, place) || !(in->parked[c->thread] || is_before(all->all, place)))
		return UINT32_MAX;
	return *only == SEVERAL ? 0 : (uint32_t)*only;
}

static void move(void *ctx, struct profile *to, const struct profile_count *from, struct profile_count *c)
{
	const struct input *in = ctx;
	const uint32_t place = parked_at(in, from), state = to->nodes[c->node].frame;
	const uint64_t *reason = u64map_get(&in->all->places, hash_combine(in->kind[from->thread], place));
	struct profile_frame f = { .kind = to->frames[state].kind };

	if (place == UINT32_MAX)
		return;
	f.name = profile_string(to, WAITS_PARKED);
	c->node = profile_child(to, 0, profile_frame(to, &f));
	if (reason && *reason == REASON) {
		f.name = profile_string(to, leaf(in->all->all, place));
		c->node = profile_child(to, c->node, profile_frame(to, &f));
	}
	c->node = profile_child(to, c->node, state);
}

void diff_parked(struct profile **profiles, size_t n, const struct diff_opts *o)
{
	struct parked all = { .all = profile_new() };
	struct input *in = xcalloc(n, sizeof(*in));

	for (size_t i = 0; i < n; i++) {
		in[i] = input_of(&all, profiles[i], o);
		find(&all, &in[i]);
	}
	for (size_t i = 0; i < n; i++) {
		if (all.only.n)
			profiles[i] = reshape_counts(profiles[i], move, &in[i]);
		free(in[i].place);
		free(in[i].kind);
		free(in[i].parked);
	}
	free(in);
	u64map_fini(&all.places);
	u64map_fini(&all.only);
	profile_free(all.all);
}
