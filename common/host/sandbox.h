/*
 * Giving up rights. Four layers, each of which holds alone: capabilities, no_new_privs (prctl(2)),
 * a filter of system calls (seccomp(2)), and Landlock (landlock(7)). None can be taken back.
 *
 * Capabilities and Landlock belong to a thread, and threads inherit them: give them up before
 * others start. The filter and no_new_privs can cover all threads.
 */
#ifndef NSPROF_SANDBOX_H
#define NSPROF_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * A sanitizer's runtime makes calls of its own, reads /proc, and its leak check at the end traces us:
 * nothing is given up then.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANDBOX_SANITIZED true
#else
#define SANDBOX_SANITIZED false
#endif

/* ---- capabilities (sandbox_caps.c) ---- */

/* Bits of sets of capabilities: include/uapi/linux/capability.h, unchanging numbers. */
#define SANDBOX_DAC_OVERRIDE (1ull << 1)
#define SANDBOX_DAC_READ_SEARCH (1ull << 2)
#define SANDBOX_KILL (1ull << 5)
#define SANDBOX_SYS_PTRACE (1ull << 19)
#define SANDBOX_SYS_ADMIN (1ull << 21)
#define SANDBOX_SYS_NICE (1ull << 23)
#define SANDBOX_PERFMON (1ull << 38)		/* Linux 5.8 */
#define SANDBOX_CHECKPOINT_RESTORE (1ull << 40)	/* Linux 5.9 */

/* The set of capabilities that this thread may use; 0 if it cannot be read. */
uint64_t sandbox_permitted(void);
/*
 * The result of @try with only @caps effective in this thread. What is effective now is so again
 * afterwards.
 */
int sandbox_try_with(uint64_t caps, int (*try)(void *ctx), void *ctx);
/* Does @try lack a permission with no other capabilities than @caps, and succeed with @more? */
bool sandbox_needs(uint64_t caps, uint64_t more, int (*try)(void *ctx), void *ctx);
/*
 * This thread keeps those of @caps that it has, and no program that it may start gets more: the
 * bounding, inheritable and ambient sets shrink as well, and no_new_privs is set. 0 or negative
 * errno.
 */
int sandbox_keep(uint64_t caps);
/*
 * From now on, this thread opens, makes and removes files as user and group @uid, of no other
 * group, and /proc/sys knows it under this user, too (the effective one). Capabilities stay. For
 * signals and for what users may have in all, the real and the saved user count, which stay. For
 * root only. 0 or negative errno.
 */
int sandbox_file_user(uint32_t uid);
/*
 * As root: this process becomes user and group @uid, of no other group, and loses all capabilities.
 * 0 or negative errno. Others: 0, and nothing changes.
 */
int sandbox_become(uint32_t uid);
/* A user that owns nothing: no distribution or user namespace hands out the last numbers. */
#define SANDBOX_NOBODY 0x7ffffffeu

/* Appends "perfmon,sys_ptrace", or "none". */
void sandbox_cap_names(uint64_t caps, struct strbuf *out);

/* ---- system calls (sandbox_calls.c, sandbox_filter.c) ---- */

/* One way to make a call that is allowed. */
struct sandbox_call {
	int nr;			/* SYS_read */
	int arg;		/* which argument is looked at, from 1 on; 0: none is */
	uint64_t mask, value;	/* allowed if (argument & mask) == value */
	int fails;		/* instead, it fails with this errno, without a message; 0: allowed */
};

/*
 * What every confined program needs for memory, threads, time and what it has open: @n entries.
 * Threads may be started, processes may not. No memory becomes executable.
 */
const struct sandbox_call *sandbox_basic_calls(size_t *n);
/* Opening files for reading, and looking at folders and links: @n entries. */
const struct sandbox_call *sandbox_reading_calls(size_t *n);

struct sandbox_calls {
	const struct sandbox_call *v;
	size_t n;
};

/*
 * From now on, all threads of this process may only make calls of the @nlists @lists. Another call
 * fails with EPERM, and a message names it once. It ends the process if its thread blocks SIGSYS
 * (signals_block_all() does not). Sets no_new_privs for all threads. 0 or negative errno; -ENOSYS:
 * the kernel has no filters; -EOPNOTSUPP: this build has none, because a sanitizer needs calls of
 * its own.
 */
int sandbox_filter(const struct sandbox_calls *lists, size_t nlists);
/*
 * The same in two steps: a process makes the filter, and each of its children, of one thread, puts
 * it in force. sandbox_filter_make(): NULL and *@err if there are no filters.
 */
struct sandbox_program;
struct sandbox_program *sandbox_filter_make(const struct sandbox_calls *lists, size_t nlists, int *err);
int sandbox_filter_load(const struct sandbox_program *p);
/* A call of this process that was refused; -1: none. */
int sandbox_refused(void);
/* The message of sandbox_filter() about call @nr, in another process. */
void sandbox_tell_refused(int nr);

/* ---- Landlock (sandbox_landlock.c) ---- */

/* The kernel's version of Landlock; 0: it has none, or it is off. */
int sandbox_landlock_version(void);
/*
 * This thread cannot reach any path by name any more, connect or bind TCP sockets, or look into
 * processes outside. What it has open stays usable. Needs no_new_privs. 0 or negative errno;
 * -EOPNOTSUPP: no Landlock.
 */
int sandbox_no_paths(void);

/* ---- what is in force ---- */

struct sandbox_state {
	uint64_t caps;		/* permitted */
	bool no_new_privs, filter;
};

/* Fills it in for this thread, as the kernel says. */
void sandbox_state(struct sandbox_state *st);

#endif
