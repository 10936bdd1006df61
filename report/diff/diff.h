/*
 * A comparison of profiles. Each side has one or more profiles. Functions are matched by name; each
 * has its self and total on both sides and the statistics' verdict on the change. See
 * contrib/doc/diff.md.
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

/* The divisor of a side's amounts. */
enum diff_per {
	DIFF_PER_TOTAL,		/* all samples of the side: gives shares */
	DIFF_PER_SECOND,	/* the time recorded */
	DIFF_PER_UNIT,		/* a count that the user gives */
};

struct diff_input {
	const struct profile *profile;	/* borrowed */
	const char *path;
	unsigned int side;	/* DIFF_BEFORE, DIFF_AFTER */
	double scale;		/* units of work in the recording; for DIFF_PER_UNIT */
};

struct diff_opts {
	enum diff_per per;
	bool period;		/* weights are periods; otherwise samples */
	bool keep_names;	/* keep names as they are; otherwise normalize_name() */
	double alpha, run_noise;
	uint64_t seed;
};

enum { DIFF_SELF, DIFF_TOTAL, DIFF_VALUES };

struct diff_row {
	uint32_t name;		/* in diff.names */
	uint8_t kind;		/* enum profile_kind of its first occurrence */
	double weight[DIFF_SIDES][DIFF_VALUES];	/* as counted */
	double samples[DIFF_SIDES][DIFF_VALUES];
	/*
	 * Index in diff.stat.column; UINT32_MAX: too few samples for a test. Equal columns share
	 * one.
	 */
	uint32_t column[DIFF_VALUES];
};

struct diff {
	struct intern *names;	/* owned */
	struct diff_row *row;	/* owned; [0]: everything together, with no name and only a total */
	size_t nrows;
	struct u64map by_name;	/* owned; name << 1 | (kernel_apart and a kernel function) -> row */
	struct diff_stat stat;	/* owned */
	struct diff_opts opts;
	/*
	 * Kernel functions differ from user functions of the same name if every input tells them
	 * apart. Folded text may not; then functions are matched by name alone.
	 */
	bool kernel_apart;
	double samples[DIFF_SIDES], weight[DIFF_SIDES], divisor[DIFF_SIDES];
	uint64_t block_ns[DIFF_SIDES];	/* block length of the side's first input with times, as the
					 * statistics use it; 0: no input has times */
	size_t inputs[DIFF_SIDES];
	size_t tested;		/* functions that have a column */
};

/*
 * Functions with fewer samples, counted over both sides by self or total, are not tested. Nothing
 * could be found for them, and each test costs power.
 */
#define DIFF_SAMPLES_MIN 10

/*
 * Compares @n inputs, at least one per side. Free with diff_free(). The profiles may be freed
 * before it.
 */
struct diff *diff_new(const struct diff_input *in, size_t n, const struct diff_opts *opts);
void diff_free(struct diff *d);

/* NULL: not tested. */
const struct diff_column *diff_column(const struct diff *d, const struct diff_row *r, unsigned int value);
/* The rate of @value on @side: a share, or an amount per second or unit. */
double diff_rate(const struct diff *d, const struct diff_row *r, unsigned int side, unsigned int value);
/*
 * Length in seconds of the blocks of @side that the test permutes; 0 if they are not blocks of
 * time.
 */
double diff_unit_seconds(const struct diff *d, unsigned int side);
bool diff_significant(const struct diff *d, const struct diff_row *r, unsigned int value);
/*
 * Is the change of this frame in a picture significant? A leaf is judged by its function's self,
 * any other frame by its total, because that is what its width shows. @name: as compared, "" for
 * the root. False if it was not tested.
 */
bool diff_frame_significant(const struct diff *d, const char *name, bool kernel, bool leaf);

#endif
