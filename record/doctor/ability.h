/* Which recordings would start from here, and what they would lack. */
#ifndef NSPROF_ABILITY_H
#define NSPROF_ABILITY_H

#include <stdint.h>

#include "base/strbuf.h"
#include "doctor/neighbours.h"
#include "doctor/trial.h"

enum works {
	WORKS,
	WORKS_IN_PART,
	WORKS_NOT,
	WORKS_UNKNOWN,
};

struct ability {
	const char *name;	/* "-a"; static */
	enum works works;
	struct strbuf text;	/* why not, or what is missing; empty when it works */
	struct strbuf remedy;
	struct trial trial;
};

enum {
	ABILITY_ALL,		/* -a */
	ABILITY_CGROUP,		/* -G */
	ABILITY_OTHER,		/* -p of another user's, or another one, if there is none */
	ABILITY_OWN,		/* -p of our own */
	ABILITY_COMMAND,
	ABILITIES
};

/*
 * Fill @a, ABILITIES of them. @n: who can be seen; @other: pid of the one that -p is tried with, 0 = nobody. Each is to be
 * given back with ability_fini().
 */
void abilities_try(struct ability *a, const struct neighbours *n, uint32_t other);
void ability_fini(struct ability *a);

#endif
