#include "import/perfdata_cursor.h"

#include <string.h>

const uint8_t *perfdata_bytes(struct perfdata_cursor *c, uint64_t len)
{
	const uint8_t *p = c->p;

	if (c->bad || len > (uint64_t)(c->end - c->p)) {
		c->bad = true;
		return NULL;
	}
	c->p += len;
	return p;
}

uint16_t perfdata_u16(struct perfdata_cursor *c)
{
	const uint8_t *p = perfdata_bytes(c, sizeof(uint16_t));
	uint16_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap16(v) : v;
}

uint32_t perfdata_u32(struct perfdata_cursor *c)
{
	const uint8_t *p = perfdata_bytes(c, sizeof(uint32_t));
	uint32_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap32(v) : v;
}

uint64_t perfdata_u64(struct perfdata_cursor *c)
{
	const uint8_t *p = perfdata_bytes(c, sizeof(uint64_t));
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, sizeof(v));
	return c->swap ? __builtin_bswap64(v) : v;
}

const char *perfdata_cstr(struct perfdata_cursor *c)
{
	const uint8_t *p = c->p;
	size_t len = c->bad ? 0 : strnlen((const char *)p, (size_t)(c->end - p));

	return perfdata_bytes(c, len + 1) ? (const char *)p : NULL;
}
