/*
 * Openers: processes for operations that may wait without end (fileop.h), so that the program never
 * does. If one gives no answer in time, it is killed and left behind, and another takes its place
 * (contrib/doc/opener.md). nsopen is the interface for everything else.
 */
#ifndef NSPROF_OPENER_H
#define NSPROF_OPENER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "host/fileop.h"

/*
 * Starts the zygote. Call it before any thread is started and any right is given up, and after
 * rawopen_set_proc(). Until then, and without it, callers do the operations themselves. @confined:
 * openers keep only the rights that reading takes. 0, or negative errno after a message.
 */
int opener_start(bool confined);
/* Ends all openers; does not wait for those that hang. */
void opener_stop(void);
/* The process that forks openers; 0 = none. */
pid_t opener_pid(void);
/* Gives openers the priority of the calling thread. @fifo: its realtime priority; 0 = none. */
void opener_take_priority(int fifo);

/* Is @pid, as our /proc shows it, the zygote or an opener of ours? */
bool opener_owns(uint32_t pid);

/*
 * As fileop_run(), in an opener if there is one. Any thread may call it. -ETIMEDOUT: the file system
 * or process did not answer, now or not long ago. -ECHILD: the zygote has ended.
 */
int opener_run(const struct fileop *op, struct fileop_result *r);
/*
 * In a parser (parser.h): the program that it belongs to does all operations, asked through @sock.
 */
void opener_through(int sock);
bool opener_is_through(void);
/*
 * Closes @fd, which may be the last descriptor of an unmounted file system, and does not wait for
 * that.
 */
void opener_close(int fd);

#endif
