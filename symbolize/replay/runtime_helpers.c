/* Detects helper processes of container runtimes (runtime_helpers.h). */
#include "replay/runtime_helpers.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "modules/addrspace.h"
#include "replay/replay.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* The kernel appends " (deleted)" if the file was replaced. */
static bool is_one_of(const char *path, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *rest = path + strlen(list[i]);

		if (begins(path, list[i]) && (!*rest || !strcmp(rest, " (deleted)")))
			return true;
	}
	return false;
}

/* After a fork without an exec, a process runs its parent's program. */
static const char *program_of(const struct image *img)
{
	while (!img->exe[0] && img->parent)
		img = img->parent;
	return img->exe;
}

/*
 * Is it in the recorder's pid namespace, but in a container's cgroup? Then it was put there from
 * outside: "runc init" at first, and conmon for good; systemd-nspawn is in the same scope as its
 * container. A runc that runs inside a container (docker in docker) is in an inner namespace, and
 * counts as the container's work. If the process was gone before it was looked at, its namespaces
 * are unknown: the first stages of "runc init" live for a millisecond.
 */
static bool is_outside(const struct image *img, const char *exe)
{
	static const char *const names[] = { "runc", "crun", "conmon", "conmonrs", "systemd-nspawn" };

	return img->nspid_n <= 1 && is_one_of(base_name(exe), names, ARRAY_SIZE(names));
}

static bool is_hidden(const char *path)
{
	return !strcmp(path, "/") || begins(path, "/memfd:runc_cloned:") || begins(path, "/memfd:crun_cloned:");
}

/*
 * To keep containers from writing to the runtime's binary (CVE-2019-5736), the runtime runs from a
 * copy in memory, or from a bind mount that is mounted nowhere any more; then its path is "/".
 * /proc may have been read only after the exec of the next program, so the mappings, which are
 * older, are checked as well.
 */
static bool runs_hidden(const struct image *img, const char *exe)
{
	bool hidden = is_hidden(exe);

	for (uint32_t i = 0; i < img->as->n && !hidden; i++)
		hidden = is_hidden(img->as->maps[i].path);
	return hidden;
}

/*
 * The kernel's name for a program that was executed by file descriptor, like that copy: the
 * descriptor's number before Linux 6.14, the file's name since. "exe" is the last part of
 * /proc/self/exe.
 */
static bool is_by_descriptor(const char *comm)
{
	return !strcmp(comm, "exe") || begins(comm, "memfd:") || (*comm && strspn(comm, "0123456789") == strlen(comm));
}

/* Is it a runtime process that has not executed the container's program yet? */
static bool is_before_exec(const struct image *img, const char *exe)
{
	static const char *const names[] = { "runc" };

	if (runs_hidden(img, exe))
		return begins(img->comm, "runc") || begins(img->comm, "crun") || is_by_descriptor(img->comm);
	return begins(img->comm, "runc:[") && is_one_of(base_name(exe), names, ARRAY_SIZE(names));
}

/* Init processes that runtimes add as process 1: they sleep, and reap children. */
static bool is_init(const struct image *img, const char *exe)
{
	static const char *const paths[] = {
		"/pause",			/* Kubernetes: a pod's sandbox */
		"/catatonit",			/* podman: a pod's init */
		"/sbin/docker-init",		/* docker run --init */
		"/run/podman-init", "/dev/init",	/* podman run --init */
	};

	return img->nspid_n > 1 && img->nspid[img->nspid_n - 1] == 1 &&
	       is_one_of(exe, paths, ARRAY_SIZE(paths));
}

bool runtime_is_helper(const struct image *img)
{
	const char *exe = program_of(img);

	return is_outside(img, exe) || is_before_exec(img, exe) || is_init(img, exe);
}
