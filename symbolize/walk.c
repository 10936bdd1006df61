/* The walk from the leaf to the root that all unwinders share (walk.h). */
#include "walk.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "addrspace.h"
#include "elf_file.h"
#include "event.h"
#include "jitcode.h"
#include "module.h"
#include "reuse.h"
#include "rules.h"
#include "rules_step.h"
#include "util.h"
#include "walk_fast.h"
#include "xalloc.h"

/*
 * How far above the copy an address may lie and still count as the same stack, further up. Thread
 * stacks are 8 MiB by default, and few programs ask for more than this.
 */
#define STACK_REACH (256ull << 20)

/* How far from a base of 0 a saved register or return address can be; nothing is mapped there. */
#define NEAR_NULL 4096

/* How far up to look for the return address of jitted code: past a few saved registers. */
#define JIT_SCAN_BYTES 128

/* How far up to look for a start-up code's frame past functions without rows. */
#define BASE_SCAN_BYTES 1024

/* The same for any caller. Assembly seldom takes more than it has registers to save. */
#define SCAN_BYTES 512

/* DWARF register number to PERF_REG_X86_* (psABI 1.0, figure 3.36). */
static const uint8_t perf_reg[CFI_NREGS] = {
	UREG_AX,	 UREG_DX,   UREG_CX,   UREG_BX,   UREG_SI,	 UREG_DI,   UREG_BP,   UREG_SP, UREG_R8,
	UREG_R9, UREG_R10, UREG_R11, UREG_R12, UREG_R13, UREG_R14, UREG_R15, UREG_IP,
};

bool uregs_get(struct uregs *regs, unsigned int reg, const struct stack_view *sv, uint64_t *val)
{
	uint32_t bit;

	if (reg >= CFI_NREGS)
		return false;
	bit = 1u << reg;
	if (!(regs->known & bit))
		return false;
	if (regs->in_mem & bit) {
		uint64_t v;

		if (stack_view_read(sv, regs->v[reg], &v))
			return false;
		uregs_set(regs, reg, v);
	}
	*val = regs->v[reg];
	return true;
}

void walker_init(struct walker *w, walk_step_fn step, void *priv)
{
	memset(w, 0, sizeof(*w));
	w->step = step;
	w->priv = priv;
}

void walker_fini(struct walker *w)
{
	free(w->steps);
	rules_free(w->made);
	rules_free(w->made_return);
}

/*
 * Runtime address minus svma for all of @m, which comes from one executable PT_LOAD. It is not
 * taken from an address: a mapping is whole pages, and what lies beside its segment in the first or
 * the last one translates through another segment or through none.
 */
static bool mapping_bias(const struct mapping *m, const struct elf_file *ef, uint64_t *bias)
{
	uint64_t from = m->pgoff, to = m->pgoff + (m->end - m->start), best = 0;
	const struct elf_load *loads;
	size_t n = elf_file_loads(ef, &loads);

	for (size_t i = 0; i < n; i++) {
		const struct elf_load *l = &loads[i];
		uint64_t lo = MAX(from, l->offset), hi = MIN(to, l->offset + l->filesz);

		if (!(l->flags & PF_X) || lo >= hi || hi - lo <= best)
			continue;
		best = hi - lo;
		*bias = m->start - m->pgoff + l->offset - l->vaddr;
	}
	return best > 0;
}

static void describe(struct walk_map *wm, const struct mapping *m)
{
	struct elf_file *ef;

	*wm = (struct walk_map){ .start = m->start, .end = m->end, .mod = m->mod };
	if (!m->mod)
		return;
	module_load(m->mod);
	ef = m->mod->elf ? m->mod->elf : m->mod->captured;
	if (!ef || !mapping_bias(m, ef, &wm->bias))
		return;
	wm->entry = elf_file_entry(ef) ? elf_file_entry(ef) + wm->bias : 0;
	wm->rows = true;
	wm->go = m->mod->elf && elf_file_gopclntab(m->mod->elf);
	/* Go's own start-up code jumps on, and has a root that the table knows. */
	if (wm->go && made_rows_first(module_made(m->mod), wm->entry - wm->bias, false))
		wm->entry = 0;
	/* Kernels before 5.x have a vdso that is linked at the top of the address space. */
	wm->fast = !wm->go && rule_key_fits(m->mod, m->start - wm->bias, m->end - wm->bias);
	wm->key_off = rule_key(m->mod, 0) - wm->bias;
}

/*
 * The jitted function at @addr. It is not kept among the recent mappings: there are as many as
 * frames.
 */
static const struct walk_map *jit_map(struct walker *w, const struct addrspace *as, uint64_t addr)
{
	const struct jit_func *func = addrspace_find_jit(as, (struct avma){ addr });
	struct walk_map *wm = &w->jit[w->njit++ % ARRAY_SIZE(w->jit)];

	*wm = (struct walk_map){ .start = addr, .end = addr + 1 };
	if (func) {
		wm->start = func->start;
		wm->end = func->end;
		wm->mod = jitcode_module(func, &wm->bias);
		wm->rows = wm->mod;
	}
	return wm;
}

static const struct walk_map *find_map_slow(struct walker *w, const struct addrspace *as,
					    uint64_t addr)
{
	struct avma a = { addr };
	const struct mapping *m;
	struct walk_map *wm, fresh;

	for (uint32_t i = 0; i < w->nrecent; i++) {
		wm = &w->recent[i];
		if (addr - wm->start < wm->end - wm->start)
			return wm;
	}
	m = addrspace_find(as, a);
	if (!m)
		return NULL;
	describe(&fresh, m);
	if (!fresh.rows && as->jit)
		return jit_map(w, as, addr);
	wm = &w->recent[w->next];
	*wm = fresh;
	w->next = (w->next + 1) % WALK_RECENT;
	w->nrecent = MIN(w->nrecent + 1, WALK_RECENT);
	return wm;
}

/* The mapping that holds @addr, or NULL. Valid until the next call that gives another one. */
static inline const struct walk_map *find_map(struct walker *w, const struct addrspace *as,
					      uint64_t addr, const struct walk_map *last)
{
	if (last && addr - last->start < last->end - last->start)
		return last;
	return find_map_slow(w, as, addr);
}

/* Where there are rows they tell how long the start-up code really is. */
static bool covered_by_entry(const struct walk_map *wm, uint64_t addr)
{
	struct cfi_fde fde;

	if (cfi_find(module_cfi(wm->mod), addr - wm->bias, &fde) == 0)
		return fde.start <= wm->entry - wm->bias;
	return true;
}

/* True when @addr is in the start-up code of the binary that @wm maps. */
static inline bool at_entry(const struct walk_map *wm, uint64_t addr)
{
	return wm->entry && addr - wm->entry < WALK_ENTRY_LEN && covered_by_entry(wm, addr);
}

static enum unwind_end fault_end(const struct unwind_input *in, uint64_t addr)
{
	const struct stack_view *sv = in->stack;
	struct avma a = { addr };

	/* A word may lie across the upper edge. */
	if (sv->lo == sv->hi || addr + 8 <= sv->hi || addr + 8 < addr ||
	    addr > sv->hi + STACK_REACH)
		return UNWIND_BAD_READ;
	if (addrspace_find(in->as, a))
		return UNWIND_BAD_READ;
	if (in->cut)
		return UNWIND_CUT;
	return in->copy_full ? UNWIND_COPY_END : UNWIND_STACK_END;
}

/*
 * Of a masked copy, a frame pointer that leads above it is 0, and what rows base on it is a word near 0:
 * a stack in full would have led to fault_end()'s verdict about a word above.
 */
static bool led_above(const struct unwind_input *in, uint64_t fault)
{
	return (in->copy_full || in->cut) && fault + NEAR_NULL < 2 * NEAR_NULL;
}

enum fp_end {
	FP_CALLER,
	FP_NULL, /* both words of the frame, or the frame pointer, are 0: the ABI's end of chain */
	FP_IMPLAUSIBLE, /* not a frame, or none that points to code */
	FP_ABOVE, /* the frame lies above the copy, at *@fault */
};

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
	if (ra == 0 || !find_map(w, in->as, ra - 1, NULL))
		return FP_IMPLAUSIBLE;
	regs->known = 0;
	regs->in_mem = 0;
	uregs_set(regs, CFI_REG_BP, next);
	uregs_set(regs, CFI_REG_SP, bp + 16);
	uregs_set(regs, CFI_REG_RA, ra);
	return FP_CALLER;
}

/*
 * musl is built without call frame information and frame pointers, so that above main() nothing
 * leads on to _start. Only start-up code calls from start-up code, so a return address into it is
 * no accident; with no other code address below it nothing was left out that could be had.
 */
static bool base_scan(struct walker *w, const struct unwind_input *in, uint64_t sp, uint64_t *ra)
{
	uint64_t start = align_up(sp, 8);

	for (uint64_t a = start; a - start < BASE_SCAN_BYTES; a += 8) {
		const struct walk_map *wm;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		wm = v ? find_map(w, in->as, v - 1, NULL) : NULL;
		if (!wm)
			continue;
		if (wm->rows && v != wm->entry && at_entry(wm, v - 1)) {
			*ra = v;
			return true;
		}
		/* ld.so leaves the entry point's own address behind in a register. */
		if (v != wm->entry)
			return false;
	}
	return false;
}

/* Whether a call ends at @addr, as far as anyone can tell: there may be no bytes to look at. */
static bool is_return(struct walker *w, const struct unwind_input *in, uint64_t addr)
{
	const struct walk_map *wm = addr ? find_map(w, in->as, addr - 1, NULL) : NULL;
	struct made_rows *made = wm && wm->rows ? module_made(wm->mod) : NULL;

	return wm && (!made || made_rows_return(made, addr - wm->bias));
}

/*
 * Stacks that people make themselves have 0 for a return address at their base, but so has any word that is
 * not an address, in a masked stack. At a base there are no callers further up.
 */
static bool is_base(struct walker *w, const struct unwind_input *in, uint64_t sp)
{
	uint64_t start = align_up(sp, 8), v;

	for (uint64_t a = start; a - start < BASE_SCAN_BYTES; a += 8) {
		if (stack_view_read(in->stack, a, &v))
			return true;
		if (is_return(w, in, v))
			return false;
	}
	return true;
}

/* Do rows lead from @regs, a frame in @wm, to another one, and from there on? */
static bool rows_lead_on(struct walker *w, const struct unwind_input *in,
			 const struct walk_map *wm, struct uregs regs)
{
	for (int i = 0; i < 2 && wm->rows; i++) {
		struct walk_at at = {
			.in = in, .mod = wm->mod, .bias = wm->bias,
			.svma = regs.v[CFI_REG_RA] - 1 - wm->bias,
		};
		enum step_end res;

		if (at_entry(wm, regs.v[CFI_REG_RA] - 1))
			return true;
		res = w->step(w->priv, &at, &regs);
		if (res == STEP_OUTERMOST)
			return true;
		if (res != STEP_CALLER || at.signal)
			return false;
		/* 0 would be a root, and is what a masked stack has for any data. */
		wm = regs.v[CFI_REG_RA] ? find_map(w, in->as, regs.v[CFI_REG_RA] - 1, NULL) : NULL;
		if (!wm)
			return false;
	}
	return true;
}

/*
 * The step out of jitted code that keeps no frame pointer and was told of without rows, as Python's
 * trampolines. Return addresses lie 8 below a multiple of 16 (psABI 1.0, 3.2.2), the lowest of them
 * is the frame's, and it is believed when it leads into a binary whose rows go on from there.
 * Another jitted function's cannot be told from one left behind by an earlier call.
 */
static bool jit_scan(struct walker *w, const struct unwind_input *in, struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP];

	for (uint64_t a = sp + ((8 - sp) & 15); a - sp < JIT_SCAN_BYTES; a += 16) {
		const struct walk_map *wm;
		struct uregs to = *regs;
		uint64_t v;

		if (stack_view_read(in->stack, a, &v))
			return false;
		wm = v ? find_map(w, in->as, v - 1, NULL) : NULL;
		if (!wm)
			continue;
		if (!wm->rows)
			return false;
		uregs_set(&to, CFI_REG_SP, a + 8);
		uregs_set(&to, CFI_REG_RA, v);
		if (rows_lead_on(w, in, wm, to)) {
			*regs = to;
			return true;
		}
	}
	return false;
}

static bool push(const struct unwind_input *in, struct unwind_result *out, uint64_t addr,
		 enum frame_kind kind)
{
	if (out->n >= in->max_frames)
		return false;
	out->frames[out->n++] = (struct frame){ .addr = { addr }, .kind = kind };
	return true;
}

/*
 * Entries of a PLT jump on before they touch the stack, but not all linkers give them rows: lld
 * gives none, GNU ld none for the indirect functions of a static binary. True when @addr is in such
 * a section.
 */
static bool in_plt(const struct walk_map *wm, uint64_t addr)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	struct elf_file *ef = wm->rows ? wm->mod->elf : NULL;

	for (size_t i = 0; ef && i < ARRAY_SIZE(names); i++) {
		const uint8_t *data;
		uint64_t start;
		size_t size;

		if (elf_file_section(ef, names[i], &data, &size, &start) == 0 &&
		    addr - wm->bias - start < size)
			return true;
	}
	return false;
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

/*
 * The step by a row that was made. What it leads to has to be a caller: a function that calls one which
 * never comes back may look as if it ran on into the next. Go's table needs no such care, and goexit() was
 * never called. Not part of the loop: most programs never come here.
 */
static __attribute__((noinline)) enum step_end made_step(struct walker *w,
							 const struct walk_map *wm,
							 struct walk_at *at, bool after_call,
							 struct uregs *regs)
{
	struct rules **rs = after_call ? &w->made_return : &w->made;
	struct uregs old = *regs;
	enum step_end res;

	if (!*rs)
		*rs = rules_new(after_call ? RULES_MADE_RETURN : RULES_MADE);
	res = rules_step(*rs, at, regs);
	if (res == STEP_UNKNOWN_REG ||
	    (res == STEP_CALLER && !at->signal && !wm->go &&
	     !is_return(w, at->in, regs->v[CFI_REG_RA]))) {
		*regs = old;
		at->signal = false;
		return STEP_NO_ROWS;
	}
	return res;
}

/*
 * A row that finds the caller by a register that functions keep is one of code that changes stacks: Go calls
 * the vdso like this. When that register does not lead into the copy, nothing of the caller's stack is there.
 */
static bool from_other_stack(const struct walk_at *at, bool after_call)
{
	struct made_rows *made = module_made(at->mod);
	struct cfi *cfi = module_cfi(at->mod);
	struct cfi_fde fde;
	struct cfi_row row;

	if (made && made_rows_first(made, at->svma, after_call)) {
		if (made_row(made, at->svma, after_call, &row))
			return false;
	} else if (cfi_find(cfi, at->svma, &fde) || cfi_row(cfi, &fde, at->svma, &row)) {
		return false;
	}
	return row.cfa_how == CFI_REGISTER && (row.cfa.reg == 3 || row.cfa.reg >= 12);
}

/* One step by what is stated for @mod, else made. */
static inline enum step_end any_step(struct walker *w, const struct walk_map *wm,
				     struct walk_at *at, bool after_call, struct uregs *regs)
{
	const bool go = wm->go;
	enum step_end res = STEP_NO_ROWS;
	struct walk_map own;

	at->mod = wm->mod;
	at->bias = wm->bias;
	at->signal = false;
	/* A look at where it leads may take @wm's place among the recent ones. */
	if (go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	if (res == STEP_NO_ROWS)
		res = w->step(w->priv, at, regs);
	if (res == STEP_NO_ROWS && !go) {
		own = *wm;
		res = made_step(w, &own, at, after_call, regs);
	}
	return res;
}

/* Whether a frame that returns to @ra and has its stack from @sp on leads on to a caller or is a root. */
static bool leads_on(struct walker *w, const struct unwind_input *in, const struct uregs *regs,
		     uint64_t ra, uint64_t sp)
{
	const struct walk_map *wm = find_map(w, in->as, ra - 1, NULL);
	struct walk_at at = { .in = in };
	struct uregs next = *regs;
	enum step_end res;

	if (!wm || !wm->rows)
		return false;
	if (ra != wm->entry && at_entry(wm, ra - 1))
		return true;
	at.svma = ra - 1 - wm->bias;
	uregs_set(&next, CFI_REG_SP, sp);
	uregs_set(&next, CFI_REG_RA, ra);
	res = any_step(w, wm, &at, true, &next);
	if (res == STEP_OUTERMOST)
		return true;
	return res == STEP_CALLER && !at.signal && next.v[CFI_REG_SP] > sp &&
	       is_return(w, in, next.v[CFI_REG_RA]);
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
		if (!v || !is_return(w, in, v) || !leads_on(w, in, regs, v, a + 8))
			continue;
		uregs_set(regs, CFI_REG_SP, a + 8);
		uregs_set(regs, CFI_REG_RA, v);
		return true;
	}
	return false;
}

/* A root that was never called stands at its first instruction, not behind a call. */
static void name_planted(struct walker *w, const struct unwind_input *in, struct frame *f)
{
	if (f->kind == FRAME_RETURN && !is_return(w, in, f->addr.v))
		f->kind = FRAME_IP;
}

/*
 * Whether @sp, from before a signal, lies on another stack than the copied one: below it, or further above
 * than the copy's own stack can reach.
 */
static bool on_other_stack(const struct unwind_input *in, uint64_t sp)
{
	enum unwind_end end;

	if (sp >= in->stack->lo && sp < in->stack->hi)
		return false;
	end = sp < in->stack->lo ? UNWIND_BAD_READ : fault_end(in, sp);
	return end == UNWIND_BAD_READ || end == UNWIND_STACK_END;
}

/*
 * CFI says nothing for the frame (@res): frame pointers, else the thread's base, else the reason.
 * STEP_CALLER or STEP_OUTERMOST with *@end set.
 */
static enum step_end without_rows(struct walker *w, const struct unwind_input *in,
				  struct unwind_result *out, const struct walk_map *wm,
				  const struct frame *f, enum step_end res, struct uregs *regs,
				  enum unwind_end *end, bool *scanned)
{
	struct module *mod = wm->mod;
	bool have_bytes = wm->rows;
	uint64_t fault, ra;
	enum fp_end fp;

	if (w->step && f->kind == FRAME_IP && in_plt(wm, f->addr.v) && plt_step(in, regs))
		return STEP_CALLER;
	fp = fp_step(w, in, regs, &fault);
	if (fp == FP_CALLER)
		return STEP_CALLER;
	if (w->step && !mod && jit_scan(w, in, regs))
		return STEP_CALLER;
	if (!w->step && fp == FP_NULL)
		*end = UNWIND_COMPLETE;
	else if (fp == FP_ABOVE && fault_end(in, fault) != UNWIND_BAD_READ)
		*end = fault_end(in, fault);
	else if (res == STEP_UNKNOWN_REG || !w->step)
		*end = UNWIND_BAD_READ;
	else if (base_scan(w, in, regs->v[CFI_REG_SP], &ra))
		*end = push(in, out, ra, FRAME_RETURN) ? UNWIND_COMPLETE : UNWIND_DEPTH;
	else if (have_bytes && (*scanned = scan_step(w, in, regs)))
		return STEP_CALLER;
	else if (mod && !have_bytes && !mod->elf && !mod->captured)
		*end = UNWIND_NO_MODULE;
	else
		*end = mod ? UNWIND_NO_ROWS : UNWIND_NO_JIT_ROWS;
	return STEP_OUTERMOST;
}

/*
 * A caller's frame lies higher on the stack than its callee's. Two exceptions: an instruction that
 * runs before its own return address was pushed, or after it was popped into a register; and a
 * signal handler's stack, which may be anywhere as long as it is not within this copy again.
 */
static bool advances(const struct stack_view *sv, const struct frame *f, const struct walk_at *at,
		     uint64_t old_sp, const struct uregs *regs)
{
	uint64_t sp = regs->v[CFI_REG_SP];

	if (sp > old_sp)
		return true;
	if (at->signal)
		return sp < sv->lo;
	return sp == old_sp && f->kind == FRAME_IP && regs->v[CFI_REG_RA] != f->addr.v;
}

/*
 * All of walk_stack() but for what is remembered. *@taken as of walk_fast(); *@stepped: so many of
 * w->steps are filled. True when the last frame was known for a root without a look at its stack.
 */
static bool walk(struct walker *w, const struct unwind_input *in, struct unwind_result *out,
		 uint32_t *taken, uint32_t *stepped)
{
	const struct walk_map *wm, *next;
	enum frame_kind kind = FRAME_IP;
	struct walk_at at = { .in = in };
	struct uregs regs = { .known = (1u << CFI_NREGS) - 1 };
	uint64_t ip = in->regs[UREG_IP];
	bool scanned;

	out->n = 0;
	out->at = NULL;
	out->end = UNWIND_NO_USER;
	if (!ip && !in->regs[UREG_SP])
		return false;
	for (int i = 0; i < CFI_NREGS; i++)
		regs.v[i] = in->regs[perf_reg[i]];
	if (w->generation != in->as->generation) {
		w->generation = in->as->generation;
		w->nrecent = 0;
		w->next = 0;
	}

	out->end = UNWIND_DEPTH;
	if (!push(in, out, ip, kind))
		return false;
	out->end = UNWIND_NO_MAPPING;
	wm = find_map(w, in->as, ip, NULL);
	if (!wm)
		return false;

	for (;;) {
		enum step_end res = STEP_NO_ROWS;
		uint64_t old_sp, addr;
		struct frame *f;

		wm = walk_fast(w, in, out, wm, &regs, taken);
		if (!wm)
			return false;
		f = &out->frames[out->n - 1];
		old_sp = regs.v[CFI_REG_SP];
		addr = frame_lookup_addr(f).v;
		w->steps[out->n - 1] = (struct walk_step){ .sp = old_sp };
		*stepped = out->n;
		out->at = wm->mod;
		if (at_entry(wm, addr)) {
			out->end = UNWIND_COMPLETE;
			return true;
		}
		at.signal = false;
		scanned = false;
		if (w->step && wm->rows) {
			at.svma = addr - wm->bias;
			res = any_step(w, wm, &at, f->kind == FRAME_RETURN, &regs);
		}
		if (res == STEP_NO_ROWS || res == STEP_UNKNOWN_REG) {
			wm = find_map(w, in->as, addr, NULL);
			res = without_rows(w, in, out, wm, f, res, &regs, &out->end, &scanned);
			if (res != STEP_CALLER)
				return false;
		} else if (res == STEP_FAULT) {
			out->end = fault_end(in, at.fault);
			if (out->end == UNWIND_BAD_READ && from_other_stack(&at, f->kind == FRAME_RETURN))
				out->end = UNWIND_COMPLETE;
			else if (out->end == UNWIND_BAD_READ && led_above(in, at.fault))
				out->end = in->cut ? UNWIND_CUT : UNWIND_COPY_END;
			return false;
		} else if (res == STEP_OUTERMOST) {
			out->end = UNWIND_COMPLETE;
			name_planted(w, in, f);
			return true;
		}

		/* The kernel built it: its code begins at the very address, which was never called. */
		if (at.signal)
			f->kind = FRAME_IP;
		ip = regs.v[CFI_REG_RA];
		if (ip == 0) {
			out->end = is_base(w, in, regs.v[CFI_REG_SP]) ? UNWIND_COMPLETE :
									UNWIND_NO_MAPPING;
			return false;
		}
		if (!advances(in->stack, f, &at, old_sp, &regs)) {
			out->end = UNWIND_NO_ADVANCE;
			return false;
		}
		/*
		 * Addresses outside all mappings are not pushed: in a masked stack they are 0, and
		 * both kinds of recording must give the same frames.
		 */
		kind = at.signal ? FRAME_IP : FRAME_RETURN;
		next = find_map(w, in->as, ip - (kind == FRAME_RETURN), wm);
		if (!next) {
			out->end = UNWIND_NO_MAPPING;
			return false;
		}
		if (!push(in, out, ip, kind)) {
			out->end = UNWIND_DEPTH;
			return false;
		}
		out->frames[out->n - 1].scanned = scanned;
		/*
		 * The handler had a stack of its own, and that of the interrupted code was not
		 * copied.
		 */
		if (at.signal && on_other_stack(in, regs.v[CFI_REG_SP])) {
			out->at = next->mod;
			out->end = UNWIND_OTHER_STACK;
			return false;
		}
		wm = next;
	}
}

void walk_stack(struct walker *w, const struct unwind_input *in, struct unwind_result *out)
{
	uint32_t taken = UINT32_MAX, stepped = 0;
	bool rooted;

	if (w->steps_cap < in->max_frames) {
		free(w->steps);
		w->steps_cap = in->max_frames;
		w->steps = xcalloc(w->steps_cap, sizeof(*w->steps));
	}
	if (w->reuse)
		reuse_begin(w->reuse, in);
	rooted = walk(w, in, out, &taken, &stepped);
	if (w->reuse)
		reuse_end(w->reuse, in, out, w->steps, taken,
			  rooted && stepped == out->n, stepped);
}
