/* nsprof-ps: the command line, and the table or JSON. */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/signals.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "bytes/json.h"
#include "cli/opt.h"
#include "containers/ps.h"
#include "host/opener.h"
#include "host/unanswered.h"
#include "ps/ps_names.h"
#include "run/confine.h"

#define INTERVAL_MAX 86400.0	/* seconds */
#define ID_SHOWN 12	/* columns, as docker ps */

struct options {
	double interval;	/* seconds */
	bool watch, json, build_info;
	const char *list;	/* --list-names, for completion; NULL: not given */
	char *roots;		/* owned; all --runtime-root, joined by ':' */
};

/* ---- text ---- */

/* "shop/front-0/nginx", "web". Containers choose these names: none may break the table. */
static void full_name(const struct container *c, struct strbuf *sb)
{
	strbuf_reset(sb);
	if (c->pod[0]) {
		escape_word(sb, c->pod_ns);
		strbuf_adds(sb, c->pod_ns[0] ? "/" : "");
		escape_word(sb, c->pod);
		strbuf_addc(sb, '/');
	}
	/* A long ID as the name means that there is none. The ID has its own column. */
	if (!strcmp(c->name, c->id) && strlen(c->id) == 64)
		strbuf_addc(sb, '-');
	else
		escape_word(sb, c->name);
}

static void shared_names(const struct ps_row *r, struct strbuf *sb)
{
	strbuf_reset(sb);
	for (uint32_t i = 0; i < PS_NS_N; i++)
		/*
		 * Hardly any container has its own clock, and the cgroup namespace changes only
		 * names.
		 */
		if (i != PS_NS_TIME && i != PS_NS_CGROUP && r->shared >> i & 1)
			strbuf_addf(sb, "%s%s", sb->len ? "," : "", ps_ns_names[i]);
	if (!sb->len)
		strbuf_addc(sb, r->ns_known ? '-' : '?');
}

/* "74/507 3.80s" */
static void throttling(const struct ps_row *r, struct strbuf *sb)
{
	const struct cpu_reading *a = &r->before, *b = &r->now;

	strbuf_reset(sb);
	if (!b->have_throttling || (!b->quota_us && b->nr_throttled == a->nr_throttled))
		strbuf_addc(sb, '-');
	else
		strbuf_addf(sb, "%llu/%llu %.2fs", (unsigned long long)(b->nr_throttled - a->nr_throttled),
			    (unsigned long long)(b->nr_periods - a->nr_periods),
			    (double)(b->throttled_us - a->throttled_us) / 1e6);
}

/* Most IDs are 64 digits. Others may be any name of a cgroup. */
static void short_id(const char *id, struct strbuf *sb)
{
	escape_word(sb, id);
	sb->len = escape_prefix(sb->s, ID_SHOWN);
	sb->s[sb->len] = '\0';
}

#define COLUMNS 12

static const char *const titles[COLUMNS] = {
	"CPU%", "LIMIT", "THROTTLED", "PSI", "RUNTIME", "NAME", "ID", "PID", "NSPID", "PROCS", "HOST-NS", "IMAGE",
};

static void row_cells(const struct ps *ps, const struct ps_row *r, struct strbuf cell[COLUMNS])
{
	const struct container *c = r->c;
	double cpu = ps_cpu(ps, r);

	for (int i = 0; i < COLUMNS; i++)
		strbuf_reset(&cell[i]);
	if (cpu < 0)
		strbuf_addc(&cell[0], '?');
	else
		strbuf_addf(&cell[0], "%.1f", 100 * cpu);
	if (r->now.quota_us && r->now.period_us)
		strbuf_addf(&cell[1], "%.0f", 100 * (double)r->now.quota_us / (double)r->now.period_us);
	else
		strbuf_addc(&cell[1], '-');
	throttling(r, &cell[2]);
	if (r->psi < 0)
		strbuf_addc(&cell[3], '-');
	else
		strbuf_addf(&cell[3], "%.1f", r->psi);
	escape_word(&cell[4], c->runtime[0] ? c->runtime : "?");
	full_name(c, &cell[5]);
	short_id(c->id, &cell[6]);
	strbuf_addf(&cell[7], r->pid ? "%u" : "?", r->pid);
	strbuf_addf(&cell[8], r->nspid ? "%u" : "?", r->nspid);
	strbuf_addf(&cell[9], "%u", r->processes);
	shared_names(r, &cell[10]);
	escape_word(&cell[11], c->image[0] ? c->image : "-");
}

/* Figures are right-aligned, words left-aligned. The last column is not padded. */
static bool to_the_right(int column)
{
	return column < 4 || (column >= 7 && column <= 9);
}

static void print_cell(int column, const char *text, int width, FILE *to)
{
	int pad = width - (int)escape_width(text);

	if (column == COLUMNS - 1)
		fprintf(to, "  %s\n", text);
	else
		fprintf(to, "%s%*s%s%*s", column ? "  " : "", to_the_right(column) ? pad : 0, "", text, to_the_right(column) ? 0 : pad, "");
}

static void print_text(const struct ps *ps, FILE *to)
{
	struct strbuf cell[COLUMNS] = { 0 };
	int width[COLUMNS];

	for (int i = 0; i < COLUMNS; i++)
		width[i] = (int)strlen(titles[i]);
	for (size_t k = 0; k < ps->n; k++) {
		row_cells(ps, &ps->rows[k], cell);
		for (int i = 0; i < COLUMNS; i++)
			width[i] = MAX(width[i], (int)escape_width(cell[i].s));
	}
	for (size_t k = 0; k <= ps->n; k++) {
		if (k)
			row_cells(ps, &ps->rows[k - 1], cell);
		for (int i = 0; i < COLUMNS; i++)
			print_cell(i, k ? cell[i].s : titles[i], width[i], to);
	}
	for (int i = 0; i < COLUMNS; i++)
		strbuf_fini(&cell[i]);
	if (!ps->n)
		fputs("no containers\n", to);
}

/* ---- JSON ---- */

static void json_row(struct json *j, const struct ps *ps, const struct ps_row *r)
{
	const struct container *c = r->c;
	const struct cpu_reading *a = &r->before, *b = &r->now;

	json_begin_object(j, NULL);
	json_name(j, "runtime", c->runtime);
	json_name(j, "id", c->id);
	json_name(j, "name", c->name);
	json_name(j, "image", c->image);
	json_name(j, "pod", c->pod);
	json_name(j, "pod_namespace", c->pod_ns);
	json_name(j, "pod_uid", c->pod_uid);
	json_u64(j, "pid", r->pid);
	json_u64(j, "nspid", r->nspid);
	json_name(j, "cgroup", c->cgroup);
	json_u64(j, "processes", r->processes);
	if (r->ns_known) {
		json_begin_array(j, "host_namespaces");
		for (uint32_t i = 0; i < PS_NS_N; i++)
			if (r->shared >> i & 1)
				json_str(j, NULL, ps_ns_names[i]);
		json_end_array(j);
	}
	if (ps_cpu(ps, r) >= 0)
		json_double(j, "cpus", ps_cpu(ps, r));
	if (b->quota_us && b->period_us)
		json_double(j, "limit_cpus", (double)b->quota_us / (double)b->period_us);
	if (b->have_throttling) {
		json_u64(j, "nr_periods", b->nr_periods - a->nr_periods);
		json_u64(j, "nr_throttled", b->nr_throttled - a->nr_throttled);
		json_u64(j, "throttled_usec", b->throttled_us - a->throttled_us);
	}
	if (r->psi >= 0)
		json_double(j, "cpu_pressure_some_avg10", r->psi);
	json_end_object(j);
}

static void print_json(const struct ps *ps, FILE *to)
{
	struct json *j = json_new(to);

	json_begin_object(j, NULL);
	json_double(j, "interval_s", (double)(ps->ended - ps->begun) / 1e9);
	json_begin_array(j, "containers");
	for (size_t i = 0; i < ps->n; i++)
		json_row(j, ps, &ps->rows[i]);
	json_end_array(j);
	json_end_object(j);
	json_free(j);
}

/* ---- the command ---- */

static volatile sig_atomic_t stopped, looking;

/* Looking at containers may take a while and leaves nothing behind. Lines are written to the end. */
static void stop(int signo)
{
	(void)signo;
	if (looking)
		_exit(0);
	stopped = 1;
}

static void pass_time(double seconds)
{
	struct timespec ts = { (time_t)seconds, (long)(fmod(seconds, 1) * 1e9) };

	while (nanosleep(&ts, &ts) && errno == EINTR && !stopped)
		;
}

/* State files and names are what tenants wrote. ps keeps what looking at processes and cgroups takes. */
static void confine(void)
{
	struct confine c = { .late_events = false };

	if (SANDBOX_SANITIZED)
		return;
	confine_prepare(&c);
	confine_rights(&c);
	confine_calls(&c);
}

static int run(const struct options *o)
{
	struct sigaction sa = { .sa_handler = stop };
	struct ps ps;
	int rc;

	if (o->watch) {
		looking = 1;
		sigaction(SIGINT, &sa, NULL);
		sigaction(SIGTERM, &sa, NULL);
	}
	rc = ps_open(&ps, o->roots) ? 1 : 0;
	if (rc)
		return rc;
	do {
		struct outfile *out;

		looking = 1;
		ps_begin(&ps);
		looking = 0;
		pass_time(o->interval);
		if (stopped)
			break;
		looking = 1;
		ps_end(&ps);
		looking = 0;
		ps_sort(&ps);
		out = outfile_open("-");
		if (!out) {
			rc = 1;
			break;
		}
		if (o->watch && !o->json && isatty(STDOUT_FILENO))
			fputs("\033[H\033[2J", outfile_stream(out));
		(o->json ? print_json : print_text)(&ps, outfile_stream(out));
		rc = outfile_close(out) ? 1 : 0;
	} while (o->watch && !rc && !stopped);
	ps_close(&ps);
	return rc;
}

static int opt_interval(void *dst, const char *arg)
{
	double *seconds = dst;
	char *end;

	*seconds = strtod(arg, &end);
	if (end != arg && !*end && *seconds >= 0.01 && *seconds <= INTERVAL_MAX)
		return 0;
	pr_err("invalid interval '%s'; --interval takes seconds, at least 0.01", arg);
	return -EINVAL;
}

static int opt_roots(void *dst, const char *arg)
{
	opt_join(dst, ':', arg);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o = { .interval = 1 };
	const struct opt opts[] = {
		OPT_GROUP("Options"),
		{ "interval", 'd', "SECS", "measure over SECS seconds (default: 1)", OPT_CALL,
		  &o.interval, opt_interval, .more = NULL },
		{ "watch", 'w', NULL, "measure and print again until Ctrl-C", OPT_FLAG, &o.watch,
		  .more = NULL },
		{ "json", 'j', NULL, "write JSON with all fields", OPT_FLAG, &o.json,
		  .more =
			"See JSON. With --watch, nsprof writes one object per line and interval." },
		{ "runtime-root", 0, "DIR", "also look for container state in this directory",
		  OPT_CALL, &o.roots, opt_roots, .value = OPT_VALUE_FOLDER,
		  .more = "Several are separated by colons. See nsprof-record(1)." },
		{ "list-names", 0, "KIND", NULL, OPT_STR, &o.list, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &o.build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof ps [options]",
		.summary =
			"List the running containers of all runtimes, with their CPU time, limits and throttling. The busiest comes "
			"first. To record one: nsprof record --container NAME.",
		.epilog = "Exit status: 0 success; 1 failure; 129 wrong command line.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
	};
	int first, err, rc;

	log_init("nsprof ps");
	signals_init();
	err = opt_parse(&spec, argc, argv, &first);
	if (err) {
		rc = err == OPT_HELP ? 0 : EXIT_USAGE;
	} else if (o.build_info) {
		puts("ps: jansson");
		rc = 0;
	} else if (first < argc) {
		pr_err("unexpected argument '%s'; see 'nsprof ps --help'", argv[first]);
		rc = EXIT_USAGE;
	} else if (opener_start(true)) {
		rc = 1;
	} else {
		confine();
		rc = o.list ? ps_names(o.list, o.roots, stdout) || fflush(stdout) : run(&o);
	}
	unanswered_tell(NULL, NULL);
	opener_stop();
	free(o.roots);
	return rc;
}
