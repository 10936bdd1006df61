#include "events/event_ids.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "event.h"

/* A value is the event, and above it the time in units of 1,024 ns: enough for centuries. */
#define EVENT_BITS 12
#define TIME_SHIFT 10
_Static_assert(SAMPLED_EVENTS_MAX <= 1u << EVENT_BITS, "an index fits");

void event_ids_fini(struct event_ids *ids)
{
	u64map_fini(&ids->map);
	free(ids->gone);
	*ids = (struct event_ids){ .map = U64MAP_INIT };
}

void event_ids_put(struct event_ids *ids, uint64_t id, uint32_t event, uint64_t since)
{
	*u64map_put(&ids->map, id, NULL) = since >> TIME_SHIFT << EVENT_BITS | event;
}

bool event_ids_find(const struct event_ids *ids, uint64_t id, struct event_id *found)
{
	const uint64_t *v = u64map_get(&ids->map, id);

	if (!v)
		return false;
	found->event = *v & ((1u << EVENT_BITS) - 1);
	found->since = *v >> EVENT_BITS << TIME_SHIFT;
	return true;
}

void event_ids_drop(struct event_ids *ids, uint64_t id, uint64_t now)
{
	size_t old = 0;

	while (old < ids->ngone && now - ids->gone[old].time > EVENT_IDS_LINGER_NS)
		u64map_del(&ids->map, ids->gone[old++].id);
	ids->ngone -= old;
	if (old)
		memmove(ids->gone, ids->gone + old, ids->ngone * sizeof(*ids->gone));
	XGROW(ids->gone, ids->ngone, ids->cap_gone);
	ids->gone[ids->ngone++] = (struct event_id_gone){ id, now };
}
