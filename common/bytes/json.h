/* A streaming JSON writer that takes care of commas and escapes. */
#ifndef NSPROF_JSON_H
#define NSPROF_JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json;

struct json *json_new(FILE *to);	/* @to is borrowed */
void json_free(struct json *j);		/* adds the last newline */
void json_begin_object(struct json *j, const char *key);	/* @key NULL at top, in an array */
void json_end_object(struct json *j);
void json_begin_array(struct json *j, const char *key);
void json_end_array(struct json *j);
/*
 * @val may be any bytes. What is not UTF-8 becomes "\x{9b}" (escape.h); all else is exact once
 * JSON's escapes are undone.
 */
void json_str(struct json *j, const char *key, const char *val);
/* A name, of any bytes, as the text that other outputs show (escape_name()). */
void json_name(struct json *j, const char *key, const char *name);
/* The same for what is more than a name, such as a command line (escape_bytes()). */
void json_bytes(struct json *j, const char *key, const char *val);
void json_u64(struct json *j, const char *key, uint64_t val);
void json_i64(struct json *j, const char *key, int64_t val);
void json_double(struct json *j, const char *key, double val);
void json_bool(struct json *j, const char *key, bool val);
void json_null(struct json *j, const char *key);

#endif
