/* Text in a cell of CSV (RFC 4180). */
#ifndef NSPROF_CSV_H
#define NSPROF_CSV_H

#include <stdio.h>

/*
 * Writes text so that no spreadsheet takes it for a formula: '=', '+', '-' or '@' at its beginning
 * becomes an escape (escape.h). Foreign bytes are repaired.
 */
void csv_guarded(const char *text, FILE *to);
/* The same as one cell, in quotes if it needs them; or in any case. */
void csv_text(const char *text, FILE *to);
void csv_quoted(const char *text, FILE *to);

#endif
