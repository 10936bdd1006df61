/* What we may do. */
#ifndef NSPROF_PERM_H
#define NSPROF_PERM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

/* In perm_caps(). */
#define PERM_CAP_SYS_PTRACE (1ull << 19)
#define PERM_CAP_SYS_ADMIN (1ull << 21)
#define PERM_CAP_SYSLOG (1ull << 34)
#define PERM_CAP_PERFMON (1ull << 38)	/* since 5.8 */

/* Capabilities that are effective on the whole machine. */
uint64_t perm_caps(void);
/* We are in a user namespace below the first one: what we have there is none of them. */
bool perm_own_user_ns(void);
/* CAP_PERFMON or CAP_SYS_ADMIN is among them. */
bool perm_capable(void);
/*
 * What answers perf_event_open(2) in the kernel's place: a seccomp filter, or a kernel without the call. 0: nothing, the
 * kernel answers itself. Else the negative errno that is all there will ever be.
 */
int perm_filtered(void);
/* Seccomp filters are in place for us. */
bool perm_has_filter(void);
/* Descriptors that a recording wants beside those of its events: binaries that are held open. */
#define PERM_FILES_SPARE 1024u
/*
 * As many descriptors as the hard limit allows, to which everyone may raise the soft one: events and cgroups need one
 * each. Children have it too, so call it for a target that is the command only after that was forked.
 */
void perm_raise_nofile(void);
/* How many events our limit of descriptors leaves room for. */
uint64_t perm_files_left(void);
/* kernel.perf_event_paranoid; 2 when it cannot be read. */
int perm_paranoid(void);
/* Number kernel.@name of sysctl(8); @fallback when there is none. */
long perm_sysctl(const char *name, long fallback);

/* A sysctl that cannot be read. */
#define PERM_SYSCTL_UNKNOWN (-1000)

/*
 * perf_event_open(2) for an event that counts nothing and does not look at the kernel, the least that anybody may open; arguments as there,
 * @flags without PERF_FLAG_FD_CLOEXEC. 0, or negative errno. Nothing stays open.
 */
int perm_try_event(int pid, int cpu, unsigned long flags);

/*
 * Does kernel.perf_event_paranoid keep out everybody without CAP_SYS_ADMIN, even somebody with CAP_PERFMON who wants user
 * space of his own process? It does in kernels of Debian (from 3 on, the default) and Ubuntu (from 4 on), whose patch
 * "perf: Allow further restriction of perf_event_open" no other kernel has; mainline takes 3 and more for 2.
 * @own: of perm_try_event(0, -1, 0), which mainline allows to all. Pure.
 */
bool perm_admin_only(uint64_t caps, long paranoid, int own);
/* The same for us, here. */
bool perm_needs_admin(void);
/* What helps then, up to a value: 2 with CAP_PERFMON, without it what is asked for needs. */
#define PERM_ADMIN_REMEDY \
	"run as root (sudo), in a container with CAP_SYS_ADMIN (docker run --cap-add SYS_ADMIN), or on the host: " \
	"sysctl kernel.perf_event_paranoid="

/*
 * Why /proc/kallsyms shows no addresses, and what helps; added to @text and @remedy. @kptr, @paranoid: kernel.kptr_restrict
 * and kernel.perf_event_paranoid, or PERM_SYSCTL_UNKNOWN. The rules are those of kallsyms_show_value() in
 * kernel/kallsyms.c (kernel/ksyms_common.c). Pure.
 */
void perm_explain_kallsyms(uint64_t caps, long kptr, long paranoid, struct strbuf *text, struct strbuf *remedy);

#endif
