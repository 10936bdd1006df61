/* Switches of a perf.data (import_switches.h). */
#include "import/import_switches.h"

#include <linux/perf_event.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "import/perfdata.h"
#include "recording/rec_writer.h"
#include "sink/sink.h"

/* Samples on their way to the writer have to be finished before switches are written. */
#define TOGETHER 8192u

bool import_switches_asked(const struct perfdata *pd)
{
	bool asked = false;

	for (size_t i = 0; i < pd->nattrs; i++)
		asked |= (pd->attrs[i].flags & PERFDATA_CONTEXT_SWITCH) != 0;
	return asked;
}

bool import_switches_weigh(const struct perfdata_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

int import_switches_take(struct import_switches *sw, const struct perfdata_record *r, struct sink *sink, struct rec_writer *w)
{
	XGROW(sw->v, sw->n, sw->cap);
	sw->v[sw->n++] = (struct ev_switch){
		.time = r->time, .pid = r->pid, .tid = r->tid, .cpu = r->cpu,
		.out = r->misc & PERF_RECORD_MISC_SWITCH_OUT,
		.preempted = r->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
	};
	return sw->n < TOGETHER ? 0 : import_switches_flush(sw, sink, w);
}

int import_switches_flush(struct import_switches *sw, struct sink *sink, struct rec_writer *w)
{
	int err = 0;

	sink_flush(sink);
	for (size_t i = 0; i < sw->n && !err; i++)
		err = rec_writer_switch(w, &sw->v[i]);
	sw->n = 0;
	return err;
}

void import_switches_fini(struct import_switches *sw)
{
	free(sw->v);
}
