#include "base/event_pick.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"

#define LISTED 12	/* maximum number of events in a message */

void event_label_text(const struct event_label *ev, struct strbuf *out)
{
	strbuf_adds(out, ev->name);
	if (*ev->modifier)
		strbuf_addf(out, ":%s", ev->modifier);
}

bool event_is_clock(const char *name)
{
	static const char *const clocks[] = { "cpu-clock", "task-clock" };
	const size_t len = strcspn(name, ":#");

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++)
		if (strlen(clocks[i]) == len && !memcmp(clocks[i], name, len))
			return true;
	return false;
}

/* How well a text matches; smaller is better. */
enum fit { FIT_WHOLE, FIT_NAME, FIT_BARE, FIT_PART, FIT_NONE };

static bool is_part(const char *whole, const char *text)
{
	const size_t n = strlen(whole), len = strlen(text);

	return len && len <= n && (!memcmp(whole, text, len) || !memcmp(whole + n - len, text, len));
}

/* What is between the slashes of "cpu_core/cycles/". */
static bool is_bare(const char *name, const char *text)
{
	const char *slash = strchr(name, '/'), *end = strrchr(name, '/');
	const size_t len = strlen(text);

	return slash && end > slash && (size_t)(end - slash - 1) == len && !memcmp(slash + 1, text, len);
}

static enum fit fit_of(const struct event_label *ev, const char *text)
{
	struct strbuf whole = STRBUF_INIT;
	enum fit fit = FIT_NONE;

	event_label_text(ev, &whole);
	if (whole.s && !strcmp(whole.s, text))
		fit = FIT_WHOLE;
	else if (!strcmp(ev->name, text))
		fit = FIT_NAME;
	else if (is_bare(ev->name, text))
		fit = FIT_BARE;
	else if (is_part(ev->name, text) || (whole.s && is_part(whole.s, text)))
		fit = FIT_PART;
	strbuf_fini(&whole);
	return fit;
}

/* Appends "'cycles:u', 'faults'": those that fit as well as @fit, and all if that is FIT_NONE. */
static void list(const struct event_label *evs, size_t n, const char *text, enum fit fit, size_t without, struct strbuf *out)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++) {
		if (i == without || (fit != FIT_NONE && fit_of(&evs[i], text) != fit) || found++ >= LISTED)
			continue;
		strbuf_adds(out, found > 1 ? ", '" : "'");
		event_label_text(&evs[i], out);
		strbuf_addc(out, '\'');
	}
	if (found > LISTED)
		strbuf_addf(out, " and %zu others", found - LISTED);
}

int event_pick(const struct event_label *evs, size_t n, const char *text, const char *shown)
{
	struct strbuf sb = STRBUF_INIT;
	enum fit best = FIT_NONE;
	size_t at = 0, found = 0;

	for (size_t i = 0; i < n; i++) {
		const enum fit fit = fit_of(&evs[i], text);

		if (fit < best) {
			best = fit;
			at = i;
			found = 0;
		}
		found += fit == best && fit != FIT_NONE;
	}
	if (found == 1)
		return (int)at;
	list(evs, n, text, best, SIZE_MAX, &sb);
	if (found)
		pr_err("'%s' matches several events of %s: %s", text, shown, sb.s);
	else
		pr_err("%s has no event '%s'; it has %s", shown, text, sb.s ? sb.s : "none");
	strbuf_fini(&sb);
	return -ENOENT;
}

void event_pick_tell(const struct event_label *evs, size_t n, size_t at, const char *shown, const char *also)
{
	struct strbuf sb = STRBUF_INIT, this = STRBUF_INIT;

	event_label_text(&evs[at], &this);
	list(evs, n, "", FIT_NONE, at, &sb);
	pr_info("%s has %zu events, and this is '%s'; --event NAME takes another: %s%s", shown, n, this.s, sb.s ? sb.s : "", also);
	strbuf_fini(&sb);
	strbuf_fini(&this);
}
