/* Source files by line (sourcetext.h). */
#include "annotate/sourcetext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "host/nsopen.h"
#include "host/openwhy.h"
#include "modules/module.h"

#define FILE_BYTES_MAX (16u << 20)
/* Text and lines of all files: debug info may name any number of them. */
#define ALL_BYTES_MAX (64u << 20)

struct file {
	char *text;		/* owned; NULL: it could not be read */
	size_t *lines;		/* owned; offset of line i + 1; one more for the end */
	size_t n, cap;
};

struct sourcetext {
	struct file *files;	/* owned */
	size_t n, cap;
	struct u64map index;	/* hash of module and path -> files */
	size_t bytes;		/* in memory */
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

static void read_file(struct sourcetext *st, struct file *f, const struct module *m, const char *path)
{
	int root = st->bytes < ALL_BYTES_MAX && path[0] == '/' ? module_open_root(m) : -1, fd, err;
	size_t len;

	if (root < 0)
		return;
	fd = nsopen_file(root, path, FILE_BYTES_MAX, NULL);
	nsopen_close(root);
	if (fd >= 0) {
		f->text = nsopen_slurp(fd, MIN(FILE_BYTES_MAX, ALL_BYTES_MAX - st->bytes), &len, &err);
		nsopen_close(fd);
	} else {
		err = fd;
	}
	if (!f->text) {
		if (openwhy(OPENWHY_SOURCE, err))
			pr_warn("'%s' is not shown: %s", path, openwhy(OPENWHY_SOURCE, err));
		return;
	}
	st->bytes += len;
	for (size_t at = 0; at < len && st->bytes < ALL_BYTES_MAX; st->bytes += sizeof(*f->lines)) {
		const char *nl = memchr(f->text + at, '\n', len - at);

		add_line(f, at);
		at = nl ? (size_t)(nl - f->text) + 1 : len + 1;
	}
	add_line(f, len && f->text[len - 1] != '\n' ? len + 1 : len);
	/* With what is remembered of the lines. */
	if (st->bytes >= ALL_BYTES_MAX)
		pr_warn("source files after '%s' are not shown: they have more than %u MiB", path, ALL_BYTES_MAX >> 20);
}

const char *sourcetext_line(struct sourcetext *st, const struct module *m, const char *path, uint32_t line, size_t *len)
{
	bool is_new;
	uint64_t *slot = u64map_put(&st->index, hash_combine(hash_bytes(path, strlen(path)), m->id), &is_new);
	const struct file *f;

	if (is_new) {
		struct file fresh = { 0 };

		read_file(st, &fresh, m, path);
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
