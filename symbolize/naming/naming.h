/*
 * The naming pass: each unique location once, after all samples are in. Every location gets at
 * least one frame; what has no name gets a placeholder in brackets that says what is there instead.
 */
#ifndef NSPROF_NAMING_H
#define NSPROF_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "replay/replay.h"
#include "support/location.h"
#include "support/symbol.h"

struct intern;

struct naming_opts {
	bool inlines;	/* frames of inlined functions */
	bool annotate;	/* "_[k]" kernel, "_[j]" JIT, "_[i]" inlined, "_[joined]" behind the name */
	bool demangle;
	bool normalize;	/* without what a rebuild changes (normalize.h) */
	bool srcline;	/* " (file.c:12)" behind the names of user code that has debug info */
	bool progress;	/* tell on stderr how far it is, after a second */
	bool detail;	/* fill naming.frames; no annotation and no line in the names then */
	const char *kallsyms;	/* path of kernel symbols to take instead of the recording's; borrowed, NULL = none */
	bool offsets;	/* "[libx.so+0x1234]" in place of "[libx.so]" */
};

/* The frames of one location: name ids, innermost first. */
struct named {
	uint32_t first;		/* index in naming.ids */
	uint32_t n;		/* 1 and up */
	uint8_t source; /* enum name_source of the function's name; NAME_NONE: a placeholder */
};

/* What a name id does not tell. Strings are ids in naming.names; 0: not known. */
struct named_frame {
	uint32_t dso;		/* as profile_frame.dso; clean */
	uint32_t line;		/* "file.c:12"; clean */
	uint8_t kind;		/* enum profile_kind */
	uint8_t source;		/* enum name_source */
	bool joined;
};

struct naming {
	struct naming_opts opts;
	const struct replay *rp;	/* borrowed */
	struct intern *names;		/* finished frames: clean, demangled, annotated */
	struct named *named;		/* by location id */
	size_t nlocs;
	uint32_t *ids;			/* name ids */
	size_t nids;
	size_t ids_cap;
	struct named_frame *frames;	/* owned; of each of @ids; NULL without opts.detail */
	size_t frames_cap;
	uint64_t by_source[NAME_SOURCE_MAX];	/* unique locations */
	uint32_t kernel_id;		/* name id of "[kernel]"; 0 when it was not needed */
	uint64_t nlines;		/* frames that have a line, of unique locations; counted with opts.srcline */
	size_t skipped;			/* locations not looked up: asked to stop (interrupt.h) */
	bool kernel_hidden;		/* kernel frames, and no kernel names to be had */
	const char *kernel_why, *kernel_remedy;	/* then why, and what to do; static */
};

/*
 * The whole pass, which may take long: fills @nm with the names of all of @ls or, asked to stop (interrupt.h), of what was looked
 * up by then; the rest are placeholders. @texts: what LOC_TEXT owners point into.
 */
void naming_run(struct naming *nm, const struct naming_opts *opts, const struct replay *rp,
		const struct locations *ls, const struct intern *texts);
void naming_fini(struct naming *nm);

#endif
