#include "recording/ledger_sums.h"

#include <inttypes.h>

uint64_t ledger_sums_taken(const struct ev_ledger *l)
{
	return l->kept + l->cut + l->dropped + l->own + l->lost_kernel;
}

uint64_t ledger_sums_missing(const struct ev_ledger *l)
{
	return l->cut + l->dropped + l->lost_kernel;
}

static uint64_t seen(const struct ev_ledger *l)
{
	return ledger_sums_taken(l) - l->lost_kernel;
}

bool ledger_sums_has_coverage(const struct ev_ledger *l)
{
	return l->count && (seen(l) || !l->lost_kernel);
}

double ledger_sums_coverage(const struct ev_ledger *l)
{
	double mean = seen(l) ? (double)l->periods / (double)seen(l) : 0;
	double known = (double)l->periods + mean * (double)l->lost_kernel;

	return l->count ? 100 * known / (double)l->count : 0;
}

static void add_cause(struct strbuf *sb, size_t start, uint64_t n, const char *what)
{
	if (n)
		strbuf_addf(sb, "%s%" PRIu64 " %s", sb->len > start ? ", " : "", n, what);
}

void ledger_sums_text(const struct ev_ledger *l, struct strbuf *out)
{
	size_t start = out->len;

	add_cause(out, start, l->cut, "with cut stacks");
	add_cause(out, start, l->lost_kernel, "lost");
	add_cause(out, start, l->dropped, "dropped");
	add_cause(out, start, l->withheld, "without user stacks");
	if (l->throttled)
		strbuf_addf(out, "%sabout %" PRIu64 " not taken when throttled",
			    out->len > start ? ", " : "", l->throttled_samples);
}

void ledger_sums_absences(const struct ev_ledger *l, struct strbuf *out)
{
	if (l->cpus_away == 1)
		strbuf_adds(out, "; a CPU was offline for a time");
	else if (l->cpus_away)
		strbuf_addf(out, "; %" PRIu64 " CPUs were offline for a time", l->cpus_away);
}
