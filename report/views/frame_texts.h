/* The texts of frames in folded text, each with an id. */
#ifndef NSPROF_FRAME_TEXTS_H
#define NSPROF_FRAME_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_texts;

/* Frames of one stack, in its order. */
struct frame_list {
	uint32_t *ends;		/* owned; end offset in the line, which is shorter than 4 GiB */
	uint32_t *ids;		/* owned */
	size_t n, cap;
};

/* @make: returns the id for a new text. */
struct frame_texts *frame_texts_new(uint32_t (*make)(void *ctx, const char *s, size_t len), void *ctx);
void frame_texts_free(struct frame_texts *t);	/* accepts NULL */

/*
 * Appends to @to the frames that begin at @pos in a line of @len bytes. A frame extends to the next
 * ';' or the end and contains no NUL. Empty frames are skipped. False: some were empty. Exits the
 * program beyond 2^32-2 different texts.
 */
bool frame_texts_split(struct frame_texts *t, const char *s, size_t len, size_t pos, struct frame_list *to);

#endif
