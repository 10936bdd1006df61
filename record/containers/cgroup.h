/* Finds a cgroup as perf_event_open(2) wants it: a directory of the perf_event hierarchy. */
#ifndef NSPROF_CGROUP_H
#define NSPROF_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The hierarchy that perf_event belongs to: its own v1 mount if there is one, otherwise cgroup v2.
 */
struct cgroup_fs {
	char mount[PATH_MAX];	/* "/sys/fs/cgroup/unified" */
	bool v2;
	bool others;		/* hybrid: hierarchies of the other version are mounted, too */
	int fd;			/* owned; the mount's directory, -1 = not open */
};

struct cgroup {
	char *name;		/* as typed; owned */
	char *path;		/* below the hierarchy, "/docker/3f..."; owned */
	uint64_t id;		/* as in PERF_SAMPLE_CGROUP: the kernfs id, on 64 bit its inode */
	int fd;			/* owned; O_RDONLY directory */
	bool gone;		/* was removed, and its path has not come back yet */
};

/* No cgroup lies in another one. Sorted by cgroup_path_cmp(). */
struct cgroup_list {
	struct cgroup *v;	/* owned */
	size_t n;
};

/*
 * Picks the hierarchy from the text of /proc/self/mountinfo (proc(5)) and sets all of @fs but
 * fs->fd. If it is mounted several times, the mount that shows most of it wins. 0 or -ENOENT. Pure.
 */
int cgroup_fs_parse(struct cgroup_fs *fs, const char *mountinfo);
/* The same for the hierarchy of @controller. */
int cgroup_fs_parse_for(struct cgroup_fs *fs, const char *controller, const char *mountinfo);

/* The same for this machine; also opens the directory. 0, or negative errno; no message. */
int cgroup_fs_open(struct cgroup_fs *fs);
int cgroup_fs_open_for(struct cgroup_fs *fs, const char *controller);
void cgroup_fs_close(struct cgroup_fs *fs);

/*
 * @name: below the hierarchy, with or without a leading '/', or an absolute path in a cgroup mount.
 * 0, or negative errno after a message that says where it looked. Release with cgroup_fini().
 */
int cgroup_find(struct cgroup *cg, const struct cgroup_fs *fs, const char *name);
void cgroup_fini(struct cgroup *cg);

/* Was it removed (rmdir) since it was found? */
bool cgroup_removed(const struct cgroup *cg);

/*
 * Checks whether the path of @cg, which was removed, exists again. 0: @cg has the descriptor and id
 * of the new cgroup and is no longer gone. Otherwise negative errno without a message, and @cg is
 * unchanged.
 */
int cgroup_reopen(struct cgroup *cg, const struct cgroup_fs *fs);

/* kernfs numbers its nodes from 1; the root is the first (kernfs_create_root()). */
#define CGROUP_ROOT_ID 1u
/* Is it the root of the whole hierarchy, not only of the visible part? */
bool cgroup_is_root(const struct cgroup *cg);

/* Orders paths so that a cgroup is followed directly by those in it. Result as strcmp(3). */
int cgroup_path_cmp(const char *a, const char *b);
/* The cgroup that @path lies in, or NULL. Borrowed until the list changes. */
const struct cgroup *cgroup_list_find(const struct cgroup_list *list, const char *path);
/* Index of the first cgroup at or after @path; list->n if there is none. */
size_t cgroup_list_at(const struct cgroup_list *list, const char *path);

/*
 * Calls @group for @cg and each cgroup in it (@path below the hierarchy), and @proc for each
 * process in them. Either may be NULL. Skips what vanishes meanwhile.
 */
void cgroup_walk(const struct cgroup *cg, void (*group)(void *ctx, uint64_t id, const char *path),
		 void (*proc)(void *ctx, uint32_t pid), void *ctx);

/*
 * The path of cgroup @id below the hierarchy, found with open_by_handle_at(2) (needs
 * CAP_DAC_READ_SEARCH). 0 or negative errno; no message.
 */
int cgroup_path_by_id(const struct cgroup_fs *fs, uint64_t id, char *out, size_t size);

#endif
