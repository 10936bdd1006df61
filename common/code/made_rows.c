/* Rows from Go's function table and from code (made_rows.h). */
#include "code/made_rows.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort_u64.h"
#include "base/util.h"
#include "code/made_rows_priv.h"
#include "elf/gopclntab.h"

/*
 * Limit of cached rows of functions known only from a call, 440 bytes each. When it is reached, all
 * are dropped.
 */
#define CALLED_ROWS_MAX 16384

/* Functions of the C and C++ libraries that do not return, by their documentation. Sorted. */
static const char *const noreturn_names[] = {
	"_Exit", "_Unwind_Resume", "_ZSt9terminatev", "__assert_fail", "__chk_fail",
	"__cxa_bad_cast", "__cxa_rethrow", "__cxa_throw", "__cxa_throw_bad_array_new_length",
	"__fortify_fail", "__libc_fatal", "__longjmp_chk", "__stack_chk_fail", "_exit", "_longjmp", "abort", "exit",
	"longjmp", "pthread_exit", "quick_exit", "siglongjmp", "thrd_exit",
};

/* Functions that return twice, as known to gcc (special_function_p() in calls.cc). Sorted. */
static const char *const twice_names[] = {
	"__sigsetjmp", "_setjmp", "getcontext", "savectx", "setjmp", "sigsetjmp", "vfork",
};

/* "abort", "abort@plt", "abort@@GLIBC_2.2.5" */
static bool is_one_of(const char *name, const char *const *names, size_t hi)
{
	size_t lo = 0, k;

	/*
	 * The range of names that begin with the first k characters of @name: usually empty after
	 * three.
	 */
	for (k = 0; name[k] && name[k] != '@'; k++) {
		while (lo < hi && names[lo][k] < name[k])
			lo++;
		while (lo < hi && names[hi - 1][k] > name[k])
			hi--;
		if (lo == hi)
			return false;
	}
	return !names[lo][k];
}

static int add_symbol(void *ctx, const struct elf_sym *sym)
{
	struct made_rows *mr = ctx;
	const char *dot;

	/* Assembly labels may be anywhere within a function. */
	if (sym->type == STT_NOTYPE)
		return 0;
	addrs_add(&mr->starts, sym->svma);
	/* gcc: "name.cold", the unlikely part of "name"; clang: "name.__part.1". */
	dot = strchr(sym->name, '.');
	if (dot && (strstr(dot, ".cold") || strstr(dot, ".__part.")))
		addrs_add(&mr->cold, sym->svma);
	if (is_one_of(sym->name, noreturn_names, ARRAY_SIZE(noreturn_names)))
		addrs_add(&mr->noreturn, sym->svma);
	if (is_one_of(sym->name, twice_names, ARRAY_SIZE(twice_names)))
		addrs_add(&mr->twice, sym->svma);
	return 0;
}

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void read_symbols(struct made_rows *mr)
{
	struct addrs *all[] = { &mr->starts, &mr->cold, &mr->noreturn, &mr->twice };

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

uint64_t made_start_of(struct made_rows *mr, uint64_t svma, bool *entry)
{
	size_t n;

	read_symbols(mr);
	n = addrs_up_to(&mr->starts, svma);
	*entry = n && !addrs_have(&mr->cold, mr->starts.v[n - 1]);
	return n ? mr->starts.v[n - 1] : 0;
}

static uint64_t start_of(void *ctx, uint64_t svma, bool *entry)
{
	return made_start_of(ctx, svma, entry);
}

static bool noreturn(void *ctx, uint64_t svma)
{
	struct made_rows *mr = ctx;

	read_symbols(mr);
	return addrs_have(&mr->noreturn, svma);
}

static bool twice(void *ctx, uint64_t svma)
{
	struct made_rows *mr = ctx;

	read_symbols(mr);
	return addrs_have(&mr->twice, svma);
}

static bool called(void *ctx, uint64_t svma)
{
	struct made_rows *mr = ctx;

	return mr->called_here && addrs_have(mr->called_here, svma);
}

static size_t read_code(void *ctx, uint64_t svma, const uint8_t **data)
{
	struct made_rows *mr = ctx;

	return elf_file_code(mr->ef, svma, data);
}

static size_t read_data(void *ctx, uint64_t svma, void *buf, size_t size)
{
	struct made_rows *mr = ctx;

	return elf_file_bytes(mr->ef, svma, buf, size);
}

struct made_rows *made_rows_new(struct elf_file *ef)
{
	struct made_rows *mr = xcalloc(1, sizeof(*mr));
	const struct code_source src = {
		.ctx = mr, .read = read_code, .start_of = start_of, .noreturn = noreturn, .twice = twice,
		.called = called, .data = read_data,
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
	free(mr->twice.v);
	free(mr->called_rows);
	u64map_fini(&mr->called);
	u64map_fini(&mr->split);
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
 * The table accounts for every byte of stack that a function uses, but not for functions that
 * switch to another stack. Their code may show how they get back; otherwise they cannot be
 * followed.
 */
static int go_row(struct made_rows *mr, const struct go_func *fn, uint64_t svma, bool after_call,
		  struct cfi_row *row)
{
	uint32_t frame;
	uint64_t end = fn->end;

	/* A stack pointer saved in a register can be restored; one saved in memory is unknown. */
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
	/*
	 * The goroutine continues at the first instruction of systemstack_switch, which called
	 * nothing.
	 */
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
	/* Another function may begin inside, for example behind a call that does not return. */
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
	/* In exit(2) the pc is already behind the system call, where a hlt may follow. */
	if (mr->entry_end < entry + MADE_ENTRY_MAX && elf_file_code(mr->ef, mr->entry_end, &data) && data[0] == 0xf4)
		mr->entry_end++;
	return mr->entry_end;
}

/*
 * May the function at @target continue between @start (the nearest known beginning below @svma) and
 * @svma? gcc groups the rare code of all functions, and nothing shows where the part of one
 * function begins.
 */
static bool is_split(struct made_rows *mr, uint64_t target, uint64_t start, uint64_t svma)
{
	bool is_new;
	uint64_t *slot;

	if (mr->split.n > CALLED_ROWS_MAX)
		u64map_clear(&mr->split);
	slot = u64map_put(&mr->split, hash_u64(target) ^ hash_u64(svma + start), &is_new);
	if (is_new)
		*slot = code_leads_into(mr->code, target, start, svma);
	return *slot;
}

enum made_call made_rows_calls(struct made_rows *mr, uint64_t ret, uint64_t svma)
{
	uint64_t target, start;
	bool entry;

	if (!code_call_target(mr->code, ret, &target))
		return MADE_CALL_OTHER;
	if (!target)
		return MADE_CALL_UNKNOWN;
	/*
	 * Assembly labels are not known beginnings, so only check that no known one lies between.
	 */
	start = start_of(mr, svma, &entry);
	if (target <= svma && start_of(mr, target, &entry) == start)
		return MADE_CALL_THIS;
	return is_split(mr, target, start, svma) ? MADE_CALL_UNKNOWN : MADE_CALL_OTHER;
}

int made_row_called(struct made_rows *mr, uint64_t ret, uint64_t svma, bool after_call, struct cfi_row *row)
{
	struct called_row *found;
	uint64_t target, *slot;
	bool is_new;

	if (!code_call_target(mr->code, ret, &target) || !target || svma < target || svma - target >= CALLED_MAX)
		return -ENOENT;
	/*
	 * This reads thousands of instructions, so cache the result and do not repeat it for each
	 * sample.
	 */
	if (mr->ncalled == CALLED_ROWS_MAX) {
		u64map_clear(&mr->called);
		mr->ncalled = 0;
	}
	slot = u64map_put(&mr->called, hash_u64(target) ^ (svma << 1 | after_call), &is_new);
	found = is_new ? NULL : &mr->called_rows[*slot];
	if (!found || found->target != target || found->row.start != svma || found->after_call != after_call) {
		XGROW(mr->called_rows, mr->ncalled, mr->called_cap);
		*slot = mr->ncalled;
		found = &mr->called_rows[mr->ncalled++];
		*found = (struct called_row){ .target = target, .after_call = after_call };
		found->none = code_row_from(mr->code, target, svma, after_call, &found->row) != 0;
	}
	*row = found->row;
	return found->none ? -ENOENT : 0;
}

bool made_rows_called(struct made_rows *mr, uint64_t ret, uint64_t *target)
{
	return code_call_target(mr->code, ret, target) && *target;
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
