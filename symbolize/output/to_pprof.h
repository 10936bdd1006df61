/*
 * Writes a profile for pprof: profile.proto, gzipped. Format: proto/profile.proto of
 * github.com/google/pprof.
 */
#ifndef NSPROF_TO_PPROF_H
#define NSPROF_TO_PPROF_H

#include <stdio.h>

struct modules;
struct profile;

/*
 * Values of each event are samples and, if it is a clock, CPU time in ns, otherwise its count. Labels
 * identify the thread: pid, tid, comm, container, cgroup. @mods: source of the mappings' build-ids.
 * Write errors are left in @to's error flag. 0 or -ENOMEM.
 */
int to_pprof(FILE *to, const struct profile *p, const struct modules *mods);

#endif
