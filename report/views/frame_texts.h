/* The texts of frames in folded text, and what is known of each. */
#ifndef NSPROF_FRAME_TEXTS_H
#define NSPROF_FRAME_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_texts;

/* Frames of one stack, in its order. */
struct frame_list {
	uint32_t *ends;		/* owned; where in the line, which is shorter than 4 GiB */
	uint32_t *ids;		/* owned */
	size_t n, cap;
};

/* @make: the id of a text that is new. */
struct frame_texts *frame_texts_new(uint32_t (*make)(void *ctx, const char *s, size_t len), void *ctx);
void frame_texts_free(struct frame_texts *t);	/* accepts NULL */

/*
 * Puts the frames that begin at @pos in the @len bytes of a line behind those in @to. They go to a ';' or to the end and have no
 * NUL; empty ones are left out. False: there were some. Ends the program beyond 2^32-2 different texts.
 */
bool frame_texts_split(struct frame_texts *t, const char *s, size_t len, size_t pos, struct frame_list *to);

#endif
