#include "folded.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "leading.h"
#include "log.h"

/* The annotation of flamegraph.pl's stackcollapse tools: "name_[k]". Cuts it off *@len. */
static uint8_t tool_hue(const char *s, size_t *len)
{
	size_t n = *len;

	if (n <= 4 || memcmp(s + n - 4, "_[", 2) || s[n - 1] != ']')
		return HUE_USER;
	switch (s[n - 2]) {
	case 'k':
		*len -= 4;
		return HUE_KERNEL;
	case 'j':
		*len -= 4;
		return HUE_JIT;
	case 'i':
		*len -= 4;
		return HUE_INLINED;
	default:
		return HUE_USER;
	}
}

/* The same, and our own: a frame that was joined is the same function as one that was not. */
static uint8_t frame_hue(const char *s, size_t *len)
{
	static const char joined[] = "_[joined]";
	uint8_t hue = tool_hue(s, len);
	size_t n = sizeof(joined) - 1;

	if (*len > n && memcmp(s + *len - n, joined, n) == 0)
		*len -= n;
	return hue;
}

/* Split "frames COUNT": length of the frames, or 0 when the line is not of that shape. */
static size_t split_count(const char *line, size_t len, uint64_t *count)
{
	size_t at = len, digits;
	char *end;

	while (at && line[at - 1] != ' ' && line[at - 1] != '\t')
		at--;
	if (at < 2 || at == len)
		return 0;
	digits = strspn(line + at, "0123456789");
	if (!digits || (line[at + digits] && line[at + digits] != '.'))
		return 0;
	if (line[at + digits] == '.' && line[at + digits + 1 + strspn(line + at + digits + 1, "0123456789")])
		return 0;
	errno = 0;
	*count = strtoull(line + at, &end, 10);
	if (errno)
		*count = UINT64_MAX;
	while (at && (line[at - 1] == ' ' || line[at - 1] == '\t'))
		at--;
	return at;
}

static bool is_helper(const char *s, size_t len)
{
	static const char helper[] = LEADING_RUNTIME_HELPER;

	return len == sizeof(helper) - 1 && !memcmp(s, helper, len);
}

static void add_stack(struct calltree *t, const char *s, size_t len, unsigned int leading, uint64_t count)
{
	bool front = leading;
	uint32_t node = 0;
	size_t pos = 0;

	while (pos <= len) {
		const char *sep = memchr(s + pos, ';', len - pos);
		size_t n = sep ? (size_t)(sep - (s + pos)) : len - pos, shown = n;
		uint8_t hue = HUE_LEADING;

		if (n) {	/* an empty frame would be a box without a name */
			bool helper = front && is_helper(s + pos, n);

			front = leading || helper;
			if (!front)
				hue = frame_hue(s + pos, &shown);
			else if (!helper)
				leading--;
			node = calltree_child(t, node, s + pos, shown, hue);
		}
		if (!sep)
			break;
		pos += n + 1;
	}
	if (node)
		calltree_count(t, node, count);
}

int folded_read(FILE *in, const char *name, unsigned int leading, struct calltree *t, struct folded_stats *st)
{
	char *line = NULL, first_bad[61];
	size_t cap = 0, len;
	uint64_t count;
	ssize_t got;

	memset(st, 0, sizeof(*st));
	while ((got = getline(&line, &cap, in)) > 0) {
		while (got && (line[got - 1] == '\n' || line[got - 1] == '\r'))
			line[--got] = '\0';
		if (!got || line[0] == '#')
			continue;
		/* A NUL byte would end names early: such a line is no folded text. */
		len = memchr(line, 0, (size_t)got) ? 0 : split_count(line, (size_t)got, &count);
		if (!len) {
			if (!st->bad++)
				snprintf(first_bad, sizeof(first_bad), "%s", line);
			continue;
		}
		st->lines++;
		if (__builtin_add_overflow(st->total, count, &st->total))
			st->total = UINT64_MAX;
		if (count)
			add_stack(t, line, len, leading, count);
	}
	free(line);
	if (ferror(in)) {
		int err = errno ? errno : EIO;

		pr_err("cannot read '%s': %s", name, strerror(err));
		return -err;
	}
	/* With no good line it is a foreign file, which the caller says. */
	if (st->bad && st->lines)
		pr_warn("'%s': %llu %s: '%s'", name, (unsigned long long)st->bad,
			st->bad > 1 ? "lines are not folded stacks, the first" : "line is not a folded stack",
			first_bad);
	return 0;
}
