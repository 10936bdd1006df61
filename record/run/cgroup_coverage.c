#include "run/cgroup_coverage.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"

#define NAMES_SHOWN 5
/* The CPU time of the samples may differ from the CPU time used by this much: per cent. */
#define COVERS_LEAST 90
#define COVERS_MOST 110
/* Or by as much as chance changes the number of samples: standard deviations. */
#define CHANCE 4

static bool read_used(const struct cgroup_coverage *r, struct covered_cgroup *c, uint64_t *us)
{
	struct cpu_reading now = { 0 };

	if (cgroup_cpu_read(r->cpu, &c->at, false, &now) || !now.have_usage)
		return false;
	*us = now.usage_us;
	return true;
}

void cgroup_coverage_begin(struct cgroup_coverage *r, const struct target *t, const struct cgroup_cpu *cpu)
{
	if (!t->cgroups.n || t->cgroups.n > CGROUP_COVERAGE_MAX)
		return;
	r->cpu = cpu;
	r->n = t->cgroups.n;
	r->cg = xcalloc(r->n, sizeof(*r->cg));
	for (size_t i = 0; i < r->n; i++) {
		struct covered_cgroup *c = &r->cg[i];

		c->name = xstrdup(t->cgroups.v[i].name);
		cgroup_cpu_find(cpu, t->cgroups.v[i].path, 0, &c->at);
		/*
		 * The kernel computes the root's CPU time from what each CPU ran at its ticks and
		 * from stolen time (root_cgroup_cputime() in kernel/cgroup/rstat.c). What runs
		 * between two ticks is missing.
		 */
		c->begun = !cgroup_is_root(&t->cgroups.v[i]) && read_used(r, c, &c->before_us);
	}
}

void cgroup_coverage_end(struct cgroup_coverage *r, const struct target *t, uint64_t took)
{
	r->more = t->cgroups.n != r->n;
	for (size_t i = 0; i < r->n; i++) {
		struct covered_cgroup *c = &r->cg[i];
		uint64_t us;

		c->known = c->begun && read_used(r, c, &us) && us >= c->before_us &&
			   (us > c->before_us || took >= CGROUP_COVERAGE_LEAST);
		if (c->known)
			c->used_us = us - c->before_us;
	}
}

void cgroup_coverage_fini(struct cgroup_coverage *r)
{
	for (size_t i = 0; i < r->n; i++) {
		free(r->cg[i].name);
		cgroup_cpu_at_fini(&r->cg[i].at);
	}
	free(r->cg);
	r->cg = NULL;
	r->n = 0;
}

static size_t count_known(const struct cgroup_coverage *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		n += r->cg[i].known;
	return n;
}

bool cgroup_coverage_knows(const struct cgroup_coverage *r)
{
	return r->n && !r->more && count_known(r) == r->n;
}

uint64_t cgroup_coverage_used_us(const struct cgroup_coverage *r)
{
	uint64_t us = 0;

	for (size_t i = 0; i < r->n; i++)
		us += r->cg[i].used_us;
	return us;
}

bool cgroup_coverage_idle(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s)
{
	return cgroup_coverage_knows(r) && !cgroup_coverage_used_us(r) && !s->samples;
}

/*
 * Appends their names, or the first few and the number of the others. Returns how many there are.
 */
static size_t list_idle(const struct cgroup_coverage *r, struct strbuf *out)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct covered_cgroup *c = &r->cg[i];

		if (!c->known || c->used_us)
			continue;
		if (n++ < NAMES_SHOWN)
			strbuf_addf(out, "%s'%s'", n > 1 ? ", " : "", c->name);
	}
	if (n > NAMES_SHOWN)
		strbuf_addf(out, " and %zu more", n - NAMES_SHOWN);
	return n;
}

bool cgroup_coverage_covered(uint64_t used_us, const struct cgroup_coverage_samples *s)
{
	double used = (double)used_us * 1e3, seen = (double)s->period_ns;
	/* In samples. Each CPU may miss up to one, for what ran when sampling began and ended. */
	double off = (seen > used ? seen - used : used - seen) * (double)s->samples / seen - (double)s->ncpus;

	return (seen * 100 >= used * COVERS_LEAST && seen * 100 <= used * COVERS_MOST) || off <= 0 ||
	       off * off <= CHANCE * CHANCE * (double)s->samples;
}

int cgroup_coverage_tell(const struct cgroup_coverage *r, const struct cgroup_coverage_samples *s)
{
	struct strbuf names = STRBUF_INIT;
	size_t idle = list_idle(r, &names);
	int err = 0;

	if (cgroup_coverage_idle(r, s)) {
		pr_err("nothing ran in %s while it was recorded: there is nothing to see", names.s);
		err = -ENODATA;
	} else if (idle && s->samples) {
		pr_warn("nothing ran in %s while it was recorded", names.s);
	}
	if (cgroup_coverage_knows(r) && s->all && s->samples && !cgroup_coverage_covered(cgroup_coverage_used_us(r), s))
		pr_warn("the samples stand for %.3f s of CPU time, but cpu.stat shows %.3f s: shares refer to what "
			"was sampled", (double)s->period_ns / 1e9, (double)cgroup_coverage_used_us(r) / 1e6);
	strbuf_fini(&names);
	return err;
}

uint64_t cgroup_coverage_at_least(const struct facts_used *used, uint64_t stopped, uint64_t ncpus)
{
	/* The last readings are taken after sampling, and the cgroups run on until then. */
	uint64_t after = used->until > stopped ? (used->until - stopped) / 1000 * ncpus : 0;

	return used->us > after ? used->us - after : 0;
}

static void tell_less(const struct cgroup_facts *cf, const struct cgroup_coverage_samples *s, uint64_t stopped)
{
	const struct facts_used used = cgroup_facts_used(cf);
	const uint64_t us = cgroup_coverage_at_least(&used, stopped, s->ncpus);

	if (s->all && s->period_ns / 1000 < us && !cgroup_coverage_covered(us, s))
		pr_warn("the samples stand for %.3f s of CPU time, but cpu.stat shows at least %.3f s: shares refer to what "
			"was sampled", (double)s->period_ns / 1e9, (double)us / 1e6);
}

void cgroup_coverage_tell_many(const struct cgroup_coverage *r, const struct target *t, const struct cgroup_facts *cf, const struct cgroup_coverage_samples *s,
		   uint64_t stopped)
{
	struct strbuf names = STRBUF_INIT;
	size_t n = 0;

	if (t->cgroups.n && !cgroup_coverage_knows(r))
		tell_less(cf, s, stopped);
	if (t->cgroups.n <= CGROUP_COVERAGE_MAX)
		return;
	for (size_t i = 0; i < t->cgroups.n; i++) {
		if (cgroup_facts_had_samples(cf, t->cgroups.v[i].path))
			continue;
		if (n++ < NAMES_SHOWN)
			strbuf_addf(&names, "%s'%s'", n > 1 ? ", " : "", t->cgroups.v[i].name);
	}
	if (n > NAMES_SHOWN)
		strbuf_addf(&names, " and %zu more", n - NAMES_SHOWN);
	if (n)
		pr_warn("no samples of %s of %zu cgroups: nothing or too little ran in %s", names.s, t->cgroups.n, plural_of(n, "it", "them"));
	strbuf_fini(&names);
}
