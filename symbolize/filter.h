/* Which samples are looked at ("--filter"): conditions on whose they are and when they were taken. */
#ifndef NSPROF_FILTER_H
#define NSPROF_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay.h"
#include "strbuf.h"

/* In the order in which they are looked at. */
enum filter_key {
	FILTER_CONTAINER,	/* lead_container(), a glob */
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
};

/* A sample has to meet one condition of each key that there are any of. */
struct filter {
	struct filter_cond *conds;	/* owned */
	size_t n, cap;
	uint64_t start;		/* when the recording was begun, ns as in ev_sample.time */
	bool has[FILTER_KEYS];
};

/*
 * "comm=nginx", or several such behind one another with commas or blanks between. 0, or -EINVAL after a
 * message. Texts are globs (glob(7), where '/' is a character like others), or the very text.
 */
int filter_add(struct filter *f, const char *text);
void filter_fini(struct filter *f);

/* "comm" ... */
const char *filter_key_name(enum filter_key key);
/* Does @s meet a condition of @key, or are there none? */
bool filter_meets(const struct filter *f, enum filter_key key, const struct replay_sample *s);
/*
 * The first key of which @s meets no condition, among those that say whose it is: the same for all samples of
 * one thread, image, name and cgroup. FILTER_TIME: there is none.
 */
enum filter_key filter_misses_thread(const struct filter *f, const struct replay_sample *s);
/* The text that globs of @key are matched with, not clean; @buf may hold it. NULL: it is no text. */
const char *filter_text(enum filter_key key, const struct replay_sample *s, struct strbuf *buf);
/* The number that @key is about; 0 when unknown. */
uint64_t filter_number(const struct filter *f, enum filter_key key, const struct replay_sample *s);

#endif
