/*
 * A recording from its bytes to folded text: replay, unwinding by rows of its slices and jitdumps,
 * names. No files of this machine are used. The last byte chooses the unwinder.
 */
#include "../mend.h"
#include "cli/maxstack.h"
#include "cmd/stack_pass.h"
#include "modules/module.h"
#include "naming/naming.h"
#include "output/to_folded.h"
#include "recording/rec_events.h"
#include "recording/rec_reader.h"
#include "unwind/unwind.h"

static void show(struct stack_pass *p)
{
	const struct naming_opts opts = { .inlines = true, .annotate = true, .demangle = true, .srcline = true };
	FILE *to = fopen("/dev/null", "we");
	struct stacktree tree;
	struct naming nm;

	naming_run(&nm, &opts, p->rp, &p->col.locs, p->col.texts);
	tree = p->col.tree;
	tree.nodes = collect_weigh_by_event(&p->col);
	fold_write(to, &tree, &nm, FOLD_SAMPLES);
	free(tree.nodes);
	naming_fini(&nm);
	fclose(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct unwinder_ops *const unwinders[] = { &unwind_cached, &unwind_cached, &unwind_fp, &unwind_libunwind };
	struct collect_opts opts = {
		.max_stack = MAXSTACK_DEFAULT, .lead = { .by = { LEAD_EVENT, LEAD_FIELD, LEAD_COMM }, .n = 3, .field = "common_pid" },
		.fields = "common_pid,prev_comm", .event = REC_EVENTS_ALL, .block_ns = 1000000,
	};
	struct rec_events events = { 0 };
	uint8_t *copy = fuzz_copy(data, size);
	struct stack_pass p = { 0 };
	struct rec_reader *r;
	char path[32];
	int fd;

	/* A folder without anything in it. */
	modules_use_root("/proc/self/fdinfo");
	mend(copy, size);
	opts.unwinder = unwinders[size ? data[size - 1] % ARRAY_SIZE(unwinders) : 0];
	fd = fuzz_file(copy, size, path);
	r = rec_reader_open(path);
	if (r) {
		p.inlines = true;
		rec_events_read(&events, r);
		opts.events = &events;
		stack_pass_run(&p, &opts, r);
		show(&p);
		stack_pass_fini(&p);
		rec_events_fini(&events);
		rec_reader_close(r);
	}
	close(fd);
	free(copy);
	return 0;
}
