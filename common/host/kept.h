/* Files and folders that a program opens while it may, and reads when it no longer may (parser.h). */
#ifndef NSPROF_KEPT_H
#define NSPROF_KEPT_H

#include <stdbool.h>

/*
 * Opens @path (borrowed): a file to read, or with @folder a folder as O_PATH. What cannot be opened
 * will not be found by kept_open(), either. Before threads start.
 */
void kept_add(const char *path, bool folder);
/*
 * fd of @path, owned by the caller; negative errno. Opens it now if it was not kept. Descriptors of
 * one file share their position: use pread(2), or kept_open() in one thread only, which sets it to 0.
 */
int kept_open(const char *path, bool folder);

#endif
