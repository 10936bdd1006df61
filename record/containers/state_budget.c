/* Limits for what is read of users' runtimes (state_budget.h). */
#include "containers/state_budget.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

#define ROOT_UID 0
#define LISTED 3	/* users in one message */

static _Thread_local struct state_budget *current;

void state_budgets_reset(struct state_budgets *bs)
{
	bs->n = 0;
	u64map_clear(&bs->by_uid);
}

void state_budgets_fini(struct state_budgets *bs)
{
	free(bs->v);
	u64map_fini(&bs->by_uid);
	*bs = (struct state_budgets){ 0 };
}

struct state_budget *state_budgets_of(struct state_budgets *bs, uint32_t uid)
{
	uint64_t *slot;
	bool is_new;

	if (uid == ROOT_UID)
		return NULL;
	slot = u64map_put(&bs->by_uid, uid, &is_new);
	if (is_new) {
		*slot = bs->n;
		XGROW(bs->v, bs->n, bs->cap);
		bs->v[bs->n++] = (struct state_budget){ uid, STATE_BUDGET_FILES, STATE_BUDGET_BYTES, STATE_BUDGET_MEMORY, 0 };
	}
	return &bs->v[*slot];
}

void state_budgets_text(const struct state_budgets *bs, struct strbuf *sb)
{
	uint64_t left_out = 0;
	size_t users = 0;

	for (size_t i = 0; i < bs->n; i++) {
		if (!bs->v[i].left_out)
			continue;
		left_out += bs->v[i].left_out;
		if (users++ < LISTED)
			strbuf_addf(sb, "%s%" PRIu32, users == 1 ? "container state of uid " : ", ", bs->v[i].uid);
	}
	if (!users)
		return;
	if (users > LISTED)
		strbuf_addf(sb, " and %zu more", users - LISTED);
	strbuf_addf(sb, " is only read in part, %" PRIu64 " file%s %s left out: at most %u files and %zu MiB are read per user",
		    left_out, plural(left_out), plural_of(left_out, "is", "are"), STATE_BUDGET_FILES, STATE_BUDGET_BYTES >> 20);
}

struct state_budget *state_budget_use(struct state_budget *b)
{
	struct state_budget *before = current;

	current = b;
	return before;
}

bool state_budget_file(void)
{
	if (!current)
		return true;
	if (!current->files) {
		current->left_out++;
		return false;
	}
	current->files--;
	return true;
}

size_t state_budget_bytes(size_t max)
{
	return current ? MIN(max, current->bytes) : max;
}

void state_budget_read(size_t bytes)
{
	if (current)
		current->bytes -= MIN(bytes, current->bytes);
}

void state_budget_leave_out(void)
{
	if (current)
		current->left_out++;
}

size_t *state_budget_memory(void)
{
	return current ? &current->memory : NULL;
}
