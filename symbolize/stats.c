/* Statistics (stats.h). */
#include "stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "balance.h"
#include "clean.h"
#include "log.h"
#include "rec_reader.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

/* Below these shares (in %) there is nothing to say. */
#define INCOMPLETE_HINT 1.0
#define UNNAMED_HINT 5.0

#define MODULES_SHOWN 20
#define ENDS_SHOWN 5

struct tally {
	const struct module *mod;
	uint64_t samples;
};

/* A path from inside a container goes to somebody's terminal. Valid until the next call. */
static const char *shown_path(const struct module *m)
{
	static struct strbuf sb;

	clean_frame(&sb, m->dso.path, strlen(m->dso.path));
	return sb.s;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static int by_samples(const void *pa, const void *pb)
{
	const struct tally *a = pa, *b = pb;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return a->mod->id < b->mod->id ? -1 : 1;
}

/* Owned list from module ids and counts, most samples first. */
static struct tally *sorted_tally(const struct stats_input *in, const struct u64map *samples,
				  size_t *count)
{
	struct tally *list = xcalloc(samples->n + 1, sizeof(*list));
	size_t it = 0, n = 0;
	uint64_t id, val;

	while (u64map_next(samples, &it, &id, &val)) {
		const struct module *m = modules_get(in->mods, (uint32_t)id);

		if (m)
			list[n++] = (struct tally){ m, val };
	}
	qsort(list, n, sizeof(*list), by_samples);
	*count = n;
	return list;
}

/*
 * Binaries with nameless frames, most samples first; owned. A sample counts once for a binary,
 * however often it is on the stack: @seen holds the last leaf a binary was counted for.
 */
static struct tally *find_unnamed(const struct stats_input *in, size_t *count)
{
	const struct collect *c = in->col;
	struct u64map samples = U64MAP_INIT, seen = U64MAP_INIT;
	struct tally *list;
	size_t i;

	for (i = 1; i < c->tree.n; i++) {
		uint32_t at = (uint32_t)i;

		if (!c->tree.nodes[i].samples)
			continue;
		for (; at != STACKTREE_ROOT; at = c->tree.nodes[at].parent) {
			uint32_t loc = c->tree.nodes[at].loc;
			const struct module *m = c->locs.locs[loc].mod;
			uint64_t *last;

			if (!m || in->nm->named[loc].source != NAME_NONE)
				continue;
			last = u64map_put(&seen, m->id, NULL);
			if (*last == i)
				continue;
			*last = i;
			*u64map_put(&samples, m->id, NULL) += c->tree.nodes[i].samples;
		}
	}
	list = sorted_tally(in, &samples, count);
	u64map_fini(&samples);
	u64map_fini(&seen);
	return list;
}

/* Most samples among the ways a stack can end early; UNWIND_COMPLETE when none did. */
static enum unwind_end main_trouble(const struct collect *c, uint64_t *all)
{
	enum unwind_end worst = UNWIND_COMPLETE;
	uint64_t most = 0;
	int e;

	*all = 0;
	for (e = 0; e < UNWIND_END_MAX; e++) {
		if (!collect_incomplete((enum unwind_end)e))
			continue;
		*all += c->verdicts[e];
		if (c->verdicts[e] > most) {
			most = c->verdicts[e];
			worst = (enum unwind_end)e;
		}
	}
	return worst;
}

static const char *module_why(const struct module *m)
{
	return m->why ? m->why : "it is stripped, install its debug symbols";
}

static void hint_incomplete(const struct stats_input *in, struct strbuf *sb)
{
	uint64_t all;
	enum unwind_end worst = main_trouble(in->col, &all);
	double share = percent(all, in->col->samples);
	const char *remedy;

	if (share <= INCOMPLETE_HINT)
		return;
	remedy = unwind_end_remedy(worst);
	strbuf_addf(sb, "%.1f %% of stacks are not whole, mostly: %s", share,
		    unwind_end_text(worst));
	if (remedy)
		strbuf_addf(sb, " (%s)", remedy);
	strbuf_adds(sb, "; ");
}

void stats_hint(const struct stats_input *in)
{
	struct strbuf sb = STRBUF_INIT;
	struct tally *list;
	struct ev_ledger led;
	size_t n;

	hint_incomplete(in, &sb);
	list = find_unnamed(in, &n);
	if (n && percent(list[0].samples, in->col->samples) > UNNAMED_HINT)
		strbuf_addf(&sb, "%.1f %% of samples have frames without a name in '%s': %s; ",
			    percent(list[0].samples, in->col->samples), shown_path(list[0].mod),
			    module_why(list[0].mod));
	free(list);
	if (rec_reader_ledger(in->reader, &led) && (balance_missing(&led) || led.throttled)) {
		strbuf_addf(&sb, "of %" PRIu64 " samples ", balance_taken(&led));
		balance_text(&led, &sb);
		strbuf_adds(&sb, " (record with larger -m or lower -F); ");
	}
	if (in->nm->kernel_hidden)
		strbuf_addf(&sb, "kernel functions have no names: %s; ", in->nm->kernel_why);
	if (sb.len)
		pr_warn("%s--stats tells more", sb.s);
	strbuf_fini(&sb);
}

/* ---- --stats ---- */

/* The binaries in which most of the stacks with verdict @end ended. */
static void print_ended_in(const struct stats_input *in, enum unwind_end end)
{
	struct u64map samples = U64MAP_INIT;
	struct tally *list;
	size_t i, n, it = 0;
	uint64_t key, val;

	while (u64map_next(&in->col->ended_in, &it, &key, &val)) {
		if ((key & 0xff) == (uint64_t)end)
			*u64map_put(&samples, key >> 8, NULL) = val;
	}
	list = sorted_tally(in, &samples, &n);
	for (i = 0; i < MIN(n, (size_t)ENDS_SHOWN); i++)
		fprintf(stderr, "             %" PRIu64 " of these in '%s'\n", list[i].samples,
			shown_path(list[i].mod));
	free(list);
	u64map_fini(&samples);
}

static void print_verdicts(const struct stats_input *in)
{
	const struct collect *c = in->col;
	size_t i, stacks = 0;
	int e;

	for (i = 1; i < c->tree.n; i++)
		stacks += c->tree.nodes[i].samples != 0;
	fprintf(stderr,
		"samples: %" PRIu64 ", unwinder %s, %zu unique stacks, %zu unique addresses\n",
		c->samples, in->unwinder, stacks, c->locs.n);
	for (e = 0; e < UNWIND_END_MAX; e++) {
		const char *remedy = unwind_end_remedy((enum unwind_end)e);

		if (!c->verdicts[e])
			continue;
		fprintf(stderr, "  %10" PRIu64 " %5.1f %%  %s%s%s\n", c->verdicts[e],
			percent(c->verdicts[e], c->samples), unwind_end_text((enum unwind_end)e),
			remedy ? ": " : "", remedy ? remedy : "");
		print_ended_in(in, (enum unwind_end)e);
	}
}

static void print_module(const struct module *m, uint64_t samples, uint64_t all)
{
	static const char *const sources[] = {
		[MODULE_NONE] = "debug file", [MODULE_PROCESS] = "process",
		[MODULE_HOST] = "host", [MODULE_CAPTURED] = "recording",
	};
	size_t i;

	fprintf(stderr, "  %10" PRIu64 " %5.1f %%  '%s' build-id ", samples, percent(samples, all),
		shown_path(m));
	for (i = 0; i < m->dso.build_id_len; i++)
		fprintf(stderr, "%02x", m->dso.build_id[i]);
	fprintf(stderr, "%s%s\n", m->dso.build_id_len ? "" : "none",
		m->dso.deleted ? ", deleted" : "");
	if (m->source > MODULE_NONE && m->source < MODULE_SOURCE_MAX)
		fprintf(stderr,
			"             taken from: %s, which has no symbols for these addresses\n",
			sources[m->source]);
	for (i = MODULE_PROCESS; i < MODULE_SOURCE_MAX; i++) {
		if (m->why_not[i] && i != (size_t)m->source)
			fprintf(stderr, "             %s: %s\n", sources[i], m->why_not[i]);
	}
	if (m->why_not[MODULE_NONE])
		fprintf(stderr, "             %s: %s\n", sources[MODULE_NONE],
			m->why_not[MODULE_NONE]);
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
		[NAME_INLINE] = "inlined (in addition)",
	};
	size_t i;

	fprintf(stderr, "unique addresses by source of the name:\n");
	for (i = 0; i < NAME_SOURCE_MAX; i++) {
		if (nm->by_source[i])
			fprintf(stderr, "  %10" PRIu64 "  %s\n", nm->by_source[i], texts[i]);
	}
	if (nm->kernel_hidden)
		fprintf(stderr, "kernel functions have no names: %s\n", nm->kernel_why);
}

static void print_ledger(struct rec_reader *r)
{
	struct ev_ledger led;

	if (!rec_reader_ledger(r, &led)) {
		fprintf(stderr, "losses: unknown, the recording was cut before its ledger\n");
		return;
	}
	fprintf(stderr,
		"losses: %" PRIu64 " samples in the kernel, %" PRIu64 " by the recorder, %" PRIu64
		" side-band records; throttled %" PRIu64 " times\n",
		led.lost_kernel, led.dropped, led.lost_sideband, led.throttled);
	fprintf(stderr,
		"taken:  %" PRIu64 " samples: %" PRIu64 " whole, %" PRIu64 " cut, %" PRIu64
		" lost, %" PRIu64 " dropped, %" PRIu64 " of the recorder itself\n",
		balance_taken(&led), led.kept, led.cut, led.lost_kernel, led.dropped, led.own);
}

void stats_print(const struct stats_input *in)
{
	struct tally *list;
	size_t i, n;

	print_verdicts(in);
	list = find_unnamed(in, &n);
	if (n)
		fprintf(stderr, "samples with nameless frames, by binary:\n");
	for (i = 0; i < MIN(n, (size_t)MODULES_SHOWN); i++)
		print_module(list[i].mod, list[i].samples, in->col->samples);
	if (n > MODULES_SHOWN)
		fprintf(stderr, "  and %zu more binaries\n", n - MODULES_SHOWN);
	free(list);
	print_names(in->nm);
	print_ledger(in->reader);
}
