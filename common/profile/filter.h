/*
 * Which samples are looked at ("--filter"): conditions on whose they are and when they were taken, as text and as such. What
 * of a recording or a profile they are asked about is their users'.
 */
#ifndef NSPROF_FILTER_H
#define NSPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* In the order in which they are looked at. */
enum filter_key {
	FILTER_CONTAINER,	/* as it is shown, a glob */
	FILTER_CGROUP,		/* its path, a glob */
	FILTER_COMM,		/* of the thread, a glob */
	FILTER_PID,		/* in the recorder's pid namespace */
	FILTER_NSPID,		/* in the process's own */
	FILTER_TID,
	FILTER_TIME,		/* seconds since the recording was begun, FROM-TO: FROM is in it, TO is not */
	FILTER_KEYS,
};

struct filter_cond {
	enum filter_key key;
	char *text;		/* owned; "ngin*", "4711", "1.5-" */
	uint64_t from, to;	/* numbers in [from, to); times in ns since the recording was begun */
	bool absolute;		/* times are as in ev_sample.time, until filter_begin() */
	bool span;		/* @text is that of filter_add_span() */
	bool share;		/* from and to are parts of the time of all samples, until filter_place() */
};

/* A sample has to meet one condition of each key that there are any of. */
struct filter {
	struct filter_cond *conds;	/* owned */
	size_t n, cap;
	uint64_t start;		/* when the recording was begun, ns as in ev_sample.time; the user's to set */
	bool has[FILTER_KEYS];
};

/*
 * "comm=nginx", or several such behind one another with commas or blanks between. 0, or -EINVAL after a
 * message. Texts are globs (glob(7), where '/' is a character like others), or the very text.
 */
int filter_add(struct filter *f, const char *text);
/* perf's list "A,B" for @key, which is FILTER_COMM, FILTER_PID or FILTER_TID: any of them. @option: for messages. As filter_add(). */
int filter_add_list(struct filter *f, enum filter_key key, const char *option, const char *list);
/*
 * perf's "FROM,TO" in seconds of the recording's clock, as nsprof script shows them; one may be left out. Or parts of the time from the
 * first sample to the last: "10%", "10%/2" (the second tenth), "0%-20%", several with commas between. As filter_add().
 */
int filter_add_span(struct filter *f, const char *text);
/* Are there parts of a time in it, so that filter_place() is to be called? */
bool filter_has_shares(const struct filter *f);
/* Once, before filter_begin(): when the first and the last sample were taken, ns as in ev_sample.time. The last part has the last one in it. */
void filter_place(struct filter *f, uint64_t first, uint64_t last);
/* Once, when it is known when the recording was begun: ns as in ev_sample.time. */
void filter_begin(struct filter *f, uint64_t start);
void filter_fini(struct filter *f);

/*
 * Its times, "FROM-TO,FROM-TO" in ns since the recording was begun, up to the next whole @step ns; nothing where it has none. After
 * filter_begin().
 */
void filter_times(const struct filter *f, uint64_t step, struct strbuf *out);
/* "comm" ... */
const char *filter_key_name(enum filter_key key);
/*
 * Does @text, for keys that are texts, or @number where @text is NULL (times in ns since the recording was begun, 0 what is
 * not known), meet a condition of @key, or are there none?
 */
bool filter_accepts(const struct filter *f, enum filter_key key, const char *text, uint64_t number);

#endif
