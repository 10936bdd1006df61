/* CRC-32C (Castagnoli), RFC 3720 appendix B.4: reflected polynomial 0x82f63b78. */
#ifndef NSPROF_CRC32C_H
#define NSPROF_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Start with @crc 0 and pass the result back in to continue. Cannot fail. */
uint32_t crc32c(uint32_t crc, const void *data, size_t len);
/* The same, for any CPU. */
uint32_t crc32c_by_table(uint32_t crc, const void *data, size_t len);

#endif
