/* Frame pointers only: for programs built with them, and to measure what rows add. */
#include <stdlib.h>

#include "base/xalloc.h"
#include "unwind/unwind.h"
#include "unwind/walk.h"

static void *fp_create(void)
{
	struct walker *w = xmalloc(sizeof(*w));

	walker_init(w, NULL, NULL);
	return w;
}

static void fp_destroy(void *priv)
{
	walker_fini(priv);
	free(priv);
}

static void fp_unwind(void *priv, const struct unwind_input *in, struct unwind_result *out)
{
	walk_stack(priv, in, out);
}

static void fp_forget(void *priv, uint32_t tid)
{
	walk_forget(priv, tid);
}

const struct unwinder_ops unwind_fp = {
	.name = "fp",
	.threads = true,
	.create = fp_create,
	.destroy = fp_destroy,
	.unwind = fp_unwind,
	.forget = fp_forget,
	.join_holds = walk_join_holds,
};
