/* Command lines: perf's conventions, and the messages for wrong ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "cli/opt.h"

static struct {
	bool all, inherit, graph;
	int verbose;
	const char *output, *color;
	uint64_t duration;
	const char *freq, *level;	/* OPT_CALL: last argument, or "(none)" */
	int calls;
} v;

static int take(void *dst, const char *arg)
{
	*(const char **)dst = arg ? arg : "(none)";
	v.calls++;
	if (arg && !strcmp(arg, "bad")) {
		pr_err("bad rate '%s'", arg);
		return -EINVAL;
	}
	return 0;
}

static const struct opt table[] = {
	{ "all-cpus", 'a', NULL, "all CPUs", OPT_FLAG, &v.all, .call = NULL },
	{ "inherit", 0, NULL, "children too", OPT_FLAG, &v.inherit, .call = NULL },
	{ NULL, 'g', NULL, "call graphs", OPT_FLAG, &v.graph, .call = NULL },
	{ "verbose", 'v', NULL, "say more", OPT_COUNT, &v.verbose, .call = NULL },
	{ "output", 'o', "FILE", "where to", OPT_STR, &v.output, .call = NULL },
	{ "color", 0, "[WHEN]", "colours", OPT_STR, &v.color, .call = NULL },
	{ "duration", 0, "SECONDS", "how long", OPT_U64, &v.duration, .call = NULL },
	{ "freq", 'F', "HZ", "rate", OPT_CALL, &v.freq, .call = take },
	{ "compression-level", 'z', "[LEVEL]", "compress", OPT_CALL, &v.level, .call = take },
	{ "build-info", 0, NULL, NULL, OPT_FLAG, &v.graph, .call = NULL },
	{ "switch-output", 'S', "SIZE", "for perf's sake", OPT_IGNORE, NULL, .call = NULL },
};

static const struct opt perf_table[] = {
	{ "raw-samples", 'R', NULL, NULL, OPT_IGNORE, NULL, .call = NULL },
	{ "affinity", 0, "MODE", NULL, OPT_IGNORE, NULL, .call = NULL },
	{ "uid", 'u', "USER", "name the processes", OPT_REFUSE, NULL, .call = NULL },
	{ "duration-of-what", 0, NULL, "ours has a shorter name", OPT_REFUSE, NULL, .call = NULL },
};

static struct opt_spec spec = {
	.usage = "nsprof record [options] [-- command...]",
	.summary = "Records.",
	.epilog = "Exit status: 0.",
	.opts = table,
	.nopts = ARRAY_SIZE(table),
	.perf = perf_table,
	.nperf = ARRAY_SIZE(perf_table),
};

#define ARGS_MAX 16

static char *args[ARGS_MAX + 1];
static int nargs, first;
static char message[8192], printed[8192];

static void slurp(FILE *f, char *buf, size_t size)
{
	size_t n;

	rewind(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = '\0';
	fclose(f);
}

/* Parses the words of @line and sets result, args, first, message (stderr) and printed (stdout). */
static int parse(const char *line)
{
	static char copy[512];
	int saved_err = dup(STDERR_FILENO), saved_out, rc;
	FILE *err = tmpfile(), *out = tmpfile();
	char *word, *save;

	memset(&v, 0, sizeof(v));
	v.inherit = true;
	snprintf(copy, sizeof(copy), "%s", line);
	nargs = 0;
	args[nargs++] = (char *)"prog";
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		assert_true(nargs < ARGS_MAX);
		args[nargs++] = word;
	}
	args[nargs] = NULL;
	first = -1;
	fflush(stdout);
	saved_out = dup(STDOUT_FILENO);
	dup2(fileno(err), STDERR_FILENO);
	dup2(fileno(out), STDOUT_FILENO);
	rc = opt_parse(&spec, nargs, args, &first);
	fflush(stdout);
	dup2(saved_err, STDERR_FILENO);
	dup2(saved_out, STDOUT_FILENO);
	close(saved_err);
	close(saved_out);
	slurp(err, message, sizeof(message));
	slurp(out, printed, sizeof(printed));
	return rc;
}

/* The operands, joined by blanks. */
static const char *operands(void)
{
	static char buf[512];
	int i;

	buf[0] = '\0';
	for (i = first; i < nargs; i++) {
		strcat(buf, i > first ? " " : "");
		strcat(buf, args[i]);
	}
	return buf;
}

static void short_options(void **state)
{
	(void)state;
	assert_int_equal(parse("-ag"), 0);
	assert_true(v.all && v.graph);
	assert_int_equal(parse("-F99"), 0);
	assert_string_equal(v.freq, "99");
	assert_int_equal(parse("-F 99 x"), 0);
	assert_string_equal(v.freq, "99");
	assert_string_equal(operands(), "x");
	assert_int_equal(parse("-agF99 -o-"), 0);
	assert_true(v.all && v.graph);
	assert_string_equal(v.freq, "99");
	assert_string_equal(v.output, "-");
	assert_int_equal(parse("-agF 99"), 0);
	assert_string_equal(v.freq, "99");
	assert_int_equal(parse("-vvv -v"), 0);
	assert_int_equal(v.verbose, 4);
	/* A required argument is the next word, with dashes or without. */
	assert_int_equal(parse("-o -a"), 0);
	assert_string_equal(v.output, "-a");
	assert_false(v.all);
}

static void long_options(void **state)
{
	(void)state;
	assert_int_equal(parse("--output=a=b"), 0);
	assert_string_equal(v.output, "a=b");
	assert_int_equal(parse("--output x --all-cpus"), 0);
	assert_string_equal(v.output, "x");
	assert_true(v.all);
	assert_int_equal(parse("--output="), 0);
	assert_string_equal(v.output, "");
	assert_int_equal(parse("--duration 30 --freq=max"), 0);
	assert_int_equal(v.duration, 30);
	assert_string_equal(v.freq, "max");
}

static void optional_arguments_must_be_attached(void **state)
{
	(void)state;
	assert_int_equal(parse("-z3 x"), 0);
	assert_string_equal(v.level, "3");
	assert_int_equal(parse("-z 3"), 0);
	assert_string_equal(v.level, "(none)");
	assert_string_equal(operands(), "3");
	assert_int_equal(parse("--compression-level 3"), 0);
	assert_string_equal(v.level, "(none)");
	assert_string_equal(operands(), "3");
	assert_int_equal(parse("--compression-level=3"), 0);
	assert_string_equal(v.level, "3");
	assert_int_equal(parse("-az"), 0);
	assert_true(v.all);
	assert_string_equal(v.level, "(none)");
	assert_int_equal(parse("--color"), 0);
	assert_string_equal(v.color, "");
	assert_int_equal(parse(""), 0);
	assert_null(v.color);
}

static void prefixes(void **state)
{
	(void)state;
	assert_int_equal(parse("--out x --dur=5 --all"), 0);
	assert_string_equal(v.output, "x");
	assert_int_equal(v.duration, 5);
	assert_true(v.all);
	/* --color and --compression-level. */
	assert_int_equal(parse("--co"), -EINVAL);
	assert_non_null(strstr(message, "'--co' is ambiguous: --color or --compression-level"));
	assert_int_equal(parse("--colo=x"), 0);
	assert_string_equal(v.color, "x");
	assert_int_equal(parse("--he"), OPT_HELP);
}

/* Parses with another table. */
static int parse_with(const struct opt *opts, size_t n, const char *line)
{
	struct opt_spec saved = spec;
	int rc;

	spec.opts = opts;
	spec.nopts = n;
	rc = parse(line);
	spec = saved;
	return rc;
}

static void exact_name_beats_prefix(void **state)
{
	static bool call, call_graph;
	const struct opt longer = { "call-graph", 0, NULL, "x", OPT_FLAG, &call_graph, .call = NULL };
	const struct opt shorter = { "call", 0, NULL, "x", OPT_FLAG, &call, .call = NULL };
	const struct opt orders[2][2] = { { longer, shorter }, { shorter, longer } };
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		call = false;
		assert_int_equal(parse_with(orders[i], 2, "--call"), 0);
		assert_true(call);
		assert_false(call_graph);
	}
}

static void no_alone_negates_nothing(void **state)
{
	static bool flag = true;
	static const struct opt one[] = { { "flag", 0, NULL, "x", OPT_FLAG, &flag, .call = NULL } };

	(void)state;
	assert_int_equal(parse_with(one, 1, "--no-"), -EINVAL);
	assert_int_equal(parse_with(one, 1, "--n"), -EINVAL);
	assert_true(flag);
	assert_int_equal(parse_with(one, 1, "--no-f"), 0);
	assert_false(flag);
}

static void negation(void **state)
{
	(void)state;
	assert_int_equal(parse(""), 0);
	assert_true(v.inherit);
	assert_int_equal(parse("--no-inherit"), 0);
	assert_false(v.inherit);
	assert_int_equal(parse("--no-inh"), 0);
	assert_false(v.inherit);
	assert_int_equal(parse("--no-inherit --inherit"), 0);
	assert_true(v.inherit);
	assert_int_equal(parse("--no-inherit=1"), -EINVAL);
	/* Only flags can be negated, and "--no" alone is no option. */
	assert_int_equal(parse("--no-output"), -EINVAL);
	assert_int_equal(parse("--no-"), -EINVAL);
	assert_int_equal(parse("--no"), -EINVAL);
}

static void operands_are_moved_behind(void **state)
{
	(void)state;
	assert_int_equal(parse("one -a two --freq 9 three -- -v four"), 0);
	assert_true(v.all);
	assert_int_equal(v.verbose, 0);
	assert_string_equal(v.freq, "9");
	assert_string_equal(operands(), "one two three -v four");
	assert_int_equal(parse("- -a"), 0);
	assert_true(v.all);
	assert_string_equal(operands(), "-");
	assert_int_equal(parse("-a"), 0);
	assert_int_equal(first, nargs);
	assert_int_equal(parse("-a --"), 0);
	assert_int_equal(first, nargs);
}

static void first_operand_may_end_options(void **state)
{
	(void)state;
	spec.stop_at_operand = true;
	assert_int_equal(parse("-a perl -v -e"), 0);
	assert_true(v.all);
	assert_int_equal(v.verbose, 0);
	assert_string_equal(operands(), "perl -v -e");
	assert_int_equal(parse("-F 9 -- ls -- -a"), 0);
	assert_string_equal(operands(), "ls -- -a");
	assert_false(v.all);
	spec.stop_at_operand = false;
}

static void ignored_options(void **state)
{
	(void)state;
	assert_int_equal(parse("-S 5M x"), 0);
	assert_string_equal(operands(), "x");
	assert_int_equal(parse("--switch-output=5M"), 0);
	assert_string_equal(message, "");
}

static void options_of_perf(void **state)
{
	(void)state;
	assert_int_equal(parse("-R --raw-samples --no-raw-samples --affinity node cmd"), 0);
	assert_string_equal(message, "");
	assert_string_equal(args[first], "cmd");
	assert_int_equal(parse("-u root"), -EINVAL);
	assert_non_null(strstr(message, "perf's -u is not an option here: name the processes\n"));
	assert_int_equal(parse("--uid=root"), -EINVAL);
	assert_non_null(strstr(message, "perf's --uid is not an option here"));
	assert_int_equal(parse("--no-uid"), 0);
	/* A prefix of one of our options means that option. */
	assert_int_equal(parse("--dur 5"), 0);
	assert_int_equal(v.duration, 5);
	assert_int_equal(parse("--duration-of"), -EINVAL);
	assert_non_null(strstr(message, "perf's --duration-of-what is not an option here"));
	assert_int_equal(parse("--help"), OPT_HELP);
	assert_null(strstr(printed, "uid"));
	assert_null(strstr(printed, "affinity"));
}

static void errors_name_value_and_help(void **state)
{
	static const struct {
		const char *line, *want;
	} cases[] = {
		{ "--bogus", "unknown option '--bogus'" },
		{ "--bogus=3", "unknown option '--bogus'" },
		{ "-ax", "unknown option '-x'" },
		{ "-F", "option '-F' needs an argument (HZ)" },
		{ "--outp", "option '--output' needs an argument (FILE)" },
		{ "--all-cpus=3", "option '--all-cpus' takes no argument, but '3' was given" },
		{ "--duration=abc", "invalid number 'abc' for --duration" },
		{ "--duration=-1", "invalid number '-1' for --duration" },
		{ "--duration=5s", "invalid number '5s' for --duration" },
		{ "--duration=", "invalid number '' for --duration" },
		{ "--duration=18446744073709551616", "invalid number '18446744073709551616' for --duration" },
		{ "--freq=bad", "bad rate 'bad'" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(parse(cases[i].line), -EINVAL);
		if (!strstr(message, cases[i].want) || !strstr(message, "nsprof record --help"))
			fail_msg("'%s' says: %s", cases[i].line, message);
		assert_string_equal(printed, "");
	}
	/* The largest number is accepted. */
	assert_int_equal(parse("--duration=18446744073709551615"), 0);
	assert_true(v.duration == UINT64_MAX);
}

static void help_lists_the_table(void **state)
{
	char *line, *save;

	(void)state;
	assert_int_equal(parse("-a -h --bogus"), OPT_HELP);
	assert_string_equal(message, "");
	assert_true(!strncmp(printed, "usage: nsprof record [options] [-- command...]\n", 47));
	assert_non_null(strstr(printed, "Records."));
	assert_non_null(strstr(printed, "  -a, --all-cpus"));
	assert_non_null(strstr(printed, "  -F, --freq HZ"));
	assert_non_null(strstr(printed, "  -z, --compression-level[=LEVEL]"));
	assert_non_null(strstr(printed, "      --color[=WHEN]"));
	assert_non_null(strstr(printed, "  -g  "));
	assert_non_null(strstr(printed, "  -h, --help"));
	assert_non_null(strstr(printed, "Exit status: 0.\n"));
	/* Hidden options are not shown. */
	assert_null(strstr(printed, "build-info"));
	assert_null(strstr(printed, "switch-output"));
	for (line = strtok_r(printed, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		assert_true(strlen(line) <= 100);
	assert_int_equal(parse("--help"), OPT_HELP);
}

static void help_wraps_between_words(void **state)
{
	static bool flag;
	static const struct opt one[] = {
		{ "x", 0, NULL,
		  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen",
		  OPT_FLAG, &flag, .call = NULL },
	};
	const char *second;

	(void)state;
	assert_int_equal(parse_with(one, 1, "--help"), OPT_HELP);
	assert_non_null(strstr(printed, "      --x"));
	second = strstr(printed, "\n                                ");
	assert_non_null(second);
	/* The second line continues the text, aligned with the first. */
	assert_true(second[33] >= 'a' && second[33] <= 'z');
}

static bool inlines;

static const struct opt grouped[] = {
	OPT_GROUP("Target"),
	{ "pid", 'p', "PID,...", "sample these processes", OPT_STR, &v.output,
	  .value = "," OPT_VALUE_PID, .more = "All threads.\n\n- a: b" },
	OPT_GROUP("Names"),
	{ "inline", 0, NULL, "leave out inlined functions", OPT_SWITCH, &inlines, .more = NULL },
	{ "call-graph", 0, "[HOW]", "take stacks", OPT_STR, &v.level, .value = "dwarf|fp" },
	{ "hidden", 0, NULL, NULL, OPT_FLAG, &v.all, .more = NULL },
};

static void help_has_headings(void **state)
{
	(void)state;
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--help"), OPT_HELP);
	assert_non_null(strstr(printed, "\n\nTarget:\n  -p, --pid PID,...             sample these processes\n\n"
					"Names:\n      --no-inline               leave out inlined functions\n"
					"      --call-graph[=HOW]        take stacks\n  -h, --help   "));
	assert_null(strstr(printed, "Options:"));
	assert_null(strstr(printed, "All threads"));
}

static void switch_is_on_until_negated(void **state)
{
	(void)state;
	inlines = true;
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--no-inline"), 0);
	assert_false(inlines);
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--inline"), 0);
	assert_true(inlines);
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--no-inlnie"), -EINVAL);
	assert_non_null(strstr(message, "--no-inline"));
	/* A heading is not an option. */
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--Target"), -EINVAL);
}

static void list_is_the_table(void **state)
{
	(void)state;
	spec.operands = OPT_VALUE_RECORDING;
	assert_int_equal(parse_with(grouped, ARRAY_SIZE(grouped), "--list-options"), OPT_HELP);
	spec.operands = NULL;
	assert_string_equal(printed, "group\tTarget\n"
				     "option\t-p\t--pid\tPID,...\t,@pid\tsample these processes\tAll threads.\\n\\n- a: b\n"
				     "group\tNames\n"
				     "option\t\t--no-inline\t\t\tleave out inlined functions\t\n"
				     "option\t\t--call-graph\t[HOW]\tdwarf|fp\ttake stacks\t\n"
				     "option\t-h\t--help\t\t\tshow this help\t\n"
				     "operands\t@recording\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_options),
		cmocka_unit_test(long_options),
		cmocka_unit_test(optional_arguments_must_be_attached),
		cmocka_unit_test(prefixes),
		cmocka_unit_test(exact_name_beats_prefix),
		cmocka_unit_test(no_alone_negates_nothing),
		cmocka_unit_test(negation),
		cmocka_unit_test(operands_are_moved_behind),
		cmocka_unit_test(first_operand_may_end_options),
		cmocka_unit_test(ignored_options),
		cmocka_unit_test(options_of_perf),
		cmocka_unit_test(errors_name_value_and_help),
		cmocka_unit_test(help_lists_the_table),
		cmocka_unit_test(help_wraps_between_words),
		cmocka_unit_test(help_has_headings),
		cmocka_unit_test(switch_is_on_until_negated),
		cmocka_unit_test(list_is_the_table),
	};

	log_init("nsprof record");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
