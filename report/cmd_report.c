/* nsprof report: the functions as a table, or a flame graph. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "balance.h"
#include "calltree.h"
#include "functions.h"
#include "leading.h"
#include "load.h"
#include "log.h"
#include "opt.h"
#include "outfile.h"
#include "profile.h"
#include "strbuf.h"
#include "svg.h"
#include "util.h"
#include "xalloc.h"

#define INTERRUPTED "interrupted: a part of the samples, or of the names"

struct report_opts {
	struct load_opts load;
	const char *input, *output, *format, *by, *title;
	struct lead lead;	/* --by */
	bool period;
	size_t filters_cap;
	uint64_t limit, width;
	double percent_limit;
	bool build_info;
	int verbose;
};

struct report_in {
	const struct profile *profile;
	const struct calltree *tree;
	struct load_info info;
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

static uint64_t meta_u64(const struct profile *p, const char *key)
{
	const char *v = profile_meta(p, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

/* All values of @key, each as "@before<value>@after". */
static void add_meta(const struct profile *p, const char *key, const char *before, const char *after,
		     struct strbuf *out)
{
	for (uint32_t i = 0; i < p->nmeta; i++)
		if (!strcmp(profile_text(p, p->meta[i].key), key)) {
			strbuf_adds(out, before);
			strbuf_add_clean(out, profile_text(p, p->meta[i].value));
			strbuf_adds(out, after);
		}
}

/* The ledger, as far as the profile has it. False: it was not known. */
static bool ledger_of(const struct profile *p, struct ev_ledger *l)
{
	*l = (struct ev_ledger){
		.kept = meta_u64(p, "kept"), .lost_kernel = meta_u64(p, "lost"), .cut = meta_u64(p, "cut"),
		.dropped = meta_u64(p, "dropped"), .copy_full = meta_u64(p, "full_copies"),
		.throttled = meta_u64(p, "throttled_times"), .throttled_samples = meta_u64(p, "throttled_samples"),
	};
	return profile_meta(p, "kept");
}

/* The filters as one list. */
static void add_filters(const struct profile *p, const char *before, const char *after, struct strbuf *out)
{
	struct strbuf list = STRBUF_INIT;

	add_meta(p, "filter", ", ", "", &list);
	if (list.len)
		strbuf_addf(out, "%s%s%s", before, list.s + strlen(", "), after);
	strbuf_fini(&list);
}

/* What a reader of the table has to know first; perf's report has the like on top. */
static void print_header(const struct report_opts *o, const struct report_in *in, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;
	const struct profile *p = in->profile;
	struct ev_ledger l;
	const char *v;

	strbuf_addf(&sb, "# %" PRIu64 " %s in %" PRIu64 " different stacks, from '%s'\n", in->tree->nodes[0].total,
		    o->period ? "units of period" : "samples", calltree_stacks(in->tree), o->load.path);
	if ((v = profile_meta(p, "event"))) {
		strbuf_addf(&sb, "# event %s", v);
		if ((v = profile_meta(p, "frequency")))
			strbuf_addf(&sb, ", %s Hz", v);
		if ((v = profile_meta(p, "target")))
			strbuf_addf(&sb, ", %s", v);
		if (ledger_of(p, &l)) {
			size_t at = sb.len;

			strbuf_adds(&sb, "; ");
			balance_text(&l, &sb);
			if (sb.len == at + 2)
				strbuf_adds(&sb, "0 lost");
			strbuf_addf(&sb, ", %" PRIu64 " with a full stack copy", l.copy_full);
		}
		add_meta(p, "note", "; ", "", &sb);
		strbuf_adds(&sb, "\n");
	}
	add_meta(p, "throttled", "# ", "\n", &sb);
	if (in->info.interrupted)
		strbuf_adds(&sb, "# " INTERRUPTED "\n");
	add_filters(p, "# only ", "\n", &sb);
	strbuf_adds(&sb, "# k kernel, j JIT, i inlined\n#\n");
	fwrite(sb.s, 1, sb.len, to);
	strbuf_fini(&sb);
}

/* A picture is passed on without the recording: it says itself what it does not show. */
static void add_subtitle(const struct report_opts *o, const struct report_in *in, struct strbuf *sub)
{
	const struct profile *p = in->profile;
	struct strbuf sb = STRBUF_INIT;
	struct ev_ledger l;

	strbuf_addf(sub, "%" PRIu64 " %s in %" PRIu64 " stacks", in->tree->nodes[0].total,
		    o->period ? "period" : "samples", calltree_stacks(in->tree));
	if (in->info.interrupted)
		strbuf_adds(sub, "; " INTERRUPTED);
	add_filters(p, "; only ", "", sub);
	if (ledger_of(p, &l)) {
		balance_text(&l, &sb);
		if (sb.len)
			strbuf_addf(sub, "; %s", sb.s);
	}
	add_meta(p, "note", "; ", "", sub);
	add_meta(p, "throttled", "; ", "", sub);
	strbuf_fini(&sb);
}

static int report_write(const struct report_opts *o, const struct report_in *in)
{
	struct svg_opts svg = { .unit = o->period ? "period" : "samples", .width = (unsigned int)o->width,
				.min_width = 0.1 };
	struct outfile *out = outfile_open(o->output);
	struct strbuf sub = STRBUF_INIT;

	if (!out)
		return -EIO;
	if (!strcmp(o->format, "svg")) {
		svg.title = o->title ? o->title : "Flame graph";
		add_subtitle(o, in, &sub);
		svg.subtitle = sub.s;
		svg_write(in->tree, &svg, outfile_stream(out));
		strbuf_fini(&sub);
	} else {
		print_header(o, in, outfile_stream(out));
		functions_print(in->tree, outfile_stream(out), o->limit, o->percent_limit);
	}
	return outfile_close(out);
}

int main(int argc, char **argv)
{
	struct report_opts o = { .format = "text", .by = "comm", .limit = 50, .width = 1200, .percent_limit = 0.1 };
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
		  &o.by, NULL },
		{ "filter", 0, "KEY=VALUE", "only samples with this container, cgroup, comm (globs), pid, nspid, tid, or "
		  "time=FROM-TO (seconds); all keys must fit, of one key any", OPT_CALL, &o, add_filter },
		{ "merge-threads", 0, NULL, "one name for threads that differ by numbers: worker-N", OPT_FLAG,
		  &o.load.merge_threads, NULL },
		{ "weight", 0, "W", "count samples (default) or period", OPT_CALL, &o.period, set_weight },
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
	struct report_in in = { 0 };
	struct profile *profile;
	struct calltree *tree;
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
	if (lead_parse(o.by, &o.lead)) {
		pr_err("--by '%s' is not a list of comm, process, thread, container, none, each at most once", o.by);
		return EXIT_USAGE;
	}
	err = load(&o.load, &profile, &in.info);
	if (!err) {
		in.profile = profile;
		in.tree = tree = calltree_of(profile, &o.lead, o.period);
		err = report_write(&o, &in);
		calltree_free(tree);
		profile_free(profile);
	}
	free(o.load.filters);
	return err || in.info.damaged || in.info.interrupted ? 1 : 0;
}
