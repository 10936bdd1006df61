/* The table of unwinders, and the texts for the ends of stacks. */
#include "unwind/unwind.h"

#include <string.h>

#include "base/util.h"

static const struct unwinder_ops *const unwinders[] = {
	&unwind_cached,
	&unwind_libunwind,
	&unwind_libdw,
	&unwind_fp,
};

const struct unwinder_ops *unwinder_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(unwinders); i++)
		if (strcmp(unwinders[i]->name, name) == 0)
			return unwinders[i];
	return NULL;
}

/* Remedies are for readers of one line about a whole recording: an action, or nothing. */
static const struct {
	const char *text;
	const char *remedy;
} ends[UNWIND_END_MAX] = {
	[UNWIND_COMPLETE] = { "complete", NULL },
	[UNWIND_JOINED] = { "complete, outer frames joined from the thread's earlier stacks", NULL },
	[UNWIND_COPY_END] = {
		"stack copy too small",
		"record with a larger copy: --call-graph dwarf,65528",
	},
	[UNWIND_CUT] = {
		"stack copy cut by the recorder",
		"record with a lower -F or a smaller --call-graph dwarf,SIZE, so that the recorder can keep up",
	},
	[UNWIND_STACK_END] = { "end of the stack without an outermost frame", NULL },
	[UNWIND_HOLE] = {
		"a page of the stack was not in memory (a large frame not touched yet)",
		"if the program keeps frame pointers, record with --call-graph fp",
	},
	[UNWIND_NO_ROWS] = {
		"no unwind rows and no frame pointer",
		"build that binary with -fasynchronous-unwind-tables or -fno-omit-frame-pointer",
	},
	[UNWIND_NO_JIT_ROWS] = {
		"jitted code without frame pointer or unwind rows",
		NULL, /* jit_runtime_unwinding() */
	},
	[UNWIND_NO_MODULE] = {
		"binary not available",
		"record while the binary is still reachable, or run this command where the binary is",
	},
	[UNWIND_NO_MAPPING] = { "address outside all known mappings", NULL },
	[UNWIND_BAD_READ] = {
		"unwind rows led out of the stack copy, to another stack or over pages that were not in memory",
		"if the program keeps frame pointers, record with --call-graph fp",
	},
	[UNWIND_RED_ZONE] = { "unwind rows need a word below the stack pointer, which the kernel does not copy", NULL },
	[UNWIND_OTHER_STACK] = {
		"interrupted code is on another stack than the handler; that stack was not copied",
		"install the handler without SA_ONSTACK to see the interrupted code",
	},
	[UNWIND_URETPROBE] = {
		"a return probe (uretprobe) of another tool replaced the return address",
		"if the program keeps frame pointers, record with --call-graph fp; or detach the probe while recording",
	},
	[UNWIND_NO_ADVANCE] = {
		"unwind rows did not lead to a caller",
		"compare with --unwind libunwind and --unwind libdw, and report a difference",
	},
	[UNWIND_DEPTH] = { "more frames than --max-stack allows", "raise --max-stack" },
	[UNWIND_NO_COPY] = { "stack gone (an exec) or not in memory", NULL },
	[UNWIND_NARROW] = {
		"32-bit code, whose stacks are not unwound from copies",
		"if the program keeps frame pointers, record with --call-graph fp",
	},
	[UNWIND_DEFERRED] = {
		"user stack deferred by perf, and its record is missing",
		"record with a larger -m, or with --call-graph fp alone",
	},
	[UNWIND_WITHHELD] = {
		"mappings of the process unknown, so its stack was not recorded",
		"record as root or with CAP_SYS_PTRACE",
	},
	[UNWIND_NO_USER] = { "no user stack", NULL },
};

const char *unwind_end_text(enum unwind_end e)
{
	return (unsigned int)e < UNWIND_END_MAX ? ends[e].text : "unknown";
}

const char *unwind_end_remedy(enum unwind_end e)
{
	return (unsigned int)e < UNWIND_END_MAX ? ends[e].remedy : NULL;
}
