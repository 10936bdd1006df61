/*
 * A pass over a long recording by several threads. Each thread sees all events, but decodes and
 * unwinds only the samples of the parts that it takes. Each has its own replay and modules, so that
 * none waits for another. Merged, their results are the same as those of a single thread.
 */
#ifndef NSPROF_PARALLEL_PASS_H
#define NSPROF_PARALLEL_PASS_H

struct collect;
struct modules;
struct rec_reader;

/*
 * As collect_run(). @mods: the modules of c->rp. @threads: 0 for as many as CPUs and samples
 * justify.
 */
int parallel_pass_run(struct collect *c, struct rec_reader *r, struct modules *mods, unsigned int threads);

#endif
