/*
 * A bounds-checked reader over untrusted bytes. The first read past the end sets a sticky error.
 * Every later read returns 0 or NULL, so a caller may read a whole record and test once.
 */
#ifndef NSPROF_CURSOR_H
#define NSPROF_CURSOR_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *base;	/* borrowed */
	size_t size;
	size_t pos;
	bool bad;
};

void cursor_init(struct cursor *c, const void *data, size_t size);

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->bad;
}

/* 0 once the cursor is bad, so that "while (cursor_left())" ends. */
static inline size_t cursor_left(const struct cursor *c)
{
	return c->bad ? 0 : c->size - c->pos;
}

/*
 * @len bytes in place, or NULL. Borrowed from the underlying data. @len is compared with the bytes
 * left and never added to anything, because it may be near SIZE_MAX.
 */
static inline const void *cursor_bytes(struct cursor *c, size_t len)
{
	const uint8_t *p;

	/* Without data there is nothing to point at, not even for a length of 0. */
	if (!c->base || len > cursor_left(c))
		c->bad = true;
	if (c->bad)
		return NULL;
	p = c->base + c->pos;
	c->pos += len;
	return p;
}

/* Little endian, here and in all readers below. */
static inline uint8_t cursor_u8(struct cursor *c)
{
	const uint8_t *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

static inline uint16_t cursor_u16(struct cursor *c)
{
	const void *p = cursor_bytes(c, sizeof(uint16_t));
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le16toh(v);
}

static inline uint32_t cursor_u32(struct cursor *c)
{
	const void *p = cursor_bytes(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static inline uint64_t cursor_u64(struct cursor *c)
{
	const void *p = cursor_bytes(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

uint64_t cursor_varint(struct cursor *c);	/* LEB128; more than 10 bytes is bad */
int64_t cursor_svarint(struct cursor *c);
/* A NUL-terminated string in place, or NULL; the terminator is consumed. */
const char *cursor_cstr(struct cursor *c);
void cursor_skip(struct cursor *c, size_t len);

#endif
