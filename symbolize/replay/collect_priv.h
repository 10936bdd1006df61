/* What the files of collect share (collect.h). */
#ifndef NSPROF_COLLECT_PRIV_H
#define NSPROF_COLLECT_PRIV_H

#include <stdbool.h>
#include <stdint.h>

#include "profile/filter.h"
#include "unwind/unwind.h"

struct collect;
struct image;
struct replay_sample;

/* What the samples of a thread have in common, as of its last sample. */
struct lead_node {
	uint32_t pid;
	const char *comm, *cgroup, *container, *exe;	/* interned: compared by pointer */
	const struct image *img;
	enum filter_key misses;		/* first key (not time) without a match; FILTER_TIME: none */
	uint32_t noted;			/* filtered_out_flag bits */
	uint32_t node;			/* of its leading frames; not set if it is filtered out */
	/* For thread_times.h: */
	const char *process;		/* comm of the image then, interned; NULL: no @thread yet */
	uint32_t thread;
};

/* One interpretation of a sample. */
struct seen {
	uint32_t node;
	enum unwind_end end;
	uint32_t at;		/* id of the module it ends in, or as in collect.ended_in; 0: none */
	uint32_t joined;	/* node with joined frames, valid if @border holds; 0: none */
	uint64_t border;	/* struct stack */
	uint32_t slot;		/* thread_times.h; 0: not counted there */
	uint32_t event;
};

/* The location of a fixed frame. */
uint32_t collect_text(struct collect *c, const char *text);
/* For a sample of its thread, now. Valid until the next call. */
struct lead_node *collect_lead(struct collect *c, const struct replay_sample *s);
/* The thread of a sample in c->spread. */
uint32_t collect_thread(struct collect *c, const struct replay_sample *s, struct lead_node *ln);
/* Counts samples that ended so in c->verdicts and ended_in, but not in the tree or for an event. */
void collect_note_end(struct collect *c, enum unwind_end end, uint32_t at, uint64_t samples);
/* Does such a stack go on past its copy? */
bool collect_truncated(enum unwind_end end);

#endif
