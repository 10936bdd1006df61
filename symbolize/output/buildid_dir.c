/*
 * A build-id cache (buildid_dir.h). Layout: tools/perf/util/build-id.c, build_id_cache__linkname(),
 * build_id_cache__kallsyms_path().
 */
#include "output/buildid_dir.h"

#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/outplace.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "event.h"
#include "host/parser.h"
#include "modules/module.h"
#include "recording/rec_reader.h"

struct buildid_dir {
	const char *path;
	struct modules *mods;
	const uint8_t *kernel;
	size_t kernel_len;
};

/* perf's own cache has whole files, which must not be replaced by the rows of some functions. */
static bool is_empty(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool empty = d;

	while (d && empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	if (d)
		closedir(d);
	return empty;
}

#define ASK_PREPARE (PARSER_OTHER + 500)

int buildid_dir_prepare(const char *dir)
{
	int err = parser_is() ? parser_ask(ASK_PREPARE, NULL, NULL, NULL) : outplace_mkdir(dir);

	if (parser_is())
		return err;
	if (err == -EEXIST && is_empty(dir))
		return 0;
	if (err == -EEXIST)
		pr_err("'%s' is not an empty directory; each recording needs its own: name a new one", dir);
	return err;
}

static void add_hex(struct strbuf *sb, const uint8_t *id, size_t len)
{
	for (size_t i = 0; i < len; i++)
		strbuf_addf(sb, "%02x", id[i]);
}

/* Makes the folders of @path below its first @known bytes. 0 or negative errno after a message. */
static int make_folders(char *path, size_t known)
{
	for (char *p = path + known; (p = strchr(p + 1, '/'));) {
		int failed;

		*p = '\0';
		failed = outplace_mkdir(path);
		*p = '/';
		if (failed && failed != -EEXIST)
			return failed;
	}
	return 0;
}

/* @path: of the file. Folders below the first @known bytes of it are created if needed. */
static int write_file(char *path, size_t known, const struct capture *cap)
{
	int err = parser_is() ? 0 : make_folders(path, known);
	struct outfile *out;

	if (err)
		return err;
	out = outfile_open(path);
	if (!out)
		return -EIO;
	fwrite(cap->data, 1, cap->size, outfile_stream(out));
	return outfile_close(out);
}

static int on_capture(void *ctx, const struct capture *cap)
{
	const struct buildid_dir *bd = ctx;
	const struct module *m = cap->kind == CAPTURE_ELF ? modules_get(bd->mods, cap->id) : NULL;
	struct strbuf path = STRBUF_INIT;
	int err = 0;

	strbuf_adds(&path, bd->path);
	if (m && m->dso.build_id_len > 1) {
		strbuf_adds(&path, "/.build-id/");
		add_hex(&path, m->dso.build_id, 1);
		strbuf_addc(&path, '/');
		add_hex(&path, m->dso.build_id + 1, m->dso.build_id_len - 1u);
		strbuf_adds(&path, "/elf");
		err = write_file(path.s, strlen(bd->path), cap);
	} else if (cap->kind == CAPTURE_KALLSYMS) {
		strbuf_adds(&path, "/[kernel.kallsyms]/");
		add_hex(&path, bd->kernel, bd->kernel_len);
		strbuf_adds(&path, "/kallsyms");
		err = write_file(path.s, strlen(bd->path), cap);
	}
	strbuf_fini(&path);
	return err;
}

int buildid_dir_write(const char *dir, struct rec_reader *r, struct modules *mods, const uint8_t *kernel, size_t len)
{
	struct buildid_dir bd = { .path = dir, .mods = mods, .kernel = kernel, .kernel_len = len };

	return rec_reader_captures(r, on_capture, &bd);
}

/* ---- in the program of a parser ---- */

int buildid_dir_serve(const char *dir, uint32_t kind)
{
	static bool done;	/* by an earlier parser: what it wrote is replaced */
	int err;

	if (kind != ASK_PREPARE)
		return -ENOSYS;
	if (!dir)
		return -EPERM;
	err = done ? 0 : buildid_dir_prepare(dir);
	done = !err;
	return err;
}

/* The length of a folder of hexadecimal digits at @s, and the slash behind it; 0: there is none. */
static size_t hex_folder(const char *s)
{
	const size_t n = strspn(s, "0123456789abcdef");

	return n && n <= 2 * BUILD_ID_MAX && s[n] == '/' ? n + 1 : 0;
}

/* Is @s ".build-id/ab/cdef/elf" or "[kernel.kallsyms]/abcdef/kallsyms"? */
static bool is_entry(const char *s)
{
	static const char ids[] = ".build-id/", kernel[] = "[kernel.kallsyms]/";
	const bool file = !strncmp(s, ids, strlen(ids));
	size_t n;

	if (!file && strncmp(s, kernel, strlen(kernel)) != 0)
		return false;
	s += strlen(file ? ids : kernel);
	for (int folders = file ? 2 : 1; folders; folders--, s += n) {
		n = hex_folder(s);
		if (!n)
			return false;
	}
	return !strcmp(s, file ? "elf" : "kallsyms");
}

bool buildid_dir_allows(const char *dir, const char *path)
{
	const size_t len = strlen(dir);
	char *copy;
	int err;

	if (strncmp(path, dir, len) != 0 || path[len] != '/' || !is_entry(path + len + 1))
		return false;
	copy = xstrdup(path);
	err = make_folders(copy, len);
	free(copy);
	return !err;
}
