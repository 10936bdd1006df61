/* Describes records that cannot be used. */
#include "import/perfdata.h"

#include <inttypes.h>

#include "base/util.h"
#include "base/xalloc.h"

void perfdata_bad(struct perfdata *pd, const struct perfdata_record *r)
{
	if (!pd->bad++)
		pd->first_bad = r->spot;
}

char *perfdata_type_text(uint32_t type)
{
	/* enum perf_event_type, from 1. */
	static const char *const names[] = {
		"MMAP", "LOST", "COMM", "EXIT", "THROTTLE", "UNTHROTTLE", "FORK", "READ", "SAMPLE", "MMAP2", "AUX",
		"ITRACE_START", "LOST_SAMPLES", "SWITCH", "SWITCH_CPU_WIDE", "NAMESPACES", "KSYMBOL", "BPF_EVENT", "CGROUP",
		"TEXT_POKE", "AUX_OUTPUT_HW_ID", "CALLCHAIN_DEFERRED",
	};

	const char *name = type - 1 < ARRAY_SIZE(names) ? names[type - 1] : "record";

	if (type == PERFDATA_COMPRESSED || type == PERFDATA_COMPRESSED2)
		name = type == PERFDATA_COMPRESSED ? "COMPRESSED" : "COMPRESSED2";
	return xasprintf("%s (%" PRIu32 ")", name, type);
}
