#include "sink/second_counts.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "recording.h"

#define NS_PER_SEC 1000000000ull
/* Seconds between two blocks: what is lost if the recorder is killed. */
#define BLOCK_SECONDS 60
#define BLOCK_ROWS 16384
/*
 * Limit of the rows that are held back while the writer's pool is used up: writing would have to
 * wait.
 */
#define HELD_ROWS (4 * BLOCK_ROWS)

void second_counts_init(struct second_counts *t, struct rec_writer *w)
{
	memset(t, 0, sizeof(*t));
	t->w = w;
	t->start = rec_writer_start(w);
}

void second_counts_fini(struct second_counts *t)
{
	for (size_t i = 0; i < t->ncpu; i++)
		free(t->cpu[i].more);
	free(t->cpu);
	free(t->row);
}

void second_counts_events(struct second_counts *t, uint32_t nmore)
{
	t->nmore = nmore;
}

/* Counts that are all 0. */
static void clear(const struct second_counts *t, struct second_counts_cpu *c, uint32_t cpu)
{
	c->first = (struct second_counts_event){ .sum.cpu = cpu };
	for (uint32_t i = 0; i < t->nmore; i++)
		c->more[i] = (struct second_counts_event){ .sum.cpu = cpu, .sum.event = i + 1 };
}

struct second_counts_cpu *second_counts_cpu(struct second_counts *t, uint32_t cpu)
{
	if (cpu >= MIN(SECOND_COUNTS_CPU_MAX, SECOND_COUNTS_MAX / (t->nmore + 1)))
		cpu = 0;
	while (t->ncpu <= cpu) {
		XGROW(t->cpu, t->ncpu, t->cap_cpu);
		memset(&t->cpu[t->ncpu], 0, sizeof(*t->cpu));
		if (t->nmore)
			t->cpu[t->ncpu].more = xcalloc(t->nmore, sizeof(*t->cpu->more));
		clear(t, &t->cpu[t->ncpu], (uint32_t)t->ncpu);
		t->ncpu++;
	}
	return &t->cpu[cpu];
}

static int compare_rows(const void *pa, const void *pb)
{
	const struct ev_tally *a = pa, *b = pb;

	if (a->second != b->second)
		return a->second < b->second ? -1 : 1;
	return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

static bool is_empty(const struct ev_tally *r)
{
	return !(r->kept | r->cut | r->dropped | r->own | r->lost | r->throttled |
		 r->throttled_ns | r->side_lost);
}

static void write_rows(struct second_counts *t)
{
	if (t->w && t->nrow) {
		/* By second and CPU, so that neighbours in a column are alike. */
		qsort(t->row, t->nrow, sizeof(*t->row), compare_rows);
		for (size_t i = 0; i < t->nrow && !t->err; i += REC_TABLE_ROWS)
			t->err = rec_writer_tally(t->w, t->row + i,
						  MIN(t->nrow - i, (size_t)REC_TABLE_ROWS));
		t->nrow = 0;
	}
}

static void end_row(struct second_counts *t, struct second_counts_cpu *c)
{
	if (is_empty(&c->now))
		return;
	XGROW(t->row, t->nrow, t->cap_row);
	t->row[t->nrow++] = c->now;
	if ((t->nrow >= BLOCK_ROWS || c->now.second - t->row[0].second >= BLOCK_SECONDS) &&
	    (!t->w || rec_writer_fill(t->w) < 100 || t->nrow >= HELD_ROWS))
		write_rows(t);
}

struct ev_tally *second_counts_at(struct second_counts *t, uint32_t cpu, uint64_t time)
{
	struct second_counts_cpu *c = second_counts_cpu(t, cpu);
	uint64_t second;

	if (c->begin && time >= c->begin && time - c->begin < NS_PER_SEC)
		return &c->now;
	second = time > t->start ? (time - t->start) / NS_PER_SEC : 0;
	if (c->begin && second == c->now.second)	/* before the start */
		return &c->now;
	end_row(t, c);
	c->now = (struct ev_tally){ .second = second, .cpu = c->first.sum.cpu };
	c->begin = MAX(t->start + second * NS_PER_SEC, 1);
	return &c->now;
}

int second_counts_flush(struct second_counts *t)
{
	for (size_t i = 0; i < t->ncpu; i++) {
		end_row(t, &t->cpu[i]);
		memset(&t->cpu[i].now, 0, sizeof(t->cpu[i].now));
		t->cpu[i].begin = 0;
	}
	write_rows(t);
	return t->err;
}

struct ev_tally *second_counts_take(struct second_counts *t, size_t *n)
{
	struct ev_tally *rows;

	for (size_t i = 0; i < t->ncpu; i++) {
		struct second_counts_cpu *c = &t->cpu[i];

		end_row(t, c);
		*c = (struct second_counts_cpu){ .more = c->more, .lost_ahead = c->lost_ahead, .side_ahead = c->side_ahead };
		clear(t, c, (uint32_t)i);
	}
	if (t->nrow)
		qsort(t->row, t->nrow, sizeof(*t->row), compare_rows);
	rows = t->row;
	*n = t->nrow;
	t->row = NULL;
	t->nrow = t->cap_row = 0;
	return rows;
}
