/*
 * One name table per binary, made from all its symbol tables. All are read into one array, and the
 * rules of symtab.h choose a name for each address. So the name does not depend on where it was
 * found: a stripped binary with its debug file, the unstripped binary and the slice in a recording
 * give the same names.
 */
#include "symbols/symtab.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/log.h"
#include "base/sort_u64.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"
#include "base/ranges.h"
#include "symbols/minidebug.h"
#include "symbols/symbols_wanted.h"

/* libxul and chromium have 1-2 million symbols. Symbols beyond this limit are not read. */
#define SYMS_MAX	(16u << 20)

/* Upper limit for the initial capacity, in symbols. */
#define RESERVE_MAX	(1u << 20)

/* Below this number of symbols, comparing is faster than sorting by counting. */
#define SORT_MIN	256

/* Below this size of .symtab and .dynsym together, in bytes, selecting symbols does not pay. */
#define CHOOSE_MIN	(24u << 10)

struct sym {
	uint64_t start, end;	/* svma; end == start while unknown */
	const char *name;
	uint8_t rank;		/* type, binding, sizedness: lower is better */
	uint8_t order;		/* of the table; decides if several tables have the same name */
	uint8_t source;		/* enum name_source */
	bool unsized;		/* no size: @end is an upper limit */
};

struct symtab {
	struct sym *syms;	/* sorted by start; among equals the best is last */
	size_t n, cap;
	struct ranges ranges;	/* svma -> index of syms */
	struct intern *unversioned;	/* names without their version; NULL until there is one */
	struct elf_file *mini;	/* .gnu_debugdata, NULL when none */
	void *mini_mem;
	struct elf_file *names;	/* owned; as struct symtab_files has it */
	struct symbols_wanted *want;	/* owned; the addresses that can be looked up; NULL: all */
};

struct collect {
	struct symtab *st;
	enum name_source symtab_source;	/* for what comes from .symtab */
	uint8_t symtab_order;
	bool one_source;		/* the tags of .dynsym and PLT do not apply */
};

/*
 * Assembler locals that some tools leave in, and annobin's marks for the start of an object's text.
 */
static bool is_noise(const char *name)
{
	return !name[0] || !strncmp(name, ".L", 2) || !strncmp(name, ".annobin_", 9);
}

/* Is @at, from its '@' on, a symbol version such as "@@GLIBC_2.14" or "@VERS-1.0+b"? */
static bool is_version(const char *at)
{
	at += strspn(at, "@");
	return *at && !strpbrk(at, " \t\"'`\\:;,()[]{}<>@");
}

/*
 * Removes a symbol version. The static linker writes versioned definitions as "memcpy@@GLIBC_2.14"
 * into .symtab, but .dynsym stores the version elsewhere: a function's name would depend on the
 * table. Keeps "name@plt". Names with '?' in front are another compiler's mangling, in which '@'
 * does not begin a version. Go's names of generic functions may contain struct tags: `json:"@id"`.
 */
static const char *unversioned(struct symtab *st, const char *name)
{
	const char *at = strchr(name, '@');

	if (!at || at == name || name[0] == '?' || !strcmp(at, "@plt") || !is_version(at))
		return name;
	if (!st->unversioned)
		st->unversioned = intern_new();
	return intern_str(st->unversioned, intern_addn(st->unversioned, name, (size_t)(at - name)));
}

static uint8_t rank(const struct elf_sym *s)
{
	uint8_t r = s->type == STT_NOTYPE ? 8 : 0;

	if (s->bind == STB_LOCAL)
		r += 4;
	else if (s->bind == STB_WEAK)
		r += 2;
	return r + (s->size ? 0 : 1);
}

static bool is_plt(const char *name)
{
	const char *at = strrchr(name, '@');

	return at && !strcmp(at, "@plt");
}

static bool matters(void *want, uint64_t svma, uint64_t size)
{
	return symbols_wanted_matters(want, svma, size);
}

static int measure(void *want, const struct elf_sym *s)
{
	if (!is_noise(s->name))
		symbols_wanted_measure(want, s->svma, s->size);
	return 0;
}

static bool is_kept(void *ctx, uint64_t svma, uint64_t size)
{
	const struct collect *c = ctx;

	(void)size;
	return symbols_wanted_keeps(c->st->want, svma);
}

static int collect_one(void *ctx, const struct elf_sym *s)
{
	struct collect *c = ctx;
	struct symtab *st = c->st;
	struct sym *sym;

	if (st->n >= SYMS_MAX)
		return -EFBIG;
	if (is_noise(s->name))
		return 0;
	XGROW(st->syms, st->n, st->cap);
	sym = &st->syms[st->n++];
	*sym = (struct sym){
		.start = s->svma,
		.end = s->size > UINT64_MAX - s->svma ? UINT64_MAX : s->svma + s->size,
		.name = unversioned(st, s->name),
		.rank = rank(s),
		.order = c->symtab_order,
		.source = c->symtab_source,
	};
	if (!c->one_source && s->gopclntab)
		sym->source = NAME_GOPCLNTAB;
	if (!c->one_source && (s->dynsym || is_plt(s->name))) {
		sym->source = NAME_DYNSYM;
		sym->order = is_plt(s->name) ? 4 : 3;
	}
	return 0;
}

/* A file with symbols, the source to report for them, and its order. */
struct source {
	struct elf_file *ef;
	enum name_source source;
	uint8_t order;
};

static void collect(struct symtab *st, const struct source *s)
{
	struct collect c = { st, s->source, s->order, s->source != NAME_SYMTAB };

	if (elf_file_symbols_where(s->ef, st->want ? is_kept : NULL, collect_one, &c) == -EFBIG)
		pr_verbose("more than %u symbols: the rest is ignored", SYMS_MAX);
}

/* <0: @a is the better name for the start address that both share. The rules are in symtab.h. */
static int compare_names(const struct sym *a, const struct sym *b)
{
	bool au = a->name[0] == '_', bu = b->name[0] == '_';
	size_t al, bl;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (au != bu)
		return au ? 1 : -1;
	al = strlen(a->name);
	bl = strlen(b->name);
	if (al != bl)
		return al < bl ? -1 : 1;
	return strcmp(a->name, b->name);
}

/*
 * By start, then from the worst name to the best: a symbol's index is its priority in struct
 * ranges.
 */
static int by_start(const void *pa, const void *pb)
{
	const struct sym *a = pa, *b = pb;
	int d;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	d = compare_names(b, a);
	if (d)
		return d;
	if (a->order != b->order)
		return a->order > b->order ? -1 : 1;
	return a->end < b->end ? -1 : a->end > b->end;
}

/*
 * Permutes @syms in place: @syms[i] becomes the element with index @from[i] & @mask. Each index
 * occurs once; @from is overwritten. In place, because getting fresh memory takes longer.
 */
static void arrange(struct sym *syms, uint64_t *from, size_t n, uint64_t mask)
{
	for (size_t i = 0; i < n; i++) {
		const struct sym first = syms[i];
		size_t at = i, next;

		/* Follow the cycle that starts here. */
		while ((next = (size_t)(from[at] & mask)) != i) {
			syms[at] = syms[next];
			from[at] = at;
			at = next;
		}
		syms[at] = first;
		from[at] = at;
	}
}

/*
 * Like qsort() with by_start(), but with a tenth of its comparisons: sorts by address first, then
 * the symbols at each address by name.
 */
static void sort_syms(struct symtab *st)
{
	struct sym *syms = st->syms;
	const size_t n = st->n;
	uint64_t low = UINT64_MAX, high = 0, *keys;
	unsigned int bits = 0;

	for (size_t i = 0; i < n; i++) {
		low = MIN(low, syms[i].start);
		high = MAX(high, syms[i].start);
	}
	while (n >> bits)
		bits++;
	/* Address and index fit into one number for any real program. */
	if (n <= SORT_MIN || (high - low) >> (64 - bits)) {
		if (n > 1)
			qsort(syms, n, sizeof(*syms), by_start);
		return;
	}
	keys = xmalloc(n * sizeof(*keys));
	for (size_t i = 0; i < n; i++)
		keys[i] = (syms[i].start - low) << bits | i;
	sort_u64(keys, n);
	arrange(syms, keys, n, ((uint64_t)1 << bits) - 1);
	free(keys);
	for (size_t i = 0, next; i < n; i = next) {
		for (next = i + 1; next < n && syms[next].start == syms[i].start; next++)
			;
		if (next - i > 1)
			qsort(syms + i, next - i, sizeof(*syms), by_start);
	}
}

/*
 * The end of the code section or segment that holds @svma: a symbol without a size reaches no
 * further.
 */
static uint64_t code_end(struct elf_file *const *files, size_t n, uint64_t svma)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t end = files[i] ? elf_file_code_end(files[i], svma) : 0;

		if (end > svma)
			return end;
	}
	/* Not in any known code: assume only this byte. */
	return svma + 1;
}

/*
 * A sized symbol holds its range. An unsized one takes over the range of an alias at its address.
 * If there is no alias, and if no sized symbol holds its start (then it is a label in hand-written
 * assembly, not one inside a function), it reaches to the next symbol at most; symtab_reach_fn
 * finds the exact end on lookup. A gap after a sized symbol stays a gap.
 */
static void assign_ranges(struct symtab *st, struct elf_file *const *files, size_t nfiles)
{
	uint64_t covered = 0;	/* sized symbols met so far reach to here */

	ranges_reserve(&st->ranges, st->n);
	for (size_t i = 0, next; i < st->n; i = next) {
		uint64_t start = st->syms[i].start, end = start;
		bool unsized = false;

		for (next = i; next < st->n && st->syms[next].start == start; next++)
			end = MAX(end, st->syms[next].end);
		if (end == start && covered <= start) {
			end = code_end(files, nfiles, start);
			if (next < st->n)
				end = MIN(end, st->syms[next].start);
			unsized = true;
		} else {
			covered = MAX(covered, end);
		}
		for (size_t k = i; k < next; k++) {
			if (st->syms[k].end == start)
				st->syms[k].end = end;
			st->syms[k].unsized = unsized;
			ranges_add(&st->ranges, start, st->syms[k].end, (uint32_t)k);
		}
	}
	ranges_flatten(&st->ranges);
}

static uint64_t table_bytes(struct elf_file *ef)
{
	return ef ? elf_file_section_size(ef, ".symtab") + elf_file_section_size(ef, ".dynsym") : 0;
}

/* Unused memory is never touched, but the size in the file may be wrong, hence the limit. */
static void reserve(struct symtab *st, uint64_t bytes)
{
	st->cap = (size_t)MIN(bytes / sizeof(Elf64_Sym), RESERVE_MAX) + 1;
	st->syms = xmalloc(st->cap * sizeof(*st->syms));
}

/* Reads all files. Without the binary, a slice may have .gnu_debugdata. */
static void read_files(struct symtab *st, const struct symtab_files *f)
{
	struct elf_file *elf = f->elf, *debug = f->debug, *slice = f->slice ? f->slice : f->names;
	/* A slice carries the whole section if its names come only from there. */
	struct elf_file *files[] = { elf, debug, slice }, *mini_of = elf ? elf : slice;
	struct source sources[4];
	size_t n = 0;
	int err;

	if (elf)
		sources[n++] = (struct source){ elf, NAME_SYMTAB, 0 };
	if (mini_of) {
		err = minidebug_open(mini_of, &st->mini, &st->mini_mem);
		if (!err)
			sources[n++] = (struct source){ st->mini, NAME_MINIDEBUG, 2 };
		else if (err != -ENOENT)
			pr_verbose("cannot use .gnu_debugdata of '%s': %s", f->path,
				   err == -EFBIG ? "it is too large" : "it is damaged");
	}
	if (debug)
		sources[n++] = (struct source){ debug, NAME_DEBUGFILE, 1 };
	if (slice)
		sources[n++] = (struct source){ slice, NAME_CAPTURED, 5 };
	for (size_t i = 0; st->want && i < n; i++)
		elf_file_symbols_where(sources[i].ef, matters, measure, st->want);
	if (st->want)
		symbols_wanted_settle(st->want);
	else
		reserve(st, table_bytes(elf) + table_bytes(debug) + table_bytes(slice));
	for (size_t i = 0; i < n; i++)
		collect(st, &sources[i]);
	sort_syms(st);
	assign_ranges(st, files, ARRAY_SIZE(files));
}

/* @want is taken over; NULL: the table names all addresses. */
static struct symtab *table_new(const struct symtab_files *f, struct symbols_wanted *want)
{
	struct symtab *st = xcalloc(1, sizeof(*st));

	st->want = want;
	st->names = f->names;
	read_files(st, f);
	return st;
}

struct symtab *symtab_new(const struct symtab_files *f)
{
	return table_new(f, NULL);
}

bool symtab_few_pays(const struct symtab_files *f, size_t n)
{
	uint64_t bytes = table_bytes(f->elf) + table_bytes(f->debug);

	return n && f->elf && bytes >= CHOOSE_MIN && n <= bytes / sizeof(Elf64_Sym);
}

struct symtab *symtab_new_few(const struct symtab_files *f, const struct svma *at, size_t n)
{
	return table_new(f, symbols_wanted_new(at, n));
}

bool symtab_has(const struct symtab *st, struct svma addr)
{
	return !st->want || symbols_wanted_has(st->want, addr);
}

int symtab_lookup(struct symtab *st, struct svma addr, symtab_reach_fn reach, void *ctx, struct symbol *out)
{
	const struct range *r = ranges_find(&st->ranges, addr.v);
	struct sym *s;

	if (!r)
		return -ENOENT;
	s = &st->syms[r->id];
	if (s->unsized) {
		s->end = reach(ctx, s->start, s->end);
		s->unsized = false;
	}
	if (addr.v >= s->end)
		return -ENOENT;
	*out = (struct symbol){ s->name, s->start, s->end, s->source };
	return 0;
}

void symtab_free(struct symtab *st)
{
	if (!st)
		return;
	elf_file_close(st->mini);
	free(st->mini_mem);
	elf_file_close(st->names);
	symbols_wanted_free(st->want);
	if (st->unversioned)
		intern_free(st->unversioned);
	ranges_fini(&st->ranges);
	free(st->syms);
	free(st);
}
