/* Running the other programs of nsprof: found beside the running executable, otherwise in PATH. */
#ifndef NSPROF_SIBLING_H
#define NSPROF_SIBLING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Executes the program @name ("nsprof-record") in place of this one, with argv[0] set to it. The
 * one beside this executable comes first, so that a build tree or an unpacked archive runs its own
 * programs. Returns only on failure: -errno, no message.
 */
int sibling_exec(const char *name, char **argv);
/*
 * Like sibling_exec(), for a program that does a part of our work: its messages carry our name
 * (log_init_for()).
 */
int sibling_exec_as_us(const char *name, char **argv);

/*
 * Runs "@name @arg" and stores the first @size - 1 bytes of its output, NUL-terminated, in @buf.
 * False if it cannot be run or fails. Its messages on stderr are not captured.
 */
bool sibling_output(const char *name, const char *arg, char *buf, size_t size);

#endif
