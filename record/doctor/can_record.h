/* Which recordings would start from here, and what they would lack. */
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
	struct strbuf text;	/* why not, or what is missing; empty when it works */
	struct strbuf remedy;
	struct trial_open trial;
};

enum {
	CAN_RECORD_ALL,		/* -a */
	CAN_RECORD_CGROUP,		/* -G */
	CAN_RECORD_OTHER,		/* -p of another user's, or another one, if there is none */
	CAN_RECORD_OWN,		/* -p of our own */
	CAN_RECORD_COMMAND,
	CAN_RECORD_KINDS
};

/*
 * Fill @a, CAN_RECORD_KINDS of them. @n: who can be seen; @other: pid of the one that -p is tried with, 0 = nobody. Each is to be
 * given back with can_record_fini().
 */
void can_record_try(struct can_record *a, const struct visible_procs *n, uint32_t other);
void can_record_fini(struct can_record *a);

#endif
