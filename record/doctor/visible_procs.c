#include "doctor/visible_procs.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "events/perm.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define STAT_MAX 4096u

struct look {
	struct visible_procs *n;
	uint64_t own_mnt;
	int rank; /* rank of n->choice */
	uint32_t own, zygote;	/* 0 = not visible */
};

char *visible_procs_file(uint32_t pid, const char *name, size_t max)
{
	int fd = nsopen_procfile(pid, name), err;
	char *text;

	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, max, NULL, &err);
	close(fd);
	return text;
}

/* Is it a running process other than a kernel thread, and no opener of ours (opener.h)? */
static bool is_program(struct look *l, uint32_t pid)
{
	char *text = visible_procs_file(pid, "stat", STAT_MAX);
	bool yes = text && procfs_stat_running(text) && !procfs_stat_kthread(text);
	uint32_t ppid;
	uint64_t ticks;

	if (yes && !procfs_stat_start(text, &ticks, &ppid)) {
		if (ppid == l->own)
			l->zygote = pid;
		yes = ppid != l->own && (!l->zygote || ppid != l->zygote);
	}
	free(text);
	return yes;
}

bool visible_procs_is_kthread(uint32_t pid)
{
	char *text = visible_procs_file(pid, "stat", STAT_MAX);
	bool yes = text && procfs_stat_kthread(text);

	free(text);
	return yes;
}

static uint64_t mnt_ns(int procfd)
{
	char link[64] = "";

	return readlinkat(procfd, "ns/mnt", link, sizeof(link) - 1) > 0 ? procfs_ns_inode(link) : 0;
}

/*
 * Opens what reading a process needs. 0 or negative errno, and *@file. -ESRCH: it has ended; it may
 * be a zombie.
 */
static int try_process(int procfd, const char **file)
{
	int err, fd;
	/* One byte shows that there is something. */
	char *text = nsopen_text(procfd, *file = "maps", 1, NULL, &err);

	free(text);
	if (text)
		return -ESRCH;
	if (err != -EFBIG)
		return err;
	*file = "root";
	fd = nsopen_process_root(procfd);
	if (fd < 0)
		return fd;
	nsopen_close(fd);
	return 0;
}

static void look_at(struct look *l, uint32_t pid, int procfd)
{
	struct visible_procs *n = l->n;
	const char *file;
	struct stat st;
	int err = try_process(procfd, &file), rank;

	if (err == -ENOENT || err == -ESRCH)
		return;
	n->seen++;
	rank = 1 + !err + (!fstat(procfd, &st) && st.st_uid != geteuid() ? 2 : 0);
	if (rank > l->rank) {
		n->choice = pid;
		n->choice_readable = !err;
		l->rank = rank;
	}
	if (!err) {
		n->readable++;
		n->elsewhere += mnt_ns(procfd) != l->own_mnt;
	} else if (!n->err) {
		n->err = err;
		n->err_pid = pid;
		n->err_file = file;
	}
}

/* Our own pid in nsopen_proc(), which may differ from getpid(). 0: we are not visible there. */
static uint32_t own_number(void)
{
	char *path = xasprintf("%s/self", nsopen_proc()), link[16] = "";
	ssize_t len = readlink(path, link, sizeof(link) - 1);

	free(path);
	return len > 0 ? (uint32_t)strtoul(link, NULL, 10) : 0;
}

void visible_procs_look(struct visible_procs *n)
{
	const uint32_t own = own_number();
	struct look l = { .n = n, .own = own };
	DIR *dir = opendir(nsopen_proc());
	int procfd = nsopen_process(own);
	struct dirent *de;

	memset(n, 0, sizeof(*n));
	if (procfd >= 0) {
		l.own_mnt = mnt_ns(procfd);
		close(procfd);
	}
	while (dir && (de = readdir(dir))) {
		uint32_t pid = (uint32_t)strtoul(de->d_name, NULL, 10);

		if (!pid || pid == own || !is_program(&l, pid))
			continue;
		procfd = nsopen_process(pid);
		if (procfd < 0)
			continue;
		look_at(&l, pid, procfd);
		close(procfd);
	}
	if (dir)
		closedir(dir);
}

bool visible_procs_hidden(const struct visible_procs *n)
{
	return n->readable < n->seen && !(perm_caps() & PERM_CAP_SYS_PTRACE);
}
