/* nsprof-annotate: where in a function's code its samples are. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate/annotate.h"
#include "annotate/annotate_show.h"
#include "annotate/codesource.h"
#include "annotate/listing.h"
#include "annotate/sourcetext.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/json.h"
#include "cli/maxstack.h"
#include "cli/opt.h"
#include "cli/pager.h"
#include "cmd/annotate_options.h"
#include "cmd/event_choice.h"
#include "cmd/stack_pass.h"
#include "debuginfo/debuginfod.h"
#include "debuginfo/debugsource.h"
#include "debuginfo/inlines.h"
#include "host/opener.h"
#include "host/pages.h"
#include "host/parser.h"
#include "host/unanswered.h"
#include "modules/module.h"
#include "naming/filter_hint.h"
#include "naming/naming.h"
#include "profile/filter.h"
#include "profile/profile.h"
#include "recording/rec_input.h"
#include "recording/rec_reader.h"
#include "replay/collect.h"
#include "support/cache.h"
#include "support/interrupt.h"
#include "support/keep_facts.h"
#include "support/process_alive.h"
#include "support/process_runs.h"

#define HOTTEST_PERCENT 5.0
#define SHOWN_NAMES 10	/* functions listed when none can be shown */

static int print_build_info(void)
{
	puts("annotate: capstone libdw libelf lzma demangle");
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * No recording was named. If nsprof.data does not exist, SYMBOL may have been meant as a recording.
 * False after a message.
 */
static bool find_input(struct annotate_opts *cfg)
{
	cfg->input = rec_reader_default();
	if (!cfg->symbol || !strcmp(cfg->input, "-") || !access(cfg->input, F_OK))
		return true;
	if (access(cfg->symbol, F_OK)) {
		pr_err("no recording found: neither '%s' nor '%s' exists; 'nsprof record' writes one", cfg->symbol, cfg->input);
		return false;
	}
	cfg->input = cfg->symbol;
	cfg->symbol = NULL;
	return true;
}

/* ---- which functions ---- */

/* All that one run reads, names and finds. */
struct session {
	const struct annotate_opts *cfg;
	struct rec_reader *r;
	struct rec_events events;
	uint32_t event;		/* in @events */
	bool waits;		/* of ROLE_WAITS or ROLE_WALL: callers count, too */
	const char *one;	/* of what is counted: "sample" or "wait" */
	struct stack_pass pass;
	struct naming nm;
	struct annotate an;
	struct codesource *code;
	struct sourcetext *source;
};

static void tell_hottest(const struct session *s, const size_t *which, size_t n)
{
	for (size_t i = 0; i < n && i < SHOWN_NAMES; i++) {
		const struct annotate_func *f = &s->an.funcs[which ? which[i] : i];

		pr_detail("%8" PRIu64 " %s%s  %s  (%s)", f->samples, s->one, plural_of(f->samples, " ", "s"), f->name, module_name(f->mod));
	}
	if (n > SHOWN_NAMES)
		pr_detail("and %zu more", n - SHOWN_NAMES);
}

/* Says why no function called SYMBOL can be shown. */
static void tell_missing(const struct session *s)
{
	const char *symbol = s->cfg->symbol;
	struct strbuf into = STRBUF_INIT;
	uint64_t samples;

	switch (annotate_else(&s->an, symbol, &samples)) {
	case ANNOTATE_KERNEL:
		pr_err("cannot show '%s': it is a kernel function (%" PRIu64 " %s%s), and recordings do not contain the kernel's code",
		       symbol, samples, s->one, plural(samples));
		break;
	case ANNOTATE_JIT:
		pr_err("cannot show '%s': it is JIT code (%" PRIu64 " %s%s), and recordings contain only the names of JIT code",
		       symbol, samples, s->one, plural(samples));
		break;
	case ANNOTATE_INLINED:
		annotate_inlined(&s->an, symbol, &into);
		pr_err("'%s' has no code of its own in these samples: it is inlined into %s; annotate those", symbol, into.s);
		break;
	case ANNOTATE_UNNAMED:
		pr_err("'%s' is not a function but code without a name (%" PRIu64 " %s%s): 'nsprof symbolize --stats' says why",
		       symbol, samples, s->one, plural(samples));
		break;
	case ANNOTATE_NOTHING:
		pr_err(s->waits ? "no %s was in a function '%s' or in what it calls%s%s" : "no %s was taken in a function '%s' itself%s%s",
		       s->one, symbol,
		       !s->cfg->symbol_is_file ? "" : " (the file of that name is not a recording)",
		       s->an.n ? "; most were in:" : "");
		tell_hottest(s, NULL, s->an.n);
		break;
	}
	strbuf_fini(&into);
}

/*
 * *@which: indices of the functions to show, hottest first (owned by the caller). Returns their
 * number; 0 after a message.
 */
static size_t choose(const struct session *s, size_t **which)
{
	const struct annotate *an = &s->an;
	struct strbuf into = STRBUF_INIT;
	size_t n = 0, names;
	uint64_t inlined;

	if (!s->cfg->symbol) {
		*which = xcalloc(an->n + 1, sizeof(**which));
		while (n < an->n && (!n || 100.0 * (double)an->funcs[n].own >=
						  s->cfg->percent_limit * (double)an->weight)) {
			(*which)[n] = n;
			n++;
		}
		if (!n)
			pr_err("no %s was in a function of a binary: there is no code to show", s->one);
		return n;
	}
	n = annotate_find(an, s->cfg->symbol, which, &names);
	if (names > 1) {
		pr_err("'%s' matches %zu functions; name one of them:", s->cfg->symbol, names);
		tell_hottest(s, *which, n);
		return 0;
	}
	if (!n) {
		tell_missing(s);
		return 0;
	}
	inlined = annotate_inlined(an, s->cfg->symbol, &into);
	if (inlined)
		pr_info("%" PRIu64 " more %s%s in '%s' where it is inlined: %s", inlined, s->one, plural(inlined), s->cfg->symbol, into.s);
	strbuf_fini(&into);
	return n;
}

/* ---- showing them ---- */

/* One line for a function without code. */
static void tell_no_code(const struct session *s, const struct annotate_func *f)
{
	const struct module *m = f->mod;
	const char *why = module_refused(m);

	if (!why)
		why = m->why_not[MODULE_PROCESS].text ? m->why_not[MODULE_PROCESS].text : m->why;
	pr_err("cannot show '%s' in '%s' (%" PRIu64 " %s%s): the binary is not available (%s), and the recording does not contain "
	       "its code; annotate while the process runs, or put the same binary at that path on this host", f->name, m->dso.path,
	       f->samples, s->one, plural(f->samples), why ? why : "no file");
}

static bool same_code(const struct annotate_func *a, const struct code *ca, const struct annotate_func *b, const struct code *cb)
{
	return a->start == b->start && a->end == b->end && !strcmp(a->linkage, b->linkage) && ca->size == cb->size &&
	       !memcmp(ca->what, cb->what, ca->size) && !memcmp(ca->bytes, cb->bytes, ca->size);
}

/*
 * Containers of one image have their own copies of a binary. Functions with identical code are
 * merged and shown once.
 */
static void join_twins(struct annotate *an, const size_t *which, const struct code *codes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct annotate_func *to = &an->funcs[which[i]];

		for (size_t k = i + 1; k < n && codes[i].size && to->samples; k++) {
			struct annotate_func *from = &an->funcs[which[k]];

			if (from->samples && codes[k].size && same_code(to, &codes[i], from, &codes[k]))
				annotate_join(to, from);
		}
	}
}

/* False after a message: the code cannot be disassembled. */
static bool show_one(struct session *s, const struct annotate_func *f, const struct code *code, struct json *j, bool color, FILE *to)
{
	const struct ev_event *event = &s->events.table.ev[s->event];
	char *name = xasprintf("%s%s%s", *event->name ? event->name : "cpu-clock", *event->modifier ? ":" : "", event->modifier);
	struct listing listing;
	struct annotate_shown shown = {
		.func = f, .listing = &listing, .code = code, .event = name, .one = s->one, .time = s->an.waits,
		.weight = s->an.weight, .period = s->an.period,
		.source = s->source, .demangle = s->cfg->demangle, .color = color,
	};

	if (listing_init(&listing, f, code, s->cfg->source, s->cfg->intel)) {
		pr_err("cannot disassemble '%s' in '%s': only x86-64 and aarch64 code can be disassembled", f->name,
		       f->mod->dso.path);
		free(name);
		return false;
	}
	if (s->cfg->source && debugsource_refused(&f->mod->files))
		pr_warn("'%s' may lack source lines: %s", f->mod->dso.path, debugsource_refused(&f->mod->files));
	if (j)
		annotate_json(&shown, j);
	else
		annotate_text(&shown, to);
	listing_fini(&listing);
	free(name);
	return true;
}

/* Returns how many were shown. */
static size_t show_all(struct session *s, const size_t *which, const struct code *codes, size_t n, bool color, FILE *to)
{
	struct json *j = s->cfg->json ? json_new(to) : NULL;
	size_t shown = 0;

	if (j) {
		const char *event = s->events.table.ev[s->event].name;

		json_begin_object(j, NULL);
		json_bytes(j, "event", *event ? event : "cpu-clock");
		json_u64(j, "samples", s->an.samples);
		if (s->an.period)
			json_u64(j, "period", s->an.weight);
		json_begin_array(j, "functions");
	}
	for (size_t i = 0; i < n; i++) {
		const struct annotate_func *f = &s->an.funcs[which[i]];

		if (!f->samples || !codes[i].size)
			continue;	/* merged into its twin, or reported by tell_no_code() */
		if (!j && shown)
			putc('\n', to);
		shown += show_one(s, f, &codes[i], j, color, to);
	}
	if (j) {
		json_end_array(j);
		json_end_object(j);
		json_free(j);
	}
	return shown;
}

/* Writes to the file, pager or standard output. 0 or -errno after a message. */
static int write_out(struct session *s, const size_t *which, const struct code *codes, size_t n)
{
	const struct annotate_opts *cfg = s->cfg;
	bool paged = !cfg->json && (!cfg->output || !strcmp(cfg->output, "-")), color;
	struct outfile *out = outfile_open(cfg->output);
	pid_t pager;
	size_t shown;

	if (!out)
		return -EIO;
	color = paged && pager_color();
	pager = paged ? pager_start() : 0;
	shown = show_all(s, which, codes, n, color, outfile_stream(out));
	pager_end(pager);
	/* If the user quit the pager, the rest of the text is not missed. */
	if (!pager && shown)
		return outfile_close(out);
	outfile_abort(out);
	return shown ? 0 : -ENOTSUP;
}

/* 0 or -errno after a message. */
static int show(struct session *s)
{
	size_t *which = NULL, n, have = 0;
	struct code *codes;
	int err = -ENOENT;

	n = choose(s, &which);
	codes = xcalloc(n + 1, sizeof(*codes));
	for (size_t i = 0; i < n; i++) {
		const struct annotate_func *f = &s->an.funcs[which[i]];

		if (codesource_read(s->code, f->mod, f->start, f->end, &codes[i]))
			tell_no_code(s, f);
		else
			have++;
	}
	join_twins(&s->an, which, codes, n);
	if (have)
		err = write_out(s, which, codes, n);
	for (size_t i = 0; i < n; i++)
		code_fini(&codes[i]);
	free(codes);
	free(which);
	return err;
}

/* ---- reading ---- */

/*
 * Reads all samples into s->pass.col. Unless they are waits, only the innermost frame of each
 * matters, so one frame is unwound and no rows are needed. 0, or -errno after a message.
 */
static int read_samples(struct session *s)
{
	const struct annotate_opts *cfg = s->cfg;
	const struct collect_opts opts = {
		.filter = cfg->filter.n ? &cfg->filter : NULL,
		.events = &s->events,
		.event = s->event,
		.unwinder = s->waits ? &unwind_cached : &unwind_fp,
		.max_stack = s->waits ? MAXSTACK_DEFAULT : 1,
		.start = rec_reader_start(s->r),
		.keep_parked = true,
		.progress = !cfg->quiet && isatty(STDERR_FILENO),
	};
	int err;

	err = stack_pass_run(&s->pass, &opts, s->r);
	if (err == COLLECT_STOPPED)
		pr_warn("interrupted: this is what was read so far");
	else if (!err && !rec_reader_check_whole(s->r))
		err = -EBADMSG;
	if (err && err != COLLECT_STOPPED && cfg->strict) {
		pr_err("nothing is shown because of --strict");
		return err;
	}
	if (s->pass.col.samples)
		return err;
	if (cfg->filter.n)
		filter_hint_tell(&cfg->filter, &s->pass.names, s->r);
	else
		pr_err("'%s' has no samples", cfg->input);
	return -ENODATA;
}

/* What the program and its parser share. */
struct run {
	struct annotate_opts *cfg;
	struct cache *cache;
};

static int annotate(void *ctx)
{
	const struct run *run = ctx;
	struct annotate_opts *cfg = run->cfg;
	/* As in symbolize(): not freed at the end. */
	static struct session s;
	struct naming_opts names = { .demangle = cfg->demangle, .detail = true, .inlines = cfg->symbol };
	const struct ev_event *event;
	struct module *m;
	size_t it = 0;
	int err;

	s.cfg = cfg;
	interrupt_init(true);
	s.r = event_choice_open(cfg->input, cfg->event, false, NULL, "", &s.events, &s.event);
	if (!s.r)
		return EXIT_FAILURE;
	event = &s.events.table.ev[s.event];
	s.waits = event->role == ROLE_WAITS || event->role == ROLE_WALL;
	s.one = profile_has_waits(event->name) ? "wait" : "sample";
	alive_init(s.r);
	cfg->filter.start = rec_reader_start(s.r);
	s.pass = (struct stack_pass){ .cache = run->cache, .inlines = names.inlines };
	err = read_samples(&s);
	if (s.pass.col.samples && !(err && err != COLLECT_STOPPED && cfg->strict)) {
		int shown;

		interrupt_init(true);
		names.progress = !cfg->quiet && isatty(STDERR_FILENO);
		naming_run(&s.nm, &names, s.pass.rp, &s.pass.col.locs, s.pass.col.texts);
		annotate_init(&s.an, &s.pass.col, &s.nm, s.waits);
		s.code = codesource_new(s.r);
		s.source = cfg->source ? sourcetext_new() : NULL;
		shown = show(&s);
		err = err ? err : shown;
		sourcetext_free(s.source);
		codesource_free(s.code);
		annotate_fini(&s.an);
		naming_fini(&s.nm);
	}
	while ((m = modules_next(s.pass.mods, &it)))
		if (m->inlines)
			inlines_keep(m->inlines);
	rec_reader_close(s.r);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	const struct run *run = ctx;
	int err = pager_serve(kind, value, fd);

	if (err == -ENOSYS)
		err = process_runs_serve(kind, text);
	return err == -ENOSYS ? cache_serve(run->cache, kind, text, fd) : err;
}

static int confined(struct run *run)
{
	const struct annotate_opts *cfg = run->cfg;
	const struct parser p = {
		.output = cfg->output && strcmp(cfg->output, "-") ? cfg->output : NULL,
		.sources = cfg->source,
		.input = rec_input_shown(cfg->input),
		.serve = serve,
		.ctx = run,
	};
	int status;

	if (cfg->no_sandbox) {
		pr_warn("--no-sandbox: the recording is read with all rights");
		return annotate(run);
	}
	status = parser_run(&p, annotate, run);
	pager_serve_end();
	return status;
}

static int run(struct annotate_opts *cfg)
{
	struct run run = { .cfg = cfg };
	int status;

	if (!cfg->input && !find_input(cfg))
		return EXIT_FAILURE;
	cfg->symbol_is_file = cfg->symbol && !access(cfg->symbol, F_OK);
	/* While a recording comes in through a pipe, Ctrl-C is for the recorder. */
	interrupt_init(false);
	if (cfg->no_sandbox)
		rec_input_no_sandbox();
	if (rec_input_prepare(cfg->input, cfg->event)) {
		interrupt_end();
		return EXIT_FAILURE;
	}
	run.cache = cfg->cache ? cache_open(0) : NULL;
	keep_facts();
	status = confined(&run);
	cache_close(run.cache);
	return status;
}

int main(int argc, char **argv)
{
	struct annotate_opts cfg = {
		.style = "att",
		.percent_limit = HOTTEST_PERCENT,
		.source = true,
		.demangle = true,
		.cache = true,
	};
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof annotate");
	signals_init();
	err = annotate_options_parse(&cfg, argc, argv);
	if (err == OPT_HELP)
		return EXIT_SUCCESS;
	if (err)
		return EXIT_USAGE;
	if (cfg.build_info)
		return print_build_info();
	log_set_verbosity(cfg.quiet ? -1 : cfg.verbose);
	if (cfg.debuginfod && debuginfod_turn_on(cfg.servers))
		return EXIT_FAILURE;
	if (opener_start(!cfg.no_sandbox))
		return EXIT_FAILURE;
	err = debugsource_find_dirs() ? EXIT_USAGE : run(&cfg);
	debuginfod_turn_off();
	unanswered_tell(NULL, NULL);
	opener_stop();
	filter_fini(&cfg.filter);
	return err;
}
