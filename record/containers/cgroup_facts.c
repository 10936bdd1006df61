#include "containers/cgroup_facts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "containers/cgroup_units.h"
#include "containers/container_lookup.h"
#include "host/cgroup_path.h"
#include "host/clock.h"
#include "host/nsopen.h"
#include "host/procfs.h"

#define FILE_MAX_SIZE 65536
/* Time for reading per drain; the rings buffer fifty times as much. */
#define ROUND_NS 5000000ull
/* Processes may end all the time. This interval between readings is enough for a cgroup. */
#define EXIT_PAUSE_NS 20000000ull
/* Cgroups that cgroup_facts_watch() looks at: this many, and one in WATCHED_SHARE as time allows. */
#define WATCHED_AT_ONCE 4
#define WATCHED_SHARE 16
#define WATCH_NS 2000000ull
/* Answers that do not know the container of a removed cgroup. Its state may be gone with it. */
#define GONE_ANSWERS 3
/* Cgroups known to be new. Further ones count from their first reading on. */
#define BORN_MAX 65536
/* Cgroups above a sampled one that are watched for a limit. */
#define LEVELS_MAX 32

/*
 * A runtime writes its state for a new cgroup before it executes the container's program. So the
 * state is read at each exec and at growing intervals, but for at most 1/ASK_SHARE of the time.
 */
#define ASK_TRIES 10
#define ASK_PAUSE_NS 5000000ull
#define ASK_SHARE 20
/*
 * Extra CPU time for each such cgroup, spent when something is executed in it, which is the right
 * moment. Reading may take long, with many states or on a busy machine. The share alone would then
 * come too late for a short-lived container. The runtime itself executes two or three times.
 */
#define ASK_CREDIT_NS 200000000ull

struct cgroup_facts {
	const struct cgroup_fs *fs;
	const struct cgroup_list *chosen;
	struct container_lookup *lk;		/* owned */
	struct cgroup_units units;
	struct u64map sampled;	/* set of the hashes of target cgroups' paths, of all segments */
	struct cgroup_unit **soon;		/* owned; to be read again */
	size_t nsoon, soon_cap;
	size_t next;			/* index for cgroup_facts_watch() */
	uint32_t watches;		/* calls of it */
	uint64_t spent;			/* ns since the round began */
	bool asking, ask_last;		/* a request is pending; it is the last one */
	bool again;			/* something was executed meanwhile: ask again */
	unsigned int tries;		/* timed requests left for units with @begun */
	uint64_t ask_next, ask_pause;	/* ns */
	uint64_t asked_until;		/* ns: no requests before this time, except with credit */
};

struct cgroup_facts *cgroup_facts_new(const struct cgroup_fs *fs, const struct cgroup_list *chosen, struct containers *cs,
				      const char *roots, struct rec_writer *w)
{
	struct cgroup_facts *cf = xcalloc(1, sizeof(*cf));

	cf->fs = fs;
	cf->chosen = chosen;
	cf->lk = container_lookup_new(fs, cs, roots);
	cgroup_units_init(&cf->units, fs, w);
	return cf;
}

void cgroup_facts_free(struct cgroup_facts *cf)
{
	if (!cf)
		return;
	cgroup_units_fini(&cf->units);
	free(cf->soon);
	u64map_fini(&cf->sampled);
	container_lookup_free(cf->lk);
	free(cf);
}

struct container_lookup *cgroup_facts_lookup(const struct cgroup_facts *cf)
{
	return cf->lk;
}

const struct cgroup_cpu *cgroup_facts_cpu(const struct cgroup_facts *cf)
{
	return &cf->units.cpu;
}

/* ---- reading and writing ---- */

static void look_soon(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	if (u->soon || u->ev.gone)
		return;
	u->soon = true;
	XGROW(cf->soon, cf->nsoon, cf->soon_cap);
	cf->soon[cf->nsoon++] = u;
}

/* ---- cgroups with samples ---- */

/* The id of cgroup @own; @id is that of @path. */
static uint64_t node_of(const struct cgroup_facts *cf, const char *own, uint64_t id, const char *path)
{
	struct stat st;

	if (id && !strcmp(own, path))
		return id;
	return fstatat(cf->fs->fd, own + 1, &st, 0) ? 0 : st.st_ino;
}

static void warn_unnamed(const struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (cs)
		containers_warn(cs);
}

/* A sampled cgroup may have been found to be another one than it says. */
static void warn_claims(const struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (cs)
		containers_warn_claims(cs);
}

static struct cgroup_unit *add(struct cgroup_facts *cf, const char *own, const struct container *ctr, uint64_t node)
{
	const struct cgroup *sel = cgroup_list_find(cf->chosen, own);
	struct cgroup_unit *u = cgroup_units_add(&cf->units, own, ctr, node);

	u->chosen = sel && !strcmp(sel->path, own);
	return u;
}

static bool is_born(const struct cgroup_facts *cf, uint64_t node)
{
	return u64map_get(&cf->units.born, node);
}

/* @u is written from now on. */
static void show(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	u->unwritten = false;
	/* The runtime may write the name of a container that has just begun a moment later. */
	if (u->unnamed && !is_born(cf, u->ev.node))
		warn_unnamed(cf);
}

/* The unit of cgroup @own with id @node (0 = unknown); NULL = none yet. */
static struct cgroup_unit *find(struct cgroup_facts *cf, const char *own, uint64_t node)
{
	struct cgroup_unit *u = cgroup_units_find(&cf->units, own, strlen(own));

	if (!u || !node || u->ev.node == node)
		return u;
	/* Another cgroup has its path. The counters of the old one stay as last read. */
	u->ev.gone = true;
	if (u->segment == cf->units.segment && !u->unwritten)
		cgroup_units_put(&cf->units, u, false);
	u->segment = 0;
	return NULL;
}

/* @u is met for the first time in this segment, by @pid. With @now it is read at once. */
static void meet(struct cgroup_facts *cf, struct cgroup_unit *u, uint32_t pid, bool now)
{
	u->segment = cf->units.segment;
	cgroup_cpu_find(&cf->units.cpu, u->ev.cgroup, pid, &u->at);
	if (now) {
		cgroup_units_look_first(&cf->units, u);
	} else {
		u->late = true;
		look_soon(cf, u);
	}
}

/* Cgroup @own, never the root, with id @node has its first sample in this segment, by @pid. */
static void met_own(struct cgroup_facts *cf, const char *own, uint64_t node, const struct container *ctr,
		    uint32_t pid)
{
	const bool born = is_born(cf, node);
	struct cgroup_unit *u = find(cf, own, node);
	bool named = false;

	/* So far it was only known as one that others are in. */
	if (u && ctr && !u->ev.id[0]) {
		cgroup_unit_name(u, ctr);
		named = true;
	}
	if (u && u->segment == cf->units.segment) {
		const bool hidden = u->unwritten;

		if (hidden)
			show(cf, u);
		if (hidden || named)
			cgroup_units_put(&cf->units, u, hidden && born);
		return;
	}
	if (!u)
		show(cf, u = add(cf, own, ctr, node));
	u->unwritten = false;
	u->ev.gone = !node;
	meet(cf, u, pid, cf->spent < ROUND_NS || born);
	cgroup_units_put(&cf->units, u, born);
}

/* The cgroup that @pid is in now; "" if unknown. */
static void path_of(uint32_t pid, char *path, size_t size)
{
	int fd = nsopen_procfile(pid, "cgroup"), err;
	char *text;

	path[0] = '\0';
	if (fd < 0)
		return;
	text = nsopen_slurp(fd, FILE_MAX_SIZE, NULL, &err);
	close(fd);
	if (!text || !procfs_cgroup_path(text, "perf_event", path, size))
		path[0] = '\0';
	free(text);
}

static void ask_later(struct cgroup_facts *cf, const char *path, enum container_lookup_state state)
{
	struct cgroup_unit *u = cgroup_units_find(&cf->units, path, strlen(path));

	u->begun = true;
	/*
	 * The pending answer includes it. Otherwise, ask again as soon as the thread has time: it
	 * may have been known for long.
	 */
	u->asked = state == CONTAINER_LOOKUP_UNDER_WAY;
	if (u->asked) {
		cf->asking = true;
		cf->ask_last = false;
	}
	cf->again |= state == CONTAINER_LOOKUP_BUSY;
	u->credit = ASK_CREDIT_NS;
	cf->tries = ASK_TRIES;
	cf->ask_pause = ASK_PAUSE_NS;
	cf->ask_next = clock_mono_ns() + ASK_PAUSE_NS;
}

static void met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid)
{
	bool born = u64map_get(&cf->units.born, id);
	const struct cgroup *sel = cgroup_list_find(cf->chosen, path);
	enum container_lookup_state state;
	const struct container *ctr = container_lookup_of(cf->lk, path, born, &state);

	warn_claims(cf);
	if (sel)
		u64map_put(&cf->sampled, hash_bytes(sel->path, strlen(sel->path)), NULL);
	if (ctr) {
		met_own(cf, ctr->cgroup, node_of(cf, ctr->cgroup, id, path), ctr, pid);
		return;
	}
	/* A limit may be set on the target cgroup, above the sampled one. */
	if (sel && strcmp(sel->path, path) && strcmp(sel->path, "/"))
		met_own(cf, sel->path, sel->id, NULL, pid);
	met_own(cf, path, node_of(cf, path, id, path), NULL, pid);
	/* It was created within the recording, or between the snapshot and the recording. */
	if (born || state != CONTAINER_LOOKUP_ANSWERED || !containers_walked(container_lookup_known(cf->lk), path))
		ask_later(cf, path, state);
}

/*
 * The limit that holds a thread back may be that of any cgroup it is in: of a pod, of a slice, or of
 * one that a container has made. It may be set at any time. So all of them are watched, and those
 * that have a limit are recorded, too.
 */
static void met_above(struct cgroup_facts *cf, const char *path, uint32_t pid)
{
	const uint64_t begun = clock_mono_ns();
	struct containers *cs = container_lookup_known(cf->lk);
	char own[PATH_MAX];
	size_t levels = 0;

	for (size_t len = strlen(path); len && levels < LEVELS_MAX; len--) {
		struct cgroup_unit *u;
		uint64_t node;

		if (path[len] && path[len] != '/')
			continue;
		levels++;
		snprintf(own, sizeof(own), "%.*s", (int)len, path);
		node = node_of(cf, own, 0, "");
		if (!node)
			continue;
		u = find(cf, own, node);
		/* Then those above it have been met as well. */
		if (u && u->walked == cf->units.segment)
			return;
		if (!u) {
			const struct container *ctr = cs ? containers_known(cs, own) : NULL;

			u = add(cf, own, ctr && !strcmp(ctr->cgroup, own) ? ctr : NULL, node);
		}
		u->walked = cf->units.segment;
		if (u->segment == cf->units.segment)
			continue;
		u->unwritten = true;
		meet(cf, u, pid, cf->spent + clock_mono_ns() - begun < ROUND_NS);
		if (u->unwritten)
			continue;
		show(cf, u);
		cgroup_units_put(&cf->units, u, is_born(cf, node));
	}
}

void cgroup_facts_met(struct cgroup_facts *cf, uint64_t id, const char *path, uint32_t pid)
{
	const uint64_t begun = clock_mono_ns();
	char buf[PATH_MAX];

	pid = pid == UINT32_MAX ? 0 : pid;
	if (!path[0] && pid) {
		path_of(pid, buf, sizeof(buf));
		path = buf;
	}
	/* The root belongs to no container and has no limit. */
	if (path[0] != '/' || !path[1])
		return;
	met(cf, id, path, pid);
	met_above(cf, path, pid);
	cf->spent += clock_mono_ns() - begun;
}

bool cgroup_facts_had_samples(const struct cgroup_facts *cf, const char *path)
{
	return u64map_get(&cf->sampled, hash_bytes(path, strlen(path)));
}

const char *cgroup_facts_name(const struct cgroup_facts *cf, const char *path)
{
	const struct cgroup_unit *u = cgroup_units_find(&cf->units, path, strlen(path));

	return !u ? "" : u->ev.name[0] ? u->ev.name : u->ev.id;
}

struct facts_used cgroup_facts_used(const struct cgroup_facts *cf)
{
	return cgroup_units_used(&cf->units);
}

void cgroup_facts_born(struct cgroup_facts *cf, uint64_t id)
{
	if (cf->units.born.n < BORN_MAX)
		u64map_put(&cf->units.born, id, NULL);
}

void cgroup_facts_exit(struct cgroup_facts *cf, const char *path)
{
	size_t len = strlen(path);

	for (const size_t all = len; len; len--) {
		struct cgroup_unit *u = len == all || path[len] == '/' ? cgroup_units_find(&cf->units, path, len) : NULL;

		/* Those without a limit have time: they are shared by many, or go with their last child. */
		if (u && u->segment == cf->units.segment && !u->unwritten)
			look_soon(cf, u);
	}
}

/* ---- later ---- */

/* Returns true if @u should be put. */
static bool look_again(struct cgroup_facts *cf, struct cgroup_unit *u)
{
	const bool late = u->late, hidden = u->unwritten;
	bool changed = false;

	u->late = false;
	if (late)
		cgroup_units_look_first(&cf->units, u);
	else
		changed = cgroup_units_look(&cf->units, u);
	if (hidden && !u->unwritten)
		show(cf, u);
	return changed || (late && !u->unwritten);
}

/* Readers of the recording give the name to earlier samples, too (sample_cgroups.h). */
static void known_now(struct cgroup_facts *cf, struct cgroup_unit *u, const struct container *ctr)
{
	u->begun = false;
	if (strcmp(ctr->cgroup, u->ev.cgroup)) {
		met_own(cf, ctr->cgroup, node_of(cf, ctr->cgroup, 0, ""), ctr, 0);
		return;
	}
	cgroup_unit_name(u, ctr);
	look_again(cf, u);
	cgroup_units_put(&cf->units, u, false);
}

/* If the answer has come, applies it to the units it was requested for. */
static void take_answer(struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (!cs)
		return;
	cf->asking = false;
	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];
		const struct container *ctr;

		if (!u->asked || !u->begun || u->segment != cf->units.segment)
			continue;
		u->asked = false;
		ctr = containers_of(cs, u->ev.cgroup);
		u->begun = !cf->ask_last && (!u->ev.gone || ++u->gone_answers < GONE_ANSWERS);
		if (ctr)
			known_now(cf, u, ctr);
	}
	cf->asked_until = clock_mono_ns() + (ASK_SHARE - 1) * container_lookup_took(cf->lk);
}

/* @last: there will be no further requests. */
static void ask(struct cgroup_facts *cf, bool last)
{
	const char **paths = xcalloc(cf->units.n + 1, sizeof(*paths));
	size_t n = 0;

	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];

		u->asked = u->begun && u->segment == cf->units.segment;
		if (u->asked)
			paths[n++] = u->ev.cgroup;
	}
	cf->asking = true;
	cf->ask_last = last;
	if (container_lookup_ask(cf->lk, CONTAINER_LOOKUP_BEGUN, paths, n))
		take_answer(cf);
	free(paths);
}

static void ask_again(struct cgroup_facts *cf)
{
	const uint64_t now = clock_mono_ns();

	if (cf->asking)
		take_answer(cf);
	/* The thread may be working for another caller. */
	if (cf->asking || !cf->tries || !container_lookup_known(cf->lk))
		return;
	if (cf->again) {
		cf->again = false;
		ask(cf, false);
		return;
	}
	if (now < MAX(cf->ask_next, cf->asked_until))
		return;
	cf->tries--;
	ask(cf, !cf->tries);
	cf->ask_next = now + cf->ask_pause;
	cf->ask_pause *= 2;
}

/* The unit of @pid's cgroup if its container is unknown and it has credit left; otherwise NULL. */
static struct cgroup_unit *with_credit(const struct cgroup_facts *cf, uint32_t pid)
{
	char path[PATH_MAX];
	struct cgroup_unit *u;
	bool any = false;

	for (size_t i = 0; i < cf->units.n && !any; i++)
		any = cf->units.v[i]->begun && cf->units.v[i]->credit && cf->units.v[i]->segment == cf->units.segment;
	if (!any)
		return NULL;
	path_of(pid, path, sizeof(path));
	u = cgroup_units_find(&cf->units, path, strlen(path));
	return u && u->begun && u->credit && u->segment == cf->units.segment ? u : NULL;
}

void cgroup_facts_exec(struct cgroup_facts *cf, uint32_t pid)
{
	uint64_t before;
	struct cgroup_unit *u;

	if (!cf->tries)
		return;
	/* A running request may have read the state before the runtime wrote it. */
	if (cf->asking || !container_lookup_known(cf->lk)) {
		cf->again |= with_credit(cf, pid) != NULL;
		return;
	}
	if (clock_mono_ns() >= cf->asked_until) {
		ask(cf, false);
		return;
	}
	u = with_credit(cf, pid);
	if (!u)
		return;
	before = container_lookup_cpu(cf->lk);
	ask(cf, false);
	/* A request without an answer yet is charged to those after it. */
	u->credit -= MIN(u->credit, cf->asking ? CONTAINER_LOOKUP_SLICE_NS : container_lookup_cpu(cf->lk) - before);
}

void cgroup_facts_round(struct cgroup_facts *cf)
{
	const uint64_t begun = clock_mono_ns(), until = begun + ROUND_NS;
	size_t kept = 0;

	cf->spent = 0;
	container_lookup_round(cf->lk);
	ask_again(cf);
	for (size_t i = 0; i < cf->nsoon; i++) {
		struct cgroup_unit *u = cf->soon[i];

		if ((u->read_at && begun - u->read_at < EXIT_PAUSE_NS) || clock_mono_ns() >= until) {
			cf->soon[kept++] = u;
			continue;
		}
		u->soon = false;
		if (look_again(cf, u))
			cgroup_units_put(&cf->units, u, false);
	}
	cf->nsoon = kept;
}

/* Is @u the container of a cgroup whose container is still unknown? */
static bool is_awaited(const struct cgroup_facts *cf, const struct cgroup_unit *u)
{
	const size_t len = strlen(u->ev.cgroup);

	for (size_t i = 0; i < cf->units.n; i++) {
		const struct cgroup_unit *in = cf->units.v[i];

		if (in->begun && !strncmp(in->ev.cgroup, u->ev.cgroup, len) && in->ev.cgroup[len] == '/')
			return true;
	}
	return false;
}

/*
 * Can unit @u, which is gone, be dropped? All its samples have been drained since the call before
 * has met it.
 */
static bool is_over(const struct cgroup_facts *cf, struct cgroup_unit *u)
{
	if (!u->over)
		u->over = cf->watches;
	return u->over != cf->watches && !u->soon && !u->begun && !u->asked && !is_awaited(cf, u);
}

static void drop(struct cgroup_facts *cf, size_t at)
{
	const struct cgroup_unit *u = cf->units.v[at];

	if (u->unnamed && !u->unwritten)
		warn_unnamed(cf);
	cgroup_units_drop(&cf->units, at);
}

void cgroup_facts_watch(struct cgroup_facts *cf)
{
	const size_t looks = MIN(cf->units.n, WATCHED_AT_ONCE + cf->units.n / WATCHED_SHARE);
	const uint64_t until = clock_mono_ns() + WATCH_NS;

	cf->watches++;
	for (size_t i = 0; i < looks && (i < WATCHED_AT_ONCE || clock_mono_ns() < until); i++) {
		const size_t at = cf->next++ % cf->units.n;
		struct cgroup_unit *u = cf->units.v[at];

		if (u->ev.gone && is_over(cf, u))
			drop(cf, at);
		else if (u->segment == cf->units.segment && !u->ev.gone && look_again(cf, u))
			cgroup_units_put(&cf->units, u, false);
		if (!cf->units.n)
			break;
	}
}

/*
 * A container's name applies to all its samples, however late it is found. So ask once more for
 * those without one.
 */
static void ask_at_last(struct cgroup_facts *cf)
{
	bool any = false;

	for (size_t i = 0; i < cf->units.n && !any; i++)
		any = cf->units.v[i]->begun && cf->units.v[i]->segment == cf->units.segment;
	if (!any)
		return;
	container_lookup_last(cf->lk);
	ask(cf, true);
}

/* The last look in this segment at units that are @unwritten, or at the others. */
static void look_last(struct cgroup_facts *cf, bool unwritten, bool last, uint64_t until)
{
	for (size_t i = 0; i < cf->units.n; i++) {
		struct cgroup_unit *u = cf->units.v[i];

		if (u->segment != cf->units.segment || u->unwritten != unwritten)
			continue;
		if (clock_mono_ns() < until)
			look_again(cf, u);
		if (u->unwritten)
			continue;
		if (u->read_at)
			cgroup_units_put(&cf->units, u, false);
		if (last && u->unnamed)
			warn_unnamed(cf);
	}
}

void cgroup_facts_cut(struct cgroup_facts *cf, bool last)
{
	const uint64_t until = last ? UINT64_MAX : clock_mono_ns() + ROUND_NS;

	if (last)
		ask_at_last(cf);
	look_last(cf, false, last, until);
	look_last(cf, true, last, until);
	cgroup_units_cut(&cf->units);
	cf->nsoon = cf->next = 0;
}
