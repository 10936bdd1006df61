/* The file into which dwz(1) has moved what several debug files have in common. */
#ifndef NSPROF_DWZ_H
#define NSPROF_DWZ_H

struct elf_file;

/*
 * The file that .gnu_debugaltlink of @ef names by build-id, from this host's /usr/lib/debug. NULL
 * when there is no link, no file, or the file has another build-id. Owned: elf_file_close(). No
 * message.
 */
struct elf_file *dwz_open(struct elf_file *ef);

#endif
