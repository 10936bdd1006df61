/*
 * One table per command drives parsing, --help, the OPTIONS section of the manual page, and
 * completion. Options work as in perf: the argument of a short option may be attached or separate,
 * that of a long option may follow '=' or be separate, and unambiguous prefixes of long options are
 * accepted.
 */
#ifndef NSPROF_OPT_H
#define NSPROF_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum opt_kind {
	OPT_FLAG,	/* no argument; *(bool *)dst = true; "--no-NAME" sets it to false */
	/* like OPT_FLAG, but true by default: shown as "--no-NAME", and @help describes that */
	OPT_SWITCH,
	OPT_COUNT,	/* no argument; ++*(int *)dst */
	OPT_STR,	/* *(const char **)dst = argument, borrowed from argv */
	OPT_U64,	/* *(uint64_t *)dst, decimal; an invalid number is a usage error */
	OPT_CALL,	/* call(dst, argument) */
	/* a perf option that makes no difference here: accepted silently, and hidden */
	OPT_IGNORE,
	/* a perf option that nsprof lacks: a usage error with .help as the reason; also hidden */
	OPT_REFUSE,
	OPT_HEADING,	/* not an option: a heading in --help (.help) for the options that follow */
};

/*
 * What completion offers for an argument (struct opt.value): fixed values, "dwarf|fp|none", or one
 * of the kinds below. A leading comma allows a comma-separated list. A value that ends in '=' is
 * continued by its own value.
 */
#define OPT_VALUE_FILE "@file"
#define OPT_VALUE_FOLDER "@folder"
#define OPT_VALUE_RECORDING "@recording"	/* or a saved profile, folded stacks, a perf.data */
#define OPT_VALUE_CONTAINER "@container"
#define OPT_VALUE_POD "@pod"
#define OPT_VALUE_CGROUP "@cgroup"
#define OPT_VALUE_PID "@pid"
#define OPT_VALUE_EVENT "@event"		/* of this machine */
#define OPT_VALUE_COMMAND "@command"		/* a program and its arguments */

struct opt {
	const char *name;	/* long name without dashes, e.g. "call-graph"; NULL = short only */
	char short_name;	/* 'F', or 0 */
	/* "HZ": required; "[SIZE]": optional and only when attached; NULL: no argument */
	const char *arg;
	/* one line, imperative, at most about 70 characters; NULL hides the option */
	const char *help;
	enum opt_kind kind;
	void *dst;
	/*
	 * OPT_CALL: @arg is NULL if an optional argument is missing. 0, or -EINVAL after pr_err().
	 */
	int (*call)(void *dst, const char *arg);
	/* what completion offers for the argument, see above; NULL: nothing */
	const char *value;
	/*
	 * Text for the manual page, after @help; may be NULL. An empty line separates paragraphs.
	 * `bold` is set in bold; options and names like perf(1) are formatted automatically. Lines
	 * that begin with "- WORD: " form a list.
	 */
	const char *more;
};

#define OPT_GROUP(title) { .kind = OPT_HEADING, .help = (title) }

struct opt_spec {
	const char *usage;	/* "nsprof record [options] [-- command...]" */
	const char *summary;	/* a paragraph */
	const char *epilog;	/* printed last, e.g. examples and exit status; may be NULL */
	const struct opt *opts;
	size_t nopts;
	/*
	 * perf options that make no difference here or that nsprof lacks. They are not shown by
	 * --help. NULL: none.
	 */
	const struct opt *perf;
	size_t nperf;
	bool stop_at_operand;	/* true: the first operand ends the options (record's command) */
	const char *operands;	/* the kind of operands, as in struct opt.value; NULL: none */
};

enum { OPT_HELP = 1 };

/*
 * Moves operands behind the options, unless stop_at_operand is set. "--" ends the options. On
 * success *@first is the index of the first operand in @argv (argc if none). Returns 0; OPT_HELP
 * after printing the text for --help, -h or --list-options to stdout; -EINVAL after a message that
 * names the bad value and points to --help.
 */
int opt_parse(const struct opt_spec *spec, int argc, char **argv, int *first);
void opt_help(const struct opt_spec *spec, FILE *to);
/*
 * Prints the table for the scripts that make manual pages and completion (hidden option
 * --list-options): one option per line, fields separated by tabs, newlines in @more as "\n".
 *
 *	group TITLE
 *	option SHORT LONG ARG VALUE HELP MORE
 *	operands VALUE
 *
 * Names have their dashes. Any field but SHORT or LONG may be empty.
 */
void opt_list(const struct opt_spec *spec, FILE *to);
/* True if --help, the manual page and completion do not show @o. Headings are not hidden. */
bool opt_is_hidden(const struct opt *o);
/*
 * For options that may be repeated: appends @separator and @arg to *@all (owned; NULL if empty,
 * then without @separator).
 */
void opt_join(char **all, char separator, const char *arg);

/* perf's exit status for an invalid command line. */
#define EXIT_USAGE 129

#endif
