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
/* Cgroups that cgroup_facts_watch() looks at: this many, and one in WATCHED_SHARE. */
#define WATCHED_AT_ONCE 4
#define WATCHED_SHARE 16
/* Answers that do not know the container of a removed cgroup. Its state may be gone with it. */
#define GONE_ANSWERS 3
/* Cgroups known to be new. Further ones count from their first reading on. */
#define BORN_MAX 65536
/* Cgroups that were looked at for a limit. Beyond that they are looked at again. */
#define PASSED_MAX 65536
/* Cgroups above a sampled one whose limit is looked for. */
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

/* A cgroup that samples came from in this segment or the one before. */
struct unit {
	struct ev_container ev;		/* strings owned */
	struct cgroup_cpu_at at;
	struct cpu_reading r;
	uint64_t read_at;		/* ns; 0 = never */
	/* CPU time at the first reading; 0 if the cgroup was created within the recording */
	uint64_t first_us;
	bool unnamed;			/* the name of its container was not found */
	bool chosen;			/* is a cgroup of the target, not only in one */
	uint32_t segment;		/* in which it was last written */
	bool soon;			/* in cgroup_facts.soon */
	bool late;			/* its first counters are still to be written */
	/*
	 * its container is unknown (so far): it was created within the recording, or no answer came
	 * in time
	 */
	bool begun;
	bool asked;			/* the pending request includes it */
	bool over;			/* cgroup_facts_watch() has met it when it was gone */
	uint8_t gone_answers;		/* answers without its container since it is gone */
	uint64_t credit;	/* ns of CPU time that extra requests for it may still use */
};

struct cgroup_facts {
	const struct cgroup_fs *fs;
	const struct cgroup_list *chosen;
	struct container_lookup *lk;		/* owned */
	struct rec_writer *w;
	struct cgroup_cpu cpu;
	struct unit **unit;		/* owned */
	size_t n, cap;
	struct u64map by_path;		/* hash of the path -> index of the latest unit */
	struct u64map born;		/* set of ids created in this segment */
	struct u64map passed;		/* set of the hashes of paths whose limit was looked for in this segment */
	struct u64map sampled;	/* set of the hashes of target cgroups' paths, of all segments */
	struct unit **soon;		/* owned; to be read again */
	size_t nsoon, soon_cap;
	size_t next;			/* index for cgroup_facts_watch() */
	uint32_t segment;		/* from 1 */
	struct facts_used past;		/* sum of the units that were dropped */
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
	cf->w = w;
	cf->segment = 1;
	cgroup_cpu_open(&cf->cpu, fs);
	return cf;
}

static void free_strings(const struct ev_container *ev)
{
	const char *const strings[] = { ev->cgroup, ev->runtime, ev->id, ev->name, ev->image,
					ev->pod, ev->pod_ns, ev->pod_uid };

	for (size_t i = 0; i < ARRAY_SIZE(strings); i++)
		free((char *)strings[i]);
}

static void unit_free(struct unit *u)
{
	free_strings(&u->ev);
	cgroup_cpu_at_fini(&u->at);
	free(u);
}

void cgroup_facts_free(struct cgroup_facts *cf)
{
	if (!cf)
		return;
	for (size_t i = 0; i < cf->n; i++)
		unit_free(cf->unit[i]);
	free(cf->unit);
	free(cf->soon);
	u64map_fini(&cf->by_path);
	u64map_fini(&cf->born);
	u64map_fini(&cf->passed);
	u64map_fini(&cf->sampled);
	cgroup_cpu_close(&cf->cpu);
	container_lookup_free(cf->lk);
	free(cf);
}

struct container_lookup *cgroup_facts_lookup(const struct cgroup_facts *cf)
{
	return cf->lk;
}

const struct cgroup_cpu *cgroup_facts_cpu(const struct cgroup_facts *cf)
{
	return &cf->cpu;
}

static struct unit *find(const struct cgroup_facts *cf, const char *path, size_t len)
{
	const uint64_t *slot = u64map_get(&cf->by_path, hash_bytes(path, len));
	struct unit *u = slot ? cf->unit[*slot] : NULL;

	return u && !strncmp(u->ev.cgroup, path, len) && !u->ev.cgroup[len] ? u : NULL;
}

/* ---- reading and writing ---- */

static void look(struct cgroup_facts *cf, struct unit *u, bool limit)
{
	const bool first = !u->r.have_usage;

	u->read_at = clock_mono_ns();
	if (!u->ev.gone && cgroup_cpu_read(&cf->cpu, &u->at, limit, &u->r))
		u->ev.gone = true;
	if (first && !u64map_get(&cf->born, u->ev.node))
		u->first_us = u->r.usage_us;
}

/*
 * The limit may have changed meanwhile. If there was none, new periods show one: without a limit
 * there are no periods (kernel/sched/fair.c).
 */
static void look_last(struct cgroup_facts *cf, struct unit *u)
{
	const uint64_t periods = u->r.nr_periods;
	const bool limited = u->r.quota_us;

	look(cf, u, limited);
	if (!limited && u->r.nr_periods != periods)
		look(cf, u, true);
}

/* The next write reports an error of the writer, too. */
static void put(struct cgroup_facts *cf, struct unit *u, bool from_zero)
{
	struct ev_container ev = u->ev;

	ev.time = u->read_at ? u->read_at : clock_mono_ns();
	ev.have_usage = u->r.have_usage;
	ev.have_throttling = u->r.have_throttling;
	ev.quota_us = u->r.quota_us;
	ev.period_us = u->r.period_us;
	if (!from_zero) {
		ev.usage_us = u->r.usage_us;
		ev.nr_periods = u->r.nr_periods;
		ev.nr_throttled = u->r.nr_throttled;
		ev.throttled_us = u->r.throttled_us;
	}
	rec_writer_container(cf->w, &ev);
}

static void look_soon(struct cgroup_facts *cf, struct unit *u)
{
	if (u->soon || u->ev.gone)
		return;
	u->soon = true;
	XGROW(cf->soon, cf->nsoon, cf->soon_cap);
	cf->soon[cf->nsoon++] = u;
}

/* ---- cgroups with samples ---- */

/* @ctr: NULL = not a container. */
static void describe(struct ev_container *ev, const char *own, const struct container *ctr)
{
	struct strbuf name = STRBUF_INIT;

	if (ctr && ctr->together[0])
		pr_warn("the containers %s share the cgroup '%s': its samples may be of any of them and are reported under all their names; "
			"give each container its own cgroup to tell them apart",
			ctr->together, own);
	ev->cgroup = xstrdup(own);
	ev->runtime = xstrdup(ctr ? ctr->runtime : "");
	ev->id = xstrdup(ctr ? ctr->id : "");
	if (ctr && !ctr->together[0])
		strbuf_addf(&name, "%s%s", ctr->name, ctr->apart);
	ev->name = xstrdup(!ctr ? "" : ctr->together[0] ? ctr->together : name.s);
	strbuf_fini(&name);
	ev->image = xstrdup(ctr ? ctr->image : "");
	ev->pod = xstrdup(ctr ? ctr->pod : "");
	ev->pod_ns = xstrdup(ctr ? ctr->pod_ns : "");
	ev->pod_uid = xstrdup(ctr ? ctr->pod_uid : "");
}

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

static void add_used(struct facts_used *used, const struct unit *u)
{
	if (!u->chosen || !u->r.have_usage)
		return;
	used->us += u->r.usage_us - u->first_us;
	used->until = MAX(used->until, u->read_at);
}

/*
 * Unit @i is gone, and no sample of it is in the rings any more. It is written for the last time.
 * What is kept of the past must not grow with the number of cgroups.
 */
static void drop(struct cgroup_facts *cf, size_t i)
{
	struct unit *u = cf->unit[i], *moved = cf->unit[cf->n - 1];
	const uint64_t hash = hash_bytes(u->ev.cgroup, strlen(u->ev.cgroup));
	uint64_t *slot = u64map_get(&cf->by_path, hash);

	if (u->segment == cf->segment && u->read_at)
		put(cf, u, false);
	if (u->unnamed)
		warn_unnamed(cf);
	add_used(&cf->past, u);
	/* Another cgroup may have its path by now. */
	if (slot && *slot == i) {
		u64map_del(&cf->by_path, hash);
		u64map_del(&cf->passed, hash);
	}
	u64map_del(&cf->born, u->ev.node);
	unit_free(u);
	cf->unit[i] = moved;
	if (--cf->n == i)
		return;
	slot = u64map_get(&cf->by_path, hash_bytes(moved->ev.cgroup, strlen(moved->ev.cgroup)));
	if (slot && *slot == cf->n)
		*slot = i;
}

static struct unit *add(struct cgroup_facts *cf, const char *own, const struct container *ctr, uint64_t node)
{
	const struct cgroup *sel = cgroup_list_find(cf->chosen, own);
	struct unit *u = xcalloc(1, sizeof(*u));

	describe(&u->ev, own, ctr);
	/* The runtime may write the name of a container that has just begun a moment later. */
	u->unnamed = ctr && ctr->unnamed;
	if (u->unnamed && !u64map_get(&cf->born, node))
		warn_unnamed(cf);
	u->ev.node = node;
	u->chosen = sel && !strcmp(sel->path, own);
	XGROW(cf->unit, cf->n, cf->cap);
	*u64map_put(&cf->by_path, hash_bytes(own, strlen(own)), NULL) = cf->n;
	cf->unit[cf->n++] = u;
	return u;
}

static void give_name(struct unit *u, const struct container *ctr)
{
	const struct ev_container old = u->ev;

	describe(&u->ev, ctr->cgroup, ctr);
	u->unnamed = ctr->unnamed;
	free_strings(&old);
}

/* Cgroup @own, never the root, with id @node has its first sample in this segment, by @pid. */
static void met_own(struct cgroup_facts *cf, const char *own, uint64_t node, const struct container *ctr,
		    uint32_t pid)
{
	struct unit *u = find(cf, own, strlen(own));
	bool born = u64map_get(&cf->born, node), named = false;

	if (u && node && u->ev.node != node) {
		/* Another cgroup has its path. The counters of the old one stay as last read. */
		u->ev.gone = true;
		if (u->segment == cf->segment)
			put(cf, u, false);
		u->segment = 0;
		u = NULL;
	}
	/* So far it was only known as one that others are in. */
	if (u && ctr && !u->ev.id[0]) {
		give_name(u, ctr);
		named = true;
	}
	if (u && u->segment == cf->segment) {
		if (named)
			put(cf, u, false);
		return;
	}
	if (!u)
		u = add(cf, own, ctr, node);
	u->segment = cf->segment;
	u->ev.gone = !node;
	cgroup_cpu_find(&cf->cpu, own, pid, &u->at);
	if (cf->spent < ROUND_NS || born) {
		look(cf, u, true);
	} else {
		u->late = true;
		look_soon(cf, u);
	}
	put(cf, u, born);
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
	struct unit *u = find(cf, path, strlen(path));

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
	bool born = u64map_get(&cf->born, id);
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

/* Does cgroup @own have a limit, or did it have one? */
static bool has_limit(const struct cgroup_facts *cf, const char *own, uint32_t pid)
{
	struct cgroup_cpu_at at = { 0 };
	struct cpu_reading r = { 0 };

	cgroup_cpu_find(&cf->cpu, own, pid, &at);
	cgroup_cpu_read(&cf->cpu, &at, true, &r);
	cgroup_cpu_at_fini(&at);
	return r.quota_us || r.nr_periods;
}

/*
 * The limit that holds a thread back may be that of any cgroup it is in: of a pod, of a slice, or of
 * one that a container has made. Those that have a limit are recorded, too. Without time to look,
 * all are.
 */
static void met_limits(struct cgroup_facts *cf, const char *path, uint32_t pid)
{
	const uint64_t begun = clock_mono_ns();
	struct containers *cs = container_lookup_known(cf->lk);
	char own[PATH_MAX];
	size_t levels = 0;
	bool is_new;

	for (size_t len = strlen(path); len && levels < LEVELS_MAX; len--) {
		const struct container *ctr;
		const struct unit *u;

		if (path[len] && path[len] != '/')
			continue;
		levels++;
		if (cf->passed.n >= PASSED_MAX)
			u64map_clear(&cf->passed);
		u64map_put(&cf->passed, hash_bytes(path, len), &is_new);
		/* Then those above it have been looked at as well. */
		if (!is_new)
			return;
		u = find(cf, path, len);
		snprintf(own, sizeof(own), "%.*s", (int)len, path);
		if ((u && u->segment == cf->segment) ||
		    (cf->spent + clock_mono_ns() - begun < ROUND_NS && !has_limit(cf, own, pid)))
			continue;
		ctr = cs ? containers_known(cs, own) : NULL;
		met_own(cf, own, node_of(cf, own, 0, ""), ctr && !strcmp(ctr->cgroup, own) ? ctr : NULL, pid);
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
	met_limits(cf, path, pid);
	cf->spent += clock_mono_ns() - begun;
}

bool cgroup_facts_had_samples(const struct cgroup_facts *cf, const char *path)
{
	return u64map_get(&cf->sampled, hash_bytes(path, strlen(path)));
}

const char *cgroup_facts_name(const struct cgroup_facts *cf, const char *path)
{
	const struct unit *u = find(cf, path, strlen(path));

	return !u ? "" : u->ev.name[0] ? u->ev.name : u->ev.id;
}

struct facts_used cgroup_facts_used(const struct cgroup_facts *cf)
{
	struct facts_used used = cf->past;

	for (size_t i = 0; i < cf->n; i++)
		add_used(&used, cf->unit[i]);
	return used;
}

void cgroup_facts_born(struct cgroup_facts *cf, uint64_t id)
{
	if (cf->born.n < BORN_MAX)
		u64map_put(&cf->born, id, NULL);
}

void cgroup_facts_exit(struct cgroup_facts *cf, const char *path)
{
	size_t len = strlen(path);

	for (const size_t all = len; len; len--) {
		struct unit *u = len == all || path[len] == '/' ? find(cf, path, len) : NULL;

		if (u && u->segment == cf->segment)
			look_soon(cf, u);
	}
}

/* ---- later ---- */

static void look_again(struct cgroup_facts *cf, struct unit *u)
{
	look(cf, u, u->late);
	if (u->late)
		put(cf, u, false);
	u->late = false;
}

/* Readers of the recording give the name to earlier samples, too (sample_cgroups.h). */
static void known_now(struct cgroup_facts *cf, struct unit *u, const struct container *ctr)
{
	u->begun = false;
	if (strcmp(ctr->cgroup, u->ev.cgroup)) {
		met_own(cf, ctr->cgroup, node_of(cf, ctr->cgroup, 0, ""), ctr, 0);
		return;
	}
	give_name(u, ctr);
	look(cf, u, true);
	put(cf, u, false);
}

/* If the answer has come, applies it to the units it was requested for. */
static void take_answer(struct cgroup_facts *cf)
{
	struct containers *cs = container_lookup_known(cf->lk);

	if (!cs)
		return;
	cf->asking = false;
	for (size_t i = 0; i < cf->n; i++) {
		struct unit *u = cf->unit[i];
		const struct container *ctr;

		if (!u->asked || !u->begun || u->segment != cf->segment)
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
	const char **paths = xcalloc(cf->n + 1, sizeof(*paths));
	size_t n = 0;

	for (size_t i = 0; i < cf->n; i++) {
		struct unit *u = cf->unit[i];

		u->asked = u->begun && u->segment == cf->segment;
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
static struct unit *with_credit(const struct cgroup_facts *cf, uint32_t pid)
{
	char path[PATH_MAX];
	struct unit *u;
	bool any = false;

	for (size_t i = 0; i < cf->n && !any; i++)
		any = cf->unit[i]->begun && cf->unit[i]->credit && cf->unit[i]->segment == cf->segment;
	if (!any)
		return NULL;
	path_of(pid, path, sizeof(path));
	u = find(cf, path, strlen(path));
	return u && u->begun && u->credit && u->segment == cf->segment ? u : NULL;
}

void cgroup_facts_exec(struct cgroup_facts *cf, uint32_t pid)
{
	uint64_t before;
	struct unit *u;

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
		struct unit *u = cf->soon[i];

		if ((u->read_at && begun - u->read_at < EXIT_PAUSE_NS) || clock_mono_ns() >= until) {
			cf->soon[kept++] = u;
			continue;
		}
		u->soon = false;
		look_again(cf, u);
	}
	cf->nsoon = kept;
}

/* Is @u the container of a cgroup whose container is still unknown? */
static bool is_awaited(const struct cgroup_facts *cf, const struct unit *u)
{
	const size_t len = strlen(u->ev.cgroup);

	for (size_t i = 0; i < cf->n; i++) {
		const struct unit *in = cf->unit[i];

		if (in->begun && !strncmp(in->ev.cgroup, u->ev.cgroup, len) && in->ev.cgroup[len] == '/')
			return true;
	}
	return false;
}

/*
 * Can unit @u, which is gone, be dropped? All its samples have been drained since the call before
 * has met it.
 */
static bool is_over(const struct cgroup_facts *cf, struct unit *u)
{
	const bool met = u->over;

	u->over = true;
	return met && !u->soon && !u->begun && !u->asked && !is_awaited(cf, u);
}

void cgroup_facts_watch(struct cgroup_facts *cf)
{
	const size_t looks = MIN(cf->n, WATCHED_AT_ONCE + cf->n / WATCHED_SHARE);

	for (size_t i = 0; i < looks; i++) {
		const size_t at = cf->next++ % cf->n;
		struct unit *u = cf->unit[at];

		if (u->ev.gone && is_over(cf, u))
			drop(cf, at);
		else if (u->segment == cf->segment && !u->ev.gone)
			look_again(cf, u);
		if (!cf->n)
			break;
	}
}

/*
 * Drops units that are gone or had no sample in the ending segment. They are added again if they
 * return.
 */
static void forget(struct cgroup_facts *cf)
{
	size_t kept = 0;

	u64map_clear(&cf->by_path);
	u64map_clear(&cf->born);
	u64map_clear(&cf->passed);
	for (size_t i = 0; i < cf->n; i++) {
		struct unit *u = cf->unit[i];

		if (u->segment != cf->segment || u->ev.gone) {
			add_used(&cf->past, u);
			unit_free(u);
			continue;
		}
		u->soon = u->late = false;
		*u64map_put(&cf->by_path, hash_bytes(u->ev.cgroup, strlen(u->ev.cgroup)), NULL) = kept;
		cf->unit[kept++] = u;
	}
	cf->n = kept;
	cf->nsoon = cf->next = 0;
}

/*
 * A container's name applies to all its samples, however late it is found. So ask once more for
 * those without one.
 */
static void ask_at_last(struct cgroup_facts *cf)
{
	bool any = false;

	for (size_t i = 0; i < cf->n && !any; i++)
		any = cf->unit[i]->begun && cf->unit[i]->segment == cf->segment;
	if (!any)
		return;
	container_lookup_last(cf->lk);
	ask(cf, true);
}

void cgroup_facts_cut(struct cgroup_facts *cf, bool last)
{
	const uint64_t until = last ? UINT64_MAX : clock_mono_ns() + ROUND_NS;

	if (last)
		ask_at_last(cf);
	for (size_t i = 0; i < cf->n; i++) {
		struct unit *u = cf->unit[i];

		if (u->segment != cf->segment)
			continue;
		if (clock_mono_ns() < until)
			look_last(cf, u);
		if (u->read_at)
			put(cf, u, false);
		if (last && u->unnamed)
			warn_unnamed(cf);
	}
	forget(cf);
	cf->segment++;
}
