/* Makes a profile (profile.h) from the collected and named samples. */
#ifndef NSPROF_TO_PROFILE_H
#define NSPROF_TO_PROFILE_H

#include <stdint.h>

#include "profile/profile.h"

struct collect;
struct naming;
struct rec_reader;

struct to_profile {
	const char *input;		/* name of the recording */
	const struct collect *col;	/* with opts.block_ns */
	const struct naming *nm;	/* with opts.detail */
	struct rec_reader *reader;
};

/* Block length for about a thousand blocks in the recording: ns, at least 10 ms. */
uint64_t to_profile_block(struct rec_reader *r);
/* The same recording with the same options gives the same profile. Free with profile_free(). */
struct profile *to_profile(const struct to_profile *in);

#endif
