/* Our pid namespace. The kernel numbers the processes in samples by it. */
#ifndef NSPROF_PIDNS_H
#define NSPROF_PIDNS_H

#include <stdbool.h>

/*
 * Are we in the host's pid namespace, in which every process has a pid? In any other,
 * samples of processes outside of it have pid 0, like an idle CPU. True if /proc does not tell.
 */
bool pidns_is_first(void);

/*
 * Does nsopen_proc() number processes as samples do? 0; -EXDEV after a message: it belongs to
 * another namespace, where the same pids are other processes; -ENOENT after a message: it is not a
 * /proc, or does not know us; -EPERM after a message: a user with file capabilities chose it.
 */
int pidns_check_proc(void);

#endif
