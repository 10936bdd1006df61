/* One line of a perf map, for capture and for symbol lookup (perfmap_line.h). */
#include "jit/perfmap_line.h"

#include <string.h>

#include "base/hex.h"

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

/*
 * Parses a number that is followed by a blank. Returns the first byte behind the blanks, or NULL.
 */
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

bool perfmap_line(const char *p, size_t len, struct perfmap_line *out)
{
	const char *end = p + len;
	uint64_t size;

	p = parse_hex(p, end, &out->start);
	p = p ? parse_hex(p, end, &size) : NULL;
	if (!p)
		return false;
	if (end > p && end[-1] == '\r')
		end--;
	/* A NUL would truncate the name, and any text that contains it. */
	if (p == end || memchr(p, '\0', (size_t)(end - p)))
		return false;
	size = size ? size : 1;
	if (size > UINT64_MAX - out->start)
		return false;
	out->end = out->start + size;
	out->name = p;
	out->name_len = (size_t)(end - p);
	return true;
}
