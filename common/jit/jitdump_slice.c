/*
 * Cutting a small jitdump out of a large one (jitdump.h). The file is hostile, and grows while we
 * read.
 */
#include "jitdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"

#define READ_MAX (1ull << 30)
#define FUNCS_MAX (1u << 20)
#define OUT_MAX (32u << 20)
#define WINDOW (256u << 10)	/* holds any part of a record that is read */

/* Code from a LOAD or a MOVE record on. */
struct func {
	uint64_t time;
	uint64_t addr, size;	/* runtime address, bytes */
	uint64_t index;		/* the producer's number for the function */
	uint64_t load;		/* file offset of the LOAD record */
	uint64_t unwind;	/* file offset of the UNWINDING_INFO record; 0 = none */
	uint64_t debug;		/* file offset of the DEBUG_INFO record; 0 = none */
};

struct slicer {
	int fd;
	uint64_t size;		/* bytes of the file to read */
	int64_t shift;		/* ns to subtract from the file's times */
	const uint64_t *addrs;
	size_t naddrs;
	uint8_t *win;		/* owned; WINDOW bytes of room */
	uint64_t win_pos;
	size_t win_len;
	struct func *funcs;	/* owned; in file order */
	size_t n, cap;
	struct u64map by_index;	/* func.index -> number of the latest function with it; for moves */
	size_t indexed;		/* number of funcs in by_index */
};

/*
 * @len bytes at @pos of the file, borrowed until the next call. NULL with *@err set, which is 0 at
 * the end.
 */
static const void *look(struct slicer *s, uint64_t pos, size_t len, int *err)
{
	*err = 0;
	if (len > WINDOW || pos > s->size || len > s->size - pos)
		return NULL;
	if (pos >= s->win_pos && pos - s->win_pos <= s->win_len &&
	    len <= s->win_len - (pos - s->win_pos))
		return s->win + (pos - s->win_pos);
	s->win_pos = pos;
	s->win_len = 0;
	while (s->win_len < MIN((uint64_t)WINDOW, s->size - pos)) {
		ssize_t got = pread(s->fd, s->win + s->win_len,
				    MIN((uint64_t)WINDOW, s->size - pos) - s->win_len,
				    (off_t)(pos + s->win_len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			*err = -errno;
		if (got <= 0)
			break;
		s->win_len += (size_t)got;
	}
	return len <= s->win_len ? s->win : NULL;
}

static int read_header(struct slicer *s, struct jitdump_header *h)
{
	int err;
	const void *p = look(s, 0, sizeof(*h), &err);

	if (!p)
		return err ? err : -ENOEXEC;
	memcpy(h, p, sizeof(*h));
	if (h->magic == JITDUMP_MAGIC_SWAPPED)
		return -ENOTSUP;
	if (h->magic != JITDUMP_MAGIC || h->total_size < sizeof(*h) ||
	    h->total_size > JITDUMP_HEADER_MAX)
		return -ENOEXEC;
	return h->version == JITDUMP_VERSION ? 0 : -ENOTSUP;
}

static void add_func(struct slicer *s, const struct func *f)
{
	if (!f->size || f->size > UINT64_MAX - f->addr)
		return;
	XGROW(s->funcs, s->n, s->cap);
	s->funcs[s->n++] = *f;
}

/* Most files have no MOVE, so the index is built at the first one. */
static void add_move(struct slicer *s, const struct jitdump_move *m, uint64_t time)
{
	const uint64_t *slot;
	struct func f;

	for (; s->indexed < s->n; s->indexed++)
		*u64map_put(&s->by_index, s->funcs[s->indexed].index, NULL) = s->indexed;
	slot = u64map_get(&s->by_index, m->index);
	if (!slot)
		return;
	f = s->funcs[*slot];
	if (f.addr != m->old_addr)
		return;
	f.time = time;
	f.addr = m->addr;
	f.size = m->size;
	add_func(s, &f);
}

/* Is the DEBUG_INFO record at @pos about code at @addr? */
static bool is_about(struct slicer *s, uint64_t pos, uint64_t addr)
{
	struct jitdump_debug d;
	const uint8_t *p;
	int err;

	p = look(s, pos, sizeof(struct jitdump_prefix) + sizeof(d), &err);
	if (!p)
		return false;
	memcpy(&d, p + sizeof(struct jitdump_prefix), sizeof(d));
	return d.addr == addr;
}

static int read_records(struct slicer *s, uint64_t pos)
{
	uint64_t unwind = 0, debug = 0;
	int err;

	while (s->n < FUNCS_MAX) {
		const uint8_t *p = look(s, pos, sizeof(struct jitdump_prefix), &err);
		struct jitdump_prefix pre;
		struct jitdump_load load;
		struct jitdump_move move;

		if (!p)
			return err;
		memcpy(&pre, p, sizeof(pre));
		pre.time -= (uint64_t)s->shift;
		/* The producer may not have finished the last record. */
		if (pre.total_size < sizeof(pre) || pre.total_size > s->size - pos)
			return 0;
		switch (pre.id) {
		case JITDUMP_LOAD:
			p = pre.total_size < sizeof(pre) + sizeof(load) ? NULL :
				look(s, pos, sizeof(pre) + sizeof(load), &err);
			if (p) {
				memcpy(&load, p + sizeof(pre), sizeof(load));
				if (debug && !is_about(s, debug, load.addr))
					debug = 0;
				add_func(s, &(struct func){ pre.time, load.addr, load.size,
							    load.index, pos, unwind, debug });
			}
			unwind = debug = 0;
			break;
		case JITDUMP_MOVE:
			p = pre.total_size < sizeof(pre) + sizeof(move) ? NULL :
				look(s, pos, sizeof(pre) + sizeof(move), &err);
			if (p) {
				memcpy(&move, p + sizeof(pre), sizeof(move));
				add_move(s, &move, pre.time);
			}
			break;
		case JITDUMP_UNWINDING_INFO: unwind = pos; break;
		case JITDUMP_DEBUG_INFO: debug = pos; break;
		case JITDUMP_CLOSE: return 0;
		default: break;
		}
		pos += pre.total_size;
	}
	return 0;
}

static bool wanted(const struct slicer *s, const struct func *f)
{
	size_t first = BISECT(s->naddrs, i, s->addrs[i] < f->addr);

	return !s->addrs || (first < s->naddrs && s->addrs[first] - f->addr < f->size);
}

/* The name of @f with its NUL, *@len bytes; NULL if there is none. */
static const char *func_name(struct slicer *s, const struct func *f, size_t *len)
{
	const size_t before = sizeof(struct jitdump_prefix) + sizeof(struct jitdump_load);
	struct jitdump_prefix pre;
	const uint8_t *p, *nul;
	int err;

	p = look(s, f->load, sizeof(pre), &err);
	if (!p)
		return NULL;
	memcpy(&pre, p, sizeof(pre));
	if (pre.total_size <= before)
		return NULL;
	*len = MIN(pre.total_size - before, (size_t)JITDUMP_NAME_MAX);
	p = look(s, f->load, before + *len, &err);
	nul = p ? memchr(p + before, '\0', *len) : NULL;
	if (!nul || nul == p + before)
		return NULL;
	*len = (size_t)(nul - p) - before + 1;
	return (const char *)p + before;
}

static void put_unwind(struct slicer *s, const struct func *f, struct strbuf *out)
{
	struct jitdump_prefix pre;
	struct jitdump_unwind u;
	const uint8_t *p;
	int err;

	p = f->unwind ? look(s, f->unwind, sizeof(pre) + sizeof(u), &err) : NULL;
	if (!p)
		return;
	memcpy(&pre, p, sizeof(pre));
	memcpy(&u, p + sizeof(pre), sizeof(u));
	/* A header without .eh_frame before it is useless. */
	if (u.size > JITDUMP_UNWIND_MAX || u.hdr_size >= u.size ||
	    u.size > pre.total_size - MIN((size_t)pre.total_size, sizeof(pre) + sizeof(u)))
		return;
	p = look(s, f->unwind, sizeof(pre) + sizeof(u) + u.size, &err);
	if (!p)
		return;
	pre.time = f->time;
	pre.total_size = (uint32_t)(sizeof(pre) + sizeof(u) + u.size);
	strbuf_add(out, &pre, sizeof(pre));
	strbuf_add(out, p + sizeof(pre), pre.total_size - sizeof(pre));
}

/* Keeps the lines of @f that cover wanted addresses and returns their number. */
static size_t choose_lines(const struct slicer *s, const struct func *f, struct jitdump_line *v,
			   size_t n)
{
	size_t k = 0, last = n;

	if (!s->addrs)
		return n;
	for (size_t i = BISECT(s->naddrs, m, s->addrs[m] < f->addr);
	     i < s->naddrs && s->addrs[i] - f->addr < f->size; i++) {
		const struct jitdump_line *l = jitdump_lines_at(v, n, s->addrs[i] - f->addr);

		if (!l || (size_t)(l - v) == last)
			continue;
		/* Both ascend: an overwritten line is below all lines still needed. */
		last = (size_t)(l - v);
		v[k++] = *l;
	}
	return k;
}

static void put_lines(struct slicer *s, const struct func *f, struct strbuf *out)
{
	struct jitdump_prefix pre;
	struct jitdump_line *v;
	const uint8_t *p;
	const char *borrowed;
	size_t n, len;
	char *name;
	int err;

	borrowed = f->debug ? func_name(s, f, &len) : NULL;
	if (!borrowed)
		return;
	name = xmemdup(borrowed, len);
	p = look(s, f->debug, sizeof(pre), &err);
	if (p)
		memcpy(&pre, p, sizeof(pre));
	if (p && pre.total_size <= JITDUMP_DEBUG_MAX)
		p = look(s, f->debug, pre.total_size, &err);
	else
		p = NULL;
	if (p && !jitdump_lines_read(p + sizeof(pre), pre.total_size - sizeof(pre), f->size, name,
				     &v, &n)) {
		n = choose_lines(s, f, v, n);
		if (n)
			jitdump_lines_put(out, f->time, f->addr, v, n);
		free(v);
	}
	free(name);
}

static void put_func(struct slicer *s, const struct func *f, struct strbuf *out)
{
	struct jitdump_prefix pre = { .id = JITDUMP_LOAD, .time = f->time };
	struct jitdump_load load = {
		.vma = f->addr, .addr = f->addr, .size = f->size, .index = f->index,
	};
	const size_t before = out->len;
	const char *name;
	size_t len;

	put_unwind(s, f, out);
	put_lines(s, f, out);
	name = func_name(s, f, &len);
	if (!name) {
		out->len = before;
		return;
	}
	pre.total_size = (uint32_t)(sizeof(pre) + sizeof(load) + len);
	strbuf_add(out, &pre, sizeof(pre));
	strbuf_add(out, &load, sizeof(load));
	strbuf_add(out, name, len);
}

/* For equal times, what comes later in the file is newer. */
static int newest_first(const void *a, const void *b)
{
	const struct func *x = a, *y = b;

	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return x->load > y->load ? -1 : x->load < y->load;
}

static void put_wanted(struct slicer *s, const struct jitdump_header *h, struct strbuf *out)
{
	struct jitdump_header head = *h;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (wanted(s, &s->funcs[i]))
			s->funcs[n++] = s->funcs[i];
	}
	if (!n)
		return;
	qsort(s->funcs, n, sizeof(*s->funcs), newest_first);
	head.total_size = sizeof(head);
	head.time -= (uint64_t)s->shift;
	strbuf_add(out, &head, sizeof(head));
	for (size_t i = 0; i < n && out->len < OUT_MAX; i++)
		put_func(s, &s->funcs[i], out);
}

int jitdump_slice(int fd, const uint64_t *addrs, size_t n, int64_t shift, struct strbuf *out)
{
	struct slicer s = { .fd = fd, .addrs = addrs, .naddrs = n, .shift = shift };
	struct jitdump_header h;
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOEXEC;
	s.size = MIN((uint64_t)st.st_size, READ_MAX);
	s.win = xmalloc(WINDOW);
	err = read_header(&s, &h);
	if (!err) {
		err = read_records(&s, h.total_size);
		put_wanted(&s, &h, out);
	}
	u64map_fini(&s.by_index);
	free(s.funcs);
	free(s.win);
	return err;
}

/* Appends records of slice @from up to time @until. */
static void join_records(struct strbuf *out, const struct strbuf *from, uint64_t until)
{
	struct jitdump_prefix pre;

	for (size_t at = sizeof(struct jitdump_header); at < from->len && out->len < OUT_MAX; at += pre.total_size) {
		memcpy(&pre, from->s + at, sizeof(pre));
		if (pre.time <= until)
			strbuf_add(out, from->s + at, pre.total_size);
	}
}

void jitdump_join(struct strbuf *out, const struct strbuf *other)
{
	struct strbuf both = STRBUF_INIT;
	struct jitdump_header a, b;
	bool later;

	if (!other->len)
		return;
	if (!out->len) {
		strbuf_add(out, other->s, other->len);
		return;
	}
	memcpy(&a, out->s, sizeof(a));
	memcpy(&b, other->s, sizeof(b));
	if (a.flags != b.flags)
		return;
	later = a.time < b.time;
	strbuf_add(&both, later ? other->s : out->s, later ? other->len : out->len);
	join_records(&both, later ? out : other, a.pid == b.pid ? UINT64_MAX : MAX(a.time, b.time));
	strbuf_fini(out);
	*out = both;
}

const char *jitdump_why(int err)
{
	switch (err) {
	case -ENOEXEC: return "it is not a jitdump";
	case -ENOTSUP: return "it has an unsupported version or byte order";
	default: return strerror(-err);
	}
}

bool jitdump_marks(const char *path)
{
	const char *name = strrchr(path, '/');
	int len = 0;

	/*
	 * sscanf() only reaches %n when everything before it matched; name[len] checks that nothing
	 * follows.
	 */
	return name && sscanf(name, "/jit-%*9[0-9].dump%n", &len) == 0 && len && !name[len];
}
