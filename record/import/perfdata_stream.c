/*
 * Delivers the records of perf.data. Records of the mapped file are read in place. Those from a
 * pipe or from compressed records lie in chunks, which live as long as a record in them is needed.
 * Then the records are sorted by time. perf writes its rings in rounds, and everything older than
 * the newest record of a round is complete once the next round is
 * (tools/perf/util/ordered-events.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "import/mapped.h"
#include "import/perfdata.h"

#define CHUNK (1u << 20)
#define HEADER 8u
/* Bytes after the header: up to the name in KSYMBOL, and the whole body of BPF_EVENT. */
#define KSYMBOL_NAME 16u
#define BPF_EVENT_BODY 16u
/* Bytes to read from one file before turning to the others. */
#define TURN (64u << 10)
/*
 * Samples from a pipe wait for the rest of their stacks until the queue holds more than
 * 1/DEFERRED_WAIT of pd->hold.
 */
#define DEFERRED_WAIT 16
/*
 * Size of a compressed record: at most the content of a ring. From a pipe, all of it must fit in
 * memory.
 */
#define COMPRESSED_MAX (64u << 20)

struct chunk {
	size_t refs;		/* number of queued records, plus 1 while it is being filled */
	size_t size;
	uint8_t data[];
};

/* Bytes that arrive in pieces, to be split into records. */
struct feed {
	struct chunk *cur;	/* one reference; NULL = nothing so far */
	size_t begin, end;	/* the part of @cur that is not delivered yet */
	uint64_t skip;		/* coming bytes that belong to no record */
	uint64_t at;		/* offset of @begin in the pipe */
	bool in_text;		/* text, not a record, precedes @begin */
};

struct queued {
	uint64_t time, seq;
	const uint8_t *rec;
	struct chunk *chunk;	/* one reference; NULL: in the mapped file */
	uint16_t size;		/* bytes, at least HEADER: a mapped file may change later */
};

/* The pipe, or one of the files of a recording. */
struct source {
	const uint8_t *map;		/* borrowed; NULL: a pipe */
	uint64_t at, end;		/* the part of @map that is not read yet */
	uint64_t newest;		/* time of its newest record; 0: none so far */
	struct feed in, inner;		/* the pipe; decompressed data */
	struct codec_stream *zstd;	/* owned; NULL until needed */
};

struct stream {
	struct perfdata *pd;
	bool ordered;
	int (*fn)(void *ctx, const struct perfdata_record *r);
	void *ctx;
	struct source *src;		/* owned */
	size_t nsrc;
	struct queued *queue;		/* owned */
	size_t n, cap;
	uint64_t seq, newest, limit, delivered;
	size_t held;			/* bytes of all chunks */
	uint8_t *own;			/* owned; copy of a record of the mapped file */
};

static void chunk_put(struct stream *s, struct chunk *c)
{
	if (!c || --c->refs)
		return;
	s->held -= c->size;
	free(c);
}

/*
 * Makes room for @len bytes at the end. If the chunk is full, bytes not delivered move to a new
 * one.
 */
static uint8_t *feed_room(struct stream *s, struct feed *f, size_t len)
{
	size_t rest = f->end - f->begin;
	struct chunk *c = f->cur;

	if (c && c->size - f->end >= len)
		return c->data + f->end;
	c = xmalloc(sizeof(*c) + rest + MAX(len, (size_t)CHUNK));
	c->refs = 1;
	c->size = rest + MAX(len, (size_t)CHUNK);
	s->held += c->size;
	if (rest)
		memcpy(c->data, f->cur->data + f->begin, rest);
	chunk_put(s, f->cur);
	f->cur = c;
	f->begin = 0;
	f->end = rest;
	return c->data + rest;
}

/* ---- one record ---- */

static uint16_t rec_u16(const struct perfdata *pd, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swap ? __builtin_bswap16(v) : v;
}

static uint32_t rec_u32(const struct perfdata *pd, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swap ? __builtin_bswap32(v) : v;
}

static uint64_t rec_u64(const struct perfdata *pd, const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return pd->swap ? __builtin_bswap64(v) : v;
}

/*
 * Size of the record at @p, of which @left bytes are available. 0: the header is incomplete or
 * impossible. For a large compressed record, perf 6.16 writes the size modulo 64 KiB; the true size
 * is inside.
 */
static uint64_t rec_size(const struct perfdata *pd, const uint8_t *p, uint64_t left, bool *bad)
{
	uint64_t size, inner;

	*bad = false;
	if (left < HEADER)
		return 0;
	size = rec_u16(pd, p + 6);
	if (rec_u32(pd, p) == PERFDATA_COMPRESSED2) {
		if (left < HEADER + 8)
			return 0;
		inner = rec_u64(pd, p + HEADER);
		if (inner > COMPRESSED_MAX) {
			*bad = true;
			return 0;
		}
		size = MAX(size, (HEADER + 8 + inner + 7) & ~7ull);
	}
	*bad = size < HEADER;
	return *bad ? 0 : size;
}

/* Is it a byte of ASCII or UTF-8 text? */
static bool is_text(uint8_t c)
{
	return (c >= ' ' && c != 127 && c < 0xf5) || (c >= '\a' && c <= '\r') || c == 27;
}

/*
 * Length of the text at @p, where a record should begin. A command run by perf may print into the
 * pipe to which perf writes its records. The text ends where the zeros of a record's type appear.
 * 0: it is a record, or something else. @all: no more bytes will come.
 */
static size_t text_size(const struct perfdata *pd, const uint8_t *p, size_t left, bool all)
{
	const uint8_t *zero = memchr(p, '\0', left);
	size_t n = zero ? (size_t)(zero - p) : left;

	/*
	 * All present and likely future types fit in one byte, the first or the last of the four.
	 */
	if (left < 4 ? !all : rec_u32(pd, p) < 256)
		return 0;
	if (n && (zero ? !pd->swap : !all))
		n--;
	for (size_t i = 0; i < n; i++)
		if (!is_text(p[i]))
			return 0;
	return n;
}

/*
 * A single remaining byte may begin a record's type. A newline is more likely to be text, since
 * perf ends a stream with a whole record.
 */
static bool ends_line(const uint8_t *p)
{
	return *p == '\n';
}

/*
 * Notes that reading ends at the record at @p, of which @left bytes exist: it is impossible or
 * incomplete.
 */
static void note_end(struct perfdata *pd, const uint8_t *p, uint64_t left, uint64_t at)
{
	if (left >= HEADER && !pd->end.known)
		pd->end = (struct perfdata_spot){ true, rec_u32(pd, p), rec_u16(pd, p + 6), at };
}

/* Bytes after a record that do not belong to it. */
static uint64_t rec_trailer(const struct perfdata *pd, const uint8_t *p, uint64_t size)
{
	switch (rec_u32(pd, p)) {
	case PERFDATA_TRACING_DATA:
		return size < HEADER + 4 ? 0 : (rec_u32(pd, p + HEADER) + 7ull) & ~7ull;
	case PERFDATA_AUXTRACE:
		return size < HEADER + 8 ? 0 : rec_u64(pd, p + HEADER);
	default:
		return 0;
	}
}

/* Number of fields of a sample before field @bit; all of them have 8 bytes. */
static unsigned int fields_before(uint64_t sample_type, uint64_t bit)
{
	static const uint64_t order[] = {
		PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ADDR,
		PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
	};
	unsigned int n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(order) && order[i] != bit; i++)
		n += !!(sample_type & order[i]);
	return n;
}

static uint64_t sample_field(const struct perfdata *pd, const struct perfdata_record *r, uint64_t type, uint64_t bit)
{
	uint64_t at = 8ull * fields_before(type, bit);

	return type & bit && at + 8 <= r->len ? rec_u64(pd, r->body + at) : 0;
}

/*
 * The event of a sample: all events have their id at the same place, or IDENTIFIER (perf's
 * evlist__valid_sample_type()).
 */
static struct perfdata_attr *sample_attr(struct perfdata *pd, const struct perfdata_record *r)
{
	uint64_t type = pd->nattrs ? pd->attrs[0].sample_type : 0;

	if (pd->nattrs < 2)
		return pd->nattrs ? pd->attrs : NULL;
	if (type & PERF_SAMPLE_IDENTIFIER)
		return perfdata_find(pd, sample_field(pd, r, type, PERF_SAMPLE_IDENTIFIER));
	if (type & PERF_SAMPLE_ID)
		return perfdata_find(pd, sample_field(pd, r, type, PERF_SAMPLE_ID));
	return pd->attrs;
}

/*
 * Upper limit for the end of a record's body; its id fields, @ids bytes, follow. For kernel symbols
 * and BPF programs, the kernel adds the size of the id fields for each of several listeners to one
 * header (perf_event_ksymbol_output() and perf_event_bpf_output() in kernel/events/core.c). Bytes
 * after the id fields really written mean nothing.
 */
static size_t body_end(const struct perfdata_record *r, size_t ids)
{
	const size_t end = r->len - ids;

	if (r->type == PERF_RECORD_BPF_EVENT)
		return MIN(end, BPF_EVENT_BODY);
	if (r->type != PERF_RECORD_KSYMBOL)
		return end;
	for (size_t at = KSYMBOL_NAME; at + 8 < end; at += 8)
		if (memchr(r->body + at, '\0', 8))
			return at + 8;
	return end;
}

/*
 * Parses what sample_id_all appends: {pid, tid} {time} {id} {stream id} {cpu, 0} {identifier}, if
 * requested.
 */
static void take_sample_id(struct perfdata *pd, struct perfdata_record *r)
{
	const struct perfdata_attr *a = pd->nattrs ? &pd->attrs[0] : NULL;
	static const uint64_t order[] = {
		PERF_SAMPLE_TID, PERF_SAMPLE_TIME, PERF_SAMPLE_ID, PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,
		PERF_SAMPLE_IDENTIFIER,
	};
	size_t all = 0, at;

	/*
	 * The identifier is last. Records made by perf itself lack it and have the layout of the
	 * first event.
	 */
	if (pd->nattrs > 1 && a->sample_type & PERF_SAMPLE_IDENTIFIER && r->len >= 8) {
		const struct perfdata_attr *own = perfdata_find(pd, rec_u64(pd, r->body + r->len - 8));

		a = own ? own : a;
	}
	if (!a || !(a->flags & PERFDATA_SAMPLE_ID_ALL))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++)
		all += a->sample_type & order[i] ? 8 : 0;
	if (all > r->len)
		return;
	r->len = body_end(r, all);
	at = r->len;
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		if (!(a->sample_type & order[i]))
			continue;
		if (order[i] == PERF_SAMPLE_TID) {
			r->pid = rec_u32(pd, r->body + at);
			r->tid = rec_u32(pd, r->body + at + 4);
		}
		if (order[i] == PERF_SAMPLE_TIME)
			r->time = rec_u64(pd, r->body + at);
		if (order[i] == PERF_SAMPLE_CPU)
			r->cpu = rec_u32(pd, r->body + at);
		if (order[i] & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER))
			r->attr = perfdata_find(pd, rec_u64(pd, r->body + at));
		at += 8;
	}
}

/* @size: bytes of the record, header included. */
static struct perfdata_record parse(struct perfdata *pd, const uint8_t *rec, uint16_t size)
{
	struct perfdata_record r = {
		.type = rec_u32(pd, rec), .misc = rec_u16(pd, rec + 4), .body = rec + HEADER, .len = size - HEADER,
	};
	uint64_t cpu;

	r.spot = (struct perfdata_spot){ true, r.type, size, PERFDATA_NOWHERE };
	if (r.type != PERF_RECORD_SAMPLE) {
		take_sample_id(pd, &r);
		return r;
	}
	r.attr = sample_attr(pd, &r);
	if (!r.attr)
		return r;
	r.time = sample_field(pd, &r, r.attr->sample_type, PERF_SAMPLE_TIME);
	cpu = sample_field(pd, &r, r.attr->sample_type, PERF_SAMPLE_CPU);
	r.cpu = (uint32_t)(pd->swap ? cpu >> 32 : cpu);
	return r;
}

/*
 * Parses a record for use. One of a mapped file is copied first, and is valid until the next call:
 * another program may change the file between a check and a use.
 */
static struct perfdata_record parse_own(struct stream *s, const struct queued *q)
{
	const struct perfdata *pd = s->pd;
	struct perfdata_record r;

	if (q->chunk)
		return parse(s->pd, q->rec, q->size);
	memcpy(s->own, q->rec, q->size);
	r = parse(s->pd, s->own, q->size);
	if (q->rec >= pd->map && q->rec < pd->map + pd->size)
		r.spot.at = (uint64_t)(q->rec - pd->map);
	return r;
}

/* Calls the user's function, unless the file has shrunk: what is behind its end is no record. */
static int hand_over(struct stream *s, const struct perfdata_record *r)
{
	return mapped_shrank() ? perfdata_shrank(s->pd) : s->fn(s->ctx, r);
}

/* ---- order ---- */

static int queued_cmp(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

/* Memory of the queue: the bytes of its records, if they are not in the file, and its entries. */
static bool holds_more(const struct stream *s, size_t waiting, size_t hold)
{
	return s->held + waiting * sizeof(*s->queue) > hold;
}

/*
 * Delivers all records up to time @limit, and the oldest of the rest while more than @hold bytes
 * are held.
 */
static int deliver(struct stream *s, uint64_t limit, size_t hold)
{
	size_t i = 0;
	int err = 0;

	if (!s->n)
		return 0;
	qsort(s->queue, s->n, sizeof(*s->queue), queued_cmp);
	for (; i < s->n && !err && (s->queue[i].time <= limit || holds_more(s, s->n - i, hold)); i++) {
		const uint64_t time = s->queue[i].time;
		const struct perfdata_record r = parse_own(s, &s->queue[i]);

		/* In a file, an earlier pass has found all of them. */
		if (!s->pd->map && limit != UINT64_MAX && perfdata_deferred_waits(s->pd, &r) &&
		    !holds_more(s, s->n - i, s->pd->hold / DEFERRED_WAIT))
			break;
		/* Records made by perf itself have no time. */
		s->pd->late += time && time < s->delivered;
		s->delivered = MAX(s->delivered, time);
		err = hand_over(s, &r);
		chunk_put(s, s->queue[i].chunk);
	}
	s->n -= i;
	memmove(s->queue, s->queue + i, s->n * sizeof(*s->queue));
	return err;
}

static int take_record(struct stream *s, struct source *src, const uint8_t *rec, uint16_t size, struct chunk *chunk)
{
	struct queued q = { .seq = s->seq, .rec = rec, .chunk = chunk, .size = size };
	struct perfdata_record r = s->ordered ? parse(s->pd, rec, size) : parse_own(s, &q);

	if (r.type == PERFDATA_CALLCHAIN_DEFERRED && !s->pd->told)
		perfdata_deferred_note(s->pd, &r);
	if (!s->ordered)
		return hand_over(s, &r);
	q.time = r.time;
	s->seq++;
	XGROW(s->queue, s->n, s->cap);
	s->queue[s->n++] = q;
	if (chunk)
		chunk->refs++;
	src->newest = MAX(src->newest, r.time);
	s->newest = MAX(s->newest, r.time);
	/*
	 * Rounds are too large, or missing, as after perf inject. Deliver half, so that sorting
	 * stays rare.
	 */
	return holds_more(s, s->n, s->pd->hold) ? deliver(s, 0, s->pd->hold / 2) : 0;
}

static int take_round(struct stream *s)
{
	uint64_t limit = s->limit;

	s->limit = s->newest;
	/* With several files, the round would be that of one. perf writes none into these. */
	return s->ordered && limit && s->nsrc == 1 ? deliver(s, limit, SIZE_MAX) : 0;
}

/* ---- sources of records ---- */

static int decompress(struct stream *s, struct source *src, const uint8_t *rec, uint64_t size);

static int take(struct stream *s, struct source *src, const uint8_t *rec, uint64_t size, struct chunk *chunk, bool inner)
{
	uint32_t type = rec_u32(s->pd, rec);

	switch (type) {
	case PERFDATA_FINISHED_ROUND:
		return take_round(s);
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		/* perf never compresses twice. */
		return inner ? 0 : decompress(s, src, rec, size);
	default:
		if (type < PERFDATA_HEADER_ATTR)
			return size > UINT16_MAX ? 0 : take_record(s, src, rec, (uint16_t)size, chunk);
		if (s->pd->piped && !s->pd->told && size <= UINT16_MAX)
			perfdata_meta(s->pd, type, rec, (size_t)size);
		return 0;
	}
}

static void skip_text(struct perfdata *pd, struct feed *f, size_t n)
{
	f->begin += n;
	f->at += n;
	f->in_text = true;
	pd->text += n;
}

/* Delivers all whole records of @f. -EBADMSG: something that is not a record follows. */
static int feed_records(struct stream *s, struct source *src, struct feed *f, bool inner)
{
	for (;;) {
		const uint8_t *rec = f->cur ? f->cur->data + f->begin : NULL;
		uint64_t left = f->end - f->begin, size;
		size_t text;
		bool bad;
		int err;

		if (f->skip) {
			uint64_t n = MIN(f->skip, left);

			f->begin += n;
			f->at += n;
			f->skip -= n;
			if (f->skip || !(left - n))
				return 0;
			continue;
		}
		text = left && !inner ? text_size(s->pd, rec, left, false) : 0;
		if (text) {
			skip_text(s->pd, f, text);
			continue;
		}
		size = left ? rec_size(s->pd, rec, left, &bad) : 0;
		if (!left || (!size && !bad) || (size && size > left))
			return 0;
		if (bad) {
			note_end(s->pd, rec, left, inner ? PERFDATA_NOWHERE : f->at);
			return -EBADMSG;
		}
		f->begin += size;
		f->at += size;
		f->in_text = false;
		f->skip = inner ? 0 : rec_trailer(s->pd, rec, size);
		err = take(s, src, rec, size, f->cur, inner);
		if (err)
			return err;
	}
}

static int decompress(struct stream *s, struct source *src, const uint8_t *rec, uint64_t size)
{
	const bool has_len = rec_u32(s->pd, rec) == PERFDATA_COMPRESSED2;
	const uint8_t *packed = rec + HEADER + (has_len ? 8 : 0);
	size_t left = has_len ? rec_u64(s->pd, rec + HEADER) : size - HEADER, before;

	if (!src->zstd)
		src->zstd = codec_stream_new();
	do {
		uint8_t *to = feed_room(s, &src->inner, CHUNK / 4);
		size_t n = 0;
		int err;

		before = left;
		err = codec_stream(src->zstd, to, CHUNK / 4, &n, &packed, &left);
		src->inner.end += n;
		if (err)
			return -EBADMSG;
		err = feed_records(s, src, &src->inner, true);
		if (err)
			return err;
		/* Output that had no room comes with the next call, which has no input. */
		if (n < CHUNK / 4 && left == before)
			break;
	} while (true);
	return 0;
}

/* Delivers one record. -EBADMSG: something that is not a record follows. */
static int read_mapped(struct stream *s, struct source *src)
{
	const uint64_t left = src->end - src->at;
	const uint8_t *rec = src->map + src->at;
	uint64_t size, more;
	bool bad;

	if (s->pd->piped) {
		const size_t text = left > 1 || ends_line(rec) ? text_size(s->pd, rec, left, true) : 0;

		src->at += text;
		s->pd->text += s->pd->told ? 0 : text;
		if (text)
			return 0;
	}
	size = rec_size(s->pd, rec, left, &bad);
	/* For parts of a directory there is no offset: messages name the directory. */
	if (bad || !size || size > left)
		note_end(s->pd, rec, left, src == s->src ? src->at : PERFDATA_NOWHERE);
	if (bad)
		return -EBADMSG;
	if (!size || size > left) {
		s->pd->cut = true;
		src->at = src->end;
		return 0;
	}
	more = rec_trailer(s->pd, rec, size);
	src->at = more > left - size ? src->end : src->at + size + more;
	return take(s, src, rec, size, NULL, false);
}

/*
 * The source that is furthest behind, so that records of similar times come together; NULL: all are
 * at their end.
 */
static struct source *next_source(struct stream *s)
{
	struct source *found = NULL;

	for (size_t i = 0; i < s->nsrc; i++)
		if (s->src[i].at < s->src[i].end && (!found || s->src[i].newest < found->newest))
			found = &s->src[i];
	return found;
}

static int run_mapped(struct stream *s)
{
	struct source *src;

	while ((src = next_source(s))) {
		const uint64_t from = src->at;
		int err = 0;

		while (src->at < src->end && src->at - from < TURN && !err)
			err = read_mapped(s, src);
		/* The next record cannot be found, so this file ends here. */
		if (err == -EBADMSG) {
			s->pd->cut = true;
			src->at = src->end;
			err = 0;
		}
		if (err)
			return err;
	}
	return 0;
}

static int run_pipe(struct stream *s)
{
	struct source *src = s->src;

	for (;;) {
		uint8_t *to = feed_room(s, &src->in, CHUNK / 4);
		ssize_t n = read(s->pd->fd, to, CHUNK / 4);
		int err;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			pr_err("cannot read perf.data: %s", strerror(errno));
			return -errno;
		}
		if (!n)
			break;
		src->in.end += (size_t)n;
		err = feed_records(s, src, &src->in, false);
		if (err)
			return err;
	}
	if (!src->in.skip && src->in.end > src->in.begin &&
	    (src->in.end > src->in.begin + 1 || src->in.in_text || ends_line(src->in.cur->data + src->in.begin)))
		skip_text(s->pd, &src->in, text_size(s->pd, src->in.cur->data + src->in.begin, src->in.end - src->in.begin, true));
	if (src->in.end > src->in.begin)
		note_end(s->pd, src->in.cur->data + src->in.begin, src->in.end - src->in.begin, src->in.at);
	s->pd->cut |= src->in.end > src->in.begin || src->in.skip;
	return 0;
}

static void sources_init(struct stream *s)
{
	const struct perfdata *pd = s->pd;

	s->nsrc = 1 + pd->nparts;
	s->src = xcalloc(s->nsrc, sizeof(*s->src));
	s->src[0] = (struct source){ .map = pd->map, .at = pd->data, .end = pd->data_end, .in.at = pd->data };
	for (size_t i = 0; i < pd->nparts; i++)
		s->src[i + 1] = (struct source){ .map = pd->parts[i].map, .end = pd->parts[i].size };
}

static void sources_fini(struct stream *s)
{
	for (size_t i = 0; i < s->nsrc; i++) {
		chunk_put(s, s->src[i].in.cur);
		chunk_put(s, s->src[i].inner.cur);
		codec_stream_free(s->src[i].zstd);
	}
	free(s->src);
}

int perfdata_each(struct perfdata *pd, bool ordered, int (*fn)(void *ctx, const struct perfdata_record *r), void *ctx)
{
	struct stream s = { .pd = pd, .ordered = ordered, .fn = fn, .ctx = ctx };
	int err;

	s.own = pd->map ? xmalloc(UINT16_MAX) : NULL;
	sources_init(&s);
	err = pd->map ? run_mapped(&s) : run_pipe(&s);
	/* The next record cannot be found, so reading ends here. */
	if (err == -EBADMSG) {
		pd->cut = true;
		err = 0;
	}
	for (size_t i = 0; i < s.nsrc; i++)
		pd->cut |= s.src[i].inner.end > s.src[i].inner.begin;
	if (!err)
		err = deliver(&s, UINT64_MAX, SIZE_MAX);
	while (s.n)
		chunk_put(&s, s.queue[--s.n].chunk);
	sources_fini(&s);
	free(s.queue);
	free(s.own);
	if (!err && mapped_shrank())
		err = perfdata_shrank(pd);
	pd->told = true;
	return err;
}
