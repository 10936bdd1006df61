/* The default unwinder: call frame information compiled to rules (rules.h). */
#include <stdlib.h>

#include "base/xalloc.h"
#include "unwind/rules.h"
#include "unwind/rules_step.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

struct cached {
	struct walker walker;	/* must be first: walk_join_holds() */
	struct rules *rules;
};

static enum step_end cached_step(void *priv, struct walk_at *at, struct uregs *regs)
{
	struct cached *c = priv;

	return rules_step(c->rules, at, regs);
}

static void *cached_create(void)
{
	struct cached *c = xcalloc(1, sizeof(*c));

	c->rules = rules_new(RULES_CFI);
	walker_init(&c->walker, cached_step, c);
	c->walker.rules = c->rules;
	return c;
}

static void cached_destroy(void *priv)
{
	struct cached *c = priv;

	walker_fini(&c->walker);
	rules_free(c->rules);
	free(c);
}

static void cached_unwind(void *priv, const struct unwind_input *in, struct unwind_result *out)
{
	struct cached *c = priv;

	walk_stack(&c->walker, in, out);
}

static void cached_forget(void *priv, uint32_t tid)
{
	struct cached *c = priv;

	walk_forget(&c->walker, tid);
}

const struct unwinder_ops unwind_cached = {
	.name = "cached",
	.threads = true,
	.create = cached_create,
	.destroy = cached_destroy,
	.unwind = cached_unwind,
	.forget = cached_forget,
	.join_holds = walk_join_holds,
};
