/* Strings to small dense ids and back. Equal strings get equal ids. Id 0 is the empty string. */
#ifndef NSPROF_INTERN_H
#define NSPROF_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct intern;

struct intern *intern_new(void);
void intern_free(struct intern *in);
uint32_t intern_add(struct intern *in, const char *s);
/* The id of @s, or UINT32_MAX if it was never added. */
uint32_t intern_find(const struct intern *in, const char *s);
uint32_t intern_findn(const struct intern *in, const char *s, size_t len);
uint32_t intern_addn(struct intern *in, const char *s, size_t len);
/* Borrowed until intern_free(). @id must come from this table. */
const char *intern_str(const struct intern *in, uint32_t id);
size_t intern_len(const struct intern *in, uint32_t id);
uint32_t intern_count(const struct intern *in);
/* Bytes of all strings. */
size_t intern_bytes(const struct intern *in);

#endif
