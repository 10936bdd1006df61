/* The function that a thread waits in (wait_frames.h). */
#include "profile/wait_frames.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"

/* All from KERNEL on are kernel functions. */
enum { OTHER, OFF, ON, BRACKETS, PARKED, KERNEL, SCHEDULER, UNLOCK, WORK, TO_USER, TO_KERNEL };

/*
 * How the names of kernel functions begin, of Linux 5.10 to 7.2, that are about going off the CPU and
 * not about what the thread does. Compilers inline some of them into others, and the last ones into
 * what enters the kernel.
 */
static const struct {
	const char *prefix;
	uint8_t what;
} functions[] = {
	/* They call each other on the way off the CPU. */
	{ "schedule", SCHEDULER }, { "__schedule", SCHEDULER }, { "io_schedule", SCHEDULER }, { "preempt_schedule", SCHEDULER },
	{ "__cond_resched", SCHEDULER }, { "_cond_resched", SCHEDULER }, { "dynamic_cond_resched", SCHEDULER },
	{ "dynamic_preempt_schedule", SCHEDULER }, { "finish_task_switch", SCHEDULER },
	{ "_raw_spin_unlock_irqrestore", UNLOCK },
	/* Work on the way to user space. By a CPU limit it takes the thread off the CPU. */
	{ "throttle_cfs_rq_work", WORK }, { "task_work_run", WORK }, { "resume_user_mode_work", WORK },
	/* The way to user space: a thread that calls the scheduler here is held back. */
	{ "exit_to_user", TO_USER }, { "__exit_to_user", TO_USER }, { "prepare_exit_to_user", TO_USER },
	{ "irqentry_exit_to_user", TO_USER }, { "__irqentry_exit_to_user", TO_USER },
	{ "syscall_exit_to_user", TO_USER }, { "__syscall_exit_to_user", TO_USER },
	{ "arm64_exit_to_user", TO_USER }, { "arm64_syscall_exit_to_user", TO_USER }, { "asm_exit_to_user", TO_USER },
	{ "do_notify_resume", TO_USER }, { "work_pending", TO_USER }, { "ret_to_user", TO_USER },
	{ "ret_from_fork", TO_USER }, { "do_syscall_64", TO_USER }, { "do_fast_syscall_32", TO_USER },
	{ "__do_fast_syscall_32", TO_USER }, { "do_int80_", TO_USER }, { "entry_SYSCALL_", TO_USER }, { "el0_", TO_USER },
	{ "el0t_", TO_USER },
	/* The way back to the function of the kernel that was interrupted. */
	{ "irqentry_exit", TO_KERNEL }, { "raw_irqentry_exit", TO_KERNEL }, { "dynamic_irqentry_exit", TO_KERNEL },
	{ "arm64_preempt_schedule_irq", TO_KERNEL }, { "exit_to_kernel_mode", TO_KERNEL }, { "__exit_to_kernel_mode", TO_KERNEL },
	{ "arm64_exit_to_kernel_mode", TO_KERNEL }, { "exit_el1_", TO_KERNEL }, { "el1_", TO_KERNEL }, { "el1h_", TO_KERNEL },
	{ "sysvec_", TO_KERNEL }, { "asm_sysvec_", TO_KERNEL }, { "common_interrupt", TO_KERNEL },
	{ "asm_common_interrupt", TO_KERNEL }, { "exc_", TO_KERNEL }, { "asm_exc_", TO_KERNEL },
};

static uint8_t what_is(const struct profile *p, const struct profile_frame *f)
{
	const char *name = profile_text(p, f->name);
	enum lead_state state;

	if (f->kind == PROFILE_KERNEL) {
		for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
			if (!strncmp(name, functions[i].prefix, strlen(functions[i].prefix)))
				return functions[i].what;
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

/* Is it a function of a program? */
static bool is_user(const struct wait_frames *w, uint32_t node)
{
	return node && at(w, node) == OTHER && w->p->frames[w->p->nodes[node].frame].kind != PROFILE_LEADING;
}

/*
 * The node of the function that called the scheduler, or that was held back on the way to it: the
 * innermost one of the program, or the one of the kernel that was interrupted. 0: none is known.
 */
static uint32_t held_back(const struct wait_frames *w, uint32_t node)
{
	const struct profile_node *nodes = w->p->nodes;
	uint32_t caller, up;
	bool worked;

	while (at(w, node) == SCHEDULER)
		node = nodes[node].parent;
	caller = up = node;
	if (at(w, up) == TO_KERNEL) {
		while (at(w, up) == TO_KERNEL)
			up = nodes[up].parent;
		/* From user code, when what leads back to it is inlined. */
		return at(w, up) >= KERNEL || is_user(w, up) ? up : caller;
	}
	/* What a function of the work jumps to at its end. */
	if (at(w, up) == UNLOCK && at(w, nodes[up].parent) == WORK)
		up = nodes[up].parent;
	worked = at(w, up) == WORK;
	while (at(w, up) == WORK)
		up = nodes[up].parent;
	/* Work is only done on the way to user space, whatever that is inlined into. */
	if (at(w, up) != TO_USER && !(worked && at(w, up) == TO_KERNEL))
		return caller;
	/* Before it, there is nothing but what entered the kernel. */
	while (at(w, up) >= KERNEL)
		up = nodes[up].parent;
	return is_user(w, up) ? up : caller;
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
	if (at(w, up) == BRACKETS && (before >= KERNEL || before == PARKED))
		up = nodes[up].parent;
	own = held_back(w, up);
	return own && w->p->frames[nodes[own].frame].kind != PROFILE_LEADING ? own : up;
}
