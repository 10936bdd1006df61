/*
 * System calls that the parts of the opener share: opening below a root, reading a whole file, and
 * where /proc is. They may wait for a file system without end: everything else uses nsopen.
 */
#ifndef NSPROF_RAWOPEN_H
#define NSPROF_RAWOPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Flag of rawopen_below(): only with what the kernel remembers, which never waits; otherwise -EAGAIN. Linux 5.12. */
#define RAWOPEN_CACHED 0x20	/* RESOLVE_CACHED */

/* As nsopen_set_proc(). Call it before opener_start(). */
void rawopen_set_proc(const char *dir);
const char *rawopen_proc(void);
/*
 * openat2(2) below @rootfd: no link and no ".." leads out of it. @flags: O_CLOEXEC is added.
 * @resolve: more RESOLVE_* flags. Negative errno; -ENOSYS (a kernel before 5.6, or a seccomp profile
 * that does not know the call): no other call keeps a hostile link inside the root.
 */
int rawopen_below(int rootfd, const char *path, int flags, uint64_t resolve);
/* openat(2) of @name, fixed by the caller, in @dirfd. Negative errno. */
int rawopen_at(int dirfd, const char *name, int flags);
/* What the kernel says about our descriptor @fd, without asking its file system: "pos:\t0\n...". */
bool rawopen_fdinfo(int fd, char *text, size_t size);
/* The whole of @fd, at most @max bytes, with a NUL behind it; owned. NULL with *@err negative. */
char *rawopen_slurp(int fd, size_t max, size_t *len, int *err);

#endif
