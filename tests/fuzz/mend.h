/*
 * Makes the checksums of a recording's blocks right. Mutations would never get past them, and an
 * attacker computes them, too.
 */
#ifndef NSPROF_FUZZ_MEND_H
#define NSPROF_FUZZ_MEND_H

#include "bytes/crc32c.h"
#include "fuzz.h"
#include "recording.h"

static inline void mend(uint8_t *data, size_t size)
{
	struct rec_block_header h;

	for (size_t at = REC_HEADER_MIN; at + sizeof(h) <= size;) {
		memcpy(&h, data + at, sizeof(h));
		if (h.magic != REC_BLOCK_MAGIC || h.stored_len > size - at - sizeof(h)) {
			at++;
			continue;
		}
		h.crc = 0;
		memcpy(data + at, &h, sizeof(h));
		h.crc = crc32c(0, data + at, sizeof(h) + h.stored_len);
		memcpy(data + at, &h, sizeof(h));
		at += sizeof(h) + h.stored_len;
	}
}

#endif
