/*
 * Internals of disasm. It has two files because a name is defined both by capstone and by our
 * decoder.
 */
#ifndef NSPROF_DISASM_PRIV_H
#define NSPROF_DISASM_PRIV_H

#include <stddef.h>
#include <stdint.h>

/*
 * Size in bytes of an x86-64 instruction that capstone does not know, data[0..size); 1 if it is
 * unknown here, too.
 */
uint32_t disasm_unknown_size(const uint8_t *data, size_t size, uint64_t svma);

#endif
