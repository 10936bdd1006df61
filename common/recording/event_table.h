/* The events of a recording, by index, with the texts that a callback only borrows. */
#ifndef NSPROF_EVENT_TABLE_H
#define NSPROF_EVENT_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "event.h"

#define EVENT_TABLE_BYTES (4u << 20)	/* texts of all events together */

struct event_table {		/* zeroed: empty */
	struct ev_event *ev;	/* owned, with their texts; by index */
	uint32_t n;
	size_t cap;
	size_t bytes;		/* of texts */
};

/*
 * Enter a copy of @ev, or replace the event of its index. 1, or 0 if the table already has the
 * same. -EINVAL: the index is not below SAMPLED_EVENTS_MAX, or leaves a gap; -E2BIG: the table would have
 * more than EVENT_TABLE_BYTES of text. Then it stays as it was.
 */
int event_table_put(struct event_table *t, const struct ev_event *ev);
void event_table_fini(struct event_table *t);

#endif
