/* Looks for the state of containers, and explains why there is none (containers.h). */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "containers/containers_priv.h"
#include "containers/state_hints.h"
#include "containers/state_settings.h"
#include "host/cgroup_path.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/opener_loss.h"
#include "host/procfs.h"

#define USERS_MAX 4096
#define PASSWD_MAX (64u << 20)
#define MOUNTINFO_MAX (1u << 20)	/* of a container's process */
#define ROOTS_MAX 64	/* containers examined by their own root */
#define LISTED 3	/* containers in one message */
#define HURRIED_NS 50000000ull	/* a fifth of what the rings buffer */
#define WALK_SHARE 20	/* scan processes for 1/20 of the time */

/* Where users' runtimes keep their state: below the home and below the runtime directory. */
static const char *const home_roots[] = {
	".local/share/docker", ".local/share/containers/storage",
};
static const char *const run_roots[] = {
	"runc", "crun", "containers", "docker", "docker/containerd/daemon", "docker/runtime-runc/moby", "containerd",
};

/* ---- directories ---- */

/* As runtimes_scan(). @fresh: as runtimes_scan_new(), only containers not known to run. */
static int scan_fd(struct containers *cs, int fd, const char *only, bool fresh)
{
	struct stat st;
	int err;

	cs->given = cs->trust == ROOT_UID && !fstat(fd, &st) && containers_is_root(cs, st.st_uid);
	err = fresh ? runtimes_scan_new(fd, containers_settled, containers_note, cs) : runtimes_scan(fd, only, containers_note, cs);

	close(fd);
	return err;
}

/* Reads the directories of the list from @from on. A state file in one may append others. */
static void scan_dirs(struct containers *cs, int rootfd, size_t from, const char *only, bool fresh)
{
	for (size_t i = from; i < cs->dirs.n; i++) {
		int fd = state_dir_open(&cs->dirs.v[i], rootfd, &cs->trust), err = fd;

		state_budget_use(state_budgets_of(&cs->budgets, cs->trust));
		if (fd >= 0 && fresh && cs->trust != ROOT_UID) {
			close(fd);
		} else {
			err = fd < 0 ? fd : scan_fd(cs, fd, only, fresh);
			cs->dirs.v[i].err = err;
		}
		state_budget_use(NULL);
		cs->trust = ROOT_UID;
	}
}

/* The same below directory @top of the host. */
static void scan_below(struct containers *cs, int rootfd, const char *top, const char *const *roots, size_t n,
		       const char *only)
{
	int fd = nsopen_dir(rootfd, top, NULL), err = fd;

	for (size_t i = 0; fd >= 0 && i < n; i++) {
		int dir = nsopen_dir(fd, roots[i], NULL), ret = dir < 0 ? dir : scan_fd(cs, dir, only, false);

		err = ret < 0 && ret != -ENOENT && ret != -ENOTDIR ? ret : err;
	}
	if (fd >= 0)
		close(fd);
	if (err >= 0 || err == -ENOENT || err == -ENOTDIR || only)
		return;
	state_dirs_add(&cs->homes, top, "", "", cs->trust);
	for (size_t i = 0; i < cs->homes.n; i++)
		if (!strcmp(cs->homes.v[i].path, top))
			cs->homes.v[i].err = err;
}

/* The state of users' own runtimes. It is trusted only about the user's own processes. */
static void scan_user(struct containers *cs, int rootfd, const struct passwd *pw, const char *only)
{
	char run[64];

	cs->trust = pw->pw_uid;
	opener_for(hash_u64(pw->pw_uid), "", 0);
	state_budget_use(state_budgets_of(&cs->budgets, pw->pw_uid));
	scan_below(cs, rootfd, pw->pw_dir, home_roots, ARRAY_SIZE(home_roots), only);
	snprintf(run, sizeof(run), "/run/user/%" PRIu32, (uint32_t)pw->pw_uid);
	scan_below(cs, rootfd, run, run_roots, ARRAY_SIZE(run_roots), only);
	cs->trust = ROOT_UID;
	if (!only)
		state_settings_user(&cs->dirs, rootfd, &(struct state_user){ pw->pw_uid, pw->pw_name, pw->pw_dir });
	opener_for(0, "", 0);
	state_budget_use(NULL);
}

static void scan_users(struct containers *cs, int rootfd, const char *only)
{
	int held = nsopen_file(rootfd, "/etc/passwd", 0, NULL), fd = held < 0 ? held : nsopen_copy(held, PASSWD_MAX);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct passwd *pw;

	/* Not getpwent(3): it may ask the network, and it reads our own root only. */
	for (int i = 0; f && i < USERS_MAX && (pw = fgetpwent(f)); i++)
		if (pw->pw_uid != ROOT_UID && pw->pw_dir[0] == '/' && pw->pw_dir[1])
			scan_user(cs, rootfd, pw, only);
	if (f)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	if (held >= 0)
		nsopen_close(held);
}

/*
 * Reads all of them through the host's root, which may not be ours. @fresh: only the system's, not
 * users'.
 */
static void scan_states(struct containers *cs, int rootfd, const char *only, bool fresh)
{
	const size_t n = cs->dirs.n;

	scan_dirs(cs, rootfd, 0, only, fresh);
	if (fresh)
		return;
	scan_users(cs, rootfd, only);
	scan_dirs(cs, rootfd, n, only, false);
}

/* ---- containers without a name ---- */

bool containers_unnamed(const struct container *c)
{
	static const char *const naming[] = { "docker", "podman", "cri-o" };
	bool has = !c->stated || c->pod_uid[0];

	for (size_t i = 0; i < ARRAY_SIZE(naming); i++)
		has |= !strcmp(c->runtime, naming[i]);
	return c->cgroup[0] && has && !c->told && !c->name[0] && !c->sandbox;
}

static bool is_inside(void *ctx, const char *cgroup)
{
	struct cgroup_path p;

	return containers_parse(ctx, cgroup, &p);
}

struct own_root {
	struct containers *cs;
	const char *runtime;
};

static void note_own_root(void *ctx, const struct proc_mount *m)
{
	struct own_root *o = ctx;
	char dir[PATH_MAX];

	if (state_hint_overlay(m, dir, sizeof(dir)))
		state_dirs_add(&o->cs->dirs, dir, "its root file system", o->runtime, ROOT_UID);
}

/*
 * A process that can mount anything inside a container may have created a user namespace for that.
 * Trust its mounts only if it is in the host's.
 */
static bool in_hosts_user_ns(uint32_t pid)
{
	int procfd = nsopen_process(pid);
	uint64_t ns = procfd < 0 ? 0 : state_host_ns("user", procfd), host = state_host_ns("user", -1);

	if (procfd >= 0)
		close(procfd);
	return ns && ns == host;
}

static void look_at_mounts(struct own_root *o, uint32_t pid)
{
	int fd = in_hosts_user_ns(pid) ? nsopen_procfile(pid, "mountinfo") : -1, err;
	char *text;

	if (fd < 0)
		return;
	text = nsopen_slurp(fd, MOUNTINFO_MAX, NULL, &err);
	close(fd);
	if (text)
		procfs_mountinfo(text, note_own_root, o);
	free(text);
}

/*
 * The root file system of @c, as its processes see it, tells where docker or podman keeps it. Some
 * of these processes may be the runtime's and have another root.
 */
static void look_at_root(struct containers *cs, const struct container *c)
{
	struct own_root o = { cs, !strcmp(c->runtime, "docker") ? "docker" : !strcmp(c->runtime, "podman") ? "podman" : "" };
	const size_t had = cs->dirs.n;
	struct container_members m;

	containers_members(cs, c->cgroup, &m);
	for (size_t i = 0; i < m.n && cs->dirs.n == had; i++)
		look_at_mounts(&o, m.pids[i]);
}

/*
 * Searches further places if a container from @from on has no name. First come the directories that
 * the runtimes' processes name, for all containers. This examines each process, so it is limited to
 * a share of the time. Then comes each unnamed container's own root. @only as for runtimes_scan().
 */
static void look_further(struct containers *cs, int rootfd, size_t from, const char *only)
{
	const uint64_t begun = clock_mono_ns();
	size_t n = cs->dirs.n;
	bool any = false;

	for (size_t i = from; i < cs->n && !any; i++)
		any = containers_unnamed(&cs->all[i]);
	if (!any)
		return;
	state_dirs_add_mounts(&cs->dirs);
	if (begun >= cs->walk_next) {
		state_dirs_add_processes(&cs->dirs, rootfd, cs->hurried ? HURRIED_NS : 0, is_inside, cs);
		cs->walk_next = clock_mono_ns() + WALK_SHARE * (clock_mono_ns() - begun);
	}
	scan_dirs(cs, rootfd, n, only, false);
	for (size_t i = from, tries = 0; i < cs->n && tries < ROOTS_MAX; i++) {
		if (!containers_unnamed(&cs->all[i]) || (only && strcmp(cs->all[i].id, only)))
			continue;
		tries++;
		n = cs->dirs.n;
		look_at_root(cs, &cs->all[i]);
		scan_dirs(cs, rootfd, n, only, false);
	}
}

void containers_look(struct containers *cs, size_t from, const char *only)
{
	int rootfd = nsopen_host_root();

	if (rootfd < 0)
		return;
	state_budgets_reset(&cs->budgets);
	if (!only)
		state_dirs_find(&cs->dirs, rootfd, cs->roots);
	scan_states(cs, rootfd, only, false);
	containers_settle(cs, from);
	look_further(cs, rootfd, from, only);
	containers_settle(cs, from);
	close(rootfd);
}

void containers_look_new(struct containers *cs)
{
	int rootfd = nsopen_host_root();

	if (rootfd < 0)
		return;
	scan_states(cs, rootfd, NULL, true);
	containers_settle(cs, cs->sorted);
	close(rootfd);
}

/* Could @d hold the state of a container without a name? */
static bool concerns(void *ctx, const struct state_dir *d)
{
	const struct containers *cs = ctx;

	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];

		if (!c->unnamed || (d->trust != ROOT_UID && !containers_is_users(cs, c->cgroup, d->trust)))
			continue;
		if (!d->runtime[0] || !c->runtime[0] || !strcmp(d->runtime, c->runtime) ||
		    (!strcmp(c->runtime, "cri-o") && !strcmp(d->runtime, "podman")))
			return true;
	}
	return false;
}

void containers_why(const struct containers *cs, struct strbuf *sb)
{
	struct strbuf who = STRBUF_INIT;
	size_t n = 0;

	for (size_t i = 0; i < cs->n; i++) {
		const struct container *c = &cs->all[i];

		if (!c->unnamed || n++ >= LISTED)
			continue;
		strbuf_addf(&who, "%s%s%s%.12s", n > 1 ? ", " : "", c->runtime, c->runtime[0] ? " " : "", c->id);
	}
	if (n > LISTED)
		strbuf_addf(&who, " and %zu more", n - LISTED);
	if (n) {
		strbuf_addf(sb, "no name for %s: ", who.s);
		state_dirs_why(&cs->dirs, concerns, (void *)cs, sb);
		if (cs->homes.n) {
			struct strbuf homes = STRBUF_INIT;

			state_dirs_why(&cs->homes, concerns, (void *)cs, &homes);
			if (strstr(homes.s, "cannot read"))
				strbuf_addf(sb, "; %s", homes.s);
			strbuf_fini(&homes);
		}
	}
	strbuf_fini(&who);
}

void containers_over_budget(const struct containers *cs, struct strbuf *sb)
{
	state_budgets_text(&cs->budgets, sb);
}

static bool is_unreadable(void *ctx, const struct state_dir *d)
{
	(void)ctx;
	return d->err && d->err != -ENOENT && d->err != -ENOTDIR && d->trust == ROOT_UID;
}

void containers_unreadable(const struct containers *cs, struct strbuf *sb)
{
	for (size_t i = 0; i < cs->dirs.n; i++) {
		if (!is_unreadable(NULL, &cs->dirs.v[i]))
			continue;
		state_dirs_why(&cs->dirs, is_unreadable, NULL, sb);
		return;
	}
}

void containers_warn(struct containers *cs)
{
	struct strbuf sb = STRBUF_INIT;

	if (cs->warned)
		return;
	containers_why(cs, &sb);
	if (sb.len) {
		pr_warn("%s; --runtime-root DIR names another directory", sb.s);
		cs->warned = true;
	}
	strbuf_reset(&sb);
	containers_over_budget(cs, &sb);
	if (sb.len) {
		pr_warn("%s", sb.s);
		cs->warned = true;
	}
	strbuf_fini(&sb);
}
