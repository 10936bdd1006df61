/*
 * Blocks of a recording below their checksums: side-band events, ledger and tables. The first byte
 * chooses which.
 */
#include "../fuzz.h"
#include "recording/event_codec.h"
#include "recording/ledger_codec.h"
#include "recording/rec_table.h"

static int dso(void *ctx, const struct ev_dso *e) { (void)ctx; fuzz_read(e->build_id, e->build_id_len); fuzz_read_text(e->path); return 0; }
static int proc(void *ctx, const struct ev_proc *e)
{
	(void)ctx;
	fuzz_read(e->nspid, e->nspid_n * sizeof(*e->nspid));
	fuzz_read_text(e->comm);
	fuzz_read_text(e->exe);
	fuzz_read_text(e->root);
	fuzz_read_text(e->cgroup);
	return 0;
}
static int map(void *ctx, const struct ev_mmap *e) { (void)ctx; fuzz_read_text(e->path); return 0; }
static int comm(void *ctx, const struct ev_comm *e) { (void)ctx; fuzz_read_text(e->comm); return 0; }
static int cgroup(void *ctx, const struct ev_cgroup *e) { (void)ctx; fuzz_read_text(e->path); return 0; }
static int ksymbol(void *ctx, const struct ev_ksymbol *e) { (void)ctx; fuzz_read_text(e->name); return 0; }

static int event(void *ctx, const struct ev_event *e)
{
	(void)ctx;
	fuzz_read_text(e->name);
	fuzz_read_text(e->modifier);
	fuzz_read_text(e->unit);
	fuzz_read_text(e->filter);
	fuzz_read_text(e->fields);
	return 0;
}

static int container(void *ctx, const struct ev_container *e)
{
	(void)ctx;
	fuzz_read_text(e->name);
	fuzz_read_text(e->image);
	fuzz_read_text(e->pod);
	return 0;
}

static int budget(void *ctx, const struct ev_budget *e) { (void)ctx; fuzz_read_text(e->cgroup); return 0; }
static int wakeup(void *ctx, const struct ev_wakeup *e) { (void)ctx; fuzz_read(e, sizeof(*e)); return 0; }
static int schedstat(void *ctx, const struct ev_schedstat *e) { (void)ctx; fuzz_read(e, sizeof(*e)); return 0; }
static int toggle(void *ctx, const struct ev_toggle *e) { (void)ctx; fuzz_read(e, sizeof(*e)); return 0; }

static const struct event_ops ops = {
	.dso = dso, .proc = proc, .mmap = map, .comm = comm, .cgroup = cgroup, .ksymbol = ksymbol, .event = event,
	.container = container, .budget = budget, .wakeup = wakeup, .schedstat = schedstat, .toggle = toggle,
};

static void events(const uint8_t *data, size_t size)
{
	struct cursor c;
	uint64_t time = 0;
	int ret;

	cursor_init(&c, data, size);
	while (!event_dec_next(&c, &time, &ops, NULL, &ret))
		;
}

static void table(const uint8_t *data, size_t size)
{
	struct rec_table t;

	if (rec_table_open(&t, data, size))
		return;
	while (rec_table_next(&t) == 1) {
		struct ev_tally tally;
		struct ev_counts counts;

		tally_dec(t.row, &tally);
		counts_dec(t.row, &counts);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size };
	uint8_t what = feed_u8(&f) % 3, *bytes = fuzz_copy(f.p, f.left);
	struct ev_ledger ledger;

	if (what == 0)
		events(bytes, f.left);
	else if (what == 1)
		table(bytes, f.left);
	else
		ledger_dec(bytes, f.left, &ledger);
	free(bytes);
	return 0;
}
