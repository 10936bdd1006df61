/*
 * The directories where container runtimes keep their state on this host, and whether they could be
 * read.
 */
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
	/* owned; what named it: "/etc/docker/daemon.json", "dockerd"; "" = a usual one */
	char *from;
	const char *runtime;	/* static; the only runtime that uses it; "" = unknown */
	uint32_t trust;		/* uid of the user who controls its contents */
	bool checked;		/* state_dir_open() checks its owner: neither we nor our user chose it */
	int err;		/* result of the last read; 0, or negative errno */
};

struct state_dirs {
	struct state_dir *v;	/* owned; in the order in which to read them */
	size_t n, cap;
};

/*
 * Finds the directories: those given (@roots, separated by ':', may be NULL), the usual ones, and
 * those named by settings below @rootfd (the host's root) and by the host's mounts. Opens none of
 * them. Appends to what is in @sd.
 */
void state_dirs_find(struct state_dirs *sd, int rootfd, const char *roots);
void state_dirs_fini(struct state_dirs *sd);

/* Reads the host's mounts again and appends new directories. */
void state_dirs_add_mounts(struct state_dirs *sd);
/*
 * Adds directories named on the command lines of the runtimes' processes on the host. Examines each
 * process, about 15 us each, but stops after @most_ns; 0 = no limit. @inside tells whether a cgroup
 * is in a container; processes there are not trusted.
 */
void state_dirs_add_processes(struct state_dirs *sd, int rootfd, uint64_t most_ns, bool (*inside)(void *ctx, const char *cgroup),
			      void *ctx);
/*
 * Inode of the @kind ("pid", "user") namespace of the process behind @procfd. @procfd -1: the
 * host's, which is that of process 1 or, if that cannot be read, our own. 0: unknown.
 */
uint64_t state_host_ns(const char *kind, int procfd);
/* Adds one. A relative @path is ignored. At most 1024 are kept. */
void state_dirs_add(struct state_dirs *sd, const char *path, const char *from, const char *runtime, uint32_t trust);
/* The same for one chosen by us or the user who started us: trusted as root's, whoever owns it. */
void state_dirs_add_usual(struct state_dirs *sd, const char *path, const char *from, const char *runtime);

/* The owner does not tell whether the contents can be trusted. */
#define STATE_DIR_DISTRUSTED (-EUSERS)

/*
 * O_PATH fd of @d below @rootfd, or negative errno. *@trust: uid of the user who controls its
 * files. STATE_DIR_DISTRUSTED: it was named by a user other than root and its owner, or others can
 * write to it.
 */
int state_dir_open(const struct state_dir *d, int rootfd, uint32_t *trust);

/*
 * Appends why the directories for which @concerns returns true did not help: which cannot be read
 * and why, which had no state file, or which do not exist.
 */
void state_dirs_why(const struct state_dirs *sd, bool (*concerns)(void *ctx, const struct state_dir *d), void *ctx,
		    struct strbuf *sb);

#endif
