/* The folded writer (fold.h). */
#include "fold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "intern.h"
#include "xalloc.h"

/*
 * One line, in pointers: as text, the lines of a big recording would take several times the memory.
 */
struct line {
	const char **frames;	/* root first; borrowed, interned: equal text, equal pointer */
	uint32_t n;
	char count[24];		/* " 123" */
};

int fold_parse_weight(const char *text, enum fold_weight *out)
{
	if (strcmp(text, "samples") == 0)
		*out = FOLD_SAMPLES;
	else if (strcmp(text, "period") == 0)
		*out = FOLD_PERIOD;
	else
		return -EINVAL;
	return 0;
}

/*
 * The tree again, of names: two addresses in one function become one node, so that equal lines meet
 * without a look at their text. Names hold no ';', hence equal lines have equal ids.
 */
static void merge_by_name(struct stacktree *out, const struct stacktree *tree,
			  const struct naming *nm)
{
	uint32_t *to = xcalloc(tree->n, sizeof(*to));
	size_t i;

	stacktree_init(out);
	for (i = 1; i < tree->n; i++) {
		const struct stacknode *nd = &tree->nodes[i];
		const struct named *name = &nm->named[nd->loc];
		uint32_t k, node = to[nd->parent];

		/* Innermost first there, root first here. */
		for (k = name->n; k-- > 0; ) {
			uint32_t id = nm->ids[name->first + k];

			/* A row of "[kernel]" says no more than one. */
			if (id != nm->kernel_id || !id || out->nodes[node].loc != id)
				node = stacktree_child(out, node, id);
		}
		to[i] = node;
		if (nd->samples)
			stacktree_count(out, node, nd->samples, nd->period);
	}
	free(to);
}

/*
 * A place in the text of a line without the text: which frame, and where in it. Behind a frame
 * comes ';', behind the last one the count.
 */
struct place {
	const struct line *line;
	uint32_t frame;
	const char *p;
};

static void place_start(struct place *pl, const struct line *line, uint32_t frame)
{
	pl->line = line;
	pl->frame = frame;
	pl->p = frame < line->n ? line->frames[frame] : line->count;
}

/* The next byte; 0 at the end of the line. */
static unsigned char place_next(struct place *pl)
{
	if (*pl->p)
		return (unsigned char)*pl->p++;
	if (pl->frame >= pl->line->n)
		return 0;
	pl->frame++;
	place_start(pl, pl->line, pl->frame);
	return pl->frame < pl->line->n ? ';' : (unsigned char)*pl->p++;
}

/* As "LC_ALL=C sort" would have the finished lines. */
static int compare_lines(const void *pa, const void *pb)
{
	const struct line *a = pa, *b = pb;
	struct place pla, plb;
	uint32_t i = 0;

	while (i < a->n && i < b->n && a->frames[i] == b->frames[i])
		i++;
	/* Step back to a frame both have, so that what follows it is compared as well. */
	if (i)
		i--;
	place_start(&pla, a, i);
	place_start(&plb, b, i);
	for (;;) {
		unsigned char ca = place_next(&pla), cb = place_next(&plb);

		if (ca != cb)
			return ca < cb ? -1 : 1;
		if (!ca)
			return 0;
	}
}

static void make_line(struct line *line, const struct stacktree *names, uint32_t node,
		      const struct naming *nm, uint64_t count)
{
	uint32_t at, n = 0;

	for (at = node; at != STACKTREE_ROOT; at = names->nodes[at].parent)
		n++;
	line->n = n;
	line->frames = xcalloc(n ? n : 1, sizeof(*line->frames));
	for (at = node; at != STACKTREE_ROOT; at = names->nodes[at].parent)
		line->frames[--n] = intern_str(nm->names, names->nodes[at].loc);
	snprintf(line->count, sizeof(line->count), " %" PRIu64, count);
}

static void write_line(FILE *to, const struct line *line)
{
	uint32_t i;

	for (i = 0; i < line->n; i++) {
		if (i)
			fputc(';', to);
		fputs(line->frames[i], to);
	}
	fputs(line->count, to);
	fputc('\n', to);
}

void fold_write(FILE *to, const struct stacktree *tree, const struct naming *nm,
		enum fold_weight weight)
{
	struct stacktree names;
	struct line *lines;
	size_t i, n = 0;

	merge_by_name(&names, tree, nm);
	lines = xcalloc(names.n, sizeof(*lines));
	for (i = 1; i < names.n; i++) {
		const struct stacknode *nd = &names.nodes[i];

		if (nd->samples)
			make_line(&lines[n++], &names, (uint32_t)i, nm,
				  weight == FOLD_PERIOD ? nd->period : nd->samples);
	}
	qsort(lines, n, sizeof(*lines), compare_lines);
	for (i = 0; i < n; i++) {
		write_line(to, &lines[i]);
		free(lines[i].frames);
	}
	free(lines);
	stacktree_fini(&names);
}
