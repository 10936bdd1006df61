/*
 * Where the separate debug file of a binary may lie. The only builder of such paths. Works below any
 * root, so that the same code serves the recorder (the container's root while it lives), the
 * symbolizer (container or host).
 */
#ifndef NSPROF_DEBUGFILE_H
#define NSPROF_DEBUGFILE_H

#include <stddef.h>
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

/*
 * The same in another folder than /usr/lib/debug, @dir (absolute, below @rootfd), and nowhere else:
 * .build-id/ab/cdef.debug there, then the debuglink's name below the binary's folder there, and in
 * @dir itself.
 */
int debugfile_find_in(int rootfd, const char *dir, const char *path, struct elf_file *ef,
		      const char **why);

/*
 * The file into which dwz(1) has moved what several debug files have in common, as .gnu_debugaltlink
 * of @ef names it. The build-id in the link is the proof. Candidates below @rootfd, with @dir as
 * above (NULL: /usr/lib/debug): in @dir .build-id/ab/cdef.debug, what the link states from .dwz/ on and
 * .dwz/NAME; the path the link states, if absolute, else from the folder of @binary on, which is the path of @ef
 * below the root, NULL when it is a debug file. Returns an owned fd, or -ENOENT.
 */
int debugfile_find_alt(int rootfd, const char *dir, const char *binary, struct elf_file *ef);
/* Build-id in the link of @ef, length in bytes; 0 when there is no sound link. */
size_t debugfile_alt_id(struct elf_file *ef, uint8_t out[20]);

#endif
