/* Steps where no rows lead on: frame pointers, start-up code, PLTs, searches (walk_priv.h). */
#include <errno.h>

#include "addrspace.h"
#include "jitcode.h"
#include "made_rows.h"
#include "module.h"
#include "stackcopy.h"
#include "util.h"
#include "walk_priv.h"

/*
 * How far up to look for the return address of jitted code: past the frame of an interpreter's loop, which
 * some jump out of and run in (152 bytes in Debian's PHP 8.2).
 */
#define JIT_SCAN_BYTES 256

/* How far up to look for any caller. Assembly seldom takes more than it has registers to save. */
#define SCAN_BYTES 512

/* How far up to look for a second copy of a word below the stack pointer: libcrypto's largest frames. */
#define RED_SCAN_BYTES 4096

enum fp_end {
	FP_CALLER,
	FP_NULL, /* both words of the frame, or the frame pointer, are 0: the ABI's end of chain */
	FP_IMPLAUSIBLE, /* not a frame, or none that points to code */
	FP_ABOVE, /* the frame lies above the copy, at *@fault */
};

/* The caller's registers behind a step by frame pointer: all others are unknown. */
static void only_frame_regs(struct uregs *regs, uint64_t bp, uint64_t sp, uint64_t ra)
{
	regs->known = 0;
	regs->in_mem = 0;
	uregs_set(regs, CFI_REG_BP, bp);
	uregs_set(regs, CFI_REG_SP, sp);
	uregs_set(regs, CFI_REG_RA, ra);
}

/*
 * One step by frame pointer (psABI 1.0, 3.2.2: saved %rbp at 0(%rbp), return address at 8(%rbp)).
 * As any function may use %rbp for something else, what it leads to has to look like a frame. All
 * other registers are unknown after it.
 */
static enum fp_end fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs,
			   uint64_t *fault)
{
	const struct stack_view *sv = in->stack;
	uint64_t bp, ra, next, sp = regs->v[CFI_REG_SP];

	if (!uregs_get(regs, CFI_REG_BP, sv, &bp))
		return FP_IMPLAUSIBLE;
	if (bp == 0)
		return FP_NULL;
	if (bp < sp || bp % 8)
		return FP_IMPLAUSIBLE;
	if (stack_view_read(sv, bp, &next) || stack_view_read(sv, bp + 8, &ra)) {
		*fault = bp + 8;
		return bp + 16 > sv->hi ? FP_ABOVE : FP_IMPLAUSIBLE;
	}
	if (ra == 0 && next == 0)
		return FP_NULL;
	if (!walk_called_from(w, in, ra) && !walk_is_uretprobe(in, ra))
		return FP_IMPLAUSIBLE;
	only_frame_regs(regs, next, bp + 16, ra);
	return FP_CALLER;
}

/*
 * HotSpot's stub for method entry barriers (generate_method_entry_barrier() in stubGenerator_x86_64.cpp). A compiled method calls it behind its
 * prologue when the garbage collector has armed the method. The stub pushes a cookie and then saves %rbp. So the cookie (-1, and 0 in a masked
 * stack) lies where a return address is expected, and the return address lies one word above.
 */
static bool barrier_step(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	const struct walk_map *wm;
	uint64_t bp, next, cookie, ra;

	if (!uregs_get(regs, CFI_REG_BP, in->stack, &bp) || bp < regs->v[CFI_REG_SP] || bp % 8 ||
	    stack_view_read(in->stack, bp, &next) || stack_view_read(in->stack, bp + 8, &cookie) ||
	    stack_view_read(in->stack, bp + 16, &ra))
		return false;
	if ((cookie && cookie != UINT64_MAX) || next <= bp)
		return false;
	wm = walk_called_from(w, in, ra);
	if (!wm || wm->mod)
		return false;
	only_frame_regs(regs, next, bp + 24, ra);
	return true;
}

bool walk_fp_step(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t fault;

	return fp_step(w, in, regs, &fault) == FP_CALLER;
}

/*
 * Whether @regs are as a step by frame pointer leaves them: then %rbp was a frame pointer a frame ago, and
 * its 0 is the end of a chain and not a number. A register file led here by rows knows others, too.
 */
static bool came_by_fp(const struct uregs *regs)
{
	return regs->known == (1u << CFI_REG_BP | 1u << CFI_REG_SP | 1u << CFI_REG_RA) && !regs->in_mem;
}

/*
 * The first of the words at *@a, *@a + @step and so on below @end that is a return address into a mapping, which it
 * returns: *@a is where it lies, *@ra the word. NULL: there is none, or the copy ends before.
 */
static const struct walk_map *next_code(struct walker *w, const struct unwind_input *in, uint64_t *a,
					uint64_t end, uint64_t step, uint64_t *ra)
{
	for (; *a < end; *a += step) {
		const struct walk_map *wm;

		if (stack_view_read(in->stack, *a, ra))
			return NULL;
		wm = walk_called_from(w, in, *ra);
		if (wm)
			return wm;
	}
	return NULL;
}

/*
 * musl is built without call frame information and frame pointers, so that above main() nothing
 * leads on to _start. Only start-up code calls from start-up code, so a return address into it is
 * no accident; with no other code address below it nothing was left out that could be had.
 */
static bool base_scan(struct walker *w, const struct unwind_input *in, uint64_t sp, uint64_t *ra)
{
	uint64_t a = align_up(sp, 8), end = a + WALK_BASE_BYTES, v;
	const struct walk_map *wm;

	for (; (wm = next_code(w, in, &a, end, 8, &v)); a += 8) {
		if (wm->rows && v != wm->entry && walk_at_entry(wm, v - 1)) {
			*ra = v;
			return true;
		}
		/* ld.so leaves the entry point's own address behind in a register. */
		if (v != wm->entry)
			return false;
	}
	return false;
}

/*
 * Is @f, in @wm, the C library's start-up code? @sp: stack pointer of @f. Start-up code keeps no frame pointer, and %rbp holds other values there: argv
 * in glibc 2.43. Rows are used here even where the user wants frame pointers only. At most one function lies between @f and the program's entry
 * point.
 */
static bool in_start_up(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, const struct frame *f, uint64_t sp)
{
	uint64_t addr = frame_lookup_addr(f).v;

	for (int i = 0; i < 2 && wm && wm->rows; i++) {
		const struct walk_at at = { .in = in, .mod = wm->mod, .bias = wm->bias, .svma = addr - wm->bias };
		struct cfi_row row;
		uint64_t ra;

		if (!walk_row_at(&at, true, &row) || row.cfa_how != CFI_REGISTER || row.cfa.reg != CFI_REG_SP)
			return false;
		sp += (uint64_t)row.cfa.off;
		if (stack_view_read(in->stack, sp - 8, &ra) || !ra)
			return false;
		addr = ra - 1;
		wm = walk_map(w, in->as, addr, NULL);
		if (wm && walk_at_entry(wm, addr))
			return true;
	}
	return false;
}

/*
 * Do rows lead from @regs, a frame in @wm, to another one, and from there on? What earlier calls left behind in a large
 * frame may lead on for some frames, too, until it comes to words that were written since: so as far as rows go.
 */
static bool rows_lead_on(struct walker *w, const struct unwind_input *in,
			 const struct walk_map *wm, struct uregs regs)
{
	for (uint32_t i = 0; i < in->max_frames && wm->rows; i++) {
		struct walk_at at = { .in = in, .svma = regs.v[CFI_REG_RA] - 1 - wm->bias };
		uint64_t sp = regs.v[CFI_REG_SP];
		enum step_end res;

		if (walk_at_entry(wm, regs.v[CFI_REG_RA] - 1))
			return true;
		res = walk_step_by_rows(w, wm, &at, true, &regs);
		if (res == STEP_OUTERMOST)
			return true;
		/* Behind two steps others than by rows may lead on, or the copy end. */
		if (res != STEP_CALLER || at.signal)
			return i >= 2;
		if (regs.v[CFI_REG_SP] <= sp)
			return false;
		/* 0 would be a root, and is what a masked stack has for any data. */
		wm = regs.v[CFI_REG_RA] ? walk_map(w, in->as, regs.v[CFI_REG_RA] - 1, NULL) : NULL;
		if (!wm)
			return i >= 2 && walk_is_base(w, in, regs.v[CFI_REG_SP]);
	}
	return true;
}

/* Whether @to, a frame in @wm whose return address lies at @a, leads on; @to has the %rbp with which it does. */
static bool jit_caller(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t a,
		       struct uregs *to)
{
	const struct walk_map own = *wm;
	uint64_t bp;

	if (rows_lead_on(w, in, &own, *to))
		return true;
	if (stack_view_read(in->stack, a - 8, &bp) || bp <= a || bp >= in->stack->hi)
		return false;
	uregs_set(to, CFI_REG_BP, bp);
	return rows_lead_on(w, in, &own, *to);
}

/*
 * The step out of jitted code that keeps no frame pointer and was told of without rows, as Python's
 * trampolines. Return addresses lie 8 below a multiple of 16 (psABI 1.0, 3.2.2), the lowest of them
 * is the frame's, and it is believed when it leads into a binary whose rows go on from there.
 * Code that puts data into %rbp saves it first of all, right below: LLVM's, called by binaries with frame pointers.
 * Another jitted function's cannot be told from one left behind by an earlier call.
 */
static bool jit_scan(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP], end = sp + JIT_SCAN_BYTES, a = sp + ((8 - sp) & 15), v;
	const struct walk_map *wm;

	for (; (wm = next_code(w, in, &a, end, 16, &v)); a += 16) {
		struct uregs to = *regs;

		if (!wm->rows)
			return false;
		uregs_set(&to, CFI_REG_SP, a + 8);
		uregs_set(&to, CFI_REG_RA, v);
		if (jit_caller(w, in, wm, a, &to)) {
			*regs = to;
			return true;
		}
	}
	return false;
}

/* Whether @addr, in @wm, is in an entry of a PLT. */
static bool in_plt(const struct walk_map *wm, uint64_t addr)
{
	struct made_rows *made = wm->rows ? module_made(wm->mod) : NULL;

	return made && made_rows_in_plt(made, addr - wm->bias);
}

/* The step out of a PLT entry without rows. */
static bool plt_step(const struct unwind_input *in, struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP];

	if (stack_view_read(in->stack, sp, &regs->v[CFI_REG_RA]))
		return false;
	regs->v[CFI_REG_SP] = sp + 8;
	return true;
}

/* The caller's registers, as far as the row has them in the frame below @cfa. */
static void restore_saved(const struct cfi_row *row, uint64_t cfa, struct uregs *regs)
{
	for (unsigned int r = 0; r < CFI_REG_RA; r++) {
		if (r == CFI_REG_SP || row->regs[r].how != CFI_OFFSET)
			continue;
		regs->v[r] = cfa + (uint64_t)row->regs[r].off;
		regs->known |= 1u << r;
		regs->in_mem |= 1u << r;
	}
	uregs_set(regs, CFI_REG_SP, cfa);
}

/*
 * A return address behind a direct call of what the code shows to be this function (@addr is in it, in @wm): the ways from where it
 * is called lead here, and have the frame end at that very word.
 */
static bool called_step(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr, bool after_call,
			struct uregs *regs)
{
	struct made_rows *made = module_made(wm->mod);
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8), base;
	const struct walk_map at = *wm;
	struct cfi_row row;

	for (uint64_t a = start; made && a - start < SCAN_BYTES; a += 8) {
		const struct walk_map *from;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		from = v ? walk_map(w, in->as, v - 1, NULL) : NULL;
		if (!from || from->mod != at.mod || !from->rows ||
		    made_row_called(made, v - from->bias, addr - at.bias, after_call, &row) ||
		    !uregs_get(regs, row.cfa.reg, in->stack, &base) || base + (uint64_t)row.cfa.off != a + 8)
			continue;
		restore_saved(&row, a + 8, regs);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

/* Whether a frame that returns to @ra and has its stack from @sp on leads on to a caller or is a root. */
static bool leads_on(struct walker *w, const struct unwind_input *in, const struct uregs *regs,
		     uint64_t ra, uint64_t sp)
{
	const struct walk_map *wm = walk_map(w, in->as, ra - 1, NULL);
	struct walk_at at = { .in = in };
	struct uregs next = *regs;
	struct walk_map own;
	enum step_end res;

	if (!wm || !wm->rows)
		return false;
	if (ra != wm->entry && walk_at_entry(wm, ra - 1))
		return true;
	own = *wm;
	at.svma = ra - 1 - wm->bias;
	uregs_set(&next, CFI_REG_SP, sp);
	uregs_set(&next, CFI_REG_RA, ra);
	res = walk_step_by_rows(w, &own, &at, true, &next);
	if (res == STEP_NO_ROWS)
		return called_step(w, in, &own, ra - 1, true, &next);
	if (res == STEP_OUTERMOST)
		return true;
	return res == STEP_CALLER && !at.signal && next.v[CFI_REG_SP] > sp &&
	       walk_is_return(w, in, next.v[CFI_REG_RA]);
}

/*
 * Nothing tells where the caller is: the first word up the stack that is a return address, if what is known
 * of the function there leads on from that place. Registers are taken to be as they were; the one that the
 * next step needs is tried so.
 */
static bool scan_step(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8);

	for (uint64_t a = start; a - start < SCAN_BYTES; a += 8) {
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		if (!v || !walk_is_return(w, in, v) || !leads_on(w, in, regs, v, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

/* Does the call before @ra, an address of the process, call the function in @wm that @addr is in? */
static enum made_call calls(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t ra,
			    uint64_t addr)
{
	const struct walk_map *from = walk_map(w, in->as, ra - 1, NULL);
	struct made_rows *made = from && from->rows && from->mod == wm->mod ? module_made(wm->mod) : NULL;

	return made ? made_rows_calls(made, ra - wm->bias, addr - wm->bias) : MADE_CALL_UNKNOWN;
}

/*
 * A function without rows and without a frame of its own leaves %rbp at its caller's frame, and a step by it would pass over
 * the caller. So before it: a return address between, behind a call of this very function (@addr is in it, in @wm), with
 * which what is known of the caller leads on. Where the code does not say what is called it will do if what %rbp leads to
 * cannot be this function's caller, since it calls another one.
 */
static bool caller_below_bp(struct walker *w, const struct unwind_input *in, const struct walk_map *wm, uint64_t addr,
			    struct uregs *regs)
{
	uint64_t start = align_up(regs->v[CFI_REG_SP], 8), bp, ra;
	const struct walk_map at = *wm;
	enum made_call by_bp;

	/* Without code any word that an earlier call has left behind would do. What calls tell is in a slice as rows. */
	if (!module_made(at.mod) || !uregs_get(regs, CFI_REG_BP, in->stack, &bp) || bp % 8 || stack_view_read(in->stack, bp + 8, &ra) ||
	    !walk_is_return(w, in, ra))
		return false;
	by_bp = calls(w, in, &at, ra, addr);
	if (by_bp == MADE_CALL_THIS)
		return false;
	for (uint64_t a = start; a < bp && a - start < SCAN_BYTES; a += 8) {
		enum made_call by;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		if (!v || v == ra || !walk_is_return(w, in, v))
			continue;
		by = calls(w, in, &at, v, addr);
		if (by == MADE_CALL_OTHER ||
		    (by == MADE_CALL_UNKNOWN && by_bp == MADE_CALL_UNKNOWN) ||
		    !leads_on(w, in, regs, v, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

/* ---- below the stack pointer ---- */

/* What an expression goes by: the leaf's registers and stack, and a word taken to be at @fault. */
struct red_zone {
	const struct stack_view *stack;
	struct uregs *regs;
	uint64_t fault, word;
};

static int red_reg(void *ctx, unsigned int reg, uint64_t *val)
{
	struct red_zone *rz = ctx;

	return uregs_get(rz->regs, reg, rz->stack, val) ? 0 : -ENODATA;
}

static int red_mem(void *ctx, uint64_t addr, uint64_t *val)
{
	struct red_zone *rz = ctx;

	if (addr != rz->fault)
		return stack_view_read(rz->stack, addr, val);
	*val = rz->word;
	return 0;
}

bool walk_red_zone(struct walker *w, const struct walk_at *at, uint64_t sp, struct uregs *regs)
{
	const struct unwind_input *in = at->in;
	struct red_zone rz = { .stack = in->stack, .fault = at->fault };
	struct cfi_expr_env env = { .ctx = &rz, .reg = red_reg, .mem = red_mem, .bias = at->bias };
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;
	struct cfi_row row;

	if (cfi_find(cfi, at->svma, &fde) || cfi_row(cfi, &fde, at->svma, &row) ||
	    row.cfa_how != CFI_VAL_EXPR || row.signal_frame || row.ra_reg != CFI_REG_RA ||
	    row.regs[CFI_REG_RA].how != CFI_OFFSET)
		return false;
	for (uint64_t a = align_up(sp, 8); a - sp < RED_SCAN_BYTES; a += 8) {
		struct uregs to = *regs;
		uint64_t cfa, ra;

		if (stack_view_read(in->stack, a, &rz.word))
			return false;
		if (rz.word <= a || rz.word >= in->stack->hi)
			continue;
		rz.regs = &to;
		if (cfi_expr_eval(row.cfa.expr, row.cfa.expr_len, &env, false, 0, &cfa) || cfa <= a ||
		    stack_view_read(in->stack, cfa + (uint64_t)row.regs[CFI_REG_RA].off, &ra) ||
		    !walk_is_return(w, in, ra))
			continue;
		restore_saved(&row, cfa, &to);
		if (!leads_on(w, in, &to, ra, cfa))
			continue;
		*regs = to;
		uregs_set(regs, CFI_REG_RA, ra);
		return true;
	}
	return false;
}

/* ---- calls that rows do not tell of ---- */

bool walk_unstated_call(struct walker *w, const struct walk_at *leaf, uint64_t sp, struct uregs *regs)
{
	const struct unwind_input *in = leaf->in;
	uint64_t claimed = regs->v[CFI_REG_SP], ra;
	struct walk_at at = { .in = in };
	const struct walk_map *wm;
	struct uregs to, next;

	if (sp % 8 || sp != in->regs[UREG_SP] || stack_view_read(in->stack, sp, &ra) || !walk_is_return(w, in, ra))
		return false;
	wm = walk_map(w, in->as, ra - 1, NULL);
	if (!wm->rows || wm->mod != leaf->mod)
		return false;
	uregs_init(&to, in->regs);
	uregs_set(&to, CFI_REG_SP, sp + 8);
	uregs_set(&to, CFI_REG_RA, ra);
	next = to;
	at.svma = ra - 1 - wm->bias;
	if (walk_step_by_rows(w, wm, &at, true, &next) != STEP_CALLER || at.signal ||
	    next.v[CFI_REG_SP] != claimed + 8 || !walk_is_return(w, in, next.v[CFI_REG_RA]))
		return false;
	*regs = to;
	return true;
}

/* ---- exceptions ---- */

bool walk_resumed(struct walker *w, const struct walk_at *at, struct uregs *regs)
{
	const struct unwind_input *in = at->in;
	uint64_t sp = regs->v[CFI_REG_SP], ra = regs->v[CFI_REG_RA], v;
	struct cfi_fde fde;
	struct cfi_row row;

	if (w->rules && !at->resumes)
		return false;
	/* Other unwinders do not say what they went by. */
	if (cfi_find(module_cfi(at->mod), at->svma, &fde) ||
	    cfi_row(module_cfi(at->mod), &fde, at->svma, &row) ||
	    row.regs[0].how != CFI_OFFSET || row.regs[1].how != CFI_OFFSET)
		return false;
	if (leads_on(w, in, regs, ra, sp))
		return false;
	for (uint64_t a = align_up(sp, 8); !stack_view_read(in->stack, a, &v); a += 8) {
		if (v != ra || !leads_on(w, in, regs, ra, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		return true;
	}
	return false;
}

/*
 * The step out of jitted code that was interrupted before it made its frame, or behind where it left it: %rbp is its caller's. The recorder has
 * looked at what the code did next, or the jitdump says that nothing was done yet, or %rbp was just pushed, and so is right at
 * the stack pointer.
 */
static bool jit_frameless(struct walker *w, const struct unwind_input *in, uint64_t ip, struct uregs *regs)
{
	const struct jit_func *func = addrspace_find_jit(in->as, (struct avma){ ip });
	const int off = func && func->start == ip ? 0 : addrspace_jit_return(in->as, (struct avma){ ip });
	uint64_t sp = regs->v[CFI_REG_SP], bp, word, ra;

	if (!uregs_get(regs, CFI_REG_BP, in->stack, &bp) || !bp || stack_view_read(in->stack, sp, &word))
		return false;
	if (off >= 0) {
		sp += (uint64_t)off + 8;
		if (stack_view_read(in->stack, sp - 8, &ra))
			return false;
	} else if (word == bp && !stack_view_read(in->stack, sp + 8, &ra)) {
		sp += 16;
	} else {
		return false;
	}
	if (!walk_called_from(w, in, ra))
		return false;
	only_frame_regs(regs, bp, sp, ra);
	return true;
}

/* Nothing leads on from code in @wm: why. */
static enum unwind_end rowless_end(const struct walk_map *wm)
{
	if (!wm->mod)
		return UNWIND_NO_JIT_ROWS;
	return !wm->rows && !wm->mod->elf && !wm->mod->captured ? UNWIND_NO_MODULE : UNWIND_NO_ROWS;
}

/*
 * The outermost frame of a stack that a JIT has made: who made it planted the address of a function there, to return to, and nothing called
 * that. A jitdump tells whether a function begins there; without one it is taken for granted.
 */
static void name_planted_jit(const struct unwind_input *in, struct frame *f)
{
	const struct jit_func *func = addrspace_find_jit(in->as, f->addr);

	if (f->kind == FRAME_RETURN && (!func || func->start == f->addr.v))
		f->kind = FRAME_IP;
}

enum step_end walk_rowless(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
			   const struct walk_map *wm, enum step_end res, struct uregs *regs,
			   bool *scanned)
{
	struct frame *f = &out->frames[out->n - 1];
	struct module *mod = wm->mod;
	const struct walk_map at = *wm;
	bool have_bytes = wm->rows;
	uint64_t addr = frame_lookup_addr(f).v, fault = 0, ra;
	enum unwind_end above = UNWIND_BAD_READ;
	enum fp_end fp;

	if (w->step && f->kind == FRAME_IP && in_plt(wm, f->addr.v) && plt_step(in, regs))
		return STEP_CALLER;
	if (w->step && have_bytes && res == STEP_NO_ROWS &&
	    (called_step(w, in, &at, addr, f->kind == FRAME_RETURN, regs) ||
	     (*scanned = caller_below_bp(w, in, &at, addr, regs))))
		return STEP_CALLER;
	if (w->step && !mod && f->kind == FRAME_IP && out->n == 1 && jit_frameless(w, in, addr, regs))
		return STEP_CALLER;
	fp = fp_step(w, in, regs, &fault);
	if (fp == FP_CALLER || (!mod && barrier_step(w, in, regs)))
		return STEP_CALLER;
	/* What it called runs on the thread's own stack, which begins here: the one it was called on was not copied. */
	if (w->step && !mod && in->as->jit_stacks && out->n > 1 && !came_by_fp(regs)) {
		out->end = UNWIND_COMPLETE;
		return STEP_OUTERMOST;
	}
	/* Jitted code that makes its stack itself, as Erlang's: no start-up code is below it. */
	if (fp == FP_NULL && !mod && came_by_fp(regs)) {
		name_planted_jit(in, f);
		out->end = UNWIND_COMPLETE;
		return STEP_OUTERMOST;
	}
	if (w->step && !mod && jit_scan(w, in, regs))
		return STEP_CALLER;
	if (fp == FP_ABOVE)
		above = walk_fault_end(in, w->fault = fault, UINT64_MAX);
	if (!w->step && (fp == FP_NULL || (f->kind == FRAME_RETURN && in_start_up(w, in, &at, f, regs->v[CFI_REG_SP]))))
		out->end = UNWIND_COMPLETE;
	/* Where the copy goes to the end of the stack it was no frame pointer, if anything else leads on. */
	else if (above != UNWIND_BAD_READ && (above != UNWIND_STACK_END || res == STEP_UNKNOWN_REG || !w->step))
		out->end = above;
	else if (res == STEP_UNKNOWN_REG || !w->step)
		out->end = UNWIND_BAD_READ;
	else if (base_scan(w, in, regs->v[CFI_REG_SP], &ra))
		out->end = walk_push(in, out, ra, FRAME_RETURN) ? UNWIND_COMPLETE : UNWIND_DEPTH;
	else if (have_bytes && (*scanned = scan_step(w, in, regs)))
		return STEP_CALLER;
	else
		out->end = above != UNWIND_BAD_READ ? above : rowless_end(&at);
	return STEP_OUTERMOST;
}
