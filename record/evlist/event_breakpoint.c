/* Breakpoints: "mem:ADDR[/LEN][:rwx][:MODS]". */
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <string.h>

#include "base/log.h"
#include "base/xalloc.h"
#include "evlist/evlist_priv.h"

#define PREFIX "mem:"

static struct piece until(struct piece *rest, const char *stops)
{
	struct piece out = { rest->s, 0 };

	while (out.len < rest->len && !strchr(stops, out.s[out.len]))
		out.len++;
	rest->s += out.len;
	rest->len -= out.len;
	return out;
}

/* "rw", "x": HW_BREAKPOINT_*; 0: this is not an access. */
static uint32_t access_of(struct piece text)
{
	uint32_t type = 0, one;

	for (size_t i = 0; i < text.len; i++) {
		one = text.s[i] == 'r' ? HW_BREAKPOINT_R : text.s[i] == 'w' ? HW_BREAKPOINT_W :
		      text.s[i] == 'x' ? HW_BREAKPOINT_X : 0;
		if (!one || type & one)
			return 0;
		type |= one;
	}
	return type;
}

static int invalid(struct piece whole, const char *why)
{
	pr_err("invalid breakpoint '%.*s': %s; the syntax is mem:ADDR[/LEN][:rwx], e.g. mem:0x601040/8:w", (int)whole.len, whole.s,
	       why);
	return -EINVAL;
}

int event_breakpoint(struct event_parser *p, struct piece text)
{
	struct piece rest = { text.s + strlen(PREFIX), text.len - strlen(PREFIX) }, part;
	struct event_modifiers m = { .precise = 0 };
	struct evsel ev;
	int err;

	evsel_init(&ev, NULL, PERF_TYPE_BREAKPOINT, 0);
	part = until(&rest, "/:");
	if (event_number(part, &ev.config1))
		return invalid(text, "the address is not a number");
	if (rest.len && *rest.s == '/') {
		rest.s++, rest.len--;
		part = until(&rest, ":");
		/* The lengths that perf_event_open(2) knows. */
		if (event_number(part, &ev.config2) || !ev.config2 || ev.config2 > 8 || ev.config2 & (ev.config2 - 1))
			return invalid(text, "the length is 1, 2, 4 or 8 bytes");
	}
	if (rest.len) {
		rest.s++, rest.len--;
		part = until(&rest, ":");
		ev.bp_type = access_of(part);
		if (!ev.bp_type && (rest.len || !event_modifiers_like(part)))
			return invalid(text, "the access is of r, w and x");
		if (!ev.bp_type)
			rest = part;
		else if (rest.len)
			rest.s++, rest.len--;
	}
	/* As perf does: without a kind, reading and writing; a length that the kind allows. */
	if (!ev.bp_type)
		ev.bp_type = HW_BREAKPOINT_RW;
	if (ev.bp_type & HW_BREAKPOINT_X && ev.bp_type != HW_BREAKPOINT_X)
		return invalid(text, "execution cannot be watched together with reading or writing");
	if (!ev.config2)
		ev.config2 = ev.bp_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	ev.name = evlist_keep(p->el, xstrndup(text.s, (size_t)(rest.len ? rest.s - 1 - text.s : (ptrdiff_t)text.len)));
	err = event_modifiers_parse(&m, rest, text, false);
	if (err)
		return err;
	event_modifiers_apply(&m, &ev, true);
	return evlist_add(p, &ev);
}
