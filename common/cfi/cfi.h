/*
 * Call frame information: .eh_frame (LSB 5.0 Core, 10.6) and .debug_frame (DWARF 5, 6.4), parsed by
 * hand from section bytes. Used to slice rows out of a binary at record time and to unwind later.
 * All addresses are the binary's own (struct svma values as plain uint64_t here). Input is hostile:
 * nothing outside the given bytes is read, every program is bounded.
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
	struct cfi_section eh_frame_hdr;	/* used when its table is sorted and sound, else ignored */
	struct cfi_section debug_frame;		/* asked after eh_frame */
	uint64_t text_svma, data_svma;		/* bases of DW_EH_PE_textrel/datarel; datarel = .got */
	bool is64;
};

struct cfi;	/* an index over one binary */

/* Never fails: a binary without usable CFI gives an empty index. Own with cfi_free(). */
struct cfi *cfi_new(const struct cfi_sections *secs);
void cfi_free(struct cfi *cfi);
bool cfi_empty(const struct cfi *cfi);

struct cfi_fde {
	uint64_t start, end;	/* svma range [start, end) */
	uint64_t off;		/* byte offset of the FDE in its section */
	bool debug_frame;	/* which section */
};

/* The FDE that covers @svma. 0 or -ENOENT. */
int cfi_find(struct cfi *cfi, uint64_t svma, struct cfi_fde *fde);
/* All FDEs in address order, for slicing and for oracles: fde @i, or -ENOENT behind the last. */
int cfi_nth(struct cfi *cfi, size_t i, struct cfi_fde *fde);

/* DWARF register numbers of x86-64 (psABI 1.0, figure 3.36): 0 ax 1 dx 2 cx 3 bx 4 si 5 di 6 bp 7 sp
 * 8-15 r8-r15, 16 return address. */
#define CFI_NREGS 17
#define CFI_REG_RA 16
#define CFI_REG_SP 7
#define CFI_REG_BP 6

enum cfi_how {
	CFI_UNSPEC,		/* no rule given: callee-saved keep their value */
	CFI_UNDEF,		/* DW_CFA_undefined; for the return address: end of the stack */
	CFI_SAME,
	CFI_OFFSET,		/* saved at CFA + off */
	CFI_VAL_OFFSET,		/* value is CFA + off */
	CFI_REGISTER,		/* in register reg */
	CFI_EXPR,		/* saved at the address the expression gives (CFA pushed first) */
	CFI_VAL_EXPR,		/* value is what the expression gives */
};

struct cfi_rule {
	uint8_t how;		/* enum cfi_how */
	uint8_t reg;
	uint32_t expr_len;	/* bytes */
	int64_t off;
	const uint8_t *expr;	/* borrowed from the section */
};

/*
 * The code alignment factor of a CIE whose rows were made. In a slice they lie beside those that the binary states, and are
 * to be trusted less. Each is a row of its own, so that nothing is multiplied by it.
 */
#define CFI_MADE_ALIGN 127

struct cfi_row {
	uint64_t start, end;	/* the row holds for svma in [start, end) */
	uint8_t cfa_how;	/* CFI_REGISTER: reg + off; CFI_VAL_EXPR: expression */
	struct cfi_rule cfa;
	struct cfi_rule regs[CFI_NREGS];
	uint8_t ra_reg;		/* return address column, normally 16 */
	bool signal_frame;	/* augmentation 'S': the caller's address is an instruction, not a return */
	bool made;		/* read off the code and not stated by the binary (made_rows.h) */
};

/* The row in force at @svma, which must lie in @fde. 0, -EINVAL for a damaged or unsupported program. */
int cfi_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_row *row);

/*
 * A row of the shape that nearly all have on x86-64: the return address is at CFA - 8, and other registers keep their value or are
 * saved in the frame.
 */
struct cfi_plain {
	uint32_t off;		/* CFA minus base register, bytes */
	uint32_t saved;		/* fields of 5 bits for rbx, rbp, r12-r15, lowest first: 0 keeps its value, k is at CFA - 8 * k */
	bool bp;		/* the base register is %rbp, else %rsp */
};

#define CFI_PLAIN_SAVED_MAX 31u

/* cfi_row() for a row of that shape that the binary states, in a fraction of the time. False: ask cfi_row(). */
bool cfi_plain_row(struct cfi *cfi, const struct cfi_fde *fde, uint64_t svma, struct cfi_plain *row);

/*
 * Re-emit the FDEs that cover any of @pcs (sorted svma values, each @n of them) as a stand-alone
 * .eh_frame: each CIE once, pointers absolute (DW_EH_PE_absptr), no personality, no LSDA, 'S' kept, CFA
 * programs unchanged in meaning, zero terminator at the end; at most 64 MiB. The result may be said to lie at
 * any address. Returns FDEs emitted.
 */
size_t cfi_emit(struct cfi *cfi, const uint64_t *pcs, size_t n, struct strbuf *out);
/*
 * The same, and of each FDE only the rows from the first to the last that @pcs need, so that an FDE may begin
 * and end elsewhere than the function. The FDE that holds svma @whole stays as it is. @first (may be NULL) is
 * asked before @cfi.
 */
size_t cfi_emit_rows(struct cfi *cfi, struct cfi *first, const uint64_t *pcs, size_t n, uint64_t whole,
		     struct strbuf *out);

/*
 * Evaluate a DWARF expression of CFI (DWARF 5, 2.5; DW_OP_addr is an svma and gets @bias added).
 * @push: value on the stack first if @has_push. @reg(ctx, dwarf_reg, &val) and @mem(ctx, addr, &val)
 * return 0 or a negative errno, which is passed on. At most 1,000 operations, 64 stack entries.
 * 0, -EINVAL (bad or unsupported operation), -E2BIG.
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
