/*
 * A bounds-checked reader over bytes we do not trust. The first read past the end sets a sticky
 * error; every read after it gives 0 or NULL, so a caller may read a whole record and test once.
 */
#ifndef NSPROF_CURSOR_H
#define NSPROF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *base;	/* borrowed */
	size_t size;
	size_t pos;
	bool bad;
};

void cursor_init(struct cursor *c, const void *data, size_t size);
bool cursor_ok(const struct cursor *c);
size_t cursor_left(const struct cursor *c);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);	/* little endian, as all below */
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
uint64_t cursor_varint(struct cursor *c);	/* LEB128; more than 10 bytes is bad */
int64_t cursor_svarint(struct cursor *c);
/* @len bytes in place, or NULL. Borrowed from the underlying data. */
const void *cursor_bytes(struct cursor *c, size_t len);
/* A NUL-terminated string in place, or NULL; the terminator is consumed. */
const char *cursor_cstr(struct cursor *c);
void cursor_skip(struct cursor *c, size_t len);

#endif
