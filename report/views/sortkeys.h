/* Sort keys ("--sort"): what a table has one row for. */
#ifndef NSPROF_SORTKEYS_H
#define NSPROF_SORTKEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "grid/grid.h"
#include "profile/profile.h"

enum sortkey {
	SORT_SYMBOL, SORT_DSO, SORT_SRCLINE,			/* of frames */
	SORT_COMM, SORT_PID, SORT_TID, SORT_CONTAINER, SORT_CGROUP,	/* of threads */
	SORT_FIELD,	/* of tracepoints; may occur several times */
	SORT_KEYS,
};

#define SORT_MAX 24

struct sortkeys {
	enum sortkey keys[SORT_MAX];	/* in the order of the columns */
	const char *fields[SORT_MAX];	/* of SORT_FIELD: field:NAME, NAME or TRACEPOINT.NAME, up to a comma or NUL; borrowed */
	size_t n;
};

/*
 * Parses "comm,dso,symbol,field:NAME", in perf's spelling or ours. Any other word may be a field. @text
 * stays in use. 0, or -EINVAL after a message.
 */
int sortkeys_parse(const char *text, struct sortkeys *out);
bool sortkeys_have(const struct sortkeys *s, enum sortkey key);
/* Appends the names of fields, separated by commas. */
void sortkeys_fields(const struct sortkeys *s, struct strbuf *out);

/* Groups of threads and of frames that no key distinguishes. */
struct groups {
	uint32_t *threads, *frames;	/* owned; group number of each, from 0 */
	uint32_t *thread_of, *frame_of;	/* owned; one member per group; for a function, one that is
					 * not inlined if possible */
	uint32_t nthreads, nframes;	/* numbers of groups */
	struct intern *texts;		/* owned; texts that sortkeys_cells() returns */
};

void groups_init(struct groups *gs, const struct sortkeys *s, const struct profile *p);
void groups_fini(struct groups *gs);
void sortkeys_columns(const struct sortkeys *s, struct groups *gs, struct grid *g);
/* Fills the key cells for a group of threads and a group of frames. */
void sortkeys_cells(const struct sortkeys *s, struct groups *gs, const struct profile *p, uint32_t thread,
		    uint32_t frame, struct grid_cell *cells);

#endif
