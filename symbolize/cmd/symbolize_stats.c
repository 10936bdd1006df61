/* Statistics (symbolize_stats.h). */
#include "cmd/symbolize_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "naming/missing.h"
#include "output/states_text.h"
#include "recording/ctr_table.h"
#include "recording/ledger_sums.h"
#include "recording/rec_reader.h"
#include "replay/sample_cgroups.h"

/* Below these shares (in %) there is no hint. */
#define INCOMPLETE_HINT 1.0
#define UNNAMED_HINT 5.0
#define NAMELESS_HINTS 2	/* binaries that are named */

#define GAPS_SHOWN 30
#define THROTTLED_SHOWN 5
#define COLUMN_MAX 80		/* wider texts push the next column to the right */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/*
 * Where most stacks end that stop early for the most frequent reason; NULL: all are complete.
 * *@all: incomplete stacks.
 */
static const struct missing *main_trouble(const struct collect *c, const struct missing_list *g, uint64_t *all)
{
	const char *worst = NULL;
	uint64_t most = 0;

	*all = 0;
	for (int e = 0; e < UNWIND_END_MAX; e++) {
		if (!collect_incomplete((enum unwind_end)e))
			continue;
		*all += c->verdicts[e];
		if (c->verdicts[e] > most) {
			most = c->verdicts[e];
			worst = unwind_end_text((enum unwind_end)e);
		}
	}
	for (size_t i = 0; i < g->n; i++)
		if (!g->list[i].name && g->list[i].reason == worst)
			return &g->list[i];
	return NULL;
}

/* Samples with a stack. Others are of kernel threads that are left out. */
static uint64_t with_stacks(const struct collect *c)
{
	uint64_t sum = 0;

	for (int e = 0; e < UNWIND_END_MAX; e++)
		sum += c->verdicts[e];
	return sum;
}

/*
 * 100 % of what @gap counts. Names are counted over the tree, where a sample that is weighed by
 * switches stands for several waits.
 */
static uint64_t whole_of(const struct collect *c, const struct missing *gap)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->tree.n && gap->name; i++)
		sum += c->tree.nodes[i].samples;
	return gap->name ? sum : with_stacks(c);
}

static void hint_gap(struct strbuf *sb, const struct missing *gap)
{
	strbuf_adds(sb, gap->reason);
	if (gap->remedy)
		strbuf_addf(sb, " (%s)", gap->remedy);
	strbuf_adds(sb, "; ");
}

/* Hidden kernel symbols and a stripped library have different remedies: a user needs both. */
static void hint_nameless(struct strbuf *sb, const struct missing_list *gaps, const struct collect *c)
{
	unsigned int told = 0;

	for (size_t i = 0; i < gaps->n && told < NAMELESS_HINTS; i++) {
		const struct missing *gap = &gaps->list[i];
		const double share = percent(gap->samples, whole_of(c, gap));

		if (!gap->name || share <= UNNAMED_HINT)
			continue;
		strbuf_addf(sb, "%.1f %%%s", share, told++ ? "" : " of samples have frames without a name");
		/* "-" stands for no file here. Quoted, it would read as standard input. */
		if (strcmp(gap->where, "-"))
			strbuf_addf(sb, " in '%s'", gap->where);
		strbuf_adds(sb, ": ");
		hint_gap(sb, gap);
	}
}

void stats_hint(const struct missing_input *in)
{
	struct strbuf sb = STRBUF_INIT;
	const struct missing *gap;
	struct ev_ledger led;
	struct missing_list gaps;
	uint64_t cut;
	double share;

	missing_find(&gaps, in);
	gap = main_trouble(in->col, &gaps, &cut);
	share = percent(cut, with_stacks(in->col));
	if (gap && share > INCOMPLETE_HINT) {
		strbuf_addf(&sb, "%.1f %% of stacks are incomplete, mostly: ", share);
		hint_gap(&sb, gap);
	}
	hint_nameless(&sb, &gaps, in->col);
	if (rec_reader_ledger(in->reader, &led) && (ledger_sums_missing(&led) || led.throttled)) {
		strbuf_addf(&sb, "of %" PRIu64 " sample%s ", ledger_sums_taken(&led), plural(ledger_sums_taken(&led)));
		ledger_sums_text(&led, &sb);
		strbuf_adds(&sb, " (record with larger -m, or lower -F or larger -c); ");
	}
	if (sb.len)
		pr_warn("%s--stats tells more", sb.s);
	strbuf_fini(&sb);
	missing_fini(&gaps);
}

void stats_throttled(const struct replay *rp)
{
	struct strbuf sb = STRBUF_INIT;
	size_t n, more = 0;
	const struct ctr *c = ctr_table_all(sample_cgroups_containers(replay_cgroups(rp)), &n);

	for (size_t i = 0, shown = 0; i < n; i++) {
		strbuf_reset(&sb);
		ctr_throttle_line(&c[i], &sb);
		if (sb.len && shown++ < THROTTLED_SHOWN)
			pr_info("%s", sb.s);
		else
			more += sb.len != 0;
	}
	if (more)
		pr_info("and %zu more %s throttled: see nsprof info", more, plural_of(more, "container was", "containers were"));
	strbuf_fini(&sb);
}

/* ---- --stats ---- */

static void print_verdicts(const struct missing_input *in)
{
	const struct collect *c = in->col;
	size_t i, stacks = 0;
	int e;

	for (i = 1; i < c->tree.n; i++)
		stacks += c->tree.nodes[i].samples != 0;
	fprintf(stderr,
		"samples: %" PRIu64 ", unwinder %s, unique stacks: %zu, unique addresses: %zu\n",
		c->samples, in->unwinder, stacks, c->locs.n);
	for (e = 0; e < UNWIND_END_MAX; e++) {
		if (c->verdicts[e])
			fprintf(stderr, "  %10" PRIu64 " %5.1f %%  %s\n", c->verdicts[e],
				percent(c->verdicts[e], with_stacks(c)),
				unwind_end_text((enum unwind_end)e));
	}
}

static void print_padded(const char *s, size_t width)
{
	size_t n = escape_width(s);

	fprintf(stderr, "%s%*s  ", s, n < width ? (int)(width - n) : 0, "");
}

static void print_gaps(const struct missing_list *g, const struct collect *c)
{
	size_t where = strlen("binary"), reason = strlen("reason"), n = MIN(g->n, (size_t)GAPS_SHOWN);

	if (!n)
		return;
	for (size_t i = 0; i < n; i++) {
		where = MAX(where, escape_width(g->list[i].where));
		reason = MAX(reason, escape_width(g->list[i].reason));
	}
	where = MIN(where, (size_t)COLUMN_MAX);
	reason = MIN(reason, (size_t)COLUMN_MAX);
	fprintf(stderr, "what is missing, by binary, and what to do about it:\n"
		"  %10s %7s  %-7s  ", "samples", "share", "missing");
	print_padded("binary", where);
	print_padded("reason", reason);
	fprintf(stderr, "remedy\n");
	for (size_t i = 0; i < n; i++) {
		const struct missing *gap = &g->list[i];

		fprintf(stderr, "  %10" PRIu64 " %5.1f %%  %-7s  ", gap->samples,
			percent(gap->samples, whole_of(c, gap)), gap->name ? "names" : "callers");
		print_padded(gap->where, where);
		print_padded(gap->reason, reason);
		fprintf(stderr, "%s\n", gap->remedy ? gap->remedy : "-");
	}
	if (g->n > n)
		fprintf(stderr, "  and %zu more\n", g->n - n);
}

/* Where names of a binary were looked for. */
static void print_module(const char *where, const struct module *m)
{
	static const char *const sources[] = {
		[MODULE_NONE] = "debug file", [MODULE_PROCESS] = "process",
		[MODULE_HOST] = "host", [MODULE_CAPTURED] = "recording",
	};

	fprintf(stderr, "  '%s' build-id ", where);
	for (size_t i = 0; i < m->dso.build_id_len; i++)
		fprintf(stderr, "%02x", m->dso.build_id[i]);
	fprintf(stderr, "%s%s\n", m->dso.build_id_len ? "" : "none",
		m->dso.deleted ? ", deleted" : "");
	if (m->source > MODULE_NONE && m->source < MODULE_SOURCE_MAX)
		fprintf(stderr, "    taken from: %s\n", sources[m->source]);
	for (size_t i = MODULE_PROCESS; i < MODULE_SOURCE_MAX; i++) {
		if (m->why_not[i].text && i != (size_t)m->source)
			fprintf(stderr, "    %s: %s\n", sources[i], m->why_not[i].text);
	}
	if (m->files.why)
		fprintf(stderr, "    %s: %s\n", sources[MODULE_NONE], m->files.why);
}

static void print_searches(const struct missing_list *g)
{
	bool headed = false;

	for (size_t i = 0; i < MIN(g->n, (size_t)GAPS_SHOWN); i++) {
		const struct missing *gap = &g->list[i];

		if (!gap->name || !gap->mod)
			continue;
		if (!headed)
			fprintf(stderr, "where names were looked for:\n");
		headed = true;
		print_module(gap->where, gap->mod);
	}
}

/* A file that was found and refused is not absent, even if names came from elsewhere. */
static void print_refused(const struct modules *mods)
{
	const struct module *m;
	bool headed = false;

	for (size_t it = 0; (m = modules_next(mods, &it));) {
		const char *const why[] = { module_refused(m), debugsource_refused(&m->files) };

		for (size_t i = 0; i < ARRAY_SIZE(why); i++) {
			struct strbuf path = STRBUF_INIT;

			if (!why[i] || !m->dso.path)
				continue;
			escape_name(&path, m->dso.path);
			fprintf(stderr, "%s  '%s': %s\n", headed ? "" : "files that were found, and are not used:\n", path.s, why[i]);
			strbuf_fini(&path);
			headed = true;
		}
	}
}

static void print_names(const struct naming *nm)
{
	static const char *const texts[NAME_SOURCE_MAX] = {
		[NAME_NONE] = "no name",
		[NAME_SYMTAB] = "symbol table",
		[NAME_DYNSYM] = "dynamic symbols",
		[NAME_DEBUGFILE] = "debug file",
		[NAME_MINIDEBUG] = ".gnu_debugdata",
		[NAME_GOPCLNTAB] = "Go's .gopclntab",
		[NAME_CAPTURED] = "recording",
		[NAME_PERFMAP] = "perf map",
		[NAME_JITDUMP] = "jitdump",
		[NAME_KALLSYMS] = "kernel symbols",
		[NAME_DWARF] = "debug info alone",
		[NAME_INLINE] = "inlined (in addition)",
	};
	size_t i;

	fprintf(stderr, "unique addresses by source of the name:\n");
	for (i = 0; i < NAME_SOURCE_MAX; i++) {
		if (nm->by_source[i])
			fprintf(stderr, "  %10" PRIu64 "  %s\n", nm->by_source[i], texts[i]);
	}
}

static void print_ledger(struct rec_reader *r)
{
	struct ev_ledger led;

	if (!rec_reader_ledger(r, &led)) {
		fprintf(stderr, "losses: unknown, the recording was cut before its ledger\n");
		return;
	}
	fprintf(stderr,
		"losses: %" PRIu64 " sample%s in the kernel, %" PRIu64 " by the recorder, %" PRIu64
		" side-band record%s; throttled %" PRIu64 " time%s\n", led.lost_kernel, plural(led.lost_kernel), led.dropped,
		led.lost_sideband, plural(led.lost_sideband), led.throttled, plural(led.throttled));
	fprintf(stderr,
		"taken:  %" PRIu64 " sample%s: %" PRIu64 " whole, %" PRIu64 " cut, %" PRIu64
		" lost, %" PRIu64 " dropped, %" PRIu64 " of the recorder itself\n",
		ledger_sums_taken(&led), plural(ledger_sums_taken(&led)), led.kept, led.cut, led.lost_kernel, led.dropped, led.own);
}

/* Stacks that are weighed by switches. */
static void print_states(const struct collect_states *st)
{
	struct strbuf sb = STRBUF_INIT;

	if (!st->known)
		return;
	states_text_identity(st, &sb);
	fprintf(stderr, "time:   %s\n", sb.s);
	strbuf_reset(&sb);
	states_text_sums(st, &sb);
	fprintf(stderr, "states: %s\n        %s\n", sb.s, states_text_queue(st));
	fprintf(stderr, "waits:  %" PRIu64 ", of which %" PRIu64 " have a stack (%.1f %%); %" PRIu64 " thread%s off a CPU at the end\n",
		st->counts.waits, st->counts.sampled, percent(st->counts.sampled, st->counts.waits), st->open,
		plural_of(st->open, " was", "s were"));
	if (st->counts.unmatched)
		fprintf(stderr, "        %" PRIu64 " sample%s no switch: the thread ended, or the switch was lost\n", st->counts.unmatched,
			plural_of(st->counts.unmatched, " has", "s have"));
	strbuf_fini(&sb);
}

void stats_states(const struct collect_states *st)
{
	if (!st->known)
		return;
	if (st->doubts.gaps)
		pr_warn("%" PRIu64 " time%s, switches are missing: %.3f s of threads are neither on nor off the CPU", st->doubts.gaps,
			plural(st->doubts.gaps), (double)st->gap_ns / 1e9);
	if (st->doubts.untracked)
		pr_warn("%" PRIu64 " switch%s left out, of more than %u threads", st->doubts.untracked,
			plural_of(st->doubts.untracked, " is", "es are"), CPU_TIMES_MAX);
	if (st->counts.dropped)
		pr_warn("%" PRIu64 " sample%s left out: too many came before their switches", st->counts.dropped,
			plural_of(st->counts.dropped, " is", "s are"));
}

void stats_print(const struct missing_input *in)
{
	struct missing_list gaps;

	missing_find(&gaps, in);
	print_verdicts(in);
	print_gaps(&gaps, in->col);
	print_searches(&gaps);
	print_refused(in->mods);
	print_names(in->nm);
	print_states(&in->col->states);
	print_ledger(in->reader);
	missing_fini(&gaps);
}
