#include "events/perm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "host/nsopen.h"

/* PROC_USER_INIT_INO of include/linux/proc_ns.h: not in uapi, but unchanged since 3.8. */
#define FIRST_USER_NS 0xEFFFFFFDu
#define FILES_OWN 64	/* descriptors of the recorder that are neither events nor binaries */

static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

long perm_sysctl(const char *name, long fallback)
{
	char *path = xasprintf("%s/sys/kernel/%s", nsopen_proc(), name), text[64], *end;
	bool have = read_text(path, text, sizeof(text));
	long v;

	free(path);
	if (!have)
		return fallback;
	v = strtol(text, &end, 10);
	return end == text ? fallback : v;
}

/* A field of /proc/self/status, e.g. "CapEff:\t000001ffffffffff". */
static uint64_t status_field(const char *name, int base)
{
	char text[8192], *p;

	if (!read_text("/proc/self/status", text, sizeof(text)))
		return 0;
	p = strstr(text, name);
	return p ? strtoull(p + strlen(name), NULL, base) : 0;
}

bool perm_own_user_ns(void)
{
	struct stat st;

	return !stat("/proc/self/ns/user", &st) && st.st_ino != FIRST_USER_NS;
}

uint64_t perm_caps(void)
{
	return perm_own_user_ns() ? 0 : status_field("\nCapEff:", 16);
}

bool perm_capable(void)
{
	return perm_caps() & (PERM_CAP_PERFMON | PERM_CAP_SYS_ADMIN);
}

/*
 * perf_event_open() in kernel/events/core.c checks the flags before anything else, including
 * rights: EINVAL for unknown ones.
 */
int perm_filtered(void)
{
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, ~0ul) >= 0 || errno == EINVAL)
		return 0;
	return -errno;
}

bool perm_has_filter(void)
{
	return status_field("\nSeccomp:", 10) == 2;
}

void perm_raise_nofile(void)
{
	struct rlimit rl;

	if (!getrlimit(RLIMIT_NOFILE, &rl) && rl.rlim_cur < rl.rlim_max) {
		rl.rlim_cur = rl.rlim_max;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
}

uint64_t perm_files_left(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) || rl.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return rl.rlim_cur > FILES_OWN ? rl.rlim_cur - FILES_OWN : 0;
}

int perm_paranoid(void)
{
	return (int)perm_sysctl("perf_event_paranoid", 2);
}

int perm_try_event(int pid, int cpu, unsigned long flags)
{
	struct perf_event_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.disabled = 1;
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool perm_admin_only(uint64_t caps, long paranoid, int own)
{
	return own == -EACCES && paranoid >= 3 && !(caps & PERM_CAP_SYS_ADMIN);
}

bool perm_needs_admin(void)
{
	return perm_admin_only(perm_caps(), perm_paranoid(), perm_try_event(0, -1, 0));
}

#define SYSLOG_REMEDY "run as root (sudo), in a container with CAP_SYSLOG (docker run --cap-add SYSLOG)"

void perm_explain_kallsyms(uint64_t caps, long kptr, long paranoid, struct strbuf *text, struct strbuf *remedy)
{
	const bool syslog = caps & PERM_CAP_SYSLOG;

	if (kptr == PERM_SYSCTL_UNKNOWN) {
		strbuf_adds(text, "kernel.kptr_restrict cannot be read");
		if (!syslog)
			strbuf_adds(remedy, SYSLOG_REMEDY);
	} else if (kptr > 1) {
		strbuf_addf(text, "kernel.kptr_restrict is %ld, which hides them from root, too", kptr);
		strbuf_addf(remedy, "sysctl kernel.kptr_restrict=1%s", syslog ? "" : ", and " SYSLOG_REMEDY);
	} else if (syslog) {
		strbuf_addf(text, "kernel.kptr_restrict is %ld and CAP_SYSLOG is present, so something else hides them", kptr);
	} else if (kptr == 1) {
		strbuf_adds(text, "kernel.kptr_restrict is 1 and CAP_SYSLOG is missing");
		strbuf_addf(remedy, "%s, or: sysctl kernel.kptr_restrict=0%s", SYSLOG_REMEDY,
			    paranoid == PERM_SYSCTL_UNKNOWN || paranoid <= 1 ? "" : " kernel.perf_event_paranoid=1");
	} else if (paranoid > 1) {
		strbuf_addf(text, "kernel.perf_event_paranoid is %ld and CAP_SYSLOG is missing", paranoid);
		strbuf_adds(remedy, SYSLOG_REMEDY ", or: sysctl kernel.perf_event_paranoid=1");
	} else {
		strbuf_addf(text, "kernel.kptr_restrict is %ld and kernel.perf_event_paranoid is %ld, so something else "
				  "hides them", kptr, paranoid);
		strbuf_adds(remedy, SYSLOG_REMEDY);
	}
}
