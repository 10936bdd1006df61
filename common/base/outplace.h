/*
 * Where an output file goes. Root writes into directories of others: /tmp, a user's home. There, others
 * can put a link, a FIFO or a file of their own in the place of the output, and get what is
 * written, or have another file overwritten. The kernel's fs.protected_* settings (proc_sys_fs(5))
 * cover a part of that, and only in sticky directories.
 *
 * A directory is safe if it belongs to root or to us, and nobody else can write to it. In any other
 * one, only links of root and of us are followed. What exists there already is used or replaced
 * only if it is ours. New files are created, never opened. All of it happens relative to the
 * directory's descriptor, so nobody can put another one in between.
 *
 * Under sudo, the user who called it (SUDO_UID) may own FIFOs, links to directories, and files that are
 * replaced. A link at the end of the path must be of root: with a rule for sudo that allows only
 * this command, it could lead to any file.
 */
#ifndef NSPROF_OUTPLACE_H
#define NSPROF_OUTPLACE_H

#include <stdbool.h>
#include <sys/stat.h>

struct outplace {
	int dir;	/* owned; O_PATH descriptor of the directory; -1 = none */
	char *name;	/* owned; the name in it, not a link that can be followed */
	char *path;	/* owned; the whole path with links at its end resolved, for messages */
	char *why;	/* owned; why the place was refused (outplace_error()) */
	bool shared;	/* the directory is not safe */
	bool proc;	/* it is in /proc, where nothing can be created */
	bool magic;	/* it is a link there, which only the kernel can follow */
	bool exists;
	struct stat st;	/* if @exists: of the name itself; if @magic: of what it leads to */
};

#define OUTPLACE_INIT { .dir = -1 }

/*
 * Finds the place of @path. 0; or negative errno, -EPERM with p->why if a link on the way is not
 * trusted. No message. Creates and opens nothing. Call outplace_fini() in any case.
 */
int outplace_find(struct outplace *p, const char *path);
void outplace_fini(struct outplace *p);
/* The reason for @err of the functions here, for a message. Valid until the next call. */
const char *outplace_error(const struct outplace *p, int err);

/*
 * May the regular file @name of the directory be replaced by a new one? In one that is not safe
 * it must be ours, without further hard links. True if there is none. 0, -EISDIR, or -EPERM with
 * p->why.
 */
int outplace_may_replace(struct outplace *p, const char *name);

/* May outplace_open() open what exists? 0, or -EPERM with p->why. */
int outplace_may_write(struct outplace *p);
/*
 * Opens what exists for writing, unless it is a regular file outside of /proc. @flags: O_WRONLY or
 * O_RDWR, and O_NONBLOCK. A descriptor, or negative errno: -EPERM with p->why if it could be
 * somebody else's, or if others could read what we write.
 */
int outplace_open(struct outplace *p, int flags);

/*
 * Creates the new file @name in the directory, for writing: never through a link, never an existing
 * one (-EEXIST). A descriptor or negative errno.
 */
int outplace_create(const struct outplace *p, const char *name, mode_t mode);
/*
 * The same without a name: it is gone if we are, until outplace_name() names it @name, never in the
 * place of another (-EEXIST). Not all file systems can do that: -EOPNOTSUPP and others.
 */
int outplace_create_nameless(const struct outplace *p, mode_t mode);
int outplace_name(const struct outplace *p, int fd, const char *name);
/* The mode of results, which the umask applies to: only root can read what root writes. */
mode_t outplace_mode(void);

/* 0, or -ENOENT if the directory was moved or removed: users would not find the files. */
int outplace_stays(const struct outplace *p);
/* rename(2) within the directory that never replaces a file: -EEXIST. */
int outplace_rename_new(const struct outplace *p, const char *from, const char *to);

/*
 * mkdir(2) with the same rules: the last part of @path is created, the others exist. 0, -EEXIST (is
 * it a directory? never a link that is not trusted), or negative errno after a message.
 */
int outplace_mkdir(const char *path);

#endif
