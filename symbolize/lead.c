/* Leading frames (lead.h). */
#include "lead.h"

#include <errno.h>
#include <string.h>

#include "clean.h"
#include "util.h"

#define CONTAINER_ID_LEN 64	/* hexadecimal digits of a sha256 */
#define CONTAINER_ID_SHOWN 12	/* as docker ps shows it */

static const char *const by_names[] = {
	[LEAD_COMM] = "comm",
	[LEAD_PROCESS] = "process",
	[LEAD_THREAD] = "thread",
	[LEAD_CONTAINER] = "container",
	[LEAD_NONE] = "none",
};

int lead_parse(const char *text, enum lead_by *out)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(by_names); i++) {
		if (strcmp(text, by_names[i]) == 0) {
			*out = (enum lead_by)i;
			return 0;
		}
	}
	return -EINVAL;
}

void lead_container(const char *cgroup, struct strbuf *out)
{
	static const char hex[] = "0123456789abcdef";
	const char *p = cgroup, *id = NULL;

	strbuf_reset(out);
	while (*p) {
		size_t run = strspn(p, hex);

		if (run == CONTAINER_ID_LEN)
			id = p;
		p += run ? run : 1;
	}
	if (id)
		strbuf_add(out, id, CONTAINER_ID_SHOWN);
	else if (!cgroup[0])
		strbuf_adds(out, "[no cgroup]");
	else
		strbuf_adds(out, strcmp(cgroup, "/") ? cgroup : "host");
}

void lead_sample_container(const struct replay_sample *s, struct strbuf *out)
{
	if (!s->container[0]) {
		lead_container(s->cgroup, out);
		return;
	}
	strbuf_reset(out);
	strbuf_adds(out, s->container);
}

size_t lead_frames(enum lead_by by, const struct replay_sample *s, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;
	size_t n = 0;

	if (by == LEAD_NONE)
		return 0;
	if (by == LEAD_CONTAINER) {
		lead_sample_container(s, &text);
		clean_frame(&out[n++], text.s, text.len);
		strbuf_reset(&text);
	}
	/* A process without a name still wants a frame that says which it is. */
	strbuf_adds(&text, s->comm[0] ? s->comm : "[no_name]");
	if (by == LEAD_PROCESS)
		strbuf_addf(&text, "-%u", s->ev->pid);
	else if (by == LEAD_THREAD)
		strbuf_addf(&text, "-%u/%u", s->ev->pid, s->ev->tid);
	clean_frame(&out[n++], text.s, text.len);
	strbuf_fini(&text);
	return n;
}
