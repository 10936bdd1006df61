#include "evlist/event_filter.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "base/util.h"

#define DEPTH_MAX 64		/* of parentheses */
#define TEXT_MAX 255		/* MAX_FILTER_STR_VAL of the kernel, less the NUL */

struct filter {
	const char *at;
	const struct tp_format *format;
	struct strbuf *why;
	int depth;
};

/* Fields that every tracepoint has beside those of its format: trace_define_generic_fields(). */
static const struct {
	const char *name;
	bool text;
} generic[] = {
	{ "comm", true }, { "COMM", true }, { "cpu", false }, { "CPU", false }, { "common_cpu", false },
	{ "stacktrace", true }, { "STACKTRACE", true }, { "common_stacktrace", true },
};

static bool word_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	while (word_char(s[n]))
		n++;
	return n;
}

static void skip_blanks(struct filter *f)
{
	while (*f->at == ' ' || *f->at == '\t' || *f->at == '\n')
		f->at++;
}

/* What the text has at this place, for messages. */
static int expected(struct filter *f, const char *what)
{
	if (*f->at)
		strbuf_addf(f->why, "%s is expected before '%s'", what, f->at);
	else
		strbuf_addf(f->why, "%s is missing at the end", what);
	return -EINVAL;
}

static int unknown_field(struct filter *f, const char *name, size_t len)
{
	const struct tp_format *t = f->format;
	const char *lead = "";
	struct suggest s;
	char meant[300];

	suggest_init(&s, name, len);
	for (size_t i = 0; i < t->n; i++)
		suggest_offer(&s, t->v[i].name);
	strbuf_addf(f->why, "there is no field '%.*s'.%s The fields are ", (int)len, name, suggest_text(&s, "", meant, sizeof(meant)));
	for (int common = 0; common < 2; common++)
		for (size_t i = 0; i < t->n; i++) {
			if (t->v[i].common != common)
				continue;
			strbuf_addf(f->why, "%s%s", lead, t->v[i].name);
			lead = ", ";
		}
	return -EINVAL;
}

/* Is the field text? 1, 0, or -EINVAL if there is no such field. */
static int field_is_text(struct filter *f, const char *name, size_t len)
{
	const struct tp_field *fd = tp_format_find(f->format, name, len);

	if (fd)
		return strchr(fd->type, '[') && strstr(fd->type, "char");
	for (size_t i = 0; i < ARRAY_SIZE(generic); i++)
		if (strlen(generic[i].name) == len && !memcmp(generic[i].name, name, len))
			return generic[i].text;
	return unknown_field(f, name, len);
}

/* "..." or '...' */
static int quoted(struct filter *f, const char *op, bool text, const char *field, size_t len)
{
	const char quote = *f->at, *end = strchr(f->at + 1, quote);

	if (!end) {
		strbuf_addf(f->why, "the quote %c is not closed", quote);
		return -EINVAL;
	}
	if (!text) {
		strbuf_addf(f->why, "field '%.*s' is a number, and is compared with text", (int)len, field);
		return -EINVAL;
	}
	if (strcmp(op, "==") && strcmp(op, "!=") && strcmp(op, "~")) {
		strbuf_addf(f->why, "text is compared by ==, != or ~ (pattern), not by %s", op);
		return -EINVAL;
	}
	if (end - f->at - 1 > TEXT_MAX) {
		strbuf_addf(f->why, "text of more than %d bytes is too long for the kernel", TEXT_MAX);
		return -EINVAL;
	}
	f->at = end + 1;
	return 0;
}

/* A pointer to text in the kernel or, with ".ustring", of a process may be compared with text. */
static bool may_be_text(const struct filter *f, const char *field, size_t len, bool suffix)
{
	const struct tp_field *fd = tp_format_find(f->format, field, len);

	return suffix || (fd && fd->pointer && strstr(fd->type, "char"));
}

static int value(struct filter *f, const char *op, int text, const char *field, size_t len, bool suffix)
{
	size_t n;

	if (*f->at == '"' || *f->at == '\'')
		return quoted(f, op, text || may_be_text(f, field, len, suffix), field, len);
	if (!strncmp(f->at, "CPUS{", 5)) {
		f->at = strchr(f->at, '}') ? strchr(f->at, '}') + 1 : f->at + strlen(f->at);
		return 0;
	}
	if (suffix) {	/* FIELD.function == NAME or address */
		f->at += word_length(f->at);
		return 0;
	}
	n = *f->at == '-';
	n += word_length(f->at + n);
	if (n && (f->at[0] == '-' || (f->at[0] >= '0' && f->at[0] <= '9'))) {
		if (text) {
			strbuf_addf(f->why, "field '%.*s' is text: write %.*s%s\"%.*s\"", (int)len, field, (int)len, field, op, (int)n,
				    f->at);
			return -EINVAL;
		}
		f->at += n;
		return 0;
	}
	if (n) {
		strbuf_addf(f->why, "'%.*s' is neither a number nor text in quotes", (int)n, f->at);
		return -EINVAL;
	}
	return expected(f, "a number or text in quotes");
}

/* FIELD OP VALUE */
static int predicate(struct filter *f)
{
	static const char *const ops[] = { "!=", "==", "~", "<=", "<", ">=", ">", "&" };
	const char *field = f->at, *op = NULL;
	const size_t len = word_length(field);
	bool suffix = false;
	int text;

	if (!len)
		return expected(f, "a field");
	text = field_is_text(f, field, len);
	if (text < 0)
		return text;
	f->at += len;
	if (*f->at == '.') {
		f->at++;
		f->at += word_length(f->at);
		suffix = true;
	}
	skip_blanks(f);
	for (size_t i = 0; i < ARRAY_SIZE(ops) && !op; i++)
		if (!strncmp(f->at, ops[i], strlen(ops[i])))
			op = ops[i];
	if (!op)
		return expected(f, "a comparison (== != < <= > >= & ~)");
	f->at += strlen(op);
	skip_blanks(f);
	return value(f, op, text, field, len, suffix);
}

static int term(struct filter *f);

/* Terms joined by && and ||. */
static int expression(struct filter *f)
{
	int err;

	for (;;) {
		err = term(f);
		if (err)
			return err;
		skip_blanks(f);
		if (strncmp(f->at, "&&", 2) && strncmp(f->at, "||", 2))
			return 0;
		f->at += 2;
	}
}

/* A predicate, or an expression in parentheses, with any number of '!' before it. */
static int term(struct filter *f)
{
	int err;

	skip_blanks(f);
	while (*f->at == '!') {
		f->at++;
		skip_blanks(f);
	}
	if (*f->at != '(')
		return predicate(f);
	if (++f->depth > DEPTH_MAX) {
		strbuf_addf(f->why, "it has more than %d parentheses in each other", DEPTH_MAX);
		return -EINVAL;
	}
	f->at++;
	err = expression(f);
	if (err)
		return err;
	if (*f->at != ')')
		return expected(f, "')', '&&' or '||'");
	f->at++;
	f->depth--;
	return 0;
}

int event_filter_check(const char *filter, const struct tp_format *format, struct strbuf *why)
{
	struct filter f = { .at = filter, .format = format, .why = why };
	int err = expression(&f);

	if (!err && *f.at)
		err = expected(&f, "'&&' or '||'");
	return err;
}

int event_filter_check_event(const struct evsel *ev)
{
	struct strbuf why = STRBUF_INIT;
	struct tp_format format;
	int err = tp_format_parse(&format, ev->format, strlen(ev->format));

	/* A format that we cannot read is no reason to refuse: the kernel decides. */
	if (!err)
		err = event_filter_check(ev->filter, &format, &why);
	else
		err = 0;
	if (err)
		pr_err("--filter '%s' of event '%s': %s", ev->filter, ev->name, why.s);
	tp_format_fini(&format);
	strbuf_fini(&why);
	return err;
}
