/*
 * The front command: "nsprof record ..." runs nsprof-record. It knows only the names of the
 * programs, so that each can be installed alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/outfile.h"
#include "base/suggest.h"
#include "base/util.h"
#include "bytes/json.h"
#include "cli/opt.h"
#include "cli/sibling.h"

static const struct command {
	const char *name;
	const char *program;
	const char *help;
} commands[] = {
	{ "ps", "nsprof-ps", "list running containers, their CPU time and throttling" },
	{ "record", "nsprof-record", "sample containers, processes or the whole host" },
	{ "report", "nsprof-report", "show where the time went: a table, a call tree, a flame graph" },
	{ "annotate", "nsprof-annotate", "show the samples at each instruction of a function" },
	{ "diff", "nsprof-diff", "show what changed between two profiles, and how certain that is" },
	{ "symbolize", "nsprof-symbolize", "turn a recording into folded stacks and other formats" },
	{ "script", "nsprof-script", "print each sample, as perf script does" },
	{ "info", "nsprof-info", "show what a recording holds and what it lost" },
	{ "import", "nsprof-import", "turn a perf.data into a recording" },
	{ "export", "nsprof-export", "turn a recording into a perf.data" },
	{ "list", "nsprof-list", "list the events that can be recorded" },
	{ "doctor", "nsprof-doctor", "check what can be recorded from here" },
};

/* Commands without a program of their own. */
static const struct {
	const char *name, *help;
} own_commands[] = {
	{ "version", "print the version and what the programs were built with" },
	{ "help", "show the commands, or the options of one command" },
};

/* Commands of perf, and its options before a command, and what nsprof offers instead. */
static const struct {
	const char *name, *instead;
} perf_commands[] = {
	{ "archive", "a recording contains the symbols it needs; just copy it" },
	{ "bench", "it benchmarks the kernel; use perf for that" },
	{ "buildid-cache", "symbols are in the recording or found by build-id; see nsprof symbolize --debug-dir" },
	{ "buildid-list", "nsprof info --json lists the binaries of a recording" },
	{ "c2c", "nsprof does not record data addresses" },
	{ "check", "nsprof version shows what it was built with, nsprof doctor what works here" },
	{ "config", "there is no configuration file; use options" },
	{ "daemon", "use nsprof record --switch-output to record continuously" },
	{ "data", "nsprof import reads perf.data; nsprof symbolize --format writes other formats" },
	{ "evlist", "nsprof info shows the event and its settings" },
	{ "ftrace", "nsprof record -e GROUP:NAME records tracepoints, with stacks" },
	{ "inject", "nsprof record captures jitdumps, so there is nothing to inject" },
	{ "iostat", "nsprof does not read bus counters" },
	{ "kallsyms", "nsprof report shows the names of kernel functions; /proc/kallsyms lists them" },
	{ "kmem", "nsprof record -e 'kmem:*' records these tracepoints, with stacks" },
	{ "kvm", "nsprof does not record guests" },
	{ "kwork", "nsprof record -e 'workqueue:*' or 'irq:*' records these tracepoints, with stacks" },
	{ "lock", "nsprof record -e 'lock:*' records these tracepoints, with stacks" },
	{ "mem", "nsprof does not record data addresses" },
	{ "probe", "nsprof does not make probes; it records those that perf probe has made: -e GROUP:NAME" },
	{ "sched", "nsprof record -e 'sched:*' records these tracepoints, with stacks" },
	{ "stat", "nsprof samples and does not count events; nsprof ps shows the CPU time of containers" },
	{ "test", "run 'make check' to test nsprof" },
	{ "timechart", "nsprof report --format html shows threads over time" },
	{ "top", "use nsprof record --duration 5, then nsprof report; nsprof ps --watch shows the busiest containers" },
	{ "trace", "nsprof record -e 'syscalls:*' records these tracepoints, with stacks" },
	{ "--buildid-dir", "symbols are in the recording or found by build-id; see nsprof symbolize --debug-dir" },
	{ "--debug", "use -v after the command for more messages" },
	{ "--debug-file", "redirect the messages on standard error: 2>FILE" },
	{ "--debugfs-dir", "nsprof finds tracefs where it is mounted" },
	{ "--exec-path", "nsprof finds its programs beside itself or in PATH" },
	{ "--html-path", "man nsprof-record shows the manual" },
	{ "--list-cmds", "nsprof help lists the commands" },
	{ "--list-opts", "nsprof help COMMAND lists the options" },
	{ "--no-pager", "set NSPROF_PAGER=cat to turn the pager off" },
	{ "--paginate", "nsprof report and annotate use a pager on a terminal" },
	{ "-p", "nsprof report and annotate use a pager on a terminal" },
};

static void print_help(FILE *to)
{
	size_t i;

	fputs("usage: nsprof COMMAND [options]\n\n", to);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-12s%s\n", commands[i].name, commands[i].help);
	for (i = 0; i < ARRAY_SIZE(own_commands); i++)
		fprintf(to, "  %-12s%s\n", own_commands[i].name, own_commands[i].help);
}

/*
 * For the scripts that make the manual page and completion, like opt_list(): "command NAME HELP".
 */
static void list_commands(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "command\t%s\t%s\n", commands[i].name, commands[i].help);
	for (size_t i = 0; i < ARRAY_SIZE(own_commands); i++)
		fprintf(to, "command\t%s\t%s\n", own_commands[i].name, own_commands[i].help);
}

/*
 * The build features of @program: the words behind the colon in its answer to the hidden option
 * --build-info, "record: zstd libelf". NULL without such an answer. In @buf.
 */
static char *features(const char *program, char *buf, size_t size)
{
	char *colon;

	if (!sibling_output(program, "--build-info", buf, size))
		return NULL;
	colon = strchr(buf, ':');
	return colon ? colon + 1 : NULL;
}

static void version_text(FILE *to)
{
	char buf[1024], *save, *word;
	size_t i;

	fprintf(to, "nsprof %s\n", NSPROF_VERSION);
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		char *words;

		words = features(commands[i].program, buf, sizeof(buf));
		fprintf(to, "  %-16s", commands[i].program);
		word = words ? strtok_r(words, " \n", &save) : NULL;
		for (; word; word = strtok_r(NULL, " \n", &save))
			fprintf(to, " %s", word);
		fputs(words ? "\n" : " not found\n", to);
	}
}

static void version_json(FILE *to)
{
	struct json *j = json_new(to);
	char buf[1024], *save, *word;
	size_t i;

	json_begin_object(j, NULL);
	json_str(j, "version", NSPROF_VERSION);
	json_begin_array(j, "programs");
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		char *words;

		words = features(commands[i].program, buf, sizeof(buf));
		json_begin_object(j, NULL);
		json_str(j, "name", commands[i].program);
		json_bool(j, "found", words);
		json_begin_array(j, "features");
		word = words ? strtok_r(words, " \n", &save) : NULL;
		for (; word; word = strtok_r(NULL, " \n", &save))
			json_str(j, NULL, word);
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
	json_free(j);
}

static int version(int argc, char **argv)
{
	bool as_json = false;
	const struct opt opts[] = {
		OPT_GROUP("Options"),
		{ "json", 'j', NULL, "write JSON", OPT_FLAG, &as_json, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof version [-j]",
		.summary = "Print the version and what the programs were built with.",
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
	};
	struct outfile *out;
	int err, first;

	log_init("nsprof version");
	err = opt_parse(&spec, argc, argv, &first);
	if (err)
		return err == OPT_HELP ? EXIT_SUCCESS : EXIT_USAGE;
	out = outfile_open(NULL);
	(as_json ? version_json : version_text)(outfile_stream(out));
	return outfile_close(out) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* perf's wording and exit status. */
static int unknown(const char *name)
{
	static const char *const others[] = { "version", "help", "--version", "--help" };
	struct strbuf shown = STRBUF_INIT;
	char meant[160];
	struct suggest s;

	suggest_init(&s, name, strlen(name));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		suggest_offer(&s, commands[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		suggest_offer(&s, others[i]);
	escape_text(&shown, name);
	fprintf(stderr, "nsprof: '%s' is not a command.%s See 'nsprof help'.\n", shown.s,
		suggest_text(&s, "", meant, sizeof(meant)));
	strbuf_fini(&shown);
	return EXIT_FAILURE;
}

/* Is @name the perf command or option @theirs, possibly with an argument (--debug=VALUE)? */
static bool is_theirs(const char *name, const char *theirs)
{
	const size_t len = strlen(theirs);

	return !strncmp(name, theirs, len) && (!name[len] || (*theirs == '-' && name[len] == '='));
}

static int run(const char *name, int argc, char **argv)
{
	size_t i;
	int err;

	if (!strcmp(name, "version") || !strcmp(name, "--version") || !strcmp(name, "-v"))
		return version(argc, argv);
	for (i = 0; i < ARRAY_SIZE(commands) && strcmp(commands[i].name, name); i++)
		;
	if (i == ARRAY_SIZE(commands)) {
		for (i = 0; i < ARRAY_SIZE(perf_commands); i++) {
			if (!is_theirs(name, perf_commands[i].name))
				continue;
			pr_err("perf has '%s', nsprof does not: %s", name, perf_commands[i].instead);
			return EXIT_FAILURE;
		}
		return unknown(name);
	}
	err = sibling_exec(commands[i].program, argv);
	pr_err("cannot run '%s': %s%s", commands[i].program, strerror(-err),
	       err == -ENOENT ? ". Install it beside 'nsprof' or in PATH." : "");
	return EXIT_FAILURE;
}

static bool asks_help(const char *word)
{
	return !strcmp(word, "help") || !strcmp(word, "--help") || !strcmp(word, "-h");
}

int main(int argc, char **argv)
{
	char option[] = "--help", *help_argv[] = { argv[0], option, NULL };

	log_init("nsprof");
	if (argc < 2) {
		print_help(stderr);
		return EXIT_FAILURE;
	}
	if (!strcmp(argv[1], "--list-options")) {
		list_commands(stdout);
		return fflush(stdout) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (!asks_help(argv[1]))
		return run(argv[1], argc - 1, argv + 1);
	if (argc > 2 && !asks_help(argv[2]))
		return run(argv[2], 2, help_argv);
	print_help(stdout);
	return EXIT_SUCCESS;
}
