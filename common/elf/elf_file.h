/*
 * One ELF file, opened by someone else: the only includer of libelf. Parses hostile bytes; opens no
 * path. Address values are the file's own (svma) unless said otherwise.
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
 * @fd is duplicated and read with pread(2), never mapped (a truncated file would be SIGBUS). NULL
 * with *@err: -ENOEXEC (not ELF, or big endian), -EINVAL (not a regular file), -EFBIG (over 4 GiB).
 * No message.
 */
struct elf_file *elf_file_open_fd(int fd, int *err);
/* @data is borrowed for the life of the object. */
struct elf_file *elf_file_open_mem(const void *data, size_t size, int *err);
/* The same file once more, for another thread. Memory that @ef borrows has to outlive both. NULL: it cannot be opened any more. */
struct elf_file *elf_file_open_again(const struct elf_file *ef);
void elf_file_close(struct elf_file *ef);	/* accepts NULL */

/*
 * A libelf handle (Elf *) for libdw's use, apart from our own; borrowed. NULL when it cannot be
 * had.
 */
void *elf_file_handle(struct elf_file *ef);
/*
 * Handle @i (below ELF_HANDLES_MAX) of several on the same bytes, for as many threads; 0 is that of
 * elf_file_handle(). Ask for all before the threads start. NULL when there is only the first.
 */
#define ELF_HANDLES_MAX 16
void *elf_file_handle_of(struct elf_file *ef, unsigned int i);

/*
 * Handles give zeros for those bytes of .debug_info that nobody asked for: to unpack or read all of it is most of
 * the work, and few units are looked at. This asks for bytes [@start, @end) of it, and for the headers of all units
 * up to there. By any thread, of a file with a handle. What is damaged stays 0.
 */
void elf_file_need_info(struct elf_file *ef, uint64_t start, uint64_t end);
/*
 * The string @s (NULL is passed on), which libdw has found in a handle of @ef, with its bytes there: they, too, are read as
 * they are asked for, and are zeros before. Of another file's it does nothing. By any thread.
 */
const char *elf_file_text(struct elf_file *ef, const char *s);
/* .debug_aranges, or as much as is sound; NULL and 0: there is none. Borrowed until elf_file_unpack_stop(). */
typedef void (*elf_aranges_fn)(void *ctx, const uint8_t *data, size_t size);
/*
 * Unpacks what handles will read in a thread, which reads @ef's file through a handle of its own; of .debug_info as much as
 * elf_file_expect_info() says. To be called before the first elf_file_handle(); does nothing where none is compressed. Where
 * @at_most such threads are at work, one of them does so when it is done with what it was given before; who wants it earlier
 * does not wait for that. @on_aranges is called by the thread, once at most.
 */
void elf_file_unpack_ahead(struct elf_file *ef, unsigned int at_most, elf_aranges_fn on_aranges, void *ctx);
/* Somebody is likely to need the first @end bytes of .debug_info. Nothing where it is not unpacked ahead. Does not wait. */
void elf_file_expect_info(struct elf_file *ef, uint64_t end);
/* No more is unpacked ahead, nor anything called. */
void elf_file_unpack_stop(struct elf_file *ef);

/*
 * What tells a file's present bytes from all others on this machine: they can only change together with
 * ctime, which the kernel sets. A device without a disk behind it (overlayfs, FUSE) gets its number
 * back when it is mounted again, and may make up the rest: there the mount is what counts, until the
 * next boot.
 */
struct elf_identity {
	uint64_t dev, ino, size;
	int64_t ctime_ns;
	uint64_t mount;		/* 0: not needed */
	uint64_t boot;		/* hash of the boot id; 0 with @mount */
};

/* As it was when @ef was opened. False when it has none: bytes in memory, or an old kernel. */
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
 * File offset of a runtime mapping to svma, through the PT_LOADs. False when no segment holds @off.
 */
bool elf_file_off_to_svma(const struct elf_file *ef, uint64_t off, uint64_t *svma);

/*
 * Where the executable section (else segment) that holds @svma ends, svma; 0 when none holds it.
 * The bound of a zero-sized symbol without a successor.
 */
uint64_t elf_file_code_end(const struct elf_file *ef, uint64_t svma);
/* Is @svma in a section of the linkage table? The linker has made it: no debug info tells of it. */
bool elf_file_in_plt(const struct elf_file *ef, uint64_t svma);

/* Length in bytes of the GNU build-id copied to @out (at most 20), 0 when there is none. From the
 * PT_NOTE segments, else the note sections. */
size_t elf_file_build_id(const struct elf_file *ef, uint8_t out[20]);

/*
 * Section by name: contents (unpacked when SHF_COMPRESSED, zlib or zstd, or .zdebug_; capped at 512 MiB),
 * borrowed for the life of @ef. 0 or -ENOENT/-EINVAL. SHT_NOBITS gives -ENOENT. @svma may be NULL.
 */
int elf_file_section(struct elf_file *ef, const char *name, const uint8_t **data, size_t *size,
		     uint64_t *svma);
/* @data of elf_file_section() is not needed any more. Anything else is left as it is, NULL too. */
void elf_file_give_back(struct elf_file *ef, const uint8_t *data);
/* elf_file_section(), of several sections of that name the first one whose bytes @fits says yes to. */
int elf_file_section_that(struct elf_file *ef, const char *name, bool (*fits)(const uint8_t *data, size_t size),
			  const uint8_t **data, size_t *size);

/* A section of that name (or its .zdebug_ form): the bytes it takes in the file, 0 when there is none. Reads no contents. */
uint64_t elf_file_section_size(struct elf_file *ef, const char *name);
bool elf_file_has_section(struct elf_file *ef, const char *name);

/* .gnu_debuglink: file name and CRC. False when absent. */
bool elf_file_debuglink(struct elf_file *ef, const char **name, uint32_t *crc);

/* .eh_frame, .eh_frame_hdr (by PT_GNU_EH_FRAME too when sections are stripped), .debug_frame. */
void elf_file_cfi_sections(struct elf_file *ef, struct cfi_sections *out);

/*
 * Code from @svma on as the file has it: bytes at *@data, borrowed for the life of @ef; how many, 0
 * when no executable segment holds it. At least the whole instruction there, often no more.
 */
size_t elf_file_code(struct elf_file *ef, uint64_t svma, const uint8_t **data);

/* Up to @size bytes from @svma on as the file has them in a segment, code or data, into @buf; how many. Relocations are not applied. */
size_t elf_file_bytes(const struct elf_file *ef, uint64_t svma, void *buf, size_t size);

/* Go's function table, borrowed for the life of @ef. NULL when there is none, or where its functions lie cannot be told. */
const struct gopclntab *elf_file_gopclntab(struct elf_file *ef);
/* Is there a function table of Go's that cannot be used, since nothing says what address its functions are counted from? */
bool elf_file_go_lost(struct elf_file *ef);

struct elf_sym {
	uint64_t svma;
	uint64_t size;		/* bytes; 0 when the symbol does not say */
	const char *name;	/* borrowed for the life of @ef */
	uint8_t type, bind;	/* STT_*, STB_* */
	bool dynsym;
	bool gopclntab;
};
/*
 * All symbols that name code: defined, in an executable section or segment, type FUNC, GNU_IFUNC or
 * NOTYPE, not mapping symbols ("$x"), not empty. .symtab, then .dynsym. Order of the tables. Also
 * PLT entries as "name@plt" (from the relocations of .plt, .plt.sec, .plt.got), type FUNC. Of a Go
 * program without .symtab the functions of .gopclntab. Returns 0 or @fn's non-zero return.
 */
int elf_file_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym),
		     void *ctx);
/* The same, of those alone that @wants by address and size: names take longer to look at. */
int elf_file_symbols_where(struct elf_file *ef, bool (*wants)(void *ctx, uint64_t svma, uint64_t size),
			   int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx);
/* They will be asked for more than once: keep what the first walk over the tables gives, unless there are too many. */
void elf_file_remember_symbols(struct elf_file *ef);
bool elf_file_has_symtab(struct elf_file *ef);

#endif
