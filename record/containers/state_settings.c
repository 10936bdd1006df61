/* Settings that name state directories (state_settings.h). */
#include "containers/state_settings.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "containers/state_json.h"
#include "host/nsopen.h"

#define SETTINGS_MAX (1u << 20)
#define ROOT_UID 0

/* Where a setting comes from and how far it is trusted. */
struct source {
	struct state_dirs *sd;
	const char *from;
	uint32_t trust;
	const struct state_user *user;	/* NULL: do not expand variables */
};

/* Expands $HOME, $USER and $UID in a path, as in containers-storage.conf(5). */
static void expand(const struct source *src, const char *path, char *out, size_t size)
{
	char uid[16];
	size_t n = 0;

	snprintf(uid, sizeof(uid), "%" PRIu32, src->user ? src->user->uid : 0);
	out[0] = '\0';
	for (const char *s = path; *s && n + 1 < size;) {
		const char *const vars[][2] = {
			{ "$HOME", src->user ? src->user->home : NULL }, { "$USER", src->user ? src->user->name : NULL },
			{ "$UID", src->user ? uid : NULL },
		};
		const char *value = NULL;

		for (size_t i = 0; i < ARRAY_SIZE(vars) && !value; i++) {
			if (!vars[i][1] || strncmp(s, vars[i][0], strlen(vars[i][0])))
				continue;
			value = vars[i][1];
			s += strlen(vars[i][0]);
		}
		if (value)
			n += (size_t)snprintf(out + n, size - n, "%s", value);
		else
			out[n++] = *s++;
	}
	/* A path that is too long becomes "", which is ignored. */
	out[n < size ? n : 0] = '\0';
}

static void say(const struct source *src, const char *path, const char *runtime)
{
	char full[PATH_MAX];

	expand(src, path, full, sizeof(full));
	state_dirs_add(src->sd, full, src->from, runtime, src->trust);
}

/* ---- docker: daemon.json of dockerd(8) ---- */

static void read_json(const struct source *src, int dirfd, const char *path)
{
	int err;
	struct state_val *root = state_open(dirfd, path, &err);
	char sub[PATH_MAX];
	const char *exec;

	if (!root)
		return;
	say(src, state_str(root, "data-root"), "docker");
	say(src, state_str(root, "graph"), "docker");
	exec = state_str(root, "exec-root");
	if (*exec && (size_t)snprintf(sub, sizeof(sub), "%s/containerd/daemon", exec) < sizeof(sub))
		say(src, sub, "docker");
	state_close(root);
}

/* ---- TOML ---- */

struct setting {
	const char *table, *key, *runtime;
};

/* containers-storage.conf(5), containerd's config.toml, crio.conf(5): no key has two meanings. */
static const struct setting own[] = {
	{ "storage", "graphroot", "podman" }, { "storage", "runroot", "podman" },
	{ "", "state", "containerd" },
	{ "crio", "root", "cri-o" }, { "crio", "runroot", "cri-o" },
};
/* In the system's storage.conf, for users without root. */
static const struct setting for_users[] = {
	{ "storage", "rootless_storage_path", "podman" },
};

static void read_toml(const struct source *src, int dirfd, const char *path, const struct setting *keys, size_t n)
{
	int fd = nsopen_file(dirfd, path, SETTINGS_MAX, NULL), err;
	char value[PATH_MAX], *text;

	if (fd < 0)
		return;
	text = nsopen_slurp(fd, SETTINGS_MAX, NULL, &err);
	nsopen_close(fd);
	for (size_t i = 0; text && i < n; i++)
		if (state_toml(text, keys[i].table, keys[i].key, value, sizeof(value)))
			say(src, value, keys[i].runtime);
	free(text);
}

/* ---- all of them ---- */

void state_settings_file(struct state_dirs *sd, int rootfd, enum state_hint what, const char *path, const char *from, uint32_t trust)
{
	const struct source src = { sd, from ? from : path, trust, NULL };

	if (what == STATE_HINT_JSON)
		read_json(&src, rootfd, path);
	else
		read_toml(&src, rootfd, path, own, ARRAY_SIZE(own));
}

static const char *const storage_conf[] = { "/etc/containers/storage.conf", "/usr/share/containers/storage.conf" };

void state_settings_system(struct state_dirs *sd, int rootfd)
{
	static const char *const json[] = { "/etc/docker/daemon.json", "/var/snap/docker/current/config/daemon.json" };
	static const char *const toml[] = { "/etc/containerd/config.toml", "/etc/crio/crio.conf" };

	for (size_t i = 0; i < ARRAY_SIZE(json); i++)
		state_settings_file(sd, rootfd, STATE_HINT_JSON, json[i], NULL, ROOT_UID);
	for (size_t i = 0; i < ARRAY_SIZE(storage_conf); i++)
		state_settings_file(sd, rootfd, STATE_HINT_TOML, storage_conf[i], NULL, ROOT_UID);
	for (size_t i = 0; i < ARRAY_SIZE(toml); i++)
		state_settings_file(sd, rootfd, STATE_HINT_TOML, toml[i], NULL, ROOT_UID);
}

void state_settings_user(struct state_dirs *sd, int rootfd, const struct state_user *u)
{
	const int home = nsopen_dir(rootfd, u->home, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(storage_conf); i++) {
		const struct source src = { sd, storage_conf[i], u->uid, u };

		read_toml(&src, rootfd, storage_conf[i], for_users, ARRAY_SIZE(for_users));
	}
	if (home < 0)
		return;
	read_toml(&(struct source){ sd, "~/.config/containers/storage.conf", u->uid, u }, home, ".config/containers/storage.conf", own,
		  ARRAY_SIZE(own));
	read_json(&(struct source){ sd, "~/.config/docker/daemon.json", u->uid, u }, home, ".config/docker/daemon.json");
	nsopen_close(home);
}
