/*
 * Captured rows: exactly the symbols and call frame information that the addresses in a recording
 * can ask for (contrib/doc/capture.md). Each function appends to @out and says how it went; none
 * writes files.
 *
 * The addresses are those that will be looked up: since nobody knows yet which of the recorded ones
 * are return addresses, the caller adds the byte before each (frame_lookup_addr() in addr.h).
 */
#ifndef NSPROF_CAPTURE_H
#define NSPROF_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

/*
 * A valid small ELF file with the build-id note, the PT_LOADs of the original (so that file offsets
 * still translate), the symbols that cover @offs and the CFI for them. @fd: the binary. @rootfd:
 * O_PATH root below which its debug file may lie, -1 = none; @path: its path there. @offs: sorted
 * byte offsets in the file, @n of them. 0 or negative errno (-ENOEXEC: not ELF, -ENOTSUP: 32-bit).
 *
 * @spans: NULL, or the slice is to have whole functions where it has their CFI, and struct span of file offsets
 * are appended here, sorted and disjoint: of any address there it says the same as the binary.
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
 * Lines of perf map @fd that cover any of @addrs (sorted runtime addresses). At most 256 MiB is
 * read. 0, or negative errno. The map's last entry for an address wins, and only that one is kept.
 */
int capture_perf_map(int fd, const uint64_t *addrs, size_t n, struct strbuf *out);

/*
 * Lines of /proc/kallsyms for @addrs (sorted): each covering symbol and the one behind it, so that
 * ranges end where they did. -EPERM when the kernel hides addresses (all 0).
 */
int capture_kallsyms(const uint64_t *addrs, size_t n, struct strbuf *out);
/*
 * The same rows without reading all of the file, where the kernel lets a BPF program ask for them:
 * of several names of an address the one that the kernel itself prints, and every type is 't'.
 * Addresses that have no symbol that way, and all where it cannot be, go to capture_kallsyms(). On
 * any thread.
 */
int capture_ksyms(const uint64_t *addrs, size_t n, struct strbuf *out);

#endif
