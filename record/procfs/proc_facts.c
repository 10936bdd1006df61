/* Reads the facts of contrib/doc/identity.md from /proc (proc(5)). */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procfs/proc_facts.h"

#define FILE_MAX_SIZE 65536	/* stat, status, cgroup: a few KiB at most */

char *proc_facts_text(int procfd, const char *name)
{
	int fd = nsopen_process_file(procfd, name), err;
	char *text;

	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, FILE_MAX_SIZE, NULL, &err);
	close(fd);
	return text;
}

/* Target of link NAME in /proc/PID: an owned string, "" if it cannot be read. Opens nothing. */
static char *read_link(int procfd, const char *name)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(procfd, name, target, sizeof(target));

	return len > 0 ? xstrndup(target, (size_t)len) : xstrdup("");
}

static uint64_t read_ns(int procfd, const char *name)
{
	char *link = read_link(procfd, name);
	uint64_t ino = procfs_ns_inode(link);

	free(link);
	return ino;
}

uint64_t proc_facts_mnt_ns(uint32_t pid)
{
	int procfd = nsopen_process(pid);
	uint64_t ino = procfd < 0 ? 0 : read_ns(procfd, "ns/mnt");

	if (procfd >= 0)
		close(procfd);
	return ino;
}

/* Fills in what stat shows; false if the process is gone. */
static bool read_stat(struct proc_facts *f, int procfd)
{
	char *text = proc_facts_text(procfd, "stat");
	bool ok = text && !procfs_stat_start(text, &f->start_ticks, &f->ppid);

	f->running = ok && procfs_stat_running(text);
	f->kthread = ok && procfs_stat_kthread(text);
	f->forked = ok && procfs_stat_forked(text);
	if (!ok || !procfs_stat_image(text, &f->image))
		f->image = 0;
	free(text);
	return ok;
}

bool proc_facts_started_at(int procfd, uint64_t ticks)
{
	struct proc_facts f = { 0 };

	return read_stat(&f, procfd) && f.running && f.start_ticks == ticks;
}

uint64_t proc_facts_image(int procfd)
{
	struct proc_facts f = { 0 };

	return read_stat(&f, procfd) ? f.image : 0;
}

/*
 * A process without a program is about to end, or is within an exec: the next program did not run so far. If
 * only the first thread has ended, the program is that of the others: a thread that execs becomes the
 * first.
 */
bool proc_facts_same_image(int procfd, uint64_t ticks, uint64_t image)
{
	char *text = proc_facts_text(procfd, "stat");
	uint64_t start, now;
	uint32_t ppid;
	bool same = text && !procfs_stat_start(text, &start, &ppid) && start == ticks && procfs_stat_image(text, &now) && (!now || now == image);

	free(text);
	return same;
}

bool proc_facts_running(int procfd)
{
	struct proc_facts f = { 0 };

	return read_stat(&f, procfd) && f.running;
}

bool proc_facts_forked(int procfd)
{
	struct proc_facts f = { 0 };

	return read_stat(&f, procfd) && f.forked;
}

bool proc_facts_there(int procfd)
{
	return !faccessat(procfd, "stat", F_OK, 0);
}

/* The comm as in the kernel's records: /proc may append the work of a kworker. */
static void copy_comm(char comm[COMM_LEN], const char *text)
{
	size_t len = text ? strlen(text) : 0;

	/* The last newline ends the file; those before it belong to the name. */
	if (len && text[len - 1] == '\n')
		len--;
	if (len >= COMM_LEN)
		len = COMM_LEN - 1;
	if (len)
		memcpy(comm, text, len);
	comm[len] = '\0';
}

void proc_facts_comm(int procfd, char comm[COMM_LEN])
{
	char *text = proc_facts_text(procfd, "comm");

	copy_comm(comm, text);
	free(text);
}

bool proc_facts_thread_comm(uint32_t pid, uint32_t tid, char comm[COMM_LEN])
{
	int procfd = nsopen_process(pid);
	char name[48], *text;

	if (procfd < 0) {
		comm[0] = '\0';
		return false;
	}
	snprintf(name, sizeof(name), "task/%" PRIu32 "/comm", tid);
	text = proc_facts_text(procfd, name);
	close(procfd);
	copy_comm(comm, text);
	free(text);
	return comm[0];
}

static void read_text_facts(struct proc_facts *f, int procfd)
{
	char path[PATH_MAX], *text;

	text = proc_facts_text(procfd, "status");
	if (text) {
		f->nspid_n = (uint32_t)procfs_status_nstgid(text, f->nspid, 8);
		f->have_fsuid = procfs_status_fsuid(text, &f->fsuid);
		free(text);
	}
	text = proc_facts_text(procfd, "cgroup");
	if (text && procfs_cgroup_path(text, "perf_event", path, sizeof(path)))
		f->cgroup = xstrdup(path);
	else
		f->cgroup = xstrdup("");
	free(text);
}

static void read_links(struct proc_facts *f, int procfd)
{
	f->mnt_ns = read_ns(procfd, "ns/mnt");
	f->pid_ns = read_ns(procfd, "ns/pid");
	f->user_ns = read_ns(procfd, "ns/user");
	f->exe = read_link(procfd, "exe");
	f->root = read_link(procfd, "root");
}

struct proc_facts *proc_facts_read(int procfd, uint32_t pid)
{
	struct proc_facts *f = xcalloc(1, sizeof(*f));
	int other;

	f->refs = 1;
	f->pid = pid;
	pin_init(&f->map, PIN_MAP, f);
	for (size_t i = 0; i < JITDUMPS_MAX; i++)
		pin_init(&f->jitdump[i], PIN_MAP, f);
	if (!read_stat(f, procfd)) {
		proc_facts_put(NULL, f);
		return NULL;
	}
	read_text_facts(f, procfd);
	read_links(f, procfd);
	if (!*f->root && (other = nsopen_other_thread(procfd)) >= 0) {
		free(f->exe);
		free(f->root);
		read_links(f, other);
		close(other);
	}
	return f;
}

struct proc_facts *proc_facts_get(struct proc_facts *f)
{
	if (f)
		f->refs++;
	return f;
}

void proc_facts_put(struct pins *ps, struct proc_facts *f)
{
	/* A loop: a chain of forks must not become a chain of calls. */
	while (f && !--f->refs) {
		struct proc_facts *up = f->up;

		if (f->map.fd >= 0)
			pins_drop(ps, &f->map);
		for (size_t i = 0; i < JITDUMPS_MAX; i++) {
			if (f->jitdump[i].fd >= 0)
				pins_drop(ps, &f->jitdump[i]);
		}
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

bool proc_facts_started_after(uint64_t ticks, uint64_t time)
{
	/*
	 * Sample times do not include time asleep. A suspend between the sample and now moves the
	 * start back by its length. Then reuse of a pid may go unnoticed, but a living process is
	 * never refused.
	 */
	int64_t asleep = clock_starts_ns() - (int64_t)clock_mono_ns();

	return time && clock_ticks_ns(ticks) - asleep > (int64_t)time;
}

bool proc_facts_is_other(int procfd, uint64_t ticks, uint64_t time)
{
	struct proc_facts f = { 0 };

	return read_stat(&f, procfd) && f.running && f.start_ticks != ticks && !proc_facts_started_after(f.start_ticks, time);
}

int64_t proc_facts_start_wall(uint64_t ticks)
{
	return clock_ns(CLOCK_REALTIME) - (clock_starts_ns() - clock_ticks_ns(ticks));
}
