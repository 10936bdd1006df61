/* The code of sampled functions, for `nsprof annotate` when the binary is out of reach. */
#ifndef NSPROF_CAPTURE_CODE_H
#define NSPROF_CAPTURE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "capture/leaf_counts.h"
#include "elf/elf_file.h"

/* Of a larger function than this only parts are captured, whatever room there is. */
#define CODE_FUNCTION_MAX (64u << 10)
/* Bytes from a sampled address on that such a part has at least. */
#define CODE_PART 128u

/*
 * Code of binary @ef for the addresses of @leafs (file offsets), as code_pack.h has it, appended to
 * @out; nothing when none of them is in an executable segment. @rows: its slice, @size bytes, which names the functions
 * that hold them; call frame information tells of others. Functions with most samples come first, at most @max bytes of code
 * in all; one that would take more than half of @max is cut down to parts. Returns bytes of code.
 */
uint64_t capture_code(struct elf_file *ef, const void *rows, size_t size, const struct leaf_counts *leafs,
		      uint64_t max, struct strbuf *out);

#endif
