/*
 * The LEDGER, TALLY and COUNTS blocks: converts structs of event.h to payloads and back. Each
 * encoder stands beside its decoder.
 */
#ifndef NSPROF_LEDGER_CODEC_H
#define NSPROF_LEDGER_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "event.h"

void ledger_enc(struct strbuf *out, const struct ev_ledger *l);
/* Fields missing in a short @raw (@len bytes) are 0; extra bytes are ignored. */
void ledger_dec(const void *raw, size_t len, struct ev_ledger *out);

void tally_enc(struct strbuf *out, const struct ev_tally *rows, size_t n);
void counts_enc(struct strbuf *out, const struct ev_counts *rows, size_t n);

/* @row: REC_TABLE_COLS numbers, as in struct rec_table. */
void tally_dec(const uint64_t *row, struct ev_tally *out);
void counts_dec(const uint64_t *row, struct ev_counts *out);

#endif
