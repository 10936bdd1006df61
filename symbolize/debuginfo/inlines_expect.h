/* How much of a file's debug info will be asked for, guessed while addresses are still being met. */
#ifndef NSPROF_INLINES_EXPECT_H
#define NSPROF_INLINES_EXPECT_H

#include <stdint.h>

#include "elf/elf_file.h"

struct inlines_expect;

/* Have @from, borrowed, unpacked ahead by at most @threads threads, as far as inlines_expect_at() says. */
struct inlines_expect *inlines_expect_new(struct elf_file *from, unsigned int threads);
/* The inlined functions at @svma of @code, the file that debug info describes, will be asked for. Does not wait. */
void inlines_expect_at(struct inlines_expect *ie, const struct elf_file *code, uint64_t svma);
void inlines_expect_free(struct inlines_expect *ie);	/* accepts NULL */

#endif
