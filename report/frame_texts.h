/* The texts of frames in folded text, and what is known of each. */
#ifndef NSPROF_FRAME_TEXTS_H
#define NSPROF_FRAME_TEXTS_H

#include <stddef.h>
#include <stdint.h>

struct frame_texts;

struct frame_texts *frame_texts_new(void);
void frame_texts_free(struct frame_texts *t);	/* accepts NULL */

/*
 * What the caller keeps for the text at the beginning of @s, which goes to a ';' or to the end of @len bytes and has no NUL;
 * 0 when it is new. *@n is its length, which may be 0. Valid until the next call. Ends the program beyond
 * 2^32-2 different texts.
 */
uint32_t *frame_texts_find(struct frame_texts *t, const char *s, size_t len, size_t *n);

#endif
