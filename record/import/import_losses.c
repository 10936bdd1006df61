#include "import/import_losses.h"

#include <stdlib.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"

#define NS_PER_SEC 1000000000ull
#define CPU_BITS 16

/* Lost records. The rest of @all is of other events. */
struct shares {
	uint64_t *each, *done;	/* owned; samples by event, and how many of them are in the ledger */
	uint32_t n;		/* events */
	uint64_t side, all;
	bool counted;		/* the kernel counted them per event */
};

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

void import_losses_told(struct import_losses *il, uint32_t cpu, uint64_t time, uint64_t start, uint64_t n)
{
	uint64_t second = time > start ? (time - start) / NS_PER_SEC : 0;

	if (cpu >= 1u << CPU_BITS)
		cpu = 0;
	/* The sum saturates. */
	n = MIN(n, UINT64_MAX - il->sum);
	*u64map_put(&il->told, second << CPU_BITS | cpu, NULL) += n;
	il->sum += n;
}

static struct shares find_shares(const struct import_losses *il, const struct perfdata *pd)
{
	struct shares sh = { .n = 1 };
	bool dummy = false, counted = false;
	uint64_t more;

	for (size_t i = 0; i < pd->nattrs; i++)
		if (pd->attrs[i].taken)
			sh.n = MAX(sh.n, pd->attrs[i].event + 1);
	sh.each = xcalloc(sh.n, sizeof(*sh.each));
	sh.done = xcalloc(sh.n, sizeof(*sh.done));
	for (size_t i = 0; i < pd->nattrs; i++) {
		const struct perfdata_attr *a = &pd->attrs[i];

		sh.all = sum_of(sh.all, a->lost);
		if (a->taken) {
			sh.each[a->event] = sum_of(sh.each[a->event], a->lost);
			counted |= a->read_format & PERF_FORMAT_LOST;
		} else if (PERFDATA_IS_DUMMY(a)) {
			sh.side = sum_of(sh.side, a->lost);
			dummy = true;
		}
	}
	/*
	 * perf's side-band event still runs when its losses are read; the others are disabled by
	 * then.
	 */
	more = il->sum > sh.all ? il->sum - sh.all : 0;
	/* perf writes nothing for events without losses. */
	sh.counted = counted && !pd->cut && (sh.all || !more);
	if (dummy && sh.all)
		sh.side += more;
	else
		sh.each[0] += more;
	sh.all += more;
	return sh;
}

/* The part of @share that belongs to the first @done of @sum. */
static uint64_t part(uint64_t share, uint64_t done, uint64_t sum)
{
	return sum ? (uint64_t)((unsigned __int128)share * done / sum) : 0;
}

/* Counts what each event lost of the first @done records of @sum, and is not in the ledger yet. */
static void settle_samples(struct shares *sh, struct ledger *lg, uint32_t cpu, uint64_t time, uint64_t done, uint64_t sum)
{
	for (uint32_t e = 0; e < sh->n; e++) {
		const uint64_t upto = part(sh->each[e], done, sum);

		if (upto > sh->done[e])
			ledger_lost(lg, cpu, e, time, upto - sh->done[e]);
		sh->done[e] = MAX(sh->done[e], upto);
	}
}

void import_losses_settle(const struct import_losses *il, const struct perfdata *pd, struct ledger *lg,
			  uint64_t start, uint64_t stopped)
{
	struct shares sh = find_shares(il, pd);
	uint64_t *keys = xcalloc(il->told.n + 1, sizeof(*keys)), val, done = 0, side = 0;
	size_t n = 0, it = 0;

	while (u64map_next(&il->told, &it, &keys[n], &val))
		n++;
	sort_u64(keys, n);
	for (size_t i = 0; i < n; i++) {
		const uint64_t time = start + (keys[i] >> CPU_BITS) * NS_PER_SEC;
		const uint32_t cpu = keys[i] & ((1u << CPU_BITS) - 1);
		uint64_t upto;

		done += *u64map_get(&il->told, keys[i]);
		settle_samples(&sh, lg, cpu, time, done, sh.all);
		upto = part(sh.side, done, sh.all);
		ledger_lost_side(lg, cpu, time, upto - side);
		side = upto;
	}
	free(keys);
	lg->l.have_format_lost = sh.counted;
	/* These were lost after the last record that could report a loss; their CPU is unknown. */
	settle_samples(&sh, lg, 0, stopped, 1, 1);
	if (sh.side > side)
		ledger_lost_side(lg, 0, stopped, sh.side - side);
	free(sh.each);
	free(sh.done);
}

void import_losses_fini(struct import_losses *il)
{
	u64map_fini(&il->told);
}
