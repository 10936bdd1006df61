/* nsprof-export: writes a recording in the format of other profilers. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/util.h"
#include "cli/maxstack.h"
#include "cmd/event_choice.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/pages.h"
#include "host/parser.h"
#include "host/unanswered.h"
#include "output/buildid_dir.h"
#include "output/to_perf_data.h"
#include "recording/rec_input.h"
#include "recording/rec_reader.h"
#include "support/interrupt.h"
#include "support/keep_facts.h"
#include "support/process_alive.h"
#include "unwind/callchain.h"

#define DEFAULT_OUTPUT "perf.data"

struct config {
	const char *input, *output, *event, *buildid_dir, *unwind;
	uint64_t max_stack;
	bool strict, quiet, build_info, no_sandbox;
	int verbose;
	const struct unwinder_ops *unwinder;
};

static int parse(int argc, char **argv, struct config *cfg)
{
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		OPT_COMMON_INPUT(&cfg->input),
		OPT_COMMON_EVENT(&cfg->event, "The default is all events."),
		OPT_GROUP("Output"),
		{ "output", 'o', "FILE", "write to this file (default: " DEFAULT_OUTPUT ")",
		  OPT_STR, &cfg->output, .value = OPT_VALUE_FILE,
		  .more =
			"An existing file is replaced only when the new one is complete. FILE "
			"cannot be a pipe: a perf.data begins with its length." },
		{ "buildid-dir", 0, "DIR",
		  "also write the captured symbols to this new folder, for perf", OPT_STR,
		  &cfg->buildid_dir, .value = OPT_VALUE_FOLDER,
		  .more =
			"nsprof writes small ELF files with the symbols of the functions in the "
			"recording, and the kernel's symbols. perf --buildid-dir DIR report "
			"(script, annotate, diff) reads them, even after the container is gone "
			"and on another host. Binaries without a build-id are left out, and so "
			"are those with symbols in .gnu_debugdata only, which perf does not "
			"read. DIR has to be new or empty: it belongs to this recording, and "
			"would hide whole files in a cache that perf filled." },
		OPT_COMMON_STRICT(&cfg->strict, "write nothing of a recording that is cut or damaged"),
		OPT_GROUP("Stacks"),
		OPT_COMMON_MAX_STACK(&cfg->max_stack, maxstack_parse, " A record of a perf.data holds 8000. Deeper stacks lose their outermost "
				     "frames, and nsprof says so."),
		OPT_COMMON_UNWIND(&cfg->unwind),
		OPT_COMMON_PROC(OPT_CALL, NULL, nsopen_use_proc),
		OPT_GROUP("Messages"),
		OPT_COMMON_QUIET(&cfg->quiet),
		OPT_COMMON_NO_SANDBOX(&cfg->no_sandbox, OPT_COMMON_NO_SANDBOX_PARSER),
		OPT_COMMON_VERBOSE(&cfg->verbose),
		/* The only format so far, and therefore the default. */
		{ "perf-data", 0, NULL, NULL, OPT_IGNORE, NULL, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &cfg->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof export [options] [FILE]",
		.summary = "Write a recording as a perf.data, for perf report, script and diff, hotspot and others. Each sample has its whole stack, "
			   "as addresses, with the mappings and build-ids that are needed to name them. The reader looks up the names.",
		.epilog = "Examples:\n"
			  "  nsprof export && perf report\n"
			  "  nsprof export -o before.perf before.data\n"
			  "  nsprof export --buildid-dir syms && perf --buildid-dir syms report\n"
			  "\n"
			  "Exit status: 0 success; 1 failure, interrupted, or the recording is cut or damaged (what can be\n"
			  "read of it is written); 129 wrong command line.\n",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.operands = OPT_VALUE_RECORDING,
	};
	int first, err = opt_parse(&spec, argc, argv, &first);

	if (err || cfg->build_info)
		return err;
	if (argc - first > 1 || (argc > first && cfg->input)) {
		pr_err("unexpected argument '%s': only one recording can be read; see 'nsprof export --help'", argv[argc - 1]);
		return -EINVAL;
	}
	if (argc > first)
		cfg->input = argv[first];
	cfg->unwinder = unwinder_find(cfg->unwind);
	if (!cfg->unwinder) {
		pr_err("unknown unwinder '%s'; --unwind takes cached, libunwind, libdw or fp", cfg->unwind);
		return -EINVAL;
	}
	return 0;
}

/*
 * The size in the header is known, and written, only at the end: this takes a regular file. NULL
 * after a message.
 */
static struct outfile *open_output(const char *path)
{
	struct outfile *out = outfile_open(path);
	struct stat st;
	int fd;

	if (!out)
		return NULL;
	fd = fileno(outfile_stream(out));
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && !(fcntl(fd, F_GETFL) & O_APPEND) && !lseek(fd, 0, SEEK_CUR))
		return out;
	pr_err("cannot write perf.data to '%s': it is not a regular file, and perf.data begins with its length. Use -o FILE.", path);
	outfile_abort(out);
	return NULL;
}

static int finish(const struct config *cfg, const struct to_perf_data *td, struct rec_reader *r, struct outfile *out, int err)
{
	const bool damaged = !rec_reader_check_whole(r);

	if (err >= 0 && td->write_err) {
		err = td->write_err;
		pr_err("cannot write '%s': %s", cfg->output, strerror(-err));
	}
	if (err < 0) {
		outfile_abort(out);
		return err;
	}
	if (cfg->strict && damaged) {
		pr_err("nothing is written because of --strict");
		outfile_abort(out);
		return -EBADMSG;
	}
	if (err == TO_PERF_DATA_STOPPED)
		pr_warn("interrupted: this is what was read so far");
	if (outfile_close(out))
		return -EIO;
	pr_info("wrote %" PRIu64 " sample%s to '%s'", td->samples, plural(td->samples), cfg->output);
	if (td->cut)
		pr_warn("%" PRIu64 " stack%s deeper than a record of perf.data can hold: outermost frames are left out", td->cut,
			plural(td->cut));
	return err || damaged;
}

/* Exit status. */
static int export(void *ctx)
{
	const struct config *cfg = ctx;
	struct to_perf_data td = {
		.unwinder = cfg->unwinder, .max_stack = (uint32_t)cfg->max_stack, .buildid_dir = cfg->buildid_dir,
		.strict = cfg->strict,
		.progress = !cfg->quiet && isatty(STDERR_FILENO),
	};
	struct rec_events events = { 0 };
	struct outfile *out;
	int err;

	interrupt_init(true);
	td.reader = event_choice_open(cfg->input, cfg->event, true, NULL, "", &events, &td.event);
	if (!td.reader)
		return EXIT_FAILURE;
	td.events = &events;
	if (td.event != REC_EVENTS_ALL && events.table.ev[td.event].role == ROLE_WALL) {
		pr_err("the event '" REC_EVENTS_WALL "' has no samples of its own to export; without --event, those of all events are written");
		rec_reader_close(td.reader);
		return EXIT_FAILURE;
	}
	out = cfg->buildid_dir && buildid_dir_prepare(cfg->buildid_dir) ? NULL : open_output(cfg->output);
	if (!out) {
		rec_reader_close(td.reader);
		return EXIT_FAILURE;
	}
	alive_init(td.reader);
	td.to = outfile_stream(out);
	err = finish(cfg, &td, td.reader, out, to_perf_data(&td));
	rec_reader_close(td.reader);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static bool allow(void *ctx, const char *path)
{
	const struct config *cfg = ctx;

	return cfg->buildid_dir && buildid_dir_allows(cfg->buildid_dir, path);
}

static int serve(void *ctx, uint32_t kind, int *value, const char *text, int *fd)
{
	const struct config *cfg = ctx;

	(void)value;
	(void)text;
	(void)fd;
	return buildid_dir_serve(cfg->buildid_dir, kind);
}

static int confined(struct config *cfg)
{
	const struct parser p = {
		.output = cfg->output, .allow = allow, .input = rec_input_shown(cfg->input), .serve = serve, .ctx = cfg,
	};

	if (cfg->no_sandbox) {
		pr_warn("--no-sandbox: the recording is read with all rights");
		return export(cfg);
	}
	return parser_run(&p, export, cfg);
}

static int run(struct config *cfg)
{
	if (cfg->no_sandbox)
		rec_input_no_sandbox();
	/* As in nsprof-symbolize: while the recording comes in, Ctrl-C is for the recorder. */
	interrupt_init(false);
	if (rec_input_prepare(cfg->input, cfg->event)) {
		interrupt_end();
		return EXIT_FAILURE;
	}
	keep_facts();
	return confined(cfg);
}

int main(int argc, char **argv)
{
	struct config cfg = {
		.input = NULL, .output = DEFAULT_OUTPUT, .unwind = "cached", .max_stack = MAXSTACK_DEFAULT,
	};
	int err;

	pages_heap(pages_are_slow());
	log_init("nsprof export");
	signals_init();
	err = parse(argc, argv, &cfg);
	if (err == OPT_HELP)
		return EXIT_SUCCESS;
	if (err)
		return EXIT_USAGE;
	if (cfg.build_info) {
		puts("export: perf.data unwind=cached,libunwind,libdw,fp");
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	log_set_verbosity(cfg.quiet ? -1 : cfg.verbose);
	if (!cfg.input)
		cfg.input = rec_reader_default();
	if (opener_start(!cfg.no_sandbox))
		return EXIT_FAILURE;
	err = run(&cfg);
	unanswered_tell(NULL, NULL);
	opener_stop();
	return err;
}
