/* Time of threads on and off the CPU, from the switches of a recording, for `nsprof info`. */
#ifndef NSPROF_INFO_TIMES_H
#define NSPROF_INFO_TIMES_H

#include <stdio.h>

#include "base/hash.h"
#include "bytes/json.h"
#include "event.h"

struct cpu_times;
struct intern;

struct info_times {
	struct cpu_times *times;	/* owned; NULL: not begun */
	struct intern *strings;		/* borrowed */
	struct u64map names;		/* pid << 32 | tid -> id in @strings */
};

void info_times_init(struct info_times *it, uint64_t start, struct intern *strings);
void info_times_fini(struct info_times *it);
/* A thread's name. Events of cpu_times.h go to it->times. */
void info_times_name(struct info_times *it, uint32_t pid, uint32_t tid, const char *comm);
/* After the last event. */
void info_times_end(struct info_times *it);

/* Nothing if the recording has no switches. */
void info_times_text(const struct info_times *it, FILE *to);
/* Writes "cpu_times" into the open object. */
void info_times_json(const struct info_times *it, struct json *j);

#endif
