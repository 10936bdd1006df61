/* Lists of system calls for sandbox_filter(). Some exist on x86-64 only. */
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "host/sandbox.h"

/* TCGETS2, whose header <asm/termbits.h> collides with <termios.h>; struct termios2 has 44 bytes. */
#define IOCTL_TCGETS2 _IOC(_IOC_READ, 'T', 0x2a, 44)

#define ANY(nr) { nr, 0, 0, 0, 0 }
/* The lower half of the register: an int or unsigned int. */
#define IS(nr, arg, value) { nr, arg, 0xffffffff, value, 0 }
#define WITHOUT(nr, arg, bits) { nr, arg, bits, 0, 0 }

/* The flags of open(2) that write, make or cut a file. O_TMPFILE needs one of them. */
#define OPEN_WRITES (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC)

static const struct sandbox_call basic[] = {
	/* memory */
	ANY(SYS_brk), ANY(SYS_munmap), ANY(SYS_mremap), ANY(SYS_madvise),
	WITHOUT(SYS_mmap, 3, PROT_EXEC), WITHOUT(SYS_mprotect, 3, PROT_EXEC),
	/* threads and signals */
	{ SYS_clone, 1, CLONE_THREAD, CLONE_THREAD, 0 },
	ANY(SYS_futex), ANY(SYS_set_robust_list), ANY(SYS_exit), ANY(SYS_exit_group), ANY(SYS_sched_yield),
	ANY(SYS_sched_getaffinity), ANY(SYS_getcpu), ANY(SYS_membarrier),
#ifdef SYS_rseq
	ANY(SYS_rseq),
#endif
	IS(SYS_prctl, 1, PR_SET_NAME), IS(SYS_prctl, 1, PR_GET_NO_NEW_PRIVS), IS(SYS_prctl, 1, PR_GET_SECCOMP),
	ANY(SYS_rt_sigaction), ANY(SYS_rt_sigprocmask), ANY(SYS_rt_sigreturn), ANY(SYS_rt_sigtimedwait),
	ANY(SYS_rt_sigpending), ANY(SYS_sigaltstack), ANY(SYS_restart_syscall),
	/* what we are */
	ANY(SYS_getpid), ANY(SYS_gettid), ANY(SYS_getppid), ANY(SYS_getuid), ANY(SYS_geteuid), ANY(SYS_getgid),
	ANY(SYS_getegid), ANY(SYS_capget), ANY(SYS_uname), ANY(SYS_sysinfo), ANY(SYS_getrusage), ANY(SYS_times),
	ANY(SYS_getrandom), IS(SYS_prlimit64, 1, 0),
	/* time */
	ANY(SYS_clock_gettime), ANY(SYS_clock_getres), ANY(SYS_clock_nanosleep), ANY(SYS_nanosleep), ANY(SYS_gettimeofday),
	/* descriptors */
	ANY(SYS_read), ANY(SYS_pread64), ANY(SYS_readv), ANY(SYS_preadv), ANY(SYS_write), ANY(SYS_pwrite64), ANY(SYS_writev),
	ANY(SYS_pwritev), ANY(SYS_lseek), ANY(SYS_close), ANY(SYS_fstat), ANY(SYS_fstatfs), ANY(SYS_dup),
	ANY(SYS_dup3), ANY(SYS_pipe2), ANY(SYS_eventfd2), ANY(SYS_ppoll), ANY(SYS_pselect6), ANY(SYS_fadvise64),
	ANY(SYS_fallocate), ANY(SYS_ftruncate), ANY(SYS_fsync), ANY(SYS_fdatasync), ANY(SYS_sendmsg), ANY(SYS_recvmsg),
	/* not F_SETOWN, which sends signals to others */
	IS(SYS_fcntl, 2, F_DUPFD), IS(SYS_fcntl, 2, F_DUPFD_CLOEXEC), IS(SYS_fcntl, 2, F_GETFD), IS(SYS_fcntl, 2, F_SETFD),
	IS(SYS_fcntl, 2, F_GETFL), IS(SYS_fcntl, 2, F_SETFL),
	/* isatty(3): the second one since glibc 2.42 */
	IS(SYS_ioctl, 2, TCGETS), IS(SYS_ioctl, 2, IOCTL_TCGETS2),
	IS(SYS_ioctl, 2, TIOCGWINSZ), IS(SYS_ioctl, 2, FIONREAD),
	/* fstat(3) is this call with an empty path */
	{ SYS_newfstatat, 4, AT_EMPTY_PATH, AT_EMPTY_PATH, 0 }, { SYS_statx, 3, AT_EMPTY_PATH, AT_EMPTY_PATH, 0 },
#ifdef __x86_64__
	ANY(SYS_dup2), ANY(SYS_poll), ANY(SYS_select), ANY(SYS_time), ANY(SYS_getrlimit), ANY(SYS_arch_prctl),
#endif
};

static const struct sandbox_call reading[] = {
	WITHOUT(SYS_openat, 3, OPEN_WRITES), ANY(SYS_getdents64), ANY(SYS_readlinkat), ANY(SYS_faccessat),
	ANY(SYS_newfstatat), ANY(SYS_statx), ANY(SYS_statfs), ANY(SYS_getcwd),
	/* a cgroup by its number; needs CAP_DAC_READ_SEARCH */
	WITHOUT(SYS_open_by_handle_at, 3, OPEN_WRITES),
#ifdef SYS_faccessat2
	ANY(SYS_faccessat2),
#endif
#ifdef __x86_64__
	WITHOUT(SYS_open, 2, OPEN_WRITES), ANY(SYS_stat), ANY(SYS_lstat), ANY(SYS_access), ANY(SYS_readlink),
#endif
};

const struct sandbox_call *sandbox_basic_calls(size_t *n)
{
	*n = ARRAY_SIZE(basic);
	return basic;
}

const struct sandbox_call *sandbox_reading_calls(size_t *n)
{
	*n = ARRAY_SIZE(reading);
	return reading;
}
