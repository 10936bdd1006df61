#include "recording/event_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

#define TEXTS 5u

/* Where the texts of @ev are. */
static void texts_of(struct ev_event *ev, const char **at[TEXTS])
{
	at[0] = &ev->name;
	at[1] = &ev->modifier;
	at[2] = &ev->unit;
	at[3] = &ev->filter;
	at[4] = &ev->fields;
}

/* Missing texts become "". Returns the bytes of all texts. */
static size_t complete(struct ev_event *ev)
{
	const char **at[TEXTS];
	size_t sum = 0;

	texts_of(ev, at);
	for (uint32_t i = 0; i < TEXTS; i++) {
		if (!*at[i])
			*at[i] = "";
		sum += strlen(*at[i]) + 1;
	}
	return sum;
}

static bool same_texts(struct ev_event *a, struct ev_event *b)
{
	const char **at[TEXTS], **bt[TEXTS];

	texts_of(a, at);
	texts_of(b, bt);
	for (uint32_t i = 0; i < TEXTS; i++)
		if (strcmp(*at[i], *bt[i]) != 0)
			return false;
	return true;
}

static bool same(struct ev_event *a, struct ev_event *b)
{
	return a->time == b->time && a->role == b->role && a->leader == b->leader && a->type == b->type &&
	       a->config == b->config && a->config1 == b->config1 && a->config2 == b->config2 &&
	       a->freq == b->freq && a->period == b->period && a->callgraph == b->callgraph &&
	       a->dump_size == b->dump_size && a->max_stack == b->max_stack && same_texts(a, b);
}

/* All texts of @ev become copies in one piece of memory, of @bytes. The name is its beginning. */
static void own_texts(struct ev_event *ev, size_t bytes)
{
	char *to = xmalloc(bytes);
	const char **at[TEXTS];

	texts_of(ev, at);
	for (uint32_t i = 0; i < TEXTS; i++) {
		size_t n = strlen(*at[i]) + 1;

		memcpy(to, *at[i], n);
		*at[i] = to;
		to += n;
	}
}

static void free_texts(struct ev_event *ev)
{
	free((char *)(uintptr_t)ev->name);
}

int event_table_put(struct event_table *t, const struct ev_event *ev)
{
	struct ev_event now = *ev, *old = NULL;
	size_t bytes = complete(&now), gone = 0;

	if (now.index >= SAMPLED_EVENTS_MAX || now.index > t->n)
		return -EINVAL;
	if (now.index < t->n) {
		old = &t->ev[now.index];
		if (same(old, &now))
			return 0;
		gone = complete(old);
	}
	if (bytes > EVENT_TABLE_BYTES - (t->bytes - gone))
		return -E2BIG;
	own_texts(&now, bytes);
	if (old) {
		free_texts(old);
	} else {
		XGROW(t->ev, t->n, t->cap);
		old = &t->ev[t->n++];
	}
	*old = now;
	t->bytes += bytes - gone;
	return 1;
}

void event_table_fini(struct event_table *t)
{
	for (uint32_t i = 0; i < t->n; i++)
		free_texts(&t->ev[i]);
	free(t->ev);
	*t = (struct event_table){ 0 };
}
