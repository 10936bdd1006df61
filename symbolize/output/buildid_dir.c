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
#include "event.h"
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

int buildid_dir_prepare(const char *dir)
{
	int err = outplace_mkdir(dir);

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

/* @path: of the file. Directories below the first @known bytes of it are created if needed. */
static int write_file(char *path, size_t known, const struct capture *cap)
{
	struct outfile *out;

	for (char *p = path + known; (p = strchr(p + 1, '/'));) {
		int failed;

		*p = '\0';
		failed = outplace_mkdir(path);
		*p = '/';
		if (failed && failed != -EEXIST)
			return failed;
	}
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
