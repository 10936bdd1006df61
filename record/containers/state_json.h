/* JSON state files, as far as container runtimes use JSON. */
#ifndef NSPROF_STATE_JSON_H
#define NSPROF_STATE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of a parsed file; valid as long as the root. */
struct state_val;

/*
 * Parses the regular file @path below @dirfd: at most 8 MiB, symlinks within @dirfd only. NULL on
 * failure: *@err is -errno; -EDQUOT: the user's share is used up (state_budget.h).
 */
struct state_val *state_open(int dirfd, const char *path, int *err);
/* The text of such a file with a NUL behind it; free it. NULL on failure: *@err is -errno. */
char *state_read(int dirfd, const char *path, size_t *len, int *err);
/*
 * The number after the first "@key": in @text, a string; parses nothing else. 0 if there is none.
 * @text need not be JSON, but then the number means nothing.
 */
uint64_t state_peek(const char *text, const char *key);
/* Parses a text with any content, as state_open() does. */
struct state_val *state_parse(const char *text, size_t len);
void state_close(struct state_val *root);

/* Follows @keys, which end with NULL. A missing value, or one of another type, is NULL, "" or 0. */
const struct state_val *state_find(const struct state_val *v, const char *const *keys);
const char *state_text(const struct state_val *v);
uint64_t state_number(const struct state_val *v);
bool state_is_true(const struct state_val *v);

/* The same with the keys as arguments: state_str(v, "State", "Pid"). */
#define state_at(v, ...) state_find((v), (const char *const[]){ __VA_ARGS__, NULL })
#define state_str(v, ...) state_text(state_at(v, __VA_ARGS__))
#define state_u64(v, ...) state_number(state_at(v, __VA_ARGS__))
#define state_true(v, ...) state_is_true(state_at(v, __VA_ARGS__))

/* An element of an array; NULL after the last one, and if @v is not an array. */
const struct state_val *state_elem(const struct state_val *v, size_t i);
#endif
