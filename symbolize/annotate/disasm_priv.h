/* Inside of disasm: its two files cannot be one, since capstone and our own decoder have a name in common. */
#ifndef NSPROF_DISASM_PRIV_H
#define NSPROF_DISASM_PRIV_H

#include <stddef.h>
#include <stdint.h>

/* How many bytes the x86-64 instruction at @svma has that capstone does not know, data[0..size): 1 where we do not either. */
uint32_t disasm_unknown_size(const uint8_t *data, size_t size, uint64_t svma);

#endif
