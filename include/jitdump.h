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
#define JITDUMP_ARCH_TIME 1u	/* flags: times are from the CPU (TSC), not from CLOCK_MONOTONIC */

#define JITDUMP_HEADER_MAX 4096u	/* total_size; 40 today */
#define JITDUMP_NAME_MAX (64u << 10)	/* bytes; longer names are rejected */
#define JITDUMP_UNWIND_MAX (64u << 10)	/* bytes of call frame information for one function */
#define JITDUMP_DEBUG_MAX (256u << 10)	/* bytes of a line record of one function */

struct jitdump_header {
	uint32_t magic, version;
	uint32_t total_size;	/* bytes of the header: offset of the first record */
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
	uint32_t total_size;	/* bytes of the record, including this prefix */
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
 * Precedes the LOAD it describes. Then @size bytes: .eh_frame, encoded as if it followed the code
 * at the next multiple of 8, with @hdr_size bytes of .eh_frame_hdr at its end.
 */
struct jitdump_unwind {
	uint64_t size;
	uint64_t hdr_size;
	uint64_t mapped_size;	/* bytes of it that are also in memory */
};
static_assert(sizeof(struct jitdump_unwind) == 24, "on-disk size");

/*
 * Precedes the LOAD it describes. Then @n entries, each followed by the source file's name with its
 * NUL; "\xff" repeats the previous entry's name. An entry holds up to the next higher address.
 */
struct jitdump_debug {
	uint64_t addr;		/* runtime address of the code */
	uint64_t n;
};
static_assert(sizeof(struct jitdump_debug) == 16, "on-disk size");

struct jitdump_entry {
	uint64_t addr;		/* runtime address */
	uint32_t line;		/* 0 = none */
	uint32_t discrim;	/* some producers put the column here */
};
static_assert(sizeof(struct jitdump_entry) == 16, "on-disk size");

/*
 * Append to @out, as a small jitdump, what lookups of @addrs (@n sorted runtime addresses; NULL:
 * any) need from jitdump @fd: functions, newest first, their call frame information and the lines
 * of @addrs, but no code. Moved code appears as code loaded at its new place at the time of the
 * move. Limits: the first 1 GiB and 1 Mi functions are read, and the newest 32 MiB of the wanted
 * ones are written. @shift: ns by which the producer's clock is ahead of the samples'
 * (clock_mono_shift()); it is subtracted from all times. 0 (@out may be unchanged), -ENOEXEC (not a
 * jitdump), -ENOTSUP (another version or byte order), or the errno of reading; then @out has what
 * was found before.
 */
int jitdump_slice(int fd, const uint64_t *addrs, size_t n, int64_t shift, struct strbuf *out);

/*
 * Merge @other into @out. Both are from jitdump_slice(), for one process: from its own dumps or
 * from one of a process it was forked from. If their pids differ, the later dump is the process's
 * own, and records of the other that are newer than its begin are dropped: the other process
 * compiled that code after the fork. Dumps with different clocks cannot be merged: @out stays as it
 * is.
 */
void jitdump_join(struct strbuf *out, const struct strbuf *other);

/* A decoded entry of a DEBUG_INFO record. */
struct jitdump_line {
	uint64_t off;		/* bytes from the start of the function */
	uint32_t line, discrim;
	uint32_t rank;		/* place in the record */
	const char *file;	/* borrowed from the record, or the name */
};

/*
 * Decode the entries of record @body (@len bytes after its prefix) of a function of @size bytes:
 * *@n of them, sorted; of equal ones the last counts. Own *@out with free(). @name: the function's
 * name, needed to recognize V8, which states other addresses. It may be modified, and entries may
 * borrow from it. NULL: the record is from jitdump_lines_put(). 0, or -EINVAL: no entries, or
 * malformed.
 */
int jitdump_lines_read(const void *body, size_t len, uint64_t size, char *name,
		       struct jitdump_line **out, size_t *n);
/* The entry for @off; NULL when it is below all of them. Borrowed. */
struct jitdump_line *jitdump_lines_at(struct jitdump_line *v, size_t n, uint64_t off);
/* Append a DEBUG_INFO record for a function at runtime address @start. */
void jitdump_lines_put(struct strbuf *out, uint64_t time, uint64_t start,
		       const struct jitdump_line *v, size_t n);

/* Error text for a negative return of jitdump_slice(). Static, or from strerror(). */
const char *jitdump_why(int err);

/*
 * Does a mapping of @path ("/tmp/jit-1234.dump") mark a jitdump? A JIT maps one page of its dump
 * executable for no other purpose.
 */
bool jitdump_marks(const char *path);

#endif
