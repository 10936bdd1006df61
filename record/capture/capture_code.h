/* The code of sampled functions, for nsprof annotate when the binary is not available. */
#ifndef NSPROF_CAPTURE_CODE_H
#define NSPROF_CAPTURE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/leaf_counts.h"
#include "elf/elf_file.h"

/* Only parts of larger functions are captured, even if there is room. */
#define CODE_FUNCTION_MAX (64u << 10)
/* Minimum length of such a part in bytes, from a sampled address on. */
#define CODE_PART 128u

/*
 * Appends the code of binary @ef around the addresses of @leafs (file offsets) to @out, in the
 * format of code_pack.h; nothing if no address is in an executable segment. @rows: the binary's
 * slice, @size bytes. Its symbols give the functions' bounds; if there is none, call frame
 * information does. Functions with most samples come first, in total at most @max bytes of code. Of
 * a function that needs more than half of @max, only parts are taken. Returns the bytes of code.
 */
uint64_t capture_code(struct elf_file *ef, const void *rows, size_t size, const struct leaf_counts *leafs,
		      uint64_t max, struct strbuf *out);

#endif
