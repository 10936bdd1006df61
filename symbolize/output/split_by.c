/* One file per first frame (split_by.h). */
#include "output/split_by.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/folded_frame.h"

/* bytes; stays below NAME_MAX with number, suffix and what outfile.c appends */
#define STEM_MAX 120

struct split {
	const char *dir;
	struct split_names names;
	struct outfile *out;	/* the current file */
	size_t files;
};

int split_prepare(const char *dir)
{
	return outfile_folder(dir);
}

static bool is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       (c && strchr("._-+@:", c));
}

/* Is the label its file's name? Then no other label may take that name before it. */
static bool keeps_name(const char *label)
{
	size_t n = 0;

	while (is_plain(label[n]))
		n++;
	return n && !label[n] && n <= STEM_MAX && !strchr("._-", label[0]);
}

void split_names_init(struct split_names *sn)
{
	*sn = (struct split_names){ .used = intern_new() };
}

void split_names_fini(struct split_names *sn)
{
	intern_free(sn->used);
	u64map_fini(&sn->next);
}

void split_name(struct split_names *sn, const char *label, struct strbuf *out)
{
	struct strbuf stem = STRBUF_INIT;
	size_t skip = 0, len = strlen(label);
	uint64_t *n;

	/* "[running]" */
	if (len > 2 && label[0] == '[' && label[len - 1] == ']') {
		label++;
		len -= 2;
	}
	for (size_t i = 0; i < len; i++)
		strbuf_addc(&stem, is_plain(label[i]) ? label[i] : '_');
	/* The end of a path says most. */
	if (stem.len > STEM_MAX)
		skip = stem.len - STEM_MAX;
	while (skip < stem.len && strchr("._-", stem.s[skip]))
		skip++;
	if (skip == stem.len)
		strbuf_addc(&stem, '_');
	/* File names never contain a slash. */
	strbuf_addc(&stem, '/');
	n = u64map_put(&sn->next, intern_add(sn->used, stem.s + skip), NULL);
	stem.s[stem.len - 1] = '\0';
	for (;;) {
		uint32_t known = intern_count(sn->used);

		strbuf_reset(out);
		strbuf_adds(out, stem.s + skip);
		if (++*n > 1)
			strbuf_addf(out, "-%" PRIu64, *n);
		strbuf_adds(out, SPLIT_SUFFIX);
		intern_add(sn->used, out->s);
		if (intern_count(sn->used) != known)
			break;
	}
	strbuf_fini(&stem);
}

static int finish_file(struct split *s)
{
	int err = s->out ? outfile_close(s->out) : 0;

	s->out = NULL;
	return err;
}

static FILE *next_file(void *ctx, const char *first)
{
	struct split *s = ctx;
	struct strbuf name = STRBUF_INIT, label = STRBUF_INIT;
	char *path;

	if (finish_file(s))
		return NULL;
	folded_read_name(&label, first, strlen(first));
	split_name(&s->names, label.s, &name);
	path = xasprintf("%s/%s", s->dir, name.s);
	s->out = outfile_open(path);
	s->files += s->out != NULL;
	free(path);
	strbuf_fini(&name);
	strbuf_fini(&label);
	return s->out ? outfile_text(s->out) : NULL;
}

int split_write(const char *dir, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight, size_t *files)
{
	struct split s = { .dir = dir };
	int err;

	split_names_init(&s.names);
	err = fold_write_split(tree, nm, weight, keeps_name, next_file, &s);
	if (!err)
		err = finish_file(&s);
	split_names_fini(&s.names);
	*files = s.files;
	return err;
}
