/* Reads the facts of DESIGN.md section 5 from /proc (proc(5)). */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "facts.h"
#include "nsopen.h"
#include "procfs.h"
#include "xalloc.h"

#define FILE_MAX_SIZE 65536	/* stat, status, cgroup: a few KiB at most */

static char *read_file(uint32_t pid, const char *name)
{
	int fd = nsopen_procfile(pid, name), err;
	char *text;

	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, FILE_MAX_SIZE, NULL, &err);
	close(fd);
	return text;
}

/* Target of link /proc/PID/NAME: an owned string, "" when it cannot be read. Nothing is opened. */
static char *read_link(uint32_t pid, const char *name)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t len = -1;
	int n;

	n = snprintf(path, sizeof(path), "%s/%" PRIu32 "/%s", nsopen_proc(), pid, name);
	if (n > 0 && (size_t)n < sizeof(path))
		len = readlink(path, target, sizeof(target));
	return len > 0 ? xstrndup(target, (size_t)len) : xstrdup("");
}

uint64_t facts_ns(uint32_t pid, const char *name)
{
	char file[32], *link;
	uint64_t ino;

	snprintf(file, sizeof(file), "ns/%s", name);
	link = read_link(pid, file);
	ino = procfs_ns_inode(link);
	free(link);
	return ino;
}

static bool read_start(uint32_t pid, uint64_t *ticks, uint32_t *ppid, bool *kthread)
{
	char *text = read_file(pid, "stat");
	bool ok = text && !procfs_stat_start(text, ticks, ppid);

	*kthread = ok && procfs_stat_kthread(text);
	free(text);
	return ok;
}

bool facts_same_process(uint32_t pid, uint64_t ticks)
{
	uint64_t now;
	uint32_t ppid;
	bool kthread;

	return read_start(pid, &now, &ppid, &kthread) && now == ticks;
}

/* The comm as the kernel's records have it: /proc may add what a kworker works on. */
static void copy_comm(char comm[COMM_LEN], const char *text)
{
	size_t len = text ? strlen(text) : 0;

	/* A newline ends the file, and those before it are the name's. */
	if (len && text[len - 1] == '\n')
		len--;
	if (len >= COMM_LEN)
		len = COMM_LEN - 1;
	if (len)
		memcpy(comm, text, len);
	comm[len] = '\0';
}

bool facts_thread_comm(uint32_t pid, uint32_t tid, char comm[COMM_LEN])
{
	char name[48], *text;

	snprintf(name, sizeof(name), "task/%" PRIu32 "/comm", tid);
	text = read_file(pid, name);
	copy_comm(comm, text);
	free(text);
	return comm[0];
}

static void read_text_facts(struct facts *f)
{
	char path[PATH_MAX], *text;

	text = read_file(f->pid, "status");
	if (text) {
		f->nspid_n = (uint32_t)procfs_status_nstgid(text, f->nspid, 8);
		f->have_fsuid = procfs_status_fsuid(text, &f->fsuid);
		free(text);
	}
	text = read_file(f->pid, "comm");
	copy_comm(f->comm, text);
	free(text);
	text = read_file(f->pid, "cgroup");
	if (text && procfs_cgroup_path(text, "perf_event", path, sizeof(path)))
		f->cgroup = xstrdup(path);
	else
		f->cgroup = xstrdup("");
	free(text);
}

struct facts *facts_read(uint32_t pid)
{
	struct facts *f = xcalloc(1, sizeof(*f));

	f->refs = 1;
	f->pid = pid;
	pin_init(&f->map, PIN_MAP, f);
	pin_init(&f->jitdump, PIN_MAP, f);
	if (!read_start(pid, &f->start_ticks, &f->ppid, &f->kthread))
		goto gone;
	read_text_facts(f);
	f->mnt_ns = facts_ns(pid, "mnt");
	f->pid_ns = facts_ns(pid, "pid");
	f->user_ns = facts_ns(pid, "user");
	f->exe = read_link(pid, "exe");
	f->root = read_link(pid, "root");
	/*
	 * Each read above may have met the next owner of the pid: the start time proves that none
	 * did.
	 */
	if (facts_same_process(pid, f->start_ticks))
		return f;
gone:
	facts_put(NULL, f);
	return NULL;
}

struct facts *facts_get(struct facts *f)
{
	if (f)
		f->refs++;
	return f;
}

void facts_put(struct pins *ps, struct facts *f)
{
	/* A loop: a chain of forks must not become a chain of calls. */
	while (f && !--f->refs) {
		struct facts *up = f->up;

		if (f->map.fd >= 0)
			pins_drop(ps, &f->map);
		if (f->jitdump.fd >= 0)
			pins_drop(ps, &f->jitdump);
		rootpin_put(ps, f->rootpin);
		free(f->exe);
		free(f->root);
		free(f->cgroup);
		free(f);
		f = up;
	}
}

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* ns of CLOCK_BOOTTIME: what /proc/PID/stat counts in (fs/proc/array.c, do_task_stat()). */
static int64_t ticks_to_boot(uint64_t ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);

	return (int64_t)(ticks / hz * 1000000000 + ticks % hz * 1000000000 / hz);
}

bool facts_started_after(uint64_t ticks, uint64_t time)
{
	/*
	 * Samples count without the time asleep. A suspend between sample and now moves the start
	 * back by its length, so that reuse may go unnoticed then, but a living process is never
	 * refused.
	 */
	int64_t asleep = clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);

	return time && ticks_to_boot(ticks) - asleep > (int64_t)time;
}

int64_t facts_wall(uint64_t time)
{
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_MONOTONIC) - (int64_t)time);
}

int64_t facts_start_wall(uint64_t ticks)
{
	return clock_ns(CLOCK_REALTIME) - (clock_ns(CLOCK_BOOTTIME) - ticks_to_boot(ticks));
}
