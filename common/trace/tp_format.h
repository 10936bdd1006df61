/*
 * The fields of a tracepoint's records, as tracefs describes them in events/GROUP/NAME/format, and
 * their values in a record's bytes. Documentation/trace/events.rst has the format.
 */
#ifndef NSPROF_TP_FORMAT_H
#define NSPROF_TP_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"

#define TP_FIELDS_MAX 256u	/* the kernel's longest records have some 60 */
#define TP_RECORD_MAX 65535u	/* bytes, as far as offsets reach */

enum tp_kind {
	TP_NUMBER,	/* one number of 1, 2, 4 or 8 bytes */
	TP_NUMBERS,	/* several of 2, 4 or 8 bytes each */
	TP_TEXT,	/* char[], with or without a NUL at its end */
	TP_BYTES,	/* anything else */
};

struct tp_field {
	char *name;		/* owned: "prev_comm" */
	char *type;		/* owned: "char[16]", "unsigned long", "__data_loc char[]" */
	uint32_t offset, size;	/* bytes in the record; of dynamic ones, those that tell where they are */
	uint32_t each;		/* bytes of one number; 1 for text and bytes */
	enum tp_kind kind;
	bool is_signed;
	bool pointer;		/* an address, by its type or its name: shown with base 16 */
	bool common;		/* one of those that all tracepoints have, "common_type" */
	/*
	 * The record holds 4 bytes that tell where the value is: offset in the low half, bytes in
	 * the high half. The offset counts from the record's start, or with @relative from the end
	 * of these 4 bytes.
	 */
	bool dynamic, relative;
};

struct tp_format {
	struct tp_field *v;	/* owned; in the order of the text */
	size_t n;
};

/*
 * Takes all lines of @text that begin with "field:" and ignores the others. Fields that reach
 * beyond TP_RECORD_MAX, or whose lines are malformed, make it fail. 0 or -EINVAL. Release with
 * tp_format_fini() in any case.
 */
int tp_format_parse(struct tp_format *f, const char *text, size_t len);
void tp_format_fini(struct tp_format *f);

/* NULL: there is none. */
const struct tp_field *tp_format_find(const struct tp_format *f, const char *name, size_t len);

/*
 * The bytes of a field's value in @record, borrowed. The kernel pads records, so @len may be larger
 * than what the fields need. False if they do not lie within @len.
 */
bool tp_field_bytes(const struct tp_field *fd, const void *record, size_t len, const uint8_t **at, size_t *n);
/*
 * The @i-th number of a TP_NUMBER or TP_NUMBERS: sign-extended if the field is signed. False if
 * there is none.
 */
bool tp_field_number(const struct tp_field *fd, const void *record, size_t len, size_t i, uint64_t *v);

/*
 * Is it data that may be a user's: text or bytes? Names of threads (char[16] NAMEcomm) are not, as
 * every recording has them.
 */
bool tp_field_private(const struct tp_field *fd);
/*
 * Zeroes the values of private fields in @record, also those that dynamic fields refer to, and all
 * that belongs to no field: there the kernel leaves what an earlier event had, of whatever process.
 */
void tp_format_hide(const struct tp_format *f, void *record, size_t len);

/* Appends the lines "field:..." of the file @text, without blanks at their beginning. */
void tp_format_lines(const char *text, size_t len, struct strbuf *out);

#endif
