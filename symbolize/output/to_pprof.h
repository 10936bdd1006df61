/* A profile for pprof: profile.proto, gzip'd. Source: proto/profile.proto of github.com/google/pprof. */
#ifndef NSPROF_TO_PPROF_H
#define NSPROF_TO_PPROF_H

#include <stdio.h>

struct modules;
struct profile;

/*
 * Values are samples, and CPU time in ns where the event is a clock, else its count. Each thread is told apart by labels: pid, tid,
 * comm, container, cgroup. @mods: whose build-ids are told for mappings. Write errors stay in @to's error flag. 0 or -ENOMEM.
 */
int to_pprof(FILE *to, const struct profile *p, const struct modules *mods);

#endif
