/*
 * Filters of tracepoints, in the kernel's syntax: Documentation/trace/events.rst, "Event filtering".
 * The kernel only says EINVAL, so what can be wrong is looked for before.
 */
#ifndef NSPROF_EVENT_FILTER_H
#define NSPROF_EVENT_FILTER_H

#include "base/strbuf.h"
#include "evlist/evsel.h"
#include "trace/tp_format.h"

/* 0, or -EINVAL and @why has the reason. It may accept what the kernel refuses. Pure. */
int event_filter_check(const char *filter, const struct tp_format *format, struct strbuf *why);
/* The same for @ev->filter and @ev->format. 0, or -EINVAL after a message. */
int event_filter_check_event(const struct evsel *ev);

#endif
