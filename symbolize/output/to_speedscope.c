#include "output/to_speedscope.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "bytes/json.h"
#include "profile/profile.h"

static void put_frames(struct json *j, const struct profile *p)
{
	json_begin_object(j, "shared");
	json_begin_array(j, "frames");
	for (uint32_t i = 1; i < p->nframes; i++) {
		const struct profile_frame *f = &p->frames[i];
		const char *line = profile_text(p, f->srcline), *colon = strrchr(line, ':');
		char *file = xstrndup(line, colon ? (size_t)(colon - line) : 0);

		json_begin_object(j, NULL);
		json_str(j, "name", profile_text(p, f->name));
		/*
		 * speedscope shows the file after the name: the source file, otherwise the binary.
		 */
		if (*file || f->dso)
			json_str(j, "file", *file ? file : profile_text(p, f->dso));
		if (colon)
			json_u64(j, "line", strtoull(colon + 1, NULL, 10));
		json_end_object(j);
		free(file);
	}
	json_end_array(j);
	json_end_object(j);
}

/* Fills @stack root first, as speedscope expects. */
static void put_stack(struct json *j, const struct profile *p, uint32_t node, uint32_t *stack)
{
	uint32_t n = 0;

	for (; node; node = p->nodes[node].parent)
		stack[n++] = p->nodes[node].frame - 1;
	json_begin_array(j, NULL);
	while (n)
		json_u64(j, NULL, stack[--n]);
	json_end_array(j);
}

/* Counts [@from, @to) belong to one event and thread. */
static void put_thread(struct json *j, const struct profile *p, bool period, size_t from, size_t to, uint32_t *stack)
{
	const struct profile_thread *t = &p->threads[p->counts[from].thread];
	struct strbuf name = STRBUF_INIT;
	const char *event = profile_meta(p, "event"), *unit = profile_meta(p, "event_unit");
	uint64_t sum = 0;

	if (p->nevents) {
		event = profile_text(p, p->events[p->counts[from].event].name);
		unit = profile_text(p, p->events[p->counts[from].event].unit);
		period = p->events[p->counts[from].event].by_period;
		profile_event_text(p, p->counts[from].event, &name);
		strbuf_adds(&name, ": ");
	}
	for (size_t i = from; i < to; i++)
		sum += profile_weight(&p->counts[i], period);
	strbuf_adds(&name, t->comm ? profile_text(p, t->comm) : "[no_name]");
	if (t->pid >= 0)
		strbuf_addf(&name, " %" PRId32 "/%" PRId32, t->pid, t->tid);
	if (t->container)
		strbuf_addf(&name, " (%s)", profile_text(p, t->container));
	json_begin_object(j, NULL);
	json_str(j, "type", "sampled");
	json_str(j, "name", name.s);
	json_str(j, "unit", period && event && profile_time_of(event, unit) ? "nanoseconds" : "none");
	json_u64(j, "startValue", 0);
	json_u64(j, "endValue", sum);
	json_begin_array(j, "samples");
	for (size_t i = from; i < to; i++)
		put_stack(j, p, p->counts[i].node, stack);
	json_end_array(j);
	json_begin_array(j, "weights");
	for (size_t i = from; i < to; i++)
		json_u64(j, NULL, profile_weight(&p->counts[i], period));
	json_end_array(j);
	json_end_object(j);
	strbuf_fini(&name);
}

void to_speedscope(FILE *to, const struct profile *p, bool period)
{
	uint32_t *stack = xcalloc(p->nnodes + 1, sizeof(*stack));
	const char *input = profile_meta(p, "input");
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	json_str(j, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_bytes(j, "name", input ? input : "nsprof");
	json_str(j, "exporter", "nsprof " NSPROF_VERSION);
	json_u64(j, "activeProfileIndex", 0);
	put_frames(j, p);
	json_begin_array(j, "profiles");
	for (size_t from = 0, i = 1; from < p->ncounts; from = i++) {
		while (i < p->ncounts && p->counts[i].thread == p->counts[from].thread && p->counts[i].event == p->counts[from].event)
			i++;
		put_thread(j, p, period, from, i, stack);
	}
	json_end_array(j);
	json_end_object(j);
	json_free(j);
	free(stack);
}
