/* Source files by line (sourcetext.h). */
#include "annotate/sourcetext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "modules/module.h"

#define FILE_BYTES_MAX (16u << 20)

struct file {
	char *text;		/* owned; NULL: it could not be read */
	size_t *lines;		/* owned; offset of line i + 1; one more for the end */
	size_t n, cap;
};

struct sourcetext {
	struct file *files;	/* owned */
	size_t n, cap;
	struct u64map index;	/* hash of module and path -> files */
};

struct sourcetext *sourcetext_new(void)
{
	return xcalloc(1, sizeof(struct sourcetext));
}

void sourcetext_free(struct sourcetext *st)
{
	if (!st)
		return;
	for (size_t i = 0; i < st->n; i++) {
		free(st->files[i].text);
		free(st->files[i].lines);
	}
	free(st->files);
	u64map_fini(&st->index);
	free(st);
}

static void add_line(struct file *f, size_t at)
{
	XGROW(f->lines, f->n, f->cap);
	f->lines[f->n++] = at;
}

static void read_file(struct file *f, const struct module *m, const char *path)
{
	int root = path[0] == '/' ? module_open_root(m) : -1, fd, err;
	size_t len;

	if (root < 0)
		return;
	fd = nsopen_file(root, path, FILE_BYTES_MAX, NULL);
	nsopen_close(root);
	if (fd >= 0) {
		f->text = nsopen_slurp(fd, FILE_BYTES_MAX, &len, &err);
		nsopen_close(fd);
	} else {
		err = fd;
	}
	if (!f->text) {
		if (openwhy(OPENWHY_SOURCE, err))
			pr_warn("'%s' is not shown: %s", path, openwhy(OPENWHY_SOURCE, err));
		return;
	}
	for (size_t at = 0; at < len;) {
		const char *nl = memchr(f->text + at, '\n', len - at);

		add_line(f, at);
		at = nl ? (size_t)(nl - f->text) + 1 : len + 1;
	}
	add_line(f, len && f->text[len - 1] != '\n' ? len + 1 : len);
}

const char *sourcetext_line(struct sourcetext *st, const struct module *m, const char *path, uint32_t line, size_t *len)
{
	bool is_new;
	uint64_t *slot = u64map_put(&st->index, hash_combine(hash_bytes(path, strlen(path)), m->id), &is_new);
	const struct file *f;

	if (is_new) {
		struct file fresh = { 0 };

		read_file(&fresh, m, path);
		*slot = st->n;
		XGROW(st->files, st->n, st->cap);
		st->files[st->n++] = fresh;
	}
	f = &st->files[*slot];
	if (!f->text || !line || line >= f->n)
		return NULL;
	*len = f->lines[line] - f->lines[line - 1] - 1;
	return f->text + f->lines[line - 1];
}
