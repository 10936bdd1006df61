/* The checks of nsprof doctor. Each tries the real thing. */
#ifndef NSPROF_DOCTOR_H
#define NSPROF_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "doctor/can_record.h"
#include "doctor/visible_procs.h"

enum verdict {
	VERDICT_OK,
	VERDICT_NOT_OK,
	VERDICT_UNKNOWN,	/* cannot tell */
};

struct check {
	const char *name;	/* "map_files"; static */
	enum verdict verdict;
	/* what was found; begins with the failed call and its error, if one failed */
	struct strbuf text;
	struct strbuf remedy;	/* empty: none is needed or known */
	const char *call;	/* "open", "perf_event_open"; static; NULL if none failed */
	int err;		/* its negative errno */
};

#define CHECKS_MAX 24

struct doctor {
	struct check checks[CHECKS_MAX];
	size_t nchecks;
	struct can_record abilities[CAN_RECORD_KINDS];
	bool numbered;		/* nsopen_proc() shows the pids that samples have */
	struct visible_procs near;
	uint32_t other;		/* pid of the process to try -p with; 0 = none */
};

/*
 * Raises the soft limit of descriptors, as recording does. Writes no files. Release with
 * doctor_fini().
 */
void doctor_examine(struct doctor *d);
void doctor_fini(struct doctor *d);

/* Do all running containers have names, and if not, why (containers_why())? */
void doctor_container_names(struct check *c);

/* What a recorder gives up here. */
void doctor_sandbox(struct check *c);

/* 0: -a and -G work; 1: something works, but not both; 2: nothing works. */
int doctor_status(const struct doctor *d);

#endif
