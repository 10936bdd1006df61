/*
 * Is a process of the recording still alive, so that its memory and files can be read? A pid alone
 * proves nothing: another process gets it later, and on another host it means nothing at all.
 */
#ifndef NSPROF_PROCESS_ALIVE_H
#define NSPROF_PROCESS_ALIVE_H

#include <stdbool.h>
#include <stdint.h>

struct rec_reader;

/*
 * Decides whether this boot of this host is the recorded one, by the boot id, or by the host name
 * if there is no boot id. Call it once after opening the recording. Until then no process counts as
 * alive.
 */
void alive_init(const struct rec_reader *r);
/*
 * The recording was made in this boot, proven by the boot id, so kernel addresses are still valid.
 */
bool alive_same_boot(void);
/*
 * The recording was made on this host, as far as is known, so its pids and inodes can be looked up.
 */
bool alive_same_host(void);

/*
 * 0: @pid is still the process that started at @start_ticks (field 22 of /proc/PID/stat). -EXDEV:
 * recorded on another host or before a reboot. -ESRCH: the process is gone. -ESTALE: another
 * process has the pid now. -ENODATA: a process has the pid, but the recording has no start time to
 * compare.
 */
int alive_check(uint32_t pid, uint64_t start_ticks);
/* The reason in words, for a negative value of alive_check(). Static. */
const char *alive_why(int err);

/* Is mount namespace @mnt_ns (inode number, from the recording) the one of nsopen_host_root()? */
bool alive_own_mnt_ns(uint64_t mnt_ns);

/* Reads what alive_own_mnt_ns() compares with, for a program that gives up its rights. */
void alive_prepare(void);

#endif
