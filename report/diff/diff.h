/*
 * A comparison of profiles: two sides of one or more each, functions by name, and for each its self and total on either side
 * with what the statistics say of the change. See contrib/doc/diff.md.
 */
#ifndef NSPROF_DIFF_H
#define NSPROF_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "diff/diff_stat.h"

struct intern;
struct profile;
struct strbuf;

/* What a side's amounts are divided by. */
enum diff_per {
	DIFF_PER_TOTAL,		/* all samples of the side: shares */
	DIFF_PER_SECOND,	/* the time recorded */
	DIFF_PER_UNIT,		/* a count the user gives */
};

struct diff_input {
	const struct profile *profile;	/* borrowed */
	const char *path;
	unsigned int side;	/* DIFF_BEFORE, DIFF_AFTER */
	double scale;		/* units of work in it; for DIFF_PER_UNIT */
};

struct diff_opts {
	enum diff_per per;
	bool period;		/* weights are periods, else samples */
	bool keep_names;	/* as they are, not normalize_name() */
	double alpha, run_noise;
	uint64_t seed;
};

enum { DIFF_SELF, DIFF_TOTAL, DIFF_VALUES };

struct diff_row {
	uint32_t name;		/* in diff.names */
	uint8_t kind;		/* enum profile_kind, where it was seen first */
	double weight[DIFF_SIDES][DIFF_VALUES];	/* as counted */
	double samples[DIFF_SIDES][DIFF_VALUES];
	/* In diff.stat.column; UINT32_MAX: too few samples to say anything. Equal columns share one. */
	uint32_t column[DIFF_VALUES];
};

struct diff {
	struct intern *names;	/* owned */
	struct diff_row *row;	/* owned; [0]: all of it, which has no name and only a total */
	size_t nrows;
	struct u64map by_name;	/* owned; name << 1 | kernel_apart's kernel -> row */
	struct diff_stat stat;	/* owned */
	struct diff_opts opts;
	/*
	 * Functions of the kernel are others than user code's of the same name: every input tells them apart. Folded text may not, and
	 * is compared by name alone.
	 */
	bool kernel_apart;
	double samples[DIFF_SIDES], weight[DIFF_SIDES], divisor[DIFF_SIDES];
	uint64_t block_ns[DIFF_SIDES];	/* of a side's first input whose times are known, as the statistics uses it; 0: none is */
	size_t inputs[DIFF_SIDES];
	size_t tested;		/* functions with a column */
};

/* Functions with fewer samples, both sides and self or total, are not tested: nothing could be found, and each costs. */
#define DIFF_SAMPLES_MIN 10

/* Of @n inputs, at least one a side. Own with diff_free(). The profiles may go afterwards. */
struct diff *diff_new(const struct diff_input *in, size_t n, const struct diff_opts *opts);
void diff_free(struct diff *d);

/* NULL: not tested. */
const struct diff_column *diff_column(const struct diff *d, const struct diff_row *r, unsigned int value);
/* The rate of @value on @side: a share, or an amount for each second or unit. */
double diff_rate(const struct diff *d, const struct diff_row *r, unsigned int side, unsigned int value);
/* Seconds to a piece of @side that chance deals out; 0 where pieces are not of time. */
double diff_unit_seconds(const struct diff *d, unsigned int side);
bool diff_significant(const struct diff *d, const struct diff_row *r, unsigned int value);
/*
 * Is the frame of a picture more than chance? A leaf goes by its function's self, any other one by its total: that is what
 * its width shows. @name as it is compared, "" for the root. False of what was not tested.
 */
bool diff_frame_significant(const struct diff *d, const char *name, bool kernel, bool leaf);

#endif
