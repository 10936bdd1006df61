/* Reads bytes of a perf.data in its byte order. */
#ifndef NSPROF_PERFDATA_CURSOR_H
#define NSPROF_PERFDATA_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A cursor over bytes in the file's byte order. Reading past the end sets @bad and returns 0, as in
 * cursor.h.
 */
struct perfdata_cursor {
	const uint8_t *p, *end;
	bool swap, bad;
};

uint16_t perfdata_u16(struct perfdata_cursor *c);
uint32_t perfdata_u32(struct perfdata_cursor *c);
uint64_t perfdata_u64(struct perfdata_cursor *c);
/* @len bytes in place, or NULL. */
const uint8_t *perfdata_bytes(struct perfdata_cursor *c, uint64_t len);
/*
 * A string in place, terminated by a NUL before the cursor's end, or NULL. Does not skip the
 * padding after the NUL.
 */
const char *perfdata_cstr(struct perfdata_cursor *c);

#endif
