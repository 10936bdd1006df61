/* Identifies a file so that no other file can pass for it (elf_file.h). */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash.h"
#include "elf/elf_file_priv.h"
#include "host/kept.h"

/* Linux 6.8: mount ids that are not reused before the next boot. */
#ifndef STATX_MNT_ID_UNIQUE
#define STATX_MNT_ID_UNIQUE 0x00004000U
#endif

static uint64_t boot_hash(void)
{
	int fd = kept_open("/proc/sys/kernel/random/boot_id", false);
	char id[64];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = pread(fd, id, sizeof(id), 0);
	close(fd);
	return n > 0 ? hash_bytes(id, (size_t)n) : 0;
}

void elf_identity_take(struct elf_file *ef)
{
	struct elf_identity id = { 0 };
	struct statx sx;

	if (statx(ef->fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID_UNIQUE, &sx))
		return;
	if (sx.stx_dev_major == 0) {
		if (!(sx.stx_mask & STATX_MNT_ID_UNIQUE))
			return;
		id.mount = sx.stx_mnt_id;
		id.boot = boot_hash();
		if (!id.boot)
			return;
	}
	id.dev = makedev(sx.stx_dev_major, sx.stx_dev_minor);
	id.ino = sx.stx_ino;
	id.size = sx.stx_size;
	id.ctime_ns = sx.stx_ctime.tv_sec * 1000000000 + sx.stx_ctime.tv_nsec;
	ef->id = id;
}

bool elf_file_identity(const struct elf_file *ef, struct elf_identity *out)
{
	*out = ef->id;
	return ef->id.ino != 0;
}
