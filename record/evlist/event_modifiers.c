/* The letters behind an event's name, as in tools/perf/Documentation/perf-list.txt. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "evlist/evlist_priv.h"

#define PRECISE_MAX 3

static const char letters[] = "ukhGHpPSDWIebRX";

bool event_modifiers_like(struct piece text)
{
	for (size_t i = 0; i < text.len; i++)
		if (!strchr(letters, text.s[i]))
			return false;
	return true;
}

/* Why nsprof has no modifier @c that perf has; NULL: perf does not have it, either. */
static const char *why_not(char c)
{
	switch (c) {
	case 'G':
		return "code of guests is not sampled: record inside the guest";
	case 'b':
		return "it is for events that a BPF program counts";
	case 'R':
	case 'X':
		return "it is for perf stat";
	default:
		return NULL;
	}
}

int event_modifiers_parse(struct event_modifiers *m, struct piece text, struct piece whole, bool group)
{
	for (size_t i = 0; i < text.len; i++) {
		switch (text.s[i]) {
		case 'u':
			m->user = true;
			break;
		case 'k':
			m->kernel = true;
			break;
		case 'h':
			m->hypervisor = true;
			break;
		case 'I':
			m->idle = true;
			break;
		case 'p':
			if (m->precise < PRECISE_MAX)
				m->precise++;
			break;
		case 'P':
			m->precise = PRECISE_MAX;
			break;
		case 'H':	/* host only: what we do anyway */
			break;
		case 'D':
			m->pinned = true;
			break;
		case 'e':
			m->exclusive = true;
			break;
		case 'S':	/* of a leader, as '{A:S,B}', or of an event alone, where it changes nothing */
			m->sample_read = true;
			break;
		case 'W':
			if (!group) {
				pr_err("modifier 'W' in event '%.*s' is for groups: '{A,B}:W'", (int)whole.len, whole.s);
				return -EINVAL;
			}
			m->weak = true;
			break;
		default:
			if (why_not(text.s[i]))
				pr_err("modifier '%c' in event '%.*s' is not supported: %s", text.s[i], (int)whole.len,
				       whole.s, why_not(text.s[i]));
			else
				pr_err("unknown modifier '%c' in event '%.*s'; allowed are u, k and p, and D, e, I, P and H",
				       text.s[i], (int)whole.len, whole.s);
			return -EINVAL;
		}
	}
	if (m->hypervisor && !m->user && !m->kernel) {
		pr_err("event '%.*s' would count in the hypervisor only, where nothing can be sampled", (int)whole.len,
		       whole.s);
		return -EINVAL;
	}
	return 0;
}

void event_modifiers_apply(const struct event_modifiers *m, struct evsel *ev, bool leader)
{
	/* Naming one of them excludes the other; naming both excludes none. */
	ev->exclude_user |= m->kernel && !m->user;
	ev->exclude_kernel |= m->user && !m->kernel;
	ev->exclude_idle |= m->idle;
	if (m->precise > ev->precise)
		ev->precise = m->precise;
	ev->pinned |= leader && m->pinned;
	ev->exclusive |= leader && m->exclusive;
	ev->sample_read |= m->sample_read;
	ev->weak |= m->weak;
}
