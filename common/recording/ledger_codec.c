#include "recording/ledger_codec.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "recording.h"
#include "recording/rec_table.h"

static_assert(sizeof(((struct rec_ledger *)0)->pressure_n) ==
	      sizeof(((struct ev_ledger *)0)->pressure_n), "as many levels");

void ledger_enc(struct strbuf *out, const struct ev_ledger *l)
{
	struct rec_ledger d = {
		.kept = l->kept, .lost_kernel = l->lost_kernel, .lost_sideband = l->lost_sideband,
		.dropped = l->dropped, .throttled = l->throttled, .unordered = l->unordered,
		.maps_unknown = l->maps_unknown, .copy_full = l->copy_full,
		.flags = (l->have_format_lost ? REC_L_FORMAT_LOST : 0u) |
			 (l->have_count ? REC_L_COUNT : 0u) | (l->exact ? REC_L_EXACT : 0u),
		.cut = l->cut, .own = l->own, .throttled_ns = l->throttled_ns,
		.throttled_samples = l->throttled_samples, .count = l->count,
		.periods = l->periods, .pool_waits = l->pool_waits, .pool_peak = l->pool_peak,
		.cpus_away = l->cpus_away, .cgroups_gone = l->cgroups_gone,
		.withheld = l->withheld, .unread = l->unread,
		.switches = l->switches, .lost_switches = l->lost_switches,
		.wakeups = l->wakeups, .lost_wakeups = l->lost_wakeups,
	};

	memcpy(d.pressure_n, l->pressure_n, sizeof(d.pressure_n));
	memcpy(d.pressure_ns, l->pressure_ns, sizeof(d.pressure_ns));
	strbuf_add(out, &d, d.wakeups || d.lost_wakeups ? sizeof(d) :
		   d.switches || d.lost_switches ? REC_LEDGER_SWITCHES : REC_LEDGER_PLAIN);
}

void ledger_dec(const void *raw, size_t len, struct ev_ledger *out)
{
	struct rec_ledger l = { 0 };

	memcpy(&l, raw, MIN(sizeof(l), len));
	*out = (struct ev_ledger){
		.kept = l.kept,
		.lost_kernel = l.lost_kernel,
		.lost_sideband = l.lost_sideband,
		.dropped = l.dropped,
		.throttled = l.throttled,
		.unordered = l.unordered,
		.maps_unknown = l.maps_unknown,
		.copy_full = l.copy_full,
		.cut = l.cut,
		.own = l.own,
		.throttled_ns = l.throttled_ns,
		.throttled_samples = l.throttled_samples,
		.count = l.count,
		.periods = l.periods,
		.pool_waits = l.pool_waits,
		.pool_peak = l.pool_peak,
		.cpus_away = l.cpus_away,
		.cgroups_gone = l.cgroups_gone,
		.withheld = l.withheld,
		.unread = l.unread,
		.switches = l.switches,
		.lost_switches = l.lost_switches,
		.wakeups = l.wakeups,
		.lost_wakeups = l.lost_wakeups,
		.have_format_lost = l.flags & REC_L_FORMAT_LOST,
		.have_count = l.flags & REC_L_COUNT,
		.exact = l.flags & REC_L_EXACT,
	};
	memcpy(out->pressure_n, l.pressure_n, sizeof(out->pressure_n));
	memcpy(out->pressure_ns, l.pressure_ns, sizeof(out->pressure_ns));
}

/* ---- tally ---- */

static void tally_row(const void *rows, size_t i, uint64_t *cell)
{
	const struct ev_tally *t = (const struct ev_tally *)rows + i;
	const uint64_t row[REC_TALLY_COLS] = {
		t->second, t->cpu, t->kept, t->cut, t->dropped, t->own, t->lost, t->throttled,
		t->throttled_ns, t->side_lost,
	};

	memcpy(cell, row, sizeof(row));
}

void tally_dec(const uint64_t *v, struct ev_tally *out)
{
	*out = (struct ev_tally){
		.second = v[0], .cpu = (uint32_t)v[1], .kept = v[2], .cut = v[3], .dropped = v[4],
		.own = v[5], .lost = v[6], .throttled = v[7], .throttled_ns = v[8],
		.side_lost = v[9],
	};
}

/* ---- counts ---- */

static void counts_row(const void *rows, size_t i, uint64_t *cell)
{
	const struct ev_counts *c = (const struct ev_counts *)rows + i;
	const uint64_t row[REC_COUNTS_COLS] = {
		c->cpu, c->events, c->count, c->samples, c->periods, c->lost, c->enabled,
		c->running, c->event, c->throttled, c->throttled_ns, c->throttled_samples,
	};

	memcpy(cell, row, sizeof(row));
}

/* Columns are left out at the end: what LEDGER has of a single event, and of several what is 0. */
static unsigned int counts_cols(const struct ev_counts *rows, size_t n)
{
	bool several = false, throttled = false;

	for (size_t i = 0; i < n; i++) {
		several |= rows[i].event;
		throttled |= rows[i].throttled || rows[i].throttled_ns;
	}
	return !several ? REC_COUNTS_PLAIN : throttled ? REC_COUNTS_COLS : REC_COUNTS_EVENTS;
}

void counts_dec(const uint64_t *v, struct ev_counts *out)
{
	*out = (struct ev_counts){
		.cpu = (uint32_t)v[0], .events = (uint32_t)v[1], .count = v[2], .samples = v[3],
		.periods = v[4], .lost = v[5], .enabled = v[6], .running = v[7], .event = v[8],
		.throttled = v[9], .throttled_ns = v[10], .throttled_samples = v[11],
	};
}

/* ---- either ---- */

/* Takes the first @cols numbers of each row. */
static void put_table(struct strbuf *out, const void *rows, size_t n, unsigned int cols,
		      void (*get)(const void *rows, size_t i, uint64_t *cell))
{
	uint64_t *cells = xmalloc(n * cols * sizeof(*cells)), row[REC_TABLE_COLS];

	for (size_t i = 0; i < n; i++) {
		get(rows, i, row);
		memcpy(cells + i * cols, row, cols * sizeof(*row));
	}
	rec_table_put(out, cells, n, cols);
	free(cells);
}

void tally_enc(struct strbuf *out, const struct ev_tally *rows, size_t n)
{
	put_table(out, rows, n, REC_TALLY_COLS, tally_row);
}

void counts_enc(struct strbuf *out, const struct ev_counts *rows, size_t n)
{
	put_table(out, rows, n, counts_cols(rows, n), counts_row);
}
