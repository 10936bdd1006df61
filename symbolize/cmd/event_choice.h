/* Which events of a recording a command uses. */
#ifndef NSPROF_EVENT_CHOICE_H
#define NSPROF_EVENT_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

#include "recording/rec_events.h"

struct rec_reader;

/*
 * Opens the recording @input (rec_reader_open_event()), reads its events into @t, zeroed, and sets
 * *@event: the one that @name means, by default the first that has samples (with @fields the first that
 * keeps them, see sample_fields.h), or with @all of several REC_EVENTS_ALL. If only one of several is used, and @name is NULL, a message says so; @also as in event_pick_tell(). NULL after
 * a message.
 */
struct rec_reader *event_choice_open(const char *input, const char *name, bool all, const char *fields, const char *also,
				     struct rec_events *t, uint32_t *event);

#endif
