/* Reads a recording into stacks (stack_pass.h). */
#include "cmd/stack_pass.h"

#include "base/log.h"
#include "base/util.h"
#include "cmd/parallel_pass.h"
#include "modules/module.h"
#include "replay/filtered_out.h"
#include "replay/replay.h"

static void begin(struct stack_pass *p, const struct collect_opts *opts)
{
	p->mods = modules_new();
	modules_use_cache(p->mods, p->cache);
	modules_work_ahead(p->mods, p->inlines);
	p->rp = replay_new(p->mods);
	collect_init(&p->col, p->rp, opts);
}

static void end(struct stack_pass *p)
{
	collect_fini(&p->col);
	replay_free(p->rp);
	modules_free(p->mods);
}

static int read_again(struct stack_pass *p, const struct collect_opts *opts, struct rec_reader *r)
{
	end(p);
	begin(p, opts);
	return parallel_pass_run(&p->col, r, p->mods, opts->each || opts->ordered);
}

int stack_pass_run(struct stack_pass *p, const struct collect_opts *opts, struct rec_reader *r)
{
	struct collect_opts again = *opts;
	struct u64map tids = U64MAP_INIT;
	int err;

	container_names_init(&p->names);
	begin(p, opts);
	err = parallel_pass_run(&p->col, r, p->mods, opts->each || opts->ordered);
	if (!err && p->col.late) {
		sample_cgroups_names(replay_cgroups(p->rp), &p->names);
		pr_verbose("some containers are named after their first samples: reading again with their names");
		again.names = &p->names;
		err = read_again(p, &again, r);
	}
	if (!err && p->col.selects && filtered_out_matters(&p->col.leftout, &tids)) {
		pr_verbose("some kept stacks are deeper than their copies: reading again with all stacks of %zu thread%s",
			   tids.n, plural(tids.n));
		again.walked = &tids;
		err = read_again(p, &again, r);
	}
	u64map_fini(&tids);
	modules_unwound(p->mods);
	return err;
}

void stack_pass_fini(struct stack_pass *p)
{
	end(p);
	container_names_fini(&p->names);
}
