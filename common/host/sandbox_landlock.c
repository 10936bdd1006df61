/*
 * Landlock (landlock(7), Documentation/userspace-api/landlock.rst). The rights that a version of it
 * knows are asked for by number: kernel headers may be older than the kernel.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/util.h"
#include "host/sandbox.h"

#ifndef SYS_landlock_create_ruleset	/* the same on all architectures */
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_restrict_self 446
#endif

#define ASK_VERSION 1u		/* LANDLOCK_CREATE_RULESET_VERSION */

/* struct landlock_ruleset_attr: each version appends to it. */
struct attr {
	uint64_t fs;
	uint64_t net;		/* from version 4 on */
	uint64_t scoped;	/* from version 6 on */
};

/* Number of rights about files by version: refer came with 2, truncate with 3, ioctl_dev with 5. */
static const uint8_t fs_rights[] = { 0, 13, 14, 15, 15, 16 };

#define NET_RIGHTS 0x3u		/* bind_tcp, connect_tcp */
#define SCOPES 0x3u		/* abstract Unix sockets, signals */

int sandbox_landlock_version(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, ASK_VERSION);

	return version > 0 ? (int)version : 0;
}

int sandbox_no_paths(void)
{
	const int version = sandbox_landlock_version();
	struct attr a = { 0 };
	size_t size = sizeof(a.fs);
	int fd, err = 0;

	if (!version)
		return -EOPNOTSUPP;
	a.fs = (1ull << fs_rights[MIN((size_t)version, ARRAY_SIZE(fs_rights) - 1)]) - 1;
	if (version >= 4) {
		a.net = NET_RIGHTS;
		size = sizeof(a.fs) + sizeof(a.net);
	}
	if (version >= 6) {
		a.scoped = SCOPES;
		size = sizeof(a);
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
	if (fd < 0)
		return -errno;
	/* A ruleset without rules allows none of the rights that it knows. */
	if (syscall(SYS_landlock_restrict_self, fd, 0))
		err = -errno;
	close(fd);
	return err;
}
