/* nsprof-doctor: what can be recorded here, and what is missing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/util.h"
#include "bytes/json.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "doctor/doctor.h"
#include "host/nsopen.h"
#include "host/opener.h"
#include "host/unanswered.h"

static const char *const verdicts[] = {
	[VERDICT_OK] = "ok",
	[VERDICT_NOT_OK] = "not ok",
	[VERDICT_UNKNOWN] = "cannot tell",
};

static const char *const works[] = {
	[WORKS] = "works",
	[WORKS_IN_PART] = "in part",
	[WORKS_NOT] = "no",
	[WORKS_UNKNOWN] = "cannot tell",
};

static const char *const statuses[] = {
	"everything on this host can be recorded from here",
	"a part of what runs on this host can be recorded from here",
	"nothing can be recorded from here",
};

/* Directories and names of runtimes may be in the text. */
static void line(FILE *to, const char *state, const char *name, const struct strbuf *text,
		 const struct strbuf *remedy)
{
	struct strbuf sb = STRBUF_INIT;

	if (text->len)
		escape_text(&sb, text->s);
	if (remedy->len) {
		strbuf_adds(&sb, "; ");
		escape_text(&sb, remedy->s);
	}
	if (text->len)
		fprintf(to, "%-12s %-18s %s\n", state, name, sb.s);
	else
		fprintf(to, "%-12s %s%s\n", state, name, sb.s ? sb.s : "");
	strbuf_fini(&sb);
}

static void write_text(FILE *to, const struct doctor *d)
{
	for (size_t i = 0; i < d->nchecks; i++) {
		const struct check *c = &d->checks[i];

		line(to, verdicts[c->verdict], c->name, &c->text, &c->remedy);
	}
	fputs("\nrecordings:\n", to);
	for (size_t i = 0; i < CAN_RECORD_KINDS; i++) {
		const struct can_record *a = &d->abilities[i];

		line(to, works[a->works], a->name, &a->text, &a->remedy);
	}
	fprintf(to, "\n%s\n", statuses[doctor_status(d)]);
}

static void json_text(struct json *j, const char *key, const struct strbuf *sb)
{
	if (sb->len)
		json_str(j, key, sb->s);
}

static void json_failure(struct json *j, const char *call, int err)
{
	if (!call)
		return;
	json_str(j, "call", call);
	json_u64(j, "errno", (uint64_t)-err);
}

static void write_json(FILE *to, const struct doctor *d)
{
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	json_u64(j, "status", (uint64_t)doctor_status(d));
	json_str(j, "proc", nsopen_proc());
	json_u64(j, "processes_seen", d->near.seen);
	json_u64(j, "processes_readable", d->near.readable);
	json_u64(j, "processes_elsewhere", d->near.elsewhere);
	json_begin_array(j, "checks");
	for (size_t i = 0; i < d->nchecks; i++) {
		const struct check *c = &d->checks[i];

		json_begin_object(j, NULL);
		json_str(j, "name", c->name);
		json_str(j, "verdict", verdicts[c->verdict]);
		json_text(j, "text", &c->text);
		json_text(j, "remedy", &c->remedy);
		json_failure(j, c->call, c->err);
		json_end_object(j);
	}
	json_end_array(j);
	json_begin_array(j, "recordings");
	for (size_t i = 0; i < CAN_RECORD_KINDS; i++) {
		const struct can_record *a = &d->abilities[i];

		json_begin_object(j, NULL);
		json_str(j, "name", a->name);
		json_str(j, "works", works[a->works]);
		json_text(j, "text", &a->text);
		json_text(j, "remedy", &a->remedy);
		json_failure(j, a->trial.call, a->trial.err);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	json_free(j);
}

static const char epilog[] =
	"Exit status: 0 everything on the host can be recorded (-a and -G); 1 only what 'recordings'\n"
	"lists; 2 nothing can be recorded; 129 wrong command line.\n";

int main(int argc, char **argv)
{
	const char *proc = NULL;
	bool as_json = false, build_info = false;
	const struct opt opts[] = {
		OPT_GROUP("Options"),
		{ "json", 'j', NULL, "write JSON", OPT_FLAG, &as_json, .more = "See JSON." },
		OPT_COMMON_PROC(OPT_STR, &proc, NULL),
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof doctor [options]",
		.summary = "Check what can be recorded from here, and say how to fix the rest. nsprof opens events and maps rings as a "
			   "recording would. It takes no samples and writes no file.",
		.epilog = epilog,
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
	};
	struct outfile *out;
	struct doctor d;
	int err, first, status;

	log_init("nsprof doctor");
	signals_init();
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? EXIT_SUCCESS : EXIT_USAGE;
	if (build_info) {
		puts("doctor: zstd libelf");
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (first < argc) {
		pr_err("unexpected argument '%s'; see 'nsprof doctor --help'", argv[first]);
		return EXIT_USAGE;
	}
	if (proc)
		nsopen_set_proc(proc);
	if (opener_start(true))
		return EXIT_FAILURE;
	doctor_examine(&d);
	status = doctor_status(&d);
	out = outfile_open(NULL);
	(as_json ? write_json : write_text)(outfile_stream(out), &d);
	doctor_fini(&d);
	unanswered_tell(NULL, NULL);
	opener_stop();
	return outfile_close(out) ? EXIT_FAILURE : status;
}
