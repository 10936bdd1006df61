/* nsprof info: shows what a recording holds and what it lost, as text or JSON. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "bytes/json.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "host/pages.h"
#include "host/parser.h"
#include "info/info_stats.h"
#include "recording.h"
#include "recording/rec_events.h"
#include "recording/rec_input.h"
#include "recording/rec_reader.h"

#define COMM_WIDTH 16	/* TASK_COMM_LEN */
#define SHOWN 20	/* rows of a table in text; JSON has all */

struct info {
	const char *path;
	struct rec_reader *r;
	struct info_stats st;
	uint64_t lost;		/* samples lost by the kernel, by the recorder, or in damaged blocks */
};

static const struct {
	const char *one, *many;
} capture_names[INFO_CAPTURE_KINDS] = {
	{ "other", "others" }, { "sliced ELF file", "sliced ELF files" }, { "perf map", "perf maps" },
	{ "table of kernel symbols", "tables of kernel symbols" }, { "jitdump", "jitdumps" },
	{ "binary's code", "binaries' code" }, { "process's jitted code outside of its frame", "processes' jitted code outside of its frame" },
};

static uint64_t setting_u64(const struct info *in, const char *key)
{
	const char *v = rec_reader_info(in->r, key);

	return v ? strtoull(v, NULL, 10) : 0;
}

static double duration_s(const struct info *in)
{
	return (double)(in->st.last - in->st.first) / 1e9;
}

static double bytes_per_sample(const struct info *in)
{
	return in->st.samples ? (double)rec_reader_size(in->r) / (double)in->st.samples : 0;
}

static bool whole(const struct info *in)
{
	const struct rec_damage *d = rec_reader_damage(in->r);

	return !d->cut && !d->bad_blocks && !d->behind;
}

/* ---- text ---- */

/* Strings in a recording come from the recorded machines and containers. Pads to @width columns. */
static void put_name(FILE *to, const char *s, size_t width)
{
	struct strbuf sb = STRBUF_INIT;
	size_t n;

	escape_name(&sb, s);
	n = escape_width(sb.s);
	fprintf(to, "%s%*s", sb.s, n < width ? (int)(width - n) : 0, "");
	strbuf_fini(&sb);
}

static void put_row(FILE *to, const char *name, const char *value)
{
	struct strbuf sb = STRBUF_INIT;

	escape_text(&sb, name);
	fprintf(to, "%-14s ", sb.s);
	strbuf_reset(&sb);
	escape_bytes(&sb, value);
	fprintf(to, "%s\n", sb.s);
	strbuf_fini(&sb);
}

/* Text of several lines: left_out. Others are a line, and a newline in them is data. */
static void put_lines(FILE *to, const char *name, const char *value)
{
	for (const char *at = value; *at; at += strspn(at, "\n")) {
		char *line = xstrndup(at, strcspn(at, "\n"));

		put_row(to, at == value ? name : "", line);
		at += strlen(line);
		free(line);
	}
}

static void json_lines(struct json *j, const char *key, const char *value)
{
	struct strbuf out = STRBUF_INIT;

	for (const char *at = value; *at; at += strspn(at, "\n")) {
		char *line = xstrndup(at, strcspn(at, "\n"));

		strbuf_adds(&out, out.len ? "\n" : "");
		escape_bytes(&out, line);
		at += strlen(line);
		free(line);
	}
	json_str(j, key, out.s ? out.s : "");
	strbuf_fini(&out);
}

static void text_settings(const struct info *in, FILE *to)
{
	uint64_t wall = setting_u64(in, "start_wall_ns");
	time_t t = (time_t)(wall / 1000000000u);
	const char *key, *val;
	struct tm tm;
	char when[64];
	size_t it = 0;

	put_row(to, "file", in->path);
	fprintf(to, "%-14s %" PRIu64 ", %s\n", "bytes", rec_reader_size(in->r),
		whole(in) ? "complete" : "cut or damaged");
	if (wall && gmtime_r(&t, &tm) && strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &tm))
		put_row(to, "begun", when);
	while (rec_reader_info_next(in->r, &it, &key, &val)) {
		if (!strcmp(key, "start_wall_ns") || !*val)
			continue;
		(strcmp(key, "left_out") ? put_row : put_lines)(to, key, val);
	}
}

static void text_counts(const struct info *in, FILE *to)
{
	const struct info_stats *st = &in->st;
	const char *name = "captured";

	fprintf(to, "%-14s %.1f s from the first sample to the last\n", "duration", duration_s(in));
	fprintf(to, "%-14s %" PRIu64 ", %.1f bytes of the file each; %" PRIu64 " lost\n", "samples",
		st->samples, bytes_per_sample(in), in->lost);
	fprintf(to,
		"%-14s %" PRIu64 " with a full stack copy (more stack or other memory follows), %" PRIu64
		" cut, %" PRIu64 " with all words kept\n",
		"", st->truncated, st->cut, st->unmasked);
	fprintf(to, "%-14s %zu process%s, %" PRIu64 " thread%s, %zu cgroup%s\n", "sampled",
		st->nprocesses, plural_of(st->nprocesses, "", "es"), st->threads, plural(st->threads), st->nsampled, plural(st->nsampled));
	fprintf(to, "%-14s %" PRIu64 " %s, %" PRIu64 " mapping%s\n", "known", st->binaries,
		plural_of(st->binaries, "binary", "binaries"), st->mappings, plural(st->mappings));
	for (size_t i = 0; i < INFO_CAPTURE_KINDS; i++) {
		if (!st->captures[i])
			continue;
		fprintf(to, "%-14s %" PRIu64 " %s, %" PRIu64 " byte%s\n", name, st->captures[i],
			plural_of(st->captures[i], capture_names[i].one, capture_names[i].many), st->capture_bytes[i],
			plural(st->capture_bytes[i]));
		name = "";
	}
	if (st->code.missed)
		fprintf(to, "%-14s code of %" PRIu64 " function%s is missing or incomplete: %.1f %% of samples in user code\n",
			"", st->code.missed_functions, plural(st->code.missed_functions), 100 * (double)st->code.missed / (double)st->code.samples);
}

/* If samples stand for different numbers of events, their sum is the first column. */
static bool by_period(const struct info *in)
{
	return in->st.period_min != in->st.period_max;
}

static void text_weight(const struct info *in, uint64_t periods, FILE *to)
{
	if (by_period(in))
		fprintf(to, "%16" PRIu64 " ", periods);
}

static const char *weight_head(const struct info *in)
{
	return by_period(in) ? "          events " : "";
}

static void text_more(FILE *to, size_t n)
{
	if (n > SHOWN)
		fprintf(to, "%12s  and %zu more: see --json\n", "", n - SHOWN);
}

static void add_part(struct strbuf *sb, const struct ctr *c, void (*text)(const struct ctr *c, struct strbuf *out))
{
	struct strbuf part = STRBUF_INIT;

	text(c, &part);
	if (part.len)
		strbuf_addf(sb, "%s%s", sb->len ? "; " : "", part.s);
	strbuf_fini(&part);
}

/* "container web (docker), image nginx; limit 0.50 CPUs; throttled in 74 of 507 periods, 3.8 s" */
static void text_container(const struct ctr *c, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	if (ctr_is_container(c))
		ctr_name_text(c, &sb);
	if (c->image[0]) {
		strbuf_adds(&sb, ", image ");
		escape_name(&sb, c->image);
	}
	add_part(&sb, c, ctr_limit_text);
	add_part(&sb, c, ctr_throttle_text);
	if (c->gone)
		strbuf_adds(&sb, sb.len ? "; removed" : "removed");
	if (sb.len)
		fprintf(to, "%25s%s\n", "", sb.s);
	strbuf_fini(&sb);
}

static void text_containers(const struct info *in, FILE *to)
{
	const struct info_stats *st = &in->st;

	fprintf(to, "\n%s%12s %10s  cgroup\n", weight_head(in), "samples", "processes");
	for (size_t i = 0; i < st->ncontainers && i < SHOWN; i++) {
		const struct info_container *c = &st->container[i];

		text_weight(in, c->periods, to);
		fprintf(to, "%12" PRIu64 " %10" PRIu64 "  ", c->samples, c->processes);
		put_name(to, c->cgroup ? intern_str(st->strings, c->cgroup) : "(unknown)", 0);
		putc('\n', to);
		if (c->ctr)
			text_container(c->ctr, to);
	}
	text_more(to, st->ncontainers);
}

static void text_processes(const struct info *in, FILE *to)
{
	const struct info_stats *st = &in->st;

	fprintf(to, "\n%s%12s %8s %8s  %-16s %s\n", weight_head(in), "samples", "pid", "inside", "comm",
		"exe, cgroup");
	for (size_t i = 0; i < st->nprocesses && i < SHOWN; i++) {
		const struct info_process *p = &st->process[i];
		const char *comm = p->comm ? intern_str(st->strings, p->comm) : "?";

		text_weight(in, p->periods, to);
		fprintf(to, "%12" PRIu64 " %8u ", p->samples, p->pid);
		if (p->nspid)
			fprintf(to, "%8u  ", p->nspid);
		else
			fprintf(to, "%8s  ", "?");
		put_name(to, comm, COMM_WIDTH);
		putc(' ', to);
		put_name(to, p->exe ? intern_str(st->strings, p->exe) : "?", 0);
		putc(' ', to);
		put_name(to, intern_str(st->strings, p->cgroup), 0);
		putc('\n', to);
	}
	text_more(to, st->nprocesses);
}

static void print_text(const struct info *in, FILE *to)
{
	text_settings(in, to);
	text_counts(in, to);
	info_events_text(&in->st.events, in->st.ledger.cpu, in->st.ledger.ncpu, info_ledger_by_event(&in->st.ledger),
			 in->st.ledger.start, to);
	info_ledger_text(&in->st.ledger, to);
	info_budgets_text(&in->st.budgets, in->st.ctrs, to);
	info_times_text(&in->st.times, to);
	if (in->st.ncontainers)
		text_containers(in, to);
	if (in->st.nprocesses)
		text_processes(in, to);
}

/* ---- JSON ---- */

static void json_settings(const struct info *in, struct json *j)
{
	const char *key, *val;
	size_t it = 0;

	json_begin_object(j, "settings");
	while (rec_reader_info_next(in->r, &it, &key, &val))
		(strcmp(key, "left_out") ? json_bytes : json_lines)(j, key, val);
	json_end_object(j);
}

static void json_counts(const struct info *in, struct json *j)
{
	const struct info_stats *st = &in->st;
	uint64_t n = 0, bytes = 0;

	for (size_t i = 0; i < INFO_CAPTURE_KINDS; i++) {
		n += st->captures[i];
		bytes += st->capture_bytes[i];
	}
	json_begin_object(j, "counts");
	json_u64(j, "processes", st->nprocesses);
	json_u64(j, "threads", st->threads);
	json_u64(j, "binaries", st->binaries);
	json_u64(j, "mappings", st->mappings);
	json_u64(j, "containers", st->ncontainers);
	json_u64(j, "captures", n);
	json_u64(j, "capture_bytes", bytes);
	json_u64(j, "code_samples", st->code.samples);
	json_u64(j, "code_samples_missed", st->code.missed);
	json_u64(j, "code_functions_missed", st->code.missed_functions);
	json_end_object(j);
}

static void json_damage(const struct info *in, struct json *j)
{
	const struct rec_damage *d = rec_reader_damage(in->r);

	json_bool(j, "complete", whole(in));
	json_begin_object(j, "damage");
	json_bool(j, "cut", d->cut);
	if (d->cut)
		json_u64(j, "cut_at", d->cut_at);
	json_u64(j, "bad_blocks", d->bad_blocks);
	if (d->bad_blocks)
		json_u64(j, "first_bad", d->first_bad);
	json_u64(j, "lost_samples", d->lost_samples);
	json_u64(j, "behind", d->behind);
	json_end_object(j);
}

static void json_container(const struct ctr *c, struct json *j)
{
	json_name(j, "label", c->label);
	json_name(j, "runtime", c->runtime);
	json_name(j, "id", c->id);
	json_name(j, "name", c->name);
	json_name(j, "image", c->image);
	json_name(j, "pod", c->pod);
	json_name(j, "pod_namespace", c->pod_ns);
	json_name(j, "pod_uid", c->pod_uid);
	json_bool(j, "removed", c->gone);
	if (c->quota_us) {
		json_u64(j, "quota_us", c->quota_us);
		json_u64(j, "period_us", c->period_us);
	}
	if (c->have_usage)
		json_u64(j, "usage_us", c->usage_us);
	if (c->have_throttling) {
		json_u64(j, "nr_periods", c->nr_periods);
		json_u64(j, "nr_throttled", c->nr_throttled);
		json_u64(j, "throttled_us", c->throttled_us);
	}
}

static void json_rows(const struct info *in, struct json *j)
{
	const struct info_stats *st = &in->st;

	json_begin_array(j, "containers");
	for (size_t i = 0; i < st->ncontainers; i++) {
		json_begin_object(j, NULL);
		json_name(j, "cgroup", intern_str(st->strings, st->container[i].cgroup));
		json_u64(j, "samples", st->container[i].samples);
		json_u64(j, "periods", st->container[i].periods);
		json_u64(j, "processes", st->container[i].processes);
		if (st->container[i].ctr)
			json_container(st->container[i].ctr, j);
		json_end_object(j);
	}
	json_end_array(j);
	json_begin_array(j, "processes");
	for (size_t i = 0; i < st->nprocesses; i++) {
		const struct info_process *p = &st->process[i];

		json_begin_object(j, NULL);
		json_u64(j, "pid", p->pid);
		json_u64(j, "nspid", p->nspid);
		json_name(j, "comm", intern_str(st->strings, p->comm));
		json_name(j, "exe", intern_str(st->strings, p->exe));
		json_name(j, "cgroup", intern_str(st->strings, p->cgroup));
		json_u64(j, "samples", p->samples);
		json_u64(j, "periods", p->periods);
		json_end_object(j);
	}
	json_end_array(j);
}

static void print_json(const struct info *in, FILE *to)
{
	const char *event = rec_reader_info(in->r, "event");
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	json_str(j, "file", in->path);
	json_u64(j, "version", rec_reader_version(in->r));
	json_bytes(j, "event", event ? event : "");
	json_u64(j, "frequency", setting_u64(in, "frequency"));
	json_u64(j, "period", setting_u64(in, "period"));
	json_u64(j, "dump_size", setting_u64(in, "dump_size"));
	json_u64(j, "samples", in->st.samples);
	json_u64(j, "periods", in->st.periods);
	json_u64(j, "lost", in->lost);
	json_u64(j, "truncated", in->st.truncated);
	json_u64(j, "cut", in->st.cut);
	json_u64(j, "unmasked", in->st.unmasked);
	json_u64(j, "bytes", rec_reader_size(in->r));
	json_double(j, "bytes_per_sample", bytes_per_sample(in));
	json_double(j, "duration", duration_s(in));
	json_u64(j, "first_sample_ns", in->st.first);
	json_u64(j, "last_sample_ns", in->st.last);
	json_damage(in, j);
	json_counts(in, j);
	info_events_json(&in->st.events, in->st.ledger.cpu, in->st.ledger.ncpu, info_ledger_by_event(&in->st.ledger),
			 in->st.ledger.start, j);
	info_ledger_json(&in->st.ledger, j);
	info_budgets_json(&in->st.budgets, in->st.ctrs, j);
	info_times_json(&in->st.times, j);
	json_settings(in, j);
	json_rows(in, j);
	json_end_object(j);
	json_free(j);
}

/* ---- command ---- */

struct request {
	const char *path, *event;	/* borrowed */
	bool json, no_sandbox;
};

/* Exit status. */
static int show(void *ctx)
{
	const struct request *rq = ctx;
	struct info in = { .path = rq->path };
	const char *event = rq->event;
	struct rec_events events = { 0 };
	struct outfile *out;
	int err;

	in.r = rec_reader_open_event(rq->path, &event);
	if (!in.r)
		return 1;
	/* It shows all events of a recording, but an event that is not there is a mistake. */
	if (event && (rec_events_read(&events, in.r) || rec_events_pick(&events, event, rec_input_shown(rq->path)) < 0)) {
		rec_events_fini(&events);
		rec_reader_close(in.r);
		return 1;
	}
	rec_events_fini(&events);
	err = info_stats_collect(in.r, &in.st);
	in.lost = in.st.ledger.l.lost_kernel + in.st.ledger.l.dropped +
		  rec_reader_damage(in.r)->lost_samples;
	out = outfile_open("-");
	if (out) {
		(rq->json ? print_json : print_text)(&in, outfile_stream(out));
		if (outfile_close(out))
			err = -1;
	}
	rec_reader_warn_damage(in.r);
	if (!out || !whole(&in))
		err = -1;
	info_stats_fini(&in.st);
	rec_reader_close(in.r);
	return err ? 1 : 0;
}

static int run(struct request *rq)
{
	const struct parser p = { .no_files = true, .input = rec_input_shown(rq->path) };

	if (rq->no_sandbox) {
		pr_warn("--no-sandbox: the recording is read with all rights");
		rec_input_no_sandbox();
		return show(rq);
	}
	if (rec_input_prepare(rq->path, rq->event))
		return 1;
	return parser_run(&p, show, rq);
}

int main(int argc, char **argv)
{
	struct request rq = { .path = NULL };
	bool build_info = false, quiet = false;
	int verbose = 0, first, err;
	const struct opt opts[] = {
		OPT_GROUP("Input"),
		OPT_COMMON_INPUT(&rq.path),
		OPT_COMMON_EVENT(&rq.event, "A perf.data is imported with only this event. For a recording all events are shown."),
		OPT_GROUP("Output"),
		{ "json", 'j', NULL, "write JSON with all tables in full", OPT_FLAG, &rq.json,
		  .more = "See JSON." },
		OPT_GROUP("Messages"),
		OPT_COMMON_QUIET(&quiet),
		OPT_COMMON_NO_SANDBOX(&rq.no_sandbox, OPT_COMMON_NO_SANDBOX_PARSER),
		OPT_COMMON_VERBOSE(&verbose),
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof info [options] [FILE]",
		.summary = "Show what a recording holds: settings, host, counts, losses and their causes, containers and processes.",
		.epilog =
			"Exit status: 0 success; 1 failure, or the recording is cut or damaged (what it holds is shown);\n"
			"129 wrong command line.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.operands = OPT_VALUE_RECORDING,
	};

	pages_heap(pages_are_slow());
	log_init("nsprof info");
	signals_init();
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? 0 : EXIT_USAGE;
	if (build_info) {
		printf("info: format %d %s\n", REC_VERSION, codec_version());
		return 0;
	}
	log_set_verbosity(quiet ? -1 : verbose);
	if (argc - first > 1 || (rq.path && argc > first)) {
		pr_err("unexpected argument '%s': only one recording can be read; see 'nsprof info --help'", argv[argc - 1]);
		return EXIT_USAGE;
	}
	if (!rq.path)
		rq.path = argc > first ? argv[first] : rec_reader_default();
	return run(&rq);
}
