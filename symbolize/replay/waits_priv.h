/* What waits.c gathers and waits_weigh.c makes a result of (waits.h). */
#ifndef NSPROF_WAITS_PRIV_H
#define NSPROF_WAITS_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "replay/waits.h"

/*
 * Waits are of one length if they share one of so many equal parts of a power of two: those of one
 * length differ by 25 % at most.
 */
#define WAITS_PER_OCTAVE 4u
#define WAITS_LENGTHS (64 * WAITS_PER_OCTAVE)

/* Instead: all waits that are too short to be shown with their stacks. They have no rows. */
#define WAITS_BRIEF 4095u

#define WAITS_STRATUM_KEY(life, kind, length) ((uint64_t)(life) << 16 | (uint64_t)(kind) << 12 | (length))

/* The waits of one life that are of one kind and about one length: exact sums. */
struct wait_stratum {
	uint32_t life;
	uint8_t kind;		/* enum wait_kind, not WAIT_QUEUED */
	uint16_t length;	/* 0 for kinds that are not told apart by it */
	uint64_t n, ns, queued_ns;
	uint64_t from, to;	/* from the first to the end of the last */
};

/* The samples of a stratum with one stack. */
struct wait_row {
	uint32_t stratum;
	uint32_t stack, thread;	/* @stack: may be WAITS_HIDDEN */
	bool is_long;		/* one wait of its own */
	uint64_t first;		/* ns, time of its first sample: unique in its life */
	uint64_t n, ns, queued_ns;
	uint64_t from, to;	/* of the first wait */
};

/* The wait that a life is in. */
struct wait_life {
	uint32_t stack, thread;	/* of its sample, */
	bool sampled;		/* if it has one */
	uint64_t sampled_at;
};

struct pending;

struct waits {
	struct waits_opts opts;
	struct cpu_times *times;	/* owned */
	struct wait_life *lives;	/* owned; by life */
	size_t nlives, lives_cap;
	struct wait_stratum *strata;	/* owned */
	size_t nstrata, strata_cap;
	struct u64map stratum_index;	/* WAITS_STRATUM_KEY -> stratum */
	struct wait_row *rows;		/* owned */
	size_t nrows, rows_cap;
	struct u64map row_index;	/* hash -> row */
	struct pending *pending;	/* owned */
	size_t npending, pending_cap, waiting;
	uint32_t free_pending;
	struct u64map pending_of;	/* thread -> first << 32 | last in @pending */
	uint64_t on_ns;
	struct waits_counts counts;
};

/* Adds to the equal row, or adds a row. */
void waits_add_row(struct waits *w, const struct wait_row *row);

#endif
