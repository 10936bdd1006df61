/*
 * The formats of tracepoints in a perf.data: what perf copied from tracefs. The layout is that of
 * tools/perf/util/trace-event-info.c; numbers are in the file's byte order.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "import/perfdata.h"
#include "trace/tp_format.h"

/* More formats, systems and files than any kernel has. */
#define FORMATS_MAX (1u << 16)

/* A file of tracefs: its size, then its text. NULL: it is not whole. */
static const char *file(struct perfdata_cursor *c, uint64_t *len)
{
	*len = perfdata_u64(c);
	return (const char *)perfdata_bytes(c, *len);
}

/* The number behind "ID: " in the text of a format. False: there is none. */
static bool format_id(const char *text, uint64_t len, uint64_t *id)
{
	static const char key[] = "\nID: ";
	const char *at = memmem(text, len, key, strlen(key));
	char number[24] = "";

	if (!at)
		return false;
	at += strlen(key);
	memcpy(number, at, MIN((size_t)(text + len - at), sizeof(number) - 1));
	*id = strtoull(number, NULL, 10);
	return number[0] >= '0' && number[0] <= '9';
}

static void keep(struct perfdata *pd, const char *text, uint64_t len)
{
	struct strbuf lines = STRBUF_INIT;
	uint64_t id, *slot;
	bool is_new;

	if (!format_id(text, len, &id) || pd->formats.n >= FORMATS_MAX)
		return;
	slot = u64map_put(&pd->formats, id, &is_new);
	if (!is_new)
		return;
	tp_format_lines(text, len, &lines);
	*slot = (uintptr_t)(lines.s ? lines.s : xstrdup(""));
}

void perfdata_tracing(struct perfdata *pd, struct perfdata_cursor *c)
{
	static const uint8_t magic[] = { 23, 8, 68, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	const uint8_t *begin = perfdata_bytes(c, sizeof(magic));
	uint64_t len;
	uint32_t n;

	if (!begin || memcmp(begin, magic, sizeof(magic)) || !perfdata_cstr(c))
		return;
	perfdata_bytes(c, 1 + 1 + 4);		/* byte order, bytes of a long, page size */
	for (int i = 0; i < 2; i++) {		/* header_page, header_event */
		perfdata_cstr(c);
		file(c, &len);
	}
	n = perfdata_u32(c);			/* ftrace's own events */
	for (uint32_t i = 0; i < n && !c->bad; i++)
		file(c, &len);
	n = perfdata_u32(c);
	for (uint32_t i = 0; i < n && !c->bad; i++) {
		uint32_t events;

		perfdata_cstr(c);		/* "sched" */
		events = perfdata_u32(c);
		for (uint32_t k = 0; k < events && !c->bad; k++) {
			const char *text = file(c, &len);

			if (text)
				keep(pd, text, len);
		}
	}
}

const char *perfdata_format(const struct perfdata *pd, const struct perfdata_attr *a)
{
	const uint64_t *slot = a->type == PERF_TYPE_TRACEPOINT ? u64map_get(&pd->formats, a->config) : NULL;

	return slot ? (const char *)(uintptr_t)*slot : "";
}

void perfdata_free_formats(struct perfdata *pd)
{
	uint64_t id, text;

	for (size_t it = 0; u64map_next(&pd->formats, &it, &id, &text);)
		free((char *)(uintptr_t)text);
	u64map_fini(&pd->formats);
}
