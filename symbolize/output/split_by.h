/* A directory with one file of folded stacks for each container, process, ... ("--split-by"). */
#ifndef NSPROF_SPLIT_BY_H
#define NSPROF_SPLIT_BY_H

#include <stddef.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "output/to_folded.h"

/* How their names end. */
#define SPLIT_SUFFIX ".folded"

struct intern;

/* The file names in use. */
struct split_names {
	struct intern *used;	/* owned */
	struct u64map next;	/* id of a name without its number -> next number to try */
};

/*
 * Creates directory @dir if needed and checks that it is writable. 0, or negative errno after a
 * message.
 */
int split_prepare(const char *dir);
/*
 * Writes the stacks below each first frame of @tree to a file of its own in @dir, named after the
 * frame. An existing file is replaced in one step; other files stay. *@files: number of files. 0,
 * or negative errno after a message.
 */
int split_write(const char *dir, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight, size_t *files);
void split_names_init(struct split_names *sn);
void split_names_fini(struct split_names *sn);
/*
 * Appends a file name for @label, which may be any text: letters, digits and "._-+@:", no dot or
 * dash at the beginning, no brackets around it, at most 140 bytes, different from all earlier ones.
 */
void split_name(struct split_names *sn, const char *label, struct strbuf *out);

#endif
