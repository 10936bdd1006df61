/* Files and folders that a program opens while it has the right to, and reads later (parser.h). */
#ifndef NSPROF_KEPT_H
#define NSPROF_KEPT_H

#include <stdbool.h>

/*
 * Opens file @path (borrowed) to read it. What cannot be opened will not be found by kept_open(), either.
 * Before threads start.
 */
void kept_add(const char *path);
/* The same for @fd, which is taken: a file to read, a folder as O_PATH, or negative errno. */
void kept_hold(const char *path, int fd);
/*
 * fd of @path, owned by the caller; negative errno. Opens it now if it was not kept. Descriptors of
 * one file share their position: use pread(2), or kept_open() in one thread only, which sets it to 0.
 */
int kept_open(const char *path, bool folder);

#endif
