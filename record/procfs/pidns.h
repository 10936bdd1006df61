/* Which pid namespace we are in: the kernel numbers the processes in samples by it. */
#ifndef NSPROF_PIDNS_H
#define NSPROF_PIDNS_H

#include <stdbool.h>

/*
 * The first one of the machine, in which every process has a number. Of those outside of any other samples say pid 0, as
 * of an idle CPU. True when /proc does not tell.
 */
bool pidns_is_first(void);

/*
 * Does nsopen_proc() number processes as samples do? 0; -EXDEV after a message when it is the one of another namespace,
 * where the same numbers are other processes'; -ENOENT after a message when it is no /proc, or one that does not know us.
 */
int pidns_check_proc(void);

#endif
