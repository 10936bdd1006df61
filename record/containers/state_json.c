/* JSON state files by jansson. */
#include "containers/state_json.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/nsopen.h"

#define STATE_MAX (8u << 20)

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
	return (struct state_val *)json_loadb(text, len, 0, NULL);
}

char *state_read(int dirfd, const char *path, size_t *len, int *err)
{
	int fd = nsopen_file(dirfd, path, STATE_MAX, NULL);
	char *text;

	*err = fd;
	if (fd < 0)
		return NULL;
	text = nsopen_slurp(fd, STATE_MAX, len, err);
	close(fd);
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
