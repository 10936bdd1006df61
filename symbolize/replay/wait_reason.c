/* Reasons of waits (wait_reason.h). */
#include "replay/wait_reason.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

enum {
	R_NONE, R_FUTEX, R_EPOLL, R_POLL, R_PIPE, R_SOCKET, R_DISK, R_SLEEP, R_CHILD, R_SIGNAL, R_STOPPED, R_EVENTFD,
	R_TIMERFD, R_INOTIFY, R_TTY, R_IPC, R_IO_URING, R_AIO, R_FILE_LOCK, R_KERNEL_LOCK, R_FUSE, R_NETWORK_FS, R_MEMORY,
	R_RCU, R_SECCOMP, R_KVM, R_PAGE_FAULT, R_THROTTLED,
	R_RESCHED, R_TASK_WORK,
	R_AFTER_WORK,		/* both, innermost: preempted after task work, or throttled by it */
	REASONS,
};

static const char *const texts[REASONS] = {
	[R_FUTEX] = "[futex]", [R_EPOLL] = "[epoll]", [R_POLL] = "[poll]", [R_PIPE] = "[pipe]", [R_SOCKET] = "[socket]",
	[R_DISK] = "[disk]", [R_SLEEP] = "[sleep]", [R_CHILD] = "[wait child]", [R_SIGNAL] = "[signal]",
	[R_STOPPED] = "[stopped]", [R_EVENTFD] = "[eventfd]", [R_TIMERFD] = "[timerfd]", [R_INOTIFY] = "[inotify]",
	[R_TTY] = "[tty]", [R_IPC] = "[ipc]", [R_IO_URING] = "[io_uring]", [R_AIO] = "[aio]", [R_FILE_LOCK] = "[file lock]",
	[R_KERNEL_LOCK] = "[kernel lock]", [R_FUSE] = "[fuse]", [R_NETWORK_FS] = "[network fs]", [R_MEMORY] = "[memory]",
	[R_RCU] = "[rcu]", [R_SECCOMP] = "[seccomp]", [R_KVM] = "[kvm]", [R_PAGE_FAULT] = "[page fault]",
	[R_THROTTLED] = "[throttled]",
};

/* A '*' at the end stands for anything. */
static const struct {
	const char *pattern;
	wait_reason reason;
} functions[] = {
	{ "futex_*", R_FUTEX },		/* futex_wait_queue_me (5.10), futex_do_wait (6.16) */
	{ "__futex_wait*", R_FUTEX },
	{ "do_futex", R_FUTEX },
	{ "__x64_sys_futex*", R_FUTEX },
	{ "ep_poll", R_EPOLL },
	{ "do_epoll_wait", R_EPOLL },
	{ "do_epoll_pwait", R_EPOLL },
	{ "do_poll", R_POLL },
	{ "do_sys_poll", R_POLL },
	{ "poll_schedule_timeout", R_POLL },
	{ "do_select", R_POLL },
	{ "core_sys_select", R_POLL },
	{ "do_pselect", R_POLL },
	{ "pipe_read", R_PIPE },
	{ "pipe_write", R_PIPE },
	{ "anon_pipe_*", R_PIPE },		/* 6.15 */
	{ "fifo_pipe_*", R_PIPE },
	{ "fifo_open", R_PIPE },
	{ "pipe_wait*", R_PIPE },
	{ "wait_for_partner", R_PIPE },
	{ "wait_for_space", R_PIPE },		/* splice */
	{ "ipipe_prep", R_PIPE },
	{ "opipe_prep", R_PIPE },
	{ "splice_from_pipe*", R_PIPE },
	{ "sk_wait_data", R_SOCKET },
	{ "sk_stream_wait_*", R_SOCKET },
	{ "__skb_wait_for_more_packets", R_SOCKET },
	{ "inet_csk_accept", R_SOCKET },
	{ "inet_csk_wait_for_connect", R_SOCKET },
	{ "inet_wait_for_connect", R_SOCKET },
	{ "__inet_stream_connect", R_SOCKET },
	{ "unix_stream_*", R_SOCKET },
	{ "unix_wait_for_peer", R_SOCKET },
	{ "sock_alloc_send_*", R_SOCKET },
	{ "sock_wait_for_wmem", R_SOCKET },
	{ "vsock_*", R_SOCKET },
	{ "sock_recvmsg", R_SOCKET },
	{ "sock_sendmsg", R_SOCKET },
	{ "sock_read_iter", R_SOCKET },
	{ "sock_write_iter", R_SOCKET },
	{ "__sys_accept4", R_SOCKET },
	{ "__sys_connect", R_SOCKET },
	{ "__sys_recvfrom", R_SOCKET },
	{ "__sys_sendto", R_SOCKET },
	{ "io_schedule*", R_DISK },
	{ "blk_io_schedule", R_DISK },
	{ "folio_wait_bit*", R_DISK },
	{ "wait_on_page_bit*", R_DISK },	/* 5.10 */
	{ "bit_wait_io*", R_DISK },
	{ "__wait_on_buffer", R_DISK },
	{ "submit_bio_wait", R_DISK },
	{ "wait_for_completion_io*", R_DISK },
	{ "blkdev_issue_flush", R_DISK },
	{ "blk_mq_get_tag", R_DISK },
	{ "rq_qos_wait", R_DISK },
	{ "jbd2_*", R_DISK },
	{ "ext4_sync_file", R_DISK },
	{ "xfs_log_force*", R_DISK },
	{ "xlog_*", R_DISK },
	{ "xfs_buf_iowait", R_DISK },
	{ "btrfs_sync_*", R_DISK },
	{ "btrfs_wait_*", R_DISK },
	{ "wait_for_commit", R_DISK },
	{ "balance_dirty_pages*", R_DISK },
	{ "filemap_fdatawait*", R_DISK },
	{ "file_write_and_wait_range", R_DISK },
	{ "wb_wait_for_completion", R_DISK },
	{ "inode_wait_for_writeback", R_DISK },
	{ "do_nanosleep", R_SLEEP },
	{ "hrtimer_nanosleep", R_SLEEP },
	{ "common_nsleep*", R_SLEEP },
	{ "alarm_timer_nsleep", R_SLEEP },
	{ "posix_cpu_nsleep", R_SLEEP },
	{ "msleep*", R_SLEEP },
	{ "usleep_range*", R_SLEEP },
	{ "do_wait", R_CHILD },
	{ "__do_wait", R_CHILD },
	{ "kernel_wait4", R_CHILD },
	{ "kernel_waitid", R_CHILD },
	{ "wait_for_vfork_done", R_CHILD },
	{ "kernel_clone", R_CHILD },		/* vfork(2) */
	{ "do_sigtimedwait", R_SIGNAL },
	{ "sigsuspend", R_SIGNAL },
	{ "__do_sys_pause", R_SIGNAL },
	{ "__x64_sys_pause", R_SIGNAL },
	{ "signalfd_*", R_SIGNAL },
	{ "do_signal_stop", R_STOPPED },
	{ "ptrace_stop", R_STOPPED },
	{ "do_jobctl_trap", R_STOPPED },
	{ "do_freezer_trap", R_STOPPED },
	{ "__refrigerator", R_STOPPED },
	{ "get_signal", R_STOPPED },
	{ "eventfd_read", R_EVENTFD },
	{ "eventfd_write", R_EVENTFD },
	{ "eventfd_ctx_do_read", R_EVENTFD },
	{ "timerfd_read*", R_TIMERFD },
	{ "inotify_read", R_INOTIFY },
	{ "fanotify_read", R_INOTIFY },
	{ "fanotify_handle_event", R_INOTIFY },
	{ "n_tty_read", R_TTY },
	{ "n_tty_write", R_TTY },
	{ "tty_wait_until_sent", R_TTY },
	{ "wq_sleep", R_IPC },
	{ "do_mq_timed*", R_IPC },
	{ "do_semtimedop", R_IPC },
	{ "__do_semtimedop", R_IPC },
	{ "do_msgrcv", R_IPC },
	{ "do_msgsnd", R_IPC },
	{ "io_cqring_wait", R_IO_URING },
	{ "io_wq_*", R_IO_URING },
	{ "io_sq_*", R_IO_URING },
	{ "read_events", R_AIO },
	{ "do_io_getevents", R_AIO },
	{ "flock_lock_inode_wait", R_FILE_LOCK },
	{ "posix_lock_inode_wait", R_FILE_LOCK },
	{ "locks_lock_inode_wait", R_FILE_LOCK },
	{ "do_lock_file_wait", R_FILE_LOCK },
	{ "fcntl_setlk", R_FILE_LOCK },
	{ "__break_lease", R_FILE_LOCK },
	{ "mutex_lock*", R_KERNEL_LOCK },
	{ "__mutex_lock*", R_KERNEL_LOCK },
	{ "ww_mutex_lock*", R_KERNEL_LOCK },
	{ "__ww_mutex_lock*", R_KERNEL_LOCK },
	{ "rwsem_down_*", R_KERNEL_LOCK },
	{ "down_read*", R_KERNEL_LOCK },
	{ "down_write*", R_KERNEL_LOCK },
	{ "__down*", R_KERNEL_LOCK },
	{ "percpu_down_*", R_KERNEL_LOCK },
	{ "__percpu_down_*", R_KERNEL_LOCK },
	{ "percpu_rwsem_wait", R_KERNEL_LOCK },
	{ "rt_mutex_slowlock*", R_KERNEL_LOCK },
	{ "__rt_mutex_slowlock*", R_KERNEL_LOCK },
	{ "request_wait_answer", R_FUSE },
	{ "rpc_wait_bit_killable", R_NETWORK_FS },
	{ "nfs_wait_bit_killable", R_NETWORK_FS },
	{ "wait_for_response", R_NETWORK_FS },	/* cifs */
	{ "ceph_mdsc_wait_request", R_NETWORK_FS },
	{ "p9_client_rpc", R_NETWORK_FS },
	{ "reclaim_throttle", R_MEMORY },
	{ "throttle_direct_reclaim", R_MEMORY },
	{ "mem_cgroup_handle_over_high", R_MEMORY },
	{ "__mem_cgroup_handle_over_high", R_MEMORY },
	{ "mem_cgroup_oom_synchronize", R_MEMORY },
	{ "try_to_free_pages", R_MEMORY },
	{ "try_to_free_mem_cgroup_pages", R_MEMORY },
	{ "synchronize_rcu*", R_RCU },
	{ "synchronize_srcu*", R_RCU },
	{ "__synchronize_srcu", R_RCU },
	{ "__wait_rcu_gp", R_RCU },
	{ "seccomp_do_user_notification", R_SECCOMP },
	{ "kvm_vcpu_block", R_KVM },
	{ "kvm_vcpu_halt", R_KVM },
	{ "exc_page_fault", R_PAGE_FAULT },
	{ "asm_exc_page_fault", R_PAGE_FAULT },
	{ "do_user_addr_fault", R_PAGE_FAULT },
	{ "faultin_page", R_PAGE_FAULT },
	/*
	 * 6.18; before, nothing on the stack tells. Work that a thread does on its way to user space
	 * takes it off the queue, and either there or right after it the thread leaves the CPU. After
	 * other such work, a thread that is preempted leaves it there, too. On a preemptible kernel (7.2)
	 * it leaves in the last call of that work, a jump, so that the work is not on the stack.
	 */
	{ "throttle_cfs_rq_work", R_THROTTLED },
	{ "__cond_resched", R_RESCHED },
	{ "_raw_spin_unlock_irqrestore", R_RESCHED },
	{ "task_work_run", R_TASK_WORK },
};

static bool matches(const char *pattern, const char *name, size_t len)
{
	const size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return len >= n - 1 && !memcmp(pattern, name, n - 1);
	return len == n && !memcmp(pattern, name, n);
}

wait_reason wait_reason_of(const char *name, bool throttles)
{
	/* Without ".constprop.0", ".isra.0", ".part.0". */
	const size_t len = strcspn(name, ".");

	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (matches(functions[i].pattern, name, len))
			return functions[i].reason >= R_THROTTLED && !throttles ? R_NONE : functions[i].reason;
	return R_NONE;
}

wait_reason wait_reason_add(wait_reason so_far, wait_reason outer)
{
	if (so_far == R_RESCHED && outer == R_TASK_WORK)
		return R_AFTER_WORK;
	if (outer == R_TASK_WORK)
		return so_far;
	if (!so_far || so_far == R_RESCHED || outer == R_THROTTLED)
		return outer;
	if (outer == R_PAGE_FAULT && (so_far == R_DISK || so_far == R_KERNEL_LOCK || so_far == R_MEMORY ||
				      so_far == R_FUSE || so_far == R_NETWORK_FS))
		return outer;
	return so_far;
}

bool wait_reason_throttles(const char *release)
{
	unsigned int major = 0, minor = 0;

	return release && sscanf(release, "%u.%u", &major, &minor) == 2 && (major > 6 || (major == 6 && minor >= 18));
}

const char *wait_reason_text(wait_reason reason)
{
	return reason < REASONS ? texts[reason] : NULL;
}

bool wait_reason_is_throttled(wait_reason reason, bool limited)
{
	return reason == R_THROTTLED || (reason == R_AFTER_WORK && limited);
}
