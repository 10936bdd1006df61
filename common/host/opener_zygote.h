/*
 * The zygote: a child without memory, files or threads worth mentioning, which forks openers. It
 * never touches a file system, so it always answers.
 */
#ifndef NSPROF_OPENER_ZYGOTE_H
#define NSPROF_OPENER_ZYGOTE_H

#include <stdbool.h>
#include <sys/types.h>

/* Starts it. The socket to it, or negative errno; *@pid. @confined: see opener_start(). */
int zygote_start(pid_t *pid, bool confined);

#endif
