/* Leading frames (leading_frames.h). */
#include "replay/leading_frames.h"

#include <string.h>

#include "base/escape.h"
#include "base/event_pick.h"
#include "base/intern.h"
#include "base/threadname.h"
#include "host/cgroup_path.h"
#include "profile/folded_frame.h"
#include "replay/runtime_helpers.h"

#define CONTAINER_ID_SHOWN 12	/* as docker ps shows it */

bool leading_container(const char *cgroup, struct strbuf *out)
{
	const char *id = cgroup_path_id(cgroup), *outer = cgroup_path_outer_id(cgroup);

	strbuf_reset(out);
	/* A container can give any id to a cgroup in it. */
	if (outer != id && strncmp(outer, id, CONTAINER_ID_SHOWN)) {
		strbuf_add(out, outer, CONTAINER_ID_SHOWN);
		strbuf_addc(out, '/');
	}
	if (id)
		strbuf_add(out, id, CONTAINER_ID_SHOWN);
	else if (!cgroup[0])
		strbuf_adds(out, "[no cgroup]");
	else
		strbuf_adds(out, strcmp(cgroup, "/") ? cgroup : "host");
	return id;
}

void leading_sample_container(const struct replay_sample *s, struct strbuf *out)
{
	if (!s->container[0]) {
		leading_container(s->cgroup, out);
		return;
	}
	strbuf_reset(out);
	strbuf_adds(out, s->container);
}

/*
 * A name that a process has from its program ("python3" of python3.11) does not end in a thread
 * number.
 */
static bool is_programs(const struct replay_sample *s)
{
	const char *slash = strrchr(s->img->exe, '/');

	return slash && !strncmp(slash + 1, s->comm, strlen(s->comm));
}

/* The thread's name, not clean, "" if it has none. True if its number was removed. */
static bool shown_comm(const struct lead *lead, const struct replay_sample *s, struct strbuf *out)
{
	if (lead->merge_threads && !is_programs(s) && threadname_merge(s->comm, out))
		return true;
	strbuf_reset(out);
	strbuf_adds(out, s->comm);
	return false;
}

/* Sets @out to a name as a frame of folded text. */
static void folded_lead(struct strbuf *out, const char *name)
{
	struct strbuf text = STRBUF_INIT;

	escape_name(&text, name);
	strbuf_reset(out);
	folded_add_name(out, text.s);
	strbuf_fini(&text);
}

void leading_frame(const struct lead *lead, enum lead_by by, const struct replay_sample *s, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT, comm = STRBUF_INIT;
	bool merged;

	if (by == LEAD_CONTAINER) {
		leading_sample_container(s, &text);
	} else {
		merged = shown_comm(lead, s, &comm);
		lead_thread_text(by, comm.s, s->ev->pid, s->ev->tid, merged, &text);
	}
	folded_lead(out, text.s);
	strbuf_fini(&text);
	strbuf_fini(&comm);
}

void leading_process(const struct image *img, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	lead_thread_text(LEAD_PROCESS, img->comm, img->pid, 0, false, &text);
	folded_lead(out, text.s);
	strbuf_fini(&text);
}

void leading_field(const struct lead *lead, const char *fields, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	/* It is text already. */
	lead_field_text(lead, fields, &text);
	strbuf_reset(out);
	folded_add_name(out, text.s);
	strbuf_fini(&text);
}

void leading_event(const struct ev_event *ev, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	if (ev)
		event_label_text(&(struct event_label){ ev->name, ev->modifier }, &text);
	folded_lead(out, text.len ? text.s : LEADING_NO_EVENT);
	strbuf_fini(&text);
}

/* Only in known containers: elsewhere, a runtime's processes are not helpers. */
bool leading_is_helper(const struct replay_sample *s)
{
	struct strbuf name = STRBUF_INIT;
	bool inside = leading_container(s->cgroup, &name);

	strbuf_fini(&name);
	return (inside || s->container[0]) && runtime_is_helper(s->img);
}

static uint32_t clean_id(struct intern *texts, const char *s)
{
	struct strbuf out = STRBUF_INIT;
	uint32_t id = 0;

	if (*s) {
		escape_name(&out, s);
		id = intern_add(texts, out.s);
	}
	strbuf_fini(&out);
	return id;
}

void leading_thread(const struct lead *lead, const struct replay_sample *s, struct intern *texts,
		 struct profile_thread *out)
{
	const struct image *img = s->img;
	struct strbuf text = STRBUF_INIT;
	bool merged;

	leading_sample_container(s, &text);
	out->container = clean_id(texts, text.s);
	merged = shown_comm(lead, s, &text);
	out->comm = clean_id(texts, text.s);
	out->cgroup = clean_id(texts, s->cgroup);
	out->process = img->index;
	out->pid = (int32_t)s->ev->pid;
	out->tid = merged ? PROFILE_TID_MERGED : (int32_t)s->ev->tid;
	out->nspid = img->nspid_n ? (int32_t)img->nspid[img->nspid_n - 1] : -1;
	out->fields = 0;
	out->helper = leading_is_helper(s);
	strbuf_fini(&text);
}

uint32_t leading_process_text(const struct image *img, struct intern *texts)
{
	return clean_id(texts, img->comm);
}
