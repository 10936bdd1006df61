/* What the files of collect_waits share (collect_waits.h). */
#ifndef NSPROF_COLLECT_WAITS_PRIV_H
#define NSPROF_COLLECT_WAITS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "replay/collect_priv.h"
#include "replay/time_windows.h"
#include "replay/waits.h"

struct collect;

#define NO_EVENT UINT32_MAX

/*
 * What struct waits calls a stack is the index of a struct held, and once settled its node, with these
 * bits: a CPU limit throttled the samples' cgroup at some time; the stack goes on past its copy.
 */
#define STACK_LIMITED 0x80000000u
#define STACK_TRUNCATED 0x40000000u
#define STACK_NODE 0x3fffffffu

/* A stack that samples are held for. */
struct held {
	struct seen seen;
	const char *cgroup;	/* interned by the replay; NULL: not needed */
	/* If @image is not UINT32_MAX: its stack if the image had begun to run before @part. */
	struct seen entered;
	uint32_t image, part;
	uint64_t samples;
	uint32_t node;		/* after collect_waits_resolve(), as these */
	bool limited;		/* STACK_LIMITED */
	bool truncated;		/* STACK_TRUNCATED */
};

/* What leads the stacks of a thread. */
struct wait_lead {
	enum { LEAD_UNKNOWN, LEAD_KNOWN, LEAD_HIDDEN, LEAD_KERNEL } kind;
	uint32_t node;
	uint32_t thread;	/* in c->spread, with opts.block_ns */
};

struct collect_waits {
	struct collect *c;	/* borrowed */
	struct waits *waits;
	struct time_windows windows;
	uint32_t event;		/* of ROLE_WAITS */
	uint32_t wall;		/* of ROLE_WALL, if wanted; else NO_EVENT */
	uint32_t running;	/* then whose samples tell what ran */
	bool off;		/* @event itself is wanted */
	struct held *held;	/* owned */
	size_t nheld, held_cap;
	struct u64map held_index;	/* hash -> one in @held */
	struct wait_lead *leads;	/* owned; by life */
	size_t nleads, leads_cap;
};

/* Counts the result of c->waits, whose stacks are nodes by now. */
void collect_states_count(struct collect *c);

#endif
