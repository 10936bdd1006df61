#include "ledger.h"

#include <stdio.h>

#include "log.h"
#include "open.h"
#include "util.h"

/* From how many full stack copies on (percent of the samples) a larger copy is worth asking for. */
#define COPY_FULL_PERCENT 5

void ledger_settle(struct ledger *lg, const struct events *ev)
{
	uint64_t samples, side;

	lg->l.have_format_lost = events_lost(ev, &samples, &side);
	if (!lg->l.have_format_lost) {
		samples = lg->lost_told;
		side = lg->side_told;
	}
	lg->l.lost_kernel = samples + lg->lost_pmu;
	lg->l.lost_sideband = side;
}

static unsigned long long ull(uint64_t v)
{
	return v;
}

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static void advise(const struct ledger *lg, const struct record_opts *o,
		   const struct ledger_summary *s)
{
	const struct ev_ledger *l = &lg->l;
	uint64_t all = l->kept + l->lost_kernel + l->dropped;

	if (!all)
		pr_warn("no samples: nothing ran in the target while it was recorded");
	if (l->lost_kernel)
		pr_warn("%llu of %llu samples were lost because the rings were full: use -m larger "
			"than %lluK, a lower -F, or a smaller --call-graph dwarf,SIZE",
			ull(l->lost_kernel), ull(all), ull(s->ring_bytes / 1024));
	if (l->lost_sideband)
		pr_warn("%llu records about mappings and processes were lost: some names may be "
			"missing", ull(l->lost_sideband));
	if (l->throttled)
		pr_warn("the kernel throttled sampling %llu times: use a lower -F",
			ull(l->throttled));
	if (l->copy_full * 100 > l->kept * COPY_FULL_PERCENT && o->dump_size < DUMP_SIZE_MAX)
		pr_warn("%llu of %llu stack copies are as large as was asked for (%u bytes), so "
			"their roots may be missing: use --call-graph dwarf,%d",
			ull(l->copy_full), ull(l->kept), o->dump_size, DUMP_SIZE_MAX);
	else if (l->copy_full * 100 > l->kept * COPY_FULL_PERCENT)
		pr_warn("%llu of %llu stacks are larger than the kernel copies (%u bytes), so "
			"their roots may be missing",
			ull(l->copy_full), ull(l->kept), o->dump_size);
}

void ledger_print(const struct ledger *lg, const struct record_opts *o,
		  const struct ledger_summary *s)
{
	const char *to = s->file, *quote = s->piped ? "" : "'";
	uint64_t each = lg->l.kept ? s->bytes / lg->l.kept : 0;
	double mb = (double)s->bytes / 1e6;
	char lost[24] = "none";

	if (s->failed) {
		if (!s->piped)
			pr_info("what was written until then, %.3f MB, is in '%s' and can be read",
				mb, to);
		return;
	}
	pr_info("woken %llu time%s, %.1f s, %llu CPU%s", ull(lg->woken), plural(lg->woken),
		(double)s->elapsed_ns / 1e9, ull(s->ncpus), plural(s->ncpus));
	if (lg->l.lost_kernel)
		snprintf(lost, sizeof(lost), "%llu", ull(lg->l.lost_kernel));
	pr_info("wrote %.3f MB to %s%s%s (%llu sample%s, %llu bytes each; %s lost)", mb, quote, to,
		quote, ull(lg->l.kept), plural(lg->l.kept), ull(each), lost);
	advise(lg, o, s);
}
