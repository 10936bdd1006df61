/* Who is a runtime's helper (runtime_helpers.h). */
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

/* The program may have been replaced since. */
static bool is_one_of(const char *path, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *rest = path + strlen(list[i]);

		if (begins(path, list[i]) && (!*rest || !strcmp(rest, " (deleted)")))
			return true;
	}
	return false;
}

/* A process that has only forked runs what its parent ran. */
static const char *program_of(const struct image *img)
{
	while (!img->exe[0] && img->parent)
		img = img->parent;
	return img->exe;
}

/*
 * In the recorder's pid namespace though in a container's cgroup: sent in from outside, as "runc init" is at
 * first and conmon for good; nspawn's is in the same scope as its container. A runc that runs in a container (docker in docker) has a namespace more, and is work.
 * Of one that was gone before it was looked at, its namespaces are not known: the first stages of "runc init" live for a millisecond.
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
 * So that a container cannot write to the runtime's binary (CVE-2019-5736), that runs from a copy in memory, or from
 * a bind mount which is nowhere any more: then its path is "/". The path of the program in /proc may have
 * been read after the exec, and be the next one's; what is mapped is of before.
 */
static bool runs_hidden(const struct image *img, const char *exe)
{
	bool hidden = is_hidden(exe);

	for (uint32_t i = 0; i < img->as->n && !hidden; i++)
		hidden = is_hidden(img->as->maps[i].path);
	return hidden;
}

/*
 * What the kernel calls a program that was executed by its descriptor, as that copy is: by the descriptor's number before Linux 6.14, by
 * the file's name since; "exe" is the last part of /proc/self/exe.
 */
static bool is_by_descriptor(const char *comm)
{
	return !strcmp(comm, "exe") || begins(comm, "memfd:") || (*comm && strspn(comm, "0123456789") == strlen(comm));
}

/* Up to its exec of the container's program. */
static bool is_before_exec(const struct image *img, const char *exe)
{
	static const char *const names[] = { "runc" };

	if (runs_hidden(img, exe))
		return begins(img->comm, "runc") || begins(img->comm, "crun") || is_by_descriptor(img->comm);
	return begins(img->comm, "runc:[") && is_one_of(base_name(exe), names, ARRAY_SIZE(names));
}

/* What runtimes put in as process 1: it sleeps, and reaps. */
static bool is_init(const struct image *img, const char *exe)
{
	static const char *const paths[] = {
		"/pause",			/* Kubernetes: a pod's sandbox */
		"/catatonit",			/* podman: a pod's */
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
