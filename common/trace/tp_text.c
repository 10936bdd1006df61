#include "trace/tp_text.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

#include "base/escape.h"

static void add_number(const struct tp_field *fd, uint64_t v, struct strbuf *out)
{
	if (fd->pointer)
		strbuf_addf(out, "0x%" PRIx64, v);
	else if (fd->is_signed)
		strbuf_addf(out, "%" PRId64, (int64_t)v);
	else
		strbuf_addf(out, "%" PRIu64, v);
}

static void add_numbers(const struct tp_field *fd, const void *record, size_t len, struct strbuf *out)
{
	uint64_t v;

	strbuf_addc(out, '{');
	for (size_t i = 0; tp_field_number(fd, record, len, i, &v); i++) {
		if (i)
			strbuf_addc(out, ',');
		add_number(fd, v, out);
	}
	strbuf_addc(out, '}');
}

static void add_word(const uint8_t *at, size_t n, struct strbuf *out)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_add(&text, at, strnlen((const char *)at, n));
	strbuf_addc(&text, '\0');
	escape_word(out, text.s);
	strbuf_fini(&text);
}

void tp_value_text(const struct tp_field *fd, const void *record, size_t len, struct strbuf *out)
{
	const uint8_t *at;
	uint64_t v;
	size_t n;

	if (!tp_field_bytes(fd, record, len, &at, &n))
		return;
	switch (fd->kind) {
	case TP_NUMBER:
		if (tp_field_number(fd, record, len, 0, &v))
			add_number(fd, v, out);
		break;
	case TP_NUMBERS:
		add_numbers(fd, record, len, out);
		break;
	case TP_TEXT:
		add_word(at, n, out);
		break;
	case TP_BYTES:
		for (size_t i = 0; i < n; i++)
			strbuf_addf(out, "%02x", at[i]);
		break;
	}
}

void tp_record_text(const struct tp_format *f, const void *record, size_t len, struct strbuf *out)
{
	const size_t begin = out->len;

	for (size_t i = 0; i < f->n; i++) {
		if (f->v[i].common)
			continue;
		strbuf_addf(out, "%s%s=", out->len > begin ? " " : "", f->v[i].name);
		tp_value_text(&f->v[i], record, len, out);
	}
}
