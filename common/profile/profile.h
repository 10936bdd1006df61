/*
 * A profile: named stacks with their counts, by thread and by time, and how they were taken. It is
 * the contract between nsprof-symbolize, which writes it as text (nsprof.profile(5)), and the
 * programs that show and compare profiles. It holds no code addresses. Folded text of any tool
 * becomes a profile, too.
 *
 * Ids are indices into the arrays. 0 means "none" in frames, threads and strings, and the root in
 * nodes. The profile owns everything.
 */
#ifndef NSPROF_PROFILE_H
#define NSPROF_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct intern;
struct profile_index;
struct strbuf;

enum profile_kind {		/* letter in the text */
	PROFILE_USER,		/* u */
	PROFILE_KERNEL,		/* k */
	PROFILE_JIT,		/* j */
	PROFILE_INLINED,	/* i */
	PROFILE_LEADING,	/* l: a container, process or thread (folded text, --by) */
	PROFILE_KINDS
};

/*
 * A function as shown. Frames equal in all fields are the same. Numbers are ids in profile.strings.
 */
struct profile_frame {
	uint32_t name;
	uint32_t dso;		/* path as mapped, "[kernel.kallsyms]", "[vdso]"; 0: unknown */
	uint32_t srcline;	/* "parse.c:120"; 0 when not asked for or unknown */
	uint32_t source;	/* of the name: symtab, debuginfo, captured, perf-map, ...; or 0 */
	uint8_t kind;		/* enum profile_kind */
	bool joined;		/* the frame was not in the stack copy (contrib/doc/joining.md) */
};

/* Stacks share prefixes, root first. A parent's id is smaller than its children's. */
struct profile_node {
	uint32_t parent;	/* node; 0 for node 0 */
	uint32_t frame;		/* 0 at node 0 only */
};

/*
 * A thread while it keeps its name and cgroup; with another name or in another cgroup it is a new
 * entry. Entries equal in all fields are the same. Numbers are of the recorder's pid namespace.
 */
struct profile_thread {
	uint32_t container;	/* its name as outputs show it; or path, "host", "[no cgroup]" */
	uint32_t cgroup;	/* path, or 0 */
	uint32_t comm;		/* "worker-N" of several with --merge-threads; 0: no name */
	uint32_t process;	/* last name of the main thread, from exec to exec; 0: none */
	/*
	 * fields of a tracepoint, as asked for: "prev_state=1 next_comm=bash"; 0: none. Threads then
	 * have an entry for each combination of values.
	 */
	uint32_t fields;
	int32_t pid;		/* -1: folded text */
	int32_t tid;		/* PROFILE_TID_MERGED: several (--merge-threads); -1: folded text */
	int32_t nspid;		/* pid in its innermost namespace; -1: unknown */
	bool helper;		/* belongs to the container's runtime, not to its work */
};

#define PROFILE_TID_MERGED (-2)

/* Samples that end at a node. Sorted by (event, thread, block, node), each combination at most once. */
struct profile_count {
	uint32_t thread;	/* 0: folded text */
	uint32_t block;		/* block of time: begin_ns + block * block_ns */
	uint32_t node;
	uint32_t event;		/* in profile.events; 0 if there are none */
	uint64_t samples;
	uint64_t period;	/* sum of periods; ns of CPU time for clocks; 0: unknown */
};

#define PROFILE_UNKNOWN UINT64_MAX

/*
 * One of several events. A profile of one event has none of these: its facts describe the event
 * (profile_meta()). With several, the facts describe the first.
 */
struct profile_event {
	uint32_t name, modifier;	/* strings: "cycles", "u" */
	uint32_t unit;		/* of periods: "ns", or 0 for events */
	uint64_t frequency;	/* Hz asked for; 0: none */
	uint64_t fixed_period;	/* 0: by frequency */
	/* String and bytes, as the facts call_graph and stack_bytes; 0: they are as these facts say. */
	uint32_t call_graph;
	uint64_t stack_bytes;	/* with @call_graph */
	bool by_period;		/* its periods vary: shown by period by default */
	uint64_t truncated, incomplete;	/* as the facts of that name, for its samples */
	/* As the facts of these names, for its samples; PROFILE_UNKNOWN: only known of all events together. */
	uint64_t kept, lost, cut, dropped, withheld, throttled_times, throttled_samples;
	uint64_t samples, period;	/* sums over counts, set by profile_finish(); they saturate */
};

struct profile_meta {
	uint32_t key, value;	/* strings; see profile_meta() */
};

struct profile {
	struct intern *strings;		/* text (base/escape.h) */
	struct profile_frame *frames;	/* [0] unused */
	struct profile_node *nodes;	/* [0] is the root */
	struct profile_thread *threads;	/* [0] unused, "unknown" */
	struct profile_count *counts;
	struct profile_meta *meta;
	struct profile_event *events;	/* NULL: one event, or unknown */
	uint32_t nframes, nnodes, nthreads, nmeta;
	uint32_t nevents;		/* 0: one event, or unknown */
	size_t ncounts;
	uint64_t block_ns;		/* width of a block of time; 0: times are unknown */
	uint32_t nblocks;		/* above each block of counts; at most PROFILE_BLOCKS_MAX */
	uint64_t samples, period;	/* sums over counts of all events; they saturate */
	bool cut;			/* the text ended early; everything before that is here */
	struct profile_index *index;	/* while it is built */
};

#define PROFILE_BLOCKS_MAX 1000000u

/*
 * The value of @key, or NULL. nsprof-symbolize writes (numbers are decimal; unknown values are
 * absent):
 *
 *	input		name of the recording		event, event_modifier	cpu-clock, u
 *	event_unit	ns or events, if the name of the event does not tell
 *	frequency	Hz asked for, or		fixed_period	-c
 *	weight		period: it varies from sample to sample; samples: it is fixed
 *	call_graph	dwarf, fp, none			stacks		masked, full
 *	stack_bytes	maximum size of a stack copy	ncpus		of the host
 *	hostname, target, command	as in the recording's settings
 *	begin_wall_ns	CLOCK_REALTIME of block 0	duration_ns	from there to the last sample of the recording
 *	kept, lost, cut, dropped, withheld	samples, of the ledger	full_copies	of these, with as much stack as asked for
 *	throttled_times	of events			throttled_samples	estimate of samples missed then
 *	truncated	samples whose stack goes on past the end of the copy
 *	incomplete	samples without a root, including truncated ones
 *	inlines		0 or 1				filter		"comm=nginx", once for each condition
 *	times		"FROM-TO,..." ns after begin_wall_ns: only these were kept; several: their intersection
 *	throttled	once for each throttled container: "container NAME: throttled in ..."
 *	note		once for each line to show above the result (absences)
 */
const char *profile_meta(const struct profile *p, const char *key);
/* Is it shown by period by default? Its samples stand for different numbers of events. */
bool profile_by_period(const struct profile *p);
/* The value of @key as a number, 0 when there is none. */
double profile_number(const struct profile *p, const char *key);

/* Number of samples or, with @period, the sum of their periods. */
static inline uint64_t profile_weight(const struct profile_count *c, bool period)
{
	return period ? c->period : c->samples;
}

/* An empty profile: node 0, no counts. */
struct profile *profile_new(void);
void profile_free(struct profile *p);	/* accepts NULL */

/*
 * Building a profile. Strings are copied; ids in arguments are of @p. profile_frame(),
 * profile_child() and profile_thread() return the same id for the same thing. Counts of the same
 * (event, thread, block, node) add up; sums saturate; empty counts are left out. Call profile_finish()
 * once, before anything reads the profile, and build no more after it. It sorts the counts and sets
 * samples, period and nblocks (which it never makes smaller). Ids limit all sizes: beyond 2^32-2 of
 * one sort the program exits, as when memory runs out. One thread may add strings and frames while
 * another adds nodes and counts.
 */
uint32_t profile_string(struct profile *p, const char *text);
uint32_t profile_frame(struct profile *p, const struct profile_frame *f);
uint32_t profile_child(struct profile *p, uint32_t parent, uint32_t frame);
/*
 * @n new nodes: @frames[0] below @parent, each further one below the one before. The caller knows
 * that @parent has no such child. Returns the id of the first; the others follow it.
 */
uint32_t profile_chain(struct profile *p, uint32_t parent, const uint32_t *frames, size_t n);
/* One stack of profile_paths(): */
struct profile_path {
	uint32_t n;		/* frames, at least one */
	uint32_t same;		/* frames, from the root on, equal to the stack before; first: 0 */
};
/*
 * Replace the frames of @n stacks with their nodes. @ids has the frames, root first, one stack
 * after the other. Nodes and ids are those that profile_child() would give for one frame after the
 * other. But many look-ups run side by side: in a large tree each look-up waits for memory, and
 * this takes half the time.
 */
void profile_paths(struct profile *p, uint32_t *ids, const struct profile_path *paths, size_t n);
uint32_t profile_thread(struct profile *p, const struct profile_thread *t);
void profile_count(struct profile *p, const struct profile_count *c);
/*
 * Adds an event, numbered from 0. Call it for each of several events, before their counts; names are
 * strings of @p. Its sums are set later.
 */
void profile_event(struct profile *p, const struct profile_event *ev);
/* Adds the events of @from to @to, which has none. */
void profile_same_events(struct profile *to, const struct profile *from);
/* Adds a value, never replaces one. Allowed after profile_finish(), too. */
void profile_set_meta(struct profile *p, const char *key, const char *value);
void profile_unset_meta(struct profile *p, const char *key);	/* removes all values of the key */
void profile_finish(struct profile *p);

/* The text of a string id. Borrowed. */
const char *profile_text(const struct profile *p, uint32_t id);

/*
 * A copy with threads, frames and nodes (children after their parents) in the order of their
 * contents, independent of the order in which they were built. Leaves out what no count needs.
 * Finished; own with profile_free().
 */
struct profile *profile_sorted(const struct profile *p);

/* ---- several events (profile_events.c) ---- */

/*
 * The event of @p that @name means (event_pick()), or for NULL the first one that has samples. 0 if it
 * has none and @name is NULL, or is that of its only event. -ENOENT after a message that calls it @shown.
 */
int profile_pick(const struct profile *p, const char *name, const char *shown);
/* Says on stderr that only the event @at is shown (event_pick_tell()). */
void profile_pick_tell(const struct profile *p, uint32_t at, const char *shown, const char *also);
/*
 * @p with only the event @at, as if it had been recorded alone: its facts are those of that event.
 * Own with profile_free(); frees @p. Returns @p itself if it has no events.
 */
struct profile *profile_only(struct profile *p, uint32_t at);
/*
 * @p without the events that have no samples, if they are more than a few, as those of a pattern are. A
 * note has their number. Own with profile_free(); frees @p, unless that is what it returns.
 */
struct profile *profile_skip_unused(struct profile *p);
/* What is known of the losses of one of several events replaces the facts of all. */
void profile_own_losses(struct profile *p, const struct profile_event *ev);
/*
 * A view of the event @at: @p with only its counts and their sums, and without the array of events.
 * Its facts are still those of the first event. Valid as long as @p; must not be freed.
 */
struct profile profile_view_event(const struct profile *p, uint32_t at);
/* "cycles:u" of the event @at, or of the only one; nothing if it is not known. */
void profile_event_text(const struct profile *p, uint32_t at, struct strbuf *out);
/*
 * What the time is that an event counts in ns: "of CPU time", "off the CPU" or "of wall time". NULL: it
 * counts events. Static. @unit: "ns", or anything else for events; NULL: the name tells. If there is a
 * single event, that is the fact event_unit, see profile_tell_unit().
 */
const char *profile_time_of(const char *event, const char *unit);
/* Sets the fact event_unit, "ns" or "events", if the event's name says something else. @unit: "ns" or "". */
void profile_tell_unit(struct profile *p, const char *event, const char *unit);
/* Does an event of this name count ns off the CPU? */
bool profile_is_off_cpu(const char *event);
/*
 * Are its samples waits, each one? So they are if switches weigh them, as of nsprof's "off-cpu"; a sample
 * of perf's stands for any number of waits. @event: NULL: not known.
 */
bool profile_has_waits(const char *event);
/* What it has then: "waits", otherwise "samples". Static. */
const char *profile_counted(const char *event);
/* The same time as a word: "CPU time", "time off the CPU". Only for events that count time. Static. */
const char *profile_time_name(const char *event);

/* ---- as text: nsprof.profile(5) ---- */

#define PROFILE_MAGIC "nsprof-profile\t"
#define PROFILE_MAGIC_LEN 15

/* 0, or -EIO: the stream has an error; the caller reports it. */
int profile_write(FILE *to, const struct profile *p);
/*
 * Read @in to its end, or to the first line that does not belong to a profile; then it warns once,
 * naming @name, and sets p->cut. 0, or negative errno after a message when nothing can be read: not
 * a profile, or another version.
 */
int profile_read(FILE *in, const char *name, struct profile **out);

#endif
