/* JSON state files, as far as container runtimes' are to be read. */
#ifndef NSPROF_STATE_JSON_H
#define NSPROF_STATE_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Part of a parsed file, valid as long as the file's. */
struct state_val;

/* Parse regular file @path below @dirfd, 8 MiB at most, symlinks within @dirfd only. NULL when it cannot be: *@err is -errno. */
struct state_val *state_open(int dirfd, const char *path, int *err);
/* The text of that file, to be freed, and behind it a NUL. NULL when it cannot be read: *@err is -errno. */
char *state_read(int dirfd, const char *path, size_t *len, int *err);
/* The number behind the first @key of @text, a string; the rest is not parsed. 0 when there is none. @text need not be JSON: then the number means nothing. */
uint64_t state_peek(const char *text, const char *key);
/* The same as state_open() of text, which may hold anything. */
struct state_val *state_parse(const char *text, size_t len);
void state_close(struct state_val *root);

/* Where @keys lead, the last of which is NULL. What is not there, or of another type, is NULL, "" or 0. */
const struct state_val *state_find(const struct state_val *v, const char *const *keys);
const char *state_text(const struct state_val *v);
uint64_t state_number(const struct state_val *v);
bool state_is_true(const struct state_val *v);

/* The same with the keys as arguments: state_str(v, "State", "Pid"). */
#define state_at(v, ...) state_find((v), (const char *const[]){ __VA_ARGS__, NULL })
#define state_str(v, ...) state_text(state_at(v, __VA_ARGS__))
#define state_u64(v, ...) state_number(state_at(v, __VA_ARGS__))
#define state_true(v, ...) state_is_true(state_at(v, __VA_ARGS__))

/* Elements of an array; NULL from its end on, and for what is no array. */
const struct state_val *state_elem(const struct state_val *v, size_t i);
#endif
