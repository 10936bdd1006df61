/* Finding a cgroup the way perf_event_open(2) wants it: a directory of the perf_event hierarchy. */
#ifndef NSPROF_CGROUP_H
#define NSPROF_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The hierarchy that perf_event belongs to: its own v1 mount if there is one, else cgroup v2. */
struct cgroup_fs {
	char mount[PATH_MAX];	/* "/sys/fs/cgroup/unified" */
	bool v2;
	bool others;		/* hierarchies of the other version are mounted as well: hybrid */
	int fd;			/* owned; the mount's directory, -1 = not open */
};

struct cgroup {
	char *name;		/* as typed; owned */
	char *path;		/* below the hierarchy, "/docker/3f..."; owned */
	uint64_t id;		/* as in PERF_SAMPLE_CGROUP: the kernfs id, on 64 bit its inode */
	int fd;			/* owned; O_RDONLY directory */
	bool gone;		/* seen removed, and its path has not come back so far */
};

/* Disjoint ones, in the order of cgroup_path_cmp(). */
struct cgroup_list {
	struct cgroup *v;	/* owned */
	size_t n;
};

/*
 * Pick the hierarchy from the text of /proc/self/mountinfo (proc(5)); all but fs->fd is set.
 * Of several mounts of it, the one that shows the most of the hierarchy wins. 0 or -ENOENT. Pure.
 */
int cgroup_fs_parse(struct cgroup_fs *fs, const char *mountinfo);
/* The same for another controller than perf_event. */
int cgroup_fs_parse_for(struct cgroup_fs *fs, const char *controller, const char *mountinfo);

/* The same for this machine, directory opened. 0, or negative errno; no message. */
int cgroup_fs_open(struct cgroup_fs *fs);
int cgroup_fs_open_for(struct cgroup_fs *fs, const char *controller);
void cgroup_fs_close(struct cgroup_fs *fs);

/*
 * @name: below the hierarchy, with or without a leading '/', or an absolute path in a cgroup mount.
 * 0, or negative errno after a message that says where it looked. Own with cgroup_fini().
 */
int cgroup_find(struct cgroup *cg, const struct cgroup_fs *fs, const char *name);
void cgroup_fini(struct cgroup *cg);

/* Somebody removed it (rmdir) since it was found. */
bool cgroup_removed(const struct cgroup *cg);

/*
 * Look whether the path of @cg, which was removed, is there again. 0: @cg has the descriptor and id of the
 * new one, and is not gone. Else negative errno, no message, and @cg as before.
 */
int cgroup_reopen(struct cgroup *cg, const struct cgroup_fs *fs);

/* kernfs gives out ids from 1 on, the first one to the root (kernfs_create_root()). */
#define CGROUP_ROOT_ID 1u
/* It is the root of the whole hierarchy, not only of what can be seen of it. */
bool cgroup_is_root(const struct cgroup *cg);

/* Order of paths in which a cgroup stands right before those in it. As strcmp(3). */
int cgroup_path_cmp(const char *a, const char *b);
/* The one that @path lies in; NULL when it is in none. Borrowed until the list changes. */
const struct cgroup *cgroup_list_find(const struct cgroup_list *list, const char *path);
/* Index of the first one that is at @path or behind it; list->n when none is. */
size_t cgroup_list_at(const struct cgroup_list *list, const char *path);

/* Calls @fn for each cgroup from @cg down (@path below the hierarchy) and each process in it.
 * Either may be NULL. What vanishes meanwhile is skipped. */
void cgroup_walk(const struct cgroup *cg, void (*group)(void *ctx, uint64_t id, const char *path),
		 void (*proc)(void *ctx, uint32_t pid), void *ctx);

/*
 * Path below the hierarchy of cgroup @id, through open_by_handle_at(2) (needs CAP_DAC_READ_SEARCH).
 * 0 or negative errno; no message.
 */
int cgroup_path_by_id(const struct cgroup_fs *fs, uint64_t id, char *out, size_t size);

#endif
