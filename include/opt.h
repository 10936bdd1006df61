/*
 * One table per command drives parsing and --help. perf's habits: short options with the argument
 * attached or apart, long options with '=' or apart, unambiguous prefixes of long options.
 */
#ifndef NSPROF_OPT_H
#define NSPROF_OPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum opt_kind {
	OPT_FLAG,	/* no argument; *(bool *)dst = true; "--no-NAME" sets it to false */
	OPT_COUNT,	/* no argument; ++*(int *)dst */
	OPT_STR,	/* *(const char **)dst = argument, borrowed from argv */
	OPT_U64,	/* *(uint64_t *)dst, decimal; a bad number is a usage error */
	OPT_CALL,	/* call(dst, argument) */
	OPT_IGNORE,	/* accepted for perf's sake, says nothing; hidden from --help */
	OPT_REFUSE,	/* known for perf's sake: a usage error that gives .help as the reason; hidden as well */
};

struct opt {
	const char *name;	/* long name without dashes, e.g. "call-graph"; NULL = short only */
	char short_name;	/* 'F', or 0 */
	const char *arg;	/* "HZ" = required; "[SIZE]" = optional, only when attached; NULL = none */
	const char *help;	/* one line; NULL hides the option */
	enum opt_kind kind;
	void *dst;
	/* OPT_CALL: @arg is NULL when an optional argument is missing. 0, or -EINVAL after pr_err(). */
	int (*call)(void *dst, const char *arg);
};

struct opt_spec {
	const char *usage;	/* "nsprof record [options] [-- command...]" */
	const char *summary;	/* a paragraph */
	const char *epilog;	/* printed last, e.g. examples and exit status; may be NULL */
	const struct opt *opts;
	size_t nopts;
	/* perf's options that mean nothing here, or that we have not; never in --help. NULL: none. */
	const struct opt *perf;
	size_t nperf;
	bool stop_at_operand;	/* true: the first operand ends the options (record's command) */
};

enum { OPT_HELP = 1 };

/*
 * Permutes operands behind options unless stop_at_operand. "--" ends options. On success *@first is
 * the index of the first operand in @argv (argc if none). Returns 0; OPT_HELP after --help or -h was
 * printed to stdout; -EINVAL after a message (the bad value and the way to --help).
 */
int opt_parse(const struct opt_spec *spec, int argc, char **argv, int *first);
void opt_help(const struct opt_spec *spec, FILE *to);
/* For an option that may be given again: @arg, behind @separator, is put at the end of *@all (owned; NULL is none yet). */
void opt_join(char **all, char separator, const char *arg);

/* perf's exit status for a command line that cannot be understood. */
#define EXIT_USAGE 129

#endif
