/*
 * Selects samples ("--filter"): conditions on their thread, process, container and time, as text
 * and parsed. Users of this module decide which facts of a recording or a profile they test.
 */
#ifndef NSPROF_FILTER_H
#define NSPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* In the order in which they are tested. */
enum filter_key {
	FILTER_CONTAINER,	/* name as shown, a glob */
	FILTER_CGROUP,		/* path, a glob */
	FILTER_COMM,		/* name of the thread, a glob */
	FILTER_PID,		/* in the recorder's pid namespace */
	FILTER_NSPID,		/* in the process's own pid namespace */
	FILTER_TID,
	FILTER_TIME,		/* seconds since the recording began, FROM-TO without TO itself */
	FILTER_STATE,		/* enum lead_state, by name; of a wait it is known when waits are weighed */
	FILTER_KEYS,
};

struct filter_cond {
	enum filter_key key;
	char *text;		/* owned; "ngin*", "4711", "1.5-" */
	char *shown;		/* owned; @text as outputs show such a name; NULL: the same */
	uint64_t from, to;	/* numbers in [from, to); times in ns since the recording began */
	bool absolute;		/* times are as in ev_sample.time, until filter_begin() */
	bool span;		/* @text is from filter_add_span() */
	bool share;		/* from and to are shares of that time, before filter_place() */
};

/* A sample must meet one condition of each key that has any. */
struct filter {
	struct filter_cond *conds;	/* owned */
	size_t n, cap;
	uint64_t start;		/* start of the recording, ns as in ev_sample.time; set by users */
	bool has[FILTER_KEYS];
};

/*
 * Add "comm=nginx", or several such conditions separated by commas or blanks. 0, or -EINVAL after a
 * message. A text matches as a glob (glob(7), but '/' is an ordinary character) or literally.
 */
int filter_add(struct filter *f, const char *text);
/*
 * Add perf's list "A,B" for @key (FILTER_COMM, FILTER_PID or FILTER_TID): any of them matches.
 * @option: for messages. Returns as filter_add().
 */
int filter_add_list(struct filter *f, enum filter_key key, const char *option, const char *list);
/*
 * Add perf's "FROM,TO" in seconds of the recording's clock, as shown by nsprof script; either may
 * be left out. Or shares of the time from the first sample to the last: "10%", "10%/2" (the second
 * tenth), "0%-20%", several separated by commas. Returns as filter_add().
 */
int filter_add_span(struct filter *f, const char *text);
/* Does it have shares of time? Then filter_place() must be called. */
bool filter_has_shares(const struct filter *f);
/*
 * Call it once, before filter_begin(), with the times of the first and the last sample, ns as in
 * ev_sample.time. A share that ends at 100 % includes the last sample.
 */
void filter_place(struct filter *f, uint64_t first, uint64_t last);
/* Call it once, when the start of the recording is known: @start in ns as in ev_sample.time. */
void filter_begin(struct filter *f, uint64_t start);
void filter_fini(struct filter *f);

/*
 * Append the selected times as "FROM-TO,FROM-TO" in ns since the recording began, each rounded up
 * to a multiple of @step ns; nothing when there are none. After filter_begin().
 */
void filter_times(const struct filter *f, uint64_t step, struct strbuf *out);
/* "comm" ... */
const char *filter_key_name(enum filter_key key);
/*
 * Is there no condition of @key, or does one accept the value? The value is @text for keys that are
 * texts; else @text is NULL and @number is the value (times in ns since the recording began; 0: not
 * known).
 */
bool filter_accepts(const struct filter *f, enum filter_key key, const char *text, uint64_t number);

#endif
