/*
 * Deferred callchains: "perf record --call-graph fp,defer" on Linux 6.19 and later. The kernel
 * walks the user part of a stack only when the thread returns to user space. The chain of a sample
 * ends with PERF_CONTEXT_USER_DEFERRED and a cookie. A later record contains the cookie and the
 * addresses (get_perf_callchain() in kernel/events/callchain.c, perf_unwind_deferred_callback() in
 * kernel/events/core.c). Stacks repeat, so each one is stored once.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "import/perfdata.h"

#define FRAMES_MAX 8192u	/* of one record, which has at most 64 KiB */
#define WORDS_MAX ((size_t)64 << 20)	/* of all different stacks: 512 MiB */

struct perfdata_deferred {
	/* cookie -> index in @words + 1: there, the number of entries and the entries */
	struct u64map at;
	struct u64map same;	/* hash of a stack -> the same */
	uint64_t *words;	/* owned */
	size_t n, cap;
};

static uint64_t add_stack(struct perfdata_deferred *d, const uint64_t *ips, size_t n)
{
	bool is_new = false;
	uint64_t *slot = u64map_put(&d->same, hash_bytes(ips, n * sizeof(*ips)), &is_new);

	if (!is_new && d->words[*slot - 1] == n && !memcmp(&d->words[*slot], ips, n * sizeof(*ips)))
		return *slot;
	if (d->n + n + 1 > WORDS_MAX)
		return 0;
	while (d->n + n + 1 > d->cap) {
		d->cap = d->cap ? 2 * d->cap : 4096;
		d->words = xrealloc(d->words, d->cap * sizeof(*d->words));
	}
	*slot = d->n + 1;
	d->words[d->n++] = n;
	memcpy(&d->words[d->n], ips, n * sizeof(*ips));
	d->n += n;
	return *slot;
}

void perfdata_deferred_note(struct perfdata *pd, const struct perfdata_record *r)
{
	struct perfdata_cursor c = { .p = r->body, .end = r->body + r->len, .swap = pd->swap };
	uint64_t cookie = perfdata_u64(&c), n = perfdata_u64(&c), ips[FRAMES_MAX], *slot, at;
	bool is_new = false;

	if (c.bad || n > FRAMES_MAX || n * 8 > (uint64_t)(c.end - c.p)) {
		perfdata_bad(pd, r);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		ips[i] = perfdata_u64(&c);
	if (!pd->deferred)
		pd->deferred = xcalloc(1, sizeof(*pd->deferred));
	/* Several events may have written the record. */
	slot = u64map_put(&pd->deferred->at, cookie, &is_new);
	if (!is_new)
		return;
	*slot = 0;
	at = add_stack(pd->deferred, ips, n);
	if (at)
		*slot = at;
	else
		u64map_del(&pd->deferred->at, cookie);
}

const uint64_t *perfdata_deferred_find(const struct perfdata *pd, uint64_t cookie, size_t *n)
{
	const struct perfdata_deferred *d = pd->deferred;
	const uint64_t *slot = d ? u64map_get(&d->at, cookie) : NULL;

	if (!slot)
		return NULL;
	*n = d->words[*slot - 1];
	return &d->words[*slot];
}

bool perfdata_deferred_waits(const struct perfdata *pd, const struct perfdata_record *r)
{
	uint64_t cookie;
	size_t n;

	return r->type == PERF_RECORD_SAMPLE && r->attr && r->attr->flags & PERFDATA_DEFER_CALLCHAIN &&
	       perfdata_cookie(pd, r, &cookie) && !perfdata_deferred_find(pd, cookie, &n);
}

void perfdata_deferred_free(struct perfdata_deferred *d)
{
	if (!d)
		return;
	u64map_fini(&d->at);
	u64map_fini(&d->same);
	free(d->words);
	free(d);
}
