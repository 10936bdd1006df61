#include "cmd/event_choice.h"

#include <stddef.h>

#include "recording/rec_input.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/sample_fields.h"

struct rec_reader *event_choice_open(const char *input, const char *name, bool all, const char *fields, const char *also,
				     struct rec_events *t, uint32_t *event)
{
	const char *left = name;
	struct rec_reader *r = rec_reader_open_event(input, &left);
	int at;

	if (!r)
		return NULL;
	at = rec_events_read(t, r);
	if (!at && left)
		at = rec_events_pick(t, left, rec_input_shown(input));
	if (at < 0) {
		rec_reader_close(r);
		return NULL;
	}
	if (!name && fields)
		at = (int)sample_fields_event(t, fields);
	else if (!name && !all)
		at = (int)rec_events_first(t, r);
	*event = all && !name && t->table.n > 1 ? REC_EVENTS_ALL : (uint32_t)at;
	if (t->table.n > 1 && !name && !all)
		rec_events_tell(t, *event, rec_input_shown(input), also);
	return r;
}
