/*
 * What a table of options prints: --help, and the lines for the scripts that make manual pages and
 * completion (opt.h).
 */
#include "cli/opt.h"

#include <string.h>


#define HELP_COLUMN 32	/* where the descriptions in --help begin */
#define HELP_WIDTH 100

bool opt_is_hidden(const struct opt *o)
{
	return !o->help || o->kind == OPT_IGNORE || o->kind == OPT_REFUSE;
}

/* The text before its long name. */
static const char *lead_of(const struct opt *o)
{
	return !o->name ? "" : o->kind == OPT_SWITCH ? "--no-" : "--";
}

/* ---- help ---- */

/*
 * Prints @text from column @col on, wrapped between words. Further lines are indented by @indent.
 */
static void print_wrapped(FILE *to, const char *text, size_t col, size_t indent)
{
	bool first = true;

	while (*text) {
		size_t len = strcspn(text, " \n");

		if (!first && col + 1 + len > HELP_WIDTH) {
			fprintf(to, "\n%*s", (int)indent, "");
			col = indent;
		} else if (!first) {
			fputc(' ', to);
			col++;
		}
		fwrite(text, 1, len, to);
		col += len;
		first = false;
		text += len;
		if (*text == '\n') {
			fprintf(to, "\n%*s", (int)indent, "");
			col = indent;
			first = true;
		}
		if (*text)
			text++;
	}
	fputc('\n', to);
}

/* "    -F, --freq HZ". An optional argument is shown attached: "-z, --compress[=LEVEL]". */
static void print_option(FILE *to, const struct opt *o)
{
	char left[128], shrt[8] = "    ";
	size_t arg_skip = 0;
	const char *lead = " ";
	int n;

	if (o->short_name)
		snprintf(shrt, sizeof(shrt), "-%c%s", o->short_name, o->name ? ", " : "");
	if (o->arg && o->arg[0] == '[') {
		lead = o->name ? "[=" : "[";
		arg_skip = 1;
	}
	n = snprintf(left, sizeof(left), "  %s%s%s%s%s", shrt, lead_of(o), o->name ? o->name : "", o->arg ? lead : "",
		     o->arg ? o->arg + arg_skip : "");
	if (n > HELP_COLUMN - 2) {
		fprintf(to, "%s\n%*s", left, HELP_COLUMN, "");
	} else {
		fprintf(to, "%-*s", HELP_COLUMN, left);
	}
	print_wrapped(to, o->help, HELP_COLUMN, HELP_COLUMN);
}

static bool has_short(const struct opt_spec *spec, char c)
{
	for (size_t i = 0; i < spec->nopts; i++)
		if (spec->opts[i].short_name == c)
			return true;
	for (size_t i = 0; i < spec->nperf; i++)
		if (spec->perf[i].short_name == c)
			return true;
	return false;
}

/* --help, which is in no table. */
static struct opt help_of(const struct opt_spec *spec)
{
	return (struct opt){ .name = "help", .short_name = has_short(spec, 'h') ? 0 : 'h', .help = "show this help" };
}

void opt_help(const struct opt_spec *spec, FILE *to)
{
	const struct opt help = help_of(spec);
	const char *line = spec->usage;
	const char *prefix = "usage: ";

	while (*line) {
		size_t len = strcspn(line, "\n");

		fprintf(to, "%s%.*s\n", prefix, (int)len, line);
		line += len + (line[len] == '\n');
		prefix = "       ";
	}
	if (spec->summary) {
		fputc('\n', to);
		print_wrapped(to, spec->summary, 0, 0);
	}
	if (!spec->nopts || spec->opts[0].kind != OPT_HEADING)
		fputs("\nOptions:\n", to);
	for (size_t i = 0; i < spec->nopts; i++) {
		if (spec->opts[i].kind == OPT_HEADING)
			fprintf(to, "\n%s:\n", spec->opts[i].help);
		else if (!opt_is_hidden(&spec->opts[i]))
			print_option(to, &spec->opts[i]);
	}
	print_option(to, &help);
	if (spec->epilog)
		fprintf(to, "\n%s%s", spec->epilog,
			*spec->epilog && spec->epilog[strlen(spec->epilog) - 1] == '\n' ? "" : "\n");
}

/* ---- for scripts ---- */

static void list_more(const char *text, FILE *to)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", to);
		else
			fputc(*text, to);
	}
}

static void list_option(const struct opt *o, FILE *to)
{
	const char shrt[] = { '-', o->short_name, '\0' };

	fprintf(to, "option\t%s\t%s%s\t%s\t", o->short_name ? shrt : "", lead_of(o), o->name ? o->name : "", o->arg ? o->arg : "");
	if (o->value)
		fputs(o->value, to);
	fprintf(to, "\t%s\t", o->help);
	if (o->more)
		list_more(o->more, to);
	fputc('\n', to);
}

void opt_list(const struct opt_spec *spec, FILE *to)
{
	const struct opt help = help_of(spec);

	for (size_t i = 0; i < spec->nopts; i++) {
		if (spec->opts[i].kind == OPT_HEADING)
			fprintf(to, "group\t%s\n", spec->opts[i].help);
		else if (!opt_is_hidden(&spec->opts[i]))
			list_option(&spec->opts[i], to);
	}
	list_option(&help, to);
	if (spec->operands)
		fprintf(to, "operands\t%s\n", spec->operands);
}
