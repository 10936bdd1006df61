/*
 * Input of a report: a recording (through the child nsprof-symbolize), a saved profile, or folded
 * text of any tool.
 */
#ifndef NSPROF_LOAD_H
#define NSPROF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/filter.h"
#include "profile/profile.h"

/* One of perf's lists of comms, processes, threads or times. */
struct load_list {
	enum filter_key key;
	const char *option, *list;	/* borrowed */
};

struct load_opts {
	const char *path;	/* "-" is stdin */
	const char **filters;	/* borrowed; each is a symbolize --filter, also for saved profiles */
	size_t nfilters;
	struct load_list *lists;	/* borrowed; each is a symbolize --comms, --pid, --tid or
					 * --time. All but --time also work on saved profiles */
	size_t nlists;
	const char *dsos, *symbols;	/* for select_places(); NULL: any */
	uint64_t max_stack;	/* symbolize --max-stack; 0: default */
	bool raw_names;		/* symbolize --no-demangle */
	bool merge_threads, no_inline;	/* symbolize --merge-threads, --no-inline; reshape() */
	bool normalize;		/* symbolize --normalize */
	bool srcline;		/* symbolize --srcline */
	const char *fields;	/* symbolize --with-fields: "a,b"; NULL: none */
	bool all_waits;		/* symbolize --all */
	bool keep_parked;	/* symbolize --keep-parked; text is as it is */
	const char *event;	/* the only event, also of a saved profile; NULL: all */
	bool quiet, no_sandbox;
};

struct load_info {
	bool recording;		/* false: saved profile or folded text */
	bool folded;		/* folded text: threads, times, files and the unit of the counts are
				 * unknown */
	bool damaged;		/* truncated or damaged input: the profile holds what could be read;
				 * or its counts overflow */
	bool interrupted;	/* by Ctrl-C: some samples or names are missing from the profile */
	uint64_t bad_lines;	/* bad lines in folded text */
};

/*
 * Sets *@out to a finished profile; free with profile_free(). Returns 0, or negative errno after
 * one message. Rejects options that a profile or folded text cannot satisfy. Ctrl-C reaches all
 * programs of a pipe. The first one does not end load() while input arrives, since the recorder
 * still writes, nor while nsprof-symbolize runs, which then shows what it has. The second one does.
 */
int load(const struct load_opts *opts, struct profile **out, struct load_info *info);
/* @path for messages: "'x.data'", or "standard input". Valid until the next call. */
const char *load_shown(const char *path);
/*
 * Is @path ("-" is stdin) readable, and does it look like an input? 0, or negative errno after
 * load()'s message. Pipes are not opened.
 */
int load_check_input(const char *path);
/* Can load() apply these filters? 0, or -EINVAL after a message. */
int load_check_filters(const struct load_opts *opts);

#endif
