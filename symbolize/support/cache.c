/*
 * The cache on disk (cache.h). Each entry is one file: a header with the whole key and a checksum,
 * then the contents. A file is written under a temporary name and renamed, so that a reader sees
 * all of it or nothing. If two writers race, the last one wins. A file's modification time is the
 * time of its last use.
 */
#include "support/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/write_all.h"
#include "base/xalloc.h"
#include "host/parser.h"

#define LIMIT_DEFAULT	(256ull << 20)	/* all files together, bytes */
#define ENTRY_MAX	(64ull << 20)	/* one file */
#define TEMP_AGE	3600		/* seconds after which a temporary file is a leftover */
#define TEMP_PREFIX	".tmp-"
#define MAGIC		"nsprofC"

struct header {
	char magic[8];
	uint32_t version;	/* of the contents */
	uint32_t pad;
	uint64_t size;		/* of the contents, bytes */
	uint64_t sum;		/* hash_bytes() of the contents */
	struct cache_key key;
};

struct cache {
	int dir;
	uint64_t limit;
	uid_t uid;		/* whose files count; a parser has another user */
};

/* Requests of a parser for cache_serve(). The text is the name of a file. */
enum { CACHE_GET = PARSER_OTHER, CACHE_NEW, CACHE_KEEP, CACHE_DROP };

/* ---- the directory ---- */

/*
 * Opens directory @name below @at, and creates it if needed, but only if it belongs to us. Under su
 * or sudo, HOME may be another user's: then we neither leave files of ours there nor trust what is
 * there.
 */
static int own_dir(int at, const char *name, bool follow)
{
	int fd, flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
	struct stat st;

	fd = openat(at, name, flags);
	if (fd < 0 && errno == ENOENT && !mkdirat(at, name, 0700))
		fd = openat(at, name, flags);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH))) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static int open_base(void)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int fd, cache;

	if (xdg && xdg[0] == '/')
		return own_dir(AT_FDCWD, xdg, true);
	if (!home || home[0] != '/')
		return -ENOENT;
	fd = own_dir(AT_FDCWD, home, true);
	if (fd < 0)
		return fd;
	cache = own_dir(fd, ".cache", true);
	close(fd);
	return cache;
}

struct cache *cache_open(uint64_t limit)
{
	int base = open_base(), dir = base;
	struct cache *c;

	if (base >= 0) {
		dir = own_dir(base, "nsprof", false);
		close(base);
	}
	if (dir < 0) {
		pr_verbose("no cache: cannot use its directory: %s", strerror(-dir));
		return NULL;
	}
	c = xcalloc(1, sizeof(*c));
	c->dir = dir;
	c->uid = geteuid();
	c->limit = limit ? limit : LIMIT_DEFAULT;
	return c;
}

void cache_close(struct cache *c)
{
	if (!c)
		return;
	close(c->dir);
	free(c);
}

/* ---- keys ---- */

void cache_key_add(struct cache_key *key, const struct elf_file *ef)
{
	if (!key->nfiles)
		key->build_id_len = (uint32_t)elf_file_build_id(ef, key->build_id);
	if (!key->build_id_len || key->nfiles == CACHE_FILES_MAX ||
	    !elf_file_identity(ef, &key->files[key->nfiles++]))
		key->unknown = 1;
}

/* "BUILDID-HASH.KIND". The hash of the whole key tells files with the same build-id apart. */
static void file_name(const struct cache_key *key, const char *kind, char *out, size_t size)
{
	char hex[2 * sizeof(key->build_id) + 1];

	for (uint32_t i = 0; i < key->build_id_len; i++)
		snprintf(hex + 2 * (size_t)i, 3, "%02x", key->build_id[i]);
	snprintf(out, size, "%s-%016" PRIx64 ".%s", hex, hash_bytes(key, sizeof(*key)), kind);
}

/* ---- reading ---- */

static bool read_all(int fd, void *buf, size_t size)
{
	size_t done = 0;

	while (done < size) {
		ssize_t n = read(fd, (char *)buf + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static void *read_entry(int fd, uid_t uid, const struct cache_key *key, uint32_t version, size_t *size)
{
	struct header h;
	struct stat st;
	void *data;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != uid ||
	    !read_all(fd, &h, sizeof(h)))
		return NULL;
	if (memcmp(h.magic, MAGIC, sizeof(h.magic)) || h.version != version ||
	    memcmp(&h.key, key, sizeof(*key)) || h.size > ENTRY_MAX ||
	    (uint64_t)st.st_size != sizeof(h) + h.size)
		return NULL;
	data = xmalloc(h.size + 1);
	if (!read_all(fd, data, h.size) || hash_bytes(data, h.size) != h.sum) {
		free(data);
		return NULL;
	}
	*size = h.size;
	return data;
}

/* An entry to read. O_RDONLY fd, or negative. */
static int open_entry(const struct cache *c, const char *name)
{
	int fd;

	if (parser_is())
		return parser_ask(CACHE_GET, name, NULL, &fd) ? -1 : fd;
	fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		futimens(fd, NULL);	/* used now; may fail on a read-only file system */
	return fd;
}

void *cache_read(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, size_t *size)
{
	char name[128];
	void *data;
	int fd;

	if (!c || key->unknown)
		return NULL;
	file_name(key, kind, name, sizeof(name));
	fd = open_entry(c, name);
	if (fd < 0)
		return NULL;
	data = read_entry(fd, c->uid, key, version, size);
	close(fd);
	return data;
}

/* ---- writing ---- */

struct entry {
	char *name;
	uint64_t size;
	struct timespec used;
};

static int by_use(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->used.tv_sec != b->used.tv_sec)
		return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
	return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

/*
 * Removes the least recently used files until the rest fits. Other processes may do the same at the
 * same time.
 */
static void trim(const struct cache *c)
{
	struct entry *v = NULL;
	size_t n = 0, cap = 0;
	struct dirent *de;
	uint64_t sum = 0;
	DIR *d;
	int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((de = readdir(d))) {
		struct stat st;

		if (fstatat(c->dir, de->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
			continue;
		if (!strncmp(de->d_name, TEMP_PREFIX, strlen(TEMP_PREFIX))) {
			if (st.st_mtime < time(NULL) - TEMP_AGE)
				unlinkat(c->dir, de->d_name, 0);
			continue;
		}
		XGROW(v, n, cap);
		v[n++] = (struct entry){ xstrdup(de->d_name), (uint64_t)st.st_size, st.st_mtim };
		sum += (uint64_t)st.st_size;
	}
	closedir(d);
	if (n > 1)
		qsort(v, n, sizeof(*v), by_use);
	for (size_t i = 0; i < n; i++) {
		if (sum > c->limit && !unlinkat(c->dir, v[i].name, 0))
			sum -= v[i].size;
		free(v[i].name);
	}
	free(v);
}

static void temp_name(char *out, size_t size, const char *name)
{
	snprintf(out, size, TEMP_PREFIX "%d-%016" PRIx64, (int)getpid(), hash_bytes(name, strlen(name)));
}

/* A new entry to write; it has no name yet. fd, or negative. */
static int new_entry(const struct cache *c, const char *name)
{
	char temp[64];
	int fd;

	if (parser_is())
		return parser_ask(CACHE_NEW, name, NULL, &fd) ? -1 : fd;
	temp_name(temp, sizeof(temp), name);
	return openat(c->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void end_entry(const struct cache *c, const char *name, bool keep)
{
	char temp[64];

	if (parser_is()) {
		parser_ask(keep ? CACHE_KEEP : CACHE_DROP, name, NULL, NULL);
		return;
	}
	temp_name(temp, sizeof(temp), name);
	if (!keep || renameat(c->dir, temp, c->dir, name))
		unlinkat(c->dir, temp, 0);
	else
		trim(c);
}

void cache_write(const struct cache *c, const struct cache_key *key, const char *kind,
		 uint32_t version, const void *data, size_t size)
{
	struct header h = { .magic = MAGIC, .version = version, .size = size };
	char name[128];
	bool ok;
	int fd;

	if (!c || key->unknown || size > ENTRY_MAX || size + sizeof(h) > c->limit)
		return;
	h.sum = hash_bytes(data, size);
	h.key = *key;
	file_name(key, kind, name, sizeof(name));
	fd = new_entry(c, name);
	if (fd < 0)
		return;
	ok = !write_all(fd, &h, sizeof(h)) && !write_all(fd, data, size);
	ok = !close(fd) && ok;
	end_entry(c, name, ok);
}

/* "BUILDID-HASH.KIND": nothing that leads to another folder, and no temporary file. */
static bool is_name(const char *name)
{
	return *name && *name != '.' && strlen(name) < 128 &&
	       name[strspn(name, "0123456789abcdefghijklmnopqrstuvwxyz-.")] == '\0';
}

int cache_serve(const struct cache *c, uint32_t kind, const char *name, int *fd)
{
	if (!c || !is_name(name))
		return -EPERM;
	if (kind == CACHE_GET)
		*fd = open_entry(c, name);
	else if (kind == CACHE_NEW)
		*fd = new_entry(c, name);
	else if (kind == CACHE_KEEP || kind == CACHE_DROP)
		end_entry(c, name, kind == CACHE_KEEP);
	else
		return -EINVAL;
	return *fd < 0 && (kind == CACHE_GET || kind == CACHE_NEW) ? -ENOENT : 0;
}
