/* Paths through code (code_walk.h). */
#include "code/code_walk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "code/code_table.h"
#include "code/x86_insn.h"

/* The largest function of musl, printf_core(), has 1,500 instructions. */
#define INSNS_MAX 4000
#define PATHS_MAX 512


struct path {
	uint64_t svma;
	struct state st;
};

const struct kept_reg code_kept[NKEPT] = {
	{ 3, 3 }, { 5, 6 }, { 12, 12 }, { 13, 13 }, { 14, 14 }, { 15, 15 },
};

struct code_rows *code_rows_new(const struct code_source *src)
{
	struct code_rows *cr = xcalloc(1, sizeof(*cr));

	cr->src = *src;
	return cr;
}

void code_rows_free(struct code_rows *cr)
{
	if (!cr)
		return;
	u64map_fini(&cr->endings);
	code_tables_free(cr);
	for (size_t i = 0; i < cr->nexprs; i++)
		strbuf_fini(&cr->exprs[i]);
	free(cr->exprs);
	for (int i = 0; i <= DEPTH_MAX; i++) {
		u64map_fini(&cr->seen[i]);
		free(cr->paths[i]);
	}
	free(cr);
}

/* ---- one instruction's effect ---- */

static struct val plus(struct val v, int64_t off)
{
	if (v.kind == VAL_REG || v.kind == VAL_CONST)
		v.off = (int32_t)((uint32_t)v.off + (uint32_t)off);
	else if (v.kind == VAL_MEM)
		v.add = (int32_t)((uint32_t)v.add + (uint32_t)off);
	else if (off)
		v.kind = VAL_UNKNOWN;
	return v;
}

static void store(struct state *st, struct val at, struct val val)
{
	/* An unknown address. By the rules of C, no registers are saved there. */
	if (at.kind != VAL_REG)
		return;
	for (unsigned int i = 0; i < st->nslots; i++) {
		if (val_same(&st->slots[i].at, &at)) {
			st->slots[i].val = val;
			return;
		}
	}
	if (st->nslots < SLOTS_MAX)
		st->slots[st->nslots++] = (struct slot){ at, val };
}

static struct val load(const struct state *st, struct val at)
{
	struct val v = { .kind = VAL_UNKNOWN };

	if (at.kind != VAL_REG)
		return v;
	for (unsigned int i = 0; i < st->nslots; i++)
		if (val_same(&st->slots[i].at, &at))
			return st->slots[i].val;
	/* All slots are in use, so a later store may have been lost. */
	if (st->nslots == SLOTS_MAX)
		return v;
	at.kind = VAL_MEM;
	return at;
}

static void push(struct state *st, struct val v)
{
	st->r[RSP] = plus(st->r[RSP], -8);
	store(st, st->r[RSP], v);
}

/* What the instruction at @svma jumps to or pushes, if that comes from a register or memory. */
static struct val operand(struct code_rows *cr, const struct state *st, uint64_t svma)
{
	struct val v = { .kind = VAL_UNKNOWN };
	struct x86_operands ops;
	struct x86_insn in;
	const uint8_t *data;
	size_t n = cr->src.read(cr->src.ctx, svma, &data);

	if (!x86_decode_operands(data, n, svma, &in, &ops) || ops.op != 0xff)
		return v;
	if (ops.in_reg)
		return st->r[ops.rm];
	return ops.base < NREG && ops.index == X86_NO_REG ? load(st, plus(st->r[ops.base], ops.disp)) : v;
}

/* @operand: the value that the instruction pushes, if it comes from memory. */
static void apply(struct state *st, const struct x86_insn *in, struct val operand)
{
	const struct val unknown = { .kind = VAL_UNKNOWN };
	struct val src = st->r[in->src];

	for (unsigned int left = in->clobbers; left; left &= left - 1)
		st->r[__builtin_ctz(left)] = unknown;
	switch ((enum x86_effect)in->effect) {
	case X86_NOTHING: break;
	case X86_PUSH: push(st, src); break;
	case X86_PUSH_VALUE: push(st, operand); break;
	case X86_POP:
		src = load(st, st->r[RSP]);
		st->r[RSP] = plus(st->r[RSP], 8);
		st->r[in->dst] = src;
		break;
	case X86_POP_VALUE: st->r[RSP] = plus(st->r[RSP], 8); break;
	case X86_MOVE: st->r[in->dst] = src; break;
	case X86_ADD: st->r[in->dst] = plus(src, in->disp); break;
	case X86_LOAD: st->r[in->dst] = load(st, plus(src, in->disp)); break;
	case X86_STORE: store(st, plus(st->r[in->dst], in->disp), src); break;
	case X86_LEAVE:
		src = load(st, st->r[RBP]);
		st->r[RSP] = plus(st->r[RBP], 8);
		st->r[RBP] = src;
		break;
	case X86_CONST: st->r[in->dst] = (struct val){ .kind = VAL_CONST, .off = (int32_t)in->disp }; break;
	case X86_CONST_LOW:
		if (st->r[in->dst].kind == VAL_CONST)
			st->r[in->dst].off = (st->r[in->dst].off & ~0xff) | (in->disp & 0xff);
		else
			st->r[in->dst] = unknown;
		break;
	}
}

/* ---- where paths lead ---- */

/*
 * Was something else stored in the place of the return address? Then the return is a jump in
 * disguise.
 */
static bool overwritten(const struct state *st, struct val at)
{
	for (unsigned int i = 0; i < st->nslots; i++)
		if (val_same(&st->slots[i].at, &at))
			return true;
	return false;
}

/*
 * Register @reg at a return. If it was loaded through %rbp, but this path stored it through the
 * stack pointer, both may be the same place. Its value is unknown then.
 */
static struct val restored(const struct state *st, uint8_t reg)
{
	struct val v = st->r[reg];

	for (unsigned int i = 0; v.kind == VAL_MEM && i < st->nslots; i++) {
		const struct slot *s = &st->slots[i];

		/*
		 * Pointers other than %rbp do not lead to places that the stack pointer leads to.
		 */
		if (s->at.base == v.base || (v.base == RSP && s->at.base != RBP))
			continue;
		if (s->val.kind == VAL_REG && s->val.base == reg && !s->val.off)
			v.kind = VAL_UNKNOWN;
	}
	return v;
}

/* Records the registers at a jump to @to that leaves the stack pointer at @sp. */
static void note_jump(struct found *f, const struct state *st, struct val to, struct val sp)
{
	if (f->jump.n++)
		return;
	f->jump.to = to;
	f->jump.sp = sp;
	for (size_t i = 0; i < NKEPT; i++)
		f->jump.saved[i] = restored(st, code_kept[i].reg);
}

/*
 * Records the registers at a return: the place of the return address, and the places of the
 * caller's values.
 */
static void note_return(struct found *f, const struct state *st)
{
	struct val saved[NKEPT], ra = st->r[RSP];

	/*
	 * The old stack pointer was still in a register when the path began, and was saved just
	 * afterwards.
	 */
	for (unsigned int i = 0; ra.kind == VAL_MEM && i < st->nslots; i++) {
		const struct slot *s = &st->slots[i];

		if (s->at.base != ra.base && s->val.kind == VAL_REG &&
		    (CALLER_SAVED >> s->val.base & 1))
			ra = plus(s->val, ra.add);
	}
	f->returns = true;
	if ((ra.kind != VAL_REG && ra.kind != VAL_MEM) || overwritten(st, ra)) {
		f->conflict = true;
		note_jump(f, st, load(st, ra), plus(ra, 8));
		return;
	}
	for (size_t i = 0; i < NKEPT; i++) {
		saved[i] = restored(st, code_kept[i].reg);
		if (f->have && !val_same(&saved[i], &f->saved[i]))
			saved[i].kind = VAL_UNKNOWN;
	}
	if (f->have && !val_same(&ra, &f->ra))
		f->conflict = true;
	f->have = true;
	f->ra = ra;
	memcpy(f->saved, saved, sizeof(saved));
}

/* Records the registers on arrival at the target, as far as all paths agree. */
static void note_arrival(struct found *f, const struct state *st)
{
	if (!f->reached) {
		f->reached = true;
		f->at = *st;
		return;
	}
	for (int i = 0; i < NREG; i++)
		if (!val_same(&f->at.r[i], &st->r[i]))
			f->at.r[i].kind = VAL_UNKNOWN;
	for (unsigned int i = 0; i < f->at.nslots; i++) {
		struct val v = load(st, f->at.slots[i].at);

		if (!val_same(&v, &f->at.slots[i].val))
			f->at.slots[i].val.kind = VAL_UNKNOWN;
	}
}

bool code_is_nop(const uint8_t *data, size_t n)
{
	while (n > 1 && (data[0] == 0x66 || data[0] == 0x2e))
		data++, n--;
	return n > 1 && (data[0] == 0x90 || data[0] == 0xcc || (data[0] == 0x0f && data[1] == 0x1f));
}

bool code_is_endbr(const uint8_t *data, size_t n)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };

	return n >= 4 && memcmp(data, endbr64, 4) == 0;
}

static bool is_start(struct code_rows *cr, uint64_t svma)
{
	bool entry;

	return cr->src.start_of(cr->src.ctx, svma, &entry) == svma;
}

/*
 * Does anything other than @call, the call right before @svma, call it? "call 1f; 1:" continues
 * there.
 */
static bool is_called(struct code_rows *cr, uint64_t svma, const struct x86_insn *call)
{
	return cr->src.called && (call->flow != X86_CALL || call->target != svma) && cr->src.called(cr->src.ctx, svma);
}

static enum ending function_ending(struct code_rows *cr, uint64_t svma, int depth);

static bool is_prologue(struct code_rows *cr, uint64_t svma)
{
	const uint8_t *data;
	struct x86_insn in;
	size_t n = svma % 16 ? 0 : cr->src.read(cr->src.ctx, svma, &data);

	if (!n || !x86_decode(data, n, svma, &in))
		return false;
	return (in.effect == X86_PUSH && !(CALLER_SAVED >> in.src & 1)) ||
	       (in.effect == X86_ADD && in.dst == RSP && in.src == RSP && in.disp < 0);
}

/*
 * What gcc -O0 generates behind the last call of a void function: a one-byte nop, perhaps the load
 * of a register saved in the frame, and the end of the frame. No function begins like that.
 */
static bool is_unoptimized_end(const uint8_t *data, size_t n, uint64_t svma)
{
	struct x86_insn in;

	if (!n || data[0] != 0x90)
		return false;
	for (uint64_t at = 1; at < n && x86_decode(data + at, n - at, svma + at, &in); at += in.len) {
		if (in.effect == X86_LEAVE || (in.effect == X86_POP && !(CALLER_SAVED >> in.dst & 1)) ||
		    (in.effect == X86_ADD && in.dst == RSP && (in.src == RBP || (in.src == RSP && in.disp > 0))))
			return true;
		if (in.effect != X86_LOAD || in.src != RBP || in.flow != X86_NEXT)
			return false;
	}
	return false;
}

enum ending code_call_ending(struct code_rows *cr, const struct x86_insn *call, uint64_t next,
			     int depth)
{
	const uint8_t *data;
	size_t n;

	if (call->flow == X86_CALL && cr->src.twice && cr->src.twice(cr->src.ctx, call->target))
		return END_RETURNS;
	if (call->flow == X86_CALL && (cr->src.noreturn(cr->src.ctx, call->target) ||
				       (depth < DEPTH_MAX &&
					function_ending(cr, call->target, depth + 1) == END_NEVER)))
		return END_NEVER;
	/*
	 * Padding, or the beginning of a function. It may also be the beginning of a loop, or the
	 * push of an argument: then only this path is lost.
	 */
	n = cr->src.read(cr->src.ctx, next, &data);
	if (!is_start(cr, next) && is_unoptimized_end(data, n, next))
		return END_RETURNS;
	if (is_start(cr, next) || is_called(cr, next, call) || code_is_endbr(data, n) || code_is_nop(data, n) ||
	    is_prologue(cr, next))
		return END_UNKNOWN;
	return END_RETURNS;
}

/* The stack pointer, as far as two paths are compared. */
static uint64_t sp_key(const struct state *st)
{
	const struct val *sp = &st->r[RSP];

	return (uint64_t)(uint32_t)(sp->kind == VAL_REG && sp->base == RSP ? sp->off : 1) << 32;
}

/*
 * Would following a path over this instruction bring nothing new? A path that continued behind a
 * call that never returns has a wrong stack pointer: arguments pushed for that call are still on
 * the stack. If it comes first, the correct path must still be followed.
 */
static bool is_known(const struct state *st, uint64_t seen, const struct found *f)
{
	return seen & SEEN_INSN && (!f->target || seen & SEEN_TWICE || sp_key(st) == (seen & UINT64_C(0xffffffff) << 32));
}

/* Forks the path to svma @to. */
static void fork_to(struct code_rows *cr, const struct path *p, uint64_t to, struct path *paths, uint32_t *npaths, int depth,
		    struct found *f)
{
	uint64_t *seen = u64map_put(&cr->seen[depth], to, NULL);

	*seen |= SEEN_BRANCH;
	if (is_known(&p->st, *seen, f) && to != f->target)
		return;
	if (*npaths == PATHS_MAX) {
		f->open = true;
		return;
	}
	paths[*npaths] = *p;
	paths[(*npaths)++].svma = to;
}

/*
 * Follows one instruction of a path. False if the path ends or reaches instructions that were
 * followed before.
 */
static bool follow(struct code_rows *cr, struct path *p, struct path *paths, uint32_t *npaths,
		   uint32_t *budget, int depth, struct found *f)
{
	struct val value = { .kind = VAL_UNKNOWN };
	const struct code_table *t;
	struct x86_insn in;
	const uint8_t *data;
	enum ending end;
	uint64_t next, *seen;
	bool again;
	size_t n;

	if (f->target && p->svma == f->target) {
		note_arrival(f, &p->st);
		return false;
	}
	seen = u64map_put(&cr->seen[depth], p->svma, NULL);
	if (is_known(&p->st, *seen, f))
		return false;
	again = *seen & SEEN_INSN;
	*seen |= again ? SEEN_TWICE : SEEN_INSN | sp_key(&p->st);
	n = cr->src.read(cr->src.ctx, p->svma, &data);
	if (!*budget || !n || !x86_decode(data, n, p->svma, &in)) {
		f->open = true;
		return false;
	}
	*budget -= !again;
	next = p->svma + in.len;
	/* The child may begin on another stack, where nothing from before can be found. */
	if (in.flow == X86_SYSCALL && f->target && p->st.r[RAX].kind == VAL_CONST &&
	    (p->st.r[RAX].off == SYS_clone || p->st.r[RAX].off == SYS_clone3))
		p->st.r[RSP].kind = VAL_UNKNOWN;
	if (in.effect == X86_PUSH_VALUE || in.flow == X86_JUMP_FAR)
		value = operand(cr, &p->st, p->svma);
	apply(&p->st, &in, value);
	switch ((enum x86_flow)in.flow) {
	case X86_NEXT: break;
	case X86_BRANCH:
		fork_to(cr, p, in.target, paths, npaths, depth, f);
		break;
	case X86_JUMP: next = in.target; break;
	case X86_CALL:
	case X86_CALL_FAR:
		f->calls = true;
		end = code_call_ending(cr, &in, next, depth);
		f->open |= end == END_UNKNOWN;
		if (end != END_RETURNS)
			return false;
		for (int i = 0; i < NREG; i++)
			if (CALLER_SAVED >> i & 1)
				p->st.r[i].kind = VAL_UNKNOWN;
		break;
	case X86_RET:
		if (!f->target)
			note_return(f, &p->st);
		return false;
	case X86_JUMP_FAR:
		t = code_table(cr, p->svma);
		f->open |= !t->whole || t->by_type;
		f->by_type |= t->by_type;
		if (t->by_type && f->firsts) {
			fork_to(cr, p, t->first, paths, npaths, depth, f);
			return false;
		}
		if (!t->n && !f->target)
			note_jump(f, &p->st, value, p->st.r[RSP]);
		/*
		 * In a hostile file each table may have a thousand entries: entries that cannot be
		 * followed are not recorded either.
		 */
		for (size_t i = 0; i < t->n && *npaths < PATHS_MAX; i++)
			fork_to(cr, p, t->targets[i], paths, npaths, depth, f);
		f->open |= *npaths == PATHS_MAX;
		return false;
	case X86_STOP: return false;
	case X86_SYSCALL:
		/* The number was set before; the call itself changes only rax. */
		break;
	}
	p->svma = next;
	return true;
}

/*
 * If the path starts at the system call itself: the number from "mov $NUMBER, %rax" right before
 * it.
 */
static bool rax_before(struct code_rows *cr, uint64_t svma, uint32_t *number)
{
	static const uint8_t lens[] = { 5, 7 };

	for (size_t i = 0; i < ARRAY_SIZE(lens); i++) {
		const uint8_t *data;
		struct x86_insn in;
		size_t n = cr->src.read(cr->src.ctx, svma - lens[i], &data);

		if (n && x86_decode(data, n, svma - lens[i], &in) && in.len == lens[i] &&
		    in.effect == X86_CONST && in.dst == RAX) {
			*number = (uint32_t)in.disp;
			return true;
		}
	}
	return false;
}

/* True if the system call at @p does not return. If it is rt_sigreturn, *@f records it. */
static bool last_syscall(struct code_rows *cr, const struct path *p, struct found *f)
{
	const struct val *ax = &p->st.r[RAX], *sp = &p->st.r[RSP];
	const uint8_t *data;
	uint32_t number;

	if (cr->src.read(cr->src.ctx, p->svma, &data) < 2 || data[0] != 0x0f || data[1] != 0x05)
		return false;
	if (ax->kind == VAL_CONST)
		number = (uint32_t)ax->off;
	else if (ax->kind != VAL_REG || ax->base != RAX || ax->off || !rax_before(cr, p->svma, &number))
		return false;
	if (number == SYS_rt_sigreturn && sp->kind == VAL_REG && sp->base == RSP) {
		f->sigreturn = true;
		f->ra = *sp;
		return true;
	}
	if (number != SYS_exit && number != SYS_exit_group)
		return false;
	f->exits = true;
	return true;
}

void code_explore(struct code_rows *cr, uint64_t svma, int depth, struct found *f)
{
	uint32_t npaths = 1, budget = INSNS_MAX >> 2 * depth;
	struct path *paths, p;

	/*
	 * 700 KB, few of which are used. Each entry is written before it is read, so the rest takes
	 * no memory.
	 */
	if (!cr->paths[depth])
		cr->paths[depth] = xmalloc(PATHS_MAX * sizeof(*cr->paths[depth]));
	paths = cr->paths[depth];
	u64map_clear(&cr->seen[depth]);
	memset(&paths[0], 0, sizeof(paths[0]));
	paths[0].svma = svma;
	for (uint8_t i = 0; i < NREG; i++)
		paths[0].st.r[i] = (struct val){ .kind = VAL_REG, .base = i };
	while (npaths && !(f->brief && f->returns)) {
		p = paths[--npaths];
		do {
			if (last_syscall(cr, &p, f))
				break;
		} while (follow(cr, &p, paths, &npaths, &budget, depth, f));
	}
}

/*
 * The deeper the call, the less is followed. A result is therefore kept per depth, or rows would
 * depend on what was asked before. Only END_NEVER from a greater depth is reused: it means that all
 * paths were followed.
 */
static enum ending function_ending(struct code_rows *cr, uint64_t svma, int depth)
{
	struct found f = { .brief = true };
	uint64_t *known = u64map_put(&cr->endings, svma, NULL);
	enum ending end;

	for (int d = depth; d <= DEPTH_MAX; d++) {
		unsigned int is = *known >> 2 * d & 3;

		if (is && (d == depth || is - 1 == END_NEVER))
			return (enum ending)(is - 1);
	}
	code_explore(cr, svma, depth, &f);
	end = f.returns ? END_RETURNS : f.open || f.sigreturn ? END_UNKNOWN : END_NEVER;
	*u64map_put(&cr->endings, svma, NULL) |= (uint64_t)(end + 1) << 2 * depth;
	return end;
}
