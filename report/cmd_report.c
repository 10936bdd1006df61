/* nsprof report: the functions as a table, or a flame graph. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "balance.h"
#include "calltree.h"
#include "ctr_table.h"
#include "functions.h"
#include "load.h"
#include "log.h"
#include "opt.h"
#include "outfile.h"
#include "rec_reader.h"
#include "strbuf.h"
#include "svg.h"
#include "util.h"
#include "xalloc.h"

#define INTERRUPTED "interrupted: a part of the samples, or of the names"

struct report_opts {
	struct load_opts load;
	const char *input, *output, *format, *title;
	size_t filters_cap;
	uint64_t limit, width;
	double percent_limit;
	bool build_info;
	int verbose;
};

static int set_percent(void *dst, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (end == arg || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100)) {
		pr_err("'%s' is not a share: --percent-limit takes a number from 0 to 100", arg);
		return -EINVAL;
	}
	*(double *)dst = v;
	return 0;
}

static int set_weight(void *dst, const char *arg)
{
	if (strcmp(arg, "samples") && strcmp(arg, "period")) {
		pr_err("unknown weight '%s': --weight takes samples or period", arg);
		return -EINVAL;
	}
	*(bool *)dst = !strcmp(arg, "period");
	return 0;
}

static int add_filter(void *dst, const char *arg)
{
	struct report_opts *o = dst;

	XGROW(o->load.filters, o->load.nfilters, o->filters_cap);
	o->load.filters[o->load.nfilters++] = arg;
	return 0;
}

/* The recording, for its settings; NULL when it came through a pipe and has been read to its end. */
static struct rec_reader *open_again(const struct report_opts *o, const struct load_info *info)
{
	return info->recording && strcmp(o->load.path, "-") ? rec_reader_open(o->load.path) : NULL;
}

static int on_container(void *ctx, const struct ev_container *ev)
{
	ctr_table_add(ctx, ev);
	return 0;
}

static bool no_samples(void *ctx, uint32_t part)
{
	(void)ctx;
	(void)part;
	return false;
}

/*
 * Whom their CPU limit held back, each as "@before<line>@after": what ran between is what they got, not what they
 * wanted.
 */
static void add_throttled(struct rec_reader *r, const char *before, const char *after, struct strbuf *out)
{
	static const struct event_ops ops = { .container = on_container, .wants = no_samples };
	struct ctr_table *t = ctr_table_new();
	struct strbuf line = STRBUF_INIT;
	const struct ctr *c;
	size_t n;

	rec_reader_events(r, &ops, t);
	c = ctr_table_all(t, &n);
	for (size_t i = 0; i < n; i++) {
		strbuf_reset(&line);
		ctr_throttle_line(&c[i], &line);
		if (line.len)
			strbuf_addf(out, "%s%s%s", before, line.s, after);
	}
	strbuf_fini(&line);
	ctr_table_free(t);
}

/* What a reader of the table has to know first; perf's report has the like on top. */
static void print_header(const struct report_opts *o, const struct load_info *info, FILE *to)
{
	struct strbuf throttled = STRBUF_INIT;
	struct rec_reader *r;
	struct ev_ledger l;
	const char *v;

	fprintf(to, "# %llu %s in %llu different stacks, from '%s'\n", (unsigned long long)info->total,
		o->load.period ? "units of period" : "samples", (unsigned long long)info->stacks, o->load.path);
	r = open_again(o, info);
	if (r) {
		fprintf(to, "# event %s", (v = rec_reader_info(r, "event")) ? v : "?");
		if ((v = rec_reader_info(r, "frequency")))
			fprintf(to, ", %s Hz", v);
		if ((v = rec_reader_info(r, "target")))
			fprintf(to, ", %s", v);
		if (rec_reader_ledger(r, &l)) {
			struct strbuf sb = STRBUF_INIT;

			balance_text(&l, &sb);
			fprintf(to, "; %s, %llu with a full stack copy", sb.len ? sb.s : "0 lost",
				(unsigned long long)l.copy_full);
			strbuf_reset(&sb);
			balance_absences(&l, &sb);
			fputs(sb.s ? sb.s : "", to);
			strbuf_fini(&sb);
		}
		fputs("\n", to);
		add_throttled(r, "# ", "\n", &throttled);
		fputs(throttled.s ? throttled.s : "", to);
		strbuf_fini(&throttled);
		rec_reader_close(r);
	}
	if (info->interrupted)
		fprintf(to, "# %s\n", INTERRUPTED);
	for (size_t i = 0; i < o->load.nfilters; i++)
		fprintf(to, "%s%s%s", i ? ", " : "# only ", o->load.filters[i], i + 1 < o->load.nfilters ? "" : "\n");
	fputs("# k kernel, j JIT, i inlined\n#\n", to);
}

/* A picture is passed on without the recording: it says itself what it does not show. */
static void add_missing(const struct report_opts *o, const struct load_info *info, struct strbuf *sub)
{
	struct rec_reader *r = open_again(o, info);
	struct strbuf sb = STRBUF_INIT;
	struct ev_ledger l;

	if (r && rec_reader_ledger(r, &l)) {
		balance_text(&l, &sb);
		if (sb.len)
			strbuf_addf(sub, "; %s", sb.s);
		balance_absences(&l, sub);
	}
	if (r)
		add_throttled(r, "; ", "", sub);
	strbuf_fini(&sb);
	rec_reader_close(r);
}

static int report_write(const struct report_opts *o, const struct calltree *t, const struct load_info *info)
{
	struct svg_opts svg = { .unit = o->load.period ? "period" : "samples", .width = (unsigned int)o->width,
				.min_width = 0.1 };
	struct outfile *out = outfile_open(o->output);
	struct strbuf sub = STRBUF_INIT;

	if (!out)
		return -EIO;
	if (!strcmp(o->format, "svg")) {
		svg.title = o->title ? o->title : "Flame graph";
		strbuf_addf(&sub, "%llu %s in %llu stacks", (unsigned long long)info->total, svg.unit,
			    (unsigned long long)info->stacks);
		if (info->interrupted)
			strbuf_adds(&sub, "; " INTERRUPTED);
		for (size_t i = 0; i < o->load.nfilters; i++)
			strbuf_addf(&sub, "%s%s", i ? ", " : "; only ", o->load.filters[i]);
		add_missing(o, info, &sub);
		svg.subtitle = sub.s;
		svg_write(t, &svg, outfile_stream(out));
		strbuf_fini(&sub);
	} else {
		print_header(o, info, outfile_stream(out));
		functions_print(t, outfile_stream(out), o->limit, o->percent_limit);
	}
	return outfile_close(out);
}

int main(int argc, char **argv)
{
	struct report_opts o = { .format = "text", .limit = 50, .width = 1200, .percent_limit = 0.1 };
	const struct opt opts[] = {
		{ "input", 'i', "FILE", "recording or folded text; '-' is standard input (default nsprof.data)",
		  OPT_STR, &o.input, NULL },
		{ "output", 'o', "FILE", "write here instead of standard output", OPT_STR, &o.output, NULL },
		{ "format", 0, "FORMAT", "text (table of functions, the default) or svg (flame graph)", OPT_STR,
		  &o.format, NULL },
		{ "limit", 'n', "N", "at most N functions in the table, 0 for all (default 50)", OPT_U64, &o.limit, NULL },
		{ "percent-limit", 0, "P", "leave out functions below P per cent of the total (default 0.1)", OPT_CALL,
		  &o.percent_limit, set_percent },
		{ "by", 0, "LIST", "leading frames: container, process, thread, comm, none, or several with commas", OPT_STR,
		  &o.load.by, NULL },
		{ "filter", 0, "KEY=VALUE", "only samples with this container, cgroup, comm (globs), pid, nspid, tid, or "
		  "time=FROM-TO (seconds); all keys must fit, of one key any", OPT_CALL, &o, add_filter },
		{ "merge-threads", 0, NULL, "one name for threads that differ by numbers: worker-N", OPT_FLAG,
		  &o.load.merge_threads, NULL },
		{ "weight", 0, "W", "count samples (default) or period", OPT_CALL, &o.load.period, set_weight },
		{ "no-inline", 0, NULL, "leave inlined functions out", OPT_FLAG, &o.load.no_inline, NULL },
		{ "title", 0, "TEXT", "title of the flame graph", OPT_STR, &o.title, NULL },
		{ "width", 0, "PIXELS", "width of the flame graph, 300 to 20000 (default 1200)", OPT_U64, &o.width, NULL },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &o.load.quiet, NULL },
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &o.verbose, NULL },
		{ "stdio", 0, NULL, NULL, OPT_IGNORE, NULL, NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o.build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof report [options] [FILE]",
		.summary = "Shows a recording, or the folded stacks of any tool: the functions by their own (self) and "
			   "inclusive (total) share, or a flame graph as one SVG file.",
		.epilog = "Exit status: 0 done; 1 failed, interrupted, or the recording is damaged (what was read is\n"
			  "shown); 129 usage.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
	};
	struct load_info info;
	struct calltree *t;
	int first, err;

	log_init("nsprof report");
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	if (o.build_info) {
		puts("report: text svg");
		return 0;
	}
	log_set_verbosity(o.load.quiet ? -1 : o.verbose);
	if (argc - first > 1 || (o.input && argc > first)) {
		pr_err("one input at a time: '%s' is one too many; see --help", argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (strcmp(o.format, "text") && strcmp(o.format, "svg")) {
		pr_err("unknown format '%s': --format takes text or svg", o.format);
		return EXIT_USAGE;
	}
	if (o.width < 300 || o.width > 20000) {
		pr_err("--width %llu is out of range: 300 to 20000", (unsigned long long)o.width);
		return EXIT_USAGE;
	}
	o.load.path = o.input ? o.input : argc > first ? argv[first] : "nsprof.data";
	t = calltree_new();
	err = load(&o.load, t, &info);
	if (!err)
		err = report_write(&o, t, &info);
	calltree_free(t);
	free(o.load.filters);
	return err || info.damaged || info.interrupted ? 1 : 0;
}
