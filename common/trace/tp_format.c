#include "trace/tp_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/xalloc.h"

#define FIELD "field:"

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* The next line of [*@at, @end), without blanks at both ends. False at the end. */
static bool next_line(const char **at, const char *end, const char **line, size_t *len)
{
	const char *nl;

	if (*at >= end)
		return false;
	nl = memchr(*at, '\n', (size_t)(end - *at));
	*line = *at;
	*at = nl ? nl + 1 : end;
	*len = (size_t)((nl ? nl : end) - *line);
	while (*len && blank(**line))
		++*line, --*len;
	while (*len && blank((*line)[*len - 1]))
		--*len;
	return true;
}

static bool is_field(const char *line, size_t len)
{
	return len > strlen(FIELD) && !memcmp(line, FIELD, strlen(FIELD));
}

/* The value of "\tKEY:123;" in @line. */
static bool number_after(const char *line, const char *key, uint32_t *v)
{
	const char *p = strstr(line, key);
	unsigned long n;
	char *end;

	if (!p)
		return false;
	p += strlen(key);
	if (*p < '0' || *p > '9')
		return false;
	errno = 0;
	n = strtoul(p, &end, 10);
	*v = (uint32_t)n;
	return *end == ';' && !errno && n <= TP_RECORD_MAX;
}

static bool name_char(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_word(const char *type, const char *word)
{
	const size_t len = strlen(word);

	for (const char *p = type; (p = strstr(p, word)); p += len)
		if ((p == type || !name_char(p[-1])) && !name_char(p[len]))
			return true;
	return false;
}

/* The element's type of an array is one byte of text. */
static bool is_char(const char *type)
{
	return has_word(type, "char") && !has_word(type, "unsigned") && !has_word(type, "signed") && !strchr(type, '*');
}

static bool word_size(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Bytes of one element of a dynamic array, from its type. The kernel does not say. */
static uint32_t element_size(const char *type)
{
	static const struct {
		const char *word;
		uint32_t size;
	} sizes[] = {
		{ "char", 1 }, { "u8", 1 }, { "__u8", 1 }, { "s8", 1 }, { "uint8_t", 1 }, { "bool", 1 },
		{ "u16", 2 }, { "__u16", 2 }, { "s16", 2 }, { "uint16_t", 2 }, { "short", 2 },
		{ "long", 8 }, { "u64", 8 }, { "__u64", 8 }, { "s64", 8 }, { "uint64_t", 8 }, { "cpumask_t", 8 },
		{ "u32", 4 }, { "__u32", 4 }, { "s32", 4 }, { "uint32_t", 4 }, { "int", 4 }, { "unsigned", 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		if (has_word(type, sizes[i].word))
			return sizes[i].size;
	return 1;
}

/* Is it a number of 8 bytes that is called an address: "ip", "caller_ip", "fault_address", "call_site"? */
static bool is_address(const struct tp_field *fd)
{
	static const char *const words[] = { "ip", "rip", "addr", "address", "paddr", "call_site" };
	const size_t len = strlen(fd->name);

	for (size_t i = 0; i < ARRAY_SIZE(words) && fd->size == 8 && !fd->is_signed; i++) {
		const size_t n = strlen(words[i]);

		if (n <= len && !strcmp(fd->name + len - n, words[i]) && (n == len || fd->name[len - n - 1] == '_'))
			return true;
	}
	return false;
}

/*
 * @type is complete, @count the number in its brackets: 0 if there is none, or it is not a number.
 */
static void classify(struct tp_field *fd, bool array, uint32_t count)
{
	fd->dynamic = has_word(fd->type, "__data_loc") || has_word(fd->type, "__rel_loc");
	fd->relative = has_word(fd->type, "__rel_loc");
	fd->pointer = strchr(fd->type, '*') || (!array && is_address(fd));
	fd->each = 1;
	if (array && is_char(fd->type)) {
		fd->kind = TP_TEXT;
	} else if (fd->dynamic) {
		fd->each = element_size(fd->type);
		fd->kind = fd->each > 1 ? TP_NUMBERS : TP_BYTES;
	} else if (!array) {
		fd->kind = word_size(fd->size) && (fd->pointer || !has_word(fd->type, "struct")) ? TP_NUMBER : TP_BYTES;
		fd->each = fd->kind == TP_NUMBER ? fd->size : 1;
	} else {
		/* An array whose length is the name of a constant: what its type says. */
		fd->each = count ? fd->size / count : element_size(fd->type);
		if (!fd->each || fd->size % fd->each || !word_size(fd->each))
			fd->each = 1;
		fd->kind = fd->each > 1 ? TP_NUMBERS : TP_BYTES;
	}
}

/*
 * @line is NUL-terminated: "field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;". Older
 * kernels have no "signed". The name and the type are written over it; a type takes up the room of
 * its declaration: "unsigned long[6]".
 */
static bool parse_line(struct tp_field *fd, char *line)
{
	char *decl = line + strlen(FIELD), *end = strchr(decl, ';'), *name, *open, *after;
	uint32_t is_signed = 0, count = 0;
	size_t len;

	memset(fd, 0, sizeof(*fd));
	if (!end || !number_after(end, "offset:", &fd->offset) || !number_after(end, "size:", &fd->size))
		return false;
	number_after(end, "signed:", &is_signed);
	if (fd->offset + fd->size > TP_RECORD_MAX)
		return false;
	fd->is_signed = is_signed;
	*end = '\0';
	/* The brackets stand behind the name, and in "__data_loc char[] name" before it. */
	after = end;
	while (after > decl && blank(after[-1]))
		after--;
	open = NULL;
	if (after > decl && after[-1] == ']') {
		open = memrchr(decl, '[', (size_t)(after - decl));
		if (!open)
			return false;
		count = (uint32_t)strtoul(open + 1, NULL, 10);
		after = open;
		while (after > decl && blank(after[-1]))
			after--;
	}
	name = after;
	while (name > decl && name_char(name[-1]))
		name--;
	len = (size_t)(after - name);
	if (!len || name == decl)
		return false;
	fd->name = xstrndup(name, len);
	/* What is left is the type: move the brackets to its end. */
	after = name;
	while (after > decl && blank(after[-1]))
		after--;
	if (open)
		memmove(after, open, (size_t)(end - open) + 1);
	else
		*after = '\0';
	fd->type = xstrdup(decl);
	fd->common = !strncmp(fd->name, "common_", strlen("common_"));
	classify(fd, strchr(fd->type, '['), count);
	return true;
}

int tp_format_parse(struct tp_format *f, const char *text, size_t len)
{
	const char *at = text, *line;
	size_t n, cap = 0;

	memset(f, 0, sizeof(*f));
	while (next_line(&at, text + len, &line, &n)) {
		char *copy;
		bool ok;

		if (!is_field(line, n))
			continue;
		if (f->n == TP_FIELDS_MAX || memchr(line, '\0', n))
			return -EINVAL;
		XGROW(f->v, f->n, cap);
		copy = xstrndup(line, n);
		ok = parse_line(&f->v[f->n], copy);
		free(copy);
		if (!ok)
			return -EINVAL;
		f->n++;
	}
	return 0;
}

void tp_format_fini(struct tp_format *f)
{
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].name);
		free(f->v[i].type);
	}
	free(f->v);
	memset(f, 0, sizeof(*f));
}

const struct tp_field *tp_format_find(const struct tp_format *f, const char *name, size_t len)
{
	for (size_t i = 0; i < f->n; i++)
		if (strlen(f->v[i].name) == len && !memcmp(f->v[i].name, name, len))
			return &f->v[i];
	return NULL;
}

bool tp_field_bytes(const struct tp_field *fd, const void *record, size_t len, const uint8_t **at, size_t *n)
{
	const uint8_t *r = record;
	size_t from = fd->offset, size = fd->size;
	uint32_t loc;

	if (from > len || size > len - from)
		return false;
	if (fd->dynamic) {
		if (size != sizeof(loc))
			return false;
		memcpy(&loc, r + from, sizeof(loc));
		from = (loc & 0xffff) + (fd->relative ? from + sizeof(loc) : 0);
		size = loc >> 16;
		if (from > len || size > len - from)
			return false;
	}
	*at = r + from;
	*n = size;
	return true;
}

bool tp_field_number(const struct tp_field *fd, const void *record, size_t len, size_t i, uint64_t *v)
{
	const uint8_t *at;
	uint64_t out = 0;
	size_t n;

	if ((fd->kind != TP_NUMBER && fd->kind != TP_NUMBERS) || !tp_field_bytes(fd, record, len, &at, &n) ||
	    i >= n / fd->each)
		return false;
	memcpy(&out, at + i * fd->each, fd->each);
	if (fd->is_signed && fd->each < 8 && out >> (8 * fd->each - 1))
		out |= ~0ull << (8 * fd->each);
	*v = out;
	return true;
}

bool tp_field_private(const struct tp_field *fd)
{
	const size_t len = strlen(fd->name);

	if (fd->kind != TP_TEXT && fd->kind != TP_BYTES)
		return false;
	return fd->dynamic || fd->size != 16 || fd->kind != TP_TEXT || len < 4 || strcmp(fd->name + len - 4, "comm") != 0;
}

/* Bytes [from, to) of a record that may be seen. */
struct span {
	size_t from, to;
};

static void add_span(struct span *v, size_t *n, size_t from, size_t to)
{
	size_t i = (*n)++;

	/* Fields mostly come in order. */
	for (; i && v[i - 1].from > from; i--)
		v[i] = v[i - 1];
	v[i] = (struct span){ from, to };
}

static void add_shown(const struct tp_field *fd, const uint8_t *record, size_t len, struct span *v, size_t *nspans)
{
	const bool private = tp_field_private(fd);
	const uint8_t *at;
	size_t n;

	if (fd->dynamic)
		add_span(v, nspans, fd->offset, (size_t)fd->offset + fd->size);
	if (private || !tp_field_bytes(fd, record, len, &at, &n))
		return;
	/* The kernel need not fill in what comes behind a name. */
	if (fd->kind == TP_TEXT)
		n = strnlen((const char *)at, n);
	add_span(v, nspans, (size_t)(at - record), (size_t)(at - record) + n);
}

void tp_format_hide(const struct tp_format *f, void *record, size_t len)
{
	struct span v[2 * TP_FIELDS_MAX];
	size_t nspans = 0, end = 0, n;
	const uint8_t *at;

	for (size_t i = 0; i < f->n; i++)
		add_shown(&f->v[i], record, len, v, &nspans);
	for (size_t i = 0; i < nspans && end < len; i++) {
		if (v[i].from > end)
			memset((uint8_t *)record + end, 0, MIN(v[i].from, len) - end);
		end = MAX(end, v[i].to);
	}
	if (end < len)
		memset((uint8_t *)record + end, 0, len - end);
	/* Where fields overlap, the private one counts. */
	for (size_t i = 0; i < f->n; i++)
		if (tp_field_private(&f->v[i]) && tp_field_bytes(&f->v[i], record, len, &at, &n))
			memset((uint8_t *)record + (at - (const uint8_t *)record), 0, n);
}

void tp_format_lines(const char *text, size_t len, struct strbuf *out)
{
	const char *at = text, *line;
	size_t n;

	while (next_line(&at, text + len, &line, &n)) {
		if (!is_field(line, n))
			continue;
		strbuf_add(out, line, n);
		strbuf_addc(out, '\n');
	}
}
