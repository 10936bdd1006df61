/*
 * One line of a /tmp/perf-PID.map: "START SIZE name", both numbers hexadecimal with 0x or without,
 * the name to the end of the line (Linux, tools/perf/Documentation/jit-interface.txt).
 */
#ifndef NSPROF_PERFMAP_LINE_H
#define NSPROF_PERFMAP_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfmap_line {
	uint64_t start, end;	/* runtime addresses [start, end), never empty */
	const char *name;	/* in the line, not terminated; may hold blanks */
	size_t name_len;	/* 1 and up */
};

/*
 * What the recorder captured begins with this line if processes of other containers write to the same file, and code of theirs
 * may be at the same addresses: what it took is certain, and what else is in the file, or comes later, is not.
 */
#define PERFMAP_SHARED "# shared"

/*
 * @p: @len bytes without the newline. False when it is no such line. Code of size 0, as of a stub
 * nobody measured, is known to be at its first byte and no further.
 */
bool perfmap_line(const char *p, size_t len, struct perfmap_line *out);

#endif
