/*
 * Where the separate debug file of a binary may lie. The only builder of such paths. Works below any
 * root, so that the same code serves the recorder (the container's root while it lives), the
 * symbolizer (container or host).
 */
#ifndef NSPROF_DEBUGFILE_H
#define NSPROF_DEBUGFILE_H

#include <stdint.h>

struct elf_file;

/*
 * A file below @rootfd that has .symtab or .debug_info and proves to belong to @ef: same build-id, or,
 * when @ef has none, the CRC of its debuglink. Candidates in order: /usr/lib/debug/.build-id/ab/cdef.debug,
 * then the debuglink's name in the binary's folder, in .debug/ there, and below /usr/lib/debug. @path: the
 * binary's path below the root. Returns an owned O_RDONLY fd, or -ENOENT. *@why (may be NULL) gets a
 * static string when candidates existed but did not prove ("build-id differs").
 */
int debugfile_find(int rootfd, const char *path, struct elf_file *ef, const char **why);

#endif
