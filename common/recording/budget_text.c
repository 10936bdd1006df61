#include "recording/budget_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/escape.h"
#include "base/util.h"

static const struct {
	const char *key, *one, *many;
} kinds[BUDGET_KINDS] = {
	[BUDGET_PATHS] = { "new_paths", "mapping with a new path", "mappings with new paths" },
	[BUDGET_FILES] = { "new_binaries", "mapping of a new binary", "mappings of new binaries" },
	[BUDGET_MAPS] = { "mappings", "mapping", "mappings" },
	[BUDGET_ADDRS] = { "addresses", "address whose name was not captured", "addresses whose names were not captured" },
	[BUDGET_SAMPLES] = { "samples_without_mappings", "sample has no mappings", "samples have no mappings" },
};

const char *budget_text_key(uint32_t kind)
{
	return kind < BUDGET_KINDS ? kinds[kind].key : NULL;
}

void budget_text_what(const struct ev_budget *ev, struct strbuf *out)
{
	if (budget_text_key(ev->kind))
		strbuf_addf(out, "%" PRIu64 " %s", ev->count, plural_of(ev->count, kinds[ev->kind].one, kinds[ev->kind].many));
	else
		strbuf_addf(out, "%" PRIu64 " of unknown kind %" PRIu32, ev->count, ev->kind);
}

void budget_text_who(const struct ev_budget *ev, const char *container, struct strbuf *out)
{
	if (container[0]) {
		strbuf_adds(out, "container ");
		escape_name(out, container);
		return;
	}
	if (!ev->cgroup[0]) {
		strbuf_adds(out, "processes of unknown cgroups");
		return;
	}
	if (ev->by_user)
		strbuf_addf(out, "user %" PRIu32, ev->uid);
	/* Without a cgroup of its own, all that sets it apart is its user. */
	if (ev->by_user && !strcmp(ev->cgroup, "/"))
		return;
	if (ev->by_user)
		strbuf_adds(out, " in ");
	strbuf_adds(out, "cgroup '");
	escape_name(out, ev->cgroup);
	strbuf_addc(out, '\'');
}
