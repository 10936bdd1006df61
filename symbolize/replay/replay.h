/*
 * Goes through a recording in the order of time and keeps what every sample needs to be understood:
 * the process image it belongs to, that image's mappings, its thread's name, its cgroup.
 */
#ifndef NSPROF_REPLAY_H
#define NSPROF_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "event.h"
#include "modules/addrspace.h"
#include "modules/module.h"

struct intern;
struct rec_reader;
struct sample_cgroups;

/*
 * One process image: begins with a process, or with an exec. Lives until replay_free(), because its
 * JIT code is named after the pass; only the mappings go earlier. Strings are interned by the
 * replay.
 */
struct image {
	uint32_t index;		/* dense, 0 and up: its identity in here */
	uint32_t serial;	/* ev_proc.serial; 0 = the recording holds no facts of it */
	uint32_t pid;
	uint64_t start_ticks;	/* 0 = unknown */
	uint32_t nspid[8];	/* outermost first */
	uint32_t nspid_n;
	const char *comm;	/* "" when unknown */
	const char *exe;	/* "" when unknown */
	const char *cgroup;	/* "" when unknown */
	struct image *parent; /* the image it was forked from, NULL when unknown or after an exec */
	struct addrspace *as;	/* empty once the process is long gone */
	unsigned int runtimes;	/* enum jit_runtime bits of the files it mapped */
	bool exited;
	bool superseded;	/* another image has the pid now, by exec or as another process */
	bool used;		/* a sample was seen since the image began */
	bool entered;		/* one of them says that it had begun to run (replay.c), */
	uint32_t entered_part;	/* in this part of the recording */
	uint64_t skipped;	/* samples left out before it began */
	uint64_t begun;		/* ns, time of the event that began it */
	uint64_t exec_time;	/* ns, of the exec it began with; 0 = none was recorded */
	/* Caches of the consumer, valid for as->generation == cache_generation. */
	struct u64map cache;
	uint32_t cache_generation;
};

/* A kernel symbol that came or went while recording (a BPF program). */
struct ksym {
	uint64_t start, end;	/* kernel addresses */
	const char *name;	/* interned */
};

struct replay_sample {
	const struct ev_sample *ev;
	bool in_exec;		/* its user registers are those of the image before, */
	bool maybe_entered;	/* unless a sample in an earlier part says that it runs (entered_part) */
	uint32_t part;		/* of the recording */
	struct image *img;	/* never NULL */
	const char *comm;	/* of the thread; interned: equal text, equal pointer */
	const char *cgroup;	/* interned; "" when unknown */
	const char *container;	/* ctr.label, interned; "" when it is in none or the recording does not tell */
};

struct replay;

/*
 * Several replays may share the samples of a recording (rec_reader_parts()), each on a thread of its own
 * and with modules of its own. All see all events, and number images alike.
 */
struct replay_share {
	bool (*wants)(void *ctx, uint32_t part);	/* as in struct event_ops; @ctx of replay_run() */
	/*
	 * Set where samples that were left out might have made a difference to what was done: nothing
	 * that came of it is good for anything.
	 */
	bool unsure;
	/* As in struct event_ops; may be NULL. */
	void (*block)(void *ctx);
};

/* @mods is borrowed, and filled. */
struct replay *replay_new(struct modules *mods);
void replay_free(struct replay *rp);

/*
 * The whole recording: captures first, then the events, calling @fn for each sample. Returns 0,
 * @fn's non-zero return, or -EIO after a message.
 */
int replay_run(struct replay *rp, struct rec_reader *r,
	       int (*fn)(void *ctx, const struct replay_sample *s), void *ctx);
/* The same for some of the samples. */
int replay_run_share(struct replay *rp, struct rec_reader *r, struct replay_share *share,
		     int (*fn)(void *ctx, const struct replay_sample *s), void *ctx);

/*
 * The same in steps, for who looks at events besides: takes the captures, and says in *@ops which handlers are to be called with
 * each event, in their order, and with @rp as their context. 0 or negative errno after a message.
 */
int replay_begin(struct replay *rp, struct rec_reader *r,
		 int (*fn)(void *ctx, const struct replay_sample *s), void *ctx, struct event_ops *ops);
/* The image that @pid has now; NULL: nothing was told of one. */
struct image *replay_current(const struct replay *rp, uint32_t pid);

/* Index of the kernel symbol in force at @addr now, for replay_ksym(); -1 when there is none. */
int32_t replay_find_ksym(const struct replay *rp, uint64_t addr);
const struct ksym *replay_ksym(const struct replay *rp, uint32_t index);

/* enum jit_runtime bits of @img, and of what it was forked from. */
unsigned int image_runtimes(const struct image *img);
struct image *replay_image(const struct replay *rp, uint32_t index);
size_t replay_images(const struct replay *rp);
/* The perf map lines the recording holds for an image, or NULL. Borrowed. */
const struct perfmap *replay_perfmap(const struct replay *rp, uint32_t serial);
/* What the events so far said of cgroups and containers; names to expect are set before the replay. Borrowed. */
struct sample_cgroups *replay_cgroups(const struct replay *rp);
/* The recording's own kernel symbols, or NULL. Borrowed. */
const struct kallsyms *replay_kallsyms(const struct replay *rp);

#endif
