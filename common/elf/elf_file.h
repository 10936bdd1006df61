/*
 * One ELF file that the caller has opened. The only module that includes libelf. The bytes are
 * untrusted. It opens no path. Addresses are the file's own (svma) unless stated otherwise.
 */
#ifndef NSPROF_ELF_FILE_H
#define NSPROF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cfi/cfi.h"

struct elf_file;
struct gopclntab;

/*
 * @fd is duplicated and read with pread(2). It is never mapped: a truncated file would raise
 * SIGBUS. NULL with *@err: -ENOEXEC (not ELF, or big endian), -EINVAL (not a regular file), -EFBIG
 * (over 4 GiB). Prints no message.
 */
struct elf_file *elf_file_open_fd(int fd, int *err);
/* @data is borrowed for the life of the object. */
struct elf_file *elf_file_open_mem(const void *data, size_t size, int *err);
/*
 * Open the same file again for another thread. Memory that @ef borrows must outlive both. NULL on
 * failure.
 */
struct elf_file *elf_file_open_again(const struct elf_file *ef);
void elf_file_close(struct elf_file *ef);	/* accepts NULL */

/*
 * From now on each file that is opened from a descriptor may bring at most @bytes of its tables and
 * code into memory. What exceeds it is as if it were not in the file. Without a call: no limit.
 */
void elf_files_room(uint64_t bytes);
/* Was something left out because of this limit? */
bool elf_file_short_of_room(const struct elf_file *ef);

/*
 * A libelf handle (Elf *) for libdw, separate from our own; borrowed. NULL when none can be made.
 */
void *elf_file_handle(struct elf_file *ef);
/*
 * Handle @i (below ELF_HANDLES_MAX) of several on the same bytes, one for each thread; handle 0 is
 * that of elf_file_handle(). Get all of them before the threads start. NULL: only the first exists.
 */
#define ELF_HANDLES_MAX 16
void *elf_file_handle_of(struct elf_file *ef, unsigned int i);

/*
 * Handles show zeros for bytes of .debug_info that nobody has requested: reading or unpacking all
 * of it is most of the work, and few units are looked at. This requests bytes [@start, @end) and
 * the headers of all units before @end. @ef must have a handle. Any thread may call it. Damaged
 * bytes stay 0.
 */
void elf_file_need_info(struct elf_file *ef, uint64_t start, uint64_t end);
/*
 * Returns @s, a string that libdw found in a handle of @ef (NULL is passed through), after reading
 * its bytes. Strings, too, are zeros until requested. Does nothing for strings of another file. Any
 * thread may call it.
 */
const char *elf_file_text(struct elf_file *ef, const char *s);
/*
 * Receives .debug_aranges, or its undamaged beginning; NULL and 0 when there is none. Borrowed
 * until elf_file_unpack_stop().
 */
typedef void (*elf_aranges_fn)(void *ctx, const uint8_t *data, size_t size);
/*
 * Start unpacking in a thread what the handles will read. The thread uses its own handle of @ef's
 * file. It unpacks as much of .debug_info as elf_file_expect_info() asks for. Call it before the
 * first elf_file_handle(); it does nothing when no section is compressed. If @at_most such threads
 * already run, one of them takes @ef when it has finished its earlier work; whoever needs @ef
 * earlier does not wait for that. The thread calls @on_aranges at most once.
 */
void elf_file_unpack_ahead(struct elf_file *ef, unsigned int at_most, elf_aranges_fn on_aranges, void *ctx);
/*
 * The first @end bytes of .debug_info are likely to be needed. Does nothing unless they are
 * unpacked ahead. Does not wait.
 */
void elf_file_expect_info(struct elf_file *ef, uint64_t end);
/* Stop unpacking ahead; @on_aranges is not called after this returns. */
void elf_file_unpack_stop(struct elf_file *ef);

/*
 * Identifies the present bytes of a file among all files of this machine: bytes can change only
 * together with ctime, which the kernel sets. A device without a disk behind it (overlayfs, FUSE)
 * gets the same number again when it is remounted and may invent the other fields. There the mount
 * counts as well, and only until the next boot.
 */
struct elf_identity {
	uint64_t dev, ino, size;
	int64_t ctime_ns;
	uint64_t mount;		/* 0: not needed */
	uint64_t boot;		/* hash of the boot id; 0 if @mount is 0 */
};

/* As of when @ef was opened. False when it has none: bytes in memory, or an old kernel. */
bool elf_file_identity(const struct elf_file *ef, struct elf_identity *out);

uint16_t elf_file_machine(const struct elf_file *ef);	/* EM_* */
uint16_t elf_file_type(const struct elf_file *ef);	/* ET_* */
uint64_t elf_file_entry(const struct elf_file *ef);	/* svma */
bool elf_file_is64(const struct elf_file *ef);		/* ELFCLASS64 */

struct elf_load {	/* a PT_LOAD */
	uint64_t offset, filesz;	/* bytes in the file */
	uint64_t vaddr, memsz;		/* svma, bytes */
	uint32_t flags;			/* PF_* */
};
size_t elf_file_loads(const struct elf_file *ef, const struct elf_load **loads);

/*
 * Translate a mapping's file offset to svma, through the PT_LOADs. False when no segment holds
 * @off.
 */
bool elf_file_off_to_svma(const struct elf_file *ef, uint64_t off, uint64_t *svma);

/*
 * svma of the end of the executable section (else segment) that holds @svma; 0 when none holds it.
 * Bounds a zero-sized symbol without a successor.
 */
uint64_t elf_file_code_end(const struct elf_file *ef, uint64_t svma);
/* Is @svma in a PLT section? The linker made that code, so debug info does not describe it. */
bool elf_file_in_plt(const struct elf_file *ef, uint64_t svma);

/*
 * Copy the GNU build-id to @out (at most 20 bytes); its length, 0 when there is none. From the
 * PT_NOTE segments, else from the note sections.
 */
size_t elf_file_build_id(const struct elf_file *ef, uint8_t out[20]);

/*
 * Contents of a section by name, unpacked if compressed (SHF_COMPRESSED with zlib or zstd, or
 * .zdebug_), capped at 512 MiB, borrowed for the life of @ef; may be NULL if it is empty. 0 or
 * -ENOENT/-EINVAL. SHT_NOBITS gives -ENOENT. @svma may be NULL.
 */
int elf_file_section(struct elf_file *ef, const char *name, const uint8_t **data, size_t *size,
		     uint64_t *svma);
/* @data from elf_file_section() is no longer needed. Does nothing for other pointers and NULL. */
void elf_file_give_back(struct elf_file *ef, const uint8_t *data);
/* As elf_file_section(), but takes the first section of that name that @fits accepts. */
int elf_file_section_that(struct elf_file *ef, const char *name, bool (*fits)(const uint8_t *data, size_t size),
			  const uint8_t **data, size_t *size);

/*
 * Bytes that a section of that name (or its .zdebug_ form) takes in the file; 0: none. Reads no
 * contents.
 */
uint64_t elf_file_section_size(struct elf_file *ef, const char *name);
/*
 * Bytes of memory that elf_file_section() takes for it at most: its bytes in the file and, if they
 * are compressed, what they state to become. 0: none; UINT64_MAX: damaged, or the file has no such
 * room left. Reads a compressed section, and unpacks nothing.
 */
uint64_t elf_file_section_room(struct elf_file *ef, const char *name);
bool elf_file_has_section(struct elf_file *ef, const char *name);

/* .gnu_debuglink: file name and CRC. False when absent. */
bool elf_file_debuglink(struct elf_file *ef, const char **name, uint32_t *crc);

/*
 * .eh_frame, .eh_frame_hdr (from PT_GNU_EH_FRAME when section headers are stripped), .debug_frame.
 */
void elf_file_cfi_sections(struct elf_file *ef, struct cfi_sections *out);

/*
 * Code at @svma as it is in the file: *@data, borrowed for the life of @ef. Returns the number of
 * bytes, 0 when no executable segment holds @svma. At least one whole instruction, often no more.
 */
size_t elf_file_code(struct elf_file *ef, uint64_t svma, const uint8_t **data);

/*
 * Read up to @size bytes at @svma into @buf, from any segment, code or data. Returns how many.
 * Relocations are not applied.
 */
size_t elf_file_bytes(const struct elf_file *ef, uint64_t svma, void *buf, size_t size);

/* Go's function table, borrowed for the life of @ef. NULL: none, or its base address is unknown. */
const struct gopclntab *elf_file_gopclntab(struct elf_file *ef);
/* Is there a Go function table that is unusable because its base address is unknown? */
bool elf_file_go_lost(struct elf_file *ef);

struct elf_sym {
	uint64_t svma;
	uint64_t size;		/* bytes; 0 when the symbol states none */
	const char *name;	/* borrowed for the life of @ef */
	uint8_t type, bind;	/* STT_*, STB_* */
	bool dynsym;
	bool gopclntab;
};
/*
 * All symbols that name code: defined, in an executable section or segment, of type FUNC, GNU_IFUNC
 * or NOTYPE, not mapping symbols ("$x"), not empty. .symtab first, then .dynsym, in table order.
 * Also PLT entries as "name@plt" (from the relocations of .plt, .plt.sec, .plt.got), type FUNC. For
 * a Go program without .symtab, the functions of .gopclntab. Returns 0 or @fn's non-zero return.
 */
int elf_file_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym),
		     void *ctx);
/* The same, but only symbols that @wants accepts by address and size: names take longer to read. */
int elf_file_symbols_where(struct elf_file *ef, bool (*wants)(void *ctx, uint64_t svma, uint64_t size),
			   int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx);
/*
 * Symbols will be read more than once: keep what the first walk finds, unless there are too many.
 */
void elf_file_remember_symbols(struct elf_file *ef);
/* Is there a symbol table (.symtab)? Reads headers only. */
bool elf_file_has_symtab(struct elf_file *ef);

#endif
