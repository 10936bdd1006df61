/*
 * What the elf_*.c files share: the object behind struct elf_file, and the only include of libelf's
 * headers. Nothing outside common/elf_*.c may include this file.
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
	struct elf_identity id;	/* ino 0: it has none */
	Elf *elf;		/* owned; ours alone: sections get decompressed in it */
	Elf *lent[ELF_HANDLES_MAX];	/* owned; handles given to libdw, NULL until asked for */
	unsigned char *copy;	/* owned; what they share, see elf_copy.c; NULL: nothing */
	size_t copy_size;	/* bytes, the file's own size */
	struct elf_later *later;	/* owned; what @copy still lacks, see elf_later.c; NULL: nothing */
	struct elf_large *large;	/* owned; sections read on our own, see elf_large.c */
	struct elf_plain *plain;	/* owned; sections unpacked so far, see elf_plain.c */
	struct elf_image *image;	/* owned; what @lent read when the file has compressed sections */
	GElf_Ehdr ehdr;
	bool one_handle;	/* each further one would decompress all over again */
	size_t shnum;		/* section headers; 0 when they were stripped */
	size_t shstrndx;
	struct elf_load *loads;	/* owned; in the order of the program headers */
	size_t nloads;
	struct elf_range *code;	/* owned; executable sections, sorted by start */
	size_t ncode;
	struct elf_sym *plt;	/* owned, the names too; see elf_plt.c */
	size_t nplt;
	bool plt_done;
	struct elf_syms *syms;	/* owned; see elf_file_remember_symbols(); NULL: not wanted, or too many */
	struct gopclntab *go;	/* owned; NULL when there is none; see elf_go.c */
	bool go_tried;
	bool go_no_text;	/* there is a table, and no telling what its distances count from */
	struct u64map pieces;	/* svma to struct elf_piece * of code, owned; see elf_code.c */
	struct elf_piece *piece;	/* the last one, from @piece_start on; NULL before */
	uint64_t piece_start;
};

/*
 * elf_core.c opens files and reads headers and segments. The other elf_*.c are parts: they call it and each other, but
 * never elf_file.c, which is above them all. From here to elf_copy_read() it is elf_core.c.
 */

/* Frees @ef (NULL is accepted), of which no part was made: all others are elf_file_close()'s. */
void elf_core_close(struct elf_file *ef);

#define ELF_PHDRS_MAX 4096	/* more are no program's */

/* More of one file than this is never brought into memory in one piece. */
#define ELF_PIECE_MAX (512ull << 20)

/*
 * Up to @want bytes of the file image at @svma, cut at ELF_PIECE_MAX and at the end of the
 * PT_LOAD's file bytes; @type as libelf's ELF_T_*. NULL when no segment holds it. Borrowed for the
 * life of @ef.
 */
Elf_Data *elf_image(struct elf_file *ef, uint64_t svma, size_t want, Elf_Type type);

/* elf_getdata() of @scn, NULL when it is larger than ELF_PIECE_MAX or has no bytes. */
Elf_Data *elf_scn_data(Elf_Scn *scn);

/* Bytes [@off, @off + @len) of the file to their place in the copy; what the file does not have stays 0. */
void elf_copy_read(const struct elf_file *ef, uint64_t off, uint64_t len);

/* Fill ef->id; leaves it alone when the file cannot be told from others for sure. */
void elf_identity_take(struct elf_file *ef);

/* A table of ELF symbols with its names. Borrowed from libelf. */
struct elf_symtab {
	Elf_Data *syms;
	size_t n;		/* entries, the null entry included */
	const char *names;
	size_t names_size;	/* bytes up to and with the last NUL: all below is terminated */
	bool short_names;	/* none is as long as ELF_NAME_MAX */
	bool is64;		/* entries are as GElf_Sym */
};

/* Entry @i. False: there is none. */
static inline bool elf_symtab_get(const struct elf_symtab *tab, size_t i, GElf_Sym *sym)
{
	if (!tab->is64)
		return i <= INT32_MAX && gelf_getsym(tab->syms, (int)i, sym);
	if (i >= tab->n)
		return false;
	memcpy(sym, (const char *)tab->syms->d_buf + i * sizeof(*sym), sizeof(*sym));
	return true;
}

/* Names longer than this are not names but an attempt to make us work. */
#define ELF_NAME_MAX 65536

/*
 * Set up @tab from a symbol table and the string table bytes @str. False when either is unusable.
 */
bool elf_symtab_init(struct elf_symtab *tab, Elf_Data *syms, Elf_Data *str);
/* Name at byte offset @off of the string table, "" when it is not sound. */
const char *elf_symtab_name(const struct elf_symtab *tab, size_t off);
/*
 * The symbol table section of @type (SHT_SYMTAB or SHT_DYNSYM); for SHT_DYNSYM of a file without
 * section headers, the one that PT_DYNAMIC names. False when there is none.
 */
bool elf_symtab_find(struct elf_file *ef, unsigned int type, struct elf_symtab *tab);

/*
 * How many of the relocations with addends at @svma, the first ones, are relative by DT_RELACOUNT (glibc's elf/elf.h): they tell no
 * symbol. Not more than a hint, that there may not be as many.
 */
uint64_t elf_relative_relocs(struct elf_file *ef, uint64_t svma);

/* Is the section @name one that libdw reads for us? */
bool elf_debug_wanted(const char *name);

/* Make ef->copy, if that was not done. False: it cannot be, or does not pay. */
bool elf_copy_load(struct elf_file *ef);
void elf_copy_free(struct elf_file *ef);

/* Is section @name, which @sh says where, read by elf_later_need() or elf_file_text()? Else it is to be read at once. */
bool elf_later_is(struct elf_file *ef, const char *name, const GElf_Shdr *sh);
/* With the copy and all that is read at once in it: what has to be there before libdw looks at it. */
void elf_later_begin(struct elf_file *ef);
/* As elf_file_need_info(). */
void elf_later_need(struct elf_file *ef, uint64_t start, uint64_t end);
void elf_later_free(struct elf_file *ef);

/* Contents of a section with SHF_COMPRESSED, unpacked; borrowed for the life of @ef. 0 or -EINVAL. */
int elf_plain_section(struct elf_file *ef, Elf_Scn *scn, const uint8_t **data, size_t *size);
void elf_plain_free(struct elf_file *ef);

/* ch_type of a compressed section. */
#define ELF_CH_ZLIB	1
#define ELF_CH_ZSTD	2

/*
 * *@image: an ELF file with the debug sections, all of them plain, for a 64-bit file that has compressed
 * sections; borrowed for the life of @ef. Made at the first call. Of .debug_info it holds as much as
 * elf_file_need_info() was asked for, and zeros behind. False: none is compressed, or it cannot be made.
 */
bool elf_image_get(struct elf_file *ef, uint8_t **image, size_t *size);
void elf_image_free(struct elf_file *ef);

/* The functions of .gopclntab, as elf_file_symbols() gives symbols. */
int elf_go_symbols(struct elf_file *ef, int (*fn)(void *ctx, const struct elf_sym *sym), void *ctx);

void elf_syms_free(struct elf_file *ef);

/* What elf_file_code() has read. */
void elf_code_free(struct elf_file *ef);

/* Fill ef->plt. Never fails: what cannot be worked out has no entry. */
void elf_plt_build(struct elf_file *ef);
void elf_plt_free(struct elf_file *ef);

/* From so many bytes on a section is a large one: those that are smaller are not worth a call of their own. */
#define ELF_LARGE (32u << 10)
/* Contents of section @sh, which is not compressed, of a file with a descriptor: as elf_file_section(). 0 or -EINVAL. */
int elf_large_section(struct elf_file *ef, const GElf_Shdr *sh, const uint8_t **data, size_t *size);
void elf_large_free(struct elf_file *ef);

#endif
