/*
 * Reads .debug_aranges (DWARF 5, 6.1.2). libdw's reader looks at the header of every unit that is
 * named there, which needs all of .debug_info unpacked.
 */
#include "dwarf/aranges.h"

#include <errno.h>
#include <stdbool.h>

#include "base/cursor.h"
#include "base/util.h"

#define VERSION 2
/* Limit per file; libxul and clang need a million. */
#define RANGES_MAX (16u << 20)

/* @wide: 8 bytes, otherwise 4. */
static uint64_t number(struct cursor *c, bool wide)
{
	return wide ? cursor_u64(c) : cursor_u32(c);
}

/* Reads the ranges of one unit. @c holds all of them but the length field. */
static bool read_unit(struct cursor *c, size_t before, bool wide, uint64_t info_size,
		      struct ranges *out)
{
	bool version = cursor_u16(c) == VERSION;
	uint64_t unit = number(c, wide), start, len;
	uint8_t addr_size = cursor_u8(c), segment_size = cursor_u8(c);

	if (!cursor_ok(c) || !version || unit >= info_size || segment_size ||
	    (addr_size != 4 && addr_size != 8))
		return false;
	/* Pairs are aligned to their size, counted from the beginning of the set. */
	cursor_skip(c, align_up(before + c->pos, 2 * addr_size) - before - c->pos);
	for (;;) {
		start = number(c, addr_size == 8);
		len = number(c, addr_size == 8);
		if (!cursor_ok(c) || out->n >= RANGES_MAX)
			return false;
		if (!start && !len)
			return true;
		/* 0 and 1 mark code that the linker dropped. */
		if (start > 1 && start + len > start)
			ranges_add(out, start, start + len, UINT32_MAX - (uint32_t)unit);
	}
}

int aranges_read(const uint8_t *data, size_t size, uint64_t info_size, struct ranges *out)
{
	struct cursor c;

	cursor_init(&c, data, size);
	if (info_size > UINT32_MAX)
		return -EINVAL;
	while (cursor_left(&c)) {
		uint64_t len = cursor_u32(&c);
		bool wide = len == UINT32_MAX;
		struct cursor unit;

		if (wide)
			len = cursor_u64(&c);
		if (!cursor_ok(&c) || len > cursor_left(&c))
			goto bad;
		cursor_init(&unit, data + c.pos, (size_t)len);
		if (!read_unit(&unit, wide ? 12 : 4, wide, info_size, out))
			goto bad;
		cursor_skip(&c, (size_t)len);
	}
	/* The highest id wins: that of the lowest offset. */
	ranges_flatten(out);
	for (size_t i = 0; i < out->n; i++)
		out->v[i].id = UINT32_MAX - out->v[i].id;
	return 0;
bad:
	ranges_fini(out);
	return -EINVAL;
}
