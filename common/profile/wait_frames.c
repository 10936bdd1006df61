/* The function that a thread waits in (wait_frames.h). */
#include "profile/wait_frames.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"

enum { OTHER, OFF, ON, BRACKETS, PARKED, KERNEL, SCHEDULER };

/* How the names of the scheduler's functions begin that call each other on the way off the CPU. */
static const char *const scheduler[] = {
	"schedule", "__schedule", "io_schedule", "preempt_schedule", "__cond_resched", "finish_task_switch",
};

static uint8_t what_is(const struct profile *p, const struct profile_frame *f)
{
	const char *name = profile_text(p, f->name);
	enum lead_state state;

	if (f->kind == PROFILE_KERNEL) {
		for (size_t i = 0; i < ARRAY_SIZE(scheduler); i++)
			if (!strncmp(name, scheduler[i], strlen(scheduler[i])))
				return SCHEDULER;
		return KERNEL;
	}
	/* A function in a file may have any name. */
	if (f->kind != PROFILE_USER || f->dso || *name != '[')
		return OTHER;
	state = lead_state_find(name);
	if (state < STATES)
		return state == STATE_RUNNING ? ON : OFF;
	return strcmp(name, WAITS_PARKED) != 0 ? BRACKETS : PARKED;
}

void wait_frames_init(struct wait_frames *w, const struct profile *p)
{
	w->p = p;
	w->what = xcalloc((size_t)p->nframes + 1, sizeof(*w->what));
	for (uint32_t i = 1; i < p->nframes; i++)
		w->what[i] = what_is(p, &p->frames[i]);
}

void wait_frames_fini(struct wait_frames *w)
{
	free(w->what);
}

static uint8_t at(const struct wait_frames *w, uint32_t node)
{
	return node ? w->what[w->p->nodes[node].frame] : OTHER;
}

uint32_t wait_frames_own(const struct wait_frames *w, uint32_t node)
{
	const struct profile_node *nodes = w->p->nodes;
	const uint8_t end = at(w, node);
	uint32_t up = nodes[node].parent, before = at(w, nodes[up].parent), own;

	if ((end != OFF && end != ON) || !up)
		return node;
	if (end == ON)
		return up;
	/* The reason is known by the kernel's functions. */
	if (at(w, up) == BRACKETS && (before == KERNEL || before == SCHEDULER || before == PARKED))
		up = nodes[up].parent;
	own = up;
	while (at(w, own) == SCHEDULER)
		own = nodes[own].parent;
	return own && w->p->frames[nodes[own].frame].kind != PROFILE_LEADING ? own : up;
}
