/* Predicts how much of a file's debug info will be needed, while addresses are still coming in. */
#ifndef NSPROF_INLINES_EXPECT_H
#define NSPROF_INLINES_EXPECT_H

#include <stdint.h>

#include "elf/elf_file.h"

struct inlines_expect;

/*
 * Unpacks @from, borrowed, in the background with at most @threads threads, as far as
 * inlines_expect_at() demands.
 */
struct inlines_expect *inlines_expect_new(struct elf_file *from, unsigned int threads);
/*
 * Inlined functions will be looked up at @svma of @code, the file that the debug info describes.
 * Does not block.
 */
void inlines_expect_at(struct inlines_expect *ie, const struct elf_file *code, uint64_t svma);
void inlines_expect_free(struct inlines_expect *ie);	/* accepts NULL */

#endif
