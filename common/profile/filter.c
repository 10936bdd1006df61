/* Conditions on samples (filter.h). */
#include "profile/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "profile/lead_frames.h"

#define NS_PER_S UINT64_C(1000000000)
#define SECONDS_MAX UINT64_C(1000000000)	/* thirty years */
#define ALL_SHARES (100 * NS_PER_S)		/* percentages are parsed like seconds */

static const char *const key_names[FILTER_KEYS] = {
	[FILTER_CONTAINER] = "container",
	[FILTER_CGROUP] = "cgroup",
	[FILTER_COMM] = "comm",
	[FILTER_PID] = "pid",
	[FILTER_NSPID] = "nspid",
	[FILTER_TID] = "tid",
	[FILTER_TIME] = "time",
	[FILTER_STATE] = "state",
};

const char *filter_key_name(enum filter_key key)
{
	return key_names[key];
}

/* @ns rounded up to a multiple of @step; UINT64_MAX on overflow. */
static uint64_t round_up(uint64_t ns, uint64_t step)
{
	uint64_t behind = ns % step;

	return behind && __builtin_add_overflow(ns, step - behind, &ns) ? UINT64_MAX : ns;
}

void filter_times(const struct filter *f, uint64_t step, struct strbuf *out)
{
	const char *comma = "";

	for (size_t i = 0; i < f->n; i++) {
		if (f->conds[i].key != FILTER_TIME)
			continue;
		strbuf_addf(out, "%s%" PRIu64 "-%" PRIu64, comma, round_up(f->conds[i].from, step), round_up(f->conds[i].to, step));
		comma = ",";
	}
}

/* ---- from text ---- */

/* The key in "key=...", or FILTER_KEYS. *@value: what follows it. */
static enum filter_key key_at(const char *text, const char **value)
{
	for (int k = 0; k < FILTER_KEYS; k++) {
		size_t len = strlen(key_names[k]);

		if (!strncmp(text, key_names[k], len) && text[len] == '=') {
			*value = text + len + 1;
			return (enum filter_key)k;
		}
	}
	return FILTER_KEYS;
}

/* The end of the value: the end of the text, or a separator followed by another condition. */
static const char *value_end(const char *p)
{
	const char *value;

	for (; *p; p++)
		if ((*p == ',' || *p == ' ') && key_at(p + 1, &value) != FILTER_KEYS)
			break;
	return p;
}

/* @text must be exactly one number of at most 32 bits. */
static bool parse_number(const char *text, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno && *out <= UINT32_MAX;
}

/* Parse "12" or "1.5", seconds, into ns. Moves *@p behind it. */
static bool parse_seconds(const char **p, uint64_t *ns)
{
	uint64_t s = 0, unit = NS_PER_S;
	const char *first = *p;

	for (; **p >= '0' && **p <= '9'; ++*p) {
		s = s * 10 + (uint64_t)(**p - '0');
		if (s > SECONDS_MAX)
			return false;
	}
	*ns = s * NS_PER_S;
	if (*p == first || **p != '.')
		return *p != first;
	while (*++*p >= '0' && **p <= '9') {
		unit /= 10;
		*ns += (uint64_t)(**p - '0') * unit;
	}
	return true;
}

/*
 * Parse "10%", "10%/2", "10%-20%", as perf_time__percent_parse_str() does in
 * tools/perf/util/time-utils.c. Moves *@p behind it.
 */
static bool parse_share(const char **p, uint64_t *from, uint64_t *to)
{
	uint64_t n = 1;
	char *end;

	if (!parse_seconds(p, to) || **p != '%')
		return false;
	*from = 0;
	if (*++*p == '-') {
		*from = *to;
		++*p;
		return parse_seconds(p, to) && *(*p)++ == '%' && *from < *to && *to <= ALL_SHARES;
	}
	if (**p == '/') {
		if (*++*p < '0' || **p > '9')
			return false;
		n = strtoull(*p, &end, 10);
		*p = end;
	}
	if (!n || !*to || n > ALL_SHARES / *to)
		return false;
	*from = (n - 1) * *to;
	*to *= n;
	return true;
}

/* "FROM-TO", "FROM-", "-TO". */
static bool parse_range(const char *text, uint64_t *from, uint64_t *to)
{
	const char *p = text;

	*from = 0;
	*to = UINT64_MAX;
	if (*p != '-' && !parse_seconds(&p, from))
		return false;
	if (*p++ != '-')
		return false;
	if (!*p)
		return p > text + 1;
	return parse_seconds(&p, to) && !*p && *from < *to;
}

/* "blocked", or as frames have it "[blocked]". */
static bool parse_state(const char *text, uint64_t *out)
{
	const bool brackets = *text == '[';

	for (int i = 0; i < STATES; i++) {
		const char *name = lead_state_text((enum lead_state)i);

		*out = (uint64_t)i;
		if (brackets ? !strcmp(text, name) : strlen(text) + 2 == strlen(name) && !strncmp(text, name + 1, strlen(text)))
			return true;
	}
	return false;
}

static int parse_value(struct filter_cond *c)
{
	switch (c->key) {
	case FILTER_PID:
	case FILTER_NSPID:
	case FILTER_TID:
		if (!parse_number(c->text, &c->from)) {
			pr_err("--filter %s= takes a number, not '%s'", key_names[c->key], c->text);
			return -EINVAL;
		}
		c->to = c->from + 1;
		return 0;
	case FILTER_TIME:
		if (!parse_range(c->text, &c->from, &c->to)) {
			pr_err("--filter time= takes seconds since the start, FROM-TO, FROM- or -TO, not '%s'",
			       c->text);
			return -EINVAL;
		}
		return 0;
	case FILTER_STATE:
		if (!parse_state(c->text, &c->from)) {
			pr_err("--filter state= takes running, runnable, blocked or throttled, not '%s'", c->text);
			return -EINVAL;
		}
		c->to = c->from + 1;
		return 0;
	default:
		if (!c->text[0]) {
			pr_err("--filter %s= needs a text; '*' matches any text", key_names[c->key]);
			return -EINVAL;
		}
		return 0;
	}
}

/* The name in @text as outputs show it, if that is another text. */
static char *shown_text(const char *text)
{
	struct strbuf sb = STRBUF_INIT;

	escape_name(&sb, text);
	if (strcmp(sb.s, text) != 0)
		return sb.s;
	strbuf_fini(&sb);
	return NULL;
}

static struct filter_cond *new_cond(struct filter *f, enum filter_key key, const char *text, size_t len)
{
	struct filter_cond *c;

	XGROW(f->conds, f->n, f->cap);
	c = &f->conds[f->n++];
	*c = (struct filter_cond){ .key = key, .text = xstrndup(text, len) };
	c->shown = shown_text(c->text);
	f->has[key] = true;
	return c;
}

int filter_add(struct filter *f, const char *text)
{
	for (;;) {
		const char *value, *end;
		enum filter_key key = key_at(text, &value);
		struct filter_cond *c;

		if (key == FILTER_KEYS) {
			pr_err("--filter '%s' must begin with container=, cgroup=, comm=, pid=, nspid=, "
			       "tid=, time= or state=", text);
			return -EINVAL;
		}
		end = value_end(value);
		c = new_cond(f, key, value, (size_t)(end - value));
		if (parse_value(c))
			return -EINVAL;
		if (!*end)
			return 0;
		text = end + 1;
	}
}

int filter_add_list(struct filter *f, enum filter_key key, const char *option, const char *list)
{
	for (size_t len;; list += len + 1) {
		struct filter_cond *c;

		len = strcspn(list, ",");
		c = new_cond(f, key, list, len);
		if (key == FILTER_COMM ? !len : !parse_number(c->text, &c->from)) {
			pr_err("%s takes %s separated by commas, not '%s'", option,
			       key == FILTER_COMM ? "names" : "numbers", c->text);
			return -EINVAL;
		}
		c->to = c->from + 1;
		if (!list[len])
			return 0;
	}
}

static int add_shares(struct filter *f, const char *text)
{
	for (const char *p = text;; p++) {
		struct filter_cond *c = new_cond(f, FILTER_TIME, p, strcspn(p, ","));

		c->span = true;
		c->share = true;
		if (!parse_share(&p, &c->from, &c->to) || (*p && *p != ',')) {
			pr_err("--time takes shares of the time such as 10%%, 10%%/2 (the second tenth) or 0%%-20%%, separated by commas, not '%s'",
			       text);
			return -EINVAL;
		}
		if (!*p)
			return 0;
	}
}

int filter_add_span(struct filter *f, const char *text)
{
	struct filter_cond *c;
	const char *p = text;

	if (strchr(text, '%'))
		return add_shares(f, text);
	c = new_cond(f, FILTER_TIME, text, strlen(text));
	c->span = true;
	c->absolute = true;
	c->to = UINT64_MAX;
	if (*p && (*p == ',' || parse_seconds(&p, &c->from)) && *p == ',' &&
	    (p[1] ? (p++, parse_seconds(&p, &c->to)) && !*p : p > text) && c->from < c->to)
		return 0;
	pr_err("--time takes seconds as shown by nsprof script: FROM,TO or FROM, or ,TO, not '%s'; --filter time=FROM-TO "
	       "counts from the start of the recording", text);
	return -EINVAL;
}

bool filter_has_shares(const struct filter *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->conds[i].share)
			return true;
	return false;
}

/* The time at @part of ALL_SHARES. */
static uint64_t share_time(uint64_t first, uint64_t last, uint64_t part)
{
	return first + (uint64_t)((unsigned __int128)(last - first) * part / ALL_SHARES);
}

void filter_place(struct filter *f, uint64_t first, uint64_t last)
{
	for (size_t i = 0; i < f->n; i++) {
		struct filter_cond *c = &f->conds[i];

		if (!c->share)
			continue;
		c->from = share_time(first, last, c->from);
		c->to = c->to == ALL_SHARES ? UINT64_MAX : share_time(first, last, c->to);
		c->absolute = true;
		c->share = false;
	}
}

void filter_begin(struct filter *f, uint64_t start)
{
	f->start = start;
	for (size_t i = 0; i < f->n; i++) {
		struct filter_cond *c = &f->conds[i];

		if (!c->absolute)
			continue;
		c->from = c->from > start ? c->from - start : 0;
		if (c->to != UINT64_MAX)
			c->to = c->to > start ? c->to - start : 0;
		c->absolute = false;
	}
}

void filter_fini(struct filter *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->conds[i].text);
		free(f->conds[i].shown);
	}
	free(f->conds);
	memset(f, 0, sizeof(*f));
}

bool filter_accepts(const struct filter *f, enum filter_key key, const char *text, uint64_t number)
{
	bool meets = !f->has[key];

	for (size_t i = 0; i < f->n && !meets; i++) {
		const struct filter_cond *c = &f->conds[i];

		if (c->key == key)
			meets = text ? !strcmp(c->text, text) || !fnmatch(c->text, text, 0) || (c->shown && !strcmp(c->shown, text)) :
				       number >= c->from && number < c->to;
	}
	return meets;
}
