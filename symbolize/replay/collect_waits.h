/*
 * Samples that are weighed by switches (waits.h), as collect takes them: held until it is known how
 * long the thread waited, then counted with that time and with frames that say what it waited for.
 */
#ifndef NSPROF_COLLECT_WAITS_H
#define NSPROF_COLLECT_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct collect;
struct collect_waits;
struct replay_sample;
struct seen;

/* Prepares @c for its events, once its options are set. */
void collect_waits_init(struct collect *c);
void collect_waits_fini(struct collect *c);
/* Are samples of @event weighed by switches, alone or in addition to being counted? */
bool collect_waits_weighs(const struct collect *c, uint32_t event);
/* Are they of threads that left the CPU? */
bool collect_waits_off(const struct collect *c, uint32_t event);
/*
 * Holds a sample. @entered: its stack if its process had begun to run (collect.c), else NULL. @seen
 * NULL: it is filtered out.
 */
void collect_waits_hold(struct collect *c, const struct replay_sample *s, const struct seen *seen,
			const struct seen *entered);
/* After the last event. */
void collect_waits_end(struct collect *c);
/* Decides which stack each sample has, from what @all shares saw. */
void collect_waits_resolve(struct collect *c, struct collect *const *all, size_t nall);
/* Marks the nodes of @c that samples are held for. */
void collect_waits_mark(const struct collect *c, bool *wanted);
/* Merges the samples of a share. Its node i is @nodes[i] in @to, and its slot i is @slots[i]. */
void collect_waits_add(struct collect *to, struct collect *from, const uint32_t *nodes, const uint32_t *slots);
/* Counts all samples that are held in the tree and in c->spread. */
void collect_waits_settle(struct collect *c);

#endif
