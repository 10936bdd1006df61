/* One pass over the events (stream_pass.h). */
#include "recording/stream_pass.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/cursor.h"
#include "base/util.h"
#include "recording.h"
#include "recording/event_codec.h"
#include "samples/switch_codec.h"

/* A loaded block. */
struct staged {
	bool there;
	size_t i;		/* its number */
	int err;		/* from loading it */
	struct rec_block_header h;
	struct rec_buf buf;
	bool unpacked;		/* it is a valid STREAM block, */
	struct stream_parts parts;	/* and these are its parts */
	bool ahead;		/* its samples are being decoded */
	struct switch_dec *switches;	/* owned; NULL until there are some */
	bool switches_tried;	/* to decode those of the block, with this result */
	int switches_err;
};

struct pass {
	struct stream_source *src;
	const struct event_ops *ops;
	void *ctx;
	struct staged stage[SAMPLE_AHEAD_BLOCKS];	/* by number */
	struct stream_parts *parts;	/* of the current block */
	bool ahead;		/* its samples come from src->ahead */
	bool samples_ok;	/* nothing is missing since the KEY block */
	uint32_t part;		/* parts that have begun */
	bool wanted;		/* the current part is wanted */
	uint64_t delivered;	/* samples */
	uint64_t time;		/* of the side-band coding */
	struct switch_dec *switches;	/* of the current block, */
	const struct ev_switch *sw;	/* and the next of them; NULL: there is none */
	int ret;		/* what a callback returned */
};

/* ---- loaded blocks ---- */

/* Block number @i; loads it unless it is loaded. */
static struct staged *stage(struct pass *p, size_t i)
{
	struct staged *st = &p->stage[i % ARRAY_SIZE(p->stage)];
	const void *payload;

	if (st->there && st->i == i)
		return st;
	st->there = true;
	st->i = i;
	st->ahead = st->unpacked = st->switches_tried = false;
	st->err = rec_block_load_to(p->src->file, p->src->file->blk[i].off, &st->buf, &st->h, &payload);
	if (!st->err && st->h.type == REC_STREAM)
		st->unpacked = !stream_unpack(p->src->stream, payload, st->h.stored_len, st->h.raw_len, &st->parts);
	return st;
}

/* Is a block missing before number @i that later samples may depend on? */
static bool follows_gap(const struct rec_file *f, size_t i)
{
	return f->blk[i].seq != (i ? f->blk[i - 1].seq + 1 : 0);
}

/* Number of samples in a block according to its ORDER, which may be wrong. */
static uint64_t samples_in(struct cursor order)
{
	uint64_t n = 0;

	while (cursor_left(&order)) {
		if (__builtin_add_overflow(n, cursor_varint(&order), &n))
			return UINT64_MAX;
		if (cursor_left(&order))
			cursor_varint(&order);
	}
	return n;
}

/* Decode the switches of the block, once. -EBADMSG: they are damaged, and there are none. */
static int decode_switches(struct staged *st)
{
	if (st->switches_tried)
		return st->switches_err;
	st->switches_tried = true;
	if (!st->switches)
		st->switches = switch_dec_new();
	st->switches_err = switch_decode(st->switches, &st->parts.switches) ? -EBADMSG : 0;
	return st->switches_err;
}

static struct sample_block block_of(struct staged *st)
{
	const struct stream_parts *parts = &st->parts;
	struct sample_block b = {
		.code = parts->code, .symbols = parts->symbols, .plain = parts->plain,
		.n = samples_in(parts->order), .has_marks = parts->marks,
	};

	if (parts->marks && parts->switches.symbols && !decode_switches(st))
		b.marks = switch_dec_marks(st->switches, &b.nmarks);
	return b;
}

static void decode_ahead(struct pass *p, struct staged *st)
{
	struct sample_block b;

	if (st->ahead)
		return;
	b = block_of(st);
	sample_ahead_add(p->src->ahead, &b);
	st->ahead = true;
}

/* Start on the samples of block @i if they continue the previous ones. */
static void look_ahead(struct pass *p, size_t i)
{
	const struct rec_file *f = p->src->file;
	struct staged *st;

	if (i == f->nblk || f->blk[i].type != REC_STREAM || f->blk[i].flags & REC_F_KEY || follows_gap(f, i))
		return;
	st = stage(p, i);
	if (!st->err && st->unpacked && !(st->h.flags & REC_F_KEY))
		decode_ahead(p, st);
}

/* Samples after the current ones depend on missing data. */
static void drop_ahead(struct pass *p)
{
	if (p->src->ahead)
		sample_ahead_cancel(p->src->ahead);
	for (size_t i = 0; i < ARRAY_SIZE(p->stage); i++)
		p->stage[i].ahead = false;
}

/* ---- what is in a block ---- */

/* Start on the switches of the block. -EBADMSG: they are damaged, and there are none. */
static int begin_switches(struct pass *p, struct staged *st)
{
	p->sw = NULL;
	if (!st->parts.switches.symbols || !p->ops->cpu_switch)
		return 0;
	if (decode_switches(st))
		return -EBADMSG;
	p->switches = st->switches;
	p->sw = switch_dec_peek(p->switches);
	return 0;
}

/* Deliver the switches that are older than @time, or all of them. */
static void pass_switches(struct pass *p, uint64_t time, bool all)
{
	while (p->sw && !p->ret && (all || p->sw->time < time)) {
		p->ret = p->ops->cpu_switch(p->ctx, p->sw);
		switch_dec_take(p->switches);
		p->sw = switch_dec_peek(p->switches);
	}
}

/*
 * Deliver a run of samples while they are valid. Damage clears samples_ok; events continue without
 * them.
 */
static void pass_samples(struct pass *p, uint64_t run)
{
	struct ev_sample ev;

	if (!p->wanted && run && p->ops->skipped)
		p->ops->skipped(p->ctx, run);
	while (run-- && p->samples_ok && !p->ret) {
		if (p->ahead ? sample_ahead_next(p->src->ahead, &ev) : sample_dec_next(p->src->samples, &ev)) {
			p->samples_ok = false;
			return;
		}
		p->delivered++;
		pass_switches(p, ev.time, false);
		if (p->ops->sample && !p->ret)
			p->ret = p->ops->sample(p->ctx, &ev);
	}
}

static int pass_events(struct pass *p, uint64_t run)
{
	uint64_t time;

	/*
	 * Wake-ups are wanted in the order of time among the switches. Events that the recorder dates
	 * itself, when it reads a container's state or a process's maps, are newer than samples behind
	 * them. Switches that went by these would overtake the samples of their waits.
	 */
	while (run-- && !p->ret) {
		if (p->sw && event_dec_wakeup_time(&p->parts->events, p->time, &time))
			pass_switches(p, time, false);
		if (p->ret)
			break;
		if (event_dec_next(&p->parts->events, &p->time, p->ops, p->ctx, &p->ret))
			return -EBADMSG;
	}
	return 0;
}

/* -EBADMSG when the events are invalid. */
static int pass_order(struct pass *p)
{
	struct cursor *order = &p->parts->order;

	while (cursor_left(order) && !p->ret) {
		pass_samples(p, cursor_varint(order));
		if (pass_events(p, cursor_left(order) ? cursor_varint(order) : 0) ||
		    !cursor_ok(order)) {
			p->samples_ok = false;
			return -EBADMSG;
		}
	}
	return 0;
}

/* Start on the samples of @st, if they can be decoded. */
static void begin_samples(struct pass *p, struct staged *st)
{
	struct sample_block b;

	p->ahead = p->src->ahead && p->samples_ok;
	if (p->ahead) {
		decode_ahead(p, st);
		look_ahead(p, st->i + 1);
	} else if (p->samples_ok) {
		b = block_of(st);
		sample_dec_block(p->src->samples, &b);
	}
}

/* Were all samples of @st taken, with none left over? */
static bool end_samples(struct pass *p, struct staged *st)
{
	bool done = p->ahead ? sample_ahead_end(p->src->ahead) : sample_dec_done(p->src->samples);

	st->ahead = false;
	if (!done)
		drop_ahead(p);
	return done && p->delivered == st->h.samples;
}

/* -EBADMSG when the block's content is damaged. */
static int pass_stream(struct pass *p, struct staged *st)
{
	int err, switches_err;
	bool sound;

	if (st->h.flags & REC_F_KEY && p->wanted) {
		p->samples_ok = true;
		sample_dec_key(p->src->samples);
		if (p->src->ahead)
			sample_ahead_key(p->src->ahead);
	}
	sound = p->samples_ok;
	if (sound && p->ops->block)
		p->ops->block(p->ctx);
	p->time = 0;
	if (!st->unpacked) {
		p->samples_ok = false;
		return -EBADMSG;
	}
	p->parts = &st->parts;
	switches_err = begin_switches(p, st);
	begin_samples(p, st);
	err = pass_order(p);
	pass_switches(p, 0, true);
	if (sound && !end_samples(p, st) && !p->ret)
		p->samples_ok = false;
	if (err || switches_err)
		return -EBADMSG;
	return sound && !p->samples_ok ? -EBADMSG : 0;
}

/* ---- all blocks ---- */

/* Before block @i: does a new part begin, and is it wanted? */
static void pass_part(struct pass *p, size_t i)
{
	const struct stream_source *src = p->src;

	if (!p->ops->wants) {
		p->wanted = true;
	} else if (p->part < src->nparts && i == src->parts[p->part]) {
		p->samples_ok = false;
		p->wanted = p->ops->wants(p->ctx, p->part++);
	}
}

static void note_bad(struct rec_damage *d, uint64_t off)
{
	if (!d->bad_blocks++ || off < d->first_bad)
		d->first_bad = off;
}

/* Process block @i. 0 or negative errno of a read. */
static int pass_block(struct pass *p, size_t i, struct rec_damage *damage)
{
	const struct rec_block *b = &p->src->file->blk[i];
	struct staged *st;
	int err;

	if (follows_gap(p->src->file, i))
		p->samples_ok = false;
	pass_part(p, i);
	/*
	 * Decoding of block @i may have started anyway, if the damage came after the previous
	 * samples.
	 */
	if (!p->samples_ok)
		drop_ahead(p);
	p->delivered = 0;
	st = stage(p, i);
	err = st->err;
	if (err && err != -EBADMSG)
		return err;
	if (!err && st->h.type == REC_STREAM)
		err = pass_stream(p, st);
	else if (err && b->type == REC_STREAM)
		p->samples_ok = false;
	/* The readers of other parts count the damage in them. */
	if (!p->wanted)
		return 0;
	if (err)
		note_bad(damage, b->off);
	if (b->type == REC_STREAM && !p->ret && b->samples > p->delivered)
		damage->lost_samples += b->samples - p->delivered;
	return 0;
}

int stream_pass(struct stream_source *src, const struct event_ops *ops, void *ctx, struct rec_damage *damage, int *ret)
{
	struct pass p = { .src = src, .ops = ops, .ctx = ctx };
	int err = 0;

	for (size_t i = 0; i < src->file->nblk && !p.ret && !err; i++)
		err = pass_block(&p, i, damage);
	/* A callback or an error may have ended the pass. */
	drop_ahead(&p);
	for (size_t i = 0; i < ARRAY_SIZE(p.stage); i++) {
		rec_buf_fini(&p.stage[i].buf);
		stream_parts_fini(&p.stage[i].parts);
		switch_dec_free(p.stage[i].switches);
	}
	*ret = p.ret;
	return err;
}
