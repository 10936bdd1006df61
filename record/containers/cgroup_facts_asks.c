#include "containers/cgroup_facts_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "containers/container_lookup.h"
#include "host/clock.h"

/* Answers that do not know the container of a removed cgroup. Its state may be gone with it. */
#define GONE_ANSWERS 3
/*
 * A runtime writes its state for a new cgroup before it executes the container's program. So the
 * state is read at each exec and at growing intervals, but for at most 1/ASK_SHARE of the time.
 */
#define ASK_TRIES 10
#define ASK_PAUSE_NS 5000000ull
#define ASK_SHARE 20
/*
 * Extra CPU time for each such cgroup, spent when something is executed in it, which is the right
 * moment. Reading may take long, with many states or on a busy machine. The share alone would then
 * come too late for a short-lived container. The runtime itself executes two or three times.
 */
#define ASK_CREDIT_NS 200000000ull

void cgroup_facts_ask_later(struct cgroup_facts *cf, const char *path, enum container_lookup_state state)
{
	struct cgroup_unit *u = cgroup_units_find(&cf->units, path, strlen(path));

	u->begun = true;
	/*
	 * The pending answer includes it. Otherwise, ask again as soon as the thread has time: it
	 * may have been known for long.
	 */
	u->asked = state == CONTAINER_LOOKUP_UNDER_WAY;
	if (u->asked) {
		cf->asking = true;
		cf->ask_last = false;
	}
	cf->again |= state == CONTAINER_LOOKUP_BUSY;
	u->credit = ASK_CREDIT_NS;
	cf->tries = ASK_TRIES;
	cf->ask_pause = ASK_PAUSE_NS;
	cf->ask_next = clock_mono_ns() + ASK_PAUSE_NS;
}

/* Readers of the recording give the name to earlier samples, too (sample_cgroups.h). */
static void known_now(struct cgroup_facts *cf, struct cgroup_unit *u, const struct container *ctr)
{
	u->begun = false;
	if (strcmp(ctr->cgroup, u->ev.cgroup)) {
		cgroup_facts_met_own(cf, ctr->cgroup, cgroup_facts_node(cf, ctr->cgroup, 0, ""), ctr, 0);
		return;
	}
	cgroup_unit_name(u, ctr);
	cgroup_facts_look(cf, u);
	cgroup_units_put(&cf->units, u, false);
}

/* If the answer has come, applies it to the units it was requested for. */
static void take_answer(struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (!cs)
		return;
	cf->asking = false;
	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];
		const struct container *ctr;

		if (!u->asked || !u->begun || u->segment != cf->units.segment)
			continue;
		u->asked = false;
		ctr = containers_of(cs, u->ev.cgroup);
		u->begun = !cf->ask_last && (!u->ev.gone || ++u->gone_answers < GONE_ANSWERS);
		if (ctr)
			known_now(cf, u, ctr);
	}
	cf->asked_until = clock_mono_ns() + (ASK_SHARE - 1) * container_lookup_took(cf->lk);
}

/* @last: there will be no further requests. */
static void ask(struct cgroup_facts *cf, bool last)
{
	const char **paths = xcalloc(cf->units.n + 1, sizeof(*paths));
	size_t n = 0;

	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];

		u->asked = u->begun && u->segment == cf->units.segment;
		if (u->asked)
			paths[n++] = u->ev.cgroup;
	}
	cf->asking = true;
	cf->ask_last = last;
	if (container_lookup_ask(cf->lk, CONTAINER_LOOKUP_BEGUN, paths, n))
		take_answer(cf);
	free(paths);
}

void cgroup_facts_ask_again(struct cgroup_facts *cf)
{
	const uint64_t now = clock_mono_ns();

	if (cf->asking)
		take_answer(cf);
	/* The thread may be working for another caller. */
	if (cf->asking || !cf->tries || !container_lookup_known(cf->lk))
		return;
	if (cf->again) {
		cf->again = false;
		ask(cf, false);
		return;
	}
	if (now < MAX(cf->ask_next, cf->asked_until))
		return;
	cf->tries--;
	ask(cf, !cf->tries);
	cf->ask_next = now + cf->ask_pause;
	cf->ask_pause *= 2;
}

/* The unit of @pid's cgroup if its container is unknown and it has credit left; otherwise NULL. */
static struct cgroup_unit *with_credit(const struct cgroup_facts *cf, uint32_t pid)
{
	char path[PATH_MAX];
	struct cgroup_unit *u;
	bool any = false;

	for (size_t i = 0; i < cf->units.n && !any; i++)
		any = cf->units.v[i]->begun && cf->units.v[i]->credit && cf->units.v[i]->segment == cf->units.segment;
	if (!any)
		return NULL;
	cgroup_facts_path_of(pid, path, sizeof(path));
	u = cgroup_units_find(&cf->units, path, strlen(path));
	return u && u->begun && u->credit && u->segment == cf->units.segment ? u : NULL;
}

void cgroup_facts_exec(struct cgroup_facts *cf, uint32_t pid)
{
	uint64_t before;
	struct cgroup_unit *u;

	if (!cf->tries)
		return;
	/* A running request may have read the state before the runtime wrote it. */
	if (cf->asking || !container_lookup_known(cf->lk)) {
		cf->again |= with_credit(cf, pid) != NULL;
		return;
	}
	if (clock_mono_ns() >= cf->asked_until) {
		ask(cf, false);
		return;
	}
	u = with_credit(cf, pid);
	if (!u)
		return;
	before = container_lookup_cpu(cf->lk);
	ask(cf, false);
	/* A request without an answer yet is charged to those after it. */
	u->credit -= MIN(u->credit, cf->asking ? CONTAINER_LOOKUP_SLICE_NS : container_lookup_cpu(cf->lk) - before);
}

/*
 * A container's name applies to all its samples, however late it is found. So ask once more for
 * those without one.
 */
void cgroup_facts_ask_at_last(struct cgroup_facts *cf)
{
	bool any = false;

	for (size_t i = 0; i < cf->units.n && !any; i++)
		any = cf->units.v[i]->begun && cf->units.v[i]->segment == cf->units.segment;
	if (!any)
		return;
	container_lookup_last(cf->lk);
	ask(cf, true);
}

