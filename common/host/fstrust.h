/*
 * Which file systems answer by themselves. Those on a local disk or in memory do. A server behind
 * FUSE, NFS or 9p may stop answering, and then every operation on its files waits without end, even
 * close(2): FUSE tells its server of each. An overlay is as good as its layers.
 */
#ifndef NSPROF_FSTRUST_H
#define NSPROF_FSTRUST_H

#include <stdbool.h>
#include <sys/stat.h>

/*
 * Does the file system of @fd, with attributes @st, answer by itself? @rootfd: the root of its
 * process, or -1; a file on an overlay of several file systems shows a device of its own, and is
 * judged by the root if that is the same mount. May itself wait for the file system.
 */
bool fstrust_answers(int fd, const struct stat *st, int rootfd);

#endif
