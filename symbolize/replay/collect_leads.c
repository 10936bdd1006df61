/* What leads the stacks of a thread, and what their ends are counted in (collect_priv.h). */
#include "replay/collect_priv.h"

#include <inttypes.h>
#include <string.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "recording/rec_events.h"
#include "replay/collect.h"
#include "replay/sample_fields.h"
#include "replay/sample_filter.h"

uint32_t collect_text(struct collect *c, const char *text)
{
	struct location loc = { .kind = LOC_TEXT, .owner = intern_add(c->texts, text) };

	return locations_id(&c->locs, &loc);
}

/* The address tells it from a thread of that name, and says which event it is. */
static uint32_t event_location(struct collect *c, uint32_t event)
{
	struct location loc = { .kind = LOC_TEXT, .addr = (uint64_t)event + 1 };

	leading_event(c->opts.events ? &c->opts.events->table.ev[event] : NULL, &c->lead);
	loc.owner = intern_add(c->texts, c->lead.s);
	return locations_id(&c->locs, &loc);
}

static uint32_t lead_location(struct collect *c, enum lead_by by, const struct replay_sample *s)
{
	const struct location process = { .kind = LOC_PROCESS, .owner = s->img->index };

	if (by == LEAD_PROCESS)
		return locations_id(&c->locs, &process);
	if (by == LEAD_EVENT)
		return event_location(c, s->ev->event);
	if (by == LEAD_STATE)
		return c->events[s->ev->event].states ? c->state_mark : collect_text(c, lead_state_text(STATE_RUNNING));
	if (by == LEAD_FIELD)
		leading_field(&c->opts.lead, c->values.s ? c->values.s : "", &c->lead);
	else
		leading_frame(&c->opts.lead, by, s, &c->lead);
	return collect_text(c, c->lead.s);
}

/* Makes the node of a sample's leading frames. */
static uint32_t make_lead(struct collect *c, const struct replay_sample *s)
{
	const struct lead *lead = &c->opts.lead;
	uint32_t node = STACKTREE_ROOT;

	if (c->opts.split != LEAD_NONE)
		node = stacktree_child(&c->tree, node, lead_location(c, c->opts.split, s));
	for (uint32_t i = 0; i < lead->n; i++) {
		node = stacktree_child(&c->tree, node, lead_location(c, lead->by[i], s));
		if (lead->by[i] == LEAD_CONTAINER && leading_is_helper(s))
			node = stacktree_child(&c->tree, node, collect_text(c, LEADING_RUNTIME_HELPER));
	}
	return node;
}

struct lead_node *collect_lead(struct collect *c, const struct replay_sample *s)
{
	const uint64_t event = c->leads_event || c->leads_state ? s->ev->event : 0;
	bool is_new;
	uint64_t *slot = u64map_put(&c->threads, event << 32 | s->ev->tid, &is_new);
	struct lead_node *ln;

	if (is_new) {
		*slot = c->nleads;
		XGROW(c->leads, c->nleads, c->leads_cap);
		memset(&c->leads[c->nleads++], 0, sizeof(*c->leads));
	}
	ln = &c->leads[*slot];
	if (c->fields) {
		strbuf_reset(&c->values);
		strbuf_adds(&c->values, "");
		sample_fields_text(c->fields, s->ev, &c->values);
	}
	/* Values of fields change from sample to sample. */
	if (!c->fields && ln->img == s->img && ln->exe == s->img->exe && ln->comm == s->comm && ln->cgroup == s->cgroup &&
	    ln->container == s->container)
		return ln;
	*ln = (struct lead_node){
		.pid = s->ev->pid, .comm = s->comm, .cgroup = s->cgroup,
		.container = s->container, .exe = s->img->exe, .img = s->img,
		.misses = c->opts.filter ? filter_misses_thread(c->opts.filter, s) : FILTER_TIME,
	};
	if (ln->misses == FILTER_TIME)
		ln->node = make_lead(c, s);
	return ln;
}

uint32_t collect_thread(struct collect *c, const struct replay_sample *s, struct lead_node *ln)
{
	if (ln->process != s->img->comm) {
		struct profile_thread t;

		leading_thread(&c->opts.lead, s, c->texts, &t);
		t.fields = c->fields ? intern_add(c->texts, c->values.s) : 0;
		ln->thread = thread_times_thread(&c->spread, &t);
		ln->process = s->img->comm;
	}
	return ln->thread;
}

bool collect_incomplete(enum unwind_end end)
{
	return end != UNWIND_COMPLETE && end != UNWIND_JOINED && end != UNWIND_NO_USER;
}

bool collect_truncated(enum unwind_end end)
{
	return end == UNWIND_COPY_END || end == UNWIND_CUT;
}

void collect_note_end(struct collect *c, enum unwind_end end, uint32_t at, uint64_t samples)
{
	c->verdicts[end] += samples;
	if (collect_incomplete(end) && at)
		*u64map_put(&c->ended_in, (uint64_t)at << 8 | end, NULL) += samples;
}
