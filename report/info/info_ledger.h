/*
 * The ledger of a recording, for `nsprof info`: what it holds and what it lacks of the samples that
 * the kernel took.
 */
#ifndef NSPROF_INFO_LEDGER_H
#define NSPROF_INFO_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/hash.h"
#include "bytes/json.h"
#include "recording/rec_reader.h"

struct info_ledger {
	struct ev_ledger l;
	bool have;			/* false: the recording ends before its ledger */
	struct ev_tally *row;		/* owned; by second and CPU, each pair once */
	size_t nrow, cap_row;
	struct ev_counts *cpu;		/* owned; as in the file */
	size_t ncpu, cap_cpu;
	struct ev_pressure *press;	/* owned; in the order of time */
	size_t npress, cap_press;
	struct ev_absence *away;	/* owned, with their names; in the order of time */
	size_t naway, cap_away;
	struct u64map cpus;		/* CPU -> its latest kind of absence */
	uint64_t start;			/* ns of CLOCK_MONOTONIC */
	bool several;			/* events: the ledger has no sum of their counts */
	bool clock;			/* the event counts ns */
	bool covers;			/* ledger_sums_coverage() is meaningful */
};

/*
 * Reads everything but the events, which are passed with the other events. 0, or -EIO after a
 * message.
 */
int info_ledger_read(struct info_ledger *il, struct rec_reader *r);
void info_ledger_pressure(struct info_ledger *il, const struct ev_pressure *ev);
void info_ledger_absence(struct info_ledger *il, const struct ev_absence *ev);
void info_ledger_fini(struct info_ledger *il);

/*
 * Is it known of each event what it lost? Rings have several events: only the kernel's count tells,
 * if there were losses at all.
 */
static inline bool info_ledger_by_event(const struct info_ledger *il)
{
	return il->l.have_format_lost || !il->l.lost_kernel;
}

void info_ledger_text(const struct info_ledger *il, FILE *to);
/* Writes "ledger", "counts_by_cpu", "tally", "pressure" and "absences" into the open object. */
void info_ledger_json(const struct info_ledger *il, struct json *j);

#endif
