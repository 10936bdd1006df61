/*
 * The only module that opens files of profiled processes, and reads their memory. Containers are
 * hostile: openat2(2) resolves paths below the process's root with RESOLVE_IN_ROOT |
 * RESOLVE_NO_MAGICLINKS. Files are opened with O_NONBLOCK | O_CLOEXEC | O_NOCTTY, and only regular
 * files are returned. No setns, no concatenated paths.
 *
 * Their file systems may never answer. So, once opener_start() was called, all this is done in
 * another process, and -ETIMEDOUT says that it had to be left behind (opener.h). What is returned
 * never waits for a file system, not even at close(2): if that may not answer, a file comes as O_PATH
 * descriptor. nsopen_stat(), nsopen_copy() and nsopen_slurp() take both kinds. No other call may touch
 * a descriptor from here.
 */
#ifndef NSPROF_NSOPEN_H
#define NSPROF_NSOPEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * The folder where /proc of the recorded host is mounted ("--proc DIR"). Default "/proc". Borrowed.
 * Call it before opener_start().
 */
void nsopen_set_proc(const char *dir);
/*
 * Option callback for nsopen_set_proc() (opt.h; @unused). @dir must be a folder. 0, or -EINVAL
 * after a message.
 */
int nsopen_use_proc(void *unused, const char *dir);
const char *nsopen_proc(void);

/* ---- of /proc; these never wait ---- */

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
 * nsopen_process_file(): O_RDONLY fd of file @name in /proc/PID, fixed by the caller. Only for those
 * that need no memory of the process: "stat", "status", "cgroup", "comm", "mountinfo".
 * nsopen_process_root(): O_PATH fd of the process's root folder, through another thread if the
 * first one has ended.
 */
int nsopen_process_file(int procfd, const char *name);
int nsopen_process_root(int procfd);
/* O_PATH fd of /proc/PID/root, or negative errno. */
int nsopen_root(uint32_t pid);
/* O_PATH fd of the host's own root folder. */
int nsopen_host_root(void);
/* As nsopen_process_file(). */
int nsopen_procfile(uint32_t pid, const char *name);

/* ---- of processes ---- */

/*
 * The text of "maps", "cmdline" and other files of /proc/PID that need the process's memory, which
 * its owner can keep locked. As nsopen_slurp(). @len may be NULL.
 */
char *nsopen_text(int procfd, const char *name, size_t max, size_t *len, int *err);
/* Reads memory at @addr, as much as is readable in a row. Bytes, or negative errno. */
ssize_t nsopen_memory(int procfd, uint64_t addr, void *buf, size_t len);

/*
 * O_PATH fd of folder @path below @rootfd. The path may be absolute or relative; symlinks stay
 * inside the root. Fills *@st (may be NULL).
 */
int nsopen_dir(int rootfd, const char *path, struct stat *st);
/*
 * O_PATH fd of a folder that the user named, as open(2) finds it. *@real: its absolute path without links,
 * owned; may be NULL.
 */
int nsopen_user_dir(const char *path, char **real);
/*
 * nsopen_dir(), but only with what the kernel remembers, without asking the file system: never waits.
 * -EAGAIN: not remembered.
 */
int nsopen_dir_cached(int rootfd, const char *path);
/*
 * Calls @fn for each name in folder @path below @rootfd until it returns false. @type: DT_*. At most
 * @max bytes of names. 0 or negative errno.
 */
int nsopen_list(int rootfd, const char *path, size_t max, bool (*fn)(void *ctx, const char *name, int type), void *ctx);
/*
 * A regular file @path below @rootfd. Negative errno; -EINVAL: not a regular file; -EFBIG: larger
 * than @max_size bytes (0 = no cap). Fills *@st (may be NULL).
 */
int nsopen_file(int rootfd, const char *path, uint64_t max_size, struct stat *st);
/*
 * The first that exists of several, from number *@i on, which becomes its number. @paths: @len bytes, a
 * NUL after each: absolute ones are below @rootfd, others in folder @dirfd; either fd may be negative.
 */
int nsopen_first(int rootfd, int dirfd, const char *paths, size_t len, unsigned int *i, struct stat *st);
/*
 * A regular file that the process at @procfd holds open, wherever it is: the first one called @base
 * ("perf-7.map"), deleted or not, among the lowest descriptors. -ENOENT: none; otherwise like
 * nsopen_file() without a cap.
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

/* ---- what can be done with a descriptor ---- */

/* fstat(2). 0 or negative errno. */
int nsopen_stat(int fd, struct stat *st);
/* The type of its file system, as in <linux/magic.h>. 0 or negative errno. */
int nsopen_fs_type(int fd, uint64_t *type);
/* nsopen_stat() for @path below folder @dirfd; follows no link at its end. */
int nsopen_lstat(int dirfd, const char *path, struct stat *st);
/*
 * A descriptor with the same bytes to read, owned: @fd itself duplicated, or a copy of the file in
 * memory. -EFBIG: the copy would have more than @max bytes.
 */
int nsopen_copy(int fd, uint64_t max);
/*
 * The same with only the first and last @ends bytes of the file, and zeros in between. The size is the
 * file's.
 */
int nsopen_copy_ends(int fd, uint64_t ends);
/*
 * The same with some parts of the file, at most @max bytes in all, and zeros in between. The first is
 * [0, @first). Then @next is asked for one more until it has none, and may read and change the @copy.
 */
typedef bool (*nsopen_part_fn)(void *ctx, int copy, uint64_t *from, uint64_t *to);
int nsopen_copy_parts(int fd, uint64_t max, uint64_t first, nsopen_part_fn next, void *ctx);
/* Is @fd one whose file system may not answer? nsopen_copy() then makes a copy. */
bool nsopen_is_remote(int fd);
/*
 * The whole file, at most @max bytes, NUL-terminated and owned by the caller. NULL with *@err
 * negative. Also for descriptors that are not from here.
 */
char *nsopen_slurp(int fd, size_t max, size_t *len, int *err);
/* close(2) that does not wait even if it unmounts the file system. */
void nsopen_close(int fd);

/* Tells an open file or folder from others for as long as it is held, without asking its file system. */
struct nsopen_place {
	uint64_t mount, ino;
};
/* False: not available (before Linux 5.14). */
bool nsopen_place(int fd, struct nsopen_place *p);

#endif
