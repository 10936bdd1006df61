#include "import/import_host.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/util.h"
#include "elf/elf_file.h"
#include "host/kept.h"
#include "host/nsopen.h"
#include "host/parser.h"

#define KALLSYMS "[kernel.kallsyms]"

/*
 * Did any event ask for build-ids? The flag in a record does not tell: the kernel sets it in a
 * header that it writes to one event after the other, and does not clear it
 * (perf_event_mmap_output() in kernel/events/core.c). So if another recorder asks for build-ids,
 * records without one have the flag, too.
 */
static bool asked_build_ids(const struct perfdata *pd)
{
	for (size_t i = 0; i < pd->nattrs; i++)
		if (pd->attrs[i].flags & PERFDATA_BUILD_IDS)
			return true;
	return false;
}

/* Sets the protection from the record's header, which tells code from data. */
static void asked_for(const struct perfdata_record *r, struct kmmap *m)
{
	m->prot = r->misc & PERF_RECORD_MISC_MMAP_DATA ? PROT_READ : PROT_READ | PROT_EXEC;
	m->flags = MAP_PRIVATE;
}

int import_mmap(const struct perfdata *pd, const struct perfdata_record *r, struct kmmap *m)
{
	struct perfdata_cursor cursor = { .p = r->body, .end = r->body + r->len, .swap = pd->swap }, *c = &cursor;
	const uint8_t *id;

	*m = (struct kmmap){ .time = r->time };
	m->pid = perfdata_u32(c);
	m->tid = perfdata_u32(c);
	m->start = perfdata_u64(c);
	m->len = perfdata_u64(c);
	m->pgoff = perfdata_u64(c);
	if (r->type == PERF_RECORD_MMAP) {
		asked_for(r, m);
	} else if (r->misc & PERF_RECORD_MISC_MMAP_BUILD_ID && asked_build_ids(pd)) {
		id = perfdata_bytes(c, 4 + BUILD_ID_MAX);
		if (!id || id[0] > BUILD_ID_MAX)
			return -EINVAL;
		m->build_id_len = id[0];
		memcpy(m->build_id, id + 4, BUILD_ID_MAX);
		m->has_build_id = true;
	} else {
		m->dev_major = perfdata_u32(c);
		m->dev_minor = perfdata_u32(c);
		m->ino = perfdata_u64(c);
		m->ino_gen = perfdata_u64(c);
	}
	if (r->type == PERF_RECORD_MMAP2) {
		m->prot = perfdata_u32(c);
		m->flags = perfdata_u32(c);
		/*
		 * Before Linux 4.6, both are 0 if no file is mapped (perf_event_mmap_event() in
		 * kernel/events/core.c).
		 */
		if (!m->prot && !m->flags)
			asked_for(r, m);
	}
	m->path = perfdata_cstr(c);
	return c->bad ? -EINVAL : 0;
}

static uint64_t hash_path(const char *path)
{
	return hash_bytes(path, strlen(path));
}

static uint64_t hash_file(const struct kmmap *m)
{
	uint64_t h = hash_combine(hash_u64((uint64_t)m->dev_major << 32 | m->dev_minor), m->ino);

	return hash_combine(h, m->ino_gen) | 1;
}

/* "[kernel.kallsyms]_text": perf appends the symbol to the name and puts its address into pgoff. */
static void look_kernel(struct import_host *h, const struct kmmap *m)
{
	if (strncmp(m->path, KALLSYMS, strlen(KALLSYMS)) != 0 || h->kernel_sym[0])
		return;
	snprintf(h->kernel_sym, sizeof(h->kernel_sym), "%s", m->path + strlen(KALLSYMS));
	h->kernel_addr = m->pgoff;
}

void import_host_look(struct import_host *h, const struct perfdata *pd, const struct perfdata_record *r)
{
	bool is_new = false;
	struct kmmap m;
	uint64_t *slot;

	if ((r->type != PERF_RECORD_MMAP && r->type != PERF_RECORD_MMAP2) || import_mmap(pd, r, &m))
		return;
	if ((r->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		look_kernel(h, &m);
		return;
	}
	if (m.has_build_id || !(m.prot & PROT_EXEC))
		return;
	slot = u64map_put(&h->files, hash_path(m.path), &is_new);
	if (is_new)
		*slot = hash_file(&m);
	else if (*slot != hash_file(&m))
		*slot = 0;
}

/* The address of the kernel symbol @name; 0 if it does not exist or is hidden. */
static uint64_t kernel_symbol(const char *name)
{
	int fd = kept_open("/proc/kallsyms", false);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	char line[512], sym[256];
	uint64_t addr, found = 0;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (!found && fgets(line, sizeof(line), f))
		if (sscanf(line, "%" SCNx64 " %*c %255s", &addr, sym) == 2 && !strcmp(sym, name))
			found = addr;
	fclose(f);
	return found;
}

static bool same_place(const struct import_host *h)
{
	return h->kernel_sym[0] && h->kernel_addr && kernel_symbol(h->kernel_sym) == h->kernel_addr;
}

void import_host_name(struct import_host *h, const struct perfdata *pd)
{
	struct utsname un;

	/*
	 * perf writes the host name at the end. If perf was killed, the kernel's address decides.
	 */
	if (!pd->hostname)
		h->same_host = same_place(h);
	else
		h->same_host = !uname(&un) && !strcmp(un.nodename, pd->hostname);
}

static void index_ids(struct import_host *h, const struct perfdata *pd)
{
	for (size_t i = 0; i < pd->nbuild_ids; i++) {
		bool is_new = false;
		uint64_t *slot = u64map_put(&h->ids, hash_path(pd->build_ids[i].path), &is_new);

		*slot = is_new ? i + 1 : 0;
	}
	h->named = true;
}

/*
 * Build-id of the file that lies at the path now. *@mapped: its device and inode are those of the
 * mapping.
 */
static size_t host_build_id(const struct kmmap *m, uint8_t id[BUILD_ID_MAX], bool *mapped)
{
	struct stat st;
	int root = nsopen_host_root(), fd = root < 0 ? root : nsopen_file(root, m->path, 0, &st), err;
	struct elf_file *ef = NULL;
	uint32_t work;
	size_t len = 0;

	*mapped = false;
	if (root >= 0)
		close(root);
	if (fd < 0)
		return 0;
	*mapped = st.st_ino == m->ino && st.st_dev == makedev(m->dev_major, m->dev_minor);
	work = (uint32_t)hash_path(m->path) | 1;
	parser_working_on(work, m->path);
	ef = parser_avoids(work) ? NULL : elf_file_open_fd(fd, &err);
	if (ef)
		len = elf_file_build_id(ef, id);
	elf_file_close(ef);
	parser_working_on(0, NULL);
	close(fd);
	return len;
}

void import_host_identify(struct import_host *h, const struct perfdata *pd, struct kmmap *m)
{
	const struct perfdata_build_id *b;
	const uint64_t *slot;
	uint8_t id[BUILD_ID_MAX];
	bool mapped;
	size_t len;

	if (!h->named)
		index_ids(h, pd);
	if (m->path[0] != '/' || !(m->prot & PROT_EXEC))
		return;
	slot = u64map_get(&h->files, hash_path(m->path));
	if (!slot || !*slot)
		return;
	slot = u64map_get(&h->ids, hash_path(m->path));
	if (!slot || !*slot)
		return;
	b = &pd->build_ids[*slot - 1];
	if (h->same_host) {
		len = host_build_id(m, id, &mapped);
		if (!mapped && len == b->len && !memcmp(id, b->id, len))
			return;
	}
	memcpy(m->build_id, b->id, BUILD_ID_MAX);
	m->build_id_len = b->len;
	m->has_build_id = true;
}

bool import_host_same_kernel(const struct import_host *h, const struct perfdata *pd)
{
	struct utsname un;

	return h->same_host && (!pd->osrelease || (!uname(&un) && !strcmp(un.release, pd->osrelease))) && same_place(h);
}

const struct perfdata_build_id *import_host_vdso(struct import_host *h, const struct perfdata *pd)
{
	const uint64_t *slot;

	if (!h->named)
		index_ids(h, pd);
	slot = u64map_get(&h->ids, hash_path("[vdso]"));
	return slot && *slot && pd->build_ids[*slot - 1].len ? &pd->build_ids[*slot - 1] : NULL;
}

void import_host_fini(struct import_host *h)
{
	u64map_fini(&h->files);
	u64map_fini(&h->ids);
}
