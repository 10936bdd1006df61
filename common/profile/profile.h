/*
 * A profile: named stacks with their counts, by thread and by time, and what has to be known about how they were
 * taken. The contract between nsprof-symbolize, which writes it as text (nsprof.profile(5)), and the
 * programs that show and compare. It holds no addresses of code; folded text of any tool becomes one, too.
 *
 * Ids are indices into the arrays; 0 is "none" in frames, threads and strings, and the root in nodes. All of it is owned
 * by the profile.
 */
#ifndef NSPROF_PROFILE_H
#define NSPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct intern;
struct profile_index;

enum profile_kind {		/* letter in the text */
	PROFILE_USER,		/* u */
	PROFILE_KERNEL,		/* k */
	PROFILE_JIT,		/* j */
	PROFILE_INLINED,	/* i */
	PROFILE_LEADING,	/* l: no function, a name of a container, process, thread (folded text with --by) */
	PROFILE_KINDS
};

/* A function as it is shown. Equal in all fields: the same frame. Numbers are ids in profile.strings. */
struct profile_frame {
	uint32_t name;
	uint32_t dso;		/* path as mapped, "[kernel.kallsyms]", "[vdso]"; 0 not known (folded text) */
	uint32_t srcline;	/* "parse.c:120"; 0 when not asked for or not known */
	uint32_t source;	/* where the name is from: symtab, debuginfo, captured, perf-map, ...; 0 */
	uint8_t kind;		/* enum profile_kind */
	bool joined;		/* the frame was not in the copy (contrib/doc/joining.md) */
};

/* Stacks share prefixes, root first. A parent's number is smaller than its children's. */
struct profile_node {
	uint32_t parent;	/* node; that of node 0 is 0 */
	uint32_t frame;		/* 0 at node 0 only */
};

/*
 * A thread as long as it is called so and is there: under another name, or in another cgroup, it is another one. Equal in
 * all fields: the same. Numbers are of the recorder's pid namespace.
 */
struct profile_thread {
	uint32_t container;	/* name as lead_container() shows it; a path, "host" or "[no cgroup]" outside of one */
	uint32_t cgroup;	/* path, or 0 */
	uint32_t comm;		/* "worker-N" of several with --merge-threads; 0: it has none */
	uint32_t process;	/* the name its main thread has last: one from exec to exec; 0: it has none */
	int32_t pid;		/* -1: folded text */
	int32_t tid;		/* PROFILE_TID_MERGED: several with --merge-threads; -1: folded text */
	int32_t nspid;		/* pid in its innermost namespace; -1 not known */
	bool helper;		/* of a container's runtime, not the container's work */
};

#define PROFILE_TID_MERGED (-2)

/* Samples that end at a node. Sorted by (thread, block, node), each combination at most once. */
struct profile_count {
	uint32_t thread;	/* 0: folded text */
	uint32_t block;		/* of time: begin_ns + block * block_ns */
	uint32_t node;
	uint64_t samples;
	uint64_t period;	/* sum of the periods; ns of CPU time for clocks; 0: not known (folded text) */
};

struct profile_meta {
	uint32_t key, value;	/* strings; see profile_meta() */
};

struct profile {
	struct intern *strings;		/* raw bytes without NUL, tab and newline included */
	struct profile_frame *frames;	/* [0] unused */
	struct profile_node *nodes;	/* [0] is the root */
	struct profile_thread *threads;	/* [0] unused, "not known" */
	struct profile_count *counts;
	struct profile_meta *meta;
	uint32_t nframes, nnodes, nthreads, nmeta;
	size_t ncounts;
	uint64_t block_ns;		/* width of a block of time; 0: times are not known */
	uint32_t nblocks;		/* all blocks of the counts are smaller; at most PROFILE_BLOCKS_MAX */
	uint64_t samples, period;	/* sums over counts; stop at the largest value */
	bool cut;			/* the text ended early: all before that is in */
	struct profile_index *index;	/* while it is built */
};

#define PROFILE_BLOCKS_MAX 1000000u

/*
 * The value of @key, or NULL. What nsprof-symbolize writes (all decimal where numbers; what is not known is not there):
 *
 *	input		name of the recording		event, event_modifier	cpu-clock, u
 *	frequency	Hz asked for, or		fixed_period	-c
 *	weight		period: it varies from sample to sample; samples: it is fixed
 *	call_graph	dwarf, fp, none			stacks		masked, full
 *	stack_bytes	of a copy, at most		ncpus		of the host
 *	hostname, target, command	as in the recording's settings
 *	begin_wall_ns	CLOCK_REALTIME of block 0	duration_ns	from there to the last sample of the recording
 *	kept, lost, cut, dropped	samples, of the ledger	full_copies	of these, with as much stack as asked for
 *	throttled_times	of events			throttled_samples	about how many were not taken then
 *	truncated	samples whose stack ends in the copy's end
 *	incomplete	samples without a root, truncated ones included
 *	inlines		0 or 1				filter		"comm=nginx", once for each condition
 *	times		"FROM-TO,..." ns after begin_wall_ns: no other samples are in; several: those in all of them
 *	throttled	once for each container held back: "container NAME: throttled in ..."
 *	note		once for each line that a reader should see above the result (absences)
 */
const char *profile_meta(const struct profile *p, const char *key);
/* Is it shown by period unless asked otherwise? Its samples stand for different numbers of events. */
bool profile_by_period(const struct profile *p);
/* Its value as a number, 0 where there is none. */
double profile_number(const struct profile *p, const char *key);

/* Samples, or with @period the sum of their periods. */
static inline uint64_t profile_weight(const struct profile_count *c, bool period)
{
	return period ? c->period : c->samples;
}

/* An empty profile: node 0, no counts. */
struct profile *profile_new(void);
void profile_free(struct profile *p);	/* accepts NULL */

/*
 * Building one. Strings are copied; ids in what is given are of @p. profile_frame(), profile_child() and profile_thread()
 * give the same id for the same thing. Counts for the same (thread, block, node) add up; sums stop at the largest
 * value; a count of nothing is left out. profile_finish() sorts the counts and sets nblocks (not to less than the
 * builder did), samples and period; call it once, before anything reads, and build no more. Sizes are bounded by the ids: the program
 * ends beyond 2^32-2 of one sort, as when memory is out. One thread may add strings and frames while another one adds nodes and counts.
 */
uint32_t profile_string(struct profile *p, const char *text);
uint32_t profile_frame(struct profile *p, const struct profile_frame *f);
uint32_t profile_child(struct profile *p, uint32_t parent, uint32_t frame);
/*
 * @n new nodes: @frames[0] below @parent, which the caller knows to have no such child, each further one
 * below the one before. The number of the first; the others follow it.
 */
uint32_t profile_chain(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n);
/* A stack among others: */
struct profile_path {
	uint32_t n;		/* frames, at least one */
	uint32_t same;		/* so many of these, from the root on, are those of the stack before it; of the first 0 */
};
/*
 * The nodes of @n stacks, whose frames, root first, stand in @ids, one stack behind the other; nodes take the frames'
 * places. They are those that profile_child() gives for one frame after the other, with the same numbers. But many are looked up
 * at a time: in a large tree, where each look-up has to wait for memory, that takes half the time.
 */
void profile_paths(struct profile *p, uint32_t *ids, const struct profile_path *paths, size_t n);
uint32_t profile_thread(struct profile *p, const struct profile_thread *t);
void profile_count(struct profile *p, const struct profile_count *c);
void profile_set_meta(struct profile *p, const char *key, const char *value);	/* one more; does not replace; later, too */
void profile_unset_meta(struct profile *p, const char *key);	/* all of the key */
void profile_finish(struct profile *p);

/* What a string id means. Borrowed. */
const char *profile_text(const struct profile *p, uint32_t id);

/*
 * The same profile with threads, frames and nodes (children behind their parents) in the order of what they say, whatever
 * the order they were built in. What no count needs is left out. Finished; own with profile_free().
 */
struct profile *profile_sorted(const struct profile *p);

/* ---- as text: nsprof.profile(5) ---- */

#define PROFILE_MAGIC "nsprof-profile\t"
#define PROFILE_MAGIC_LEN 15

/* 0, or -EIO: the stream has an error, which is the caller's to tell. */
int profile_write(FILE *to, const struct profile *p);
/*
 * @in to its end, or up to the first line that is none of a profile: then one warning that names @name, and p->cut. 0, or
 * negative errno after a message when it cannot be read at all: no profile, another version.
 */
int profile_read(FILE *in, const char *name, struct profile **out);

#endif
