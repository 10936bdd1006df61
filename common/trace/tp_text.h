/*
 * The fields of a tracepoint's record as text: "prev_pid=12 prev_state=1". perf prints what the
 * kernel's "print fmt" makes of them; here each field has its name and its plain value.
 */
#ifndef NSPROF_TP_TEXT_H
#define NSPROF_TP_TEXT_H

#include <stddef.h>

#include "base/strbuf.h"
#include "trace/tp_format.h"

/*
 * Appends the value of @fd in @record of @len bytes: decimal, "0x..." for addresses, "{1,2}" for
 * several numbers, bytes as hexadecimal digits, and text as a word (escape_word()). Nothing if it is
 * not in the record.
 */
void tp_value_text(const struct tp_field *fd, const void *record, size_t len, struct strbuf *out);
/* Appends all fields but those that every tracepoint has, separated by blanks. */
void tp_record_text(const struct tp_format *f, const void *record, size_t len, struct strbuf *out);

#endif
