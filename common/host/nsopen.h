/*
 * The one module that opens files which belong to a profiled process. Containers are hostile: paths
 * are resolved with openat2(2) RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS below the process's root, opened
 * O_NONBLOCK | O_CLOEXEC | O_NOCTTY, and only regular files come back. No setns, no glued path strings.
 */
#ifndef NSPROF_NSOPEN_H
#define NSPROF_NSOPEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Where /proc of the recorded host is seen ("--proc DIR"). Default "/proc". Borrowed. */
void nsopen_set_proc(const char *dir);
/* The same as the call of an option (opt.h; @unused), which has to name a folder. 0, or -EINVAL after a message. */
int nsopen_use_proc(void *unused, const char *dir);
const char *nsopen_proc(void);

/*
 * O_PATH fd of /proc/PID, or negative errno. What is opened or read below it is that process's, or fails once
 * it has been reaped: never that of another one with its pid (proc_pid_lookup() keeps a struct pid).
 */
int nsopen_process(uint32_t pid);
/*
 * Of a process whose first thread has ended /proc/PID tells no more than stat, status and cgroup: memory, root and namespaces are
 * those of the threads that live on. O_PATH fd of the directory of one of them, or negative errno; -ESRCH: there is none.
 */
int nsopen_other_thread(int procfd);
/* O_RDONLY fd of file @name in it, fixed by the caller ("stat"); O_PATH fd of its root directory,
 * that of another thread where the first one has ended. */
int nsopen_process_file(int procfd, const char *name);
int nsopen_process_root(int procfd);
/* O_PATH fd of /proc/PID/root, or negative errno. */
int nsopen_root(uint32_t pid);
/* O_PATH fd of the host's own root directory. */
int nsopen_host_root(void);
/* O_PATH fd of directory @path below @rootfd (absolute or relative, symlinks inside the root). */
int nsopen_dir(int rootfd, const char *path);
/* O_RDONLY fd of regular file @path below @rootfd. Negative errno; -EINVAL: not a regular file;
 * -EFBIG: larger than @max_size bytes (0 = no cap). *@st (may be NULL) is filled. */
int nsopen_file(int rootfd, const char *path, uint64_t max_size, struct stat *st);
/*
 * O_RDONLY fd of a regular file that the process at @procfd has open, wherever it lies: the first one called @base
 * ("perf-7.map"), removed or not, among its lowest descriptors. -ENOENT: none; else as nsopen_file() without a cap.
 */
int nsopen_held(int procfd, const char *base, struct stat *st);
/* The file behind a live mapping, through /proc/PID/map_files/START-END: works for deleted and replaced
 * files. Needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE. */
int nsopen_mapping(uint32_t pid, uint64_t start, uint64_t end, struct stat *st);
/*
 * The same of whatever mapping has @addr in it by now. Where a program has its code in its first segment, the kernel tells it as long as all
 * segments together, before the others take their parts of it; and parts with other rights become mappings of their own. -ENOENT: no file.
 */
int nsopen_mapping_at(uint32_t pid, uint64_t addr, struct stat *st);
/* O_RDONLY fd of /proc/PID/NAME, NAME fixed by the caller ("maps", "stat", "cgroup"). */
int nsopen_procfile(uint32_t pid, const char *name);
/* Whole file of at most @max bytes, NUL-terminated, owned by the caller; NULL with *@err negative. */
char *nsopen_slurp(int fd, size_t max, size_t *len, int *err);

#endif
