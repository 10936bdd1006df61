/* The function that the time off the CPU belongs to, for stacks as nsprof-symbolize writes them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "profile/profile.h"
#include "profile/wait_frames.h"

/* Frames root first; "k:" kernel, "l:" leading, "f:" a user function in a file, else without a file. */
static uint32_t stack(struct profile *p, const char *const *frames, uint32_t nodes[16])
{
	uint32_t n = 0;

	for (nodes[0] = 0; frames[n]; n++) {
		const char *s = frames[n];
		const char kind = s[1] == ':' ? s[0] : ' ';
		const struct profile_frame f = {
			.name = profile_string(p, kind == ' ' ? s : s + 2),
			.dso = kind == 'f' ? profile_string(p, "/bin/x") : kind == 'k' ? profile_string(p, "[kernel.kallsyms]") : 0,
			.kind = kind == 'k' ? PROFILE_KERNEL : kind == 'l' ? PROFILE_LEADING : PROFILE_USER,
		};

		nodes[n + 1] = profile_child(p, nodes[n], profile_frame(p, &f));
	}
	return n;
}

static void test_own(void **state)
{
	static const struct {
		uint32_t own;		/* frames up to the function that it is */
		const char *frames[12];
	} cases[] = {
		{ 3, { "f:main", "f:lock", "k:futex_wait_queue", "k:schedule", "[futex]", "[blocked]" } },
		{ 3, { "f:main", "k:read", "k:folio_wait", "k:io_schedule", "k:schedule", "[disk]", "[blocked]" } },
		{ 2, { "f:main", "k:hrtimer_nanosleep", "k:schedule_timeout", "k:schedule", "k:__schedule", "[sleep]", "[runnable]" } },
		/* Preempted in user code: x86 and arm64, as kernels from 5.10 on name the way back, or inline it. */
		{ 1, { "f:main", "k:exit_to_user_mode_loop", "k:schedule", "[runnable]" } },
		{ 1, { "f:main", "k:asm_sysvec_apic_timer_interrupt", "k:irqentry_exit_to_user_mode", "k:exit_to_user_mode_prepare",
		       "k:exit_to_user_mode_loop", "k:schedule", "k:__schedule", "[runnable]" } },
		{ 2, { "f:main", "f:work", "k:asm_sysvec_apic_timer_interrupt", "k:sysvec_apic_timer_interrupt", "k:irqentry_exit",
		       "k:schedule", "[runnable]" } },
		{ 1, { "f:main", "k:asm_exc_page_fault", "k:exc_page_fault", "k:irqentry_exit", "k:__exit_to_user_mode_loop", "k:schedule",
		       "[runnable]" } },
		{ 1, { "f:main", "k:el0t_64_irq", "k:el0t_64_irq_handler", "k:el0_interrupt", "k:do_notify_resume", "k:schedule",
		       "[runnable]" } },
		{ 1, { "f:main", "k:el0t_64_irq", "k:el0t_64_irq_handler", "k:el0_interrupt", "k:arm64_exit_to_user_mode", "k:schedule",
		       "[runnable]" } },
		{ 1, { "f:main", "k:work_pending", "k:do_notify_resume", "k:schedule", "[runnable]" } },
		/* After a system call, or before a thread runs for the first time. */
		{ 1, { "f:write", "k:entry_SYSCALL_64_after_hwframe", "k:do_syscall_64", "k:syscall_exit_to_user_mode",
		       "k:exit_to_user_mode_loop", "k:schedule", "[runnable]" } },
		{ 1, { "f:write", "k:entry_SYSCALL_64_after_hwframe", "k:do_syscall_64", "k:schedule", "[runnable]" } },
		{ 1, { "f:clone", "k:ret_from_fork_asm", "k:ret_from_fork", "k:syscall_exit_to_user_mode", "k:exit_to_user_mode_loop",
		       "k:schedule", "[runnable]" } },
		/* By a CPU limit; the same work for another reason; work that waits. */
		{ 1, { "f:main", "k:asm_sysvec_apic_timer_interrupt", "k:exit_to_user_mode_loop", "k:task_work_run",
		       "k:throttle_cfs_rq_work", "k:schedule", "[throttled]" } },
		{ 1, { "f:main", "k:exit_to_user_mode_loop", "k:task_work_run", "k:__cond_resched", "[throttled]" } },
		{ 2, { "f:main", "f:work", "k:asm_sysvec_apic_timer_interrupt", "k:irqentry_exit", "k:task_work_run",
		       "k:_raw_spin_unlock_irqrestore", "k:preempt_schedule_thunk", "k:preempt_schedule", "[throttled]" } },
		{ 3, { "f:main", "k:do_exit", "k:task_work_run", "k:__cond_resched", "[runnable]" } },
		{ 3, { "f:main", "k:do_epoll_wait", "k:_raw_spin_unlock_irqrestore", "k:preempt_schedule", "[runnable]" } },
		{ 4, { "f:main", "k:exit_to_user_mode_loop", "k:task_work_run", "k:ext4_release_file", "k:schedule", "[disk]", "[blocked]" } },
		/* In the kernel: what was interrupted; what gave way. */
		{ 2, { "f:read", "k:copy_to_user", "k:asm_sysvec_apic_timer_interrupt", "k:sysvec_apic_timer_interrupt", "k:irqentry_exit",
		       "k:raw_irqentry_exit_cond_resched", "k:preempt_schedule_irq", "[runnable]" } },
		{ 2, { "f:read", "k:filemap_read", "k:el1h_64_irq", "k:el1_interrupt", "k:arm64_preempt_schedule_irq", "k:preempt_schedule_irq",
		       "[runnable]" } },
		{ 2, { "f:read", "k:filemap_read", "k:__cond_resched", "k:preempt_schedule_common", "[runnable]" } },
		/* The program is not known. */
		{ 2, { "k:asm_sysvec_apic_timer_interrupt", "k:exit_to_user_mode_loop", "k:schedule", "[runnable]" } },
		{ 2, { "[truncated_stack]", "k:exit_to_user_mode_loop", "k:schedule", "[runnable]" } },
		{ 2, { "l:app", "k:exit_to_user_mode_loop", "k:schedule", "[runnable]" } },
		/* Without the kernel. */
		{ 2, { "f:main", "f:work", "[runnable]" } },
		{ 2, { "f:main", "[no mapping]", "[blocked]" } },
		/* It ran: no function is left out. */
		{ 3, { "f:main", "k:sched_yield", "k:schedule", "[running]" } },
		/* Its stack is not known, or is not shown. */
		{ 1, { "[no_stack]", "[blocked]" } },
		{ 1, { "[parked]", "[epoll]", "[blocked]" } },
		{ 2, { "k:schedule", "k:__schedule", "[blocked]" } },
		{ 1, { "[blocked]" } },
		/* Folded text of nsprof, with kinds and without; its comm is no function. */
		{ 3, { "l:app", "f:main", "k:do_wait", "k:schedule", "[wait child]", "[blocked]" } },
		{ 2, { "l:app", "k:schedule", "[blocked]" } },
		{ 4, { "l:app", "main", "schedule", "[futex]", "[blocked]" } },
		/* Not off the CPU, whatever it is called. */
		{ 2, { "f:main", "k:schedule" } },
		{ 2, { "f:main", "f:[blocked]" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct profile *p = profile_new();
		struct wait_frames w;
		uint32_t nodes[16], n = stack(p, cases[i].frames, nodes);

		wait_frames_init(&w, p);
		if (wait_frames_own(&w, nodes[n]) != nodes[cases[i].own])
			fail_msg("case %zu", i);
		assert_int_equal(wait_frames_own(&w, 0), 0);
		wait_frames_fini(&w);
		profile_free(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
