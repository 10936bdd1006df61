/* JSON state files by jansson. */
#include "containers/state_json.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "containers/state_budget.h"
#include "host/nsopen.h"

#define STATE_MAX ((size_t)8 << 20)
/*
 * Bytes that a parsed file may take. JSON made for it takes 40 times its size ("[[],[],[], ...").
 */
#define PARSED_MAX ((size_t)48 << 20)
#define USERS_PARSED_MAX ((size_t)24 << 20)

static _Thread_local size_t parse_left;
static _Thread_local bool parse_refused;	/* an allocation, for want of room */

static void *parse_alloc(size_t size)
{
	if (size > parse_left) {
		parse_refused = true;
		return NULL;
	}
	parse_left -= size;
	return malloc(size);
}

static void limit_memory(void)
{
	json_set_alloc_funcs(parse_alloc, free);
}

static const json_t *json_of(const struct state_val *v)
{
	return (const json_t *)(const void *)v;
}

static const struct state_val *val_of(const json_t *j)
{
	return (const struct state_val *)(const void *)j;
}

struct state_val *state_parse(const char *text, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t *memory = state_budget_memory(), most = memory ? MIN(*memory, USERS_PARSED_MAX) : PARSED_MAX;
	json_t *root;

	pthread_once(&once, limit_memory);
	parse_left = most;
	parse_refused = false;
	root = json_loadb(text, len, 0, NULL);
	if (memory)
		*memory -= most - parse_left;
	if (parse_refused)
		state_budget_leave_out();
	return (struct state_val *)root;
}

char *state_read(int dirfd, const char *path, size_t *len, int *err)
{
	const size_t max = state_budget_bytes(STATE_MAX);
	int fd = state_budget_file() ? nsopen_file(dirfd, path, max ? max : 1, NULL) : -EDQUOT;
	char *text;

	*err = fd;
	if (fd == -EFBIG && max < STATE_MAX) {
		state_budget_leave_out();
		*err = -EDQUOT;
	}
	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, max, len, err);
	if (text)
		state_budget_read(*len);
	nsopen_close(fd);
	return text;
}

uint64_t state_peek(const char *text, const char *key)
{
	char quoted[64];
	const char *at;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = strstr(text, quoted);
	return at ? strtoull(at + strlen(quoted), NULL, 10) : 0;
}

struct state_val *state_open(int dirfd, const char *path, int *err)
{
	struct state_val *v;
	size_t len;
	char *text = state_read(dirfd, path, &len, err);

	if (!text)
		return NULL;
	v = state_parse(text, len);
	free(text);
	*err = v ? 0 : -EBADMSG;
	return v;
}

void state_close(struct state_val *root)
{
	json_decref((json_t *)root);
}

const struct state_val *state_find(const struct state_val *v, const char *const *keys)
{
	const json_t *j = json_of(v);

	for (; j && *keys; keys++)
		j = json_object_get(j, *keys);
	return val_of(j);
}

const char *state_text(const struct state_val *v)
{
	const char *s = json_string_value(json_of(v));

	return s ? s : "";
}

uint64_t state_number(const struct state_val *v)
{
	json_int_t n = json_integer_value(json_of(v));

	return n > 0 ? (uint64_t)n : 0;
}

bool state_is_true(const struct state_val *v)
{
	return json_is_true(json_of(v));
}

const struct state_val *state_elem(const struct state_val *v, size_t i)
{
	return val_of(json_array_get(json_of(v), i));
}
