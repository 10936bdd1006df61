/* JIT functions by address and time (jitcode.h). */
#include "modules/jitcode.h"

#include <elf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cfi/cfi.h"
#include "elf/elf_write.h"
#include "jitdump.h"
#include "modules/module.h"
#include "support/symbol.h"

#define FUNCS_MAX (1u << 20)
/*
 * Limit for functions that follow each other at one address. Beyond it, the data is not credible.
 */
#define LAYERS_MAX 256u
#define FDES_MAX 16u	/* per function; one is needed, or two if the function is split */
#define CODE_ALIGN 8u	/* alignment of the call frame information after the code */

struct entry {
	struct jit_func func;	/* first: a func is an entry */
	uint32_t rank;		/* position in the slice, newest first */
	uint32_t id;		/* of its module; 0: no id was left */
	const uint8_t *unwind;	/* .eh_frame, borrowed from the slice; NULL = none */
	size_t unwind_size;	/* bytes */
	const void *debug;	/* DEBUG_INFO body, borrowed from the slice; NULL = none, or read */
	size_t debug_size;	/* bytes */
	struct jitdump_line *lines;	/* owned */
	size_t nlines;
	bool tried;
	uint64_t bias;		/* runtime address less svma of @mod */
	struct strbuf elf;	/* bytes that @mod borrows */
	struct module *mod;	/* owned; NULL = not made yet, or not possible */
};

/* Disjoint functions, sorted. */
struct layer {
	const struct entry **v;	/* owned */
	size_t n, cap;
};

struct jitcode {
	char *slice;		/* owned copy */
	struct entry *entries;	/* owned; sorted by address */
	size_t n;
	uint64_t *times;	/* owned; load times of all entries, sorted */
	struct layer *layers;	/* owned */
	size_t nlayers;
};

/* ---- reading ---- */

static void read_unwind(struct cursor *c, struct entry *e)
{
	uint64_t size = cursor_u64(c), hdr_size = cursor_u64(c);

	cursor_u64(c);
	if (hdr_size >= size)
		return;
	e->unwind = cursor_bytes(c, size);
	e->unwind_size = e->unwind ? size - hdr_size : 0;
}

/* True if @e is a valid function now. */
static bool read_load(struct cursor *c, struct entry *e)
{
	uint64_t size;

	cursor_skip(c, 2 * sizeof(uint32_t) + sizeof(uint64_t));
	e->func.start = cursor_u64(c);
	size = cursor_u64(c);
	cursor_u64(c);
	e->func.name = cursor_cstr(c);
	e->func.end = e->func.start + size;
	return e->func.name && e->func.name[0] && e->func.end > e->func.start;
}

static void read_slice(struct jitcode *jc, size_t size)
{
	struct cursor c, body;
	struct entry e = { .unwind = NULL };
	uint64_t flags;
	size_t cap = 0;

	cursor_init(&c, jc->slice, size);
	if (cursor_u32(&c) != JITDUMP_MAGIC || cursor_u32(&c) != JITDUMP_VERSION ||
	    cursor_u32(&c) != sizeof(struct jitdump_header))
		return;
	cursor_skip(&c, 3 * sizeof(uint32_t) + sizeof(uint64_t));
	flags = cursor_u64(&c);
	while (cursor_left(&c) && jc->n < FUNCS_MAX) {
		uint32_t id = cursor_u32(&c), len = cursor_u32(&c);
		uint64_t time = cursor_u64(&c);
		const void *data;

		if (len < sizeof(struct jitdump_prefix))
			return;
		len -= sizeof(struct jitdump_prefix);
		data = cursor_bytes(&c, len);
		if (!data)
			return;
		cursor_init(&body, data, len);
		if (id == JITDUMP_UNWINDING_INFO)
			read_unwind(&body, &e);
		if (id == JITDUMP_DEBUG_INFO && len <= JITDUMP_DEBUG_MAX) {
			e.debug = data;
			e.debug_size = len;
		}
		if (id != JITDUMP_LOAD)
			continue;
		/* Times of another clock are useless: then the newest function always wins. */
		e.func.time = flags & JITDUMP_ARCH_TIME ? 0 : time;
		if (read_load(&body, &e)) {
			XGROW(jc->entries, jc->n, cap);
			e.rank = (uint32_t)jc->n;
			jc->entries[jc->n++] = e;
		}
		e = (struct entry){ .unwind = NULL };
	}
}

/* ---- the index ---- */

static int by_address(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->func.start != y->func.start)
		return x->func.start < y->func.start ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int u64_cmp(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/*
 * Puts each entry into the first layer with room for it. There are as many layers as functions that
 * overlap.
 */
static void make_layers(struct jitcode *jc)
{
	jc->layers = xcalloc(LAYERS_MAX, sizeof(*jc->layers));
	for (size_t i = 0; i < jc->n; i++) {
		const struct entry *e = &jc->entries[i];
		struct layer *l = jc->layers, *end = jc->layers + LAYERS_MAX;

		while (l < end && l->n && l->v[l->n - 1]->func.end > e->func.start)
			l++;
		if (l == end)
			continue;
		XGROW(l->v, l->n, l->cap);
		l->v[l->n++] = e;
		jc->nlayers = MAX(jc->nlayers, (size_t)(l - jc->layers) + 1);
	}
}

struct jitcode *jitcode_new(const void *slice, size_t size, uint32_t *next_id, uint32_t last_id)
{
	struct jitcode *jc = xcalloc(1, sizeof(*jc));

	jc->slice = xmemdup(slice, size);
	read_slice(jc, size);
	if (!jc->n) {
		jitcode_free(jc);
		return NULL;
	}
	qsort(jc->entries, jc->n, sizeof(*jc->entries), by_address);
	jc->times = xcalloc(jc->n, sizeof(*jc->times));
	for (size_t i = 0; i < jc->n; i++) {
		jc->entries[i].id = *next_id <= last_id ? (*next_id)++ : 0;
		jc->times[i] = jc->entries[i].func.time;
	}
	qsort(jc->times, jc->n, sizeof(*jc->times), u64_cmp);
	make_layers(jc);
	return jc;
}

void jitcode_free(struct jitcode *jc)
{
	if (!jc)
		return;
	for (size_t i = 0; i < jc->n; i++) {
		module_drop(jc->entries[i].mod);
		strbuf_fini(&jc->entries[i].elf);
		free(jc->entries[i].lines);
	}
	for (size_t i = 0; i < jc->nlayers; i++)
		free(jc->layers[i].v);
	free(jc->layers);
	free(jc->times);
	free(jc->entries);
	free(jc->slice);
	free(jc);
}

/* The entry of @l that holds @addr, or NULL. */
static const struct entry *layer_find(const struct layer *l, uint64_t addr)
{
	size_t at = BISECT(l->n, i, l->v[i]->func.end <= addr);

	return at < l->n && l->v[at]->func.start <= addr ? l->v[at] : NULL;
}

/* Was @a rather than @b at the address at @time? */
static bool better(const struct entry *a, const struct entry *b, uint64_t time)
{
	const bool before = a->func.time <= time;

	if (!b)
		return true;
	if (before != (b->func.time <= time))
		return before;
	if (a->func.time != b->func.time)
		return before ? a->func.time > b->func.time : a->func.time < b->func.time;
	return a->rank < b->rank;
}

const struct jit_func *jitcode_find(const struct jitcode *jc, struct avma addr, uint64_t time)
{
	const struct entry *best = NULL;

	for (size_t i = 0; i < jc->nlayers; i++) {
		const struct entry *e = layer_find(&jc->layers[i], addr.v);

		if (e && better(e, best, time))
			best = e;
	}
	return best ? &best->func : NULL;
}

void jitcode_advance(const struct jitcode *jc, size_t *n, uint64_t time)
{
	while (*n < jc->n && jc->times[*n] <= time)
		++*n;
}

bool jitcode_line(const struct jit_func *func, uint64_t addr, struct source_line *out)
{
	struct entry *e = (struct entry *)func;
	const struct jitdump_line *l;
	const char *slash;

	if (e->debug)
		jitdump_lines_read(e->debug, e->debug_size, func->end - func->start, NULL,
				   &e->lines, &e->nlines);
	e->debug = NULL;
	l = jitdump_lines_at(e->lines, e->nlines, addr - func->start);
	if (!l || !l->line)
		return false;
	slash = strrchr(l->file, '/');
	*out = (struct source_line){ slash ? slash + 1 : l->file, l->line };
	return out->file[0];
}

/* ---- call frame information ---- */

static struct cfi *rows_at(const struct entry *e, uint64_t svma)
{
	struct cfi_sections secs = { .is64 = true };

	secs.eh_frame.data = e->unwind;
	secs.eh_frame.size = e->unwind_size;
	secs.eh_frame.svma = svma;
	return cfi_new(&secs);
}

/*
 * An index over the .eh_frame of @e, for a function that begins at @start. The .eh_frame states
 * addresses relative to its own, which the jitdump format does not define: perf places it after the
 * code. With a single FDE it must mean this function, wherever the producer assumed the section to
 * be.
 */
static struct cfi *open_rows(const struct entry *e, uint64_t start)
{
	const uint64_t at = align_up(start + (e->func.end - e->func.start), CODE_ALIGN);
	struct cfi *cfi = rows_at(e, at);
	struct cfi_fde fde, second;

	if (cfi_nth(cfi, 0, &fde) || fde.start == start || !cfi_nth(cfi, 1, &second))
		return cfi;
	cfi_free(cfi);
	return rows_at(e, at + start - fde.start);
}

/* Writes the rows for @e in the format of captured rows, which every unwinder reads. */
static bool write_rows(struct entry *e, uint64_t start)
{
	const uint64_t size = e->func.end - e->func.start;
	const struct elf_load load = {
		.vaddr = start, .filesz = size, .memsz = size, .flags = PF_R | PF_X,
	};
	struct elf_slice slice = {
		.type = ET_DYN, .machine = EM_X86_64, .loads = &load, .nloads = 1,
	};
	struct strbuf rows = STRBUF_INIT;
	struct cfi *cfi = open_rows(e, start);
	uint64_t pcs[FDES_MAX];
	struct cfi_fde fde;
	size_t n = 0;

	for (size_t i = 0; n < FDES_MAX && !cfi_nth(cfi, i, &fde); i++) {
		if (fde.start < start + size && fde.end > start)
			pcs[n++] = fde.start;
	}
	if (cfi_emit(cfi, pcs, n, &rows)) {
		slice.eh_frame = rows.s;
		slice.eh_frame_size = rows.len;
		elf_write(&slice, &e->elf);
	}
	cfi_free(cfi);
	strbuf_fini(&rows);
	return e->elf.len;
}

struct module *jitcode_module(const struct jit_func *func, uint64_t *bias)
{
	struct entry *e = (struct entry *)func;

	if (e->unwind && e->id && !e->tried) {
		/*
		 * Rules are cached by small addresses, hence 0. With absolute pointers, the real
		 * address is needed.
		 */
		e->bias = func->start;
		if (!write_rows(e, 0)) {
			e->bias = 0;
			write_rows(e, func->start);
		}
		if (e->elf.len)
			e->mod = module_of_rows(e->id, func->name, e->elf.s, e->elf.len);
	}
	e->tried = true;
	*bias = e->bias;
	return e->mod;
}
