/*
 * Separate debug files: where distributions put them (GDB manual, "Debugging Information in
 * Separate Files"), and the proof that a file belongs to a binary.
 */
#include "elf/debugfile.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "bytes/codec_zlib.h"
#include "elf/elf_file.h"
#include "host/nsopen.h"
#include "host/openwhy.h"

#define DEBUG_DIR "/usr/lib/debug"
#define DEBUG_SIZE_MAX (4ull << 30)
/* One whose file system may not answer is copied first. */
#define COPY_MAX (512ull << 20)
/* The CRC needs every byte of the file; this much takes a second or two. */
#define CRC_SIZE_MAX (1ull << 30)

struct wanted {
	uint8_t id[20];
	size_t id_len;		/* 0: the binary has none, and the CRC must prove it */
	const char *dir;	/* folder of debug files below the root; no '/' at the end */
	const char *link;	/* .gnu_debuglink's file name; NULL when absent */
	uint32_t crc;
	const char *why;	/* why the last candidate was rejected */
};

/* CRC-32 of the whole file, as in .gnu_debuglink: zlib's polynomial and start value. */
static bool file_crc(int fd, uint32_t *crc)
{
	enum { CHUNK = 64 << 10 };
	unsigned char *buf = malloc(CHUNK);
	uint32_t sum = 0;
	uint64_t pos = 0;
	ssize_t got = -1;

	while (buf && pos < CRC_SIZE_MAX) {
		got = pread(fd, buf, CHUNK, (off_t)pos);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		sum = zlib_crc32(sum, buf, (size_t)got);
		pos += (uint64_t)got;
	}
	free(buf);
	*crc = sum;
	return got == 0;
}

static bool proves(int fd, struct wanted *w)
{
	struct elf_file *ef;
	uint8_t id[20];
	uint32_t crc;
	bool ok = false;
	int err;

	ef = elf_file_open_fd(fd, &err);
	if (!ef) {
		w->why = "debug file is not ELF";
		return false;
	}
	if (!elf_file_has_section(ef, ".debug_info") && !elf_file_has_symtab(ef))
		w->why = "debug file has neither symbols nor debug info";
	else if (w->id_len)
		ok = elf_file_build_id(ef, id) == w->id_len && memcmp(id, w->id, w->id_len) == 0;
	else
		ok = file_crc(fd, &crc) && crc == w->crc;
	if (!ok && !w->why)
		w->why = w->id_len ? "build-id of the debug file differs"
				   : "CRC of the debug file differs";
	elf_file_close(ef);
	return ok;
}

/* An fd, or -ENOENT. Sets w->why when a file exists but is unusable. */
static int try_path(int rootfd, const char *path, struct wanted *w)
{
	int held = nsopen_file(rootfd, path, DEBUG_SIZE_MAX, NULL), fd;

	if (held < 0) {
		const char *why = openwhy(OPENWHY_DEBUG, held);

		w->why = why ? why : w->why;
		return -ENOENT;
	}
	fd = nsopen_copy(held, COPY_MAX);
	nsopen_close(held);
	if (fd < 0) {
		w->why = openwhy(OPENWHY_DEBUG, fd);
		return -ENOENT;
	}
	w->why = NULL;
	if (proves(fd, w))
		return fd;
	close(fd);
	return -ENOENT;
}

static int try_build_id(int rootfd, struct wanted *w, struct strbuf *path)
{
	/* One byte names the folder; the file name needs a second one. */
	if (w->id_len < 2)
		return -ENOENT;
	strbuf_reset(path);
	strbuf_addf(path, "%s/.build-id/%02x/", w->dir, w->id[0]);
	for (size_t i = 1; i < w->id_len; i++)
		strbuf_addf(path, "%02x", w->id[i]);
	strbuf_adds(path, ".debug");
	return try_path(rootfd, path->s, w);
}

/* A candidate folder: @before, then perhaps the binary's own folder, then @after. */
struct place {
	const char *before;
	bool binary_dir;
	const char *after;
};

static int try_link(int rootfd, const char *binary, struct wanted *w, const struct place *places,
		    size_t n, struct strbuf *path)
{
	const char *slash = strrchr(binary, '/');
	int dir_len = slash ? (int)(slash - binary) + 1 : 0;
	int fd = -ENOENT;

	/* The link must be a plain file name; a path could lead anywhere. */
	if (!w->link || strchr(w->link, '/') || !slash || binary[0] != '/')
		return -ENOENT;
	for (size_t i = 0; i < n && fd < 0; i++) {
		strbuf_reset(path);
		strbuf_addf(path, "%s%.*s%s%s", places[i].before,
			    places[i].binary_dir ? dir_len : 1, binary, places[i].after, w->link);
		/* Some build systems leave a link to the file itself. */
		if (strcmp(path->s, binary) != 0)
			fd = try_path(rootfd, path->s, w);
	}
	return fd;
}

static int find(int rootfd, const char *dir, const struct place *places, size_t nplaces,
		const char *path, struct elf_file *ef, const char **why)
{
	struct wanted w = { .dir = dir };
	struct strbuf buf = STRBUF_INIT;
	int fd;

	w.id_len = elf_file_build_id(ef, w.id);
	if (!elf_file_debuglink(ef, &w.link, &w.crc))
		w.link = NULL;
	fd = try_build_id(rootfd, &w, &buf);
	if (fd < 0)
		fd = try_link(rootfd, path, &w, places, nplaces, &buf);
	strbuf_fini(&buf);
	if (why)
		*why = fd < 0 ? w.why : NULL;
	return fd;
}

int debugfile_find(int rootfd, const char *path, struct elf_file *ef, const char **why)
{
	static const struct place places[] = {
		{ "", true, "" }, { "", true, ".debug/" }, { DEBUG_DIR, true, "" },
	};

	return find(rootfd, DEBUG_DIR, places, ARRAY_SIZE(places), path, ef, why);
}

int debugfile_find_in(int rootfd, const char *dir, const char *path, struct elf_file *ef,
		      const char **why)
{
	const struct place places[] = { { dir, true, "" }, { dir, false, "" } };

	return find(rootfd, dir, places, ARRAY_SIZE(places), path, ef, why);
}

/* ---- dwz: a path, NUL, and the build-id of the target (dwz(1), "-m") ---- */

/* *@path is borrowed for the life of @ef. */
static size_t altlink(struct elf_file *ef, const char **path, uint8_t id[20])
{
	const uint8_t *data;
	size_t size, path_len, len;

	if (elf_file_section(ef, ".gnu_debugaltlink", &data, &size, NULL) || !size)
		return 0;
	path_len = strnlen((const char *)data, size);
	/* A build-id has 8, 16 or 20 bytes; with fewer than 2 no path can be built. */
	if (path_len == size || size - path_len - 1 < 2 || size - path_len - 1 > 20)
		return 0;
	len = size - path_len - 1;
	*path = (const char *)data;
	memcpy(id, data + path_len + 1, len);
	return len;
}

size_t debugfile_alt_id(struct elf_file *ef, uint8_t out[20])
{
	const char *path;

	return altlink(ef, &path, out);
}

/*
 * The part of a link below the folder of debug files. Debian has folders for architectures in .dwz,
 * so the file name alone is not enough. NULL: it has no such part, or leads out of that folder.
 */
static const char *below_dwz(const char *path)
{
	const char *dwz = strstr(path, "/.dwz/");

	return dwz && !strstr(dwz, "/../") ? dwz : NULL;
}

int debugfile_find_alt(int rootfd, const char *dir, const char *binary, struct elf_file *ef, const char **why)
{
	struct wanted w = { .dir = dir ? dir : DEBUG_DIR };
	struct strbuf buf = STRBUF_INIT;
	const char *path, *slash, *below;
	int fd;

	w.id_len = altlink(ef, &path, w.id);
	if (!w.id_len)
		return -ENOENT;
	fd = try_build_id(rootfd, &w, &buf);
	/*
	 * Where distributions put them; links in debug files are relative to folders only the
	 * packager knows.
	 */
	below = below_dwz(path);
	slash = strrchr(path, '/');
	if (fd < 0 && below) {
		strbuf_reset(&buf);
		strbuf_addf(&buf, "%s%s", w.dir, below);
		fd = try_path(rootfd, buf.s, &w);
	}
	if (fd < 0) {
		strbuf_reset(&buf);
		strbuf_addf(&buf, "%s/.dwz/%s", w.dir, slash ? slash + 1 : path);
		fd = try_path(rootfd, buf.s, &w);
	}
	if (fd < 0 && path[0] == '/')
		fd = try_path(rootfd, path, &w);
	/* Links of unstripped binaries are relative to the binary's folder. */
	if (fd < 0 && path[0] != '/' && binary && binary[0] == '/') {
		strbuf_reset(&buf);
		strbuf_addf(&buf, "%.*s%s", (int)(strrchr(binary, '/') - binary) + 1, binary, path);
		fd = try_path(rootfd, buf.s, &w);
	}
	strbuf_fini(&buf);
	*why = fd < 0 ? w.why : NULL;
	return fd;
}
