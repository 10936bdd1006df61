/*
 * Reads /tmp/perf-PID.map. A JIT only appends, and it reuses addresses: a later line for an address
 * replaces an earlier one.
 */
#include "symbols/perfmap.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "jit/perfmap_line.h"
#include "base/ranges.h"

struct perfmap {
	char *text;		/* owned copy; the newlines of good lines are NULs */
	struct ranges ranges;	/* avma -> offset of the name in text */
	bool shared;
	const char *refused;	/* in text; NULL: not */
};

/* @line has no newline: the byte there is overwritten if the name ends there. */
static void add_line(struct perfmap *pm, char *line, size_t len)
{
	struct perfmap_line l;

	if (!perfmap_line(line, len, &l))
		return;
	line[(size_t)(l.name - line) + l.name_len] = '\0';
	ranges_add(&pm->ranges, l.start, l.end, (uint32_t)(l.name - pm->text));
}

/* The reason after PERFMAP_REFUSED, in its first line; NULL: there is none, or it is not printable. */
static const char *read_refused(char *text)
{
	const size_t head = sizeof(PERFMAP_REFUSED) - 1, len = strcspn(text, "\n");

	if (strncmp(text, PERFMAP_REFUSED, head) || text[len] != '\n' || len == head || len - head > PERFMAP_REFUSED_MAX)
		return NULL;
	for (size_t i = head; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return NULL;
	text[len] = '\0';
	return text + head;
}

struct perfmap *perfmap_new(const char *text, size_t len)
{
	struct perfmap *pm = xcalloc(1, sizeof(*pm));
	char *p, *end;

	/*
	 * Offsets have 32 bits, to keep maps of 250 MB small. Callers cap the size far below 4 GiB.
	 */
	if (len > UINT32_MAX)
		len = UINT32_MAX;
	pm->text = xmalloc(len + 1);
	if (len)
		memcpy(pm->text, text, len);
	pm->text[len] = '\0';
	p = pm->text;
	end = p + len;
	pm->shared = len >= sizeof(PERFMAP_SHARED) &&
		     !memcmp(p, PERFMAP_SHARED "\n", sizeof(PERFMAP_SHARED));
	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));

		/* The JIT was still writing this line: the name may be incomplete. */
		if (!nl)
			break;
		add_line(pm, p, (size_t)(nl - p));
		p = nl + 1;
	}
	pm->refused = read_refused(pm->text);
	/* Ids are offsets, so the later line has the higher one and wins. */
	ranges_flatten(&pm->ranges);
	return pm;
}

bool perfmap_shared(const struct perfmap *pm)
{
	return pm->shared;
}

const char *perfmap_refused(const struct perfmap *pm)
{
	return pm->refused;
}

void perfmap_free(struct perfmap *pm)
{
	if (!pm)
		return;
	ranges_fini(&pm->ranges);
	free(pm->text);
	free(pm);
}

bool perfmap_lookup(const struct perfmap *pm, struct avma addr, const char **name)
{
	const struct range *r = ranges_find(&pm->ranges, addr.v);

	if (!r)
		return false;
	*name = pm->text + r->id;
	return true;
}
