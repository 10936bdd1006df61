#include "run/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "events/perm.h"
#include "recording/ledger_sums.h"
#include "run/output.h"

/* Below this percentage of the CPU time, the samples give a skewed picture. */
#define COVERAGE_PERCENT 90
/* ns: with a shorter period, a timer whose interrupt copies a stack hardly keeps up. */
#define PERIOD_SHORT 250000
/* Losses outside standstills get their own advice from this percentage of all losses on. */
#define OTHER_PERCENT 5
/* ns: a disk that takes longer for a block has stood still. */
#define STALL_NS 1000000000u

static unsigned long long ull(uint64_t v)
{
	return v;
}

static void add_losses(struct strbuf *sb, const struct ev_ledger *l)
{
	if (!ledger_sums_missing(l))
		strbuf_adds(sb, l->throttled || l->withheld ? "none lost, " : "none lost");
	ledger_sums_text(l, sb);
}

/* Appends what is missing in the file, and whether that is all that the kernel counted. */
static void add_causes(struct strbuf *sb, const struct ev_ledger *l, const struct summary *s)
{
	uint64_t taken = ledger_sums_taken(l);
	double covered = ledger_sums_coverage(l);

	add_losses(sb, l);
	if (l->lost_kernel && !l->have_format_lost)
		strbuf_adds(sb, ", perhaps more at the end");
	if (l->own)
		strbuf_addf(sb, ", %" PRIu64 " of %s left out", l->own,
			    s->picked ? "other cgroups" : "the recorder itself");
	if (!l->have_count)
		return;
	if (l->exact && l->count != taken)
		strbuf_addf(sb, "; %" PRIu64 " in all, but the kernel counted %" PRIu64, taken,
			    l->count);
	else if (l->exact && taken != l->kept)
		strbuf_addf(sb, "; %" PRIu64 " in all, as the kernel counted", taken);
	else if (!l->exact && s->covers && taken && ledger_sums_has_coverage(l) &&
		 (taken != l->kept || covered < COVERAGE_PERCENT))
		strbuf_addf(sb, "; all together %.1f %% of the %s that the kernel counted", covered,
			    s->clock ? "CPU time" : "events");
}

/*
 * If most losses happened because nobody drained or because the output took nothing, other advice
 * would not help.
 */
static bool tell_standstill(const struct ev_ledger *l, const struct summary *s)
{
	const uint64_t missing = l->lost_kernel + l->cut + l->dropped;
	char why[STANDSTILL_TEXT];

	if (s->still->longest && missing && standstill_other(s->still, missing) * 100 < missing * OTHER_PERCENT) {
		standstill_text(s->still, why);
		pr_warn("%llu of %llu samples %s lost, dropped or cut because the recorder stood still %s", ull(missing),
			ull(ledger_sums_taken(l)), plural_of(missing, "was", "were"), why);
		return true;
	}
	if (s->stall_ns > STALL_NS && l->cut + l->dropped) {
		pr_warn("out of %llu samples, %llu %s dropped and the stacks of %llu cut because %s%s%s took no data for %.1f s: %s",
			ull(ledger_sums_taken(l)), ull(l->dropped), plural_of(l->dropped, "was", "were"), ull(l->cut), s->piped ? "" : "'", s->file, s->piped ? "" : "'",
			(double)s->stall_ns / 1e9,
			s->stays ? "its file system did not answer; use -o on another one" : "its reader did not read");
		return true;
	}
	return false;
}

/* How the mappings of all processes would be known. */
static const char *mappings_remedy(const struct ev_ledger *l)
{
	if (!(perm_caps() & PERM_CAP_SYS_PTRACE))
		return "record as root or with CAP_SYS_PTRACE";
	return l->lost_sideband ? "records about them were lost" : "the processes ended before they could be read";
}

static void advise_losses(const struct ev_ledger *l, const struct summary *s)
{
	const bool stood = tell_standstill(l, s);
	uint64_t all = ledger_sums_taken(l);

	if (l->lost_kernel && !stood && s->nevents > 1)
		pr_warn("%llu of %llu samples %s lost because the rings were full, of the events that say so below: use a --filter, a "
			"smaller --call-graph dwarf,SIZE, or a larger -m", ull(l->lost_kernel), ull(all), plural_of(l->lost_kernel, "was", "were"));
	else if (l->lost_kernel && !stood)
		pr_warn("%llu of %llu samples %s lost because the rings were full: use -m larger "
			"than %lluK, a lower -F (larger -c), or a smaller --call-graph dwarf,SIZE",
			ull(l->lost_kernel), ull(all), plural_of(l->lost_kernel, "was", "were"), ull(s->ring_bytes / 1024));
	if (l->cut + l->dropped && !stood)
		pr_warn("the recorder could not keep up: out of %llu samples, it cut the stacks of %llu and "
			"dropped %llu: use a lower -F (larger -c) or a smaller --call-graph dwarf,SIZE, or write "
			"to a faster disk", ull(all), ull(l->cut), ull(l->dropped));
	if (l->lost_sideband)
		pr_warn("%llu record%s about mappings and processes (no sample%s) %s lost: some names may be missing", ull(l->lost_sideband),
			plural(l->lost_sideband), plural(l->lost_sideband), plural_of(l->lost_sideband, "was", "were"));
	if (l->lost_switches)
		pr_warn("%llu of %llu switches of threads %s lost because their rings were full: the times of these threads in between are "
			"unknown; record fewer CPUs or containers", ull(l->lost_switches), ull(l->switches + l->lost_switches),
			plural_of(l->lost_switches, "was", "were"));
	if (l->lost_wakeups)
		pr_warn("%llu record%s about wake-ups on this host %s lost because their rings were full: for those of recorded threads, the time "
			"until they got a CPU counts as blocked", ull(l->lost_wakeups), plural(l->lost_wakeups),
			plural_of(l->lost_wakeups, "was", "were"));
	if (l->withheld)
		pr_warn("%llu of %llu samples %s no user stack, as nothing tells addresses from data where the mappings of a process are "
			"unknown: %s", ull(l->withheld), ull(all), plural_of(l->withheld, "has", "have"), mappings_remedy(l));
	if (l->throttled)
		pr_warn("the kernel throttled sampling %llu time%s, %.3f s in all: use a lower -F (larger -c)",
			ull(l->throttled), plural(l->throttled), (double)l->throttled_ns / 1e9);
}

/*
 * CPU time that is in no sampled period although nothing was lost: see contrib/doc/losses.md. Each
 * stopped event has less than a period left, and what that explains needs no other cause. Threads
 * that ended explain the rest if there are enough of them.
 */
static void advise_coverage(const struct ev_ledger *l, const struct summary *s)
{
	uint64_t seen = ledger_sums_taken(l) - l->lost_kernel, period = seen ? l->periods / seen : s->period;
	double none = 100 - ledger_sums_coverage(l), rest;

	if (!ledger_sums_has_coverage(l) || none <= 100 - COVERAGE_PERCENT || !period)
		return;
	rest = (double)l->count * none / 100 / (double)period - (double)s->events;
	if (rest <= 0)
		return;
	if (period < PERIOD_SHORT)
		pr_warn("%.0f %% of the CPU time is in no sample: the kernel's timer cannot keep up "
			"with this rate: use a lower -F or a larger -c", none);
	else if (s->tasks && !l->lost_sideband && (double)s->ended >= rest)
		pr_warn("%.0f %% of the CPU time is in no sample: a thread is sampled when it has run for a period (%.3f ms), and %llu "
			"threads ended, each with less than a period left: use a higher -F, or -a or -G, which count by CPU", none,
			(double)period / 1e6, ull(s->ended));
}

/* @ns of CPU time were used, but there is no sample of it. */
static void tell_unseen(uint64_t ns, const struct record_opts *o, const struct summary *s)
{
	const double ms = (double)ns / 1e6;

	if (!ns)
		pr_warn("no samples: nothing ran in the target while it was recorded");
	else if (*s->modifier && ns >= 2 * s->period)
		pr_warn("no samples, though %.3f ms of CPU time were used: no sample fell into %s", ms,
			*s->modifier == 'k' ? "the kernel" : "user space");
	else if (s->tasks && ns >= 2 * s->period)
		pr_warn("no samples, though %.3f ms of CPU time were used: a thread is sampled when it has run for a period (%.3f ms) on a CPU, "
			"and none did: use a %s, or -a or -G, which count by CPU", ms, (double)s->period / 1e6,
			o->period ? "smaller -c" : "higher -F");
	else
		pr_warn("no samples, though %.3f ms of CPU time were used: use a %s, or record for longer", ms,
			o->period ? "smaller -c" : "higher -F");
}

/* The file has no sample, and none was lost on the way. Prints the one line that says why. */
static void tell_none(const struct ev_ledger *l, const struct record_opts *o, const struct summary *s)
{
	const char *colon = *s->modifier ? ":" : "";

	if (s->barred || (s->idle && !s->waiting))
		return;
	if (!s->elapsed_ns)
		pr_warn("no samples: -D or --control kept sampling off until the end");
	else if (s->waiting)
		pr_warn("no samples: no thread of the target left a CPU while it was recorded; the times of %zu thread%s are in the file",
			s->waiting, plural(s->waiting));
	else if (s->nevents > 1 && s->counted && !l->own)
		pr_warn("no samples, though the kernel counted %zu of the %zu events: they came less often than their periods; use a %s, or record for "
			"longer", s->counted, s->nevents, o->period ? "smaller -c" : "higher -F");
	else if (s->nevents > 1 && !l->own)
		pr_warn("no samples: none of the %zu events happened in the target while it was recorded", s->nevents);
	else if (s->clock && s->used_known)
		tell_unseen(s->used_us * 1000, o, s);
	else if (l->own)
		pr_warn("no samples of the target: %s of %s", l->own == 1 ? "the only one was" : "all were",
			s->picked ? "other cgroups" : "the recorder itself");
	else if (!l->have_count || s->picked)
		pr_warn("no samples: nothing ran in the target while it was recorded, or too little for one");
	else if (s->clock)
		tell_unseen(l->count, o, s);
	else if (!l->count && s->work)
		tell_unseen(0, o, s);
	else if (!l->count)
		pr_warn("no samples: the kernel counted no '%s%s%s' in the target while it was recorded", s->event, colon,
			s->modifier);
	else
		pr_warn("no samples, though the kernel counted %llu '%s%s%s': use a %s, or record for longer", ull(l->count),
			s->event, colon, s->modifier, o->period ? "smaller -c" : "higher -F");
}

/* Nothing else is known about what ran in them. */
static void tell_barred(const struct summary *s)
{
	char others[48] = "";

	if (s->barred > 1)
		snprintf(others, sizeof(others), " and %llu more program%s", ull(s->barred - 1), plural(s->barred - 1));
	pr_warn("'%s'%s ran with other rights than the program that started %s (set-user-ID, capabilities, or an unreadable file): "
		"the kernel lets nobody sample such a process with -p, -t or a command; use -a or -G, as root", s->barred_comm, others,
		s->barred > 1 ? "them" : "it");
}

static void advise(const struct ev_ledger *l, const struct record_opts *o, const struct summary *s)
{
	uint64_t in_file = l->kept + l->cut;
	const bool lost = l->lost_kernel + l->dropped;

	advise_losses(l, s);
	if (s->barred)
		tell_barred(s);
	if (s->lowest)
		pr_warn("kernel.perf_event_max_sample_rate fell below %llu Hz: CPUs and cgroups that came back or were "
			"picked up afterwards were sampled at as little as %llu Hz; reports "
			"weight these samples by their period", ull(s->freq), ull(s->lowest));
	if (!in_file && !lost)
		tell_none(l, o, s);
	else if (s->clock && s->covers && l->have_count)
		advise_coverage(l, s);
}

void summary_file(const struct ev_ledger *l, const char *file, uint64_t bytes)
{
	uint64_t in_file = l->kept + l->cut, each = in_file ? bytes / in_file : 0;
	struct strbuf causes = STRBUF_INIT;

	add_losses(&causes, l);
	pr_info("wrote %.3f MB to '%s' (%llu sample%s, %llu bytes each; %s)", (double)bytes / 1e6,
		file, ull(in_file), plural(in_file), ull(each), causes.s);
	strbuf_fini(&causes);
}

/* Quotes @text for a shell. */
static void add_quoted(const char *text, struct strbuf *out)
{
	if (!text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=@%+,-")]) {
		strbuf_adds(out, text);
		return;
	}
	strbuf_addc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'')
			strbuf_adds(out, "'\\'");
		strbuf_addc(out, *text);
	}
	strbuf_addc(out, '\'');
}

/* Suggests what to do with the file. */
static void tell_next(const struct summary *s)
{
	struct strbuf name = STRBUF_INIT;

	if (strcmp(s->file, OUTPUT_DEFAULT)) {
		strbuf_adds(&name, " -i ");
		add_quoted(s->file, &name);
	}
	/* Only root can read root's recording. */
	pr_info("to see where the time went: %snsprof report%s", !getuid() && getenv("SUDO_USER") ? "sudo " : "", name.s ? name.s : "");
	strbuf_fini(&name);
}

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* How many switches, and the time of all threads. Losses have a line of their own. */
static void tell_times(const struct ev_ledger *l, const struct switch_sums *t, bool wakeups)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%llu switches of threads, ", ull(l->switches));
	if (l->lost_switches)
		strbuf_addf(&text, "%llu", ull(l->lost_switches));
	else
		strbuf_adds(&text, "none");
	strbuf_addf(&text, " lost; %llu thread%s: %.3f s = %.3f s on a CPU + %.3f s off it", ull(t->nthreads), plural(t->nthreads),
		    seconds(t->on_ns + t->off_ns + t->unknown_ns), seconds(t->on_ns), seconds(t->off_ns));
	if (t->unknown_ns)
		strbuf_addf(&text, " + %.3f s unknown", seconds(t->unknown_ns));
	if (wakeups && l->lost_wakeups)
		strbuf_addf(&text, "; %llu wake-ups", ull(l->wakeups));
	else if (wakeups)
		strbuf_addf(&text, "; %llu wake-ups, none lost", ull(l->wakeups));
	pr_info("off-cpu: %s", text.s);
	strbuf_fini(&text);
}

void summary_print(const struct ledger *lg, const struct record_opts *o, const struct summary *s)
{
	uint64_t in_file = lg->l.kept + lg->l.cut, each = in_file ? s->bytes / in_file : 0;
	const char *to = s->file, *quote = s->piped ? "" : "'";
	double mb = (double)s->bytes / 1e6;
	struct strbuf causes = STRBUF_INIT;
	char lead[48] = "";

	if (s->failed) {
		if (s->stays)
			pr_info("what was written until then, %.3f MB, is in '%s' and can be read",
				mb, to);
		return;
	}
	pr_verbose("woken %llu time%s, %.1f s, %llu CPU%s", ull(lg->woken), plural(lg->woken),
		(double)s->elapsed_ns / 1e9, ull(s->ncpus), plural(s->ncpus));
	add_causes(&causes, &lg->l, s);
	if (s->files > 1)
		snprintf(lead, sizeof(lead), "%llu files, the last of them ", ull(s->files));
	pr_info("wrote %.3f MB to %s%s%s%s (%llu sample%s, %llu bytes each; %s)", mb, lead, quote,
		to, quote, ull(in_file), plural(in_file), ull(each), causes.s);
	strbuf_fini(&causes);
	if (o->off_cpu && s->times->nthreads)
		tell_times(&lg->l, s->times, o->wakeups);
	advise(&lg->l, o, s);
	if (s->terminal && in_file && s->stays)
		tell_next(s);
}
