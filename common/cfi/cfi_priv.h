/* Shared by the cfi_*.c files: parsed entries, the instruction decoder, DWARF constants. */
#ifndef NSPROF_CFI_PRIV_H
#define NSPROF_CFI_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "cfi/cfi.h"

/* Call frame instructions (DWARF 5, 7.24; the last two are GNU's). */
enum {
	DW_CFA_nop = 0x00,
	DW_CFA_set_loc = 0x01,
	DW_CFA_advance_loc1 = 0x02,
	DW_CFA_advance_loc2 = 0x03,
	DW_CFA_advance_loc4 = 0x04,
	DW_CFA_offset_extended = 0x05,
	DW_CFA_restore_extended = 0x06,
	DW_CFA_undefined = 0x07,
	DW_CFA_same_value = 0x08,
	DW_CFA_register = 0x09,
	DW_CFA_remember_state = 0x0a,
	DW_CFA_restore_state = 0x0b,
	DW_CFA_def_cfa = 0x0c,
	DW_CFA_def_cfa_register = 0x0d,
	DW_CFA_def_cfa_offset = 0x0e,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_CFA_expression = 0x10,
	DW_CFA_offset_extended_sf = 0x11,
	DW_CFA_def_cfa_sf = 0x12,
	DW_CFA_def_cfa_offset_sf = 0x13,
	DW_CFA_val_offset = 0x14,
	DW_CFA_val_offset_sf = 0x15,
	DW_CFA_val_expression = 0x16,
	DW_CFA_MIPS_advance_loc8 = 0x1d,
	DW_CFA_GNU_args_size = 0x2e,
	DW_CFA_GNU_negative_offset_extended = 0x2f,
	DW_CFA_advance_loc = 0x40,	/* low 6 bits: operand; the same for the next two */
	DW_CFA_offset = 0x80,
	DW_CFA_restore = 0xc0,
};

/*
 * Pointer encodings (LSB 5.0 Core, 10.5.1): the low 4 bits are the format, the bits above tell what
 * the pointer is relative to.
 */
enum {
	DW_EH_PE_absptr = 0x00,
	DW_EH_PE_uleb128 = 0x01,
	DW_EH_PE_udata2 = 0x02,
	DW_EH_PE_udata4 = 0x03,
	DW_EH_PE_udata8 = 0x04,
	DW_EH_PE_signed = 0x08,
	DW_EH_PE_sleb128 = 0x09,
	DW_EH_PE_sdata2 = 0x0a,
	DW_EH_PE_sdata4 = 0x0b,
	DW_EH_PE_sdata8 = 0x0c,
	DW_EH_PE_pcrel = 0x10,
	DW_EH_PE_textrel = 0x20,
	DW_EH_PE_datarel = 0x30,
	DW_EH_PE_funcrel = 0x40,
	DW_EH_PE_indirect = 0x80,
	DW_EH_PE_omit = 0xff,
};

/*
 * Four times the largest program seen in some hundred libraries (60 KiB, in libcufft). Keeps a
 * hostile FDE from costing seconds for each address in it.
 */
#define CFI_PROGRAM_MAX (256u << 10)

/* Instructions of one CIE or FDE. */
struct cfi_program {
	struct cursor c;	/* over the instructions */
	uint64_t svma;		/* address of the first, for pc-relative DW_CFA_set_loc */
};

struct cfi_cie {
	uint64_t off;		/* byte offset in its section */
	bool debug_frame;
	bool used;		/* this cache slot is in use */
	bool signal_frame;
	bool sized_aug;		/* 'z': augmentation data of FDEs is preceded by its length */
	uint8_t fde_enc;	/* DW_EH_PE_* of pc_begin; absptr in .debug_frame */
	uint8_t addr_size;	/* bytes: 4 or 8 */
	uint8_t ra_reg;
	uint64_t code_align;
	int64_t data_align;
	struct cfi_program prog;
	/* 0 = @init not computed yet, 1 = computed, negative = not computable */
	int init_state;
	int plain_state;	/* the same for @plain; also negative if that row is not plain */
	struct cfi_plain plain;
	struct cfi_row init;	/* the row after the CIE's instructions */
};

#define CFI_CIE_CACHE 8		/* power of two */

struct cfi_index {
	struct cfi_fde *v;	/* owned; sorted by start, one FDE per start */
	size_t n, cap;
	bool built;
};

/* One length-prefixed record of a section. */
struct cfi_record {
	uint64_t next;		/* byte offset of the next record */
	bool terminator;	/* length 0 */
	bool is_cie;
	uint64_t cie;		/* FDE: byte offset of its CIE */
	/* over the section, after the id, ending at the end of the record */
	struct cursor c;
};

/* A parsed FDE. @cie stays valid until the next cfi_fde_at(). */
struct cfi_entry {
	struct cfi_fde fde;
	struct cfi_cie *cie;
	struct cfi_program prog;
};

struct cfi {
	struct cfi_sections secs;
	/* table of .eh_frame_hdr: int32 pairs relative to its start; NULL = unusable */
	const uint8_t *table;
	size_t ntable;		/* pairs */
	/*
	 * owned; divides the range from the first pair's start on into buckets of 1 << @shift
	 * bytes: index of the first pair in each, and their number at the end
	 */
	uint32_t *bucket;
	size_t nbuckets;
	unsigned int shift;
	bool empty;
	struct cfi_index eh, df;	/* built by scanning; eh only if the table is not usable */
	struct cfi_index all;		/* both, for cfi_nth() */
	struct cfi_cie cies[CFI_CIE_CACHE];	/* by offset */
	/* result of the last cfi_fde_at(): most callers that find an FDE ask for its row next */
	struct cfi_entry last;
	bool has_last;
};

/* Computes @cie->init, once. 0 or -EINVAL. */
int cfi_initial(struct cfi *cfi, struct cfi_cie *cie);
/* The record at byte offset @off. 0, -ENOENT at the end of the section, -EINVAL. */
int cfi_record_at(const struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_record *rec);
/* The FDE at byte offset @off with its CIE. 0, -ENOENT (a CIE or terminator), -EINVAL. */
int cfi_fde_at(struct cfi *cfi, bool debug_frame, uint64_t off, struct cfi_entry *e);
const struct cfi_section *cfi_section_of(const struct cfi *cfi, bool debug_frame);
/*
 * Reads an encoded pointer at @c, whose base byte has address @svma. 0, -EINVAL (end of data,
 * omitted, or an encoding that needs memory we do not have).
 */
int cfi_pointer(const struct cfi *cfi, struct cursor *c, uint8_t enc, uint8_t addr_size,
		uint64_t svma, uint64_t *out);

/* LEB128 of any length. Bits above 64 are dropped, as other readers do. */
uint64_t cfi_uleb(struct cursor *c);
int64_t cfi_sleb(struct cursor *c);

struct cfi_insn {
	/* DW_CFA_*, primary ones without operand; advances become advance_loc */
	uint8_t op;
	uint64_t reg;		/* DWARF register, also the CFA's */
	uint64_t val;		/* set_loc: svma; advance_loc: bytes; register: the other one */
	int64_t off;		/* bytes, scaled */
	const uint8_t *expr;
	size_t expr_len;
};

/*
 * Calls @fn for all rows of @fde in address order, until it returns non-zero. 0, the return value
 * of @fn, or -EINVAL, possibly after some rows.
 */
typedef int (*cfi_row_fn)(void *ctx, const struct cfi_row *row);
int cfi_rows(struct cfi *cfi, const struct cfi_fde *fde, cfi_row_fn fn, void *ctx);

/*
 * Writes a program with the rows of @fde that @pcs (@n sorted svma values) need, and the rows
 * between them. *@cut: the addresses it covers, from the start of the first row to the end of the
 * last. False if there is no shorter program, or none at all: take the whole FDE.
 */
bool cfi_cut(struct cfi *cfi, const struct cfi_fde *fde, const uint64_t *pcs, size_t n,
	     struct strbuf *prog, struct cfi_fde *cut);

/* The next instruction. 1, 0 at the end of the program, -EINVAL. */
int cfi_insn_next(const struct cfi *cfi, const struct cfi_cie *cie, struct cfi_program *p,
		  struct cfi_insn *insn);

#endif
