/*
 * From the id that begins each sample to its event. Each event has one descriptor per CPU, cgroup or
 * thread, and each of these an id of its own. Inherited events have the id of the event that they
 * come from (primary_event_id() in kernel/events/core.c).
 */
#ifndef NSPROF_EVENT_IDS_H
#define NSPROF_EVENT_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

/* What is closed may still have records in the rings: its id stays for this long, ns. */
#define EVENT_IDS_LINGER_NS 2000000000ull

struct event_id_gone {
	uint64_t id, time;
};

struct event_ids {
	struct u64map map;
	struct event_id_gone *gone;	/* owned; in the order of time */
	size_t ngone, cap_gone;
};

/* What is known of an id. */
struct event_id {
	uint32_t event;		/* index in the list of events */
	/* ns of CLOCK_MONOTONIC, to 1.024 us: when it got its present period; 0: from the start */
	uint64_t since;
};

void event_ids_fini(struct event_ids *ids);
/* Adds @id, or changes what is known of it. */
void event_ids_put(struct event_ids *ids, uint64_t id, uint32_t event, uint64_t since);
/* False if it is not known. */
bool event_ids_find(const struct event_ids *ids, uint64_t id, struct event_id *found);
/* @id was closed at @now (ns). Forgets what was closed long before. */
void event_ids_drop(struct event_ids *ids, uint64_t id, uint64_t now);

#endif
