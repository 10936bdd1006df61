/* Finds state directories on the command lines of container runtimes (state_dirs.h). */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "containers/state_dirs.h"
#include "containers/state_hints.h"
#include "containers/state_settings.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"
#include "procfs/proc_facts.h"

#define ARGS_MAX 512
#define CMDLINE_MAX (1u << 20)

struct host {
	struct state_dirs *sd;
	int rootfd;
	uint64_t pid_ns;	/* the host's */
	bool (*inside)(void *ctx, const char *cgroup);
	void *ctx;
	/* The current process: */
	int procfd;
	const char *name;
	uint32_t uid;
};

uint64_t state_host_ns(const char *kind, int procfd)
{
	const uint32_t whose[] = { 1, (uint32_t)getpid() };
	char name[16], text[64];
	uint64_t ns = 0;
	ssize_t n;

	if (procfd >= 0) {
		snprintf(name, sizeof(name), "ns/%s", kind);
		n = readlinkat(procfd, name, text, sizeof(text) - 1);
		text[n > 0 ? n : 0] = '\0';
		return procfs_ns_inode(text);
	}
	for (size_t i = 0; i < ARRAY_SIZE(whose) && !ns; i++) {
		procfd = nsopen_process(whose[i]);
		if (procfd < 0)
			continue;
		ns = state_host_ns(kind, procfd);
		close(procfd);
	}
	return ns;
}

/*
 * Is it a process of the host: not in a container's cgroup, not in another pid namespace? Sets the
 * user, who controls its arguments. False for a program with other rights than the user who started
 * it.
 */
static bool is_host(struct host *h)
{
	char *status = proc_facts_text(h->procfd, "status"), *text = proc_facts_text(h->procfd, "cgroup"), path[PATH_MAX];
	const char *uids = status ? strstr(status, "\nUid:") : NULL;
	uint32_t uid[4];
	bool is;

	is = uids && sscanf(uids, "\nUid: %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32, &uid[0], &uid[1], &uid[2], &uid[3]) == 4 &&
	     uid[0] == uid[1] && uid[0] == uid[2] && uid[0] == uid[3] && text &&
	     procfs_cgroup_path(text, "perf_event", path, sizeof(path)) && !h->inside(h->ctx, path) &&
	     state_host_ns("pid", h->procfd) == h->pid_ns;
	h->uid = is ? uid[0] : 0;
	free(status);
	free(text);
	return is;
}

/* Any process can choose its name; the executed file tells what it is. */
static bool runs_what_it_says(const struct host *h)
{
	char exe[PATH_MAX];
	ssize_t n = readlinkat(h->procfd, "exe", exe, sizeof(exe) - 1);
	const char *slash;

	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	/* The name is cut to 15 letters. After an update, " (deleted)" follows the path. */
	return slash && !strncmp(slash + 1, h->name, strlen(h->name));
}

/* @path may be relative to the process's working directory. */
static void take(void *ctx, enum state_hint what, const char *path)
{
	const struct host *h = ctx;
	char full[PATH_MAX], cwd[PATH_MAX];
	ssize_t n;

	if (path[0] != '/') {
		n = readlinkat(h->procfd, "cwd", cwd, sizeof(cwd) - 1);
		cwd[n > 0 ? n : 0] = '\0';
		if (n <= 0 || (size_t)snprintf(full, sizeof(full), "%s/%s", cwd, path) >= sizeof(full))
			return;
		path = full;
	}
	if (what == STATE_HINT_DIR)
		state_dirs_add(h->sd, path, h->name, "", h->uid);
	else
		state_settings_file(h->sd, h->rootfd, what, path, NULL, h->uid);
}

static void read_args(struct host *h)
{
	char cwd[PATH_MAX], dir[PATH_MAX], *text;
	const char *args[ARGS_MAX];
	size_t n = 0, size;
	ssize_t len;
	int err;

	if (!strcmp(h->name, "containerd-shim")) {
		len = readlinkat(h->procfd, "cwd", cwd, sizeof(cwd) - 1);
		cwd[len > 0 ? len : 0] = '\0';
		if (state_hint_bundle(cwd, dir, sizeof(dir)))
			take(h, STATE_HINT_DIR, dir);
		return;
	}
	text = nsopen_text(h->procfd, "cmdline", CMDLINE_MAX, &size, &err);
	if (!text)
		return;
	for (const char *s = text; s < text + size && n < ARGS_MAX; s += strlen(s) + 1)
		args[n++] = s;
	state_hint_args(h->name, args, n, take, h);
	free(text);
}

static void look_at(struct host *h, uint32_t pid)
{
	char comm[COMM_LEN + 1];
	int fd = nsopen_procfile(pid, "comm");
	ssize_t n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);

	if (fd >= 0)
		close(fd);
	comm[n > 0 ? n : 0] = '\0';
	comm[strcspn(comm, "\n")] = '\0';
	/* Nearly all processes are others, and there may be thousands. */
	if (!state_hint_is_runtime(comm))
		return;
	h->procfd = nsopen_process(pid);
	if (h->procfd < 0)
		return;
	h->name = comm;
	if (is_host(h) && runs_what_it_says(h))
		read_args(h);
	close(h->procfd);
}

void state_dirs_add_processes(struct state_dirs *sd, int rootfd, uint64_t most_ns, bool (*inside)(void *ctx, const char *cgroup),
			      void *ctx)
{
	const uint64_t until = most_ns ? clock_mono_ns() + most_ns : UINT64_MAX;
	struct host h = { .sd = sd, .rootfd = rootfd, .inside = inside, .ctx = ctx };
	DIR *dir = opendir(nsopen_proc());
	struct dirent *de;

	h.pid_ns = state_host_ns("pid", -1);
	while (dir && (de = readdir(dir)) && clock_mono_ns() < until)
		if (isdigit((unsigned char)de->d_name[0]))
			look_at(&h, (uint32_t)strtoul(de->d_name, NULL, 10));
	if (dir)
		closedir(dir);
}
