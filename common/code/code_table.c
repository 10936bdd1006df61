/* Jump tables (code_table.h). */
#include "code/code_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "code/x86_insn.h"

/* Bytes before the jump in which the index is checked and the entry is loaded. */
#define REACH 96

/*
 * Limit of cached tables and targets per binary, 8 bytes or more each. When it is exceeded, all are
 * dropped.
 */
#define KEPT_MAX (1 << 18)

/* What a register holds on the path to the jump. */
struct hold {
	enum {
		HOLD_NOTHING,	/* or the index */
		HOLD_TABLE,	/* the table's address */
		HOLD_OFFSET,	/* an entry of the table, of 4 bytes */
		HOLD_TARGET,	/* the target of an entry */
	} kind;
	uint64_t table;	/* svma */
	/* number of entries in the table; for an index: its exclusive limit. 0: unknown */
	uint32_t most;
	uint8_t size;	/* bytes of an entry */
	/*
	 * The only limit of the index is that it is a byte. This does not count for tables of
	 * offsets: a wrong offset leads to arbitrary code, a wrong address seldom does.
	 */
	bool by_type;
};

/* What the instructions before the jump show. */
struct shown {
	struct hold r[NREG];
	/* equal numbers mean equal values; values is the next number */
	uint16_t value[NREG], values;
	struct x86_operands cmp;	/* the comparison that set the flags; op 0: none */
	uint16_t cmp_value;	/* number of the compared value, if it was in a register */
	struct x86_operands mem;	/* a memory operand whose value was compared; op 0: none */
	uint32_t mem_most;
};

/* The svma of a memory operand without its index, if that is a table. */
static bool table_at(const struct shown *sh, const struct x86_operands *o, uint64_t next, uint64_t *table)
{
	if (o->base == X86_NO_REG)
		*table = (uint64_t)o->disp;
	else if (o->base == X86_RIP)
		*table = next + (uint64_t)o->disp;
	else if (sh->r[o->base].kind == HOLD_TABLE)
		*table = sh->r[o->base].table + (uint64_t)o->disp;
	else
		return false;
	return true;
}

static bool is_group(const struct x86_operands *o, uint8_t which)
{
	return (o->op == 0x80 || o->op == 0x81 || o->op == 0x83) && (o->reg & 7) == which;
}

/* The result of subtracting @off from a number below @most, as an index: below @most - @off. */
static struct hold less(uint32_t most, int64_t off)
{
	return (struct hold){ .most = off >= 0 && off < most ? most - (uint32_t)off : 0 };
}

/*
 * The same for the limit in @h. A limit by type does not hold for values computed from the index.
 */
static struct hold below(const struct hold *h, int64_t off)
{
	return less(h->by_type ? 0 : h->most, off);
}

/* A zero-extended byte: below 256, or below the limit of the register it comes from. */
static struct hold byte_of(uint32_t most)
{
	if (most && most < 256)
		return less(most, 0);
	return (struct hold){ .most = 256, .by_type = true };
}

/* The index after a copy, or after adding or subtracting a constant. */
static struct hold index_result(const struct shown *sh, const struct x86_operands *o, uint8_t *dst)
{
	bool load = o->op == 0x8b || o->op == 0x8a || o->op == 0x63 || o->op == 0x0fb6 || o->op == 0x0fb7;

	if (load && !o->in_reg && sh->mem.op && sh->mem.base == o->base && sh->mem.index == o->index &&
	    sh->mem.scale == o->scale && sh->mem.disp == o->disp)
		return o->op == 0x0fb6 ? byte_of(sh->mem_most) : less(sh->mem_most, 0);
	if (o->op == 0x0fb6)
		return byte_of(o->in_reg ? below(&sh->r[o->rm], 0).most : 0);
	if (load && o->in_reg)
		return sh->r[o->rm].kind == HOLD_NOTHING ? sh->r[o->rm] : less(sh->r[o->rm].most, 0);
	if (o->op == 0x8d && o->base < NREG && o->index == X86_NO_REG)
		return below(&sh->r[o->base], -o->disp);
	if (o->op == 0x2d) {
		*dst = 0;
		return below(&sh->r[0], o->imm);
	}
	if (o->in_reg && (o->op == 0x89 || is_group(o, 5) || is_group(o, 0))) {
		*dst = o->rm;
		if (o->op == 0x89)
			return sh->r[o->reg].kind == HOLD_NOTHING ? sh->r[o->reg] : less(sh->r[o->reg].most, 0);
		return below(&sh->r[o->rm], is_group(o, 5) ? o->imm : -o->imm);
	}
	return less(0, 0);
}

/* What @in leaves in register *@dst, as far as it matters here. */
static struct hold result(const struct shown *sh, const struct x86_insn *in, const struct x86_operands *o, uint64_t next,
			  uint8_t *dst)
{
	struct hold a, b;
	uint64_t table;

	*dst = o->reg;
	if (in->effect == X86_CONST && in->disp > 0) {
		*dst = in->dst;
		return (struct hold){ .kind = HOLD_TABLE, .table = (uint64_t)in->disp };
	}
	if (o->wide && in->effect == X86_MOVE) {
		*dst = in->dst;
		return sh->r[in->src];
	}
	if (o->wide && o->in_reg && (o->op == 0x01 || o->op == 0x03)) {
		if (o->op == 0x01)
			*dst = o->rm;
		a = sh->r[o->reg].kind == HOLD_OFFSET ? sh->r[o->reg] : sh->r[o->rm];
		b = sh->r[o->reg].kind == HOLD_OFFSET ? sh->r[o->rm] : sh->r[o->reg];
		if (a.kind != HOLD_OFFSET || b.kind != HOLD_TABLE || a.table != b.table)
			return less(0, 0);
		return (struct hold){ HOLD_TARGET, a.table, a.most, 4, false };
	}
	if (o->wide && o->op == 0x8d && o->base == X86_RIP)
		return (struct hold){ .kind = HOLD_TABLE, .table = next + (uint64_t)o->disp };
	if (o->wide && !o->in_reg && o->index != X86_NO_REG && table_at(sh, o, next, &table)) {
		if (o->op == 0x63 && o->scale == 4)
			return (struct hold){ HOLD_OFFSET, table, below(&sh->r[o->index], 0).most, 4, false };
		if (o->op == 0x8b && o->scale == 8)
			return (struct hold){ HOLD_TARGET, table, sh->r[o->index].most, 8, sh->r[o->index].by_type };
	}
	return index_result(sh, o, dst);
}

/*
 * ja and jae, near and far: taken if the index is too large. The path to the jump does not take
 * them.
 */
static void show_branch(struct shown *sh, const uint8_t *data)
{
	uint8_t cond = data[0] == 0x0f ? data[1] ^ 0xf0 : data[0];
	const struct x86_operands *o = &sh->cmp;
	bool byte = o->op == 0x80 || o->op == 0x3c;
	int64_t most = (byte ? (uint8_t)o->imm : o->imm) + (cond == 0x77);

	if (!o->op || (cond != 0x77 && cond != 0x73) || most <= 0 || most > TABLE_ENTRIES_MAX)
		return;
	if (!o->in_reg) {
		sh->mem = *o;
		sh->mem_most = (uint32_t)most;
		return;
	}
	for (uint8_t reg = 0; reg < NREG; reg++) {
		if (sh->value[reg] != sh->cmp_value)
			continue;
		sh->r[reg].most = (uint32_t)most;
		sh->r[reg].by_type = false;
	}
}

static bool writes(const struct x86_insn *in, uint8_t reg)
{
	bool sets = in->effect == X86_POP || (in->effect >= X86_MOVE && in->effect != X86_STORE && in->effect != X86_LEAVE);
	bool stack = (in->effect >= X86_PUSH && in->effect <= X86_POP_VALUE) || in->effect == X86_LEAVE;

	return reg < NREG && ((in->clobbers >> reg & 1) || (sets && in->dst == reg) || (stack && reg == RSP) ||
			      (in->effect == X86_LEAVE && reg == RBP));
}

/*
 * Instructions that compilers put between a comparison and its branch: mov, lea, push, pop, nop,
 * set, and vector moves.
 */
static bool keeps_flags(uint16_t op)
{
	static const uint16_t ranges[][2] = {
		{ 0x50, 0x5f }, { 0x63, 0x63 }, { 0x88, 0x8b }, { 0x8d, 0x8d }, { 0x90, 0x90 }, { 0xb0, 0xbf }, { 0xc6, 0xc7 },
		{ 0x0f10, 0x0f1f }, { 0x0f28, 0x0f29 }, { 0x0f40, 0x0f4f }, { 0x0f6e, 0x0f6f }, { 0x0f7e, 0x0f7f }, { 0x0f90, 0x0f9f },
		{ 0x0fb6, 0x0fb7 }, { 0x0fbe, 0x0fbf }, { 0x0fd6, 0x0fd6 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (op >= ranges[i][0] && op <= ranges[i][1])
			return true;
	return false;
}

/*
 * Applies one instruction on the path to the jump. False: the path to the jump cannot contain it.
 */
static bool show(struct shown *sh, const struct x86_insn *in, const struct x86_operands *o, const uint8_t *data, uint64_t next)
{
	const struct hold nothing = { .kind = HOLD_NOTHING };
	struct hold h;
	uint8_t dst;

	if (in->flow == X86_BRANCH) {
		show_branch(sh, data);
		return true;
	}
	if (in->flow != X86_NEXT)
		return false;
	h = result(sh, in, o, next, &dst);
	for (uint8_t reg = 0; reg < NREG; reg++) {
		if (!writes(in, reg))
			continue;
		sh->r[reg] = nothing;
		sh->value[reg] = sh->values++;
	}
	if (o->in_reg && (o->op == 0x89 || o->op == 0x8b))
		sh->value[dst] = sh->value[o->op == 0x89 ? o->reg : o->rm];
	if (h.kind != HOLD_NOTHING || h.most)
		sh->r[dst] = h;
	if (sh->mem.op && (writes(in, sh->mem.base) || writes(in, sh->mem.index)))
		sh->mem.op = 0;
	if (!keeps_flags(o->op) || (!sh->cmp.in_reg && (writes(in, sh->cmp.base) || writes(in, sh->cmp.index))))
		sh->cmp.op = 0;
	if (is_group(o, 7) || o->op == 0x3c || o->op == 0x3d) {
		sh->cmp = *o;
		sh->cmp.in_reg = o->in_reg || !is_group(o, 7);
		sh->cmp_value = sh->value[is_group(o, 7) ? o->rm : 0];
	}
	return true;
}

/* Finds the table that the jump with operand @o uses, after the code before it was read. */
static bool jumps_by(const struct shown *sh, const struct x86_operands *o, uint64_t next, struct hold *by)
{
	if (o->in_reg) {
		*by = sh->r[o->rm];
		return by->kind == HOLD_TARGET;
	}
	*by = (struct hold){ .kind = HOLD_TARGET, .most = sh->r[o->index].most, .size = 8, .by_type = sh->r[o->index].by_type };
	return o->scale == 8 && table_at(sh, o, next, &by->table);
}

/* Reads the code from @at up to @jump. */
static bool run_up(struct code_rows *cr, uint64_t at, uint64_t jump, struct shown *sh)
{
	memset(sh, 0, sizeof(*sh));
	while (sh->values < NREG) {
		sh->value[sh->values] = sh->values;
		sh->values++;
	}
	while (at < jump) {
		struct x86_operands o;
		struct x86_insn in;
		const uint8_t *data;
		size_t n = cr->src.read(cr->src.ctx, at, &data);

		if (!n || !x86_decode_operands(data, n, at, &in, &o) || !show(sh, &in, &o, data, at + in.len))
			return false;
		at += in.len;
	}
	return at == jump;
}

/*
 * Reads entries as long as they lead to code. If their number is unknown, only the first is read:
 * the next may belong to another function.
 */
static void read_entries(struct code_rows *cr, struct code_table *t, const struct hold *by)
{
	size_t want = by->most ? by->most : 1, got;
	uint8_t *raw = xmalloc(want * by->size);
	struct cursor c;

	got = cr->src.data(cr->src.ctx, by->table, raw, want * by->size) / by->size;
	cursor_init(&c, raw, got * by->size);
	t->targets = xcalloc(MAX(got, 1), sizeof(*t->targets));
	for (size_t i = 0; i < got; i++) {
		uint64_t to = by->size == 8 ? cursor_u64(&c) : by->table + (uint64_t)(int64_t)(int32_t)cursor_u32(&c);
		const uint8_t *code;

		if (!cr->src.read(cr->src.ctx, to, &code))
			break;
		t->targets[t->n++] = to;
	}
	t->first = t->n ? t->targets[0] : 0;
	t->by_type = by->by_type;
	t->whole = by->most && t->n == by->most;
	free(raw);
	sort_u64(t->targets, t->n);
	for (size_t i = got = 0; i < t->n; i++)
		if (!i || t->targets[i] != t->targets[i - 1])
			t->targets[got++] = t->targets[i];
	t->n = got;
}

/*
 * x86 code cannot be read backwards, but decoding from any place soon reaches the same
 * instructions. So this tries all places near the jump, nearest first. The first result with a
 * table and its size wins, then one whose index is only limited by being a byte, then the first
 * with a table.
 */
static void find_table(struct code_rows *cr, struct code_table *t)
{
	struct hold by = { .kind = HOLD_NOTHING }, h;
	struct x86_operands jump;
	struct x86_insn in;
	const uint8_t *data;
	struct shown sh;
	size_t n = cr->src.read(cr->src.ctx, t->jump, &data);

	if (!n || !x86_decode_operands(data, n, t->jump, &in, &jump) || in.flow != X86_JUMP_FAR || jump.op != 0xff)
		return;
	if (!jump.in_reg && jump.index == X86_NO_REG)
		return;
	for (uint64_t back = 0; back <= REACH && back <= t->jump; back++) {
		if (!run_up(cr, t->jump - back, t->jump, &sh) || !jumps_by(&sh, &jump, t->jump + in.len, &h))
			continue;
		if (by.kind == HOLD_NOTHING || (h.most && (!by.most || !h.by_type)))
			by = h;
		if (h.most && !h.by_type)
			break;
	}
	if (by.kind != HOLD_NOTHING)
		read_entries(cr, t, &by);
}

static void forget(struct code_rows *cr)
{
	for (size_t i = 0; i < cr->ntables; i++)
		free(cr->tables[i].targets);
	cr->ntables = cr->tables_kept = 0;
	u64map_clear(&cr->tables_by_jump);
}

const struct code_table *code_table(struct code_rows *cr, uint64_t jump)
{
	struct code_table *t;
	uint64_t *slot;
	bool is_new;

	if (cr->tables_kept > KEPT_MAX)
		forget(cr);
	slot = u64map_put(&cr->tables_by_jump, jump, &is_new);
	if (!is_new)
		return &cr->tables[*slot];
	*slot = cr->ntables;
	XGROW(cr->tables, cr->ntables, cr->cap_tables);
	t = &cr->tables[cr->ntables++];
	*t = (struct code_table){ .jump = jump };
	if (cr->src.data)
		find_table(cr, t);
	cr->tables_kept += 1 + t->n;
	return t;
}

void code_tables_free(struct code_rows *cr)
{
	forget(cr);
	free(cr->tables);
	u64map_fini(&cr->tables_by_jump);
}
