#include "run/spool.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "capture/caplist.h"
#include "capture/capture_thread.h"
#include "host/clock.h"
#include "host/opener_loss.h"
#include "procs/proc.h"
#include "procs/proctab.h"
#include "recording/rec_writer.h"
#include "run/output.h"
#include "run/sched_times.h"
#include "run/summary.h"
#include "sink/drain.h"
#include "sink/sink.h"

void spool_init(struct spool *sp, uint64_t now_ns)
{
	sp->since = now_ns;
	sp->closing = (struct closing){ .fd = -1 };
	/* A dump begins where its first segment begins, so rows stay with their segments. */
	if (sp->o->overwrite) {
		sp->ledger->tally.w = NULL;
		ledger_restart(sp->ledger, now_ns);
	}
}

bool spool_switches(const struct record_opts *o)
{
	return o->switch_output || o->overwrite;
}

void spool_ask(struct spool *sp, uint64_t now_ns)
{
	sp->asked = now_ns;
}

bool spool_hurries(const struct spool *sp)
{
	return sp->ending || (sp->asked && sp->o->overwrite);
}

int spool_fd(const struct spool *sp)
{
	return sp->thread ? capture_thread_fd(sp->thread) : -1;
}

/* ---- completing a finished file ---- */

static int complain(const char *name, int err)
{
	pr_err("cannot write '%s': %s%s", name, strerror(-err),
	       err == -ENOSPC ? "; make room, or use -o on another file system" :
	       err == -EPIPE ? "; its reader has ended" : "");
	return err;
}

/* Tells the process table about lists that it did not make. */
static void tell_lists(struct spool *sp)
{
	proctab_lists(sp->pt, sp->lists, sp->nkept, sp->closing.list, sp->closing.out);
}

static void begin_closing(struct spool *sp, struct rec_out *out, int fd, const char *name,
			  struct caplist *list, const struct ledger_part *part, uint64_t start)
{
	int err = 0;

	sp->closing = (struct closing){
		.out = out, .fd = fd, .name = name, .list = list, .part = *part,
		.start = start, .since = clock_mono_ns(),
	};
	tell_lists(sp);
	if (!sp->thread)
		sp->thread = capture_thread_new(&err);
	if (err)
		pr_verbose("no thread for captures: %s", strerror(-err));
}

static void end_closing(struct spool *sp)
{
	struct closing *c = &sp->closing;

	caplist_free(c->list, &sp->pt->files.pins);
	ledger_part_fini(&c->part);
	close(c->fd);
	*c = (struct closing){ .fd = -1 };
	tell_lists(sp);
}

/* Adds only the sums. A dump of the flight recorder is reported alone, because dumps overlap. */
static void add_total(struct spool *sp, const struct ledger_part *part, uint64_t bytes)
{
	struct ledger_part sums = { .l = part->l, .start = part->start, .counts = part->counts, .ncounts = part->ncounts };

	if (sp->o->overwrite)
		return;
	ledger_part_add(&sp->total, &sums);
	sp->total_bytes += bytes;
	sp->files++;
}

static int complete(struct spool *sp)
{
	struct closing *c = &sp->closing;
	uint64_t bytes;
	int err = rec_out_close(c->out, &bytes);

	pr_verbose("'%s' was complete %.0f ms after its last sample, rows for %zu files captured",
		   c->name, (double)(clock_mono_ns() - c->since) / 1e6, c->list->n);
	if (err) {
		complain(c->name, err);
	} else if (c->last) {
		ledger_part_add(&sp->total, &c->part);
		sp->total_bytes = bytes;
		sp->files = 1;
		sp->last = c->name;
	} else {
		summary_file(&c->part.l, c->name, bytes);
		add_total(sp, &c->part, bytes);
		sp->last = c->name;
	}
	end_closing(sp);
	return err;
}

/* Gives the next capture to the thread. False when there are no more. */
static bool next_capture(struct spool *sp)
{
	struct closing *c = &sp->closing;
	struct cap_entry *e;

	while ((e = caplist_next(c->list))) {
		if (!capture_prepare(sp->pt, c->list, e, &c->job))
			continue;
		c->busy = true;
		if (sp->thread)
			capture_thread_give(sp->thread, &c->job);
		else
			capture_job_run(&c->job);
		return true;
	}
	return false;
}

/*
 * Continues as far as possible without waiting, or with @wait to the end. 0, or negative errno
 * after a message.
 */
static int step_closing(struct spool *sp, bool wait)
{
	struct closing *c = &sp->closing;

	while (c->out && !c->ended) {
		if (c->busy) {
			if (sp->thread && !capture_thread_ended(sp->thread, wait))
				return 0;
			c->busy = false;
			/* An error stays with the file. */
			capture_finish(sp->pt, c->out, &c->job);
			if (!wait)
				break;
		}
		if (next_capture(sp))
			continue;
		ledger_part_write(&c->part, sp->w, c->out, c->start);
		rec_out_finish(sp->w, c->out);
		c->ended = true;
	}
	if (!c->out || (!wait && !(c->ended && rec_out_done(c->out))))
		return 0;
	return complete(sp);
}

static bool is_missing(void *pt, const struct opener_miss *m)
{
	return proctab_misses(pt, m->dev, m->mappings ? m->pid : 0);
}

static void cut_ledger(struct spool *sp, uint64_t now, bool last, struct ledger_part *part)
{
	sink_settle(sp->sink);
	opener_misses_settle(is_missing, sp->pt);
	sp->ledger->l.unread = opener_unread();
	ledger_cut(sp->ledger, sp->ev, now, now - sp->since, last, part);
}

/* ---- a series of files ---- */

/*
 * The next file could not begin: the present one gets the rows that it still needs, and is the
 * last.
 */
static int stay(struct spool *sp, struct caplist *list, int err)
{
	struct cap_entry *e;

	while ((e = caplist_next(list))) {
		struct capture_job job;

		if (!capture_prepare(sp->pt, list, e, &job))
			continue;
		capture_job_run(&job);
		capture_finish(sp->pt, NULL, &job);
	}
	caplist_free(list, &sp->pt->files.pins);
	return err;
}

static int turn(struct spool *sp, uint64_t now)
{
	struct caplist *list;
	uint64_t bytes = rec_writer_bytes(sp->w);
	int fd = sp->out->fd, err;
	const uint64_t start = rec_writer_start(sp->w);
	struct ledger_part part;
	struct rec_out *old;
	const char *name;

	/* What is left to write about the segment goes to its own file. */
	sink_end(sp->sink, false);
	list = proctab_cut(sp->pt);
	name = output_stamp(sp->out);
	if (!name) {
		sp->stuck = output_shown(sp->out);
		return stay(sp, list, -EIO);
	}
	output_prune(sp->out, sp->o->switch_max_files);
	sp->stuck = name;
	err = output_open(sp->out);
	if (!err)
		err = output_commit(sp->out);
	if (err) {
		if (output_pending(sp->out))
			output_undo(sp->out);
		sp->out->fd = fd;
		return stay(sp, list, err);
	}
	old = rec_writer_turn(sp->w, sp->out->fd, &err);
	if (!old) {
		complain(sp->out->name, err);
		output_close(sp->out);
		output_remove(sp->out, sp->out->name);
		sp->out->fd = fd;
		return stay(sp, list, err);
	}
	sp->stuck = NULL;
	cut_ledger(sp, now, false, &part);
	ledger_restart(sp->ledger, rec_writer_start(sp->w));
	sink_cut(sp->sink, now);
	begin_closing(sp, old, fd, name, list, &part, start);
	sp->closing.bytes = bytes;
	sp->since = now;
	pr_verbose("the next file began within %.1f ms", (double)(clock_mono_ns() - now) / 1e6);
	return 0;
}

static bool turn_is_due(const struct spool *sp, uint64_t now)
{
	const struct record_opts *o = sp->o;

	if (!o->switch_output)
		return false;
	return sp->asked || (o->switch_ns && now - sp->since >= o->switch_ns) ||
	       (o->switch_bytes && rec_writer_bytes(sp->w) >= o->switch_bytes);
}

static bool is_full(const struct spool *sp)
{
	return sp->o->max_bytes &&
	       sp->total_bytes + sp->closing.bytes + rec_writer_bytes(sp->w) >= sp->o->max_bytes;
}

/* ---- the flight recorder ---- */

static void drop_oldest(struct spool *sp)
{
	caplist_free(sp->lists[0], &sp->pt->files.pins);
	ledger_part_fini(&sp->kept[0].part);
	sp->nkept--;
	memmove(sp->kept, sp->kept + 1, sp->nkept * sizeof(*sp->kept));
	memmove(sp->lists, sp->lists + 1, sp->nkept * sizeof(*sp->lists));
	rec_writer_forget(sp->w, sp->nkept ? sp->kept[0].number : sp->number);
}

static uint64_t held(const struct spool *sp)
{
	uint64_t bytes = rec_writer_bytes(sp->w);

	for (size_t i = 0; i < sp->nkept; i++)
		bytes += sp->lists[i]->bytes +
			 sp->kept[i].part.nrows * sizeof(struct ev_tally);
	return bytes;
}

/* Finishes the segment that is being written. */
static void cut(struct spool *sp, uint64_t now)
{
	struct segment *s;

	if (sp->nkept == SPOOL_SEGMENTS_MAX)
		drop_oldest(sp);
	sink_end(sp->sink, false);
	s = &sp->kept[sp->nkept];
	sp->lists[sp->nkept] = proctab_cut(sp->pt);
	sp->nkept++;
	s->number = sp->number;
	s->start = sp->since;
	sp->number = rec_writer_segment(sp->w);
	cut_ledger(sp, now, false, &s->part);
	ledger_restart(sp->ledger, now);
	sink_cut(sp->sink, now);
	while (sp->nkept > 1 && (now - sp->kept[1].start >= sp->o->overwrite_ns ||
				 held(sp) > SPOOL_BYTES))
		drop_oldest(sp);
	tell_lists(sp);
	sp->since = now;
	sp->since_bytes = rec_writer_bytes(sp->w);
}

static bool cut_is_due(const struct spool *sp, uint64_t now)
{
	return now - sp->since >= sp->o->overwrite_ns / SPOOL_SEGMENTS ||
	       rec_writer_bytes(sp->w) >= sp->since_bytes + SPOOL_BYTES / SPOOL_SEGMENTS;
}

/* Takes ownership of @fd. */
static int dump_to(struct spool *sp, int fd, const char *name)
{
	struct ledger_part sum = { 0 };
	struct rec_out *out;
	int err;

	out = rec_writer_dump(sp->w, fd, sp->kept[0].start, &err);
	if (!out) {
		complain(name, err);
		if (fd == sp->out->fd) {
			output_undo(sp->out);
		} else {
			close(fd);
			output_remove(sp->out, name);
		}
		return err;
	}
	/* A stamped file has its name already. Others get theirs while the output has the descriptor. */
	err = output_commit(sp->out);
	sp->out->fd = -1;
	for (size_t i = 0; i < sp->nkept; i++)
		ledger_part_add(&sum, &sp->kept[i].part);
	begin_closing(sp, out, fd, name, caplist_merge(sp->lists, sp->nkept), &sum,
		      sp->kept[0].start);
	return err;
}

/* A failed dump does not end the flight recorder: the user may ask again. */
static int dump(struct spool *sp, uint64_t now)
{
	const char *name;
	int fd;

	cut(sp, now);
	fd = output_open_stamped(sp->out, &name);
	if (fd < 0)
		return fd;
	output_prune(sp->out, sp->o->switch_max_files);
	return dump_to(sp, fd, name);
}

static int last_dump(struct spool *sp, uint64_t now)
{
	int err, e;

	/* As with perf: with --switch-output all files carry a time. */
	if (sp->o->switch_output) {
		err = dump(sp, now);
	} else {
		cut(sp, now);
		err = output_open(sp->out);
		if (!err)
			err = dump_to(sp, sp->out->fd, sp->out->name);
	}
	/* A file that got no name has to be complete all the same before the writer can end. */
	sp->closing.last = true;
	e = step_closing(sp, true);
	return err ? err : e;
}

/* ---- all kinds of output ---- */

/* Is all in the present segment that belongs to it, so that the next one can begin? */
static bool may_end(struct spool *sp)
{
	sp->ending = sp->sched && !sched_times_cut(sp->sched, sp->since);
	return !sp->ending;
}

static void begun(struct spool *sp)
{
	if (sp->sched)
		sched_times_again(sp->sched, MAX(sp->since, rec_writer_start(sp->w)));
}

int spool_step(struct spool *sp, uint64_t now_ns)
{
	int err = step_closing(sp, false);

	if (sp->o->overwrite) {
		/* The rings are drained up to the guard. */
		const bool dumps = sp->asked && now_ns >= sp->asked + DRAIN_GUARD_NS && !sp->closing.out;

		if ((!dumps && !cut_is_due(sp, now_ns)) || !may_end(sp))
			return 0;
		if (dumps) {
			sp->asked = 0;
			dump(sp, now_ns);
		} else {
			cut(sp, now_ns);
		}
		begun(sp);
		return 0;
	}
	if (!err && is_full(sp))
		return 1;
	if (!err && !sp->closing.out && turn_is_due(sp, now_ns) && may_end(sp)) {
		sp->asked = 0;
		err = turn(sp, now_ns);
		if (!err)
			begun(sp);
	}
	return err;
}

const char *spool_name(const struct spool *sp)
{
	if (sp->stuck)
		return sp->stuck;
	return sp->last ? sp->last : output_shown(sp->out);
}

/* Completes the file that is being written. */
static int finish_present(struct spool *sp, uint64_t now, int err)
{
	const char *name = sp->stuck ? sp->stuck : output_shown(sp->out);
	struct ledger_part part;
	int e;

	cut_ledger(sp, now, true, &part);
	if (!err)
		err = proctab_capture(sp->pt);
	if (!err)
		err = ledger_part_write(&part, sp->w, NULL, rec_writer_start(sp->w));
	e = rec_writer_finish(sp->w);
	err = err < 0 ? err : e;
	output_look(sp->out, name);
	e = output_close(sp->out);
	err = err < 0 ? err : e;
	sp->last = NULL;
	if (err < 0)
		err = complain(name, err);
	if (!err && sp->o->switch_output && !sp->stuck) {
		name = output_stamp(sp->out);
		err = name ? 0 : -EIO;
		output_prune(sp->out, sp->o->switch_max_files);
	}
	if (!err) {
		sp->last = name;
		if (sp->files)
			summary_file(&part.l, name, rec_writer_bytes(sp->w));
		add_total(sp, &part, rec_writer_bytes(sp->w));
	}
	ledger_part_fini(&part);
	return err;
}

int spool_finish(struct spool *sp, uint64_t now_ns, int err)
{
	int e = step_closing(sp, true);

	sink_end(sp->sink, true);
	if (!sp->o->overwrite) {
		err = finish_present(sp, now_ns, err);
		return err ? err : e;
	}
	err = last_dump(sp, now_ns);
	proctab_tell(sp->pt);
	rec_writer_finish(sp->w);
	return err;
}

void spool_fini(struct spool *sp)
{
	struct closing *c = &sp->closing;
	uint64_t bytes;

	if (c->busy && sp->thread)
		capture_thread_ended(sp->thread, true);
	capture_thread_free(sp->thread);
	if (c->busy)
		capture_job_fini(&c->job);
	if (c->out) {
		rec_out_finish(sp->w, c->out);
		rec_out_close(c->out, &bytes);
		end_closing(sp);
	}
	while (sp->nkept) {
		caplist_free(sp->lists[--sp->nkept], &sp->pt->files.pins);
		ledger_part_fini(&sp->kept[sp->nkept].part);
	}
	ledger_part_fini(&sp->total);
}
