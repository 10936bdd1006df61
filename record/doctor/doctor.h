/* What nsprof doctor looks at. Every check tries the thing itself. */
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
	struct strbuf text;	/* what was found; begins with the call that failed and its error, if one did */
	struct strbuf remedy;	/* empty: none is needed, or there is none */
	const char *call;	/* "open", "perf_event_open"; static; NULL when none failed */
	int err;		/* of it: negative errno */
};

#define CHECKS_MAX 24

struct doctor {
	struct check checks[CHECKS_MAX];
	size_t nchecks;
	struct can_record abilities[CAN_RECORD_KINDS];
	bool numbered;		/* nsopen_proc() numbers processes as samples do */
	struct visible_procs near;
	uint32_t other;		/* pid of the one that -p is tried with; 0 = none */
};

/* Own with doctor_fini(). Raises the soft limit of descriptors, as recording does. Writes nothing anywhere. */
void doctor_examine(struct doctor *d);
void doctor_fini(struct doctor *d);

/* Is every container that runs known by name, and if not, why (containers_why())? */
void doctor_container_names(struct check *c);

/* 0: -a and -G work; 1: not both of them, but something; 2: nothing. */
int doctor_status(const struct doctor *d);

#endif
