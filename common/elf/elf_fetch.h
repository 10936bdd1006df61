/*
 * ELF files of file systems that may not answer, read with nsopen_copy(). If a file is too large
 * for that, only the parts that names, rows and code come from.
 */
#ifndef NSPROF_ELF_FETCH_H
#define NSPROF_ELF_FETCH_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As nsopen_copy(), for a file that is expected to be ELF. *@part: it has more than @max bytes, and
 * the copy has no debug info. -EFBIG: those parts have more, too.
 */
int elf_fetch(int fd, uint64_t max, bool *part);

#endif
