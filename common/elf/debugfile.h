/*
 * Finds the separate debug file of a binary. No other code builds such paths. It works below any
 * root, so the recorder (the container's root while it lives) and the symbolizer (container or
 * host) share it.
 */
#ifndef NSPROF_DEBUGFILE_H
#define NSPROF_DEBUGFILE_H

#include <stddef.h>
#include <stdint.h>

struct elf_file;

/*
 * Open a file below @rootfd that has .symtab or .debug_info and provably belongs to @ef: it has the
 * same build-id or, when @ef has none, the CRC of its debuglink. Candidates in order:
 * /usr/lib/debug/.build-id/ab/cdef.debug, then the debuglink's name in the binary's folder, in
 * .debug/ there, and below /usr/lib/debug. @path: the binary's path below the root. Returns an
 * owned O_RDONLY fd, or -ENOENT. If only unusable candidates existed, *@why (@why may be NULL) is
 * set to a static string ("build-id of the debug file differs").
 */
int debugfile_find(int rootfd, const char *path, struct elf_file *ef, const char **why);

/*
 * The same, but only in @dir (absolute, below @rootfd) instead of /usr/lib/debug. Candidates:
 * .build-id/ab/cdef.debug in @dir, then the debuglink's name below the binary's folder in @dir, and
 * in @dir itself.
 */
int debugfile_find_in(int rootfd, const char *dir, const char *path, struct elf_file *ef,
		      const char **why);

/*
 * Open the file that .gnu_debugaltlink of @ef names: dwz(1) moves into it what several debug files
 * have in common. It must have the build-id in the link. Candidates below @rootfd, with @dir as
 * above (NULL: /usr/lib/debug): .build-id/ab/cdef.debug in @dir; in @dir, the link's path from
 * .dwz/ on and .dwz/NAME; the link's path itself, if absolute, else relative to the folder of
 * @binary. @binary is the path of @ef below the root, or NULL when @ef is a debug file. Returns an
 * owned fd, or -ENOENT; then *@why says why a candidate was not used, or is NULL.
 */
int debugfile_find_alt(int rootfd, const char *dir, const char *binary, struct elf_file *ef, const char **why);
/* Copies the build-id in the link of @ef. Its length in bytes; 0 when there is no valid link. */
size_t debugfile_alt_id(struct elf_file *ef, uint8_t out[20]);

#endif
