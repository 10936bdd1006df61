/* Go's function table (gopclntab.h). */
#include "elf/gopclntab.h"

#include <errno.h>
#include <string.h>

#include "base/cursor.h"

/* Byte offsets in the header (struct pcHeader). */
#define HDR_QUANTUM 6
#define HDR_PTRSIZE 7
#define HDR_NFUNC 8
#define HDR_TEXT 24
#define HDR_NAMES 32
#define HDR_PCTAB 56
#define HDR_FUNCS 64
#define HDR_SIZE 72

/* Byte offsets in a function's record (struct _func). */
#define FUNC_NAME 4
#define FUNC_PCSP 16

#define FLAG_TOP 1
#define FLAG_SPWRITE 2

#define GO_118 0xfffffff0u
#define GO_120 0xfffffff1u

#define NAME_MAX_BYTES 65536

static uint32_t get32(const struct gopclntab *gt, uint64_t off)
{
	uint32_t v = 0;

	if (off <= gt->size && gt->size - off >= 4)
		memcpy(&v, gt->data + off, 4);
	return v;
}

static uint64_t get64(const struct gopclntab *gt, uint64_t off)
{
	return get32(gt, off) | (uint64_t)get32(gt, off + 4) << 32;
}

bool gopclntab_begins(const void *data)
{
	static const uint8_t rest[] = { 0xff, 0xff, 0xff, 0, 0, 1, 8 };
	const uint8_t *p = data;

	return (p[0] == (GO_118 & 0xff) || p[0] == (GO_120 & 0xff)) && !memcmp(p + 1, rest, sizeof(rest));
}

int gopclntab_init(struct gopclntab *gt, const void *data, size_t size, uint64_t text)
{
	uint32_t magic;

	*gt = (struct gopclntab){ .data = data, .size = size };
	if (size < HDR_SIZE || size > UINT32_MAX)
		return -EINVAL;
	magic = get32(gt, 0);
	if (magic != GO_118 && magic != GO_120)
		return -EINVAL;
	gt->quantum = gt->data[HDR_QUANTUM];
	if (gt->data[HDR_PTRSIZE] != 8 || !gt->quantum)
		return -EINVAL;
	/* Since 1.20 the record also has the line where the function begins. */
	gt->func_tail = magic == GO_118 ? 36 : 40;
	gt->text = get64(gt, HDR_TEXT);
	if (!gt->text)
		gt->text = text;
	if (get64(gt, HDR_NAMES) > size || get64(gt, HDR_PCTAB) > size ||
	    get64(gt, HDR_FUNCS) > size || size - get64(gt, HDR_FUNCS) < 4 ||
	    get64(gt, HDR_NFUNC) > (size - get64(gt, HDR_FUNCS) - 4) / 8)
		return -EINVAL;
	gt->names = (uint32_t)get64(gt, HDR_NAMES);
	gt->pctab = (uint32_t)get64(gt, HDR_PCTAB);
	gt->funcs = (uint32_t)get64(gt, HDR_FUNCS);
	gt->nfunc = (uint32_t)get64(gt, HDR_NFUNC);
	return 0;
}

/* The table has pairs (offset from the base address, record), and the end of the last function. */
static uint64_t start_of(const struct gopclntab *gt, size_t i)
{
	return gt->text + get32(gt, gt->funcs + 8 * (uint64_t)i);
}

static const char *name_at(const struct gopclntab *gt, uint32_t off)
{
	uint64_t at = (uint64_t)gt->names + off;
	size_t left;

	if (at >= gt->size)
		return NULL;
	left = gt->size - at < NAME_MAX_BYTES ? gt->size - at : NAME_MAX_BYTES;
	return gt->data[at] && memchr(gt->data + at, 0, left) ? (const char *)gt->data + at : NULL;
}

int gopclntab_nth(const struct gopclntab *gt, size_t i, struct go_func *fn)
{
	uint64_t rec;
	uint8_t flag;

	if (i >= gt->nfunc)
		return -ENOENT;
	rec = (uint64_t)gt->funcs + get32(gt, gt->funcs + 8 * (uint64_t)i + 4);
	/*
	 * Before its name is read: a table in a hole of a file may have 67 million functions
	 * without code.
	 */
	if (rec > gt->size || gt->size - rec < gt->func_tail + 4u || start_of(gt, i) >= start_of(gt, i + 1))
		return -ENOENT;
	flag = gt->data[rec + gt->func_tail + 1];
	*fn = (struct go_func){
		.start = start_of(gt, i),
		.end = start_of(gt, i + 1),
		.name = name_at(gt, get32(gt, rec + FUNC_NAME)),
		.top = flag & FLAG_TOP,
		.switches = flag & FLAG_SPWRITE,
		.pcsp = get32(gt, rec + FUNC_PCSP),
	};
	/*
	 * cgocallback changes stacks, too, but lays out its frame on both. On the second stack it
	 * uses the goroutine's last place for a return address (src/runtime/asm_amd64.s). The
	 * runtime itself relies on the table there.
	 */
	fn->callback = fn->name && !strcmp(fn->name, "runtime.cgocallback");
	if (fn->callback)
		fn->switches = false;
	return 0;
}

int gopclntab_find(const struct gopclntab *gt, uint64_t svma, struct go_func *fn)
{
	size_t lo = 0, hi = gt->nfunc;
	int err;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (start_of(gt, mid) <= svma)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo)
		return -ENOENT;
	err = gopclntab_nth(gt, lo - 1, fn);
	if (err)
		return err;
	return svma >= fn->start && svma < fn->end ? 0 : -ENOENT;
}

/*
 * The table has pairs (change of the value as zigzag, distance to where it ends), both LEB128. The
 * value starts as -1. A change of 0 ends the table, except in the first entry.
 */
int gopclntab_frame(const struct gopclntab *gt, const struct go_func *fn, uint64_t svma,
		    uint32_t *bytes, uint64_t *end)
{
	uint64_t at = (uint64_t)gt->pctab + fn->pcsp, pc = fn->start;
	int64_t value = -1;
	struct cursor c;

	if (!fn->pcsp || at >= gt->size)
		return -EINVAL;
	cursor_init(&c, gt->data + at, gt->size - at);
	for (;;) {
		uint64_t change = cursor_varint(&c), distance;

		if (!cursor_ok(&c) || (!change && pc != fn->start))
			return -EINVAL;
		if (__builtin_add_overflow(value, (int64_t)(change >> 1 ^ (0 - (change & 1))), &value))
			return -EINVAL;
		distance = cursor_varint(&c);
		if (!cursor_ok(&c) || !distance || distance > (fn->end - pc) / gt->quantum)
			return -EINVAL;
		pc += distance * gt->quantum;
		if (svma < pc)
			break;
	}
	if (value < 0 || value > INT32_MAX || value % 8)
		return -EINVAL;
	*bytes = (uint32_t)value;
	*end = pc;
	return 0;
}
