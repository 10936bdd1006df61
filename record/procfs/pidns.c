#include "procfs/pidns.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/procfs.h"

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: not in uapi, but unchanged since 3.8. */
#define FIRST_PID_NS 0xEFFFFFFCu
#define STATUS_MAX 65536
/* Pid namespaces nest at most 32 deep (MAX_PID_NS_LEVEL). */
#define LEVELS_MAX 33

bool pidns_is_first(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) || st.st_ino == FIRST_PID_NS;
}

/*
 * In how many namespaces nsopen_proc() shows a pid of ours, from its own one on; 0: it does not
 * tell. Or negative errno.
 */
static int levels(void)
{
	uint32_t pids[LEVELS_MAX];
	char *path = xasprintf("%s/self/status", nsopen_proc()), *text;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -errno;
	size_t n;

	free(path);
	if (fd < 0)
		return err;
	text = nsopen_slurp(fd, STATUS_MAX, NULL, &err);
	close(fd);
	if (!text)
		return err;
	n = procfs_status_nstgid(text, pids, ARRAY_SIZE(pids));
	free(text);
	return (int)n;
}

int pidns_check_proc(void)
{
	int n;

	if (getauxval(AT_SECURE) && strcmp(nsopen_proc(), "/proc")) {
		pr_err("cannot use --proc '%s' with file capabilities: its links would be followed with rights that you do not have; run as root",
		       nsopen_proc());
		return -EPERM;
	}
	n = levels();
	if (n < 0) {
		pr_err("'%s' is not a /proc that shows this process: %s; mount one: mount -t proc proc %s",
		       nsopen_proc(), strerror(-n), nsopen_proc());
		return -ENOENT;
	}
	if (n <= 1)
		return 0;
	pr_err("'%s' belongs to another pid namespace: its pids are those of other processes; "
	       "use the /proc of "
	       "this one, or share the host's (hostPID: true, docker run --pid host)",
	       nsopen_proc());
	return -EXDEV;
}
