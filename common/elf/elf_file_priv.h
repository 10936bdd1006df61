/*
 * What the elf_*.c files share: the object behind struct elf_file. The only include of libelf's
 * headers. Only the elf_*.c files of this folder may include this file.
 */
#ifndef NSPROF_ELF_FILE_PRIV_H
#define NSPROF_ELF_FILE_PRIV_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "elf/elf_file.h"

struct elf_range {
	uint64_t start, end;	/* svma range [start, end) */
	bool plt;
};

struct elf_file {
	int fd;			/* owned; -1 when opened from memory */
	const void *mem;	/* borrowed; NULL when opened from a file */
	size_t memsize;		/* bytes of @mem */
	struct elf_identity id;	/* ino 0: none */
	Elf *elf;		/* owned; only for our own use: sections get decompressed in it */
	Elf *lent[ELF_HANDLES_MAX];	/* owned; handles for libdw, NULL until requested */
	unsigned char *copy;	/* owned; the bytes the handles share, see elf_copy.c; or NULL */
	size_t copy_size;	/* bytes, the file's own size */
	struct elf_later *later;	/* owned; bytes not read yet, see elf_later.c; or NULL */
	struct elf_large *large;	/* owned; sections we read ourselves, see elf_large.c */
	struct elf_plain *plain;	/* owned; sections unpacked so far, see elf_plain.c */
	struct elf_image *image;	/* owned; what @lent reads if sections are compressed */
	GElf_Ehdr ehdr;
	bool one_handle;	/* each further one would decompress everything again */
	size_t shnum;		/* section headers; 0 when they were stripped */
	size_t shstrndx;
	struct elf_load *loads;	/* owned; in the order of the program headers */
	size_t nloads;
	struct elf_range *code;	/* owned; executable sections, sorted by start */
	size_t ncode;
	struct elf_sym *plt;	/* owned, the names too; see elf_plt.c */
	size_t nplt;
	bool plt_done;
	struct elf_syms *syms;	/* owned; see elf_file_remember_symbols(); or NULL */
	struct gopclntab *go;	/* owned; NULL when there is none; see elf_go.c */
	bool go_tried;
	bool go_no_text;	/* there is a table, but its base address is unknown */
	struct u64map pieces;	/* svma to struct elf_piece * of code, owned; see elf_code.c */
	struct elf_piece *piece;	/* the last one used, at @piece_start; NULL: none yet */
	uint64_t piece_start;
	uint64_t room;		/* bytes that may still be read into memory; see elf_files_room() */
	struct u64map taken;	/* elf_room_take(): id and kind to bytes */
	bool short_of_room;
};

/*
 * elf_core.c opens files and reads headers and segments. It uses elf_room.c. The other elf_*.c files
 * may call both and each other, but never elf_file.c, which is above them all. Down to
 * elf_copy_read(), functions are elf_core.c's.
 */

/* What is read: a section or, unpacked, its contents (id: its number), bytes or code at an offset. */
enum elf_room_kind { ELF_ROOM_SECTION, ELF_ROOM_UNPACKED, ELF_ROOM_BYTES, ELF_ROOM_CODE };
void elf_room_init(struct elf_file *ef);
void elf_room_fini(struct elf_file *ef);
/* May @size bytes be read into memory? Then they are charged, the first time. */
bool elf_room_take(struct elf_file *ef, enum elf_room_kind kind, uint64_t id, uint64_t size);
/* Has the file behind @fd so few sections that libelf may look at it? It has memory for each. */
bool elf_headers_fit(int fd);

/* Frees @ef (may be NULL) before any other part was made. Otherwise use elf_file_close(). */
void elf_core_close(struct elf_file *ef);

#define ELF_PHDRS_MAX 4096	/* no real program has more */

/* No single piece of a file larger than this is brought into memory. */
#define ELF_PIECE_MAX (512ull << 20)

/*
 * Up to @want bytes of the file image at @svma, cut at ELF_PIECE_MAX and at the end of the
 * PT_LOAD's file bytes; @type as libelf's ELF_T_*. NULL when no segment holds it. Borrowed for the
 * life of @ef.
 */
Elf_Data *elf_image(struct elf_file *ef, uint64_t svma, size_t want, Elf_Type type);

/* elf_getdata() of @scn, NULL when it is larger than ELF_PIECE_MAX or has no bytes. */
Elf_Data *elf_scn_data(struct elf_file *ef, Elf_Scn *scn);

/*
 * Read bytes [@off, @off + @len) of the file to their place in the copy; bytes past its end stay 0.
 */
void elf_copy_read(const struct elf_file *ef, uint64_t off, uint64_t len);

/* Fill ef->id; leaves it unchanged when nothing identifies the file reliably. */
void elf_identity_take(struct elf_file *ef);

/* A table of ELF symbols with its names. Borrowed from libelf. */
struct elf_symtab {
	Elf_Data *syms;
	size_t n;		/* entries, the null entry included */
	const char *names;
	size_t names_size;	/* bytes up to and with the last NUL: names end below it */
	bool short_names;	/* all are shorter than ELF_NAME_MAX */
	bool is64;		/* entries have the layout of GElf_Sym */
};

/* Entry @i. False when there is none. */
static inline bool elf_symtab_get(const struct elf_symtab *tab, size_t i, GElf_Sym *sym)
{
	if (!tab->is64)
		return i <= INT32_MAX && gelf_getsym(tab->syms, (int)i, sym);
	if (i >= tab->n)
		return false;
	memcpy(sym, (const char *)tab->syms->d_buf + i * sizeof(*sym), sizeof(*sym));
	return true;
}

/* A longer name is not a name but an attempt to waste our time. */
#define ELF_NAME_MAX 65536

/*
 * Set up @tab from a symbol table and the string table bytes @str. False when either is unusable.
 */
bool elf_symtab_init(struct elf_symtab *tab, Elf_Data *syms, Elf_Data *str);
/* Name at byte offset @off of the string table, "" when it is invalid. */
const char *elf_symtab_name(const struct elf_symtab *tab, size_t off);
/*
 * The symbol table section of @type (SHT_SYMTAB or SHT_DYNSYM); for SHT_DYNSYM of a file without
 * section headers, the one that PT_DYNAMIC names. False when there is none.
 */
bool elf_symtab_find(struct elf_file *ef, unsigned int type, struct elf_symtab *tab);

/*
 * DT_RELACOUNT (glibc's elf/elf.h) of the relocations with addends at @svma: how many of the first
 * ones are relative and so refer to no symbol. Only a hint: there may be fewer.
 */
uint64_t elf_relative_relocs(struct elf_file *ef, uint64_t svma);

/* Is @name a section that libdw reads for us? */
bool elf_debug_wanted(const char *name);

/* Make ef->copy unless it exists. False: it cannot be made, or does not pay. */
bool elf_copy_load(struct elf_file *ef);
void elf_copy_free(struct elf_file *ef);

/*
 * Is section @name, located by @sh, read on demand by elf_later_need() or elf_file_text()? Else
 * read it at once.
 */
bool elf_later_is(struct elf_file *ef, const char *name, const GElf_Shdr *sh);
/*
 * Call it when the copy has everything that is read at once. Reads what libdw needs from the start.
 */
void elf_later_begin(struct elf_file *ef);
/* As elf_file_need_info(). */
void elf_later_need(struct elf_file *ef, uint64_t start, uint64_t end);
void elf_later_free(struct elf_file *ef);

/* Contents of a SHF_COMPRESSED section, unpacked; borrowed for the life of @ef. 0 or -EINVAL. */
int elf_plain_section(struct elf_file *ef, Elf_Scn *scn, const uint8_t **data, size_t *size);
void elf_plain_free(struct elf_file *ef);

/* ch_type of a compressed section. */
#define ELF_CH_ZLIB	1
#define ELF_CH_ZSTD	2

/*
 * For a 64-bit file with compressed sections, *@image is an ELF file with its debug sections, all
 * uncompressed; borrowed for the life of @ef. Made at the first call. It has as much of .debug_info
 * as elf_file_need_info() requested, and zeros after that. False: none is compressed, or it cannot
 * be made.
 */
bool elf_image_get(struct elf_file *ef, uint8_t **image, size_t *size);
void elf_image_free(struct elf_file *ef);

/* Passes the functions of .gopclntab to @fn, as elf_file_symbols() does symbols. */
int elf_go_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx);

void elf_syms_free(struct elf_file *ef);

/* Frees what elf_file_code() has read. */
void elf_code_free(struct elf_file *ef);

/* Fill ef->plt. Never fails: entries that cannot be worked out are left out. */
void elf_plt_build(struct elf_file *ef);
void elf_plt_free(struct elf_file *ef);

/*
 * Bytes. Sections from this size on are large. Smaller ones are not worth a system call of their
 * own.
 */
#define ELF_LARGE (32u << 10)
/*
 * Contents of uncompressed section @sh of a file with a descriptor; as elf_file_section(). 0 or
 * -EINVAL.
 */
int elf_large_section(struct elf_file *ef, const GElf_Shdr *sh, const uint8_t **data, size_t *size);
void elf_large_free(struct elf_file *ef);

#endif
