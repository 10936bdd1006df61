/* Which recordings would start here, and what they would lack. */
#ifndef NSPROF_CAN_RECORD_H
#define NSPROF_CAN_RECORD_H

#include <stdint.h>

#include "base/strbuf.h"
#include "doctor/trial_open.h"
#include "doctor/visible_procs.h"

enum works {
	WORKS,
	WORKS_IN_PART,
	WORKS_NOT,
	WORKS_UNKNOWN,
};

struct can_record {
	const char *name;	/* "-a"; static */
	enum works works;
	struct strbuf text;	/* why it does not work, or what is missing; empty if it works */
	struct strbuf remedy;
	struct trial_open trial;
};

enum {
	CAN_RECORD_ALL,		/* -a */
	CAN_RECORD_CGROUP,		/* -G */
	/* -p of another user's process, or if there is none, of any other */
	CAN_RECORD_OTHER,
	CAN_RECORD_OWN,		/* -p of one of our own processes */
	CAN_RECORD_COMMAND,
	CAN_RECORD_KINDS
};

/*
 * Fills @a, an array of CAN_RECORD_KINDS. @n: the visible processes; @other: pid of the process to
 * try -p with, 0 = none. Release each entry with can_record_fini().
 */
void can_record_try(struct can_record *a, const struct visible_procs *n, uint32_t other);
void can_record_fini(struct can_record *a);

#endif
