/* nsprof-symbolize: a recording in, folded stacks with names out. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache.h"
#include "candidates.h"
#include "collect.h"
#include "debuginfod.h"
#include "debugsource.h"
#include "filter.h"
#include "fold.h"
#include "live.h"
#include "log.h"
#include "maxstack.h"
#include "module.h"
#include "names.h"
#include "naming.h"
#include "nsopen.h"
#include "opt.h"
#include "outfile.h"
#include "pages.h"
#include "perf_opts.h"
#include "profile.h"
#include "rec_reader.h"
#include "replay.h"
#include "shares.h"
#include "signals.h"
#include "split.h"
#include "stats.h"
#include "stop.h"
#include "to_firefox.h"
#include "to_pprof.h"
#include "to_profile.h"
#include "to_script.h"
#include "to_speedscope.h"
#include "util.h"

enum format { FORMAT_FOLDED, FORMAT_PROFILE, FORMAT_SCRIPT, FORMAT_PPROF, FORMAT_SPEEDSCOPE, FORMAT_FIREFOX, FORMATS };

static const char *const formats[FORMATS] = { "folded", "profile", "script", "pprof", "speedscope", "firefox" };

struct config {
	const char *input, *output;
	const char *format, *by, *split_by, *weight, *unwind, *servers;
	uint64_t max_stack;
	bool annotate, inlines, demangle, normalize, srcline, debuginfod, cache, stats, strict, quiet;
	bool build_info;
	int verbose;
	struct filter filter;
	/* what the texts above mean */
	struct lead lead;	/* but for lead.merge_threads */
	enum lead_by split;
	enum fold_weight fold;
	enum format kind;	/* --format */
	uint32_t fields;	/* enum script_field; 0: the default */
	bool header, header_only, ns, reltime, deltatime;
	const char *symfs, *kallsyms;
	const struct unwinder_ops *unwinder;
};

static int print_build_info(void)
{
	puts("symbolize: unwind=cached,libunwind,libdw,fp libdw libelf lzma demangle");
	return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int check_split(struct config *cfg)
{
	if (!cfg->split_by)
		return 0;
	if (lead_parse_kind(cfg->split_by, strlen(cfg->split_by), &cfg->split) || cfg->split == LEAD_NONE) {
		pr_err("--split-by '%s' is not one of container, process, thread, comm", cfg->split_by);
		return -EINVAL;
	}
	if (!cfg->output || !strcmp(cfg->output, "-")) {
		pr_err("--split-by makes several files: say in which folder, with -o DIR");
		return -EINVAL;
	}
	return 0;
}

/* A profile has whose samples they are and both weights anyway: what would choose among them chooses nothing. */
static int check_format(struct config *cfg)
{
	const char *given = cfg->by ? "--by" : cfg->split_by ? "--split-by" : cfg->weight ? "--weight" :
			    cfg->annotate ? "--annotate" : NULL;

	for (cfg->kind = 0; cfg->kind < FORMATS && strcmp(cfg->format, formats[cfg->kind]); cfg->kind++)
		;
	if (cfg->kind == FORMATS) {
		pr_err("--format '%s' is not one of folded, profile, script, pprof, speedscope, firefox", cfg->format);
		return -EINVAL;
	}
	if (given && cfg->kind != FORMAT_FOLDED) {
		pr_err("%s is for folded text: a %s has all of it", given, cfg->format);
		return -EINVAL;
	}
	given = cfg->fields ? "--fields" : cfg->header ? "--header" : cfg->ns ? "--ns" : cfg->header_only ? "--header-only" :
		cfg->reltime ? "--reltime" : cfg->deltatime ? "--deltatime" : NULL;
	if (given && cfg->kind != FORMAT_SCRIPT) {
		pr_err("%s is for --format script", given);
		return -EINVAL;
	}
	if (!cfg->by)
		cfg->by = cfg->kind == FORMAT_FOLDED ? "comm" : "none";
	if (!cfg->weight)
		cfg->weight = "samples";
	return 0;
}

/* -1 with errno: nothing can be found below @path. */
static int check_folder(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return -1;
	if (!S_ISDIR(st.st_mode)) {
		errno = ENOTDIR;
		return -1;
	}
	return access(path, X_OK);
}

static int check_config(struct config *cfg)
{
	if (check_format(cfg))
		return -EINVAL;
	if (lead_parse(cfg->by, &cfg->lead)) {
		pr_err("--by '%s' is not a list of comm, process, thread, container, none, each at most once",
		       cfg->by);
		return -EINVAL;
	}
	if (check_split(cfg))
		return -EINVAL;
	if (fold_parse_weight(cfg->weight, &cfg->fold)) {
		pr_err("--weight '%s' is not one of samples, period", cfg->weight);
		return -EINVAL;
	}
	cfg->unwinder = unwinder_find(cfg->unwind);
	if (!cfg->unwinder) {
		pr_err("--unwind '%s' is not one of cached, libunwind, libdw, fp", cfg->unwind);
		return -EINVAL;
	}
	if (cfg->symfs && check_folder(cfg->symfs)) {
		pr_err("--symfs '%s': %s", cfg->symfs, strerror(errno));
		return -EINVAL;
	}
	if (cfg->kallsyms && access(cfg->kallsyms, R_OK)) {
		pr_err("--kallsyms '%s': %s", cfg->kallsyms, strerror(errno));
		return -EINVAL;
	}
	modules_use_root(cfg->symfs);
	return 0;
}

static int add_debug_dir(void *dst, const char *arg)
{
	(void)dst;
	return debugsource_add_dir(arg) ? -EINVAL : 0;
}

static int use_debuginfod(void *dst, const char *arg)
{
	struct config *cfg = dst;

	cfg->debuginfod = true;
	cfg->servers = arg;
	return 0;
}

static int add_filter(void *dst, const char *arg)
{
	return filter_add(dst, arg);
}

static int add_comms(void *dst, const char *arg)
{
	return filter_add_list(dst, FILTER_COMM, "--comms", arg);
}

static int add_pids(void *dst, const char *arg)
{
	return filter_add_list(dst, FILTER_PID, "--pid", arg);
}

static int add_tids(void *dst, const char *arg)
{
	return filter_add_list(dst, FILTER_TID, "--tid", arg);
}

static int add_span(void *dst, const char *arg)
{
	return filter_add_span(dst, arg);
}

static int set_fields(void *dst, const char *arg)
{
	struct config *cfg = dst;

	cfg->fields = cfg->fields ? cfg->fields : SCRIPT_DEFAULT;
	return script_parse_fields(arg, &cfg->fields);
}

static int parse(int argc, char **argv, struct config *cfg)
{
	const struct opt opts[] = {
		{ "input", 'i', "FILE",
		  "the recording, '-' for standard input (default: that if it is a pipe, else nsprof.data)", OPT_STR,
		  &cfg->input, NULL },
		{ "output", 'o', "FILE",
		  "where the folded stacks go (default standard output); a folder with --split-by",
		  OPT_STR, &cfg->output, NULL },
		{ "format", 0, "FORMAT",
		  "folded (default); profile: stacks by thread and time, to be kept, reported and compared; "
		  "script: each sample, as perf script prints it; pprof; speedscope; firefox: for the Firefox Profiler",
		  OPT_STR, &cfg->format, NULL },
		{ "by", 0, "LIST",
		  "leading frames: comm, process, thread, container, none, or several, as "
		  "'container,process' (default comm)", OPT_STR, &cfg->by, NULL },
		{ "split-by", 0, "WHAT",
		  "one file for each container, process, thread or comm, in the folder of -o", OPT_STR,
		  &cfg->split_by, NULL },
		{ "filter", 0, "KEY=VALUE",
		  "only samples with this container, cgroup, comm (globs), pid, nspid, tid, or time=FROM-TO "
		  "(seconds); all keys must fit, of one key any", OPT_CALL, &cfg->filter, add_filter },
		{ "comms", 'c', "COMM,...", "only samples of these, as --filter comm=", OPT_CALL, &cfg->filter, add_comms },
		{ "pid", 0, "PID,...", "the same of these processes", OPT_CALL, &cfg->filter, add_pids },
		{ "tid", 0, "TID,...", "the same of these threads", OPT_CALL, &cfg->filter, add_tids },
		{ "time", 0, "FROM,TO", "only samples of this time, in seconds as scripts show them, or a part: 10%/2, 0%-20%", OPT_CALL,
		  &cfg->filter, add_span },
		{ "fields", 'F', "LIST",
		  "of a script: comm,pid,tid,cpu,time,period,event,ip,sym,symoff,dso,srcline,cgroup; with + or - before a name: besides, without",
		  OPT_CALL, cfg, set_fields },
		{ "header", 0, NULL, "of a script: begin with what is known of host and command", OPT_FLAG, &cfg->header,
		  NULL },
		{ "header-only", 0, NULL, "of a script: nothing but that", OPT_FLAG, &cfg->header_only, NULL },
		{ "show-info", 'I', NULL, NULL, OPT_FLAG, &cfg->header, NULL },
		{ "ns", 0, NULL, "of a script: times to the nanosecond", OPT_FLAG, &cfg->ns, NULL },
		{ "reltime", 0, NULL, "of a script: times since the first sample", OPT_FLAG, &cfg->reltime, NULL },
		{ "deltatime", 0, NULL, "of a script: times since the sample before", OPT_FLAG, &cfg->deltatime, NULL },
		{ "merge-threads", 0, NULL, "one name for threads that differ by numbers: worker-N", OPT_FLAG,
		  &cfg->lead.merge_threads, NULL },
		{ "weight", 0, "WHAT", "count samples or period (default samples)", OPT_STR,
		  &cfg->weight, NULL },
		{ "annotate", 0, NULL, "append _[k] to kernel, _[j] to JIT, _[i] to inlined, _[joined] to joined frames",
		  OPT_FLAG, &cfg->annotate, NULL },
		{ "inline", 0, NULL,
		  "show inlined functions (default; --no-inline: only real ones)", OPT_FLAG,
		  &cfg->inlines, NULL },
		{ "demangle", 0, NULL,
		  "C++, Rust, D and Java names as in the source (default; --no-demangle: raw)", OPT_FLAG,
		  &cfg->demangle, NULL },
		{ "normalize", 0, NULL,
		  "leave out what a rebuild changes: .constprop.0, .llvm.N, hashes, lambda numbers",
		  OPT_FLAG, &cfg->normalize, NULL },
		{ "srcline", 0, NULL, "append the source line: 'parse (input.c:120)'", OPT_FLAG,
		  &cfg->srcline, NULL },
		{ "debug-dir", 0, "DIR",
		  "look for debug files in DIR as well as in /usr/lib/debug; may be repeated",
		  OPT_CALL, NULL, add_debug_dir },
		{ "symfs", 0, "DIR", "look for binaries and debug files below DIR instead of on this host", OPT_STR,
		  &cfg->symfs, NULL },
		{ "kallsyms", 0, "FILE", "take the kernel's names from there, as /proc/kallsyms has them", OPT_STR,
		  &cfg->kallsyms, NULL },
		{ "debuginfod", 0, "[URLS]",
		  "fetch debug info from these servers (default $DEBUGINFOD_URLS)", OPT_CALL, cfg,
		  use_debuginfod },
		{ "cache", 0, NULL,
		  "keep what large debug info says for the next time (default; --no-cache: neither "
		  "read nor write)", OPT_FLAG, &cfg->cache, NULL },
		{ "max-stack", 0, "N",
		  "frames kept of a stack, from the leaf (default 1024, at most 65536)", OPT_CALL,
		  &cfg->max_stack, maxstack_parse },
		{ "unwind", 0, "HOW", "cached, libunwind, libdw or fp (default cached)", OPT_STR,
		  &cfg->unwind, NULL },
		{ "stats", 0, NULL,
		  "tell on standard error how stacks ended and what had no name, and why", OPT_FLAG,
		  &cfg->stats, NULL },
		{ "proc", 0, "DIR", "where /proc of the recorded host is seen (default /proc)",
		  OPT_CALL, NULL, nsopen_use_proc },
		{ "strict", 0, NULL, "show nothing of a recording that is cut or damaged", OPT_FLAG,
		  &cfg->strict, NULL },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &cfg->quiet, NULL },
		{ "verbose", 'v', NULL, "more messages, and offsets in '[libx.so+0x1234]'",
		  OPT_COUNT, &cfg->verbose, NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &cfg->build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof symbolize [options] [FILE]",
		.summary =
			"Turns a recording into folded stacks, root first, one line for each stack "
			"with its count. Binaries are taken from the living process, from this host "
			"if the build-id proves them, or from the rows in the recording.",
		.epilog =
			"Examples:\n"
			"  nsprof symbolize | flamegraph.pl > profile.svg\n"
			"  nsprof symbolize --by container -o host.folded host.data\n"
			"  nsprof symbolize --split-by container --filter time=60-120 -o minute host.data\n"
			"\n"
			"Frames in brackets have no name: [libx.so] an address in libx.so, [jit] code\n"
			"without a perf map, [kernel], [vdso], [no mapping], [deleted:x] a file that is\n"
			"gone; [truncated_stack] and [broken_stack] stand below stacks that are not\n"
			"whole. --stats tells why.\n"
			"\n"
			"Exit status: 0 done; 1 failed, interrupted, or the recording is cut or damaged\n"
			"(what can be read of it is shown); 129 the command line is wrong.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
	};
	int first, err;

	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err;
	if (argc - first > 1 || (argc > first && cfg->input)) {
		pr_err("one recording at a time: '%s' is too many; see --help", argv[argc - 1]);
		return -EINVAL;
	}
	if (argc > first)
		cfg->input = argv[first];
	if (!cfg->input)
		cfg->input = rec_reader_default();
	return check_config(cfg);
}

/* What a recording is read with. */
struct pass {
	const struct config *cfg;
	const struct cache *cache;	/* borrowed; NULL = none */
	struct modules *mods;
	struct replay *rp;
	struct collect col;
};

static void pass_init(struct pass *p, const struct collect_opts *opts)
{
	p->mods = modules_new();
	modules_use_cache(p->mods, p->cache);
	modules_work_ahead(p->mods, p->cfg->inlines);
	p->rp = replay_new(p->mods);
	collect_init(&p->col, p->rp, opts);
}

static void pass_fini(struct pass *p)
{
	collect_fini(&p->col);
	replay_free(p->rp);
	modules_free(p->mods);
}

/*
 * Reads @r into @p. What a filter leaves out is not unwound; where that shows, it is read once more. As collect_run().
 */
static int run(struct pass *p, const struct collect_opts *opts, struct rec_reader *r)
{
	struct collect_opts again = *opts;
	struct u64map tids = U64MAP_INIT;
	int err;

	pass_init(p, opts);
	err = shares_run(&p->col, r, p->mods, opts->each);
	if (!err && opts->filter && leftout_matters(&p->col.leftout, &tids)) {
		pr_verbose("kept stacks are deeper than their copies: read again with all stacks of %zu threads",
			   tids.n);
		again.walked = &tids;
		pass_fini(p);
		pass_init(p, &again);
		err = shares_run(&p->col, r, p->mods, opts->each);
	}
	u64map_fini(&tids);
	return err;
}

static void tell_leftout(const struct collect *c)
{
	const struct leftout *lo = &c->leftout;
	struct strbuf sb = STRBUF_INIT;
	const char *sep = ": ";

	for (int k = 0; k < FILTER_KEYS; k++) {
		if (!lo->by_key[k])
			continue;
		strbuf_addf(&sb, "%s%" PRIu64 " by %s", sep, lo->by_key[k], filter_key_name((enum filter_key)k));
		sep = ", ";
	}
	pr_info("--filter keeps %" PRIu64 " of %" PRIu64 " samples and leaves out %" PRIu64 "%s", c->samples,
		c->seen, leftout_samples(lo), sb.s ? sb.s : "");
	strbuf_fini(&sb);
}

/* What is made of a profile; an error of writing stays with the stream. */
static int write_profile(const struct config *cfg, const struct collect *col, const struct naming *nm,
			 struct rec_reader *r, const struct modules *mods, struct outfile *out)
{
	const struct to_profile in = { cfg->input, col, nm, r };
	struct profile *p = to_profile(&in);
	int err = 0;

	if (cfg->kind == FORMAT_PPROF)
		err = to_pprof(outfile_text(out), p, mods);
	else if (cfg->kind == FORMAT_SPEEDSCOPE)
		to_speedscope(outfile_text(out), p);
	else
		profile_write(outfile_text(out), p);
	profile_free(p);
	if (!err)
		return outfile_close(out);
	pr_err("cannot compress: %s", strerror(-err));
	outfile_abort(out);
	return err;
}

/* Writes to @out (consumed), or if that is NULL, into the folder. 0 or negative errno after a message. */
static int write_stacks(const struct config *cfg, const struct collect *col, const struct naming *nm,
			struct rec_reader *r, const struct modules *mods, struct outfile *out)
{
	size_t files;
	int err;

	if (cfg->kind == FORMAT_SCRIPT) {
		const struct to_script in = {
			.input = cfg->input, .col = col, .nm = nm, .reader = r,
			.fields = cfg->fields ? cfg->fields : SCRIPT_DEFAULT, .header = cfg->header, .ns = cfg->ns,
			.header_only = cfg->header_only, .reltime = cfg->reltime, .deltatime = cfg->deltatime,
		};

		to_script(&in, outfile_text(out));
		return outfile_close(out);
	}
	if (cfg->kind == FORMAT_FIREFOX) {
		const struct to_firefox in = { .col = col, .nm = nm, .reader = r };

		to_firefox(&in, outfile_text(out));
		return outfile_close(out);
	}
	if (cfg->kind != FORMAT_FOLDED)
		return write_profile(cfg, col, nm, r, mods, out);
	if (out) {
		fold_write(outfile_text(out), &col->tree, nm, cfg->fold);
		return outfile_close(out);
	}
	err = split_write(cfg->output, &col->tree, nm, cfg->fold, &files);
	if (err)
		pr_err("folder '%s' is not complete: %zu files were begun", cfg->output, files);
	else
		pr_info("'%s' has %" PRIu64 " samples in %zu files, by %s", cfg->output, col->samples, files,
			cfg->split_by);
	return err;
}

/*
 * Names, writes to @out (consumed; NULL: the folder) and tells. @whole: what has no name is not explained by what
 * the recording lacks. 0 or negative errno after a message.
 */
static int show(const struct config *cfg, struct pass *p, struct rec_reader *r, struct outfile *out,
		bool whole)
{
	struct naming_opts opts = {
		.inlines = cfg->inlines,
		.annotate = cfg->annotate,
		.demangle = cfg->demangle,
		.normalize = cfg->normalize,
		.srcline = cfg->srcline || cfg->fields & SCRIPT_SRCLINE,
		.detail = cfg->kind != FORMAT_FOLDED,
		.kallsyms = cfg->kallsyms,
		.progress = !cfg->quiet && isatty(STDERR_FILENO),
		.offsets = cfg->verbose > 0,
	};
	struct naming nm;
	int err;

	/* A request that ended the pass is done with; the next one is about the names. */
	stop_init(true);
	naming_init(&nm, &opts, p->rp, &p->col.locs, p->col.texts);
	if (cfg->filter.n)
		tell_leftout(&p->col);
	err = write_stacks(cfg, &p->col, &nm, r, p->mods, out);
	if (!err) {
		struct stats_input in = { &p->col, &nm, p->mods, r, cfg->unwinder->name };

		if (cfg->stats)
			stats_print(&in);
		else if (whole && !cfg->quiet)	/* finding it takes as long as writing a small profile */
			stats_hint(&in);
		/* A profile says it itself, whoever reads that. */
		if (cfg->kind != FORMAT_PROFILE)
			stats_throttled(p->rp);
	}
	if (!err && opts.srcline && !nm.nlines && !nm.skipped && nm.nlocs)
		pr_warn("no address has a source line: none of the binaries has debug info here; install it, or give --debug-dir or "
			"--debuginfod");
	if (!err && nm.skipped) {
		pr_warn("interrupted: %zu of %zu addresses have no name", nm.skipped, nm.nlocs);
		err = -EINTR;
	}
	naming_fini(&nm);
	return err;
}

/* Is the recording whole? One warning if not. */
static bool is_whole(struct rec_reader *r)
{
	const struct rec_damage *d = rec_reader_damage(r);

	if (!d->cut && !d->bad_blocks && !d->behind)
		return true;
	rec_reader_warn_damage(r);
	return false;
}

struct span {
	uint64_t first, last;	/* ns as in ev_sample.time */
};

static int widen(void *ctx, const struct ev_sample *ev)
{
	struct span *sp = ctx;

	sp->first = MIN(sp->first, ev->time);
	sp->last = MAX(sp->last, ev->time);
	return stop_requested();
}

/* What parts of the time @f has need a pass of their own. */
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

static int symbolize(struct config *cfg)
{
	struct collect_opts opts = {
		.lead = cfg->lead,
		.split = cfg->split,
		.filter = cfg->filter.n ? &cfg->filter : NULL,
		.unwinder = cfg->unwinder,
		.max_stack = (uint32_t)cfg->max_stack,
		.progress = !cfg->quiet && isatty(STDERR_FILENO),
	};
	int status = EXIT_SUCCESS, err;
	struct outfile *out = NULL;
	/*
	 * Not freed at the end: the kernel does that at once, we would visit every unit of the debug info again, and wait for
	 * threads whose work nobody wants. What it holds is memory and descriptors.
	 */
	static struct pass p;
	struct rec_reader *r;
	struct cache *cache;
	struct module *m;
	size_t it = 0;

	/*
	 * "record -o - | symbolize" is one job to the terminal: while the recording comes in,
	 * Ctrl-C is meant for the recorder, and what it still writes has to be read.
	 */
	stop_init(false);
	r = rec_reader_open(cfg->input);
	if (!r)
		return EXIT_FAILURE;
	stop_init(true);
	/* Before the work, so that a path that cannot be written is known at once. */
	if (cfg->split == LEAD_NONE)
		out = outfile_open(cfg->output);
	if (cfg->split == LEAD_NONE ? !out : split_prepare(cfg->output)) {
		rec_reader_close(r);
		return EXIT_FAILURE;
	}
	live_init(r);
	opts.start = rec_reader_start(r);
	begin_filter(&cfg->filter, r);
	opts.each = cfg->kind == FORMAT_SCRIPT || cfg->kind == FORMAT_FIREFOX;
	if (cfg->kind != FORMAT_FOLDED && !opts.each)
		opts.block_ns = to_profile_block(r);
	cache = cfg->cache ? cache_open(0) : NULL;
	p = (struct pass){ .cfg = cfg, .cache = cache };
	err = run(&p, &opts, r);
	if (err == COLLECT_STOPPED) {
		pr_warn("interrupted: this is what was read so far");
		status = EXIT_FAILURE;
	} else if (err || !is_whole(r)) {
		status = EXIT_FAILURE;
	}
	if (status != EXIT_SUCCESS && err != COLLECT_STOPPED && cfg->strict) {
		pr_err("nothing is shown of it because of --strict");
		give_up(out);
	} else if (!err && opts.filter && !p.col.samples) {
		candidates_tell(opts.filter, r);
		status = EXIT_FAILURE;
		give_up(out);
	} else if (show(cfg, &p, r, out, status == EXIT_SUCCESS)) {
		status = EXIT_FAILURE;
	}
	/* Whoever reads the output has it by now. */
	while ((m = modules_next(p.mods, &it)))
		inlines_keep(m);
	cache_close(cache);
	rec_reader_close(r);
	return status;
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.format = "folded",
		.unwind = "cached",
		.max_stack = MAXSTACK_DEFAULT,
		.inlines = true,
		.demangle = true,
		.cache = true,
	};
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof symbolize");
	signals_init();
	err = parse(argc, argv, &cfg);
	if (err == OPT_HELP)
		return EXIT_SUCCESS;
	if (err)
		return EXIT_USAGE;
	if (cfg.build_info)
		return print_build_info();
	log_set_verbosity(cfg.quiet ? -1 : cfg.verbose);
	if (cfg.debuginfod && debuginfod_turn_on(cfg.servers))
		return EXIT_FAILURE;
	err = symbolize(&cfg);
	filter_fini(&cfg.filter);
	return err;
}
