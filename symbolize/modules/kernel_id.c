#include "modules/kernel_id.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/util.h"
#include "host/kept.h"
#include "support/process_alive.h"
#include "symbols/kallsyms.h"

/* @buf: ELF notes, @len bytes. */
static size_t build_id_in(const uint8_t *buf, size_t len, uint8_t id[BUILD_ID_MAX])
{
	Elf64_Nhdr nh;

	while (len >= sizeof(nh)) {
		uint64_t desc, end;

		memcpy(&nh, buf, sizeof(nh));
		desc = sizeof(nh) + align_up(nh.n_namesz, 4);
		end = desc + align_up(nh.n_descsz, 4);
		if (end > len)
			break;
		if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == sizeof("GNU") && nh.n_descsz && nh.n_descsz <= BUILD_ID_MAX &&
		    !memcmp(buf + sizeof(nh), "GNU", sizeof("GNU"))) {
			memcpy(id, buf + desc, nh.n_descsz);
			return nh.n_descsz;
		}
		buf += end;
		len -= end;
	}
	return 0;
}

static size_t running_kernel(uint8_t id[BUILD_ID_MAX])
{
	int fd = kept_open("/sys/kernel/notes", false);
	uint8_t buf[4096];
	ssize_t n;

	if (fd < 0)
		return 0;
	n = pread(fd, buf, sizeof(buf), 0);
	close(fd);
	return n > 0 ? build_id_in(buf, (size_t)n, id) : 0;
}

size_t kernel_id(const struct kallsyms *ks, uint8_t id[BUILD_ID_MAX])
{
	const size_t len = alive_same_boot() ? running_kernel(id) : 0;
	struct kallsym sym;
	uint64_t h = 0;
	size_t it = 0;

	if (len)
		return len;
	while (ks && kallsyms_next(ks, &it, &sym))
		h = hash_combine(hash_combine(h, sym.start), hash_bytes(sym.name, strlen(sym.name)));
	for (size_t at = 0; at < BUILD_ID_MAX; at += sizeof(h)) {
		h = hash_u64(h + at + 1);
		memcpy(id + at, &h, MIN(sizeof(h), BUILD_ID_MAX - at));
	}
	return BUILD_ID_MAX;
}
