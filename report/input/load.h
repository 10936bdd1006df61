/* Input of a report: a recording (through nsprof-symbolize, as a child), a saved profile, or folded text of any tool. */
#ifndef NSPROF_LOAD_H
#define NSPROF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/filter.h"
#include "profile/profile.h"

/* perf's list of whose samples are looked at, or of times. */
struct load_list {
	enum filter_key key;
	const char *option, *list;	/* borrowed */
};

struct load_opts {
	const char *path;	/* "-" is stdin */
	const char **filters;	/* symbolize --filter, each; borrowed. Of saved profiles, too */
	size_t nfilters;
	struct load_list *lists;	/* symbolize --comms, --pid, --tid, --time, each; borrowed. But for --time of saved profiles, too */
	size_t nlists;
	const char *dsos, *symbols;	/* select_places(); NULL: any */
	uint64_t max_stack;	/* symbolize --max-stack; 0: as it is */
	bool raw_names;		/* symbolize --no-demangle */
	bool merge_threads, no_inline;	/* symbolize --merge-threads, --no-inline; reshape() */
	bool normalize;		/* symbolize --normalize */
	bool srcline;		/* symbolize --srcline */
	const char *event;	/* symbolize --event; NULL: the first that has samples */
	bool quiet;
};

struct load_info {
	bool recording;		/* false: saved profile or folded text */
	bool folded;		/* folded text: threads, times, files and what is counted are not known */
	bool damaged;		/* cut or damaged: what could be read is in the profile; or counts too large for it */
	bool interrupted;	/* by Ctrl-C: some samples are not in the profile, or some names */
	uint64_t bad_lines;	/* of folded text */
};

/*
 * *@out is finished; own with profile_free(). 0, or negative errno after one message. What the options ask for beyond what
 * a profile or folded text can do is refused. Ctrl-C, which all programs of a pipe get, does not end it while input
 * comes in, for the recorder still writes, nor while nsprof-symbolize runs, which then shows what it has. The second does.
 */
int load(const struct load_opts *opts, struct profile **out, struct load_info *info);
/*
 * Can @path ("-" is stdin) be read, and does it look like an input? 0, or negative errno after load()'s message. A pipe is
 * not opened.
 */
int load_check_input(const char *path);
/* Are the filters such that load() can go by them? 0, or -EINVAL after a message. */
int load_check_filters(const struct load_opts *opts);

#endif
