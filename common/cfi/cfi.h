/*
 * Call frame information: .eh_frame (LSB 5.0 Core, 10.6) and .debug_frame (DWARF 5, 6.4), parsed by
 * hand from section bytes. The recorder cuts slices out of it, and unwinding uses it later. All
 * addresses are the binary's own (svma values as plain uint64_t). Input is hostile: nothing outside
 * the given bytes is read, and every program is bounded.
 */
#ifndef NSPROF_CFI_H
#define NSPROF_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

struct cfi_section {
	const uint8_t *data;	/* borrowed for the life of the index; NULL = section absent */
	size_t size;		/* bytes */
	uint64_t svma;		/* address of data[0]; 0 for .debug_frame */
};

struct cfi_sections {
	struct cfi_section eh_frame;
	/* used if its table is sorted and sound, otherwise ignored */
	struct cfi_section eh_frame_hdr;
	struct cfi_section debug_frame;		/* searched after eh_frame */
	uint64_t text_svma, data_svma;	/* bases of DW_EH_PE_textrel/datarel; datarel = .got */
	bool is64;
};

struct cfi;	/* an index over one binary */

/* Never fails: a binary without usable CFI gets an empty index. Free it with cfi_free(). */
struct cfi *cfi_new(const struct cfi_sections *secs);
void cfi_free(struct cfi *cfi);
bool cfi_empty(const struct cfi *cfi);

struct cfi_fde {
	uint64_t start, end;	/* svma range [start, end) */
	uint64_t off;		/* byte offset of the FDE in its section */
	bool debug_frame;	/* in .debug_frame, otherwise in .eh_frame */
};

/* The FDE that covers @svma. 0 or -ENOENT. */
int cfi_find(struct cfi *cfi, uint64_t svma, struct cfi_fde *fde);
/*
 * All FDEs in address order, for slicing and for test oracles: FDE @i, or -ENOENT behind the last.
 */
int cfi_nth(struct cfi *cfi, size_t i, struct cfi_fde *fde);

/*
 * * DWARF register numbers of x86-64 (psABI 1.0, figure 3.36): 0 ax 1 dx 2 cx 3 bx 4 si 5 di 6 bp 7
 * sp 8-15 r8-r15, 16 return address.
 */
#define CFI_NREGS 17
#define CFI_REG_RA 16
#define CFI_REG_SP 7
#define CFI_REG_BP 6

enum cfi_how {
	CFI_UNSPEC,		/* no rule: callee-saved registers keep their value */
	CFI_UNDEF,		/* DW_CFA_undefined; for the return address: end of the stack */
	CFI_SAME,
	CFI_OFFSET,		/* saved at CFA + off */
	CFI_VAL_OFFSET,		/* value is CFA + off */
	CFI_REGISTER,		/* in register reg */
	/* saved at the address computed by the expression (CFA pushed first) */
	CFI_EXPR,
	CFI_VAL_EXPR,		/* value is the result of the expression */
};

struct cfi_rule {
	uint8_t how;		/* enum cfi_how */
	uint8_t reg;
	uint32_t expr_len;	/* bytes */
	int64_t off;
	const uint8_t *expr;	/* borrowed from the section */
};

/*
 * Marks the CIE of rows that were made (made_rows.h): its code alignment factor. In a slice these
 * rows lie beside the rows that the binary states, and are less reliable. Each FDE has a single
 * row, so the factor is never applied.
 */
#define CFI_MADE_ALIGN 127

struct cfi_row {
	uint64_t start, end;	/* the row holds for svma in [start, end) */
	uint8_t cfa_how;	/* CFI_REGISTER: reg + off; CFI_VAL_EXPR: expression */
	struct cfi_rule cfa;
	struct cfi_rule regs[CFI_NREGS];
	uint8_t ra_reg;		/* return address column, normally 16 */
	/* augmentation 'S': the caller's address is an instruction, not a return */
	bool signal_frame;
	bool made;		/* made from the code, not stated by the binary (made_rows.h) */
};

/*
 * The row in force at @svma, which must lie in @fde. 0, -EINVAL for a damaged or unsupported
 * program.
 */
int cfi_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_row *row);

/*
 * A row of the shape that nearly all rows on x86-64 have: the return address is at CFA - 8, and
 * other registers keep their value or are saved in the frame.
 */
struct cfi_plain {
	uint32_t off;		/* CFA minus base register, bytes */
	/*
	 * fields of 5 bits for rbx, rbp, r12-r15, lowest first: 0 keeps its value, k is at CFA - 8
	 * * k
	 */
	uint32_t saved;
	bool bp;		/* the base register is %rbp, otherwise %rsp */
};

#define CFI_PLAIN_SAVED_MAX 31u

/*
 * Like cfi_row() for rows of that shape that the binary states, but much faster. False: call
 * cfi_row().
 */
bool cfi_plain_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_plain *row);

/*
 * Writes the FDEs that cover any of @pcs (@n sorted svma values) to @out as a stand-alone .eh_frame
 * of at most 64 MiB. Each CIE appears once, pointers are absolute (DW_EH_PE_absptr), personality
 * and LSDA are removed, 'S' is kept, CFA programs keep their meaning, and a zero terminator
 * follows. The section may be placed at any address. Returns the number of FDEs.
 */
size_t cfi_emit(struct cfi *cfi, const uint64_t *pcs, size_t n, struct strbuf *out);
/*
 * Like cfi_emit(), but of each FDE only the rows from the first to the last that @pcs need, so that
 * an FDE may begin and end elsewhere than its function. The FDE that contains svma @whole is not
 * cut. @first (may be NULL) is searched before @cfi.
 */
size_t cfi_emit_rows(struct cfi *cfi, struct cfi *first, const uint64_t *pcs, size_t n, uint64_t whole,
		     struct strbuf *out);

/*
 * Evaluates a DWARF expression of CFI (DWARF 5, 2.5; DW_OP_addr is an svma and gets @bias added).
 * If @has_push, @push is on the stack first. @reg(ctx, dwarf_reg, &val) and @mem(ctx, addr, &val)
 * return 0 or a negative errno, which is returned to the caller. At most 1,000 operations and 64
 * stack entries. 0, -EINVAL (bad or unsupported operation), -E2BIG.
 */
struct cfi_expr_env {
	void *ctx;
	int (*reg)(void *ctx, unsigned int reg, uint64_t *val);
	int (*mem)(void *ctx, uint64_t addr, uint64_t *val);
	uint64_t bias;
};
int cfi_expr_eval(const uint8_t *expr, size_t len, const struct cfi_expr_env *env, bool has_push,
		  uint64_t push, uint64_t *result);

#endif
