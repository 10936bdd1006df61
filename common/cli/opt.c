/*
 * Command lines that work as in perf (tools/lib/subcmd/parse-options.c): an optional argument must
 * be attached ("-z3", "--call-graph=dwarf"), a required one may be separate.
 */
#include "cli/opt.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "base/util.h"
#include "base/xalloc.h"

/*
 * Length of the command in the usage text: "nsprof record" in "nsprof record [options]...".
 * Messages append --help to it.
 */
static int command_len(const struct opt_spec *spec)
{
	const char *end = strpbrk(spec->usage, "[<\n");
	size_t len = end ? (size_t)(end - spec->usage) : strlen(spec->usage);

	while (len && spec->usage[len - 1] == ' ')
		len--;
	return (int)len;
}

#define usage_err(spec, fmt, ...)                                                                  \
	(pr_err(fmt "; see '%.*s --help'", __VA_ARGS__, command_len(spec), (spec)->usage), -EINVAL)

static const struct opt *find_short(const struct opt_spec *spec, char c)
{
	size_t i;

	for (i = 0; i < spec->nopts; i++)
		if (spec->opts[i].short_name == c)
			return &spec->opts[i];
	for (i = 0; i < spec->nperf; i++)
		if (spec->perf[i].short_name == c)
			return &spec->perf[i];
	return NULL;
}

/* ---- applying one option ---- */

static bool arg_required(const struct opt *o)
{
	return o->arg && o->arg[0] != '[';
}

static int parse_u64(const char *s, uint64_t *val)
{
	char *end;

	/* strtoull() also accepts signs and blanks, which are errors here. */
	if (!isdigit((unsigned char)*s))
		return -EINVAL;
	errno = 0;
	*val = strtoull(s, &end, 10);
	return *end || errno ? -EINVAL : 0;
}

/* @shown: the option as the user wrote it, for messages. @arg NULL: no argument was given. */
static int apply(const struct opt_spec *spec, const struct opt *o, const char *shown, const char *arg)
{
	int err;

	switch (o->kind) {
	case OPT_FLAG:
	case OPT_SWITCH:
		*(bool *)o->dst = true;
		return 0;
	case OPT_COUNT:
		++*(int *)o->dst;
		return 0;
	case OPT_STR:
		/*
		 * "" means that the optional argument was left out; NULL, that the option was not
		 * given.
		 */
		*(const char **)o->dst = arg ? arg : "";
		return 0;
	case OPT_U64:
		if (arg && parse_u64(arg, o->dst) < 0)
			return usage_err(spec, "invalid number '%s' for %s", arg, shown);
		return 0;
	case OPT_CALL:
		err = o->call(o->dst, arg);
		if (err)
			pr_info("see '%.*s --help'", command_len(spec), spec->usage);
		return err;
	case OPT_IGNORE:
		return 0;
	case OPT_REFUSE:
		pr_err("perf's %s is not an option here: %s", shown, o->help);
		return -EINVAL;
	case OPT_HEADING:
		break;
	}
	return 0;
}

/* ---- long options ---- */

struct match {
	const struct opt *opt;	/* NULL with @help: --help */
	bool negated;		/* given as --no-NAME */
	bool help;
	bool exact;
};

/* Is @given, @len bytes, a prefix of the option @prefix@name? */
static bool begins(const char *given, size_t len, const char *prefix, const char *name, bool *exact)
{
	size_t plen = strlen(prefix);
	size_t n = MIN(len, plen);

	if (strncmp(given, prefix, n) || strncmp(given + n, name, len - n))
		return false;
	*exact = len == plen + strlen(name);
	return true;
}

/*
 * Remembers a match. An exact name beats all prefixes; only one prefix may match. Only "--no-x" of
 * a flag counts as negated, and "--n" is never taken for the beginning of a negation.
 */
static void offer(struct match *best, struct match *other, const struct match *m, size_t *count)
{
	if (best->exact)
		return;
	if (m->exact) {
		*best = *m;
		*count = 1;
		return;
	}
	if (!(*count)++)
		*best = *m;
	else
		*other = *m;
}

static void match_name(char *buf, size_t size, const struct match *m)
{
	const char *name = m->help ? "help" : m->opt->name;

	if (m->negated && !strncmp(name, "no-", 3))
		snprintf(buf, size, "--%s", name + 3);
	else
		snprintf(buf, size, "--%s%s", m->negated ? "no-" : "", name);
}

static bool is_flag(const struct opt *o)
{
	return o->kind == OPT_FLAG || o->kind == OPT_SWITCH;
}

/*
 * perf accepts "--no-x" for every option. For options that make no difference or are missing here,
 * it has no effect.
 */
static bool negates(const struct opt *o)
{
	return is_flag(o) || o->kind == OPT_COUNT || o->kind == OPT_IGNORE || o->kind == OPT_REFUSE;
}

static void offer_all(const struct opt *opts, size_t n, const char *given, size_t len, struct match *best,
		      struct match *other, size_t *count)
{
	struct match m;

	for (size_t i = 0; i < n; i++) {
		const struct opt *o = &opts[i];

		if (!o->name)
			continue;
		m = (struct match){ .opt = o };
		if (begins(given, len, "", o->name, &m.exact))
			offer(best, other, &m, count);
		m = (struct match){ .opt = o, .negated = true };
		if (negates(o) && len > 3 && begins(given, len, "no-", o->name, &m.exact))
			offer(best, other, &m, count);
		/*
		 * "--inherit" undoes "--no-inherit". It must be written in full, because a prefix
		 * of it may be the beginning of another option.
		 */
		if (negates(o) && !strncmp(o->name, "no-", 3) && begins(given, len, "", o->name + 3, &m.exact) && m.exact)
			offer(best, other, &m, count);
	}
}

/* Suggests only options shown by --help, so that nobody is sent to an option that is rejected. */
static void offer_names(const struct opt_spec *spec, struct suggest *s, bool flags_only)
{
	for (size_t i = 0; i < spec->nopts; i++) {
		const struct opt *o = &spec->opts[i];

		if (o->name && !opt_is_hidden(o) && (!flags_only || is_flag(o)))
			suggest_offer(s, o->name);
	}
}

static int unknown_long(const struct opt_spec *spec, const char *given, size_t len)
{
	const char *lead = "--";
	char meant[160];
	struct suggest s;

	suggest_init(&s, given, len);
	offer_names(spec, &s, false);
	suggest_offer(&s, "help");
	if (!s.n && len > 3 && !strncmp(given, "no-", 3)) {
		lead = "--no-";
		suggest_init(&s, given + 3, len - 3);
		offer_names(spec, &s, true);
	}
	pr_err("unknown option '--%.*s'.%s See '%.*s --help'.", (int)len, given,
	       suggest_text(&s, lead, meant, sizeof(meant)), command_len(spec), spec->usage);
	return -EINVAL;
}

static int find_long(const struct opt_spec *spec, const char *given, size_t len, struct match *best)
{
	struct match other = { 0 }, perf = { 0 }, m;
	char a[64], b[64];
	size_t count = 0, nperf = 0;

	*best = (struct match){ 0 };
	offer_all(spec->opts, spec->nopts, given, len, best, &other, &count);
	m = (struct match){ .help = true };
	if (begins(given, len, "", "help", &m.exact))
		offer(best, &other, &m, &count);
	/* Options that nsprof lacks do not make the prefix of an existing option ambiguous. */
	if (!best->exact) {
		offer_all(spec->perf, spec->nperf, given, len, &perf, &m, &nperf);
		if (perf.exact || !count) {
			*best = perf;
			other = m;
			count = nperf;
		}
	}
	if (!count)
		return unknown_long(spec, given, len);
	if (count > 1) {
		match_name(a, sizeof(a), best);
		match_name(b, sizeof(b), &other);
		return usage_err(spec, "option '--%.*s' is ambiguous: %s or %s", (int)len, given, a, b);
	}
	return 0;
}

/* @next: the following argument, or NULL; *@used_next is set if it was consumed. */
static int parse_long(const struct opt_spec *spec, const char *text, const char *next, bool *used_next)
{
	const char *eq = strchr(text, '=');
	size_t len = eq ? (size_t)(eq - text) : strlen(text);
	const char *arg = eq ? eq + 1 : NULL;
	char shown[80];
	struct match m;
	int err;

	if (!strcmp(text, "list-options")) {
		opt_list(spec, stdout);
		return OPT_HELP;
	}
	err = find_long(spec, text, len, &m);
	if (err)
		return err;
	match_name(shown, sizeof(shown), &m);
	if (arg && (m.help || m.negated || !m.opt->arg))
		return usage_err(spec, "option '%s' takes no argument, but '%s' was given", shown, arg);
	if (m.help) {
		opt_help(spec, stdout);
		return OPT_HELP;
	}
	if (m.negated) {
		if (is_flag(m.opt))
			*(bool *)m.opt->dst = false;
		if (m.opt->kind == OPT_COUNT)
			*(int *)m.opt->dst = 0;
		return 0;
	}
	if (!arg && arg_required(m.opt)) {
		if (!next)
			return usage_err(spec, "option '%s' needs an argument (%s)", shown, m.opt->arg);
		arg = next;
		*used_next = true;
	}
	return apply(spec, m.opt, shown, arg);
}

/* ---- short options ---- */

/* A bundle "-ag". Its last option may have an argument: "-agF99", "-agF 99". */
static int parse_short(const struct opt_spec *spec, const char *text, const char *next, bool *used_next)
{
	int err;

	for (; *text; text++) {
		const struct opt *o = find_short(spec, *text);
		const char shown[] = { '-', *text, '\0' };
		const char *arg = NULL;

		if (!o && *text == 'h') {
			opt_help(spec, stdout);
			return OPT_HELP;
		}
		if (!o)
			return usage_err(spec, "unknown option '%s'", shown);
		if (o->arg && text[1])
			arg = text + 1;
		if (!arg && arg_required(o)) {
			if (!next)
				return usage_err(spec, "option '%s' needs an argument (%s)", shown, o->arg);
			arg = next;
			*used_next = true;
		}
		err = apply(spec, o, shown, arg);
		if (err || o->arg)
			return err;
	}
	return 0;
}

/* ---- the command line ---- */

int opt_parse(const struct opt_spec *spec, int argc, char **argv, int *first)
{
	/* Moves options to the front of argv and operands behind them, each in their order. */
	char **operands = xcalloc((size_t)argc + 1, sizeof(*operands));
	int noperands = 0, out = 1, i, err = 0;

	for (i = 1; i < argc && !err; i++) {
		char *a = argv[i];
		bool used_next = false;

		if (a[0] != '-' || !a[1]) {
			if (spec->stop_at_operand)
				break;
			operands[noperands++] = a;
			continue;
		}
		argv[out++] = a;
		if (!strcmp(a, "--")) {
			i++;
			break;
		}
		if (a[1] == '-')
			err = parse_long(spec, a + 2, argv[i + 1], &used_next);
		else
			err = parse_short(spec, a + 1, argv[i + 1], &used_next);
		if (used_next)
			argv[out++] = argv[++i];
	}
	if (!err) {
		/* Arguments that were not parsed, if any, are already at the end. */
		memcpy(argv + out, operands, (size_t)noperands * sizeof(*operands));
		*first = out;
	}
	free(operands);
	return err;
}

void opt_join(char **all, char separator, const char *arg)
{
	char *joined = *all ? xasprintf("%s%c%s", *all, separator, arg) : xstrdup(arg);

	free(*all);
	*all = joined;
}
