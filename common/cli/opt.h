/*
 * One table per command drives parsing, --help, the OPTIONS section of the manual page and completion. perf's habits: short
 * options with the argument attached or apart, long options with '=' or apart, unambiguous prefixes of long options.
 */
#ifndef NSPROF_OPT_H
#define NSPROF_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum opt_kind {
	OPT_FLAG,	/* no argument; *(bool *)dst = true; "--no-NAME" sets it to false */
	OPT_SWITCH,	/* an OPT_FLAG that is true by default: shown as "--no-NAME", and @help describes that */
	OPT_COUNT,	/* no argument; ++*(int *)dst */
	OPT_STR,	/* *(const char **)dst = argument, borrowed from argv */
	OPT_U64,	/* *(uint64_t *)dst, decimal; a bad number is a usage error */
	OPT_CALL,	/* call(dst, argument) */
	OPT_IGNORE,	/* one of perf's that makes no difference here: accepted without a message, and hidden */
	OPT_REFUSE,	/* one of perf's that is not here: a usage error with .help as the reason; hidden as well */
	OPT_HEADING,	/* no option: a heading for those that follow, in @help */
};

/*
 * What completion offers for an argument (struct opt.value): fixed values, "dwarf|fp|none", or one of these. A comma in front
 * of either: several with commas between. A value that ends in '=' goes on behind it.
 */
#define OPT_VALUE_FILE "@file"
#define OPT_VALUE_FOLDER "@folder"
#define OPT_VALUE_RECORDING "@recording"	/* or a saved profile, folded stacks, a perf.data */
#define OPT_VALUE_CONTAINER "@container"
#define OPT_VALUE_POD "@pod"
#define OPT_VALUE_CGROUP "@cgroup"
#define OPT_VALUE_PID "@pid"
#define OPT_VALUE_EVENT "@event"			/* listed by their names */
#define OPT_VALUE_COMMAND "@command"		/* a program and its arguments */

struct opt {
	const char *name;	/* long name without dashes, e.g. "call-graph"; NULL = short only */
	char short_name;	/* 'F', or 0 */
	const char *arg;	/* "HZ" = required; "[SIZE]" = optional, only when attached; NULL = none */
	const char *help;	/* one line, imperative, at most about 70 characters; NULL hides the option */
	enum opt_kind kind;
	void *dst;
	/* OPT_CALL: @arg is NULL when an optional argument is missing. 0, or -EINVAL after pr_err(). */
	int (*call)(void *dst, const char *arg);
	const char *value;	/* what completion offers for the argument, see above; NULL: nothing */
	/*
	 * What the manual page says behind @help; may be NULL. Paragraphs are separated by empty lines. `bold`; options and names
	 * like perf(1) are set by themselves. Lines that begin with "- WORD: " are a list.
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
	/* perf's options that make no difference here, or that nsprof lacks; never in --help. NULL: none. */
	const struct opt *perf;
	size_t nperf;
	bool stop_at_operand;	/* true: the first operand ends the options (record's command) */
	const char *operands;	/* what they are, as in struct opt.value; NULL: none */
};

enum { OPT_HELP = 1 };

/*
 * Permutes operands behind options unless stop_at_operand. "--" ends options. On success *@first is
 * the index of the first operand in @argv (argc if none). Returns 0; OPT_HELP after --help, -h or --list-options was
 * printed to stdout; -EINVAL after a message (the bad value and the way to --help).
 */
int opt_parse(const struct opt_spec *spec, int argc, char **argv, int *first);
void opt_help(const struct opt_spec *spec, FILE *to);
/*
 * The table for the scripts that make manual pages and completion (hidden option --list-options). A line each, fields separated by
 * tabs, newlines in @more as "\n":
 *
 *	group TITLE
 *	option SHORT LONG ARG VALUE HELP MORE		names with their dashes, any field but SHORT or LONG may be empty
 *	operands VALUE
 */
void opt_list(const struct opt_spec *spec, FILE *to);
/* Neither --help nor the manual page nor completion shows @o. Headings are not hidden. */
bool opt_is_hidden(const struct opt *o);
/* For an option that may be given again: @arg, behind @separator, is put at the end of *@all (owned; NULL is none yet). */
void opt_join(char **all, char separator, const char *arg);

/* perf's exit status for a command line that cannot be understood. */
#define EXIT_USAGE 129

#endif
