/* Events by the names that perf uses. */
#ifndef NSPROF_EVENT_NAME_H
#define NSPROF_EVENT_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct event_name {
	const char *name, *alias;	/* "cycles", "cpu-cycles"; alias NULL: none */
	uint32_t type;			/* PERF_TYPE_* */
	uint64_t config;		/* PERF_COUNT_* */
	const char *help;		/* one line */
};

/* The event named by @text (@len bytes, without modifiers). NULL: unknown. Static. */
const struct event_name *event_name_find(const char *text, size_t len);

/*
 * Does a recording that has only this name tell all of the event? Not if the user named it, or gave it by
 * its number. @type, @config: as in struct perf_event_attr.
 */
bool event_name_tells(const char *name, uint32_t type, uint64_t config);

/* All of them in turn; *@i is 0 at first. NULL at the end. */
const struct event_name *event_name_next(size_t *i);

struct suggest;
/* Offers all names to @s. */
void event_name_suggest(struct suggest *s);

#endif
