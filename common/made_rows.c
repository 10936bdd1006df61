/* Rows from Go's function table and from code (made_rows.h). */
#include "made_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cfi_priv.h"
#include "code_rows.h"
#include "gopclntab.h"
#include "sort_u64.h"
#include "util.h"
#include "xalloc.h"

struct made_rows {
	struct elf_file *ef;
	struct code_rows *code;
	struct addrs {
		uint64_t *v;	/* owned, sorted svma values */
		size_t n, cap;
	} starts, cold, noreturn;	/* of all; of parts that are jumped to; that do not return */
	struct section {
		uint64_t svma;
		size_t size;	/* bytes; 0: there is no such section */
	} plts[4];
	uint64_t entry_end;	/* svma where the start-up code ends; 0: not looked at yet */
	bool symbols_read, plts_read;
};

/* Functions of the C and C++ libraries that do not return, by their documentation. Sorted. */
static const char *const noreturn_names[] = {
	"_Exit", "_Unwind_Resume", "_ZSt9terminatev", "__assert_fail", "__chk_fail",
	"__cxa_bad_cast", "__cxa_rethrow", "__cxa_throw", "__cxa_throw_bad_array_new_length",
	"__fortify_fail", "__libc_fatal", "__longjmp_chk", "__stack_chk_fail", "_exit", "_longjmp", "abort", "exit",
	"longjmp", "pthread_exit", "quick_exit", "siglongjmp", "thrd_exit",
};

/* "abort", "abort@plt", "abort@@GLIBC_2.2.5" */
static bool is_noreturn_name(const char *name)
{
	size_t lo = 0, hi = ARRAY_SIZE(noreturn_names), k;

	/* Those that begin as @name does, up to k: mostly none after three characters. */
	for (k = 0; name[k] && name[k] != '@'; k++) {
		while (lo < hi && noreturn_names[lo][k] < name[k])
			lo++;
		while (lo < hi && noreturn_names[hi - 1][k] > name[k])
			hi--;
		if (lo == hi)
			return false;
	}
	return !noreturn_names[lo][k];
}

static void add_addr(struct addrs *as, uint64_t svma)
{
	XGROW(as->v, as->n, as->cap);
	as->v[as->n++] = svma;
}

static int add_symbol(void *ctx, const struct elf_sym *sym)
{
	struct made_rows *mr = ctx;
	const char *dot;

	/* Labels of assembly are somewhere within. */
	if (sym->type == STT_NOTYPE)
		return 0;
	add_addr(&mr->starts, sym->svma);
	/* gcc: "name.cold", the unlikely part of "name"; clang: "name.__part.1". */
	dot = strchr(sym->name, '.');
	if (dot && (strstr(dot, ".cold") || strstr(dot, ".__part.")))
		add_addr(&mr->cold, sym->svma);
	if (is_noreturn_name(sym->name))
		add_addr(&mr->noreturn, sym->svma);
	return 0;
}

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void read_symbols(struct made_rows *mr)
{
	struct addrs *all[] = { &mr->starts, &mr->cold, &mr->noreturn };

	if (mr->symbols_read)
		return;
	mr->symbols_read = true;
	elf_file_symbols(mr->ef, add_symbol, mr);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		sort_u64(all[i]->v, all[i]->n);
}

static bool addrs_have(const struct addrs *as, uint64_t svma)
{
	return as->n && bsearch(&svma, as->v, as->n, sizeof(svma), u64_cmp);
}

static uint64_t start_of(void *ctx, uint64_t svma, bool *entry)
{
	struct made_rows *mr = ctx;
	size_t lo = 0, hi;

	read_symbols(mr);
	hi = mr->starts.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (mr->starts.v[mid] <= svma)
			lo = mid + 1;
		else
			hi = mid;
	}
	*entry = lo && !addrs_have(&mr->cold, mr->starts.v[lo - 1]);
	return lo ? mr->starts.v[lo - 1] : 0;
}

static bool noreturn(void *ctx, uint64_t svma)
{
	struct made_rows *mr = ctx;

	read_symbols(mr);
	return addrs_have(&mr->noreturn, svma);
}

static size_t read_code(void *ctx, uint64_t svma, const uint8_t **data)
{
	struct made_rows *mr = ctx;

	return elf_file_code(mr->ef, svma, data);
}

struct made_rows *made_rows_new(struct elf_file *ef)
{
	struct made_rows *mr = xcalloc(1, sizeof(*mr));
	const struct code_source src = {
		.ctx = mr, .read = read_code, .start_of = start_of, .noreturn = noreturn,
	};

	mr->ef = ef;
	mr->code = code_rows_new(&src);
	return mr;
}

void made_rows_free(struct made_rows *mr)
{
	if (!mr)
		return;
	code_rows_free(mr->code);
	free(mr->starts.v);
	free(mr->cold.v);
	free(mr->noreturn.v);
	free(mr);
}

/* ---- Go ---- */

static bool go_func_at(struct made_rows *mr, uint64_t svma, struct go_func *fn)
{
	const struct gopclntab *gt = elf_file_gopclntab(mr->ef);

	return gt && gopclntab_find(gt, svma, fn) == 0;
}

static void outermost(struct cfi_row *row)
{
	memset(row->regs, 0, sizeof(row->regs));
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP };
	row->regs[CFI_REG_RA].how = CFI_UNDEF;
}

/*
 * The table counts every byte that a function takes of the stack, but knows nothing of those that go
 * to another stack: what they do to get back is in their code, or cannot be followed.
 */
static int go_row(struct made_rows *mr, const struct go_func *fn, uint64_t svma, bool after_call,
		  struct cfi_row *row)
{
	uint32_t frame;
	uint64_t end = fn->end;

	/* A stack pointer that was put by in a register comes back; one in memory cannot be told. */
	if (fn->switches && !fn->top && code_row(mr->code, svma, after_call, row) == 0 &&
	    row->cfa_how == CFI_REGISTER && row->cfa.reg != CFI_REG_SP && row->cfa.reg != CFI_REG_BP)
		return 0;
	memset(row, 0, sizeof(*row));
	row->start = svma;
	row->ra_reg = CFI_REG_RA;
	row->cfa_how = CFI_REGISTER;
	if (fn->top || (fn->switches && svma != fn->start)) {
		row->end = fn->switches ? svma + 1 : end;
		outermost(row);
		return 0;
	}
	if (gopclntab_frame(elf_file_gopclntab(mr->ef), fn, svma, &frame, &row->end))
		return -ENOENT;
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP, .off = frame + 8ll };
	row->regs[CFI_REG_RA] = (struct cfi_rule){ .how = CFI_OFFSET, .off = -8 };
	/* Where the goroutine goes on is a function's first instruction, systemstack_switch's, which called nothing. */
	row->signal_frame = fn->callback;
	return 0;
}

bool made_rows_first(struct made_rows *mr, uint64_t svma, bool after_call)
{
	struct go_func fn;

	return go_func_at(mr, svma + after_call, &fn);
}

int made_row(struct made_rows *mr, uint64_t svma, bool after_call, struct cfi_row *row)
{
	struct go_func fn;

	if (after_call && code_is_restorer(mr->code, svma + 1))
		return code_row(mr->code, svma, true, row);
	if (!go_func_at(mr, svma, &fn))
		return code_row(mr->code, svma, after_call, row);
	if (!after_call && code_in_restorer(mr->code, svma))
		return code_row(mr->code, svma, false, row);
	return go_row(mr, &fn, svma, after_call, row);
}

uint64_t made_rows_reach(struct made_rows *mr, struct cfi *cfi, uint64_t svma, uint64_t limit)
{
	const uint8_t *data;
	struct cfi_fde fde;
	uint64_t end;

	if (cfi && cfi_find(cfi, svma, &fde) == 0)
		return MIN(limit, fde.end);
	if (elf_file_machine(mr->ef) != EM_X86_64 || !elf_file_code(mr->ef, svma, &data))
		return limit;
	end = code_extent(mr->code, svma, limit);
	/* Behind a call that does not return, say, another function may begin. */
	for (uint64_t at = svma; cfi && at < end; at++)
		if (cfi_find(cfi, at, &fde) == 0)
			return at;
	return end;
}

uint64_t made_rows_entry_end(struct made_rows *mr, struct cfi *cfi)
{
	uint64_t entry = elf_file_entry(mr->ef);
	const uint8_t *data;
	struct cfi_fde fde;

	if (mr->entry_end)
		return mr->entry_end;
	if (cfi && cfi_find(cfi, entry, &fde) == 0)
		mr->entry_end = MIN(MAX(fde.end, entry + MADE_ENTRY_GAP), entry + MADE_ENTRY_MAX);
	else
		mr->entry_end = made_rows_reach(mr, cfi, entry, entry + MADE_ENTRY_MAX);
	/* In exit(2) the pc is behind the system call already, where a hlt may stand guard. */
	if (mr->entry_end < entry + MADE_ENTRY_MAX && elf_file_code(mr->ef, mr->entry_end, &data) && data[0] == 0xf4)
		mr->entry_end++;
	return mr->entry_end;
}

enum made_call made_rows_calls(struct made_rows *mr, uint64_t ret, uint64_t svma)
{
	uint64_t target;
	bool entry;

	if (!code_call_target(mr->code, ret, &target))
		return MADE_CALL_OTHER;
	if (!target)
		return MADE_CALL_UNKNOWN;
	/* Labels of assembly are no known beginnings: no other one must lie between. */
	return target <= svma && start_of(mr, target, &entry) == start_of(mr, svma, &entry) ?
		MADE_CALL_THIS : MADE_CALL_OTHER;
}

bool made_rows_return(struct made_rows *mr, uint64_t svma)
{
	return code_is_return(mr->code, svma);
}

bool made_rows_in_plt(struct made_rows *mr, uint64_t svma)
{
	static const char *const names[ARRAY_SIZE(mr->plts)] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct section *s = &mr->plts[i];
		const uint8_t *data;

		if (!mr->plts_read && elf_file_section(mr->ef, names[i], &data, &s->size, &s->svma))
			s->size = 0;
	}
	mr->plts_read = true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (svma - mr->plts[i].svma < mr->plts[i].size)
			return true;
	return false;
}

bool made_rows_after_syscall(struct made_rows *mr, uint64_t svma)
{
	return code_after_syscall(mr->code, svma);
}

/* ---- as call frame information ---- */

/* DWARF 5, 7.24, and pointer encoding absptr; cfi_priv.h has them all. */
enum {
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_EXPR = 0x0f,
	OP_EXPR = 0x10,
	OP_OFFSET_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
};

static void add_record(struct strbuf *out, uint32_t id, struct strbuf *body)
{
	while ((body->len + 8) % 8)
		strbuf_addc(body, 0);
	strbuf_add_u32(out, (uint32_t)body->len + 4);
	strbuf_add_u32(out, id);
	strbuf_add(out, body->s, body->len);
}

/* Offset of the CIE of @row. Like gcc's: CFA = rsp + 8, and the return address there. */
static size_t add_cie(struct strbuf *out, const struct cfi_row *row)
{
	static const uint8_t rest[] = { 0x78, 16, 1, 0, 0x0c, 7, 8, 0x90, 1 };
	struct strbuf body = STRBUF_INIT;
	size_t at = out->len;

	strbuf_addc(&body, 1);
	strbuf_add(&body, row->signal_frame ? "zRS" : "zR", row->signal_frame ? 4 : 3);
	strbuf_addc(&body, row->made ? CFI_MADE_ALIGN : 1);
	strbuf_add(&body, rest, sizeof(rest));
	add_record(out, 0, &body);
	strbuf_fini(&body);
	return at;
}

static void add_fde(struct strbuf *out, size_t cie, const struct cfi_row *row)
{
	struct strbuf body = STRBUF_INIT;

	strbuf_add_u64(&body, row->start);
	strbuf_add_u64(&body, row->end - row->start);
	strbuf_addc(&body, 0);
	if (row->cfa_how == CFI_VAL_EXPR) {
		strbuf_addc(&body, OP_DEF_CFA_EXPR);
		strbuf_add_varint(&body, row->cfa.expr_len);
		strbuf_add(&body, row->cfa.expr, row->cfa.expr_len);
	} else if (row->cfa.reg != CFI_REG_SP || row->cfa.off != 8) {
		/* Offsets are in units of -8. */
		if (row->cfa.off >= 0) {
			strbuf_addc(&body, OP_DEF_CFA);
			strbuf_add_varint(&body, row->cfa.reg);
			strbuf_add_varint(&body, (uint64_t)row->cfa.off);
		} else {
			strbuf_addc(&body, OP_DEF_CFA_SF);
			strbuf_add_varint(&body, row->cfa.reg);
			cfi_add_sleb(&body, row->cfa.off / -8);
		}
	}
	for (uint8_t reg = 0; reg < CFI_NREGS; reg++) {
		const struct cfi_rule *r = &row->regs[reg];

		if (r->how == CFI_UNDEF) {
			strbuf_addc(&body, OP_UNDEFINED);
			strbuf_add_varint(&body, reg);
		} else if (r->how == CFI_SAME) {
			strbuf_addc(&body, OP_SAME_VALUE);
			strbuf_add_varint(&body, reg);
		} else if (r->how == CFI_EXPR) {
			strbuf_addc(&body, OP_EXPR);
			strbuf_add_varint(&body, reg);
			strbuf_add_varint(&body, r->expr_len);
			strbuf_add(&body, r->expr, r->expr_len);
		} else if (r->how == CFI_OFFSET && (reg != CFI_REG_RA || r->off != -8)) {
			strbuf_addc(&body, OP_OFFSET_SF);
			strbuf_add_varint(&body, reg);
			cfi_add_sleb(&body, r->off / -8);
		}
	}
	add_record(out, (uint32_t)(out->len + 4 - cie), &body);
	strbuf_fini(&body);
}

static bool same_rule(const struct cfi_rule *a, const struct cfi_rule *b)
{
	return a->how == b->how && a->reg == b->reg && a->off == b->off &&
	       a->expr_len == b->expr_len &&
	       (!a->expr_len || !memcmp(a->expr, b->expr, a->expr_len));
}

static bool same_row(const struct cfi_row *a, const struct cfi_row *b)
{
	if (a->signal_frame != b->signal_frame || a->made != b->made || a->cfa_how != b->cfa_how ||
	    !same_rule(&a->cfa, &b->cfa))
		return false;
	for (int i = 0; i < CFI_NREGS; i++)
		if (!same_rule(&a->regs[i], &b->regs[i]))
			return false;
	return true;
}

/* Rows that a factor of -8 can say. */
static bool can_say(const struct cfi_row *row)
{
	if (row->cfa.off % 8)
		return false;
	for (int i = 0; i < CFI_NREGS; i++)
		if (row->regs[i].how == CFI_OFFSET && row->regs[i].off % 8)
			return false;
	return true;
}

/* Nothing was pushed but the return address. */
static void plt_row(struct cfi_row *row, uint64_t svma)
{
	*row = (struct cfi_row){ .start = svma, .end = svma + 1, .ra_reg = CFI_REG_RA, .cfa_how = CFI_REGISTER };
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP, .off = 8 };
	row->regs[CFI_REG_RA] = (struct cfi_rule){ .how = CFI_OFFSET, .off = -8 };
}

/*
 * A call ends behind @svma, but how its frame is built cannot be read. That nothing is known of the return address has the same
 * meaning to who unwinds as having no row, and tells it from a mere pointer.
 */
static void only_return(struct cfi_row *row, uint64_t svma)
{
	*row = (struct cfi_row){ .start = svma, .end = svma + 1, .ra_reg = CFI_REG_RA, .cfa_how = CFI_REGISTER };
	row->cfa = (struct cfi_rule){ .how = CFI_REGISTER, .reg = CFI_REG_SP };
	row->regs[CFI_REG_RA].how = CFI_SAME;
}

/* The row of pcs[i], which is an address from a stack or the byte before one. */
static bool row_of(struct made_rows *mr, struct cfi *cfi, const uint64_t *pcs, size_t n, size_t i,
		   struct cfi_row *row)
{
	bool before = i + 1 < n && pcs[i + 1] == pcs[i] + 1;
	bool after = i && pcs[i - 1] == pcs[i] - 1, ends;
	struct cfi_fde fde;

	/* Nothing called the start-up code, and whether an address is in it is told by its distance. */
	if (pcs[i] >= elf_file_entry(mr->ef) && pcs[i] < made_rows_entry_end(mr, cfi))
		return false;
	if (!made_rows_first(mr, pcs[i], false) && !(before && made_rows_first(mr, pcs[i], true)) &&
	    cfi_find(cfi, pcs[i], &fde) == 0)
		return false;
	if (made_rows_in_plt(mr, pcs[i])) {
		plt_row(row, pcs[i]);
		return after || !before;
	}
	ends = before && made_rows_return(mr, pcs[i] + 1);
	/* Two instructions of code that does not return, seen one after the other: the second was not planted. */
	if (before && after && !ends && !made_rows_first(mr, pcs[i], true) && made_row(mr, pcs[i], false, row) == 0)
		return can_say(row);
	if (before && made_row(mr, pcs[i], true, row) == 0)
		return can_say(row);
	if (ends) {
		only_return(row, pcs[i]);
		return true;
	}
	/*
	 * What comes as the byte before an address, and as nothing else, is looked up for a frame that was called there. The
	 * row of an instruction, or of the padding before a function, would make a return address of any pointer.
	 */
	return (after || !before) && made_row(mr, pcs[i], false, row) == 0 && can_say(row);
}

/* Go's table, and what is known of every PLT, are as good as what a binary states. */
static bool is_doubtful(struct made_rows *mr, uint64_t svma)
{
	return !made_rows_first(mr, svma, false) && !made_rows_first(mr, svma, true) && !made_rows_in_plt(mr, svma);
}

size_t made_rows_emit(struct made_rows *mr, struct cfi *cfi, const uint64_t *pcs, size_t n,
		      struct strbuf *out)
{
	size_t cie[4] = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX }, done = 0;
	struct cfi_row run = { 0 }, row;
	uint64_t holds = 0;	/* how far run's row holds, whether there are pcs or not */
	bool have = false;

	for (size_t i = 0; i <= n; i++) {
		bool ok = i < n && row_of(mr, cfi, pcs, n, i, &row);

		if (ok)
			row.made = is_doubtful(mr, pcs[i]);
		if (ok && have && (pcs[i] == run.end || pcs[i] < holds) && same_row(&run, &row)) {
			run.end = pcs[i] + 1;
			holds = MAX(holds, row.end);
			continue;
		}
		if (have) {
			size_t *c = &cie[2 * run.made + run.signal_frame];

			if (*c == SIZE_MAX)
				*c = add_cie(out, &run);
			add_fde(out, *c, &run);
			done++;
		}
		have = ok;
		if (!ok)
			continue;
		run = row;
		run.end = run.start + 1;
		holds = row.end;
	}
	if (done)
		strbuf_add_u32(out, 0);
	return done;
}
