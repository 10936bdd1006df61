/* Are the processes of the recording still alive? (process_alive.h) */
#include "support/process_alive.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/kept.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "recording/rec_reader.h"

#define STAT_MAX 4096	/* bytes; /proc/PID/stat is one line of some 300 */

static bool same_host;
static bool same_boot;

static bool read_boot_id(char *buf, size_t size)
{
	int fd = kept_open("/proc/sys/kernel/random/boot_id", false);
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, buf, size - 1, 0);
	close(fd);
	if (n <= 0)
		return false;
	buf[n] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return buf[0] != '\0';
}

void alive_init(const struct rec_reader *r)
{
	const char *boot = rec_reader_info(r, "boot_id");
	const char *host = rec_reader_info(r, "hostname");
	char here[256];

	same_boot = boot && read_boot_id(here, sizeof(here)) && strcmp(boot, here) == 0;
	if (boot) {
		same_host = same_boot;
		return;
	}
	/*
	 * The host name is weaker, but enough: a start time, build-id or inode still has to match.
	 */
	here[0] = '\0';
	same_host = host && gethostname(here, sizeof(here) - 1) == 0 && strcmp(host, here) == 0;
}

bool alive_same_boot(void)
{
	return same_boot;
}

bool alive_same_host(void)
{
	return same_host;
}

int alive_check(uint32_t pid, uint64_t start_ticks)
{
	uint64_t now_ticks = 0;
	uint32_t ppid;
	size_t len;
	char *text;
	int fd, err = 0;

	if (!same_host)
		return -EXDEV;
	fd = nsopen_procfile(pid, "stat");
	if (fd < 0)
		return -ESRCH;
	text = nsopen_slurp(fd, STAT_MAX, &len, &err);
	close(fd);
	if (!text)
		return -ESRCH;
	err = procfs_stat_start(text, &now_ticks, &ppid);
	free(text);
	if (err)
		return -ESRCH;
	if (!start_ticks)
		return -ENODATA;
	return now_ticks == start_ticks ? 0 : -ESTALE;
}

const char *alive_why(int err)
{
	switch (err) {
	case -EXDEV:
		return "recorded on another host or before a reboot";
	case -ESTALE:
		return "process is gone, and another process has its pid now";
	case -ENODATA:
		return "no start time recorded, so another process may have this pid";
	default:
		return "process is gone";
	}
}

static uint64_t own_mnt_ns;	/* 0: not known */

void alive_prepare(void)
{
	const char *proc = nsopen_proc();
	char path[PATH_MAX];
	struct stat st;

	/*
	 * As in nsopen_host_root(): with another host's /proc, the host's namespaces are those of
	 * its init.
	 */
	snprintf(path, sizeof(path), "%s/%s/ns/mnt", proc, strcmp(proc, "/proc") ? "1" : "self");
	own_mnt_ns = stat(path, &st) ? 0 : st.st_ino;
}

bool alive_own_mnt_ns(uint64_t mnt_ns)
{
	if (!own_mnt_ns)
		alive_prepare();
	/*
	 * The first mount namespace has the same number on every host, so the host is checked, too.
	 */
	return mnt_ns && same_host && own_mnt_ns == mnt_ns;
}
