/*
 * The pass over a long recording by several threads. Each sees all events, and decodes and unwinds the
 * samples of the parts that it gets hold of; with a replay and modules of its own, so that none waits
 * for another. What they have collected is put together, and is what one alone would have.
 */
#ifndef NSPROF_PARALLEL_PASS_H
#define NSPROF_PARALLEL_PASS_H

struct collect;
struct modules;
struct rec_reader;

/* As collect_run(). @mods: of c->rp. @threads: 0 for as many as there are CPUs, as far as that pays. */
int parallel_pass_run(struct collect *c, struct rec_reader *r, struct modules *mods, unsigned int threads);

#endif
