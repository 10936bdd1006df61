#include "procs/own_facts.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/nsopen.h"
#include "host/procfs.h"

#define MAPS_TEXT_MAX (16u << 20)

static struct own_facts kept;
static bool have;

static int find_vdso(void *ctx, const struct proc_map *m)
{
	size_t *size = ctx;

	if (strcmp(m->path, "[vdso]"))
		return 0;
	*size = m->end - m->start;
	return 1;
}

/* The auxiliary vector has only the address; the size is that of the mapping. */
static void read_vdso(struct own_facts *own)
{
	void *image = (void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), err;
	char *text = fd >= 0 ? nsopen_slurp(fd, MAPS_TEXT_MAX, NULL, &err) : NULL;

	if (fd >= 0)
		close(fd);
	if (text && image)
		procfs_maps(text, find_vdso, &own->vdso_size);
	if (own->vdso_size)
		own->vdso = image;
	free(text);
}

void own_facts_read(struct own_facts *own)
{
	struct stat st;

	if (have) {
		*own = kept;
		return;
	}
	memset(own, 0, sizeof(*own));
	if (!stat("/", &st)) {
		own->dev = st.st_dev;
		own->ino = st.st_ino;
	}
	if (!stat("/proc/self/ns/mnt", &st))
		own->mnt_ns = st.st_ino;
	read_vdso(own);
}

void own_facts_keep(void)
{
	own_facts_read(&kept);
	have = true;
}
