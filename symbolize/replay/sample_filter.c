/* Conditions on samples (sample_filter.h). */
#include "replay/sample_filter.h"

#include "base/escape.h"
#include "replay/leading_frames.h"

const char *filter_text(enum filter_key key, const struct replay_sample *s, struct strbuf *buf)
{
	switch (key) {
	case FILTER_CONTAINER:
		leading_sample_container(s, buf);
		return buf->s;
	case FILTER_CGROUP:
		return s->cgroup;
	case FILTER_COMM:
		return s->comm;
	default:
		return NULL;
	}
}

uint64_t filter_number(const struct filter *f, enum filter_key key, const struct replay_sample *s)
{
	switch (key) {
	case FILTER_PID:
		return s->ev->pid;
	case FILTER_NSPID:
		return s->img->nspid_n ? s->img->nspid[s->img->nspid_n - 1] : 0;
	case FILTER_TID:
		return s->ev->tid;
	case FILTER_TIME:
		/*
		 * Samples that a ring already held when the recording began count as its very
		 * start.
		 */
		return s->ev->time > f->start ? s->ev->time - f->start : 0;
	default:
		return 0;
	}
}

/* Then the name of a condition may be copied from an output. */
static bool asks_for_escapes(const struct filter *f, enum filter_key key)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->conds[i].key == key && f->conds[i].shown)
			return true;
	return false;
}

bool filter_meets(const struct filter *f, enum filter_key key, const struct replay_sample *s)
{
	struct strbuf buf = STRBUF_INIT, shown = STRBUF_INIT;
	const char *text;
	bool meets;

	if (!f->has[key])
		return true;
	text = filter_text(key, s, &buf);
	meets = filter_accepts(f, key, text, filter_number(f, key, s));
	if (!meets && text && asks_for_escapes(f, key)) {
		escape_name(&shown, text);
		meets = filter_accepts(f, key, shown.s, 0);
		strbuf_fini(&shown);
	}
	strbuf_fini(&buf);
	return meets;
}

enum filter_key filter_misses_thread(const struct filter *f, const struct replay_sample *s)
{
	int k = 0;

	while (k < FILTER_TIME && filter_meets(f, (enum filter_key)k, s))
		k++;
	return (enum filter_key)k;
}
