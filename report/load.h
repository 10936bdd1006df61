/* Input of a report: a recording (through nsprof-symbolize, as a child) or folded text, from a file or stdin. */
#ifndef NSPROF_LOAD_H
#define NSPROF_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct calltree;

struct load_opts {
	const char *path;	/* "-" is stdin */
	const char *by;		/* symbolize --by, or NULL */
	const char **filters;	/* symbolize --filter, each; borrowed */
	size_t nfilters;
	bool merge_threads;	/* symbolize --merge-threads */
	bool no_inline;
	bool period;		/* symbolize --weight period */
	bool quiet;
};

struct load_info {
	bool recording;		/* false: folded text */
	bool damaged;		/* the recording is cut or damaged: what could be read is in the tree */
	bool interrupted;	/* by Ctrl-C: some samples are not in the tree, or some names */
	uint64_t stacks;	/* folded lines */
	uint64_t total;		/* sum of the counts */
	uint64_t bad_lines;
};

/*
 * Fill @t. 0, or negative errno after one message. Ctrl-C, which all programs of a pipe get, does not end it while input
 * comes in, for the recorder still writes, nor while nsprof-symbolize runs, which then shows what it has. The second does.
 */
int load(const struct load_opts *opts, struct calltree *t, struct load_info *info);

#endif
