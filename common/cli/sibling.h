/* The other programs of nsprof: found beside the running executable, else in PATH. */
#ifndef NSPROF_SIBLING_H
#define NSPROF_SIBLING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Become the program @name ("nsprof-record"); argv[0] is set to it. The one beside this executable comes
 * first, so that a build tree or an unpacked archive runs its own. Returns only on failure: -errno, no
 * message.
 */
int sibling_exec(const char *name, char **argv);
/* As sibling_exec(), for a program that does a part of our work: its messages carry our name (log_init_for()). */
int sibling_exec_as_us(const char *name, char **argv);

/*
 * Run "@name @arg" and keep the first @size - 1 bytes it prints, NUL-terminated, in @buf. False when it
 * cannot be run or fails; its messages on stderr are left alone.
 */
bool sibling_output(const char *name, const char *arg, char *buf, size_t size);

#endif
