/*
 * Binaries and the sources of their bytes (module.h). The rule of this file: a path proves nothing.
 * Bytes are used only if their build-id is the recorded one or, for a binary without a build-id, if
 * inode, size and modification time match. Otherwise frames get no name, and the reason is kept.
 */
#include "modules/module.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cpus.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "elf/elf_fetch.h"
#include "host/kept.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "host/parser.h"
#include "modules/slice_unpack.h"
#include "support/process_alive.h"
#include "symbols/symtab.h"

/* One user that is alive is enough, and the last ones seen are the likeliest to be. */
#define USERS_MAX MODULE_USERS_MAX

/* Larger than any real binary. Guards against sparse files of terabytes. */
#define BINARY_MAX (16ull << 30)
/* One whose file system may not answer is copied first. */
#define COPY_MAX (512ull << 20)

#define ABSENT(s)	((struct module_why){ (s), MODULE_ABSENT })
#define REFUSED(s)	((struct module_why){ (s), MODULE_REFUSED })

struct module_user {
	uint32_t pid;
	uint64_t start_ticks;
	uint64_t start, end;	/* runtime addresses of the mapping */
	uint64_t pgoff;		/* its file offset */
	bool tried;
};

struct modules {
	struct u64map by_id;	/* ev_dso.id -> index in mods */
	struct module **mods;	/* owned; entries stay where they are */
	size_t n;
	size_t cap;
	void **blobs;		/* owned copies of captured slices, which elf_file borrows */
	size_t nblobs;
	size_t blobs_cap;
	const struct cache *cache;
	struct slices *slices;	/* owned; NULL: no packed slices */
	bool ahead, inlined;
};

struct modules *modules_new(void)
{
	return xcalloc(1, sizeof(struct modules));
}

void modules_use_cache(struct modules *ms, const struct cache *cache)
{
	ms->cache = cache;
}

/* --symfs */
static const char *other_root;

void modules_use_root(const char *dir)
{
	other_root = dir;
}

void modules_work_ahead(struct modules *ms, bool inlined)
{
	ms->ahead = true;
	ms->inlined = inlined;
}

static void module_free(struct module *m)
{
	symtab_free(m->few);
	symtab_free(m->symtab);
	inlines_free(m->inlines);
	cfi_free(m->cfi);
	debugsource_fini(&m->files);
	made_rows_free(m->made);
	elf_file_close(m->elf);
	elf_file_close(m->captured);
	free(m->users);
	free((char *)m->dso.path);
	free(m);
}

void modules_free(struct modules *ms)
{
	size_t i;

	if (!ms)
		return;
	for (i = 0; i < ms->n; i++)
		module_free(ms->mods[i]);
	slices_free(ms->slices);
	for (i = 0; i < ms->nblobs; i++)
		free(ms->blobs[i]);
	free(ms->mods);
	free(ms->blobs);
	u64map_fini(&ms->by_id);
	free(ms);
}

/* Captures come before the events, so a module may exist before it is defined (path NULL). */
static struct module *module_slot(struct modules *ms, uint32_t dso_id)
{
	bool is_new;
	uint64_t *slot = u64map_put(&ms->by_id, dso_id, &is_new);

	if (is_new) {
		struct module *m = xcalloc(1, sizeof(*m));

		m->id = dso_id;
		m->cache = ms->cache;
		m->inlined = ms->inlined;
		*slot = ms->n;
		XGROW(ms->mods, ms->n, ms->cap);
		ms->mods[ms->n++] = m;
	}
	return ms->mods[*slot];
}

struct module *modules_get(struct modules *ms, uint32_t dso_id)
{
	uint64_t *slot = u64map_get(&ms->by_id, dso_id);
	struct module *m = slot ? ms->mods[*slot] : NULL;

	return m && m->dso.path ? m : NULL;
}

struct module *modules_next(const struct modules *ms, size_t *it)
{
	while (*it < ms->n) {
		struct module *m = ms->mods[(*it)++];

		if (m->dso.path)
			return m;
	}
	return NULL;
}

/* A recording written in segments defines its binaries again in each segment. */
static bool same_binary(const struct ev_dso *a, const struct ev_dso *b)
{
	if (a->build_id_len != b->build_id_len || memcmp(a->build_id, b->build_id, a->build_id_len))
		return false;
	return a->dev_major == b->dev_major && a->dev_minor == b->dev_minor && a->ino == b->ino &&
	       a->ino_gen == b->ino_gen && a->mnt_ns == b->mnt_ns && !strcmp(a->path, b->path);
}

int modules_add(struct modules *ms, const struct ev_dso *dso)
{
	struct module *m;

	if (!dso->id || !dso->path || dso->build_id_len > BUILD_ID_MAX)
		return -EINVAL;
	m = module_slot(ms, dso->id);
	if (m->dso.path)
		return same_binary(&m->dso, dso) ? 0 : -EEXIST;
	m->dso = *dso;
	m->dso.path = xstrdup(dso->path);
	m->vdso = strcmp(dso->path, "[vdso]") == 0;
	return 0;
}

void modules_add_user(struct module *m, uint32_t pid, uint64_t start_ticks, uint64_t start,
		      uint64_t end, uint64_t pgoff)
{
	struct module_user *u;
	uint32_t i;

	for (i = 0; i < MIN(m->nusers, USERS_MAX); i++) {
		if (m->users[i].pid == pid && m->users[i].start_ticks == start_ticks)
			return;
	}
	if (!m->users)
		m->users = xcalloc(USERS_MAX, sizeof(*m->users));
	u = &m->users[m->nusers++ % USERS_MAX];
	*u = (struct module_user){
		.pid = pid, .start_ticks = start_ticks, .start = start, .end = end, .pgoff = pgoff,
	};
}

bool module_user(const struct module *m, uint32_t i, uint32_t *pid, uint64_t *start_ticks)
{
	if (i >= MIN(m->nusers, USERS_MAX))
		return false;
	*pid = m->users[i].pid;
	*start_ticks = m->users[i].start_ticks;
	return true;
}

/*
 * A later capture covers all addresses so far, and replaces an earlier one. False if it is damaged.
 */
static bool take_captured(struct module *m, const void *data, size_t size)
{
	int err;
	struct elf_file *ef = data ? elf_file_open_mem(data, size, &err) : NULL;

	if (!ef)
		return false;
	elf_file_close(m->captured);
	m->captured = ef;
	return true;
}

/* Takes the newest intact one of the packed slices added so far. */
static void take_slices(struct module *m)
{
	for (struct slice *sl = m->slice; sl; sl = slices_before(sl)) {
		size_t size;
		const void *data = slices_wait(sl, &size);

		if (take_captured(m, data, size))
			break;
		if (data)
			m->why_not[MODULE_CAPTURED] = REFUSED("captured rows are damaged");
	}
	m->slice = NULL;
}

void modules_add_slice(struct modules *ms, const struct capture *cap)
{
	struct module *m;

	if (!cap->id || !cap->size)
		return;
	m = module_slot(ms, cap->id);
	if (!ms->slices)
		ms->slices = slices_new(ms->ahead && cpus_usable() > 1);
	m->slice = slices_add(ms->slices, cap, m->slice);
}

void modules_add_capture(struct modules *ms, uint32_t dso_id, const void *data, size_t size)
{
	struct module *m;
	void *copy;

	if (!dso_id || !size)
		return;
	m = module_slot(ms, dso_id);
	take_slices(m);
	copy = xmemdup(data, size);
	if (!take_captured(m, copy, size)) {
		m->why_not[MODULE_CAPTURED] = REFUSED("captured rows are damaged");
		free(copy);
		return;
	}
	XGROW(ms->blobs, ms->nblobs, ms->blobs_cap);
	ms->blobs[ms->nblobs++] = copy;
}

struct module *module_of_rows(uint32_t id, const char *name, const void *data, size_t size)
{
	int err;
	struct elf_file *ef = elf_file_open_mem(data, size, &err);
	struct module *m;

	if (!ef)
		return NULL;
	m = xcalloc(1, sizeof(*m));
	m->id = id;
	m->dso.path = xstrdup(name);
	m->source = MODULE_CAPTURED;
	m->captured = ef;
	return m;
}

void module_drop(struct module *m)
{
	if (m)
		module_free(m);
}

/* ---- proofs ---- */

static bool build_id_equal(const struct module *m, const struct elf_file *ef)
{
	uint8_t id[BUILD_ID_MAX];
	size_t len = elf_file_build_id(ef, id);

	return len == m->dso.build_id_len && memcmp(id, m->dso.build_id, len) == 0;
}

/*
 * overlayfs and btrfs show one device number in /proc/PID/maps and another in stat(2). Such devices
 * are anonymous, with major number 0. Between two real devices, the numbers must match.
 */
static bool device_agrees(const struct ev_dso *dso, const struct stat *st)
{
	if (!dso->dev_major || major(st->st_dev) == 0)
		return true;
	return dso->dev_major == major(st->st_dev) && dso->dev_minor == minor(st->st_dev);
}

static bool identity_equal(const struct ev_dso *dso, const struct stat *st, bool by_mapping)
{
	int64_t mtime = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;

	if (!dso->ino || dso->ino != st->st_ino || !device_agrees(dso, st))
		return false;
	/*
	 * The file's size and time were not recorded: only the living process's own mapping is
	 * proof.
	 */
	if (!dso->size && dso->mtime_ns <= 0)
		return by_mapping;
	return dso->size == (uint64_t)st->st_size && dso->mtime_ns == mtime;
}

/* Does an executable segment of @ef begin in the page at file offset @pgoff, as mapped? */
static bool begins_code(const struct elf_file *ef, uint64_t pgoff)
{
	const struct elf_load *l;

	for (size_t n = elf_file_loads(ef, &l); n; n--, l++) {
		if ((l->flags & PF_X) && align_down(l->offset, MAP_PAGE) == pgoff)
			return true;
	}
	return false;
}

/*
 * Are all executable segments of @slice at the same place in @ef as in the file the slice was cut
 * from?
 */
static bool same_code(const struct elf_file *slice, const struct elf_file *ef)
{
	const struct elf_load *a, *b;
	size_t i;

	for (size_t n = elf_file_loads(slice, &a); n; n--, a++) {
		if (!(a->flags & PF_X))
			continue;
		for (i = elf_file_loads(ef, &b); i; i--, b++) {
			if ((b->flags & PF_X) && b->offset == a->offset && b->vaddr == a->vaddr)
				break;
		}
		if (!i)
			return false;
	}
	return true;
}

/*
 * patchelf(1) and similar tools move segments but keep the build-id, so the build-id does not prove
 * the layout. A mapping begins where a segment does, unless it was cut; then the slice knows the
 * segments.
 */
static bool layout_equal(struct module *m, const struct elf_file *ef)
{
	uint32_t i, n = MIN(m->nusers, USERS_MAX);

	for (i = 0; i < n && begins_code(ef, m->users[i].pgoff); i++)
		;
	return i == n || !module_captured(m) || same_code(m->captured, ef);
}

/*
 * Consumes @fd. Returns the parsed file if it is proven to be @m's binary, otherwise NULL with
 * *@why.
 */
static struct elf_file *open_proven(struct module *m, int fd, const struct stat *st,
				    bool by_mapping, struct module_why *why)
{
	struct elf_file *ef = NULL;
	char magic[SELFMAG] = "";
	int held = fd, err;
	bool part;

	fd = elf_fetch(held, COPY_MAX, &part);
	nsopen_close(held);
	if (fd < 0) {
		*why = fd == -EFBIG ? REFUSED("file is too large to be copied from a file system that may not answer") :
				      REFUSED(openwhy(OPENWHY_FILE, fd));
		return NULL;
	}
	if (!m->dso.build_id_len && !identity_equal(&m->dso, st, by_mapping)) {
		*why = REFUSED("file has another inode, size or time, and no build-id was recorded");
	} else {
		ef = elf_file_open_fd(fd, &err);
		m->not_elf |= !ef && !m->dso.build_id_len && pread(fd, magic, sizeof(magic), 0) >= 0 && memcmp(magic, ELFMAG, SELFMAG);
		if (!ef)
			*why = m->not_elf ? REFUSED("file is not an ELF file") : REFUSED("file is not a readable ELF file");
	}
	close(fd);
	if (ef && part)
		pr_verbose("'%s' is too large to be copied from a file system that may not answer: without its debug info", m->dso.path);
	if (ef && m->dso.build_id_len && !build_id_equal(m, ef))
		*why = REFUSED("file has another build-id");
	else if (ef && m->dso.build_id_len && !layout_equal(m, ef))
		*why = REFUSED("file has the same build-id, but another layout");
	else
		return ef;
	elf_file_close(ef);
	return NULL;
}

/* ---- sources ---- */

static struct debug_binary debug_binary(const struct module *m)
{
	return (struct debug_binary){
		.path = m->dso.path, .elf = m->elf, .captured = m->captured,
		.held = m->cfi || m->symtab || m->inlines,
	};
}

static void look_for_debug(struct module *m, int rootfd)
{
	const struct debug_binary of = debug_binary(m);

	debugsource_look(&m->files, &of, rootfd);
}

/* @gone: the reason if there is no such file. */
static struct module_why unopened(int err, const char *gone)
{
	const char *why = openwhy(OPENWHY_FILE, err);

	return why ? REFUSED(why) : ABSENT(gone);
}

static bool try_user(struct module *m, struct module_user *u)
{
	struct module_why *why = &m->why_not[MODULE_PROCESS];
	int err = alive_check(u->pid, u->start_ticks), rootfd, fd;
	struct stat st;

	/*
	 * Without a start time, a build-id can still prove the bytes, whichever process has the
	 * pid.
	 */
	if (err && !(err == -ENODATA && m->dso.build_id_len)) {
		*why = ABSENT(alive_why(err));
		return false;
	}
	rootfd = nsopen_root(u->pid);
	fd = nsopen_mapping(u->pid, u->start, u->end, &st);
	if (fd >= 0)
		m->elf = open_proven(m, fd, &st, true, why);
	if (!m->elf && rootfd >= 0) {
		fd = nsopen_file(rootfd, m->dso.path, BINARY_MAX, &st);
		if (fd >= 0)
			m->elf = open_proven(m, fd, &st, false, why);
		else if (!why->text || openwhy(OPENWHY_FILE, fd))
			*why = unopened(fd, "file is gone from the process's root");
	} else if (!m->elf && !why->text) {
		*why = ABSENT("no permission to read the process's files: run as root");
	}
	/*
	 * The mapping may be recorded with the length the kernel reported at first, which is too
	 * long.
	 */
	fd = m->elf ? -ENOENT : nsopen_mapping_at(u->pid, u->start, &st);
	if (fd >= 0)
		m->elf = open_proven(m, fd, &st, true, why);
	if (m->elf)
		look_for_debug(m, rootfd);
	if (rootfd >= 0)
		close(rootfd);
	return m->elf != NULL;
}

static bool try_processes(struct module *m)
{
	uint32_t i, n = MIN(m->nusers, USERS_MAX);

	for (i = 0; i < n; i++) {
		struct module_user *u = &m->users[(m->nusers - 1 - i) % USERS_MAX];

		if (u->tried)
			continue;
		u->tried = true;
		if (try_user(m, u)) {
			m->why_not[MODULE_PROCESS] = ABSENT(NULL);
			return true;
		}
	}
	if (!n)
		m->why_not[MODULE_PROCESS] = ABSENT("no process was seen to map it");
	return false;
}

static bool try_host(struct module *m, int rootfd)
{
	struct module_why *why = &m->why_not[MODULE_HOST];
	struct stat st;
	int fd;

	if (!m->dso.build_id_len && !alive_own_mnt_ns(m->dso.mnt_ns)) {
		*why = ABSENT("without a build-id, a host file proves nothing for another mount namespace");
		return false;
	}
	fd = rootfd < 0 ? rootfd : nsopen_file(rootfd, m->dso.path, BINARY_MAX, &st);
	if (fd < 0) {
		*why = unopened(fd, "no such file on this host");
		return false;
	}
	m->elf = open_proven(m, fd, &st, false, why);
	return m->elf != NULL;
}

/* Our own vdso is the recorded one if the build-ids match, as they do on the same kernel. */
static bool try_own_vdso(struct module *m)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	int err;

	m->why_not[MODULE_HOST] = ABSENT("another kernel's vdso");
	if (!eh || !m->dso.build_id_len)
		return false;
	/* The section headers are the last thing in the image. */
	m->elf = elf_file_open_mem(eh, eh->e_shoff + (size_t)eh->e_shnum * eh->e_shentsize, &err);
	if (m->elf && !build_id_equal(m, m->elf)) {
		elf_file_close(m->elf);
		m->elf = NULL;
	}
	return m->elf != NULL;
}

/* A slice with the build-id of another binary comes from a damaged recording. */
static bool is_others_slice(const struct module *m, const struct elf_file *slice)
{
	uint8_t id[BUILD_ID_MAX];

	return m->dso.build_id_len && elf_file_build_id(slice, id) && !build_id_equal(m, slice);
}

/* Is it one that ended an earlier parser? */
static bool is_avoided(const struct module *m)
{
	parser_working_on(m->id, m->dso.path);
	return parser_avoids(m->id);
}

struct elf_file *module_captured(struct module *m)
{
	if (is_avoided(m))
		return NULL;
	take_slices(m);
	if (m->captured && is_others_slice(m, m->captured)) {
		elf_file_close(m->captured);
		m->captured = NULL;
		m->why_not[MODULE_CAPTURED] = REFUSED("captured rows have another build-id");
	}
	if (!m->captured && !m->why_not[MODULE_CAPTURED].text)
		m->why_not[MODULE_CAPTURED] = ABSENT("the recording has no rows for it");
	return m->captured;
}

struct elf_file *module_slice_names(const struct module *m, struct slice *slice)
{
	struct elf_file *ef = NULL;

	if (is_avoided(m))
		return NULL;
	if (!slice)
		ef = m->captured ? elf_file_open_again(m->captured) : NULL;
	for (; slice && !ef; slice = slices_before(slice)) {
		size_t size;
		const void *data = slices_names(slice, &size);
		int err;

		ef = data ? elf_file_open_mem(data, size, &err) : NULL;
	}
	if (ef && is_others_slice(m, ef)) {
		elf_file_close(ef);
		ef = NULL;
	}
	return ef;
}

static void set_source(struct module *m, enum module_source source)
{
	static const enum module_source order[] = { MODULE_PROCESS, MODULE_HOST, MODULE_CAPTURED };
	size_t i;

	m->source = source;
	m->why = NULL;
	if (source != MODULE_NONE)
		return;
	/* If a file was found and rejected, that reason says more than that another was missing. */
	for (i = 0; i < ARRAY_SIZE(order); i++) {
		const struct module_why *why = &m->why_not[order[i]];

		if (why->text && (!m->why || why->want == MODULE_REFUSED))
			m->why = why->text;
	}
}

void module_load(struct module *m)
{
	struct debug_binary of;
	int rootfd;

	if (m->source != MODULE_UNTRIED)
		return;
	if (is_avoided(m)) {
		m->why_not[MODULE_PROCESS] = REFUSED("reading the file ended the process that did it");
		set_source(m, MODULE_NONE);
		return;
	}
	/* Unpacking a slice may take a while, and is not needed if the binary is found. */
	if (!m->slice)
		module_captured(m);
	if (m->vdso) {
		if (try_own_vdso(m))
			set_source(m, MODULE_HOST);
		else
			set_source(m, module_captured(m) ? MODULE_CAPTURED : MODULE_NONE);
		return;
	}
	rootfd = other_root ? kept_open(other_root, true) : nsopen_host_root();
	if (try_processes(m)) {
		set_source(m, MODULE_PROCESS);
	} else if (try_host(m, rootfd)) {
		set_source(m, MODULE_HOST);
	} else {
		module_captured(m);
		set_source(m, m->captured ? MODULE_CAPTURED : MODULE_NONE);
	}
	look_for_debug(m, rootfd);
	of = debug_binary(m);
	debugsource_look_further(&m->files, &of, rootfd);
	if (rootfd >= 0)
		close(rootfd);
	/* Without the whole file, module_retry() may still find it. */
	if (!m->elf)
		return;
	if (m->slice)
		slices_leave(m->slice);
	if (m->inlined)
		inlines_ahead(module_inlines(m));
}

void module_retry(struct module *m)
{
	if (m->vdso || parser_avoids(m->id) || (m->source != MODULE_CAPTURED && m->source != MODULE_NONE) || m->symtab)
		return;
	if (try_processes(m))
		set_source(m, MODULE_PROCESS);
}

int module_open_root(const struct module *m)
{
	if (m->source == MODULE_HOST && !m->vdso)
		return nsopen_host_root();
	if (m->source != MODULE_PROCESS)
		return -ENOENT;
	if (m->files.have_root) {
		int fd = fcntl(m->files.rootfd, F_DUPFD_CLOEXEC, 3);

		return fd < 0 ? -errno : fd;
	}
	for (uint32_t i = 0; i < MIN(m->nusers, USERS_MAX); i++) {
		const struct module_user *u = &m->users[i];
		int fd = alive_check(u->pid, u->start_ticks) ? -ESRCH : nsopen_root(u->pid);

		if (fd >= 0)
			return fd;
	}
	return -ESRCH;
}

/* ---- what is made of the bytes ---- */

struct cfi *module_cfi(struct module *m)
{
	struct cfi_sections secs, other;

	parser_working_on(m->id, m->dso.path);
	if (m->cfi)
		return m->cfi;
	module_load(m);
	memset(&secs, 0, sizeof(secs));
	if (m->elf) {
		elf_file_cfi_sections(m->elf, &secs);
		if (m->files.debug && !secs.debug_frame.data) {
			elf_file_cfi_sections(m->files.debug, &other);
			secs.debug_frame = other.debug_frame;
		}
		m->cfi_secs = secs;
		m->cfi = cfi_new(&secs);
		if (!cfi_empty(m->cfi) || !module_captured(m))
			return m->cfi;
		/* The recorder may have read a debug file that is gone now. */
		cfi_free(m->cfi);
	}
	if (module_captured(m))
		elf_file_cfi_sections(m->captured, &secs);
	m->cfi_cut = true;
	m->cfi = cfi_new(&secs);
	return m->cfi;
}

/* Gives back the pages of @sec, in whichever file it is. */
static void give_back(struct module *m, const struct cfi_section *sec)
{
	if (m->elf)
		elf_file_give_back(m->elf, sec->data);
	if (m->files.debug)
		elf_file_give_back(m->files.debug, sec->data);
}

void modules_unwound(struct modules *ms)
{
	for (size_t i = 0; i < ms->n; i++) {
		struct module *m = ms->mods[i];

		if (!m->cfi)
			continue;
		cfi_free(m->cfi);
		m->cfi = NULL;
		m->cfi_cut = false;
		give_back(m, &m->cfi_secs.eh_frame);
		give_back(m, &m->cfi_secs.eh_frame_hdr);
		give_back(m, &m->cfi_secs.debug_frame);
	}
}

struct inline_index *module_inlines(struct module *m)
{
	parser_working_on(m->id, m->dso.path);
	if (!m->inlines)
		m->inlines = inlines_new(m->elf, &m->files, m->dso.path, m->cache);
	return m->inlines;
}

struct made_rows *module_made(struct module *m)
{
	module_load(m);
	if (!m->made && m->elf && elf_file_machine(m->elf) == EM_X86_64)
		m->made = made_rows_new(m->elf);
	return m->made;
}

const char *module_refused(const struct module *m)
{
	for (size_t i = MODULE_PROCESS; i <= MODULE_HOST && !m->elf; i++)
		if (m->why_not[i].text && m->why_not[i].want == MODULE_REFUSED)
			return m->why_not[i].text;
	return NULL;
}

const char *module_name(const struct module *m)
{
	const char *slash = strrchr(m->dso.path, '/');

	return slash && slash[1] ? slash + 1 : m->dso.path;
}
