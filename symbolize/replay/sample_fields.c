#include "replay/sample_fields.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "trace/tp_text.h"

/* The records of one event. */
struct event_fields {
	bool parsed, known;
	struct tp_format format;	/* of @known */
};

struct sample_fields {
	const struct rec_events *events;	/* borrowed, as @names */
	const char *names;
	struct event_fields *v;	/* owned; for each event */
};

struct sample_fields *sample_fields_new(const struct rec_events *events, const char *names)
{
	struct sample_fields *sf = xcalloc(1, sizeof(*sf));

	sf->events = events;
	sf->names = names;
	sf->v = xcalloc(events->table.n, sizeof(*sf->v));
	return sf;
}

void sample_fields_free(struct sample_fields *sf)
{
	if (!sf)
		return;
	for (uint32_t i = 0; i < sf->events->table.n; i++)
		tp_format_fini(&sf->v[i].format);
	free(sf->v);
	free(sf);
}

const struct tp_format *sample_fields_format(struct sample_fields *sf, uint32_t at)
{
	struct event_fields *ef = &sf->v[at];
	const char *text = sf->events->table.ev[at].fields;

	if (!ef->parsed) {
		ef->parsed = true;
		ef->known = *text && !tp_format_parse(&ef->format, text, strlen(text));
	}
	return ef->known ? &ef->format : NULL;
}

void sample_fields_text(struct sample_fields *sf, const struct ev_sample *ev, struct strbuf *out)
{
	const struct tp_format *f;
	const size_t begin = out->len;

	if (!ev->payload_len || ev->event >= sf->events->table.n)
		return;
	f = sample_fields_format(sf, ev->event);
	for (const char *name = sf->names; f && *name;) {
		const size_t len = strcspn(name, ",");
		const struct tp_field *fd = tp_format_find(f, name, len);

		if (fd) {
			strbuf_addf(out, "%s%s=", out->len > begin ? " " : "", fd->name);
			tp_value_text(fd, ev->payload, ev->payload_len, out);
		}
		name += len + (name[len] == ',');
	}
}

uint32_t sample_fields_event(const struct rec_events *events, const char *names)
{
	struct sample_fields *sf = sample_fields_new(events, names);
	const size_t len = strcspn(names, ",");
	uint32_t found = 0;

	for (uint32_t i = events->table.n; i-- > 0;) {
		const struct tp_format *f = sample_fields_format(sf, i);

		found = f && tp_format_find(f, names, len) ? i : found;
	}
	sample_fields_free(sf);
	return found;
}

static void list_fields(struct sample_fields *sf, struct strbuf *out)
{
	for (uint32_t i = 0; i < sf->events->table.n; i++) {
		const struct tp_format *f = sample_fields_format(sf, i);
		bool first = true;

		for (size_t k = 0; f && k < f->n; k++) {
			if (f->v[k].common)
				continue;
			if (first)
				strbuf_addf(out, "%s%s has ", out->len ? "; " : "", sf->events->table.ev[i].name);
			strbuf_addf(out, "%s%s", first ? "" : ", ", f->v[k].name);
			first = false;
		}
	}
}

int sample_fields_check(const struct rec_events *events, const char *names, const char *shown)
{
	struct sample_fields *sf = sample_fields_new(events, names);
	struct strbuf have = STRBUF_INIT;
	int err = 0;

	for (const char *name = names; *name && !err;) {
		const size_t len = strcspn(name, ",");
		bool found = false;

		for (uint32_t i = 0; i < events->table.n && !found; i++) {
			const struct tp_format *f = sample_fields_format(sf, i);

			found = f && tp_format_find(f, name, len);
		}
		if (!found) {
			list_fields(sf, &have);
			pr_err("no event of %s keeps a field '%.*s'%s%s", shown, (int)len, name, have.len ? ": " : "; nsprof record --fields keeps them",
			       have.len ? have.s : "");
			err = -ENOENT;
		}
		name += len + (name[len] == ',');
	}
	strbuf_fini(&have);
	sample_fields_free(sf);
	return err;
}
