/*
 * MiniDebugInfo: a small ELF file with a symbol table, compressed in a section of a stripped
 * binary.
 */
#ifndef NSPROF_MINIDEBUG_H
#define NSPROF_MINIDEBUG_H

#include <stddef.h>

struct elf_file;

/*
 * The ELF file in .gnu_debugdata of @ef. 0 with *@out and the bytes it lies in, *@mem (to be freed
 * after *@out is closed), both owned by the caller. -ENOENT: no such section. -EBADMSG: not xz, or
 * damaged. -EFBIG: more than 256 MiB when unpacked, or more than that needed to unpack it. No
 * message.
 */
int minidebug_open(struct elf_file *ef, struct elf_file **out, void **mem);

#endif
