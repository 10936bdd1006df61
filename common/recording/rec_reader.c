#include "recording/rec_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/filekind.h"
#include "recording.h"
#include "recording/ledger_codec.h"
#include "recording/rec_input.h"
#include "recording/rec_scan.h"
#include "recording/rec_table.h"
#include "recording/stream_codec.h"
#include "recording/stream_pass.h"
#include "samples/sample_ahead.h"
#include "samples/sample_codec.h"
#include "slice/slice_codec.h"

#define MAX_INFO 4096u		/* settings; a recorder writes about twenty */

struct setting {
	char *key, *val;
};

struct rec_reader {
	char *name; /* for messages: 'nsprof.data' in quotes, or standard input */
	int fd;
	struct rec_file file;
	uint32_t version;		/* from the file header, as the start */
	uint64_t start;			/* ns of CLOCK_MONOTONIC */
	bool source_cut;		/* imported from an incomplete perf.data */
	struct setting *info;
	size_t ninfo, info_cap;
	struct rec_damage damage;
	struct stream_source src;	/* owned, except the file */
};

/* ---- opening ---- */

static void foreign(const struct rec_reader *r, uint64_t size)
{
	uint8_t head[FILEKIND_HEAD];
	const size_t n = MIN(size, sizeof(head));
	const char *kind = rec_pread(r->fd, head, n, 0) ? NULL : filekind_text(head, n);

	if (kind)
		pr_err("%s is not an nsprof recording; it is %s", r->name, kind);
	else
		pr_err("%s is not an nsprof recording or a perf.data file", r->name);
}

static int check_header(const struct rec_reader *r, uint64_t size, struct rec_file_header *h)
{
	size_t n = MIN(size, sizeof(*h));
	int err;

	if (!size) {
		pr_err("%s is empty, not an nsprof recording", r->name);
		return -EINVAL;
	}
	memset(h, 0, sizeof(*h));
	err = rec_pread(r->fd, h, n, 0);
	if (err) {
		pr_err("cannot read %s: %s", r->name, strerror(-err));
		return err;
	}
	if (memcmp(h->magic, REC_MAGIC, MIN(n, REC_MAGIC_LEN))) {
		foreign(r, size);
		return -EINVAL;
	}
	if (n < sizeof(*h)) {
		pr_err("%s is cut inside its header: there is nothing to read", r->name);
		return -EINVAL;
	}
	if (h->version != REC_VERSION_PLAIN && h->version != REC_VERSION) {
		pr_err("%s has format version %u; this nsprof reads versions %u and %u", r->name,
		       h->version, REC_VERSION_PLAIN, REC_VERSION);
		return -EINVAL;
	}
	if (h->header_size < REC_HEADER_MIN || h->header_size > REC_HEADER_MAX ||
	    h->arch != REC_ARCH_X86_64) {
		pr_err("%s has a damaged header, or is from an architecture that nsprof does not support (%u)",
		       r->name, h->arch);
		return -EINVAL;
	}
	return 0;
}

static struct setting *find_setting(const struct rec_reader *r, const char *key)
{
	for (size_t i = 0; i < r->ninfo; i++)
		if (!strcmp(r->info[i].key, key))
			return &r->info[i];
	return NULL;
}

static void add_setting(struct rec_reader *r, const char *key, const char *val)
{
	struct setting *s = find_setting(r, key);

	if (s) {		/* repeated: the last value counts */
		free(s->val);
		s->val = xstrdup(val);
		return;
	}
	XGROW(r->info, r->ninfo, r->info_cap);
	r->info[r->ninfo++] = (struct setting){ xstrdup(key), xstrdup(val) };
}

static void parse_info(struct rec_reader *r, const void *data, size_t len)
{
	struct cursor c;

	cursor_init(&c, data, len);
	while (cursor_left(&c) && r->ninfo < MAX_INFO) {
		const char *key = cursor_cstr(&c);
		const char *val = cursor_cstr(&c);

		if (!cursor_ok(&c))
			return;
		add_setting(r, key, val);
	}
}

static int read_error(const struct rec_reader *r, int err)
{
	pr_err("cannot read %s: %s", r->name, strerror(-err));
	return -EIO;
}

static void source_init(struct rec_reader *r)
{
	r->src.file = &r->file;
	r->src.stream = stream_dec_new(r->version == REC_VERSION);
}

/* Made when samples are read and freed afterwards: naming them needs the memory. */
static void make_decoder(struct rec_reader *r)
{
	if (r->src.samples)
		return;
	r->src.samples = sample_dec_new();
	if (r->version == REC_VERSION)
		sample_dec_events(r->src.samples);
}

static void free_decoder(struct rec_reader *r)
{
	/* A thread may be using it. */
	if (r->src.ahead)
		return;
	sample_dec_free(r->src.samples);
	r->src.samples = NULL;
}

struct rec_reader *rec_reader_open(const char *path)
{
	const char *event = NULL;

	return rec_reader_open_event(path, &event);
}

struct rec_reader *rec_reader_open_event(const char *path, const char **event)
{
	struct rec_reader *r = xcalloc(1, sizeof(*r));
	struct rec_block_header h;
	struct rec_file_header fh;
	const void *raw;
	uint64_t size = 0;
	char text[32];
	int err;

	r->name = strcmp(path, "-") ? xasprintf("'%s'", path) : xstrdup("standard input");
	r->fd = rec_input_open(path, r->name, event, &size);
	if (r->fd < 0 || check_header(r, size, &fh))
		goto fail;
	r->version = fh.version;
	r->start = fh.start_mono_ns;
	/* From the file header, but available like the other settings. */
	snprintf(text, sizeof(text), "%" PRIu64, fh.start_wall_ns);
	add_setting(r, "start_wall_ns", text);
	rec_file_init(&r->file, r->fd, size);
	source_init(r);
	err = rec_scan(&r->file, fh.header_size);
	for (size_t i = 0; !err && i < r->file.nblk; i++) {
		if (r->file.blk[i].type != REC_INFO)
			continue;
		err = rec_block_load_raw(&r->file, r->file.blk[i].off, &h, &raw);
		if (!err && h.type == REC_INFO)
			parse_info(r, raw, h.raw_len);
		else if (err == -EBADMSG)
			err = 0;	/* counted by rec_reader_events() */
	}
	if (err) {
		read_error(r, err);
		goto fail;
	}
	r->source_cut = find_setting(r, "imported_cut");
	return r;
fail:
	rec_reader_close(r);
	return NULL;
}

void rec_reader_close(struct rec_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->ninfo; i++) {
		free(r->info[i].key);
		free(r->info[i].val);
	}
	free(r->info);
	rec_file_fini(&r->file);
	free(r->src.parts);
	stream_dec_free(r->src.stream);
	sample_ahead_free(r->src.ahead);
	sample_dec_free(r->src.samples);
	if (r->fd >= 0)
		close(r->fd);
	free(r->name);
	free(r);
}

/* ---- settings ---- */

const char *rec_reader_info(const struct rec_reader *r, const char *key)
{
	const struct setting *s = find_setting(r, key);

	return s ? s->val : NULL;
}

bool rec_reader_info_next(const struct rec_reader *r, size_t *it, const char **key,
			  const char **val)
{
	if (*it >= r->ninfo)
		return false;
	*key = r->info[*it].key;
	*val = r->info[(*it)++].val;
	return true;
}

/* ---- parts ---- */

/* Does block @b begin a part? Checks the block itself, as the table may come from the index. */
static bool begins_part(struct rec_reader *r, const struct rec_block *b)
{
	struct rec_block_header h;
	const void *payload;

	return b->type == REC_STREAM && b->flags & REC_F_KEY &&
	       !rec_block_load(&r->file, b->off, &h, &payload) && h.type == REC_STREAM &&
	       h.flags & REC_F_KEY;
}

uint32_t rec_reader_parts(struct rec_reader *r, uint64_t *samples)
{
	const struct rec_file *f = &r->file;
	size_t cap = 0;

	*samples = 0;
	for (size_t i = 0; i < f->nblk; i++)
		*samples += f->blk[i].samples;
	if (r->src.parts)
		return r->src.nparts;
	XGROW(r->src.parts, r->src.nparts, cap);
	r->src.parts[r->src.nparts++] = 0;
	for (size_t i = 0, first = 0; i < f->nblk; i++) {
		if (!begins_part(r, &f->blk[i]))
			continue;
		/* The first part begins with the file. */
		if (!first++)
			continue;
		XGROW(r->src.parts, r->src.nparts, cap);
		r->src.parts[r->src.nparts++] = (uint32_t)i;
	}
	return r->src.nparts;
}

struct rec_reader *rec_reader_again(const struct rec_reader *from)
{
	struct rec_reader *r = xcalloc(1, sizeof(*r));

	r->fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 3);
	if (r->fd < 0) {
		free(r);
		return NULL;
	}
	r->name = xstrdup(from->name);
	r->version = from->version;
	r->start = from->start;
	rec_file_copy(&r->file, &from->file, r->fd);
	if (from->src.parts)
		r->src.parts = xmemdup(from->src.parts, from->src.nparts * sizeof(*r->src.parts));
	r->src.nparts = from->src.nparts;
	source_init(r);
	return r;
}

/* ---- events ---- */

void rec_reader_work_ahead(struct rec_reader *r)
{
	make_decoder(r);
	if (!r->src.ahead)
		r->src.ahead = sample_ahead_new(r->src.samples);
}

int rec_reader_events(struct rec_reader *r, const struct event_ops *ops, void *ctx)
{
	const struct rec_file *f = &r->file;
	uint64_t samples;
	int ret, err;

	if (ops->wants)
		rec_reader_parts(r, &samples);
	r->damage = (struct rec_damage){
		.cut = !f->complete || r->source_cut, .cut_at = f->complete ? 0 : f->cut_at,
		.bad_blocks = f->bad, .first_bad = f->first_bad, .behind = f->behind,
	};
	make_decoder(r);
	err = stream_pass(&r->src, ops, ctx, &r->damage, &ret);
	free_decoder(r);
	return err ? read_error(r, err) : ret;
}

void rec_reader_join_damage(struct rec_reader *r, struct rec_reader *const *others, size_t n)
{
	const struct rec_file *f = &r->file;
	struct rec_damage *d = &r->damage;

	*d = others[0]->damage;
	for (size_t i = 1; i < n; i++) {
		const struct rec_damage *o = &others[i]->damage;

		if (o->bad_blocks && (!d->bad_blocks || o->first_bad < d->first_bad))
			d->first_bad = o->first_bad;
		/* Every reader has counted the damaged stretches. */
		d->bad_blocks += o->bad_blocks - f->bad;
		d->lost_samples += o->lost_samples;
	}
}

/* ---- captures ---- */

/* One capture, gathered from its blocks. */
struct gather {
	bool open;
	struct capture cap;
	struct strbuf data;
	uint32_t seq;		/* of the block that must come next */
	struct slice_dec *slices;	/* owned; NULL until one is needed */
	bool keep_packed;
};

static int gather_slice(struct gather *g, const void *data, size_t len)
{
	if (!g->slices)
		g->slices = slice_dec_new();
	return slice_unpack(g->slices, data, len, g->cap.size, &g->data);
}

static void gather_block(struct gather *g, const struct rec_block_header *h, const void *raw)
{
	struct rec_capture_header ch;
	size_t len = h->raw_len;

	if (h->flags & REC_F_CONT) {
		if (!g->open || h->seq != g->seq) {
			g->open = false;
			return;
		}
	} else {
		g->open = false;
		if (len < sizeof(ch))
			return;
		memcpy(&ch, raw, sizeof(ch));
		if (ch.size > REC_CAPTURE_MAX)
			return;
		g->open = true;
		g->cap = (struct capture){ .kind = ch.kind, .id = ch.id, .size = ch.size };
		strbuf_reset(&g->data);
		raw = (const char *)raw + sizeof(ch);
		len -= sizeof(ch);
	}
	if (h->flags & REC_F_SLICE && g->keep_packed) {
		g->open = !(h->flags & REC_F_CONT) && len;
		g->cap.packed = len;
		g->cap.data = raw;
		return;
	}
	if (h->flags & REC_F_SLICE) {
		g->open = !(h->flags & REC_F_CONT) && !gather_slice(g, raw, len);
		return;
	}
	if (len > g->cap.size - g->data.len) {
		g->open = false;
		return;
	}
	strbuf_add(&g->data, raw, len);
	g->seq = h->seq + 1;
}

static int each_capture(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap),
			void *ctx, bool keep_packed)
{
	struct gather g = { .keep_packed = keep_packed };
	int ret = 0;

	for (size_t i = 0; i < r->file.nblk && !ret; i++) {
		struct rec_block_header h;
		const void *raw;
		int err;

		if (r->file.blk[i].type != REC_CAPTURE)
			continue;
		err = rec_block_load_raw(&r->file, r->file.blk[i].off, &h, &raw);
		if (err && err != -EBADMSG) {
			ret = read_error(r, err);
			break;
		}
		if (err || h.type != REC_CAPTURE) {
			g.open = false;
			continue;
		}
		gather_block(&g, &h, raw);
		if (g.open && (g.cap.packed || g.data.len == g.cap.size)) {
			g.open = false;
			if (!g.cap.packed)
				g.cap.data = g.data.s;
			ret = fn(ctx, &g.cap);
		}
	}
	strbuf_fini(&g.data);
	slice_dec_free(g.slices);
	return ret;
}

int rec_reader_captures(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap),
			void *ctx)
{
	return each_capture(r, fn, ctx, false);
}

int rec_reader_captures_packed(struct rec_reader *r,
			       int (*fn)(void *ctx, const struct capture *cap), void *ctx)
{
	return each_capture(r, fn, ctx, true);
}

/* ---- ledger and damage ---- */

bool rec_reader_ledger(struct rec_reader *r, struct ev_ledger *out)
{
	bool found = false;

	for (size_t i = 0; i < r->file.nblk; i++) {
		struct rec_block_header h;
		const void *raw;

		if (r->file.blk[i].type != REC_LEDGER ||
		    rec_block_load_raw(&r->file, r->file.blk[i].off, &h, &raw) ||
		    h.type != REC_LEDGER)
			continue;
		ledger_dec(raw, h.raw_len, out);
		found = true;
	}
	return found;
}

bool rec_reader_misses_wakeups(struct rec_reader *r)
{
	struct ev_ledger l;

	return !rec_reader_ledger(r, &l) || l.lost_wakeups;
}

/* ---- tables ---- */

/* Receiver of the rows of a table: one of the two. */
struct table_to {
	int (*tally)(void *ctx, const struct ev_tally *row);
	int (*counts)(void *ctx, const struct ev_counts *row);
	void *ctx;
};

static int give_row(const struct table_to *to, const uint64_t *row)
{
	struct ev_counts c;
	struct ev_tally t;

	if (to->tally) {
		tally_dec(row, &t);
		return to->tally(to->ctx, &t);
	}
	counts_dec(row, &c);
	return to->counts(to->ctx, &c);
}

/* Read all rows of the blocks of @type. Returns as rec_reader_tally(). */
static int read_tables(struct rec_reader *r, enum rec_block_type type, const struct table_to *to)
{
	for (size_t i = 0; i < r->file.nblk; i++) {
		struct rec_block_header h;
		struct rec_table t;
		const void *raw;
		int err, ret;

		if (r->file.blk[i].type != type)
			continue;
		err = rec_block_load_raw(&r->file, r->file.blk[i].off, &h, &raw);
		if (err && err != -EBADMSG)
			return read_error(r, err);
		if (err || h.type != type || rec_table_open(&t, raw, h.raw_len))
			continue;
		while (rec_table_next(&t) > 0) {
			ret = give_row(to, t.row);
			if (ret)
				return ret;
		}
	}
	return 0;
}

int rec_reader_tally(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_tally *row),
		     void *ctx)
{
	struct table_to to = { .tally = fn, .ctx = ctx };

	return read_tables(r, REC_TALLY, &to);
}

int rec_reader_counts(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_counts *row),
		      void *ctx)
{
	struct table_to to = { .counts = fn, .ctx = ctx };

	return read_tables(r, REC_COUNTS, &to);
}

uint32_t rec_reader_version(const struct rec_reader *r)
{
	return r->version;
}

uint64_t rec_reader_start(const struct rec_reader *r)
{
	return r->start;
}

const struct rec_damage *rec_reader_damage(const struct rec_reader *r)
{
	return &r->damage;
}

void rec_reader_warn_damage(const struct rec_reader *r)
{
	const struct rec_damage *d = &r->damage;

	if (r->source_cut)
		pr_warn("%s was imported from a perf.data that is cut or damaged: it has only what could be read", r->name);
	if (d->bad_blocks)
		pr_warn("%s is damaged in %llu place%s, first at byte %llu: %llu sample%s could not be read%s",
			r->name, (unsigned long long)d->bad_blocks, plural(d->bad_blocks),
			(unsigned long long)d->first_bad, (unsigned long long)d->lost_samples, plural(d->lost_samples),
			d->cut ? ", and it is cut at its end" : "");
	else if (!r->file.complete)
		pr_warn("%s is cut after %.*f %s: the recorder did not end properly or the file was not copied whole; everything before that is shown",
			r->name, d->cut_at < 1000000 ? 1 : 3, (double)d->cut_at / (d->cut_at < 1000000 ? 1e3 : 1e6), d->cut_at < 1000000 ? "kB" : "MB");
	if (d->behind)
		pr_warn("%s has %llu more byte%s after its end, not read: if recordings are concatenated, only the first one is read",
			r->name, (unsigned long long)d->behind, plural(d->behind));
}

bool rec_reader_check_whole(const struct rec_reader *r)
{
	const struct rec_damage *d = &r->damage;
	const bool whole = !d->cut && !d->bad_blocks && !d->behind;

	if (!whole)
		rec_reader_warn_damage(r);
	return whole;
}

uint64_t rec_reader_size(const struct rec_reader *r)
{
	return r->file.size;
}
