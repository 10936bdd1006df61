/*
 * The frames in front of a stack that name its container, process or thread ("--by"). Shared by the
 * writers of folded text and the programs that show a profile.
 */
#ifndef NSPROF_LEAD_FRAMES_H
#define NSPROF_LEAD_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * Follows a container's frame when the process belongs to its runtime. Longer than any process
 * name, and no container can have this name.
 */
#define LEADING_RUNTIME_HELPER "[runtime_helper]"

/* The frame of an event whose name is not known. */
#define LEADING_NO_EVENT "[event]"

/* Frames in place of a stack off the CPU that is not known, or that an idle thread has all the time. */
#define WAITS_BEFORE "[before recording]"
#define WAITS_NO_STACK "[no_stack]"
#define WAITS_STARTING "[starting]"
#define WAITS_BRIEF "[shorter than "	/* the beginning */
#define WAITS_PARKED "[parked]"

enum lead_by {
	LEAD_NONE,
	LEAD_COMM,	/* "nginx" */
	LEAD_PROCESS,	/* "nginx-4711" */
	LEAD_THREAD,	/* "nginx-4711/4713" */
	LEAD_CONTAINER,	/* "1f2e3d4c5b6a"; followed by "[runtime_helper]" where it applies */
	LEAD_EVENT,	/* "cpu-clock" */
	LEAD_FIELD,	/* "prev_state=1", a field of a tracepoint */
	LEAD_STATE,	/* "[blocked]": what the thread does; "[running]" where samples do not tell */
	LEAD_KINDS,
};

/* What a thread does, as a frame of stacks that are weighed by switches. */
enum lead_state { STATE_RUNNING, STATE_RUNNABLE, STATE_BLOCKED, STATE_THROTTLED, STATES };

struct lead {
	enum lead_by by[LEAD_KINDS];	/* root first */
	uint32_t n;
	const char *field;	/* of LEAD_FIELD: "prev_state"; borrowed, ends with a comma or NUL */
	bool merge_threads;	/* threadname.h; merged threads have "N" as tid, too; pids stay */
};

/*
 * Parse kinds separated by commas: "container,process". "container" alone means "container,comm",
 * and "event" and "field:NAME" alone are followed by comm, too; LEAD_NONE adds no frame. @text stays
 * in use. Leaves merge_threads unchanged. 0 or -EINVAL.
 */
int lead_parse(const char *text, struct lead *out);
/* "[blocked]". Static. */
const char *lead_state_text(enum lead_state state);
/* The state of a frame with this text; STATES: it is another frame. */
enum lead_state lead_state_find(const char *text);
/* Is @by among them? */
bool lead_has(const struct lead *lead, enum lead_by by);
/* Parse a single kind, other than LEAD_FIELD. 0 or -EINVAL. */
int lead_parse_kind(const char *text, size_t len, enum lead_by *out);
/* Append the frame of LEAD_FIELD for a thread with @fields (profile_thread.fields). */
void lead_field_text(const struct lead *lead, const char *fields, struct strbuf *out);
/*
 * Append the value of @name (@len bytes) in @fields, "prev_state=1 prev_comm=bash". False: they have
 * no such field.
 */
bool lead_field_value(const char *fields, const char *name, size_t len, struct strbuf *out);
/*
 * Append the frame of a thread: LEAD_COMM, _PROCESS or _THREAD. @comm: name of the thread
 * (LEAD_PROCESS: of the process); "" or NULL when it has none. @merged: the frame stands for
 * several threads, so @tid does not count.
 */
void lead_thread_text(enum lead_by by, const char *comm, uint32_t pid, uint32_t tid, bool merged, struct strbuf *out);

#endif
