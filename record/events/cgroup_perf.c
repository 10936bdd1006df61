#include "events/cgroup_perf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "events/perm.h"

static int try_event(int cgroup)
{
	const int cpu = sched_getcpu();

	return perm_try_event(cgroup, cpu < 0 ? 0 : cpu, PERF_FLAG_PID_CGROUP);
}

bool cgroup_perf_lacks(const struct cgroup *cg)
{
	return try_event(cg->fd) == -ENOENT && !cgroup_removed(cg);
}

/* Does cgroup.subtree_control name at least one controller? */
static bool hands_down(const struct cgroup_fs *fs)
{
	int fd = openat(fs->fd, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
	char c;
	bool any;

	if (fd < 0)
		return false;
	any = read(fd, &c, 1) == 1 && c != '\n';
	close(fd);
	return any;
}

/* Tries the first cgroup below the mount that exists long enough. False: there is none. */
static bool try_child(const struct cgroup_fs *fs, bool *lacks)
{
	int fd = openat(fs->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool tried = false;
	struct dirent *de;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!tried && (de = readdir(dir))) {
		struct cgroup cg = { .fd = -1 };

		if (de->d_type != DT_DIR || de->d_name[0] == '.')
			continue;
		cg.fd = openat(fs->fd, de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (cg.fd < 0)
			continue;
		*lacks = cgroup_perf_lacks(&cg);
		tried = *lacks || !cgroup_removed(&cg);
		close(cg.fd);
	}
	closedir(dir);
	return tried;
}

static bool is_root(const struct cgroup_fs *fs)
{
	struct stat st;

	return fstat(fs->fd, &st) || st.st_ino == CGROUP_ROOT_ID;
}

enum cgroup_reach cgroup_perf_reach(const struct cgroup_fs *fs)
{
	bool lacks = false;

	if (!fs->v2 || hands_down(fs))
		return CGROUP_REACH_ALL;
	if (fs->others)
		return CGROUP_REACH_ALL;
	if (!try_child(fs, &lacks)) {
		if (is_root(fs))
			return CGROUP_REACH_UNKNOWN;
		/*
		 * If the mount shows only part of the hierarchy, its top serves as well as a cgroup
		 * below.
		 */
		lacks = try_event(fs->fd) == -ENOENT;
	}
	return lacks ? CGROUP_REACH_ROOT : CGROUP_REACH_ALL;
}

void cgroup_perf_remedy(const struct cgroup_fs *fs, struct strbuf *remedy)
{
	strbuf_addf(remedy, "for -G run: echo +cpu >%s/cgroup.subtree_control", fs->mount);
}

void cgroup_perf_explain(const struct cgroup_fs *fs, struct strbuf *text, struct strbuf *remedy)
{
	strbuf_addf(text, "the kernel has not set up perf_event for cgroups below '%s', because no controller was ever enabled there",
		    fs->mount);
	cgroup_perf_remedy(fs, remedy);
}
