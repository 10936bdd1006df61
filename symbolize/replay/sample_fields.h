/* Fields of tracepoints in samples: those that leading frames and profiles ask for. */
#ifndef NSPROF_SAMPLE_FIELDS_H
#define NSPROF_SAMPLE_FIELDS_H

#include "base/strbuf.h"
#include "recording/rec_events.h"
#include "trace/tp_format.h"

struct ev_sample;
struct sample_fields;

/* @names: "prev_state,next_comm". Both are borrowed. */
struct sample_fields *sample_fields_new(const struct rec_events *events, const char *names);
void sample_fields_free(struct sample_fields *sf);	/* accepts NULL */
/*
 * Appends the fields that @ev has, in the order of their names: "prev_state=1 next_comm=bash"
 * (tp_text.h). Nothing if it has none.
 */
void sample_fields_text(struct sample_fields *sf, const struct ev_sample *ev, struct strbuf *out);
/* The format of the records of event @at. NULL: its recording keeps none. Borrowed. */
const struct tp_format *sample_fields_format(struct sample_fields *sf, uint32_t at);
/* The first event that keeps the first of the fields @names; 0 if there is none. */
uint32_t sample_fields_event(const struct rec_events *events, const char *names);
/*
 * Does some event keep each of the fields @names? 0, or -ENOENT after a message that calls the
 * recording @shown and lists the fields that there are.
 */
int sample_fields_check(const struct rec_events *events, const char *names, const char *shown);

#endif
