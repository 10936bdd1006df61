/* nsprof-record: the command line. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "log.h"
#include "opt.h"
#include "perf_opts.h"
#include "record_opts.h"
#include "session.h"
#include "signals.h"
#include "strbuf.h"
#include "util.h"
#include "xalloc.h"

#define RING_BYTES_MAX (1ull << 30)
#define DECIMAL "0123456789."
#define DURATION_MAX 1e9	/* seconds */
#define DELAY_MAX 1000000000ull	/* ms */
#define SWITCH_MIN 0.1		/* seconds: two ticks of the drain loop */
#define OVERWRITE_NS 30000000000ull

struct cmdline {
	struct record_opts o;
	bool period_given, timestamp_name, quiet, build_info;
	int verbose;
};

/* The whole of @text as a number from @min to @max. */
static int whole_number(const char *text, uint64_t min, uint64_t max, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end || errno || *v < min || *v > max)
		return -EINVAL;
	return 0;
}

static int opt_freq(void *dst, const char *arg)
{
	struct cmdline *c = dst;

	c->o.freq_given = true;
	c->o.freq_max = !strcmp(arg, "max");
	if (c->o.freq_max || !whole_number(arg, 1, UINT32_MAX, &c->o.freq))
		return 0;
	pr_err("'%s' is no frequency; -F takes a number of samples a second, or 'max'", arg);
	return -EINVAL;
}

static int opt_period(void *dst, const char *arg)
{
	struct cmdline *c = dst;

	c->period_given = true;
	if (!whole_number(arg, 1, INT64_MAX, &c->o.period))
		return 0;
	pr_err("'%s' is no period; -c takes a number of events, from 1 on", arg);
	return -EINVAL;
}

static int opt_callgraph(void *dst, const char *arg)
{
	struct record_opts *o = dst;
	uint64_t size = DUMP_SIZE_MAX;

	if (!strcmp(arg, "fp")) {
		o->callgraph = CALLGRAPH_FP;
		return 0;
	}
	if (!strcmp(arg, "none") || !strcmp(arg, "no")) {
		o->callgraph = CALLGRAPH_NONE;
		return 0;
	}
	if (!strcmp(arg, "lbr") || !strncmp(arg, "fp,", 3)) {
		pr_err("--call-graph %s is perf's and not here: %s; allowed are dwarf[,SIZE], fp and none", arg,
		       arg[0] == 'l' ? "branch records are not taken" : "the kernel walks frame pointers at once");
		return -EINVAL;
	}
	if (strncmp(arg, "dwarf", 5) || (arg[5] && arg[5] != ',')) {
		pr_err("unknown call graph '%s'; allowed are dwarf[,SIZE], fp and none", arg);
		return -EINVAL;
	}
	if (arg[5] && whole_number(arg + 6, 1, DUMP_SIZE_MAX, &size)) {
		pr_err("stack copy size '%s' must be a number from 8 to %d", arg + 6,
		       DUMP_SIZE_MAX);
		return -EINVAL;
	}
	o->callgraph = CALLGRAPH_DWARF;
	o->dump_size = (uint32_t)align_up(size, 8);
	return 0;
}

/* -g alone means call graphs; ours are dwarf unless said otherwise. */
static int opt_g(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	(void)arg;
	if (o->callgraph == CALLGRAPH_NONE)
		o->callgraph = CALLGRAPH_DWARF;
	return 0;
}

static int opt_no_callgraph(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	(void)arg;
	o->callgraph = CALLGRAPH_NONE;
	return 0;
}

static int opt_stacks(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->full_stacks = !strcmp(arg, "full");
	if (o->full_stacks || !strcmp(arg, "masked"))
		return 0;
	pr_err("unknown kind of stacks '%s'; allowed are masked and full", arg);
	return -EINVAL;
}

/* perf would record all of them. */
static int opt_event(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (o->event) {
		pr_err("one event at a time: -e %s and -e %s were given", o->event, arg);
		return -EINVAL;
	}
	o->event = arg;
	return 0;
}

static int opt_list(void *dst, const char *arg)
{
	opt_join(dst, ',', arg);
	return 0;
}

static int opt_roots(void *dst, const char *arg)
{
	opt_join(dst, ':', arg);
	return 0;
}

/* "64" pages or "1M"; anything behind a comma is about AUX areas, which we have none of. */
static int opt_mmap(void *dst, const char *arg)
{
	static const char units[] = "BKMG";
	struct record_opts *o = dst;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), v, want, bytes = page;
	const char *unit;
	char *end;

	errno = 0;
	v = strtoull(arg, &end, 10);
	unit = *end && *end != ',' ? strchr(units, *end) : NULL;
	if (unit)
		end++;
	if (arg[0] < '0' || arg[0] > '9' || errno || (*end && *end != ',') || !v ||
	    v > RING_BYTES_MAX)
		goto bad;
	want = unit ? v << (10 * (unit - units)) : v * page;
	if (want > RING_BYTES_MAX)
		goto bad;
	while (bytes < want)
		bytes *= 2;
	if (bytes != want)
		pr_info("rounding the rings up to %llu KiB", (unsigned long long)bytes / 1024);
	o->ring_bytes = bytes;
	return 0;
bad:
	pr_err("'%s' is no ring size; -m takes pages (a power of two) or a size like 8M, at most "
	       "1G", arg);
	return -EINVAL;
}

/* @text as "10M" or, without a unit, nothing: perf wants one. 0 or -EINVAL. */
static int parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "BKMG";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end && !end[1] ? strchr(units, *end) : NULL;
	if (text[0] < '0' || text[0] > '9' || errno || !unit || !*bytes || *bytes >> 32)
		return -EINVAL;
	*bytes <<= 10 * (unit - units);
	return 0;
}

/* @text as "30s", "0.5s", "5m", "2h", "1d". 0 or -EINVAL. */
static int parse_time(const char *text, uint64_t *ns)
{
	static const char units[] = "smhd";
	static const double secs[] = { 1, 60, 3600, 86400 };
	const char *unit;
	char *end;
	double v;

	v = strtod(text, &end);
	unit = *end && !end[1] ? strchr(units, *end) : NULL;
	if (text[0] < '0' || text[0] > '9' || !unit || text + strspn(text, DECIMAL) != end)
		return -EINVAL;
	v *= secs[unit - units];
	if (!(v >= SWITCH_MIN) || v > DURATION_MAX)
		return -EINVAL;
	*ns = (uint64_t)(v * 1e9);
	return 0;
}

static int opt_switch_output(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->switch_output = true;
	o->switch_bytes = o->switch_ns = 0;
	if (!arg || !strcmp(arg, "signal") || !parse_size(arg, &o->switch_bytes))
		return 0;
	o->switch_bytes = 0;
	if (!parse_time(arg, &o->switch_ns))
		return 0;
	pr_err("'%s' does not say when to switch; --switch-output takes signal, a size (100M; B, K, "
	       "M, G) or a time from 0.1s on (30s; s, m, h, d)", arg);
	return -EINVAL;
}

static int opt_overwrite(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	o->overwrite = true;
	o->overwrite_ns = OVERWRITE_NS;
	if (!arg || !parse_time(arg, &o->overwrite_ns))
		return 0;
	pr_err("'%s' is no time; --overwrite takes what to keep, for instance 30s (s, m, h, d)",
	       arg);
	return -EINVAL;
}

static int opt_max_size(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!parse_size(arg, &o->max_bytes))
		return 0;
	pr_err("'%s' is no size; --max-size takes a number with a unit, for instance 100M (B, K, M, "
	       "G)", arg);
	return -EINVAL;
}

static int opt_max_files(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!whole_number(arg, 1, UINT32_MAX, &o->switch_max_files))
		return 0;
	pr_err("'%s' is no number of files; --switch-max-files takes 1 or more", arg);
	return -EINVAL;
}

static int opt_duration(void *dst, const char *arg)
{
	struct record_opts *o = dst;
	char *end;
	double secs = strtod(arg, &end);

	/* strtod(3) takes blanks and other notations, too. */
	if (end == arg || arg[strspn(arg, DECIMAL "eE+-")] || *end || !(secs > 0) || secs > DURATION_MAX) {
		pr_err("'%s' is no duration; --duration takes seconds, for instance 10 or 0.5",
		       arg);
		return -EINVAL;
	}
	o->duration_ns = MAX((uint64_t)(secs * 1e9), 1);
	return 0;
}

static int opt_clock(void *dst, const char *arg)
{
	static const char *const mono[] = { "mono", "monotonic", "CLOCK_MONOTONIC", "1" };
	static const char *const others[] = {
		"raw", "monotonic_raw", "CLOCK_MONOTONIC_RAW", "real", "realtime", "CLOCK_REALTIME", "boot", "boottime",
		"CLOCK_BOOTTIME", "tai", "CLOCK_TAI",
	};
	bool known = arg[0] >= '0' && arg[0] <= '9' && !arg[strspn(arg, "0123456789")];

	(void)dst;
	for (size_t i = 0; i < ARRAY_SIZE(mono); i++)
		if (!strcasecmp(arg, mono[i]))
			return 0;
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		known = known || !strcasecmp(arg, others[i]);
	if (!known) {
		pr_err("unknown clock '%s'; recordings are in mono, with the wall time", arg);
		return -EINVAL;
	}
	pr_info("clock '%s' is not used: recordings are in CLOCK_MONOTONIC and say what wall time "
		"it was", arg);
	return 0;
}

/* "10-20,30-40", ms after the start: when it is on. Appends to the toggles; 0 or -EINVAL. */
static int parse_windows(struct record_opts *o, const char *text)
{
	uint64_t ms, last = 0;
	size_t cap = 0;
	char *end;

	for (const char *p = text;; p = end + 1) {
		errno = 0;
		ms = strtoull(p, &end, 10);
		if (*p < '0' || *p > '9' || errno || ms > DELAY_MAX || (o->ntoggles && ms <= last))
			return -EINVAL;
		XGROW(o->toggles_ms, o->ntoggles, cap);
		o->toggles_ms[o->ntoggles++] = last = ms;
		/* A window has a begin and an end. */
		if (!*end && o->ntoggles % 2 == 0)
			return 0;
		if (*end != (o->ntoggles % 2 ? '-' : ','))
			return -EINVAL;
	}
}

static int opt_delay(void *dst, const char *arg)
{
	struct record_opts *o = dst;
	uint64_t ms;

	free(o->toggles_ms);
	o->toggles_ms = NULL;
	o->ntoggles = 0;
	o->start_off = true;
	if (!strcmp(arg, "-1"))
		return 0;
	if (!whole_number(arg, 0, DELAY_MAX, &ms)) {
		o->start_off = ms;
		o->toggles_ms = xmemdup(&ms, sizeof(ms));
		o->ntoggles = !!ms;
		return 0;
	}
	if (!parse_windows(o, arg))
		return 0;
	pr_err("'%s' is no delay; -D takes ms (at most %llu), -1 (off until --control says enable), or when to be on, "
	       "as in 10-20,30-40", arg, DELAY_MAX);
	return -EINVAL;
}

static int opt_realtime(void *dst, const char *arg)
{
	struct record_opts *o = dst;

	if (!whole_number(arg, 1, 99, &o->realtime))
		return 0;
	pr_err("'%s' is no realtime priority; -r takes 1 to 99", arg);
	return -EINVAL;
}

static const char summary[] =
	"Record where the CPU time of processes, containers (by cgroup) or the whole host goes, "
	"with stacks. Without a target and a command, all CPUs are recorded until a signal comes. "
	"With -a, -p or -G the command is a timer: its end ends the recording.";

static const char epilog[] =
	"Examples:\n"
	"  nsprof record --container web --duration 10     a container, for ten seconds\n"
	"  nsprof record -G 'kubepods/*/*' --duration 10   all cgroups that match\n"
	"  nsprof record -p 4711 --duration 5              a process with all its threads\n"
	"  nsprof record -F 999 -- make                    a command from its start\n"
	"  ssh host nsprof record -o - -a --duration 5 | nsprof symbolize -i -\n"
	"\n"
	"Exit status:\n"
	"  that of the command, if there is one (128 + N when signal N ended it); 0 when the\n"
	"  duration is over or the target has ended; by the same signal after SIGINT (130) or\n"
	"  SIGTERM (143), with a complete recording; 129 for a bad command line; 1 for\n"
	"  everything else, also when nothing ran in the chosen cgroups.\n";

static int parse(struct cmdline *c, int argc, char **argv, int *first)
{
	struct record_opts *o = &c->o;
	const struct opt opts[] = {
		{ "pid", 'p', "PID[,PID...]",
		  "record these processes: all their threads, and what they start from now on",
		  OPT_STR, &o->pids, NULL },
		{ "tid", 't', "TID[,TID...]", "record these threads, and what they start", OPT_STR,
		  &o->tids, NULL },
		{ "all-cpus", 'a', NULL, "record everything on all CPUs", OPT_FLAG, &o->all_cpus,
		  NULL },
		{ "include-self", 0, NULL, "keep samples of the recorder itself, too", OPT_FLAG,
		  &o->include_self, NULL },
		{ "cpu", 'C', "LIST", "record on these CPUs only, for instance 0,2-4", OPT_STR,
		  &o->cpus, NULL },
		{ "container", 0, "NAME|ID[,...]",
		  "record these containers: by name, id or the beginning of one (docker, podman, "
		  "containerd, CRI-O, runc, crun, lxc, systemd-nspawn)", OPT_CALL, &o->containers, opt_list },
		{ "pod", 0, "POD[,...]", "record this Kubernetes pod, or one container of it: [NS/]POD[/CONTAINER]",
		  OPT_CALL, &o->pods, opt_list },
		{ "cgroup", 'G', "NAME[,NAME...]",
		  "record these cgroups and what is in them; relative to the hierarchy or absolute, "
		  "and patterns: 'docker/*'", OPT_CALL, &o->cgroups, opt_list },
		{ "cgroup-of", 0, "PID[,PID...]", "record the cgroups that these processes are in",
		  OPT_CALL, &o->cgroup_of, opt_list },
		{ "runtime-root", 0, "DIR",
		  "look for the state of containers here, too (docker's data root, runc's root ...)",
		  OPT_CALL, &o->runtime_roots, opt_roots },
		{ "event", 'e', "EVENT[:u|:k]",
		  "what to sample by (default: cycles; cpu-clock where there is no such counter)",
		  OPT_CALL, o, opt_event },
		{ "freq", 'F', "HZ|max", "samples a second and CPU (default: 99)", OPT_CALL, c,
		  opt_freq },
		{ "count", 'c', "N", "one sample every N events instead", OPT_CALL, c, opt_period },
		{ NULL, 'g', NULL, "record call graphs (they are on anyway)", OPT_CALL, o, opt_g },
		{ "call-graph", 0, "dwarf[,SIZE]|fp|none",
		  "how stacks are taken (default: dwarf with the largest copy, 65528 bytes)",
		  OPT_CALL, o, opt_callgraph },
		{ "all-user", 0, NULL, "sample only what runs in user space", OPT_FLAG, &o->all_user, NULL },
		{ "all-kernel", 0, NULL, "sample only what runs in the kernel", OPT_FLAG, &o->all_kernel, NULL },
		{ "no-call-graph", 0, NULL, NULL, OPT_CALL, o, opt_no_callgraph },
		{ "stacks", 0, "masked|full",
		  "keep only words that unwinding can use (default), or all of every stack",
		  OPT_CALL, o, opt_stacks },
		{ "output", 'o', "FILE",
		  "where to (default: nsprof.data; an old one is kept as nsprof.data.old); - is "
		  "standard output, and what is taken when that is a pipe", OPT_STR, &o->output, NULL },
		{ "mmap-pages", 'm', "PAGES|SIZE",
		  "size of each CPU's ring (default: a quarter second)", OPT_CALL, o, opt_mmap },
		{ "delay", 'D', "MS|-1|FROM-TO[,...]",
		  "wait so long before sampling; -1: until --control says so; or sample then only, ms after the start",
		  OPT_CALL, o, opt_delay },
		{ "control", 0, "fd:N[,ACK]|fifo:PATH[,ACK]",
		  "take commands from there: enable, disable, stop, snapshot, ping", OPT_STR, &o->control, NULL },
		{ "duration", 0, "SECS", "stop after so many seconds; fractions are allowed",
		  OPT_CALL, o, opt_duration },
		{ "max-size", 0, "SIZE", "stop when so much is written (100M; B, K, M, G)",
		  OPT_CALL, o, opt_max_size },
		{ "switch-output", 0, "[signal|SIZE|TIME]",
		  "begin a new file at SIGUSR2, and when one has SIZE (100M) or is TIME old (30s, "
		  "5m); each is readable alone and gets its last name, FILE.<time>, when it is over",
		  OPT_CALL, o, opt_switch_output },
		{ "switch-max-files", 0, "N", "keep the last N of these files only", OPT_CALL, o,
		  opt_max_files },
		{ "overwrite", 0, "[TIME]",
		  "flight recorder: keep the last TIME (default: 30s) in memory, at most 32 MiB; "
		  "SIGUSR2 writes it to FILE.<time>, the end of the recording to FILE", OPT_CALL,
		  o, opt_overwrite },
		{ "proc", 0, "DIR", "where /proc of the recorded host is seen (default: /proc)", OPT_STR, &o->proc,
		  NULL },
		{ "no-inherit", 'i', NULL, "leave out threads and children that start later",
		  OPT_FLAG, &o->no_inherit, NULL },
		{ "user-callchains", 0, NULL, "of stacks, only the part in user space", OPT_FLAG, &o->user_chains, NULL },
		{ "kernel-callchains", 0, NULL, "of stacks, only the part in the kernel", OPT_FLAG, &o->kernel_chains, NULL },
		{ "strict-freq", 0, NULL, "a frequency that the kernel does not allow is an error", OPT_FLAG,
		  &o->strict_freq, NULL },
		{ "realtime", 'r', "PRIO", "run with this realtime priority (SCHED_FIFO, 1 to 99)", OPT_CALL, o,
		  opt_realtime },
		{ "timestamp-filename", 0, NULL, "call the file FILE.<time> when it is over", OPT_FLAG,
		  &c->timestamp_name, NULL },
		{ "dry-run", 0, NULL, "check the command line and whether what it names is there; record nothing",
		  OPT_FLAG, &o->dry_run, NULL },
		{ "per-thread", 0, NULL, NULL, OPT_FLAG, &o->no_inherit, NULL },
		{ "clockid", 'k', "CLOCK", NULL, OPT_CALL, o, opt_clock },
		{ "quiet", 'q', NULL, "errors only", OPT_FLAG, &c->quiet, NULL },
		{ "verbose", 'v', NULL, "say more", OPT_COUNT, &c->verbose, NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &c->build_info, NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof record [options] [-- command...]",
		.summary = summary,
		.epilog = epilog,
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
		.stop_at_operand = true,
	};

	return opt_parse(&spec, argc, argv, first);
}

/* Options that exclude each other. */
static int verify(const struct cmdline *c)
{
	const struct record_opts *o = &c->o;

	if (o->freq_given && c->period_given) {
		pr_err("-F and -c exclude each other: sample by frequency or by count");
		return -EINVAL;
	}
	if (o->start_off && !o->ntoggles && !o->control) {
		pr_err("-D -1 is off until somebody says 'enable': add --control fd:N or fifo:PATH");
		return -EINVAL;
	}
	if (o->switch_max_files && !o->switch_output && !o->overwrite) {
		pr_err("--switch-max-files goes with --switch-output or --overwrite");
		return -EINVAL;
	}
	if (o->overwrite && (o->switch_bytes || o->switch_ns)) {
		pr_err("--overwrite writes a file when SIGUSR2 asks for it: --switch-output can only "
		       "be 'signal' then");
		return -EINVAL;
	}
	if (o->overwrite && o->max_bytes) {
		pr_err("--overwrite keeps to its memory by itself: --max-size does not go with it");
		return -EINVAL;
	}
	if (o->all_user && o->all_kernel) {
		pr_err("--all-user and --all-kernel exclude each other");
		return -EINVAL;
	}
	return 0;
}

static char *join(int argc, char **argv)
{
	struct strbuf sb = STRBUF_INIT;

	for (int i = 0; i < argc; i++)
		strbuf_addf(&sb, "%s%s", i ? " " : "", argv[i]);
	return sb.s ? sb.s : xstrdup("");
}

/* End by @signo, so that our parent sees what perf's would; core files are not ours to write. */
static void end_by_signal(int signo)
{
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none);
	signal(signo, SIG_DFL);
	sigemptyset(&set);
	sigaddset(&set, signo);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(signo);
}

int main(int argc, char **argv)
{
	struct cmdline c = {
		.o = { .freq = FREQ_DEFAULT,
		       .callgraph = CALLGRAPH_DWARF,
		       .dump_size = DUMP_SIZE_MAX },
	};
	int first, err, rc, signo;

	log_init("nsprof record");
	signals_init();
	c.o.cmdline = join(argc, argv);
	err = parse(&c, argc, argv, &first);
	if (err == OPT_HELP || c.build_info) {
		if (err != OPT_HELP)
			puts("record: masked-stacks dwarf zstd libelf");
		rc = err < 0 ? EXIT_USAGE : fflush(stdout) ? 1 : 0;
		goto out;
	}
	if (err || verify(&c)) {
		rc = EXIT_USAGE;
		goto out;
	}
	log_set_verbosity(c.quiet ? -1 : c.verbose);
	/* A row of one file. */
	c.o.switch_output |= c.timestamp_name;
	/* No copy of the user's stack for what is not to be seen. */
	if (c.o.kernel_chains && !c.o.user_chains && c.o.callgraph == CALLGRAPH_DWARF)
		c.o.callgraph = CALLGRAPH_FP;
	if (first < argc)
		c.o.command = argv + first;
	rc = session_run(&c.o, &signo);
	if (signo) {
		end_by_signal(signo);
		/* The first process of a pid namespace cannot be ended so: it says it as a shell would. */
		rc = 128 + signo;
	}
out:
	free(c.o.cgroups);
	free(c.o.containers);
	free(c.o.pods);
	free(c.o.cgroup_of);
	free(c.o.runtime_roots);
	free(c.o.cmdline);
	free(c.o.toggles_ms);
	return rc;
}
