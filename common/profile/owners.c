#include "profile/owners.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/profile_bound.h"

#define TOLD_MAX 5	/* containers with a line of their own */

void owners_init(struct owners *o, const struct profile_thread *threads, uint32_t n)
{
	struct u64map seen = U64MAP_INIT;

	*o = (struct owners){ .of = xcalloc((size_t)n + 1, sizeof(*o->of)), .containers = xcalloc((size_t)n + 1, sizeof(*o->containers)) };
	for (uint32_t i = 0; i < n; i++) {
		bool is_new;
		uint64_t *at = u64map_put(&seen, threads[i].container, &is_new);

		if (is_new) {
			*at = o->n;
			o->containers[o->n++] = threads[i].container;
		}
		o->of[i] = (uint32_t)*at;
	}
	u64map_fini(&seen);
	o->cut = xcalloc((size_t)o->n + 1, sizeof(*o->cut));
}

void owners_fini(struct owners *o)
{
	free(o->of);
	free(o->containers);
	free(o->cut);
}

static int by_cut(const void *pa, const void *pb, void *ctx)
{
	const struct owners *o = ctx;
	const uint32_t a = *(const uint32_t *)pa, b = *(const uint32_t *)pb;

	if (o->cut[a] != o->cut[b])
		return o->cut[a] < o->cut[b] ? 1 : -1;
	return a < b ? -1 : a > b;
}

void owners_tell(const struct owners *o, const struct profile *p, const char *why, void (*line)(void *ctx, const char *text), void *ctx)
{
	uint32_t *list = xcalloc(o->n, sizeof(*list)), n = 0;
	struct strbuf sb = STRBUF_INIT;

	for (uint32_t i = 0; i < o->n; i++)
		if (o->cut[i])
			list[n++] = i;
	if (n)
		qsort_r(list, n, sizeof(*list), by_cut, (void *)o);
	for (uint32_t i = 0; i < MIN(n, (uint32_t)TOLD_MAX); i++) {
		const char *container = profile_text(p, o->containers[list[i]]);

		strbuf_reset(&sb);
		if (*container) {
			strbuf_adds(&sb, "container '");
			escape_text(&sb, container);
			strbuf_adds(&sb, "': ");
		}
		strbuf_addf(&sb, "%" PRIu64 " stack%s " BOUND_LEFT_OUT " in the middle, because all together are too %s", o->cut[list[i]],
			    plural_of(o->cut[list[i]], " has", "s have"), why);
		line(ctx, sb.s);
	}
	if (n > TOLD_MAX) {
		strbuf_reset(&sb);
		strbuf_addf(&sb, "%" PRIu32 " more containers have stacks that are cut in the same way", n - TOLD_MAX);
		line(ctx, sb.s);
	}
	strbuf_fini(&sb);
	free(list);
}
