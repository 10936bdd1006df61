/*
 * The front command: "nsprof record ..." runs nsprof-record. It knows the names of the programs and
 * nothing of what they do, so that each can be installed alone.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	{ "doctor", "nsprof-doctor", "check what can be recorded from here" },
};

/* Those without a program of their own. */
static const struct {
	const char *name, *help;
} own_commands[] = {
	{ "version", "print the version and what the programs were built with" },
	{ "help", "show the commands, or the options of one command" },
};

/* What perf users try, commands and options before a command, and what there is instead. */
static const struct {
	const char *name, *instead;
} perf_commands[] = {
	{ "archive", "a recording carries the names it needs: copy it" },
	{ "bench", "perf measures the kernel with it" },
	{ "buildid-cache", "names are in the recording, and found by build-id: nsprof symbolize --debug-dir" },
	{ "buildid-list", "nsprof info --json lists the binaries of a recording" },
	{ "c2c", "addresses of data are not recorded" },
	{ "check", "nsprof version tells what it was built with, nsprof doctor what works here" },
	{ "config", "there is nothing to be configured: options say all" },
	{ "daemon", "nsprof record --switch-output runs for long" },
	{ "data", "nsprof import reads perf.data; nsprof symbolize --format writes other forms" },
	{ "evlist", "nsprof info tells the event and its settings" },
	{ "ftrace", "tracepoints are not recorded" },
	{ "inject", "jitdumps are read while recording, and symbolized with it: nothing is to be injected" },
	{ "iostat", "counters of buses are not read" },
	{ "kallsyms", "nsprof report names kernel functions; /proc/kallsyms lists them" },
	{ "kmem", "tracepoints are not recorded" },
	{ "kvm", "guests are not recorded" },
	{ "kwork", "tracepoints are not recorded" },
	{ "list", "nsprof record -e takes cycles, instructions, cpu-clock, page-faults, context-switches and the like" },
	{ "lock", "tracepoints are not recorded" },
	{ "mem", "addresses of data are not recorded" },
	{ "probe", "tracepoints are not recorded" },
	{ "sched", "tracepoints are not recorded" },
	{ "stat", "it counts without samples; nsprof ps shows the CPU time of containers" },
	{ "test", "make check tests nsprof" },
	{ "timechart", "nsprof report --format html shows threads over time" },
	{ "top", "nsprof record --duration 5, then nsprof report; nsprof ps --watch shows the busiest containers" },
	{ "trace", "tracepoints are not recorded" },
	{ "--buildid-dir", "names are in the recording, and found by build-id: nsprof symbolize --debug-dir" },
	{ "--debug", "-v behind the command says more" },
	{ "--debug-file", "messages go to standard error: 2>FILE" },
	{ "--debugfs-dir", "tracepoints are not recorded" },
	{ "--exec-path", "its programs lie beside it" },
	{ "--html-path", "man nsprof-record shows the manual" },
	{ "--list-cmds", "nsprof help lists the commands" },
	{ "--list-opts", "nsprof help COMMAND lists the options" },
	{ "--no-pager", "NSPROF_PAGER=cat nsprof ... shows it without a pager" },
	{ "--paginate", "on a terminal nsprof report and annotate use a pager" },
	{ "-p", "on a terminal nsprof report and annotate use a pager" },
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

/* For the scripts that make the manual page and completion, as opt_list(): "command NAME HELP". */
static void list_commands(FILE *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "command\t%s\t%s\n", commands[i].name, commands[i].help);
	for (size_t i = 0; i < ARRAY_SIZE(own_commands); i++)
		fprintf(to, "command\t%s\t%s\n", own_commands[i].name, own_commands[i].help);
}

/*
 * What @program was built with: the words behind the colon of its answer to the hidden option
 * --build-info, "record: zstd libelf". NULL when it does not answer so. In @buf.
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

/* perf's words and status. */
static int unknown(const char *name)
{
	static const char *const others[] = { "version", "help", "--version", "--help" };
	char meant[160];
	struct suggest s;

	suggest_init(&s, name, strlen(name));
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		suggest_offer(&s, commands[i].name);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		suggest_offer(&s, others[i]);
	fprintf(stderr, "nsprof: '%s' is not a command.%s See 'nsprof help'.\n", name,
		suggest_text(&s, "", meant, sizeof(meant)));
	return EXIT_FAILURE;
}

/* Is @name a command or option of perf's, @theirs, maybe with an argument: --debug=VALUE? */
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
			pr_err("'%s' is perf's and not here: %s", name, perf_commands[i].instead);
			return EXIT_FAILURE;
		}
		return unknown(name);
	}
	err = sibling_exec(commands[i].program, argv);
	pr_err("cannot run '%s': %s%s", commands[i].program, strerror(-err),
	       err == -ENOENT ? "; it must lie beside 'nsprof' or in PATH" : "");
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
