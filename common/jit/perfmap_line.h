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
 * First line of a captured map if processes of other containers write to the same file and may have
 * code at the same addresses. The names that the recorder captured are certain. Other names in the
 * file, and names added later, are not.
 */
#define PERFMAP_SHARED "# shared"

/*
 * Begins the only line of a captured map if there was a map or jitdump that the recorder did not
 * use. The reason follows: printable ASCII, at most PERFMAP_REFUSED_MAX bytes.
 */
#define PERFMAP_REFUSED "# refused: "
#define PERFMAP_REFUSED_MAX 200u

/*
 * Parses @p, @len bytes without the newline. False if it is not such a line. Code of size 0, such
 * as a stub of unknown size, is taken as one byte.
 */
bool perfmap_line(const char *p, size_t len, struct perfmap_line *out);

#endif
