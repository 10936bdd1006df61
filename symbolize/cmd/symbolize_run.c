/* From a recording to text (symbolize_run.h). */
#include "cmd/symbolize_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/util.h"
#include "cmd/event_choice.h"
#include "cmd/stack_pass.h"
#include "cmd/symbolize_stats.h"
#include "debuginfo/debuginfod.h"
#include "debuginfo/debugsource.h"
#include "debuginfo/inlines.h"
#include "host/kept.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/parser.h"
#include "host/unanswered.h"
#include "modules/module.h"
#include "naming/filter_hint.h"
#include "naming/naming.h"
#include "output/split_by.h"
#include "output/to_firefox.h"
#include "output/to_pprof.h"
#include "output/to_profile.h"
#include "output/to_script.h"
#include "output/to_speedscope.h"
#include "profile/profile.h"
#include "profile/profile_bound.h"
#include "recording/rec_input.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "replay/replay.h"
#include "replay/sample_fields.h"
#include "replay/wait_reason.h"
#include "support/cache.h"
#include "support/interrupt.h"
#include "support/keep_facts.h"
#include "support/process_alive.h"
#include "support/process_runs.h"

static void tell_leftout(const struct collect *c)
{
	const struct filtered_out *lo = &c->leftout;
	struct strbuf sb = STRBUF_INIT;
	const char *sep = ": ";

	for (int k = 0; k < FILTER_KEYS; k++) {
		if (!lo->by_key[k])
			continue;
		strbuf_addf(&sb, "%s%" PRIu64 " by %s", sep, lo->by_key[k], filter_key_name((enum filter_key)k));
		sep = ", ";
	}
	pr_info("--filter keeps %" PRIu64 " of %" PRIu64 " sample%s and leaves out %" PRIu64 "%s", c->samples,
		c->seen, plural(c->seen), filtered_out_samples(lo), sb.s ? sb.s : "");
	strbuf_fini(&sb);
}

/* Are stacks counted by period? If --weight did not ask for that, a message says so. */
static bool by_period(const struct symbolize_opts *o, const struct collect *col)
{
	const uint32_t event = col->opts.event;
	const struct ev_event *ev;

	if (o->fold != FOLD_BEST || !collect_periods_vary(col, event))
		return o->fold == FOLD_PERIOD;
	if (o->kind != FORMAT_FOLDED && o->kind != FORMAT_SPEEDSCOPE && o->kind != FORMAT_FIREFOX)
		return true;
	if (event == REC_EVENTS_ALL) {
		pr_info("where the period of an event varies from sample to sample, counts are events, not samples; --weight samples "
			"counts samples");
		return true;
	}
	ev = &col->opts.events->table.ev[event];
	/* Waits always are. */
	if (ev->role == ROLE_WAITS || ev->role == ROLE_WALL)
		return true;
	pr_info("the period varies from sample to sample: counts are events (%s), not samples; --weight samples counts samples",
		*ev->name ? ev->name : "of the recording");
	return true;
}

/* Leading frames or files tell events apart, and each has a unit of its own. */
static bool leads_event(const struct symbolize_opts *o)
{
	return o->split == LEAD_EVENT || lead_has(&o->lead, LEAD_EVENT);
}

/*
 * Does the output have every single sample of @ev, with its own time? The Firefox Profiler adds up, so it
 * gets waits as they are weighed.
 */
static bool shows_each(const struct symbolize_opts *o, const struct ev_event *ev)
{
	return o->kind == FORMAT_SCRIPT || (o->kind == FORMAT_FIREFOX && ev->role != ROLE_WAITS && ev->role != ROLE_WALL);
}

/* Does the output hold several events, each apart from the others? */
static bool shows_events(const struct symbolize_opts *o)
{
	return (o->kind != FORMAT_FOLDED && o->kind != FORMAT_FIREFOX) || leads_event(o);
}

/* --srcline gave nothing: was a file with debug info refused? */
static void tell_no_lines(const struct modules *mods)
{
	const struct module *m;

	for (size_t it = 0; (m = modules_next(mods, &it));) {
		const char *why = debugsource_refused(&m->files);

		if (!why)
			continue;
		pr_warn("no address has a source line: of '%s', %s; give the debug info of this very build with --debug-dir or "
			"--debuginfod", m->dso.path, why);
		return;
	}
	pr_warn("no address has a source line: no debug info was found; install it on this host, or give --debug-dir or "
		"--debuginfod");
}

/* Formats that are made from a profile. Write errors stay with the stream. */
static int write_profile(const struct symbolize_opts *o, const struct collect *col, const struct naming *nm,
			 struct rec_reader *r, const struct modules *mods, bool period, struct outfile *out)
{
	const struct to_profile in = { o->input, col, nm, r };
	struct profile *p = to_profile(&in);
	int err = 0;

	if (o->fold != FOLD_BEST)
		for (uint32_t i = 0; i < p->nevents; i++)
			p->events[i].by_period = period;
	if (o->kind != FORMAT_PROFILE && p->nevents) {
		p = profile_skip_unused(p);
		period = p->nevents ? period : profile_by_period(p);
	}
	/* These list the frames of each stack. */
	if (o->kind != FORMAT_PROFILE)
		profile_bound(p, &(struct profile_limits){ FAIR_FRAMES, { UINT64_MAX, 0 } }, o->input);
	if (o->kind == FORMAT_PPROF)
		err = to_pprof(outfile_text(out), p, mods);
	else if (o->kind == FORMAT_SPEEDSCOPE)
		to_speedscope(outfile_text(out), p, period);
	else
		profile_write(outfile_text(out), p);
	profile_free(p);
	if (!err)
		return outfile_close(out);
	pr_err("cannot compress the profile: %s", strerror(-err));
	outfile_abort(out);
	return err;
}

/* Writes to @out (consumed; NULL: the folder). 0 or negative errno after a message. */
static int write_stacks(const struct symbolize_opts *o, const struct collect *col, const struct naming *nm,
			struct rec_reader *r, const struct modules *mods, struct outfile *out)
{
	const bool period = by_period(o, col);
	const bool apart = leads_event(o) && o->fold == FOLD_BEST;
	const enum fold_weight weight = period && !apart ? FOLD_PERIOD : FOLD_SAMPLES;
	struct stacktree tree = col->tree;
	struct stacknode *weighed;
	size_t files;
	int err;

	if (o->kind == FORMAT_SCRIPT) {
		const struct to_script in = {
			.input = o->input, .col = col, .nm = nm, .reader = r,
			.fields = o->fields ? o->fields : SCRIPT_DEFAULT, .header = o->header, .ns = o->ns,
			.header_only = o->header_only, .reltime = o->reltime, .deltatime = o->deltatime,
		};

		to_script(&in, outfile_text(out));
		return outfile_close(out);
	}
	if (o->kind == FORMAT_FIREFOX) {
		const struct to_firefox in = {
			.col = col, .nm = nm, .reader = r, .event = &col->opts.events->table.ev[col->opts.event], .period = period,
		};

		to_firefox(&in, outfile_text(out));
		return outfile_close(out);
	}
	if (o->kind != FORMAT_FOLDED)
		return write_profile(o, col, nm, r, mods, period, out);
	weighed = apart ? collect_weigh_by_event(col) : NULL;
	tree.nodes = apart ? weighed : tree.nodes;
	if (out) {
		fold_write(outfile_text(out), &tree, nm, weight);
		free(weighed);
		return outfile_close(out);
	}
	err = split_write(o->output, &tree, nm, weight, &files);
	free(weighed);
	if (err)
		pr_err("folder '%s' is incomplete: %zu file%s begun", o->output, files, plural(files));
	else
		pr_info("'%s' has %" PRIu64 " sample%s in %zu file%s, by %s", o->output, col->samples, plural(col->samples), files,
			plural(files), o->split_by);
	return err;
}

/*
 * Names the stacks, writes them to @out (consumed; NULL: the folder) and prints messages. @whole:
 * the recording is complete, so missing names have other reasons. 0 or negative errno after a
 * message.
 */
static int show(const struct symbolize_opts *o, struct stack_pass *p, struct rec_reader *r, struct outfile *out,
		bool whole)
{
	struct naming_opts opts = {
		.inlines = o->inlines,
		.annotate = o->annotate,
		.demangle = o->demangle,
		.normalize = o->normalize,
		.srcline = o->srcline || o->fields & SCRIPT_SRCLINE,
		.detail = o->kind != FORMAT_FOLDED,
		.kallsyms = o->kallsyms,
		.progress = !o->quiet && isatty(STDERR_FILENO),
		.offsets = o->verbose > 0,
		.tree = o->kind == FORMAT_FOLDED || o->kind == FORMAT_SCRIPT ? &p->col.tree : NULL,
		.each = o->kind == FORMAT_SCRIPT,
	};
	struct naming nm;
	int err;

	/* An interrupt that ended the pass has been handled. The next one stops the naming. */
	interrupt_init(true);
	naming_run(&nm, &opts, p->rp, &p->col.locs, p->col.texts);
	parser_working_on(0, NULL);
	if (!o->output || !strcmp(o->output, "-"))
		parser_output_begins();
	/* A state leaves out waits, and no samples. */
	if (o->filter.n && !(o->filter.has[FILTER_STATE] && p->col.states.known))
		tell_leftout(&p->col);
	err = write_stacks(o, &p->col, &nm, r, p->mods, out);
	if (!err) {
		struct missing_input in = { &p->col, &nm, p->mods, r, o->unwinder->name };

		if (o->stats)
			stats_print(&in);
		else if (whole && !o->quiet)	/* this takes as long as writing a small profile */
			stats_hint(&in);
		/* A profile holds this itself, and its readers print it. */
		if (o->kind != FORMAT_PROFILE)
			stats_throttled(p->rp);
		stats_states(&p->col.states);
	}
	if (!err && opts.srcline && !nm.nlines && !nm.skipped && nm.nlocs)
		tell_no_lines(p->mods);
	if (!err && nm.skipped) {
		pr_warn("interrupted: %zu of %zu addresses %s no name", nm.skipped, nm.nlocs, plural_of(nm.skipped, "has", "have"));
		err = -EINTR;
	}
	naming_fini(&nm);
	return err;
}

struct span {
	uint64_t first, last;	/* ns as in ev_sample.time */
};

static int widen(void *ctx, const struct ev_sample *ev)
{
	struct span *sp = ctx;

	sp->first = MIN(sp->first, ev->time);
	sp->last = MAX(sp->last, ev->time);
	return interrupt_requested();
}

/* If @f has parts of the recorded time, a pass of its own finds the first and last sample. */
/* Waits that the recording says are too short to be told apart, ns. */
static uint64_t brief_ns(const struct rec_reader *r)
{
	const char *text = rec_reader_info(r, "off_cpu_thresh_ns");

	return text ? strtoull(text, NULL, 10) : 0;
}

static void begin_filter(struct filter *f, struct rec_reader *r)
{
	static const struct event_ops ops = { .sample = widen };
	struct span sp = { UINT64_MAX, 0 };

	if (filter_has_shares(f)) {
		rec_reader_events(r, &ops, &sp);
		filter_place(f, MIN(sp.first, sp.last), sp.last);
	}
	filter_begin(f, rec_reader_start(r));
}

static void give_up(struct outfile *out)
{
	if (out)
		outfile_abort(out);
}

struct run {
	struct symbolize_opts *o;
	struct cache *cache;
};

static int symbolize(void *ctx)
{
	const struct run *run = ctx;
	struct symbolize_opts *o = run->o;
	struct collect_opts opts = {
		.lead = o->lead,
		.split = o->split,
		.filter = o->filter.n ? &o->filter : NULL,
		.unwinder = o->unwinder,
		.max_stack = (uint32_t)o->max_stack,
		.progress = !o->quiet && isatty(STDERR_FILENO),
	};
	int status = EXIT_SUCCESS, err;
	struct outfile *out = NULL;
	/*
	 * Not freed at the end. It is only memory and descriptors, which the kernel frees faster:
	 * we would visit every unit of the debug info again, and wait for threads that do work
	 * nobody needs.
	 */
	static struct stack_pass p;
	static struct rec_events events;
	struct rec_reader *r;
	struct module *m;
	size_t it = 0;

	interrupt_init(true);
	r = event_choice_open(o->input, o->event, shows_events(o), o->keep, o->kind == FORMAT_FOLDED ? "; --by event shows all" : "", &events,
			      &opts.event);
	if (!r)
		return EXIT_FAILURE;
	opts.events = &events;
	opts.fields = o->keep;
	opts.payloads = o->fields & SCRIPT_TRACE;
	if (o->keep && sample_fields_check(&events, o->keep, rec_input_shown(o->input))) {
		rec_reader_close(r);
		return EXIT_FAILURE;
	}
	/* Before the work, so that an output that cannot be written fails at once. */
	if (o->split == LEAD_NONE)
		out = outfile_open(o->output);
	if (o->split == LEAD_NONE ? !out : split_prepare(o->output)) {
		rec_reader_close(r);
		return EXIT_FAILURE;
	}
	alive_init(r);
	opts.kallsyms = o->kallsyms;
	opts.throttles = wait_reason_throttles(rec_reader_info(r, "kernel"));
	opts.all_waits = o->all_waits;
	opts.keep_parked = o->all_waits || o->keep_parked;
	opts.brief_ns = brief_ns(r);
	opts.misses_wakeups = rec_reader_misses_wakeups(r);
	opts.start = rec_reader_start(r);
	begin_filter(&o->filter, r);
	opts.ordered = o->kind == FORMAT_FIREFOX;
	/* A script has all events. */
	opts.each = shows_each(o, opts.event == REC_EVENTS_ALL ? NULL : &events.table.ev[opts.event]);
	if (o->kind != FORMAT_FOLDED && !opts.each)
		opts.block_ns = to_profile_block(r);
	p = (struct stack_pass){ .cache = run->cache, .inlines = o->inlines };
	err = stack_pass_run(&p, &opts, r);
	if (err == COLLECT_STOPPED) {
		pr_warn("interrupted: this is what was read so far");
		status = EXIT_FAILURE;
	} else if (err || !rec_reader_check_whole(r)) {
		status = EXIT_FAILURE;
	}
	if (status != EXIT_SUCCESS && err != COLLECT_STOPPED && o->strict) {
		pr_err("nothing is shown because of --strict");
		give_up(out);
	} else if (!err && opts.filter && !p.col.samples) {
		filter_hint_tell(opts.filter, &p.names, r);
		status = EXIT_FAILURE;
		give_up(out);
	} else if (show(o, &p, r, out, status == EXIT_SUCCESS)) {
		status = EXIT_FAILURE;
	}
	/* The output is complete by now, so writing to the cache delays nobody. */
	while ((m = modules_next(p.mods, &it)))
		if (m->inlines)
			inlines_keep(m->inlines);
	rec_reader_close(r);
	return status;
}

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	const struct run *run = ctx;
	const int err = process_runs_serve(kind, text);

	(void)value;
	return err == -ENOSYS ? cache_serve(run->cache, kind, text, fd) : err;
}

/* What is read by name later on. */
static void keep_open(const struct symbolize_opts *o)
{
	keep_facts();
	if (o->kallsyms)
		kept_add(o->kallsyms);
}

/* Folders that the user named. Their file systems may hang. 0, or negative errno after a message. */
static int open_folders(const struct symbolize_opts *o)
{
	int fd;

	if (debugsource_find_dirs())
		return -EINVAL;
	fd = o->symfs ? nsopen_user_dir(o->symfs, NULL) : 0;
	if (fd < 0) {
		pr_err("cannot read --symfs '%s': %s", o->symfs, strerror(-fd));
		return fd;
	}
	if (o->symfs)
		kept_hold(o->symfs, fd);
	return 0;
}

static int confined(struct run *run)
{
	const struct symbolize_opts *o = run->o;
	const struct parser p = {
		.output = o->output && strcmp(o->output, "-") ? o->output : NULL,
		.folder = o->split != LEAD_NONE,
		.suffix = SPLIT_SUFFIX,
		.input = rec_input_shown(o->input),
		.serve = serve,
		.ctx = run,
	};

	if (!o->no_sandbox)
		return parser_run(&p, symbolize, run);
	pr_warn("--no-sandbox: the recording is read with all rights");
	return symbolize(run);
}

int symbolize_run(struct symbolize_opts *o)
{
	struct run run = { .o = o };
	int status;

	log_set_verbosity(o->quiet ? -1 : o->verbose);
	if (o->filter.has[FILTER_STATE] && o->kind == FORMAT_SCRIPT) {
		pr_err("--filter state= does not work here: single samples are shown before it is known how long each wait was; "
		       "nsprof report and folded text have states");
		return EXIT_USAGE;
	}
	if (o->debuginfod && debuginfod_turn_on(o->servers))
		return EXIT_FAILURE;
	if (opener_start(!o->no_sandbox))
		return EXIT_FAILURE;
	if (open_folders(o)) {
		debuginfod_turn_off();
		unanswered_tell(NULL, NULL);
		opener_stop();
		return EXIT_USAGE;
	}
	/*
	 * In "record -o - | symbolize", the terminal sends Ctrl-C to both. While the recording
	 * comes in, it is for the recorder, and what the recorder still writes has to be read.
	 */
	interrupt_init(false);
	if (o->no_sandbox)
		rec_input_no_sandbox();
	if (rec_input_prepare(o->input, o->event)) {
		interrupt_end();
		return EXIT_FAILURE;
	}
	run.cache = o->cache ? cache_open(0) : NULL;
	keep_open(o);
	status = confined(&run);
	debuginfod_turn_off();
	cache_close(run.cache);
	unanswered_tell(NULL, NULL);
	opener_stop();
	filter_fini(&o->filter);
	return status;
}
