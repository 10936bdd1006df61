/*
 * The events of a recording, from what -e, --filter, -F and -c say. The syntax is that of perf:
 *
 *	-e LIST		events and groups, separated by commas
 *	{LIST}[:MODS]	a group: its events are counted at the same times
 *	EVENT		NAME[:MODS], NAME/TERMS/[MODS], PMU/TERMS/[MODS], rHEX, TYPE:CONFIG,
 *			mem:ADDR[/LEN][:rwx][:MODS], GROUP:NAME[:MODS] with patterns in both
 */
#ifndef NSPROF_EVLIST_H
#define NSPROF_EVLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "evlist/evsel.h"
#include "evlist/pmu.h"

/* How often samples are taken, by -F or -c. Both 0: not given. */
struct event_rate {
	uint64_t freq;		/* Hz; EVSEL_FREQ_MAX: -F max */
	uint64_t period;	/* events per sample */
};

/* One -e, with the options that count for it. */
struct event_spec {
	const char *text;	/* borrowed */
	char *filter;		/* owned: all --filter that follow it, joined by &&; NULL: none */
	struct event_rate rate;
	bool clock;		/* only if no event before it is a clock */
	bool optional;		/* what this machine does not have is left out (--optional-events) */
};

/* An event that --optional-events left out. */
struct event_left_out {
	char *name;		/* owned */
	char *why;		/* owned: the message */
};

struct evlist {
	struct evsel *v;	/* owned */
	size_t n, cap;
	char **texts;		/* owned: what the events point to */
	size_t ntexts, cap_texts;
	struct pmus pmus;	/* owned: as above */
	struct event_left_out *left;	/* owned; of specs that are optional */
	size_t nleft, cap_left;
};

/* Where the kernel describes its events. NULL: where they usually are. */
struct evlist_places {
	const char *pmus;	/* /sys/bus/event_source/devices */
	const char *tracefs;	/* where tracefs is mounted; NULL: find it, or mount it privately */
};

/*
 * Makes the list of all events of @specs (at least one). Events without a rate of
 * their own take that of their -e, otherwise @freq (Hz), or each event where counting has no
 * measure of time (tracepoints, breakpoints).
 *
 * The list may be empty, see evlist_check_any(). 0; -EINVAL after a message that names what is wrong and what exists instead; other negative errno
 * after a message that says what could not be read. Release with evlist_fini() in any case.
 */
int evlist_parse(struct evlist *el, const struct event_spec *specs, size_t nspecs, uint64_t freq,
		 const struct evlist_places *places);
/*
 * Is there an event? None may be left of what the options name. 0, or -EINVAL after a message.
 */
int evlist_check_any(const struct evlist *el);
/* Adds an event that no -e names. 0, or -EINVAL after a message: there are too many. */
int evlist_append(struct evlist *el, const struct evsel *ev);
/*
 * --all-user and --all-kernel replace what the modifiers of each event say. Threads leave the CPU in
 * the kernel, so that is where --off-cpu samples in any case.
 */
void evlist_narrow(struct evlist *el, bool user, bool kernel);
void evlist_fini(struct evlist *el);

#endif
