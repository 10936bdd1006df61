/* Hints at state directories (state_hints.h). */
#include "containers/state_hints.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

#define TASKS "/io.containerd.runtime.v2.task/"
#define ID_LEN 64	/* hexadecimal digits of a sha256 */

static bool copy(const char *s, size_t len, char *out, size_t size)
{
	if (!len || len >= size)
		return false;
	memcpy(out, s, len);
	out[len] = '\0';
	return true;
}

/* Is this component of a path an id? */
static bool is_id(const char *s)
{
	return strspn(s, "0123456789abcdef") == ID_LEN && (!s[ID_LEN] || s[ID_LEN] == '/');
}

/* The slash before the component that ends at @end; NULL if there is none. */
static const char *before_name(const char *path, const char *end)
{
	return end > path ? memrchr(path, '/', (size_t)(end - path)) : NULL;
}

/* "DIR/overlay2/ID/merged", or another directory @last of a layer. */
static bool layer(const char *path, const char *last, char *dir, size_t size)
{
	static const char *const drivers[] = { "/overlay2", "/overlay" };
	const char *end = strrchr(path, '/'), *id, *driver;

	if (!end || strcmp(end + 1, last))
		return false;
	id = before_name(path, end);
	driver = id ? before_name(path, id) : NULL;
	for (size_t i = 0; driver && i < ARRAY_SIZE(drivers); i++)
		if ((size_t)(id - driver) == strlen(drivers[i]) && !memcmp(driver, drivers[i], (size_t)(id - driver)))
			return copy(path, (size_t)(driver - path), dir, size);
	return false;
}

/*
 * "DIR/containers/ID/..." of docker, "DIR/overlay-containers/ID/userdata/..." of
 * containers-storage.
 */
static bool container_dir(const char *path, char *dir, size_t size)
{
	static const char name[] = "containers/";

	for (const char *at = path; (at = strstr(at, name)); at++) {
		const char *end = at, *id = at + sizeof(name) - 1;

		if (at == path || !is_id(id))
			continue;
		if (at[-1] == '-')
			end = before_name(path, at);
		else if (at[-1] == '/')
			end = at - 1;
		else
			continue;
		if (end && copy(path, (size_t)(end - path), dir, size))
			return true;
	}
	return false;
}

bool state_hint_bundle(const char *path, char *dir, size_t size)
{
	const char *at = strstr(path, TASKS);

	return at ? copy(path, (size_t)(at - path), dir, size) : container_dir(path, dir, size);
}

/*
 * "DIR/rootfs/SNAPSHOTTER/ID" of docker with containerd's image store
 * (daemon/snapshotter/mount.go).
 */
static bool snapshot_root(const char *path, char *dir, size_t size)
{
	static const char rootfs[] = "/rootfs";
	const char *id = strrchr(path, '/'), *snapshotter, *top;

	if (!id || !is_id(id + 1))
		return false;
	snapshotter = before_name(path, id);
	top = snapshotter ? before_name(path, snapshotter) : NULL;
	return top && (size_t)(snapshotter - top) == sizeof(rootfs) - 1 && !memcmp(top, rootfs, sizeof(rootfs) - 1) &&
	       copy(path, (size_t)(top - path), dir, size);
}

/* A layer of the same, if docker runs containerd itself. */
static bool snapshot_layer(const char *path, char *dir, size_t size)
{
	const char *at = strstr(path, "/containerd/daemon/io.containerd.snapshotter.v1.");

	return at && copy(path, (size_t)(at - path), dir, size);
}

bool state_hint_mount(const struct proc_mount *m, char *dir, size_t size)
{
	if (!strncmp(m->type, "fuse", 4))
		return false;
	return state_hint_bundle(m->point, dir, size) || layer(m->point, "merged", dir, size) || snapshot_root(m->point, dir, size);
}

bool state_hint_overlay(const struct proc_mount *m, char *dir, size_t size)
{
	char upper[4096];

	return !strcmp(m->point, "/") && !strcmp(m->type, "overlay") &&
	       procfs_mount_option(m->options, "upperdir", upper, sizeof(upper)) && upper[0] == '/' &&
	       (layer(upper, "diff", dir, size) || snapshot_layer(upper, dir, size));
}

/* ---- command lines ---- */

struct take {
	void (*fn)(void *ctx, enum state_hint what, const char *path);
	void *ctx;
};

/* An option that takes a path, and the state directories below that path. */
struct word {
	const char *program;
	/* "--data-root"; the value may directly follow a one-letter option */
	const char *option;
	enum state_hint what;
	const char *below[2];
};

static const struct word words[] = {
	{ "dockerd", "--data-root", STATE_HINT_DIR, { "" } },
	{ "dockerd", "--graph", STATE_HINT_DIR, { "" } },
	{ "dockerd", "-g", STATE_HINT_DIR, { "" } },
	{ "dockerd", "--exec-root", STATE_HINT_DIR, { "/containerd/daemon", "/runtime-runc/moby" } },
	{ "dockerd", "--config-file", STATE_HINT_JSON, { "" } },
	{ "containerd", "--state", STATE_HINT_DIR, { "" } },
	{ "containerd", "--config", STATE_HINT_TOML, { "" } },
	{ "containerd", "-c", STATE_HINT_TOML, { "" } },
	{ "crio", "--root", STATE_HINT_DIR, { "" } },
	{ "crio", "-r", STATE_HINT_DIR, { "" } },
	{ "crio", "--runroot", STATE_HINT_DIR, { "" } },
	{ "crio", "--config", STATE_HINT_TOML, { "" } },
	{ "crio", "-c", STATE_HINT_TOML, { "" } },
	{ "podman", "--root", STATE_HINT_DIR, { "" } },
	{ "podman", "--runroot", STATE_HINT_DIR, { "" } },
};

/* The value of option @name at @args; NULL if that is another option. */
static const char *value_of(const char *name, const char *const *args, size_t n)
{
	const size_t len = strlen(name);

	if (strncmp(args[0], name, len))
		return NULL;
	if (!args[0][len])
		return n > 1 ? args[1] : NULL;
	if (args[0][len] == '=')
		return args[0] + len + 1;
	return name[1] != '-' ? args[0] + len : NULL;
}

/* conmon: its bundle and its pid file lie in the two roots of containers-storage. */
static void take_conmon(const struct take *t, const char *const *args, size_t n)
{
	static const char *const options[] = { "--bundle", "-b", "--container-pidfile", "-p" };
	char dir[4096];

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(options); k++) {
			const char *v = value_of(options[k], args + i, n - i);

			if (v && container_dir(v, dir, sizeof(dir))) {
				t->fn(t->ctx, STATE_HINT_DIR, dir);
				break;
			}
		}
	}
}

static void take_words(const struct take *t, const char *name, const char *const *args, size_t n)
{
	char path[4096];

	for (size_t i = 1; i < n; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(words); k++) {
			const char *v = strcmp(words[k].program, name) ? NULL : value_of(words[k].option, args + i, n - i);

			for (size_t b = 0; v && *v && b < ARRAY_SIZE(words[k].below) && words[k].below[b]; b++)
				if ((size_t)snprintf(path, sizeof(path), "%s%s", v, words[k].below[b]) < sizeof(path))
					t->fn(t->ctx, words[k].what, path);
		}
	}
}

bool state_hint_args(const char *name, const char *const *args, size_t n,
		     void (*fn)(void *ctx, enum state_hint what, const char *path), void *ctx)
{
	const struct take t = { fn, ctx };

	if (!strcmp(name, "conmon") || !strcmp(name, "conmonrs")) {
		take_conmon(&t, args, n);
		return true;
	}
	take_words(&t, name, args, n);
	return state_hint_is_runtime(name);
}

bool state_hint_is_runtime(const char *name)
{
	/* The shim's name is cut to 15 letters. */
	static const char *const names[] = { "dockerd", "containerd", "conmon", "conmonrs", "crio", "podman", "containerd-shim" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* ---- settings ---- */

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " \t");
}

/* "[table]" or "[[array]]" at @s: is it @table? */
static bool is_table(const char *s, const char *table)
{
	size_t len = strlen(table);

	s = skip_blanks(s + 1);
	if (!len || strncmp(s, table, len))
		return false;
	return *skip_blanks(s + len) == ']';
}

/* The value after '=': a basic or a literal string. */
static bool toml_value(const char *s, char *out, size_t size)
{
	const char quote = *s;
	size_t n = 0;

	if (quote != '"' && quote != '\'')
		return false;
	for (s++; *s && *s != '\n' && *s != quote; s++) {
		if (quote == '"' && *s == '\\' && (s[1] == '"' || s[1] == '\\'))
			s++;
		if (n + 1 >= size)
			return false;
		out[n++] = *s;
	}
	out[n] = '\0';
	return *s == quote;
}

bool state_toml(const char *text, const char *table, const char *key, char *out, size_t size)
{
	bool in = !*table;
	size_t len = strlen(key);

	for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		const char *s = skip_blanks(line);

		if (*s == '[') {
			in = is_table(s, table);
			continue;
		}
		if (!in || strncmp(s, key, len))
			continue;
		s = skip_blanks(s + len);
		if (*s == '=' && toml_value(skip_blanks(s + 1), out, size))
			return true;
	}
	return false;
}
