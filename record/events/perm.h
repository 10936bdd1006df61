/* The rights we have. */
#ifndef NSPROF_PERM_H
#define NSPROF_PERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* Bits in perm_caps(). */
#define PERM_CAP_SYS_PTRACE (1ull << 19)
#define PERM_CAP_SYS_ADMIN (1ull << 21)
#define PERM_CAP_SYSLOG (1ull << 34)
#define PERM_CAP_PERFMON (1ull << 38)	/* since 5.8 */

/* Effective capabilities that hold for the whole machine. */
uint64_t perm_caps(void);
/* Are we in a user namespace below the first? Then our capabilities there do not count. */
bool perm_own_user_ns(void);
/* CAP_PERFMON or CAP_SYS_ADMIN is effective. */
bool perm_capable(void);
/*
 * Does something other than the kernel's check answer perf_event_open(2): a seccomp filter, or a
 * kernel without the call? 0: no. Otherwise the negative errno that every call will get.
 */
int perm_filtered(void);
/* Do seccomp filters apply to us? */
bool perm_has_filter(void);
/* Descriptors that a recording needs in addition to its events: binaries held open. */
#define PERM_FILES_SPARE 1024u
/*
 * Raises the soft limit of descriptors to the hard limit, which needs no rights. Events and cgroups
 * need one descriptor each. Children inherit the limit, so if the target is a command, call this
 * after the fork.
 */
void perm_raise_nofile(void);
/* How many events our limit of descriptors permits. */
uint64_t perm_files_left(void);
/* kernel.perf_event_paranoid; 2 if it cannot be read. */
int perm_paranoid(void);
/* Numeric sysctl kernel.@name; @fallback if there is none. */
long perm_sysctl(const char *name, long fallback);

/* Stands for a sysctl that cannot be read. */
#define PERM_SYSCTL_UNKNOWN (-1000)

/*
 * Tries perf_event_open(2) with an event that counts nothing and excludes the kernel: the least
 * that anybody may open. Arguments as there, but @flags without PERF_FLAG_FD_CLOEXEC. 0, or
 * negative errno. Leaves nothing open.
 */
int perm_try_event(int pid, int cpu, unsigned long flags);

/*
 * Does kernel.perf_event_paranoid exclude everybody without CAP_SYS_ADMIN, even with CAP_PERFMON
 * and for user space of one's own process? Kernels of Debian (from 3 on, the default) and Ubuntu
 * (from 4 on) do so. Only they have the patch "perf: Allow further restriction of perf_event_open";
 * mainline treats values above 2 as 2. @own: result of perm_try_event(0, -1, 0), which mainline
 * permits to all. Pure.
 */
bool perm_admin_only(uint64_t caps, long paranoid, int own);
/* The same for us on this machine. */
bool perm_needs_admin(void);
/*
 * The remedy in that case, without the value at its end: 2 with CAP_PERFMON, otherwise what the
 * request needs.
 */
#define PERM_ADMIN_REMEDY \
	"run as root (sudo), in a container with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN), or on the host: " \
	"sysctl kernel.perf_event_paranoid="

/*
 * Appends to @text why /proc/kallsyms shows no addresses, and to @remedy what helps. @kptr,
 * @paranoid: kernel.kptr_restrict and kernel.perf_event_paranoid, or PERM_SYSCTL_UNKNOWN. The rules
 * are those of kallsyms_show_value() in kernel/kallsyms.c (kernel/ksyms_common.c). Pure.
 */
void perm_explain_kallsyms(uint64_t caps, long kptr, long paranoid, struct strbuf *text, struct strbuf *remedy);

#endif
