#include "info/info_ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "recording/ledger_sums.h"
#include "recording/rec_events.h"

#define SHOWN 20	/* rows of a table in text; JSON has all */

/* Counts of the ledger, for both outputs. */
struct row {
	const char *key, *text;		/* key NULL: end of the table */
	size_t off;
	size_t of;			/* text has the row only if this one is not 0, either */
};

#define ROW_OF(field, whole, words) { #field, words, offsetof(struct ev_ledger, field), offsetof(struct ev_ledger, whole) }
#define ROW(field, words) { #field, words, offsetof(struct ev_ledger, field), SIZE_MAX }
#define ROWS_END { NULL, NULL, 0, 0 }
static const struct row taken_rows[] = {
	ROW(kept, "samples in the file, whole"),
	ROW(cut, "samples in the file, their stacks cut by the recorder"),
	ROW(lost_kernel, "samples lost by the kernel: a ring was full"),
	ROW(dropped, "samples dropped by the recorder"),
	ROW(own, "samples left out on purpose: of the recorder itself, or of other cgroups"),
	ROWS_END,
}, other_rows[] = {
	ROW(lost_sideband, "records about mappings and processes lost (no samples): names may be missing"),
	ROW(throttled, "times the kernel throttled an event"),
	ROW(throttled_samples, "samples not taken because of that, estimated"),
	ROW(unordered, "records that came too late to be put in order"),
	ROW(withheld, "samples without their user stack: the process's mappings were not known"),
	ROW(unread, "files and processes not read in time: their file system or memory did not answer"),
	ROW_OF(switches, switches, "times that a thread went to a CPU or left it"),
	ROW_OF(lost_switches, switches, "of these lost: a ring was full, and their time is unknown"),
	ROW_OF(wakeups, wakeups, "times that one of these threads was woken"),
	ROW_OF(lost_wakeups, wakeups, "records about wake-ups lost, of any thread of the host: a ring was full"),
	ROW(maps_unknown, "samples with all words of their stack, as the process's mappings were not known"),
	ROW(copy_full, "samples whose stack copy has the full requested size"),
	ROWS_END,
};

static const char *const level_texts[PRESSURE_LEVELS] = {
	[PRESSURE_NONE] = "everything is kept",
	[PRESSURE_FAST] = "compression is faster and worse",
	[PRESSURE_STORED] = "no compression",
	[PRESSURE_CUT] = "stack copies are cut",
	[PRESSURE_DROP] = "samples are dropped",
};

static const struct {
	const char *key, *text;
} absences[] = {
	[0] = { "unknown", "went away or came back" },
	[ABSENCE_CPU] = { "cpu offline", "is offline: not sampled while it is away" },
	[ABSENCE_CPU_BACK] = { "cpu online", "came back and is sampled again" },
	[ABSENCE_CPU_DEAF] = { "cpu not sampled", "came back, but could not be sampled again" },
	[ABSENCE_CGROUP] = { "cgroup removed", "was removed: what ran in it until then is recorded" },
	[ABSENCE_CGROUP_BACK] = { "cgroup back", "came back and is sampled again" },
	[ABSENCE_CGROUP_NEW] = { "cgroup new", "began to match and is sampled from then on" },
	[ABSENCE_CGROUP_DEAF] = { "cgroup not sampled", "came back, but could not be sampled again" },
};

static uint64_t value_at(const struct ev_ledger *l, size_t off)
{
	return *(const uint64_t *)(const void *)((const char *)l + off);
}

static uint64_t row_value(const struct ev_ledger *l, const struct row *row)
{
	return value_at(l, row->off);
}

/* Switches and wake-ups are only there if somebody asked for them. */
static bool row_tells(const struct ev_ledger *l, const struct row *row)
{
	return row->of == SIZE_MAX || value_at(l, row->of) || row_value(l, row);
}

/* ---- reading ---- */

static int on_row(void *ctx, const struct ev_tally *row)
{
	struct info_ledger *il = ctx;

	XGROW(il->row, il->nrow, il->cap_row);
	il->row[il->nrow++] = *row;
	return 0;
}

static int on_cpu(void *ctx, const struct ev_counts *cpu)
{
	struct info_ledger *il = ctx;

	XGROW(il->cpu, il->ncpu, il->cap_cpu);
	il->cpu[il->ncpu++] = *cpu;
	il->several |= cpu->event > 0;
	return 0;
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct ev_tally *a = pa, *b = pb;

	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static void merge_rows(struct info_ledger *il)
{
	size_t n = 0;

	if (!il->nrow)
		return;
	qsort(il->row, il->nrow, sizeof(*il->row), compare_rows);
	for (size_t i = 1; i < il->nrow; i++) {
		struct ev_tally *to = &il->row[n];
		const struct ev_tally *from = &il->row[i];

		if (compare_rows(to, from)) {
			il->row[++n] = *from;
			continue;
		}
		to->kept += from->kept;
		to->cut += from->cut;
		to->dropped += from->dropped;
		to->own += from->own;
		to->lost += from->lost;
		to->throttled += from->throttled;
		to->throttled_ns += from->throttled_ns;
		to->side_lost += from->side_lost;
	}
	il->nrow = n + 1;
}

int info_ledger_read(struct info_ledger *il, struct rec_reader *r)
{
	struct rec_events events = { 0 };
	int err = rec_events_read(&events, r);

	il->start = rec_reader_start(r);
	il->have = rec_reader_ledger(r, &il->l);
	if (!err && events.table.n) {
		il->clock = rec_events_is_clock(&events.table.ev[0]);
		/* Even if limited to user or kernel code, a clock counts the time of both. */
		il->covers = !il->clock || !*events.table.ev[0].modifier;
	}
	rec_events_fini(&events);
	err = rec_reader_tally(r, on_row, il);
	if (!err)
		err = rec_reader_counts(r, on_cpu, il);
	merge_rows(il);
	return err;
}

void info_ledger_pressure(struct info_ledger *il, const struct ev_pressure *ev)
{
	XGROW(il->press, il->npress, il->cap_press);
	il->press[il->npress++] = *ev;
}

void info_ledger_absence(struct info_ledger *il, const struct ev_absence *ev)
{
	struct ev_absence *to;
	uint64_t *kind;

	/* Each segment repeats which CPUs are missing at its beginning. */
	if (!ev->cgroup[0]) {
		kind = u64map_put(&il->cpus, ev->cpu, NULL);
		if (*kind == ev->kind)
			return;
		*kind = ev->kind;
	}
	XGROW(il->away, il->naway, il->cap_away);
	to = &il->away[il->naway++];
	*to = *ev;
	to->cgroup = xstrdup(ev->cgroup);
	if (to->kind >= ARRAY_SIZE(absences))
		to->kind = 0;
}

void info_ledger_fini(struct info_ledger *il)
{
	for (size_t i = 0; i < il->naway; i++)
		free((char *)(uintptr_t)il->away[i].cgroup);
	free(il->away);
	u64map_fini(&il->cpus);
	free(il->row);
	free(il->cpu);
	free(il->press);
}

static double since_start(const struct info_ledger *il, uint64_t time)
{
	return time > il->start ? (double)(time - il->start) / 1e9 : 0;
}

/* Is the coverage of all CPUs known? */
static bool has_coverage(const struct info_ledger *il)
{
	return il->covers && il->l.have_count && ledger_sums_has_coverage(&il->l);
}

/* Writes the coverage of one CPU. */
static void json_cpu_coverage(const struct info_ledger *il, const struct ev_counts *c, struct json *j)
{
	struct ev_ledger l = {
		.kept = c->samples, .lost_kernel = c->lost, .periods = c->periods,
		.count = c->count,
	};

	if (il->covers && !il->several && il->l.have_count && ledger_sums_has_coverage(&l))
		json_double(j, "coverage", ledger_sums_coverage(&l));
}

/* ---- text ---- */

static void text_rows(const struct info_ledger *il, const struct row *row, FILE *to)
{
	for (; row->key; row++)
		if (row_tells(&il->l, row))
			fprintf(to, "%12" PRIu64 "  %s\n", row_value(&il->l, row), row->text);
}

/* After a table that shows at most SHOWN of @n rows. */
static void text_more(size_t n, FILE *to)
{
	if (n > SHOWN)
		fprintf(to, "%12s  and %zu more: see --json\n", "", n - SHOWN);
}

static void text_count(const struct info_ledger *il, FILE *to)
{
	const struct ev_ledger *l = &il->l;
	uint64_t taken = ledger_sums_taken(l);

	fprintf(to, "%12" PRIu64 "  in all", taken);
	if (!l->have_format_lost)
		fputs(", as far as the kernel reported losses (it has no count of them)", to);
	if (!l->have_count || il->several)
		fputs("\n", to);
	else if (l->exact)
		fprintf(to, "; the kernel counted %" PRIu64 "%s\n", l->count,
			l->count == taken ? "" : ": this does not balance");
	else if (il->clock)
		fprintf(to, "; the kernel counted %.3f s of CPU time", (double)l->count / 1e9);
	else
		fprintf(to, "; the kernel counted %" PRIu64 " event%s", l->count, plural(l->count));
	if (l->have_count && !l->exact && !il->several) {
		if (has_coverage(il))
			fprintf(to, ", %.1f %% of them in these samples' periods",
				ledger_sums_coverage(l));
		fputs("\n", to);
	}
}

static bool has_trouble(const struct ev_tally *t)
{
	return t->cut | t->dropped | t->lost | t->throttled | t->side_lost;
}

static void text_trouble(const struct info_ledger *il, FILE *to)
{
	size_t n = 0;

	for (size_t i = 0; i < il->nrow; i++) {
		const struct ev_tally *t = &il->row[i];

		if (!has_trouble(t) || n++ >= SHOWN)
			continue;
		if (n == 1)
			fprintf(to, "\n%12s %5s %9s %9s %9s %9s %9s  seconds with losses\n", "second",
				"cpu", "whole", "cut", "lost", "dropped", "throttled");
		fprintf(to, "%12" PRIu64 " %5u %9" PRIu64 " %9" PRIu64 " %9" PRIu64 " %9" PRIu64
			" %9" PRIu64, t->second, t->cpu, t->kept, t->cut, t->lost, t->dropped,
			t->throttled);
		if (t->side_lost)
			fprintf(to, "  %" PRIu64 " record%s about mappings lost", t->side_lost, plural(t->side_lost));
		putc('\n', to);
	}
	text_more(n, to);
}

static void text_pressure(const struct info_ledger *il, FILE *to)
{
	for (size_t i = 0; i < il->npress && i < SHOWN; i++) {
		const struct ev_pressure *p = &il->press[i];

		if (!i)
			fprintf(to, "\n%12s  what the recorder gave up to keep up\n", "second");
		fprintf(to, "%12.3f  %s (%s)\n", since_start(il, p->time),
			p->level < PRESSURE_LEVELS ? level_texts[p->level] : "unknown level",
			p->cause == PRESSURE_WRITER ? "writing" : "rings");
	}
	text_more(il->npress, to);
}

static void text_absences(const struct info_ledger *il, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	for (size_t i = 0; i < il->naway && i < SHOWN; i++) {
		const struct ev_absence *a = &il->away[i];

		if (!i)
			fprintf(to, "\n%12s  what went away or came back\n", "second");
		fprintf(to, "%12.3f  ", since_start(il, a->time));
		if (a->cgroup[0]) {
			strbuf_reset(&sb);
			escape_name(&sb, a->cgroup);
			fprintf(to, "cgroup '%s'", sb.s);
		} else {
			fprintf(to, "CPU %" PRIu32, a->cpu);
		}
		fprintf(to, " %s\n", absences[a->kind].text);
	}
	text_more(il->naway, to);
	strbuf_fini(&sb);
}

void info_ledger_text(const struct info_ledger *il, FILE *to)
{
	if (il->have) {
		fputs("\nledger:\n", to);
		text_rows(il, taken_rows, to);
		text_count(il, to);
		text_rows(il, other_rows, to);
	} else {
		fputs("\nledger: none; the recording ends before it\n", to);
	}
	text_trouble(il, to);
	text_pressure(il, to);
	text_absences(il, to);
}

/* ---- JSON ---- */

static void json_rows(const struct info_ledger *il, const struct row *row, struct json *j)
{
	for (; row->key; row++)
		json_u64(j, row->key, row_value(&il->l, row));
}

static void json_numbers(struct json *j, const char *key, const uint64_t *v, size_t n)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < n; i++)
		json_u64(j, NULL, v[i]);
	json_end_array(j);
}

static void json_ledger(const struct info_ledger *il, struct json *j)
{
	const struct ev_ledger *l = &il->l;

	json_begin_object(j, "ledger");
	json_rows(il, taken_rows, j);
	json_u64(j, "taken", ledger_sums_taken(l));
	json_rows(il, other_rows, j);
	json_u64(j, "throttled_ns", l->throttled_ns);
	json_bool(j, "have_format_lost", l->have_format_lost);
	json_bool(j, "have_count", l->have_count);
	json_bool(j, "exact", l->exact);
	json_u64(j, "count", l->count);
	json_u64(j, "periods", l->periods);
	if (has_coverage(il))
		json_double(j, "coverage", ledger_sums_coverage(l));
	json_u64(j, "pool_waits", l->pool_waits);
	json_u64(j, "pool_peak", l->pool_peak);
	json_numbers(j, "pressure_times", l->pressure_n, PRESSURE_LEVELS);
	json_numbers(j, "pressure_ns", l->pressure_ns, PRESSURE_LEVELS);
	json_u64(j, "cpus_away", l->cpus_away);
	json_u64(j, "cgroups_gone", l->cgroups_gone);
	json_end_object(j);
}

static void json_counts(const struct info_ledger *il, struct json *j)
{
	json_begin_array(j, "counts_by_cpu");
	for (size_t i = 0; i < il->ncpu; i++) {
		const struct ev_counts *c = &il->cpu[i];

		json_begin_object(j, NULL);
		json_u64(j, "cpu", c->cpu);
		json_u64(j, "event", c->event);
		json_u64(j, "events", c->events);
		json_u64(j, "count", c->count);
		json_u64(j, "samples", c->samples);
		json_u64(j, "periods", c->periods);
		json_u64(j, "lost", c->lost);
		json_u64(j, "enabled_ns", c->enabled);
		json_u64(j, "running_ns", c->running);
		json_cpu_coverage(il, c, j);
		json_end_object(j);
	}
	json_end_array(j);
}

/* Column names once, rows as bare numbers: there are as many as seconds times CPUs. */
static void json_tally(const struct info_ledger *il, struct json *j)
{
	static const char *const columns[] = {
		"second", "cpu", "kept", "cut", "dropped", "own", "lost", "throttled",
		"throttled_ns", "side_lost",
	};

	json_begin_object(j, "tally");
	json_begin_array(j, "columns");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		json_str(j, NULL, columns[i]);
	json_end_array(j);
	json_begin_array(j, "rows");
	for (size_t i = 0; i < il->nrow; i++) {
		const struct ev_tally *t = &il->row[i];
		const uint64_t cells[ARRAY_SIZE(columns)] = {
			t->second, t->cpu, t->kept, t->cut, t->dropped, t->own, t->lost,
			t->throttled, t->throttled_ns, t->side_lost,
		};

		json_numbers(j, NULL, cells, ARRAY_SIZE(cells));
	}
	json_end_array(j);
	json_end_object(j);
}

static void json_pressure(const struct info_ledger *il, struct json *j)
{
	json_begin_array(j, "pressure");
	for (size_t i = 0; i < il->npress; i++) {
		const struct ev_pressure *p = &il->press[i];

		json_begin_object(j, NULL);
		json_double(j, "second", since_start(il, p->time));
		json_u64(j, "level", p->level);
		json_str(j, "cause", p->cause == PRESSURE_WRITER ? "writer" : "rings");
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_absences(const struct info_ledger *il, struct json *j)
{
	json_begin_array(j, "absences");
	for (size_t i = 0; i < il->naway; i++) {
		const struct ev_absence *a = &il->away[i];

		json_begin_object(j, NULL);
		json_double(j, "second", since_start(il, a->time));
		json_str(j, "what", absences[a->kind].key);
		if (a->cgroup[0])
			json_name(j, "cgroup", a->cgroup);
		else
			json_u64(j, "cpu", a->cpu);
		json_end_object(j);
	}
	json_end_array(j);
}

void info_ledger_json(const struct info_ledger *il, struct json *j)
{
	if (il->have)
		json_ledger(il, j);
	json_counts(il, j);
	json_tally(il, j);
	json_pressure(il, j);
	json_absences(il, j);
}
