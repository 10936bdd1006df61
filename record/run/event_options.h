/* The options of nsprof record that choose events: -e, -F, -c, --filter, --fields, --off-cpu. */
#ifndef NSPROF_EVENT_OPTIONS_H
#define NSPROF_EVENT_OPTIONS_H

#include "run/record_options.h"

/* For its table (opt.h). @dst is a struct record_cmdline *. 0, or -EINVAL after a message. */
int event_options_event(void *dst, const char *arg);
int event_options_freq(void *dst, const char *arg);
int event_options_period(void *dst, const char *arg);
int event_options_filter(void *dst, const char *arg);
/* @arg NULL: as --fields=numbers. */
int event_options_fields(void *dst, const char *arg);
/* @arg NULL: as many stacks as cost little. */
int event_options_off_cpu(void *dst, const char *arg);

/* Beyond that, a thread gives hardly a stack. */
#define OFF_CPU_EVERY_MAX 1000000u

/*
 * After the last option: gives each -e its rate, or adds the default event. perf has one -F or -c
 * for all events, wherever it stands, so that is what one of them does here. With several, each
 * counts for the -e that follow it, and the first one also for those before it; one behind the last
 * -e replaces all of its kind. 0, or -EINVAL after a message if -F and -c exclude each other.
 */
int event_options_finish(struct record_cmdline *c);
void event_options_fini(struct record_cmdline *c);

#endif
