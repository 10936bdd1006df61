#include "evlist/callgraph.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "evlist/evlist_priv.h"

int callgraph_size(const char *text, size_t len, uint32_t *size)
{
	uint64_t v;

	if (event_number((struct piece){ text, len }, &v) || !v || v > DUMP_SIZE_MAX)
		return -ERANGE;
	*size = (uint32_t)align_up(v, 8);
	return 0;
}

int callgraph_parse(const char *text, size_t len, struct stack_terms *out, const char **why)
{
	const char *comma = memchr(text, ',', len);
	const struct piece how = { text, comma ? (size_t)(comma - text) : len };

	if (piece_is(how, "lbr")) {
		*why = "branch records are not taken";
		return -ENOTSUP;
	}
	if (piece_is(how, "fp") && comma) {
		*why = "frame pointers are always followed when the sample is taken";
		return -ENOTSUP;
	}
	if (piece_is(how, "fp"))
		out->callgraph = CALLGRAPH_FP;
	else if ((piece_is(how, "no") || piece_is(how, "none")) && !comma)
		out->callgraph = CALLGRAPH_NONE;
	else if (piece_is(how, "dwarf"))
		out->callgraph = CALLGRAPH_DWARF;
	else
		return -EINVAL;
	return comma ? callgraph_size(comma + 1, len - how.len - 1, &out->dump_size) : 0;
}
