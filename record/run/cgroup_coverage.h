/*
 * Compares the samples of the chosen cgroups with the CPU time that they used. A profile may be
 * empty or thin because little ran or because samples are missing. Samples alone do not tell which;
 * the CPU time before and after sampling does.
 */
#ifndef NSPROF_CGROUP_COVERAGE_H
#define NSPROF_CGROUP_COVERAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "containers/cgroup_cpu.h"
#include "containers/cgroup_facts.h"
#include "events/target.h"

/*
 * With more cgroups than this, none is read here: each takes 25 us, so 1,000 would take an eighth
 * of what the recorder uses in 4 s. Cgroups without samples are named instead. For cgroups with
 * samples, the readings that are taken anyway serve (cgroup_facts.h).
 */
#define CGROUP_COVERAGE_MAX 64

/*
 * ns. The kernel adds up a process's CPU time when the process leaves its CPU, and at each tick
 * (update_curr() in kernel/sched/fair.c), at the latest every 10 ms. For less than two ticks a
 * cgroup may run while its CPU time stands still.
 */
#define CGROUP_COVERAGE_LEAST 20000000ull

struct covered_cgroup {
	char *name;			/* as typed; owned */
	struct cgroup_cpu_at at;
	uint64_t before_us, used_us;
	bool begun, known;		/* before_us is valid; used_us is valid, too */
};

struct cgroup_coverage {
	const struct cgroup_cpu *cpu;	/* borrowed */
	struct covered_cgroup *cg;		/* owned */
	size_t n;			/* 0: nothing to compare */
	bool more;			/* more cgroups were chosen during the recording */
};

/*
 * Call when sampling begins and when it ends. Release with cgroup_coverage_fini(). @took: ns
 * between the two.
 */
void cgroup_coverage_begin(struct cgroup_coverage *r, const struct target *t, const struct cgroup_cpu *cpu);
void cgroup_coverage_end(struct cgroup_coverage *r, const struct target *t, uint64_t took);
void cgroup_coverage_fini(struct cgroup_coverage *r);

/* Sums over the samples of the chosen cgroups. */
struct cgroup_coverage_samples {
	uint64_t samples, period_ns;	/* number of samples, sum of their periods */
	uint64_t ncpus;
	/*
	 * All CPU time should be in them: a clock event, all CPUs, user space and kernel, none
	 * lost.
	 */
	bool all;
};

/*
 * After cgroup_coverage_end(): warns about cgroups in which nothing ran, and if the samples stand
 * for more or less CPU time than was used. 0; -ENODATA after an error message: nothing ran in any
 * of them.
 */
int cgroup_coverage_tell(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s);
/*
 * Do @s stand for @used_us of CPU time, within 10 % or within what chance and the ends of a
 * recording explain? @s must have samples. Pure.
 */
bool cgroup_coverage_covered(uint64_t used_us, const struct cgroup_coverage_samples *s);
/* Is the CPU time of all chosen cgroups known? And what they used together, us. */
bool cgroup_coverage_knows(const struct cgroup_coverage *r);
uint64_t cgroup_coverage_used_us(const struct cgroup_coverage *r);
/* Nothing ran in any of them. cgroup_coverage_tell() reports that; no caller needs to. */
bool cgroup_coverage_idle(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s);
/*
 * For when not all CPU time is known here: more than CGROUP_COVERAGE_MAX cgroups, or others were
 * chosen during the recording. Names the cgroups without a sample. Warns if @s, which must have
 * samples, stand for less than was certainly used. @stopped: ns, when sampling ended.
 */
void cgroup_coverage_tell_many(const struct cgroup_coverage *r, const struct target *t, const struct cgroup_facts *cf, const struct cgroup_coverage_samples *s,
		   uint64_t stopped);
/*
 * A lower bound, us, of the part of @used that fell into sampling, which ended at @stopped (ns), on
 * @ncpus CPUs. Pure.
 */
uint64_t cgroup_coverage_at_least(const struct facts_used *used, uint64_t stopped, uint64_t ncpus);

#endif
