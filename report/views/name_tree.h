/*
 * The stacks of a profile as lines of folded text, without the text: a tree in which stacks that read the
 * same are one node, in the order of their lines. The text of all stacks can be the square of the
 * profile, so it is made for one stack at a time, and has a limit.
 */
#ifndef NSPROF_NAME_TREE_H
#define NSPROF_NAME_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

struct intern;
struct strbuf;

struct name_node {
	uint32_t parent;	/* smaller than its own number; the root is 0 */
	uint32_t text;		/* of the frame, in texts */
	uint32_t depth;		/* frames */
	uint64_t bytes;		/* of the line up to here, with a ';' before each frame; saturates */
};

struct name_tree {
	struct name_node *nodes;	/* owned */
	uint32_t n;
	uint32_t *of;		/* owned; node of the profile -> node, never 0 */
	struct intern *texts;	/* owned */
	uint32_t *end;		/* owned; by text: as it is written at the end of a line */
	bool callee;		/* lines begin with the leaf */
};

/*
 * @none: the line of stacks without frames, or with frames without names alone. @marks: for each kind, whether frames have its mark (folded_add_marks()).
 * @guard: lines end in counts (folded_guard_count()). Free with name_tree_fini().
 */
void name_tree_init(struct name_tree *t, const struct profile *p, const char *none, const bool marks[PROFILE_KINDS], bool guard,
		    bool callee);
void name_tree_fini(struct name_tree *t);
/* The order of the lines of two nodes, bytewise. Takes as long as they are deep. */
int name_tree_compare(const struct name_tree *t, uint32_t a, uint32_t b);
/*
 * Replaces @out by the line of @node. A line of more than @level bytes loses frames in its middle, as in
 * profile_bound.h, and a leaf with a name that is too long for it is cut (longname.h). Returns whether
 * something is missing.
 */
bool name_tree_text(const struct name_tree *t, uint32_t node, uint64_t level, struct strbuf *out);

#endif
