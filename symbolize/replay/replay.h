/*
 * Reads a recording in time order and tracks what is needed to interpret a sample: its process
 * image with the mappings, its thread's name, its cgroup.
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

struct cpu_times;
struct intern;
struct rec_reader;
struct sample_cgroups;

/*
 * A process image: begins with a process or with an exec. It lives until replay_free(), because its
 * JIT code is named after the pass; only its mappings are freed earlier. The replay interns the
 * strings.
 */
struct image {
	uint32_t index;		/* dense, from 0: identifies the image */
	uint32_t serial;	/* ev_proc.serial; 0 = the recording has no facts about it */
	uint32_t pid;
	uint64_t start_ticks;	/* 0 = unknown */
	uint32_t nspid[8];	/* outermost first */
	uint32_t nspid_n;
	const char *comm;	/* "" when unknown */
	const char *exe;	/* "" when unknown */
	const char *cgroup;	/* "" when unknown */
	struct image *parent; /* the image it was forked from, NULL if unknown or after an exec */
	struct addrspace *as;	/* empty some time after the process ended */
	unsigned int runtimes;	/* enum jit_runtime bits of the files it mapped */
	bool kernel;		/* it is a thread of the kernel */
	bool exited;
	bool superseded;	/* the pid has another image now, by exec or in another process */
	bool used;		/* it has samples so far */
	bool entered;		/* a sample shows that it had begun to run (replay.c), */
	uint32_t entered_part;	/* in this part of the recording */
	uint64_t skipped;	/* samples that were skipped before it began */
	uint64_t begun;		/* ns, time of the event that began it */
	uint64_t exec_time;	/* ns, time of the exec it began with; 0 = no exec recorded */
	/* Cache of the user, valid while as->generation == cache_generation. */
	struct u64map cache;
	uint32_t cache_generation;
};

/* A kernel symbol that appeared or disappeared during the recording (a BPF program). */
struct ksym {
	uint64_t start, end;	/* kernel addresses */
	const char *name;	/* interned */
};

struct replay_sample {
	const struct ev_sample *ev;
	bool in_exec;		/* its user registers are those of the previous image, */
	bool maybe_entered;	/* unless an earlier part shows it running (entered_part) */
	uint32_t part;		/* part of the recording */
	struct image *img;	/* never NULL */
	const char *comm;	/* of the thread; interned: equal text, equal pointer */
	const char *cgroup;	/* interned; "" when unknown */
	const char *container;	/* ctr.label, interned; "" if in none, or if unknown */
};

struct replay;

/*
 * Several replays may share the samples of a recording (rec_reader_parts()), each in its own thread
 * and with its own modules. All of them see all events, and number images in the same way.
 */
struct replay_share {
	bool (*wants)(void *ctx, uint32_t part);	/* as in struct event_ops; @ctx of replay_run() */
	/* Set if a skipped sample might have changed the results: then discard them. */
	bool unsure;
	/* As in struct event_ops; may be NULL. */
	void (*block)(void *ctx);
};

/* @mods is borrowed, and gets the modules of the recording. */
struct replay *replay_new(struct modules *mods);
void replay_free(struct replay *rp);

/*
 * Reads the whole recording: captures first, then the events, and calls @fn for each sample. 0,
 * @fn's non-zero return, or -EIO after a message.
 */
int replay_run(struct replay *rp, struct rec_reader *r,
	       int (*fn)(void *ctx, const struct replay_sample *s), void *ctx);
/* The same for a share of the samples. */
int replay_run_share(struct replay *rp, struct rec_reader *r, struct replay_share *share,
		     int (*fn)(void *ctx, const struct replay_sample *s), void *ctx);

/*
 * The same in steps, for callers that handle events themselves, too. Reads the captures, and sets
 * in *@ops the handlers to call for each event, in order, with @rp as their context. 0 or negative
 * errno after a message.
 */
int replay_begin(struct replay *rp, struct rec_reader *r,
		 int (*fn)(void *ctx, const struct replay_sample *s), void *ctx, struct event_ops *ops);
/*
 * From now on, passes to @times what tells when threads run. Borrowed; its callbacks may use the
 * replay.
 */
void replay_time(struct replay *rp, struct cpu_times *times);
/*
 * What a sample @ev would say now of its thread, of which it needs only the numbers and the time.
 * False if nothing is known of the process. @ev is borrowed.
 */
bool replay_thread(const struct replay *rp, const struct ev_sample *ev, struct replay_sample *s);
/* Why a jitdump of @img was not used: static; NULL: it was, or there is none. */
const char *replay_jit_refused(const struct replay *rp, const struct image *img);
/* The current image of @pid; NULL: none is known. */
struct image *replay_current(const struct replay *rp, uint32_t pid);

/* Index of the kernel symbol that holds @addr now, for replay_ksym(); -1 if there is none. */
int32_t replay_find_ksym(const struct replay *rp, uint64_t addr);
const struct ksym *replay_ksym(const struct replay *rp, uint32_t index);

/* enum jit_runtime bits of @img and of the images it was forked from. */
unsigned int image_runtimes(const struct image *img);
struct image *replay_image(const struct replay *rp, uint32_t index);
size_t replay_images(const struct replay *rp);
/* The captured perf map lines of an image, or NULL. Borrowed. */
const struct perfmap *replay_perfmap(const struct replay *rp, uint32_t serial);
/*
 * Cgroups and containers, from the events so far. Set expected names before the replay. Borrowed.
 */
struct sample_cgroups *replay_cgroups(const struct replay *rp);
/* The recording's own kernel symbols, or NULL. Borrowed. */
const struct kallsyms *replay_kallsyms(const struct replay *rp);
/* The best kernel symbols: kernel_names_get(). Borrowed, read once for all callers. */
const struct kallsyms *replay_kernel(const struct replay *rp, const char *path);

#endif
