/*
 * Is a process of the recording still there to be asked? A pid is only a number: after the process
 * it belongs to whoever comes next, and on another host it means nothing at all.
 */
#ifndef NSPROF_PROCESS_ALIVE_H
#define NSPROF_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

struct rec_reader;

/*
 * Decide whether this host, in this boot, is the recorded one: by the boot id, else by the host
 * name. Called once after the recording is open. Until then no process counts as alive.
 */
void alive_init(const struct rec_reader *r);
/*
 * The recording was made in this very boot, proven by the boot id: kernel addresses mean the same.
 */
bool alive_same_boot(void);
/* The recording was made on this host as far as can be told: pids and inodes may be asked about. */
bool alive_same_host(void);

/*
 * 0 when @pid is still the process that started at @start_ticks (field 22 of /proc/PID/stat);
 * -EXDEV: recorded on another host or before a reboot; -ESRCH: gone; -ESTALE: the pid is another
 * process's now; -ENODATA: some process has the pid, but the recording holds no start time to tell.
 */
int alive_check(uint32_t pid, uint64_t start_ticks);
/* Why in words, for a negative value of alive_check(). Static. */
const char *alive_why(int err);

/*
 * Is mount namespace @mnt_ns (inode, from the recording) the one that nsopen_host_root() lies in?
 */
bool alive_own_mnt_ns(uint64_t mnt_ns);

#endif
