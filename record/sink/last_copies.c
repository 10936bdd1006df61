#include "sink/last_copies.h"

#include <stdlib.h>

#include "base/util.h"
#include "base/xalloc.h"

/*
 * By thread, modulo. If more threads wait on a CPU at a time, their next samples come too late
 * anyway.
 */
#define RECENTS 16u

struct last_copies {
	struct last_copy slot[RECENTS];
	struct stack_words *words[RECENTS];	/* owned; of slots that were in use */
	struct stack_words *room;		/* owned */
};

struct last_copies *last_copies_new(void)
{
	struct last_copies *rs = xcalloc(1, sizeof(*rs));

	rs->room = xmalloc(sizeof(*rs->room));
	return rs;
}

void last_copies_free(struct last_copies *rs)
{
	if (!rs)
		return;
	for (size_t i = 0; i < RECENTS; i++)
		free(rs->words[i]);
	free(rs->room);
	free(rs);
}

const struct last_copy *last_copies_find(const struct last_copies *rs, uint64_t who, const struct maskset *ms)
{
	const struct last_copy *r = &rs->slot[who % RECENTS];

	if (r->who != who || !ms->version || r->version != ms->version || r->top != ms->top || ms->nstacks ||
	    r->ring->released > r->pos)
		return NULL;
	return r;
}

struct stack_words *last_copies_room(struct last_copies *rs)
{
	return rs->room;
}

void last_copies_put(struct last_copies *rs, const struct last_copy *now)
{
	const size_t at = now->who % RECENTS;
	struct stack_words *words = rs->room;

	rs->slot[at] = *now;
	rs->slot[at].last.words = words;
	if (!now->ring || !now->version)
		rs->slot[at].who = 0;
	rs->room = rs->words[at] ? rs->words[at] : xmalloc(sizeof(*words));
	rs->words[at] = words;
}

void last_copies_forget(struct last_copies *rs)
{
	for (size_t i = 0; i < RECENTS; i++)
		rs->slot[i].who = 0;
}
