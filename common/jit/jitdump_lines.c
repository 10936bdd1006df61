/* Reading and writing JIT_CODE_DEBUG_INFO records of jitdumps (jitdump.h). */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "jitdump.h"

/* Stands for the file name of the previous entry. */
static const char same_file[] = "\xff";
/* Some producers pad records to a multiple of this. */
#define RECORD_ALIGN 8u
/*
 * V8 has two quirks. It writes each address 0x40 too high. This compensates for the line tables of
 * perf inject, which were that much too low before "perf jit: Fix inaccurate DWARF line table"
 * (Linux 5.8). And it may write the name of the file after freeing its memory, when glibc uses the
 * first 16 bytes for itself. The name of the function then still contains the file name: "JS:*f
 * /src/x.js:1:13".
 */
#define V8_SHIFT 0x40u
#define V8_LOST 16u
static const char v8_names[] = "JS:";

/* Text with control characters is memory that the producer freed before writing it. */
static bool is_text(const char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return false;
	return true;
}

static int by_offset(const void *a, const void *b)
{
	const struct jitdump_line *x = a, *y = b;

	if (x->off != y->off)
		return x->off < y->off ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* What all entries have in common. */
struct record {
	uint64_t start, size;	/* of the function */
	uint64_t shift;		/* how much too high the addresses are */
	/*
	 * the name of all entries, whose own names are overwritten at the start; NULL = entries
	 * have names
	 */
	const char *file;
};

/* The file of the next entry, or NULL. */
static const char *read_file(struct cursor *c, const struct record *r, const char *before)
{
	const size_t len = r->file ? strlen(r->file) : 0;
	const char *name;

	if (!r->file) {
		name = cursor_cstr(c);
		if (name && !strcmp(name, same_file))
			name = before;
		return name && is_text(name) ? name : NULL;
	}
	name = len > V8_LOST ? cursor_bytes(c, len + 1) : NULL;
	if (!name || memcmp(name + V8_LOST, r->file + V8_LOST, len + 1 - V8_LOST) != 0)
		return NULL;
	return r->file;
}

static int read_entries(struct cursor c, const struct record *r, struct jitdump_line *v, size_t n)
{
	const char *file = NULL;

	for (size_t i = 0; i < n; i++) {
		const uint64_t addr = cursor_u64(&c);

		v[i] = (struct jitdump_line){
			.off = addr - r->start - r->shift, .line = cursor_u32(&c),
			.discrim = cursor_u32(&c), .rank = (uint32_t)i,
		};
		file = read_file(&c, r, file);
		if (!cursor_ok(&c) || !file || v[i].off >= r->size)
			return -EINVAL;
		v[i].file = file;
	}
	return cursor_left(&c) < RECORD_ALIGN ? 0 : -EINVAL;
}

/*
 * Names of functions and paths may contain blanks. Tries each blank as the start of the file name
 * until one matches.
 */
static int read_v8_entries(struct cursor c, struct record *r, char *name, struct jitdump_line *v,
			   size_t n)
{
	char *colon = strrchr(name, ':');
	int err = -EINVAL;

	if (colon)
		*colon = '\0';
	colon = strrchr(name, ':');
	if (colon)
		*colon = '\0';
	for (char *p = strchr(name, ' '); p && err; p = strchr(p + 1, ' ')) {
		r->file = p + 1;
		err = is_text(p + 1) ? read_entries(c, r, v, n) : -EINVAL;
	}
	return err;
}

int jitdump_lines_read(const void *body, size_t len, uint64_t size, char *name,
		       struct jitdump_line **out, size_t *n)
{
	const bool v8 = name && !strncmp(name, v8_names, sizeof(v8_names) - 1);
	struct record r = { .size = size };
	struct jitdump_line *v;
	struct cursor c, first;
	uint64_t count;
	int err;

	*out = NULL;
	*n = 0;
	cursor_init(&c, body, len);
	r.start = cursor_u64(&c);
	count = cursor_u64(&c);
	if (!cursor_ok(&c) || !count ||
	    count > cursor_left(&c) / (sizeof(struct jitdump_entry) + 1))
		return -EINVAL;
	first = c;
	if (v8 && cursor_u64(&first) - r.start >= V8_SHIFT)
		r.shift = V8_SHIFT;
	v = xcalloc((size_t)count, sizeof(*v));
	err = read_entries(c, &r, v, (size_t)count);
	if (err && v8)
		err = read_v8_entries(c, &r, name, v, (size_t)count);
	if (err) {
		free(v);
		return err;
	}
	qsort(v, (size_t)count, sizeof(*v), by_offset);
	*out = v;
	*n = (size_t)count;
	return 0;
}

struct jitdump_line *jitdump_lines_at(struct jitdump_line *v, size_t n, uint64_t off)
{
	const size_t above = BISECT(n, i, v[i].off <= off);

	return above ? &v[above - 1] : NULL;
}

void jitdump_lines_put(struct strbuf *out, uint64_t time, uint64_t start,
		       const struct jitdump_line *v, size_t n)
{
	const size_t at = out->len;
	struct jitdump_prefix pre = { .id = JITDUMP_DEBUG_INFO, .time = time };
	const struct jitdump_debug head = { start, n };
	const char *file = NULL;

	strbuf_add(out, &pre, sizeof(pre));
	strbuf_add(out, &head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const struct jitdump_entry e = { start + v[i].off, v[i].line, v[i].discrim };
		const bool same = file && !strcmp(v[i].file, file);

		file = v[i].file;
		strbuf_add(out, &e, sizeof(e));
		strbuf_add(out, same ? same_file : file, strlen(same ? same_file : file) + 1);
	}
	pre.total_size = (uint32_t)(out->len - at);
	memcpy(out->s + at, &pre, sizeof(pre));
}
