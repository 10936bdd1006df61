/* The records of tracepoints in a perf.data: which of them an import keeps, and what it masks. */
#ifndef NSPROF_IMPORT_FIELDS_H
#define NSPROF_IMPORT_FIELDS_H

#include <stdint.h>

#include "event.h"
#include "events/record_opts.h"
#include "import/import_event.h"
#include "trace/tp_format.h"

struct import_fields {
	enum payloads payloads;
	/* owned; by event of the recording; without fields if its records are not kept */
	struct tp_format *v;
	uint32_t nevents;
	uint32_t n;		/* events with records that are kept */
	uint8_t *room;		/* owned; the record that was masked last */
};

void import_fields_init(struct import_fields *f, const struct perfdata *pd, const struct import_event *ev, enum payloads payloads);
/* Sets the payload of @in to what is kept of it. Valid until the next call. */
void import_fields_mask(struct import_fields *f, const struct perfdata *pd, struct sample_in *in);
void import_fields_fini(struct import_fields *f);

#endif
