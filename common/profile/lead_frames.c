/* Leading frames: their kinds, and the text of those for threads (lead_frames.h). */
#include "profile/lead_frames.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"

#define FIELD "field:"

/* NULL: with more than a name. */
static const char *const by_names[] = {
	[LEAD_NONE] = "none",
	[LEAD_COMM] = "comm",
	[LEAD_PROCESS] = "process",
	[LEAD_THREAD] = "thread",
	[LEAD_CONTAINER] = "container",
	[LEAD_EVENT] = "event",
	[LEAD_STATE] = "state",
};

static const char *const state_texts[STATES] = {
	[STATE_RUNNING] = "[running]", [STATE_RUNNABLE] = "[runnable]", [STATE_BLOCKED] = "[blocked]", [STATE_THROTTLED] = "[throttled]",
};

const char *lead_state_text(enum lead_state state)
{
	return state_texts[state];
}

enum lead_state lead_state_find(const char *text)
{
	int i = 0;

	while (i < STATES && strcmp(state_texts[i], text) != 0)
		i++;
	return (enum lead_state)i;
}

int lead_parse_kind(const char *text, size_t len, enum lead_by *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_names); i++) {
		if (by_names[i] && strlen(by_names[i]) == len && !memcmp(text, by_names[i], len)) {
			*out = (enum lead_by)i;
			return 0;
		}
	}
	return -EINVAL;
}

int lead_parse(const char *text, struct lead *out)
{
	bool seen[LEAD_KINDS] = { false };
	bool several = strchr(text, ',');

	out->n = 0;
	for (;;) {
		size_t len = strcspn(text, ",");
		enum lead_by by = LEAD_FIELD;

		if (len > strlen(FIELD) && !strncmp(text, FIELD, strlen(FIELD)))
			out->field = text + strlen(FIELD);
		else if (lead_parse_kind(text, len, &by))
			return -EINVAL;
		/* The same kind twice is a mistake. */
		if (seen[by])
			return -EINVAL;
		seen[by] = true;
		if (by != LEAD_NONE)
			out->by[out->n++] = by;
		if (!text[len])
			break;
		text += len + 1;
	}
	if (!several && (seen[LEAD_CONTAINER] || seen[LEAD_EVENT] || seen[LEAD_FIELD]))
		out->by[out->n++] = LEAD_COMM;
	return 0;
}

bool lead_has(const struct lead *lead, enum lead_by by)
{
	for (uint32_t i = 0; i < lead->n; i++)
		if (lead->by[i] == by)
			return true;
	return false;
}

bool lead_field_value(const char *fields, const char *name, size_t len, struct strbuf *out)
{
	while (*fields) {
		const size_t n = strcspn(fields, " ");

		if (n > len && fields[len] == '=' && !strncmp(fields, name, len)) {
			strbuf_add(out, fields + len + 1, n - len - 1);
			return true;
		}
		fields += n + (fields[n] == ' ');
	}
	return false;
}

void lead_field_text(const struct lead *lead, const char *fields, struct strbuf *out)
{
	const size_t len = strcspn(lead->field, ",");

	strbuf_add(out, lead->field, len);
	strbuf_addc(out, '=');
	/* Samples of other events, and records that are too short. */
	if (!lead_field_value(fields, lead->field, len, out))
		strbuf_adds(out, "[none]");
}

void lead_thread_text(enum lead_by by, const char *comm, uint32_t pid, uint32_t tid, bool merged, struct strbuf *out)
{
	/* A nameless process still needs a frame that identifies it. */
	strbuf_adds(out, comm && comm[0] ? comm : "[no_name]");
	if (by != LEAD_COMM)
		strbuf_addf(out, "-%u", pid);
	if (by == LEAD_THREAD && merged)
		strbuf_adds(out, "/N");
	else if (by == LEAD_THREAD)
		strbuf_addf(out, "/%u", tid);
}
