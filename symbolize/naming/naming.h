/*
 * The naming pass: names each unique location once, after all samples are in. Every location gets
 * at least one frame. If there is no name, that is a placeholder in brackets that says what is
 * there.
 */
#ifndef NSPROF_NAMING_H
#define NSPROF_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "replay/replay.h"
#include "support/location.h"
#include "support/symbol.h"

struct intern;
struct stacktree;

struct naming_opts {
	bool inlines;	/* frames of inlined functions */
	bool annotate;	/* append "_[k]" kernel, "_[j]" JIT, "_[i]" inlined, "_[joined]" to names */
	bool demangle;
	bool normalize;	/* remove what a rebuild changes (normalize.h) */
	bool srcline;	/* append " (file.c:12)" to names of user code that has debug info */
	bool progress;	/* show progress on stderr, after a second */
	bool detail;	/* fill naming.frames; then names have neither annotation nor line */
	const char *kallsyms;	/* path of kernel symbols to use instead; borrowed, NULL = none */
	bool offsets;	/* "[libx.so+0x1234]" instead of "[libx.so]" */
	/*
	 * The output writes names for each stack, and not once: the stacks, borrowed; NULL: once.
	 * @each: for each of their samples.
	 */
	const struct stacktree *tree;
	bool each;
};

/* The frames of one location: name ids, innermost first. */
struct named {
	uint32_t first;		/* index in naming.ids */
	uint32_t n;		/* at least 1 */
	uint8_t source; /* enum name_source of the function's name; NAME_NONE: a placeholder */
};

/* More about a frame. Strings are ids in naming.names; 0: unknown. */
struct named_frame {
	uint32_t dso;		/* as profile_frame.dso; text (escape.h) */
	uint32_t line;		/* "file.c:12"; text */
	uint8_t kind;		/* enum profile_kind */
	uint8_t source;		/* enum name_source */
	bool joined;
};

struct naming {
	struct naming_opts opts;
	const struct replay *rp;	/* borrowed */
	struct intern *names;		/* demangled; text, or with annotations frames of folded text */
	struct named *named;		/* by location id */
	size_t nlocs;
	uint32_t *ids;			/* name ids */
	size_t nids;
	size_t ids_cap;
	struct named_frame *frames;	/* owned; parallel to @ids; NULL without opts.detail */
	size_t frames_cap;
	uint64_t by_source[NAME_SOURCE_MAX];	/* unique locations */
	uint32_t kernel_id;		/* name id of "[kernel]"; 0: not needed */
	uint64_t nlines;		/* frames with a line, of unique locations; opts.srcline */
	size_t skipped;			/* locations not looked up: interrupted (interrupt.h) */
	bool kernel_hidden;		/* kernel frames have no names */
	const char *kernel_why, *kernel_remedy;	/* then the reason, and what to do; static */
	/*
	 * Image index -> why its perf map or jitdump was not used although there is one: the pointer of a
	 * text, which is static or lives as long as the replay.
	 */
	struct u64map refused;
};

/*
 * Runs the whole pass, which may take long. Fills @nm with the names of all locations of @ls. If
 * interrupted (interrupt.h), locations that were not looked up yet get placeholders. @texts: the
 * owners of LOC_TEXT are ids in it.
 */
void naming_run(struct naming *nm, const struct naming_opts *opts, const struct replay *rp,
		const struct locations *ls, const struct intern *texts);
void naming_fini(struct naming *nm);

#endif
