/* Messages into memory. Separate from log.c, which must work when memory is exhausted. */
#include "base/log.h"
#include "base/strbuf.h"

static void add_line(void *to, const char *line, size_t len)
{
	strbuf_add(to, line, len);
}

struct strbuf *log_divert(struct strbuf *to)
{
	static struct strbuf *diverted;
	struct strbuf *before = diverted;

	diverted = to;
	log_redirect(to ? add_line : NULL, to);
	return before;
}
