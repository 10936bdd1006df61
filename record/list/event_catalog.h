/* The events of this machine, for nsprof list. */
#ifndef NSPROF_EVENT_CATALOG_H
#define NSPROF_EVENT_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strbuf.h"
#include "evlist/evlist.h"

enum catalog_kind {
	CATALOG_HARDWARE,
	CATALOG_SOFTWARE,
	CATALOG_CACHE,
	CATALOG_PMU,
	CATALOG_TRACEPOINT,
	CATALOG_OTHER,		/* syntax: raw events, breakpoints */
	CATALOG_KINDS,
};

struct catalog_event {
	enum catalog_kind kind;
	char *name;	/* owned: as -e takes it */
	char *text;	/* owned: what it is, one line */
	char *format;	/* owned; of tracepoints, if asked for; otherwise NULL */
	bool missing;	/* the kernel knows the event, this machine does not have it */
	bool unsampled;	/* its PMU can only count; @text says so */
};

struct event_catalog {
	struct catalog_event *v;	/* owned; by kind, then in the order of perf or by name */
	size_t n, cap;
	struct strbuf absent[CATALOG_KINDS];	/* why a kind has no events, and what helps; empty: it has */
};

/*
 * Lists what matches one of @patterns: shell patterns, or parts of names, both without regard to
 * case, or words for a whole kind ("hw", "sw", "cache", "pmu", "tracepoint"). Without any,
 * everything. @fields: read the formats of tracepoints. Release with event_catalog_fini().
 */
void event_catalog_load(struct event_catalog *c, const struct evlist_places *places, char *const *patterns, size_t n, bool fields);
void event_catalog_fini(struct event_catalog *c);

/* "hardware", "tracepoint". Static. */
const char *event_catalog_kind(enum catalog_kind kind);

#endif
