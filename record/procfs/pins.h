/*
 * Files held open while they can still be reached: binaries, perf maps, the roots of processes and
 * their /tmp. Bounded: when the budget is used up, the one of a tenant not needed for the longest
 * time is closed, after a call.
 */
#ifndef NSPROF_PINS_H
#define NSPROF_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/nsopen.h"

enum pin_kind {
	PIN_ELF,	/* obj: struct dso */
	PIN_MAP,	/* a perf map or jitdump; obj: struct proc_facts */
	PIN_ROOT,	/* O_PATH; obj: struct rootpin */
	PIN_TMP,	/* O_PATH; obj: struct rootpin */
};

/* Embedded in its owner. fd is -1 if it holds nothing. */
struct pin {
	int fd;
	uint8_t kind;		/* enum pin_kind */
	uint32_t owner;		/* of the budget: index of the tenant + 1; 0 = nobody's */
	void *obj;		/* the owner */
	struct pin *prev, *next;	/* newest first; NULL when not held */
};

struct rootpin;

struct pins {
	struct pin lru;		/* list head */
	size_t n, budget;	/* fds */
	uint64_t evicted;
	size_t *held;		/* owned; by owner: fds */
	size_t nheld, nowners;	/* room in it; owners with fds */
	struct rootpin *roots;	/* list of all, owned through their references */
	/* Called before a pin is closed to make room. Must not pin anything itself. */
	void (*on_evict)(void *ctx, struct pin *p);
	void *ctx;
};

/*
 * Budget: half of the present soft limit RLIMIT_NOFILE, minus the descriptors that are open
 * already.
 */
void pins_init(struct pins *ps, void (*on_evict)(void *ctx, struct pin *p), void *ctx);
/* Closes all that is still held. The owners must be gone or not use it any more. */
void pins_fini(struct pins *ps);

void pin_init(struct pin *p, enum pin_kind kind, void *obj);
/*
 * Hands @fd over to @p, which holds none. May evict others: those of the same owner if it has its
 * share, otherwise those of the owner with most.
 */
void pins_hold(struct pins *ps, struct pin *p, int fd);
void pins_touch(struct pins *ps, struct pin *p);	/* needed again; no effect if not held */
void pins_drop(struct pins *ps, struct pin *p);		/* closes; no effect if not held */

/* The root directory of processes, one for all that share it. */
struct rootpin {
	uint32_t refs;
	uint64_t mnt_ns;	/* inode of the mount namespace; 0 = unknown */
	dev_t dev;		/* of the root directory: unique while it is held */
	ino_t ino;
	struct pin root;	/* "/" of the process */
	struct pin tmp;		/* its /tmp: may be a mount that goes away before the root does */
	dev_t tmp_dev;		/* of /tmp, like dev and ino */
	ino_t tmp_ino;
	/* To know them again without asking their file systems; mount 0 = not available. */
	struct nsopen_place place, tmp_place;
	bool lived_in;		/* a running process had it at the latest look */
	struct rootpin *next;
};

/*
 * Pins the root of a process in @mnt_ns. @fd: from nsopen_root(), consumed; an error there gives
 * NULL. One reference for the caller.
 */
struct rootpin *rootpin_hold(struct pins *ps, int fd, uint64_t mnt_ns);
/*
 * Processes may mount a /tmp of their own after their root was pinned: checks whether it is still
 * the one held. @procfd: from nsopen_process(), a process with that root. If it has left its
 * namespaces, nothing changes here, because the mounts below its root are gone.
 */
void rootpin_look(struct pins *ps, struct rootpin *r, int procfd);	/* accepts NULL for @r */
/* Do both have the same directory as /tmp? False if that is unknown. Both accept NULL. */
bool rootpin_same_tmp(const struct rootpin *a, const struct rootpin *b);
/* A held root that was seen in @mnt_ns, or NULL. One reference for the caller. */
struct rootpin *rootpin_find(struct pins *ps, uint64_t mnt_ns);
struct rootpin *rootpin_get(struct rootpin *r);			/* accepts NULL */
void rootpin_put(struct pins *ps, struct rootpin *r);		/* accepts NULL */

#endif
