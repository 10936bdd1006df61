/* What the files that make an evlist share. */
#ifndef NSPROF_EVLIST_PRIV_H
#define NSPROF_EVLIST_PRIV_H

#include "base/strbuf.h"
#include "evlist/evlist.h"
#include "evlist/pmu.h"
#include "evlist/tracefs.h"

struct event_parser {
	struct evlist *el;
	const struct event_spec *spec;
	uint32_t spec_index;
	bool in_group, leader_absent;
	size_t group_first;		/* where the group begins in the list */
	uint64_t freq;			/* Hz, for an event without a rate of its own */
	const char *pmus_dir;
	bool pmus_loaded;		/* into the list */
	const char *tracefs_dir;	/* NULL: to be found */
	struct tracefs tracefs;
	bool tracefs_tried;
	int tracefs_err;		/* negative errno, with the reason in tracefs_why */
	char tracefs_why[512];
	bool absent;			/* the last error is that this machine lacks what the event names */
};

/* The PMUs, which are listed when they are first asked for. */
const struct pmus *event_parser_pmus(struct event_parser *p);

/* Ownership of @text goes to the list. Returns it. */
const char *evlist_keep(struct evlist *el, char *text);
/*
 * Appends a copy of @ev, as a group of its own and with the rate of its -e unless it has one. If the
 * same is in the list already, nothing is appended. 0, or -EINVAL after a message.
 */
int evlist_add(struct event_parser *p, const struct evsel *ev);

/* A piece of an option's text. Not NUL-terminated. */
struct piece {
	const char *s;
	size_t len;
};

bool piece_is(struct piece p, const char *word);
/* A number, decimal or 0x. 0 or -EINVAL without a message. */
int event_number(struct piece text, uint64_t *v);
/* Digits of base 16. */
int event_hex(struct piece text, uint64_t *v);

/* What follows an event's name. */
struct event_rest {
	struct piece terms;	/* between slashes */
	struct piece mods;
	struct piece whole;	/* the event with its name, for messages */
};

/* Parses one event of a list and appends what it stands for. 0, or negative errno after a message. */
int event_parse(struct event_parser *p, struct piece text);
/*
 * For events that take no terms but those of event_term_common(): sets what @rest says, and appends
 * @ev. On machines with several kinds of core, one event for each.
 */
int event_finish(struct event_parser *p, const struct evsel *ev, const struct event_rest *rest);

/* ---- modifiers (event_modifiers.c) ---- */

struct event_modifiers {
	bool user, kernel, hypervisor, idle;
	bool pinned, exclusive, sample_read, weak;
	uint8_t precise;
};

/* Adds those of @text to *@m. @whole: the event, or group, for messages. @group: of a whole group. */
int event_modifiers_parse(struct event_modifiers *m, struct piece text, struct piece whole, bool group);
/* Sets what they say in @ev. @leader: it is its group's first, or alone. */
void event_modifiers_apply(const struct event_modifiers *m, struct evsel *ev, bool leader);
/* Are these only letters that may be modifiers? */
bool event_modifiers_like(struct piece text);

/* ---- NAME=VALUE between slashes (event_terms.c) ---- */

struct event_term {
	struct piece name, value;	/* value.s NULL: none */
	struct piece text;		/* all of it */
};

/* Takes the next term off *@rest. 1, 0 at the end, or -EINVAL after a message. */
int event_term_next(struct piece *rest, struct event_term *t, struct piece whole);
/*
 * Terms that every event may have: period, freq, name, and those of stacks. 1: it was one. 0: it is none. Otherwise
 * -EINVAL after a message.
 */
int event_term_common(struct event_parser *p, struct evsel *ev, const struct event_term *t, struct piece whole);
/* Is it one of these, or one that event_term_common() refuses? */
bool event_term_is_common(struct piece name);

/* ---- kinds of events; all as event_parse() ---- */

/* An event that needs no description by the kernel: of event_name.h, of caches, rHEX, TYPE:CONFIG. */
bool event_plain(struct event_parser *p, struct piece name, struct evsel *ev);
/* mem:ADDR[/LEN][:rwx][:MODS] */
int event_breakpoint(struct event_parser *p, struct piece text);
/* GROUP:NAME[/TERMS/][:MODS] */
int event_tracepoint(struct event_parser *p, struct piece group, struct piece name, const struct event_rest *rest);
/* Is there such a group of tracepoints? False if they cannot be read. */
bool event_tracepoint_group(struct event_parser *p, struct piece group);
/* Appends GROUP:NAME of the first tracepoint @name of any group. False if there is none. */
bool event_tracepoint_named(struct event_parser *p, struct piece name, struct strbuf *out);
/* The cache event @name, "L1-dcache-load-misses" in any of perf's spellings. */
bool event_cache(struct piece name, uint64_t *config);

/* Does @head name one PMU, or by a pattern several? */
bool event_pmu_known(struct event_parser *p, struct piece head);
/* PMU/TERMS/[MODS] */
int event_pmu(struct event_parser *p, struct piece head, const struct event_rest *rest);
/* NAME of sysfs, of any PMU that has it. Those of cores go first. */
bool event_pmu_named(struct event_parser *p, struct piece name);
int event_pmu_add_named(struct event_parser *p, struct piece name, const struct event_rest *rest);


#endif
