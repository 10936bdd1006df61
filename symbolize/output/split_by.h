/* A folder with one file of folded stacks for each container, process ... ("--split-by"). */
#ifndef NSPROF_SPLIT_BY_H
#define NSPROF_SPLIT_BY_H

#include <stddef.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "output/to_folded.h"

struct intern;

/* Those given out. */
struct split_names {
	struct intern *used;	/* owned */
	struct u64map next;	/* id of a name without its number -> number to try */
};

/* Makes folder @dir if it is not there, and sees that it can be written to. 0, or negative errno after a message. */
int split_prepare(const char *dir);
/*
 * The stacks below each first frame of @tree into a file of its own in @dir, named after the frame. A file there is
 * replaced in one step; other files stay. *@files: how many. 0, or negative errno after a message.
 */
int split_write(const char *dir, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight, size_t *files);
void split_names_init(struct split_names *sn);
void split_names_fini(struct split_names *sn);
/*
 * The name of a file for @label, whatever that is: of letters, digits and "._-+@:", not beginning with a dot
 * or dash, at most 140 bytes, and given out once.
 */
void split_name(struct split_names *sn, const char *label, struct strbuf *out);

#endif
