/*
 * The only module that opens files of profiled processes. Containers are hostile: openat2(2)
 * resolves paths below the process's root with RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS. Files are
 * opened with O_NONBLOCK | O_CLOEXEC | O_NOCTTY, and only regular files are returned. No setns, no
 * concatenated paths.
 */
#ifndef NSPROF_NSOPEN_H
#define NSPROF_NSOPEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The folder where /proc of the recorded host is mounted ("--proc DIR"). Default "/proc". Borrowed.
 */
void nsopen_set_proc(const char *dir);
/*
 * Option callback for nsopen_set_proc() (opt.h; @unused). @dir must be a folder. 0, or -EINVAL
 * after a message.
 */
int nsopen_use_proc(void *unused, const char *dir);
const char *nsopen_proc(void);

/*
 * O_PATH fd of /proc/PID, or negative errno. Files opened or read below it belong to that process.
 * Once it has been reaped, this fails and never reaches another process with the same pid
 * (proc_pid_lookup() keeps a struct pid).
 */
int nsopen_process(uint32_t pid);
/*
 * For a process whose first thread has ended, /proc/PID only has stat, status and cgroup. Memory,
 * root and namespaces are found at the threads that are still alive. O_PATH fd of the folder of one
 * of them, or negative errno; -ESRCH: there is none.
 */
int nsopen_other_thread(int procfd);
/*
 * nsopen_process_file(): O_RDONLY fd of file @name ("stat") in /proc/PID, fixed by the caller.
 * nsopen_process_root(): O_PATH fd of the process's root folder, through another thread if the
 * first one has ended.
 */
int nsopen_process_file(int procfd, const char *name);
int nsopen_process_root(int procfd);
/* O_PATH fd of /proc/PID/root, or negative errno. */
int nsopen_root(uint32_t pid);
/* O_PATH fd of the host's own root folder. */
int nsopen_host_root(void);
/*
 * O_PATH fd of folder @path below @rootfd. The path may be absolute or relative; symlinks stay
 * inside the root.
 */
int nsopen_dir(int rootfd, const char *path);
/*
 * O_RDONLY fd of regular file @path below @rootfd. Negative errno; -EINVAL: not a regular file;
 * -EFBIG: larger than @max_size bytes (0 = no cap). Fills *@st (may be NULL).
 */
int nsopen_file(int rootfd, const char *path, uint64_t max_size, struct stat *st);
/*
 * O_RDONLY fd of a regular file that the process at @procfd holds open, wherever it is: the first
 * one called @base ("perf-7.map"), deleted or not, among the lowest descriptors. -ENOENT: none;
 * otherwise like nsopen_file() without a cap.
 */
int nsopen_held(int procfd, const char *base, struct stat *st);
/*
 * The file behind a live mapping, through /proc/PID/map_files/START-END. This works for deleted and
 * replaced files too. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
 */
int nsopen_mapping(uint32_t pid, uint64_t start, uint64_t end, struct stat *st);
/*
 * Like nsopen_mapping(), for the mapping that contains @addr now. Its bounds may differ from those
 * reported earlier: if a program's code is in its first segment, the kernel first maps that segment
 * as long as all segments together. The other segments then replace their parts of it, and parts
 * with other permissions become separate mappings. -ENOENT: no file.
 */
int nsopen_mapping_at(uint32_t pid, uint64_t addr, struct stat *st);
/* O_RDONLY fd of /proc/PID/NAME, NAME fixed by the caller ("maps", "stat", "cgroup"). */
int nsopen_procfile(uint32_t pid, const char *name);
/*
 * The whole file, at most @max bytes, NUL-terminated and owned by the caller. NULL with *@err
 * negative.
 */
char *nsopen_slurp(int fd, size_t max, size_t *len, int *err);

#endif
