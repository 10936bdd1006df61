/*
 * jit-PID.dump: what a JIT compiler writes about its code (Linux, tools/perf/Documentation/
 * jitdump-specification.txt, version 1): a header, then records, each with its length and time.
 */
#ifndef NSPROF_JITDUMP_H
#define NSPROF_JITDUMP_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

#define JITDUMP_MAGIC 0x4a695444u
#define JITDUMP_MAGIC_SWAPPED 0x4454694au	/* written on a machine of the other byte order */
#define JITDUMP_VERSION 1u
#define JITDUMP_ARCH_TIME 1u	/* flags: times are the CPU's (TSC), not those of CLOCK_MONOTONIC */

#define JITDUMP_HEADER_MAX 4096u	/* total_size; 40 today */
#define JITDUMP_NAME_MAX (64u << 10)	/* bytes; longer is no name */
#define JITDUMP_UNWIND_MAX (64u << 10)	/* bytes of call frame information for one function */
#define JITDUMP_DEBUG_MAX (256u << 10)	/* bytes of a record with the lines of one function */

struct jitdump_header {
	uint32_t magic, version;
	uint32_t total_size;	/* bytes of the header: where the first record is */
	uint32_t elf_mach;	/* EM_X86_64; some producers leave it 0 */
	uint32_t pad;
	uint32_t pid;		/* as the process sees it */
	uint64_t time;
	uint64_t flags;
};
static_assert(sizeof(struct jitdump_header) == 40, "on-disk size");

enum jitdump_id {
	JITDUMP_LOAD,
	JITDUMP_MOVE,
	JITDUMP_DEBUG_INFO,
	JITDUMP_CLOSE,
	JITDUMP_UNWINDING_INFO,
};

struct jitdump_prefix {		/* begins every record */
	uint32_t id;		/* enum jitdump_id; others are skipped */
	uint32_t total_size;	/* bytes of the record with this */
	uint64_t time;		/* ns, or see JITDUMP_ARCH_TIME */
};
static_assert(sizeof(struct jitdump_prefix) == 16, "on-disk size");

struct jitdump_load {		/* then the name with its NUL, then the code */
	uint32_t pid, tid;
	uint64_t vma;
	uint64_t addr, size;	/* runtime address, bytes */
	uint64_t index;		/* unique in the file */
};
static_assert(sizeof(struct jitdump_load) == 40, "on-disk size");

struct jitdump_move {
	uint32_t pid, tid;
	uint64_t vma;
	uint64_t old_addr, addr, size;
	uint64_t index;		/* of the function that was loaded */
};
static_assert(sizeof(struct jitdump_move) == 48, "on-disk size");

/*
 * Stands before the LOAD it is about. Then @size bytes: .eh_frame as if it lay behind the code at
 * the next multiple of 8, and at its end @hdr_size bytes of .eh_frame_hdr.
 */
struct jitdump_unwind {
	uint64_t size;
	uint64_t hdr_size;
	uint64_t mapped_size;	/* bytes of it that are in memory, too */
};
static_assert(sizeof(struct jitdump_unwind) == 24, "on-disk size");

/*
 * Stands before the LOAD it is about. Then @n entries, each followed by the name of the source file
 * with its NUL; "\xff" is that of the entry before. An entry is good up to the next higher address.
 */
struct jitdump_debug {
	uint64_t addr;		/* runtime address of the code */
	uint64_t n;
};
static_assert(sizeof(struct jitdump_debug) == 16, "on-disk size");

struct jitdump_entry {
	uint64_t addr;		/* runtime address */
	uint32_t line;		/* 0 = none */
	uint32_t discrim;	/* the column, of some producers */
};
static_assert(sizeof(struct jitdump_entry) == 16, "on-disk size");

/*
 * What @addrs (sorted runtime addresses, @n of them; NULL: any) may ask jitdump @fd about, appended
 * to @out as a small jitdump: the newest function first, code that was moved as code loaded there
 * at the time of the move, call frame information, the lines of @addrs, no code. The first 1 GiB and 1 Mi
 * functions are looked at, and of those wanted the newest 32 MiB come out. @shift: ns that the clock of who wrote it is ahead of that
 * of samples (clock_mono_shift()), which its times come out without. 0 (nothing may have been
 * added), -ENOEXEC (not a jitdump), -ENOTSUP (another version or byte order), or the errno of
 * reading; what was found before it is in @out then.
 */
int jitdump_slice(int fd, const uint64_t *addrs, size_t n, int64_t shift, struct strbuf *out);

/*
 * Let @out tell also what @other does: both are what jitdump_slice() gave for one process, of dumps of its own or of one it
 * was forked from. The later of two with different numbers is the process's own, and what the other process compiled
 * since that was begun is not in its memory: it is left out. Dumps in different clocks do not go together: @out stays.
 */
void jitdump_join(struct strbuf *out, const struct strbuf *other);

/* An entry of a DEBUG_INFO record, taken apart. */
struct jitdump_line {
	uint64_t off;		/* bytes from the start of the function */
	uint32_t line, discrim;
	uint32_t rank;		/* place in the record */
	const char *file;	/* borrowed from the record, or the name */
};

/*
 * The entries of the record @body, @len bytes behind its prefix, of a function of @size bytes: *@n of
 * them, sorted, of equal ones the last is meant. Own *@out with free(). @name: the function's, by which
 * V8 is known, which states other addresses; it may be changed, and be borrowed (NULL: as
 * jitdump_lines_put() wrote them). 0, or -EINVAL: there are none, or anything about them is wrong.
 */
int jitdump_lines_read(const void *body, size_t len, uint64_t size, char *name,
		       struct jitdump_line **out, size_t *n);
/* The entry for @off; NULL when it is below all of them. Borrowed. */
struct jitdump_line *jitdump_lines_at(struct jitdump_line *v, size_t n, uint64_t off);
/* Append a DEBUG_INFO record for a function at runtime address @start. */
void jitdump_lines_put(struct strbuf *out, uint64_t time, uint64_t start,
		       const struct jitdump_line *v, size_t n);

/* A negative value of jitdump_slice() in words. Static, or strerror()'s. */
const char *jitdump_why(int err);

/*
 * Is a mapping of @path how a JIT tells where its jitdump is? "/tmp/jit-1234.dump": it maps a page
 * of it executable, for nothing else.
 */
bool jitdump_marks(const char *path);

#endif
