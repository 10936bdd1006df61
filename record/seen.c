#include "seen.h"

#include <stdlib.h>

#include "hash.h"
#include "xalloc.h"

struct seen *seen_new(void)
{
	struct seen *s = xcalloc(1, sizeof(*s));

	/* Generation 0 is never in use: an empty slot belongs to nobody. */
	seen_forget_all(s);
	return s;
}

void seen_free(struct seen *s)
{
	free(s);
}

bool seen_new_addr(struct seen *s, uint32_t pid, uint64_t addr)
{
	uint64_t owner = (uint64_t)pid << 32 | s->gen[pid % SEEN_PIDS];
	size_t i = hash_u64(addr ^ owner) % SEEN_SLOTS;

	if (s->slot[i].addr == addr && s->slot[i].owner == owner)
		return false;
	s->slot[i].addr = addr;
	s->slot[i].owner = owner;
	return true;
}

void seen_forget(struct seen *s, uint32_t pid)
{
	s->gen[pid % SEEN_PIDS]++;
}

void seen_forget_all(struct seen *s)
{
	for (size_t i = 0; i < SEEN_PIDS; i++)
		s->gen[i]++;
}
