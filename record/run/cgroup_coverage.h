/*
 * Did anything run in the chosen cgroups, and is it in the samples? By their CPU time before and after, of which
 * samples know nothing: an empty or a thin profile has its reason beside it.
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
 * Of more cgroups than this none are read, 25 us each (1,000: an eighth of what the recorder uses in 4 s): it is said which of them have
 * no samples, and of those that have some the looks serve that are had at them anyway.
 */
#define CGROUP_COVERAGE_MAX 64

/*
 * ns. The kernel adds what a process uses when it leaves its CPU, and at each tick (update_curr() in kernel/sched/fair.c), which is every
 * 10 ms at the latest: within less than two of them a cgroup may run and its CPU time stand still.
 */
#define CGROUP_COVERAGE_LEAST 20000000ull

struct cgroup_coverage_cgroup {
	char *name;			/* as typed; owned */
	struct cgroup_cpu_at at;
	uint64_t before_us, used_us;
	bool begun, known;		/* before, and used as well, could be read and means something */
};

struct cgroup_coverage {
	const struct cgroup_cpu *cpu;	/* borrowed */
	struct cgroup_coverage_cgroup *cg;		/* owned */
	size_t n;			/* 0: nothing to look at */
	bool more;			/* others have been chosen since */
};

/* When sampling begins, ends. Own with cgroup_coverage_fini(). @took: ns between the two. */
void cgroup_coverage_begin(struct cgroup_coverage *r, const struct target *t, const struct cgroup_cpu *cpu);
void cgroup_coverage_end(struct cgroup_coverage *r, const struct target *t, uint64_t took);
void cgroup_coverage_fini(struct cgroup_coverage *r);

/* What the samples say of the chosen cgroups. */
struct cgroup_coverage_samples {
	uint64_t samples, period_ns;	/* how many, and the sum of their periods */
	uint64_t ncpus;
	/* All of their CPU time should be in it: a clock, on all CPUs, of user space and kernel, and none is lost. */
	bool all;
};

/*
 * After cgroup_coverage_end(), says what does not fit together: cgroups in which nothing ran, more or less CPU time than in the
 * samples. 0; -ENODATA after an error message: nothing ran in any of them.
 */
int cgroup_coverage_tell(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s);
/*
 * Do @s, of which there are some, stand for @used_us of CPU time, but for 10 % or what chance and the ends of a
 * recording explain? Pure.
 */
bool cgroup_coverage_covered(uint64_t used_us, const struct cgroup_coverage_samples *s);
/* Could the CPU time of all chosen cgroups be read? What they used together, us. */
bool cgroup_coverage_knows(const struct cgroup_coverage *r);
uint64_t cgroup_coverage_used_us(const struct cgroup_coverage *r);
/* Nothing ran in any of them, which cgroup_coverage_tell() says, and no other need. */
bool cgroup_coverage_idle(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s);
/*
 * Where cgroup_coverage_tell() does not know all, of more than CGROUP_COVERAGE_MAX cgroups or when others were chosen meanwhile: which have no sample, and whether
 * @s, of which there are some, are less than was used for certain. @stopped: ns, when sampling ended.
 */
void cgroup_coverage_tell_many(const struct cgroup_coverage *r, const struct target *t, const struct cgroup_facts *cf, const struct cgroup_coverage_samples *s,
		   uint64_t stopped);
/* The CPU time, us, of @used that was used while sampled, at least, on @ncpus CPUs until @stopped. Pure. */
uint64_t cgroup_coverage_at_least(const struct facts_used *used, uint64_t stopped, uint64_t ncpus);

#endif
