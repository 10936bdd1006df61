/*
 * A tracepoint's format, a record of it and a filter, as in a recording of others: three texts with
 * a NUL between them. Values lie in the record, and hidden ones are zero afterwards.
 */
#include "../fuzz.h"
#include "evlist/event_filter.h"
#include "trace/tp_format.h"

static struct feed until_nul(struct feed *f)
{
	const uint8_t *nul = f->left ? memchr(f->p, 0, f->left) : NULL;
	struct feed part = feed_part(f, nul ? (size_t)(nul - f->p) : f->left);

	feed_u8(f);
	return part;
}

static void values(const struct tp_format *f, const uint8_t *record, size_t len)
{
	const uint8_t *at;
	uint64_t v;
	size_t n;

	for (size_t i = 0; i < f->n; i++) {
		if (tp_field_bytes(&f->v[i], record, len, &at, &n)) {
			if (at < record || n > len || (size_t)(at - record) > len - n)
				abort();
			fuzz_read(at, n);
		}
		for (size_t k = 0; k < 4; k++)
			tp_field_number(&f->v[i], record, len, k, &v);
		if (tp_format_find(f, f->v[i].name, strlen(f->v[i].name)) == NULL)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = { data, size }, text = until_nul(&f), filter = until_nul(&f);
	char *format = fuzz_text(text.p, text.left), *filter_text = fuzz_text(filter.p, filter.left);
	uint8_t *record = fuzz_copy(f.p, f.left);
	struct strbuf lines = STRBUF_INIT, why = STRBUF_INIT;
	struct tp_format parsed, again;
	int err = tp_format_parse(&parsed, format, text.left);

	if (!err) {
		values(&parsed, record, f.left);
		if (event_filter_check(filter_text, &parsed, &why) && !why.len)
			abort();
		tp_format_hide(&parsed, record, f.left);
		values(&parsed, record, f.left);
		/* The lines that a recording keeps say the same as all of the text. */
		tp_format_lines(format, text.left, &lines);
		if (tp_format_parse(&again, lines.s ? lines.s : "", lines.len) || again.n != parsed.n)
			abort();
		tp_format_fini(&again);
	}
	tp_format_fini(&parsed);
	strbuf_fini(&lines);
	strbuf_fini(&why);
	free(record);
	free(filter_text);
	free(format);
	return 0;
}
