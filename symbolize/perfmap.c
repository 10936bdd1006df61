/*
 * /tmp/perf-PID.map: "START SIZE name" a line, both numbers hexadecimal, the name to the end of the
 * line (Linux, tools/perf/Documentation/jit-interface.txt). A JIT only ever appends, and re-uses
 * addresses: what a later line says of an address replaces what an earlier one said.
 */
#include "names.h"

#include <stdlib.h>
#include <string.h>

#include "ranges.h"
#include "xalloc.h"

struct perfmap {
	char *text;		/* owned copy; the newlines of good lines are NULs */
	struct ranges ranges;	/* avma -> offset of the name in text */
};

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/* Digit values without the locale; -1: not a digit. */
static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* A number with a blank behind it, 0x or not. The first byte behind the blanks, or NULL. */
static const char *parse_hex(const char *p, const char *end, uint64_t *v)
{
	const char *first;

	p = skip_blanks(p, end);
	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	*v = 0;
	for (first = p; p < end && hex_digit(*p) >= 0; p++) {
		if (*v >> 60)
			return NULL;
		*v = *v << 4 | (uint64_t)hex_digit(*p);
	}
	if (p == first || p == end || (*p != ' ' && *p != '\t'))
		return NULL;
	return skip_blanks(p, end);
}

/* @line without its newline, which is overwritten with the name's NUL. */
static void add_line(struct perfmap *pm, char *line, char *end)
{
	const char *name;
	uint64_t start, size;

	name = parse_hex(line, end, &start);
	if (name)
		name = parse_hex(name, end, &size);
	if (!name || size > UINT64_MAX - start)
		return;
	if (end > name && end[-1] == '\r')
		end--;
	if (name == end || !*name || start == UINT64_MAX)
		return;
	*end = '\0';
	/* A stub of unknown size is known to be at its first byte, and no further. */
	ranges_add(&pm->ranges, start, start + (size ? size : 1), (uint32_t)(name - pm->text));
}

struct perfmap *perfmap_new(const char *text, size_t len)
{
	struct perfmap *pm = xcalloc(1, sizeof(*pm));
	char *p, *end;

	/* Offsets are 32 bits to keep 250 MB maps small; openers cap the size far below that. */
	if (len > UINT32_MAX)
		len = UINT32_MAX;
	pm->text = xmalloc(len + 1);
	if (len)
		memcpy(pm->text, text, len);
	pm->text[len] = '\0';
	p = pm->text;
	end = p + len;
	while (p < end) {
		char *nl = memchr(p, '\n', (size_t)(end - p));

		/* The writer was in the middle of this line: its name may be cut. */
		if (!nl)
			break;
		add_line(pm, p, nl);
		p = nl + 1;
	}
	/* Ids are offsets, so the later line has the higher one and wins. */
	ranges_flatten(&pm->ranges);
	return pm;
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
