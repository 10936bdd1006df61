/* Conditions on the counts of a profile (select.h). */
#include "select.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "log.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

/* Of its conditions those about whose samples they are. */
static bool thread_meets(const struct profile *p, const struct profile_thread *t, const struct filter *f)
{
	/* In the order of enum filter_key. A merged thread has no number, and no filter asks for 2^64-1. */
	const char *const texts[] = { profile_text(p, t->container), profile_text(p, t->cgroup), profile_text(p, t->comm) };
	const int32_t numbers[] = { t->pid, t->nspid, t->tid };

	for (int k = FILTER_CONTAINER; k <= FILTER_COMM; k++)
		if (!filter_accepts(f, (enum filter_key)k, texts[k - FILTER_CONTAINER], 0))
			return false;
	for (int k = FILTER_PID; k <= FILTER_TID; k++) {
		int32_t n = numbers[k - FILTER_PID];

		if (!filter_accepts(f, (enum filter_key)k, NULL, n < 0 ? UINT64_MAX : (uint64_t)n))
			return false;
	}
	return true;
}

/* What stays is told of; how many stacks of these were whole nobody knows. */
static void tell_profile(struct profile *p, const struct filter *f)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < f->n; i++) {
		strbuf_reset(&sb);
		strbuf_addf(&sb, "%s=%s", filter_key_name(f->conds[i].key), f->conds[i].text);
		profile_set_meta(p, "filter", sb.s);
	}
	strbuf_fini(&sb);
	profile_unset_meta(p, "truncated");
	profile_unset_meta(p, "incomplete");
}

static void tell_blocks(const struct profile *p)
{
	pr_info("--filter time= of a saved profile goes by blocks of %.3g s", (double)p->block_ns / 1e9);
}

int select_counts(struct profile *p, const struct filter *f, const char *name)
{
	bool *in = xcalloc(p->nthreads, sizeof(*in));
	size_t n = 0;

	if (f->has[FILTER_TIME] && !p->block_ns) {
		pr_err("--filter time=: '%s' has no times", name);
		free(in);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < p->nthreads; i++)
		in[i] = thread_meets(p, &p->threads[i], f);
	p->samples = p->period = 0;
	p->nblocks = 0;
	for (size_t i = 0; i < p->ncounts; i++) {
		const struct profile_count c = p->counts[i];

		if (!in[c.thread] || !filter_accepts(f, FILTER_TIME, NULL, (uint64_t)c.block * p->block_ns))
			continue;
		p->counts[n++] = c;
		if (__builtin_add_overflow(p->samples, c.samples, &p->samples))
			p->samples = UINT64_MAX;
		if (__builtin_add_overflow(p->period, c.period, &p->period))
			p->period = UINT64_MAX;
		if (p->block_ns)
			p->nblocks = MAX(p->nblocks, c.block + 1);
	}
	p->ncounts = n;
	free(in);
	if (!n) {
		pr_err("no sample of '%s' meets all of --filter; --sort container,comm,pid shows what there is", name);
		return -ENODATA;
	}
	tell_profile(p, f);
	if (f->has[FILTER_TIME])
		tell_blocks(p);
	return 0;
}
