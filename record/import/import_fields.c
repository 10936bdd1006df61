#include "import/import_fields.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

void import_fields_init(struct import_fields *f, const struct perfdata *pd, const struct import_event *ev, enum payloads payloads)
{
	*f = (struct import_fields){ .payloads = payloads, .nevents = ev->n };
	f->v = xcalloc(ev->n, sizeof(*f->v));
	f->room = xmalloc(TP_RECORD_MAX);
	for (uint32_t i = 0; i < ev->n && payloads != PAYLOADS_NONE; i++) {
		const char *text = perfdata_format(pd, &pd->attrs[ev->v[i].attr]);

		/* What cannot be parsed cannot be masked, and nobody could read it. */
		if (tp_format_parse(&f->v[i], text, strlen(text)))
			tp_format_fini(&f->v[i]);
		f->n += f->v[i].n != 0;
	}
}

void import_fields_mask(struct import_fields *f, const struct perfdata *pd, struct sample_in *in)
{
	uint32_t len = MIN(in->payload_len, TP_RECORD_MAX);

	/* The other byte order is that of another kind of machine. */
	if (!f->v[in->event].n || pd->swap)
		len = 0;
	if (len) {
		memcpy(f->room, in->payload, len);
		if (f->payloads != PAYLOADS_ALL)
			tp_format_hide(&f->v[in->event], f->room, len);
	}
	in->payload = len ? f->room : NULL;
	in->payload_len = MIN(len, PAYLOAD_MAX);
}

void import_fields_fini(struct import_fields *f)
{
	for (uint32_t i = 0; i < f->nevents; i++)
		tp_format_fini(&f->v[i]);
	free(f->v);
	free(f->room);
}
