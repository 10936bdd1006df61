/* One of the events of a recording or a profile, by the name that a user gives ("--event"). */
#ifndef NSPROF_EVENT_PICK_H
#define NSPROF_EVENT_PICK_H

#include <stdbool.h>
#include <stddef.h>

struct strbuf;

struct event_label {
	const char *name;	/* "cycles", "cpu_core/cycles/", "sched:sched_switch"; borrowed */
	const char *modifier;	/* "u", or "" */
};

/*
 * Is @name that of a clock of the kernel, which counts ns: cpu-clock or task-clock, also with what
 * tells it from others ("cpu-clock:u", "cpu-clock#2")?
 */
bool event_is_clock(const char *name);
/* Appends "cycles:u". */
void event_label_text(const struct event_label *ev, struct strbuf *out);
/*
 * The index of the event that @text means: its name with or without the modifier; what is between
 * its slashes; or the beginning or the end of its name. The first of these that matches decides.
 * -ENOENT after a message if no event matches, or several do. The message calls the input @shown,
 * and lists its events.
 */
int event_pick(const struct event_label *evs, size_t n, const char *text, const char *shown);
/*
 * Says that the output holds only the event @at, and how to get the others. @also: another way, as
 * "; --by event shows all", or "".
 */
void event_pick_tell(const struct event_label *evs, size_t n, size_t at, const char *shown, const char *also);

#endif
