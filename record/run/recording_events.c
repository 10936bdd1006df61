#include "run/recording_events.h"

void recording_events_describe(const struct events *ev, size_t i, uint64_t time, struct ev_event *out)
{
	const struct rec_event *e = &ev->v[i];
	const struct evsel *sel = &e->sel;

	const struct stack_terms *first = &ev->v[0].stacks, *own = &e->stacks;

	*out = (struct ev_event){
		.time = time,
		.index = (uint32_t)i,
		.role = e->member ? ROLE_MEMBER : sel->waits ? ROLE_WAITS : ROLE_SAMPLES,
		.leader = sel->leader,
		.type = sel->type,
		.config = sel->config,
		.config1 = sel->config1,
		.config2 = sel->config2,
		.freq = e->period || e->member ? 0 : e->freq,
		.period = e->now,
		.name = sel->name,
		.modifier = evsel_modifier(sel),
		.unit = e->weighed ? "ns" : sel->unit ? sel->unit : "",
		.filter = sel->filter ? sel->filter : "",
		.fields = e->fields ? e->fields : "",
	};
	/* The settings describe the first event. */
	if (own->callgraph == first->callgraph && own->dump_size == first->dump_size && own->max_stack == first->max_stack)
		return;
	out->callgraph = own->callgraph;
	out->dump_size = own->dump_size;
	out->max_stack = own->max_stack;
}

int recording_events_write(struct rec_writer *w, const struct events *ev, uint64_t time)
{
	int err = 0;

	for (size_t i = 0; i < ev->n && events_listed(ev) && !err; i++) {
		struct ev_event e;

		recording_events_describe(ev, i, time, &e);
		err = rec_writer_event(w, &e);
	}
	return err;
}
