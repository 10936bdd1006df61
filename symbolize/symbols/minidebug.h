/*
 * MiniDebugInfo: a small, compressed ELF file with a symbol table in a section of a stripped
 * binary.
 */
#ifndef NSPROF_MINIDEBUG_H
#define NSPROF_MINIDEBUG_H

#include <stddef.h>

struct elf_file;

/*
 * Opens the ELF file in .gnu_debugdata of @ef. 0: *@out, and in *@mem the bytes it reads (free them
 * after closing *@out), both owned by the caller. -ENOENT: no such section. -EBADMSG: not xz, or
 * damaged. -EFBIG: unpacked size, or memory needed to unpack, above 256 MiB. No message.
 */
int minidebug_open(struct elf_file *ef, struct elf_file **out, void **mem);

#endif
