/*
 * Captured rows: exactly the symbols and call frame information that the addresses in a recording
 * need (contrib/doc/capture.md). Each function appends to @out and returns a result; none writes
 * files.
 *
 * The addresses are those that will be looked up. It is not known yet which recorded addresses are
 * return addresses, so the caller adds the byte before each (frame_lookup_addr() in addr.h).
 */
#ifndef NSPROF_CAPTURE_H
#define NSPROF_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * A valid small ELF file with the build-id note, the PT_LOADs of the original (so that file offsets
 * can still be translated), the symbols that cover @offs, and the CFI for them. @fd: the binary.
 * @rootfd: O_PATH root below which its debug file may lie, -1 = none; @path: its path there. @offs:
 * @n sorted byte offsets in the file. 0; 1 if its tables were too large to read all of them
 * (elf_files_room()); or negative errno (-ENOEXEC: not ELF, -ENOTSUP: 32-bit).
 *
 * @spans: may be NULL. Otherwise the slice gets whole functions where it has their CFI, and struct
 * span of file offsets are appended to @spans, sorted and disjoint. For every address in a span,
 * the slice gives the same answer as the binary.
 */
int capture_elf(int fd, int rootfd, const char *path, const uint64_t *offs, size_t n,
		struct strbuf *out, struct strbuf *spans);
/* The same from memory (vdso). */
int capture_elf_mem(const void *data, size_t size, const uint64_t *offs, size_t n,
		    struct strbuf *out, struct strbuf *spans);

struct span {
	uint64_t start, end;	/* [start, end) */
};

/*
 * The lines of /proc/kallsyms for @addrs (sorted): each covering symbol and the next one, so that
 * the ranges end where they should. -EPERM if the kernel hides addresses (all 0).
 */
int capture_kallsyms(const uint64_t *addrs, size_t n, struct strbuf *out);
/*
 * Opens /proc/kallsyms for all later calls: the kernel checks the rights of the opener, not of the
 * reader (kallsyms_show_value()).
 */
void capture_kallsyms_keep(void);
/*
 * The same rows without reading the whole file, if the kernel permits a BPF program that looks them
 * up. If an address has several names, it is the one that the kernel itself prints, and every type
 * is 't'. Addresses without a symbol are passed to capture_kallsyms(), and so are all if BPF is not
 * available. Can be called on any thread.
 */
int capture_ksyms(const uint64_t *addrs, size_t n, struct strbuf *out);
/*
 * Opens all that these two functions need, for a caller that gives up its rights. Before threads
 * start.
 */
void capture_ksyms_prepare(void);

#endif
