/* The directories in which container runtimes keep their state on this host, and how looking there went. */
#ifndef NSPROF_STATE_DIRS_H
#define NSPROF_STATE_DIRS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/* One directory, below the host's root. */
struct state_dir {
	char *path;		/* owned; absolute */
	char *from;		/* owned; what told of it: "/etc/docker/daemon.json", "dockerd"; "" = it is a usual one */
	const char *runtime;	/* static; whose it can only be; "" = not known */
	uint32_t trust;		/* uid of who says what is in it */
	bool checked;		/* its owner decides, too: told by somebody other than who started us */
	int err;		/* of the last look; 0, or negative errno */
};

struct state_dirs {
	struct state_dir *v;	/* owned; in the order in which they are to be looked at */
	size_t n, cap;
};

/*
 * Those given (@roots, separated by ':', may be NULL), the usual ones, and those that settings below @rootfd (the host's root) and
 * mounts of the host tell of. Nothing is opened in them. What is in @sd before stays, in front.
 */
void state_dirs_find(struct state_dirs *sd, int rootfd, const char *roots);
void state_dirs_fini(struct state_dirs *sd);

/* Look at the host's mounts again: what is new comes behind. */
void state_dirs_add_mounts(struct state_dirs *sd);
/*
 * Add what the command lines of the runtimes' processes on the host tell. Each process is looked at, some 15 us, but none after @most_ns;
 * 0 = all. @inside says of a process's cgroup whether that is a container's: what runs there is not believed.
 */
void state_dirs_add_processes(struct state_dirs *sd, int rootfd, uint64_t most_ns, bool (*inside)(void *ctx, const char *cgroup),
			      void *ctx);
/*
 * Inode of the namespace of kind @kind ("pid", "user") of the process behind @procfd; -1: of the host, which are those of process 1 or, where these
 * may not be read, our own. 0: not known.
 */
uint64_t state_host_ns(const char *kind, int procfd);
/* Add one. @path is made absolute by nobody: a relative one is left out. At most 1024 are kept. */
void state_dirs_add(struct state_dirs *sd, const char *path, const char *from, const char *runtime, uint32_t trust);
/* The same for one that we or who started us chose: root's, whoever its owner is. */
void state_dirs_add_usual(struct state_dirs *sd, const char *path, const char *from, const char *runtime);

/* From its owner nobody can tell whose word it is. */
#define STATE_DIR_DISTRUSTED (-EUSERS)

/*
 * O_PATH fd of @d below @rootfd, or negative errno. *@trust: whose word its files are. STATE_DIR_DISTRUSTED: what told of it is
 * another user than its owner, or others may write to it.
 */
int state_dir_open(const struct state_dir *d, int rootfd, uint32_t *trust);

/*
 * Appends why those that @concerns says yes to did not help: which cannot be read and for what reason, which have been read for
 * nothing, or which do not exist.
 */
void state_dirs_why(const struct state_dirs *sd, bool (*concerns)(void *ctx, const struct state_dir *d), void *ctx,
		    struct strbuf *sb);

#endif
