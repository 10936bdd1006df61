/*
 * Binaries and their files. A file is opened through the mapping itself (map_files) if that is
 * allowed, otherwise by path below the process's root. Then it has to prove that it is the mapped
 * one: by the build-id that the kernel reported, otherwise by its inode.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/opener_loss.h"
#include "host/parser.h"
#include "procs/dsotab.h"
#include "procs/own_facts.h"

#define PIN_TRIES_MAX 8
/* A held memfd is held memory: enough for a program that runs from one, not for a heap. */
#define MEMFD_MAX (64u << 20)
/* Headers, notes and section headers lie at the ends of a file, bytes. */
#define ENDS (64u << 10)

static bool starts_with(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

static bool is_memfd(const char *path)
{
	return starts_with(path, "/memfd:");
}

/* "/SYSV" and the key in hexadecimal (ipc/shm.c, newseg()). */
static bool is_sysv(const char *path)
{
	return starts_with(path, "/SYSV") && strspn(path + 5, "0123456789abcdef") == 8 && !path[13];
}

enum mapping_kind mapping_kind(const char *path)
{
	if (!strcmp(path, "[vdso]"))
		return MAPPING_VDSO;
	if (!strcmp(path, "[vsyscall]") || !strcmp(path, "[uprobes]") || !strcmp(path, PATH_LEFT_OUT))
		return MAPPING_SPECIAL;
	/* Files for which the kernel had no path. Their inode or build-id is as good. */
	if (!strcmp(path, "//toolong") || !strcmp(path, "//enomem"))
		return MAPPING_FILE;
	/*
	 * "[anon:v8]", "[heap]", "[stack]", "//anon", "anon_inode:[...]", System V and hugetlb
	 * memory.
	 */
	if (path[0] != '/' || starts_with(path, "//") || is_sysv(path) || !strcmp(path, "/anon_hugepage") ||
	    !strcmp(path, "/dev/zero"))
		return MAPPING_JIT;
	return MAPPING_FILE;
}

/* ---- our own vdso ---- */

static void take_own_vdso(struct dsotab *dt)
{
	struct own_facts own;

	own_facts_read(&own);
	dt->vdso_image = own.vdso;
	dt->vdso_size = own.vdso_size;
}

void dsotab_init(struct dsotab *dt, struct intern *paths, struct pins *pins, struct tenants *tenants)
{
	struct own_facts own;

	own_facts_read(&own);
	memset(dt, 0, sizeof(*dt));
	dt->paths = paths;
	dt->pins = pins;
	dt->tenants = tenants;
	dt->own_dev = own.dev;
	dt->own_ino = own.ino;
	dt->own_mnt_ns = own.mnt_ns;
	dt->vdso_image = own.vdso;
	dt->vdso_size = own.vdso_size;
}

void dsotab_detach(struct dsotab *dt, int64_t until_ns, bool own_vdso)
{
	dt->detached = true;
	dt->until_ns = until_ns;
	if (!own_vdso)
		dt->vdso_image = NULL;
	else if (!dt->vdso_image)
		take_own_vdso(dt);
}

/* The build-id of our own image. Returns its length, 0 if there is none. */
static size_t vdso_build_id(const struct dsotab *dt, uint8_t id[BUILD_ID_MAX])
{
	int err;
	struct elf_file *ef = dt->vdso_image ? elf_file_open_mem(dt->vdso_image, dt->vdso_size, &err) : NULL;
	size_t len = ef ? elf_file_build_id(ef, id) : 0;

	elf_file_close(ef);
	return len;
}

void dsotab_recorded_vdso(struct dsotab *dt, const uint8_t *id, size_t len)
{
	uint8_t own[BUILD_ID_MAX];

	if (dt->vdso_image)
		return;
	take_own_vdso(dt);
	if (vdso_build_id(dt, own) != len || memcmp(own, id, len) != 0)
		dt->vdso_image = NULL;
}

static void free_dso(struct dsotab *dt, struct dso *d)
{
	pins_drop(dt->pins, &d->pin);
	rootpin_put(dt->pins, d->root);
	addrset_fini(&d->seen);
	u64map_fini(&d->leafs);
	slice_drop(&dt->slices, &d->slice);
	tenants_give(dt->tenants, d->tenant, HOLD_FILES, 1);
	free(d);
}

void dsotab_fini(struct dsotab *dt)
{
	size_t i;

	for (i = 0; i < dt->n; i++)
		free_dso(dt, dt->dsos[i]);
	free(dt->dsos);
	file_aliases_fini(&dt->aliases);
	u64map_fini(&dt->by_build_id);
}

/* ---- the two indexes ---- */

/*
 * Two files can have one build-id. patchelf and the like move the code of a linked program but keep
 * the note. And a stripped copy has no names to capture. @loads: of the file (file_loads()); 0,
 * here or in the table, means unknown and matches all.
 */
static struct dso *find_build_id(const struct dsotab *dt, const uint8_t *id, size_t len, uint64_t loads)
{
	const uint64_t *slot = u64map_get(&dt->by_build_id, hash_bytes(id, len));
	uint32_t i;

	for (i = slot ? (uint32_t)*slot : 0; i; i = dt->dsos[i - 1]->next) {
		struct dso *d = dt->dsos[i - 1];

		if (d->ev.build_id_len == len && !memcmp(d->ev.build_id, id, len) &&
		    (!loads || !d->loads || loads == d->loads))
			return d;
	}
	return NULL;
}

/* The binary that @k led to, or NULL. */
static struct dso *known_as(struct dsotab *dt, const struct file_key *k)
{
	const uint32_t i = file_aliases_get(&dt->aliases, k);

	return i == UINT32_MAX ? NULL : dt->dsos[i];
}

static void name_it(struct dsotab *dt, const struct file_key *k, const struct dso *d)
{
	file_aliases_put(&dt->aliases, k, d->index);
}

static int64_t mtime_ns(const struct stat *st)
{
	return (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec;
}

/* What the kernel reports about the file of a mapping. Not unique over time, so only a hint. */
static struct file_key hint_key(const struct map_user *u, const struct map_entry *e)
{
	return (struct file_key){
		.mnt_ns = u->mnt_ns, .dev = makedev(e->dev_major, e->dev_minor), .ino = e->ino,
		.gen = e->ino_gen, .path = e->path, .mtime_ns = -1,
	};
}

/* The inode as the kernel reports it, in any mount namespace and under any name. */
static struct file_key inode_key(const struct map_entry *e)
{
	return (struct file_key){
		.dev = makedev(e->dev_major, e->dev_minor), .ino = e->ino, .gen = e->ino_gen, .mtime_ns = -2,
	};
}

static struct file_key stat_key(const struct map_user *u, const struct map_entry *e,
				const struct stat *st)
{
	return (struct file_key){
		.mnt_ns = u->mnt_ns, .dev = st->st_dev, .ino = st->st_ino, .gen = e->ino_gen,
		.size = (uint64_t)st->st_size, .path = e->path,
		.mtime_ns = mtime_ns(st),
	};
}

/* Adds it to the table and to the index of build-ids. */
static void enter_dso(struct dsotab *dt, struct dso *d)
{
	uint64_t *slot;

	d->index = (uint32_t)dt->n;
	XGROW(dt->dsos, dt->n, dt->cap);
	dt->dsos[dt->n++] = d;
	if (!d->ev.build_id_len)
		return;
	slot = u64map_put(&dt->by_build_id, hash_bytes(d->ev.build_id, d->ev.build_id_len), NULL);
	d->next = (uint32_t)*slot;
	*slot = dt->n;
}

static const char *move_path(struct intern *to, const char *path)
{
	return intern_str(to, intern_add(to, path));
}

void dsotab_forget(struct dsotab *dt, const struct u64map *live, struct intern *paths)
{
	struct file_aliases old = dt->aliases;
	struct dso **dsos = dt->dsos;
	const size_t n = dt->n;

	dt->dsos = NULL;
	dt->aliases = (struct file_aliases){ .v = NULL };
	dt->n = dt->cap = 0;
	u64map_fini(&dt->by_build_id);
	for (size_t i = 0; i < n; i++) {
		struct dso *d = dsos[i];

		if (!u64map_get(live, (uintptr_t)d)) {
			free_dso(dt, d);
			dsos[i] = NULL;
			continue;
		}
		d->ev.path = move_path(paths, d->ev.path);
		d->path = d->path ? move_path(paths, d->path) : NULL;
		enter_dso(dt, d);
	}
	for (size_t i = 0; i < old.n; i++) {
		struct file_alias *a = &old.v[i];

		if (!dsos[a->dso])
			continue;
		a->key.path = intern_find(paths, intern_str(dt->paths, a->key.path));
		if (a->key.path == UINT32_MAX)
			continue;
		name_it(dt, &a->key, dsos[a->dso]);
	}
	dt->paths = paths;
	file_aliases_fini(&old);
	free(dsos);
}

static struct dso *add_dso(struct dsotab *dt, const struct map_user *u, const struct map_entry *e,
			   const uint8_t *build_id, size_t len)
{
	struct dso *d;

	if (!tenants_take(dt->tenants, u->tenant, HOLD_FILES, 1))
		return NULL;
	d = xcalloc(1, sizeof(*d));
	d->tenant = u->tenant;
	pin_init(&d->pin, PIN_ELF, d);
	d->ev.mnt_ns = u->mnt_ns;
	d->ev.path = intern_str(dt->paths, e->path);
	d->ev.deleted = e->deleted;
	d->ev.dev_major = e->dev_major;
	d->ev.dev_minor = e->dev_minor;
	d->ev.ino = e->ino;
	d->ev.ino_gen = e->ino_gen;
	if (len) {
		memcpy(d->ev.build_id, build_id, len);
		d->ev.build_id_len = (uint8_t)len;
	}
	enter_dso(dt, d);
	return d;
}

/* ---- opening the file ---- */

/*
 * The bits of an inode's number. Above it, overlayfs stores which of its file systems has the inode
 * (xino: fs/overlayfs/inode.c, ovl_map_dev_ino()).
 */
#define INO_MASK ((1ull << 56) - 1)

/*
 * Is @st the inode that the kernel reported? Some file systems keep several devices behind one
 * (overlayfs with layers on different file systems, btrfs). Then the kernel and stat(2) report
 * different devices, stat(2) an anonymous one.
 */
static bool is_mapped_inode(const struct map_entry *e, const struct stat *st)
{
	if (!e->ino)
		return true;
	if (major(st->st_dev))
		return st->st_ino == e->ino && st->st_dev == makedev(e->dev_major, e->dev_minor);
	return st->st_ino == e->ino || (st->st_ino & INO_MASK) == e->ino;
}

/*
 * Detached: no process maps the file any more, so the file itself has to prove that it is the
 * mapped one.
 */
static bool is_proven(const struct dsotab *dt, const struct map_entry *e, const struct stat *st)
{
	/* Anonymous devices as in is_mapped_inode(). */
	return e->ino && st->st_ino == e->ino && mtime_ns(st) <= dt->until_ns &&
	       (st->st_dev == makedev(e->dev_major, e->dev_minor) || (!major(st->st_dev) && !e->dev_major));
}

/* Device of the folder that holds @path below @rootfd; 0: not available. */
static dev_t folder_dev(int rootfd, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash && slash > path ? xstrndup(path, (size_t)(slash - path)) : xstrdup("/");
	struct stat st;
	int fd = nsopen_dir(rootfd, folder, &st);

	if (fd >= 0)
		nsopen_close(fd);
	free(folder);
	return fd >= 0 ? st.st_dev : 0;
}

/*
 * @fd, @st: the file that is now at the path of @e below root @r, with the right inode number. Is
 * it on the file system that was mapped? File systems in memory start their inode numbers again
 * with each mount, and there may be another mount by now. It may have been mounted since. Or, if @r
 * was found only by the number of its mount namespace, that may be an earlier container's, because
 * numbers are reused. Equal devices prove it, because @fd is held. On overlayfs, the mapping has
 * the overlay's own device, which is that of its folders (before Linux 6.8 it has the layer's).
 * btrfs shows none of it.
 */
static bool is_on_mapped_fs(const struct dsotab *dt, const struct map_entry *e, int fd, const struct stat *st,
			    const struct rootpin *r, bool by_number)
{
	const dev_t dev = makedev(e->dev_major, e->dev_minor);
	uint64_t type;

	if (!e->ino || st->st_dev == dev)
		return true;
	if (nsopen_fs_type(fd, &type))
		return false;
	if (type == OVERLAYFS_SUPER_MAGIC)
		return e->dev_major || folder_dev(r->root.fd, intern_str(dt->paths, e->path)) == dev;
	return type == BTRFS_SUPER_MAGIC && (!by_number || r->mnt_ns == dt->own_mnt_ns);
}

/* *@by_number: the root is that of some process seen in a mount namespace of that number. */
static struct rootpin *user_root(struct dsotab *dt, const struct map_user *u, bool *by_number)
{
	struct rootpin *r;

	*by_number = false;
	/* Open an evicted root again: without the right to use map_files it is the only way. */
	if (u->root && u->root->root.fd >= 0) {
		pins_touch(dt->pins, &u->root->root);
		return rootpin_get(u->root);
	}
	r = u->pid ? rootpin_hold(dt->pins, nsopen_root(u->pid), u->mnt_ns) : NULL;
	*by_number = !r;
	return r ? r : rootpin_find(dt->pins, u->mnt_ns);
}

static int check_inode(const struct map_entry *e, int fd, const struct stat *st)
{
	if (fd < 0 || is_mapped_inode(e, st))
		return fd;
	nsopen_close(fd);
	return -ESTALE;
}

/*
 * Is inode @st younger than mapping @e? Then it is another file that was given the number of the
 * mapped one, perhaps with the file system: a container's successor has the same numbers in memory.
 * File systems take the time of the last tick. @sure: the root is the process's, so that its file is
 * never younger by that.
 */
static bool is_younger(const struct dsotab *dt, const struct map_entry *e, const struct stat *st, bool sure)
{
	const int64_t ctime = (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec;
	struct timespec wall;

	if (!e->since || dt->detached || clock_gettime(CLOCK_REALTIME, &wall))
		return false;
	return ctime > (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - (int64_t)(clock_mono_ns() - e->since) -
		(sure ? 0 : clock_file_late_ns());
}

static int open_below_root(struct dsotab *dt, const struct map_user *u, const struct map_entry *e, struct stat *st)
{
	bool by_number;
	struct rootpin *r = user_root(dt, u, &by_number);
	int fd = -ESRCH;

	if (r && r->root.fd >= 0)
		fd = check_inode(e, nsopen_file(r->root.fd, intern_str(dt->paths, e->path), 0, st), st);
	if (fd >= 0 && (!is_on_mapped_fs(dt, e, fd, st, r, by_number) ||
			is_younger(dt, e, st, !by_number || r->mnt_ns == dt->own_mnt_ns))) {
		nsopen_close(fd);
		fd = -ESTALE;
	}
	rootpin_put(dt->pins, r);
	return fd;
}

static int open_mapped(struct dsotab *dt, const struct map_user *u, const struct map_entry *e, struct stat *st)
{
	int exact = u->pid ? check_inode(e, nsopen_mapping(u->pid, e->start, e->end, st), st) : -ESRCH;
	int fd = exact;

	if (fd < 0 && !e->deleted && !is_memfd(intern_str(dt->paths, e->path)))
		fd = open_below_root(dt, u, e, st);
	/* Costs more than a path, and is not needed unless the file was removed. */
	if (fd < 0 && exact == -ENOENT)
		fd = check_inode(e, nsopen_mapping_at(u->pid, e->start, st), st);
	return fd;
}

/* What parser_working_on() calls a file. */
static uint32_t file_work(const struct dsotab *dt, const struct map_entry *e)
{
	const char *path = intern_str(dt->paths, e->path);

	return (uint32_t)hash_combine(hash_bytes(path, strlen(path)), e->ino) | 1;
}

int dsotab_open(struct dsotab *dt, const struct map_user *u, const struct map_entry *e,
		struct stat *st)
{
	int fd;

	if (parser_is() && parser_avoids(file_work(dt, e)))
		return -ECANCELED;
	opener_about_dev(makedev(e->dev_major, e->dev_minor), intern_str(dt->paths, e->path));
	fd = open_mapped(dt, u, e, st);
	opener_about(0, NULL);
	return fd;
}

static bool has_elf_magic(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) && !memcmp(magic, "\177ELF", 4);
}

/*
 * A hash over file offset and svma of the executable segments and over whether there are symbols;
 * never 0.
 */
static uint64_t file_loads(struct elf_file *ef)
{
	const struct elf_load *l;
	uint64_t h = elf_file_has_symtab(ef) ? 2 : 1;

	for (size_t n = elf_file_loads(ef, &l); n; n--, l++) {
		if (l->flags & PF_X)
			h = hash_combine(hash_combine(h, l->offset), l->vaddr);
	}
	return h ? h : 1;
}

/* What tells one file from others. */
struct looks {
	bool elf;		/* begins as one */
	uint64_t loads;		/* as file_loads(); 0 if it is not ELF */
	uint8_t id[BUILD_ID_MAX];
	size_t len;		/* of the build-id; 0: none */
};

/* @fd: what @e maps. 0, or negative errno if its file system does not answer. */
static int look_at(const struct dsotab *dt, const struct map_entry *e, int fd, struct looks *l)
{
	struct elf_file *ef;
	int copy = nsopen_copy_ends(fd, ENDS), err;

	*l = (struct looks){ .elf = false };
	if (copy < 0)
		return copy;
	if (parser_is())
		parser_working_on(file_work(dt, e), intern_str(dt->paths, e->path));
	l->elf = has_elf_magic(copy);
	ef = l->elf ? elf_file_open_fd(copy, &err) : NULL;
	if (ef) {
		l->len = elf_file_build_id(ef, l->id);
		l->loads = file_loads(ef);
	}
	elf_file_close(ef);
	parser_working_on(0, NULL);
	close(copy);
	return 0;
}

/* Keeps @fd (consumed), which is mapped at @e, for @d. */
static void hold_file(struct dsotab *dt, struct dso *d, const struct map_user *u,
		      const struct map_entry *e, int fd, const struct stat *st)
{
	bool by_number;

	if (!d->ev.id && !d->ev.size) {
		d->ev.size = (uint64_t)st->st_size;
		d->ev.mtime_ns = mtime_ns(st);
	}
	if (d->pin.fd >= 0) {
		nsopen_close(fd);
		return;
	}
	d->pin.owner = u->tenant ? u->tenant->index + 1 : 0;
	pins_hold(dt->pins, &d->pin, fd);
	d->pid = u->pid;
	d->held_size = (uint64_t)st->st_size;
	d->held_mtime_ns = mtime_ns(st);
	d->apart = dt->own_mnt_ns && u->mnt_ns == dt->own_mnt_ns && st->st_dev != dt->own_dev && !is_memfd(d->ev.path);
	d->idle = 0;
	dt->napart += d->apart;
	/* Root and path must be those of one process. */
	rootpin_put(dt->pins, d->root);
	d->root = user_root(dt, u, &by_number);
	d->path = intern_str(dt->paths, e->path);
}

/* Is the file of inode @st, which looks like @l, that of @d? */
static bool is_file_of(const struct dso *d, const struct looks *l, const struct stat *st)
{
	if (d->loads && l->loads != d->loads)
		return false;
	/* It could not be read when it was mapped. Its inode and device are checked (open_mapped()). */
	if (!d->ev.build_id_len && !d->ev.size)
		return true;
	return l->len == d->ev.build_id_len && !memcmp(l->id, d->ev.build_id, l->len) &&
	       (l->len || (d->ev.size == (uint64_t)st->st_size && d->ev.ino == st->st_ino));
}

void dsotab_pin(struct dsotab *dt, const struct map_user *u, const struct map_entry *e)
{
	struct dso *d = e->dso;
	struct looks l;
	struct stat st;
	int fd;

	if (!d || d->vdso || d->not_elf || d->pin_tries >= PIN_TRIES_MAX)
		return;
	if (d->pin.fd >= 0) {
		pins_touch(dt->pins, &d->pin);
		d->idle = 0;
		return;
	}
	fd = dsotab_open(dt, u, e, &st);
	if (fd < 0) {
		/* What did not answer in time is tried again later (opener_loss.h). */
		d->pin_tries += fd != -ETIMEDOUT;
		return;
	}
	/* Another mapping may have replaced this one since the kernel reported it. */
	if (look_at(dt, e, fd, &l) || !is_file_of(d, &l, &st)) {
		nsopen_close(fd);
		d->pin_tries++;
		return;
	}
	d->loads = l.loads;
	hold_file(dt, d, u, e, fd, &st);
}

static void resolve_vdso(struct dsotab *dt, struct map_entry *e)
{
	static const struct map_user nobody;
	uint8_t id[BUILD_ID_MAX];
	size_t len;

	/* A 32-bit process has another image, and we have no copy of that. */
	if (e->start < 1ull << 32) {
		e->kind = MAPPING_SPECIAL;
		return;
	}
	if (!dt->vdso) {
		len = vdso_build_id(dt, id);
		dt->vdso = add_dso(dt, &nobody, e, id, len);
		if (dt->vdso)
			dt->vdso->vdso = true;
	}
	e->dso = dt->vdso;
}

/* Is the file held for @d the inode of @e? While it is held, its number is not reused. */
static bool holds_inode(const struct dso *d, const struct map_entry *e, struct stat *st)
{
	return d->pin.fd >= 0 && !nsopen_stat(d->pin.fd, st) && st->st_ino == e->ino &&
	       st->st_dev == makedev(e->dev_major, e->dev_minor);
}

/*
 * Does @e map the very file that is held for @d, unchanged? Saves opening it for each of thousands
 * of mappings. False if maps and stat(2) show different device numbers.
 */
static bool is_held(struct dsotab *dt, const struct dso *d, const struct map_user *u,
		    const struct map_entry *e)
{
	struct file_key key;
	struct stat st;

	if (!holds_inode(d, e, &st))
		return false;
	key = stat_key(u, e, &st);
	return known_as(dt, &key) == d;
}

bool dsotab_rewritten(const struct dso *d)
{
	struct stat st;

	return d->pin.fd >= 0 && !nsopen_stat(d->pin.fd, &st) &&
	       (d->held_size != (uint64_t)st.st_size || d->held_mtime_ns != mtime_ns(&st));
}

/*
 * The binary behind @e when its process and root are gone: one that is held for the same inode
 * because another process mapped it, say in another container of the same image.
 */
static struct dso *held_elsewhere(struct dsotab *dt, const struct map_entry *e)
{
	const struct file_key key = inode_key(e);
	struct dso *d = e->ino ? known_as(dt, &key) : NULL;
	struct stat st;

	return d && holds_inode(d, e, &st) ? d : NULL;
}

/* The kernel gives no build-id: the file itself identifies the binary. */
static void resolve_by_file(struct dsotab *dt, const struct map_user *u, struct map_entry *e)
{
	const bool memfd = is_memfd(intern_str(dt->paths, e->path));
	const struct file_key hint = hint_key(u, e);
	struct dso *was = known_as(dt, &hint), *d;
	struct file_key key, inode;
	struct looks l;
	struct stat st;
	int fd;

	if (was && is_held(dt, was, u, e)) {
		e->dso = was;
		pins_touch(dt->pins, &e->dso->pin);
		e->dso->idle = 0;
		return;
	}
	fd = dsotab_open(dt, u, e, &st);
	if (fd >= 0 && dt->detached && !is_proven(dt, e, &st)) {
		nsopen_close(fd);
		fd = -ESTALE;
	}
	if (fd >= 0 && look_at(dt, e, fd, &l)) {
		nsopen_close(fd);
		fd = -ETIMEDOUT;
	}
	if (fd < 0) {
		/* Gone: take what was there last time, otherwise only what the kernel reported. */
		e->dso = was ? was : memfd ? NULL : held_elsewhere(dt, e);
		if (e->dso && dsotab_rewritten(e->dso))
			e->dso = NULL;
		if (!e->dso && !memfd)
			e->dso = add_dso(dt, u, e, NULL, 0);
		if (e->dso)
			name_it(dt, &hint, e->dso);
		return;
	}
	if (memfd && (!l.elf || st.st_size > MEMFD_MAX)) {
		nsopen_close(fd);
		return;
	}
	key = stat_key(u, e, &st);
	d = known_as(dt, &key);
	if (!d) {
		if (l.len)
			d = find_build_id(dt, l.id, l.len, l.loads);
		if (!d)
			d = add_dso(dt, u, e, l.id, l.len);
		if (!d) {
			nsopen_close(fd);
			return;
		}
		d->not_elf = !l.elf;
		if (l.loads)
			d->loads = l.loads;
		name_it(dt, &key, d);
	}
	name_it(dt, &hint, d);
	e->dso = d;
	if (l.elf) {
		inode = inode_key(e);
		name_it(dt, &inode, d);
		hold_file(dt, d, u, e, fd, &st);
		return;
	}
	/* Not held, but its size and time belong to its identity. */
	d->ev.size = (uint64_t)st.st_size;
	d->ev.mtime_ns = key.mtime_ns;
	nsopen_close(fd);
}

void dsotab_resolve(struct dsotab *dt, const struct map_user *u, struct map_entry *e,
		    const uint8_t *build_id, size_t len)
{
	const char *path = intern_str(dt->paths, e->path);

	e->resolved = true;
	e->dso = NULL;
	e->kind = (uint8_t)mapping_kind(path);
	switch (e->kind) {
	case MAPPING_VDSO:
		resolve_vdso(dt, e);
		return;
	case MAPPING_JIT:
	case MAPPING_SPECIAL:
		return;
	}
	len = MIN(len, (size_t)BUILD_ID_MAX);
	if (!len) {
		resolve_by_file(dt, u, e);
	} else {
		e->dso = find_build_id(dt, build_id, len, 0);
		if (!e->dso)
			e->dso = add_dso(dt, u, e, build_id, len);
		dsotab_pin(dt, u, e);
	}
	if (!e->dso && is_memfd(path))
		e->kind = MAPPING_JIT;
}

bool dsotab_seen_file(struct dsotab *dt, const struct map_user *u, const struct map_entry *e)
{
	const struct file_key hint = hint_key(u, e);

	return known_as(dt, &hint);
}
