#include "seen.h"

#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "util.h"
#include "xalloc.h"

struct seen *seen_new(void)
{
	return xcalloc(1, sizeof(struct seen));
}

void seen_free(struct seen *s)
{
	free(s);
}

uint32_t seen_owner(struct seen *s, uint32_t pid)
{
	struct seen_owner *o = &s->owner[pid % SEEN_PIDS];

	if (o->tag && o->pid == pid)
		return o->tag;
	/* No tag was ever somebody else's, or what that one saw would be taken for ours. */
	if (++s->last == SEEN_TAGS) {
		memset(s, 0, sizeof(*s));
		s->last = 1;
	}
	o->pid = pid;
	o->tag = s->last;
	return o->tag;
}

bool seen_new_addr(struct seen *s, uint32_t owner, uint64_t addr)
{
	const uint64_t key = addr << SEEN_TAG_BITS | owner;
	uint64_t *slot = &s->slot[hash_u64(key) % SEEN_SLOTS];

	/* The key does not tell it from others (five-level paging): to look it up is never wrong. */
	if ((uint64_t)((int64_t)(addr << SEEN_TAG_BITS) >> SEEN_TAG_BITS) != addr)
		return true;
	if (*slot == key)
		return false;
	*slot = key;
	return true;
}

void seen_forget(struct seen *s, uint32_t pid)
{
	struct seen_owner *o = &s->owner[pid % SEEN_PIDS];

	if (o->pid == pid)
		o->tag = 0;
}

void seen_forget_all(struct seen *s)
{
	for (size_t i = 0; i < SEEN_PIDS; i++)
		s->owner[i].tag = 0;
}
