#include "run/watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/numlist.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "events/switch_events.h"
#include "host/clock.h"
#include "procs/proctab.h"
#include "run/recording_info.h"

#define CPU_MAX 65535
#define CGROUPS_AT_ONCE 64
#define RATE_TEXT 96

static bool read_online(const struct watch *h, char *text, size_t size)
{
	ssize_t n = pread(h->fd, text, size - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return n > 0;
}

/*
 * Side-band reports that a cgroup was created. If the target has one with that path, that one must
 * be gone, whether we saw it or not. Nothing is opened before the drain is over.
 */
static void on_cgroup(void *ctx, const char *path)
{
	struct watch *h = ctx;
	const struct target *t = h->ev->target;
	size_t at = cgroup_list_at(&t->cgroups, path);

	h->made |= at < t->cgroups.n && !strcmp(t->cgroups.v[at].path, path);
	late_cgroups_news(&h->pickup);
}

void watch_init(struct watch *h, struct events *ev, struct sink *sink)
{
	memset(h, 0, sizeof(*h));
	h->ev = ev;
	h->sink = sink;
	h->segment = sink->cgroups.segment;
	h->fd = -1;
	late_cgroups_init(&h->pickup, ev, sink->cgroups.facts ? cgroup_facts_lookup(sink->cgroups.facts) : NULL);
	if (target_is_tasks(ev->target))
		return;
	h->fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
	h->away = xcalloc(ev->target->nall, sizeof(*h->away));
	sink_cgroups_on_made(&sink->cgroups, on_cgroup, h);
}

void watch_fini(struct watch *h)
{
	sink_cgroups_on_made(&h->sink->cgroups, NULL, NULL);
	if (h->fd >= 0)
		close(h->fd);
	free(h->away);
}

static bool has(const uint32_t *sorted, size_t n, uint32_t cpu)
{
	for (size_t i = 0; i < n && sorted[i] <= cpu; i++)
		if (sorted[i] == cpu)
			return true;
	return false;
}

/* Writes to the recording. The next write meets the same error. */
static void note(const struct watch *h, enum absence_kind kind, uint32_t cpu, const char *cgroup)
{
	const struct ev_absence ev = {
		.time = clock_mono_ns(), .kind = kind, .cpu = cpu, .cgroup = cgroup,
	};

	rec_writer_absence(h->sink->w, &ev);
}

static void note_away(const struct watch *h, uint32_t c)
{
	struct ev_ledger *l = &h->sink->ledger->l;

	note(h, ABSENCE_CPU, h->ev->target->cpus[c], "");
	l->cpus_away = MAX(l->cpus_away, h->naway);
}

/* In a new segment: a reader that begins there must know which CPUs and cgroups are missing. */
static void note_again(struct watch *h)
{
	const struct target *t = h->ev->target;

	h->segment = h->sink->cgroups.segment;
	for (uint32_t c = 0; h->away && c < t->ncpus; c++)
		if (h->away[c])
			note_away(h, c);
	for (size_t i = 0; i < t->cgroups.n; i++)
		if (t->cgroups.v[i].gone)
			note(h, ABSENCE_CGROUP, 0, t->cgroups.v[i].path);
}

/*
 * Text after "sampled again": the frequency, if the kernel now allows less. Records each new lowest
 * one.
 */
static const char *at_rate(struct watch *h, char *text, size_t size)
{
	*text = '\0';
	if (h->ev->clamped)
		snprintf(text, size, " at %llu Hz, now the limit in kernel.perf_event_max_sample_rate", (unsigned long long)h->ev->clamped);
	if (h->told_lowest != h->ev->lowest)
		recording_info_clamped(h->sink->w, h->ev->lowest);
	h->told_lowest = h->ev->lowest;
	return text;
}

static void come_back(struct watch *h, uint32_t c, bool on, double since)
{
	uint32_t cpu = h->ev->target->cpus[c];
	int err = events_reopen_cpu(h->ev, c, on);
	char rate[RATE_TEXT];

	note(h, err ? ABSENCE_CPU_DEAF : ABSENCE_CPU_BACK, cpu, "");
	if (err)
		pr_warn("CPU %u came back after %.1f s, but cannot be sampled again: %s", cpu, since,
			strerror(-err));
	else
		pr_warn("CPU %u came back after %.1f s and is sampled again%s", cpu, since, at_rate(h, rate, sizeof(rate)));
}

/* Nobody asked for samples of this CPU: only its side-band and wake-ups are opened again. */
static void listen_again(struct watch *h, uint32_t c, bool on)
{
	int err = h->away[c] ? 0 : events_reopen_cpu(h->ev, c, on);

	if (err)
		pr_warn("CPU %u came back, but its records of mappings and programs cannot be read: %s", h->ev->target->cpus[c],
			strerror(-err));
}

static void check_cpus(struct watch *h, bool on, double since)
{
	const struct target *t = h->ev->target;
	char text[sizeof(h->text)];
	uint32_t *online;
	size_t n;

	if (!read_online(h, text, sizeof(text)) || !strcmp(text, h->text) ||
	    numlist_parse(text, true, CPU_MAX, &online, &n))
		return;
	memcpy(h->text, text, sizeof(text));
	for (size_t c = 0; c < t->nall; c++) {
		bool away = !has(online, n, t->cpus[c]);

		if (away == h->away[c])
			continue;
		h->away[c] = away;
		if (c >= t->ncpus) {
			listen_again(h, (uint32_t)c, on);
			continue;
		}
		if (!away) {
			h->naway--;
			come_back(h, (uint32_t)c, on, since);
			continue;
		}
		h->naway++;
		note_away(h, (uint32_t)c);
		pr_warn("CPU %u went offline after %.1f s: it is not sampled while it is away",
			t->cpus[c], since);
	}
	free(online);
}

static void name_cgroup(void *ctx, uint64_t id, const char *path)
{
	const struct watch *h = ctx;

	sink_cgroups_add(&h->sink->cgroups, id, path);
}

/* Side-band reports processes that are born there, but not one that moved in. */
static void read_process(void *ctx, uint32_t pid)
{
	const struct watch *h = ctx;

	proctab_read(h->sink->pt, pid, clock_mono_ns());
}

static void cgroup_came_back(struct watch *h, const struct cgroup *cg, bool on, double since)
{
	int err = events_add_cgroup(h->ev, cg, on);
	char rate[RATE_TEXT];

	note(h, err ? ABSENCE_CGROUP_DEAF : ABSENCE_CGROUP_BACK, 0, cg->path);
	if (err) {
		pr_warn("cgroup '%s' came back, seen after %.1f s, but cannot be sampled: %s", cg->name,
			since, strerror(-err));
		return;
	}
	pr_warn("cgroup '%s' came back after %.1f s and is sampled again%s", cg->name, since, at_rate(h, rate, sizeof(rate)));
	cgroup_walk(cg, name_cgroup, read_process, h);
}

static void check_cgroup(struct watch *h, struct cgroup *cg, bool on, double since)
{
	if (!cg->gone && cgroup_removed(cg)) {
		cg->gone = true;
		h->sink->ledger->l.cgroups_gone++;
		note(h, ABSENCE_CGROUP, 0, cg->path);
		pr_warn("cgroup '%s' was removed, seen after %.1f s: what ran in it until then is recorded",
			cg->name, since);
		events_drop_cgroup(h->ev, cg->id);
		switch_events_drop(h->ev, cg->id);
	}
	if (cg->gone && !cgroup_reopen(cg, &h->ev->target->fs))
		cgroup_came_back(h, cg, on, since);
}

static void check_cgroups(struct watch *h, bool on, double since)
{
	const struct target *t = h->ev->target;

	for (size_t i = 0; i < t->cgroups.n && i < CGROUPS_AT_ONCE; i++) {
		h->next %= t->cgroups.n;
		check_cgroup(h, &t->cgroups.v[h->next++], on, since);
	}
}

void watch_check(struct watch *h, bool on, uint64_t since_ns)
{
	double since = (double)since_ns / 1e9;

	if (h->fd >= 0)
		check_cpus(h, on, since);
	check_cgroups(h, on, since);
}

/* For cgroup_arrived(): where to report it. */
struct arrival {
	struct watch *h;
	double since;
};

static void cgroup_arrived(void *ctx, const struct cgroup *cg, int err)
{
	const struct arrival *a = ctx;
	struct watch *h = a->h;
	char rate[RATE_TEXT];

	note(h, err ? ABSENCE_CGROUP_DEAF : ABSENCE_CGROUP_NEW, 0, cg->path);
	if (err) {
		pr_warn("cgroup '%s' (%s) appeared after %.1f s, but cannot be sampled: %s", cg->path, cg->name,
			a->since, strerror(-err));
		return;
	}
	pr_info("cgroup '%s' (%s) appeared after %.1f s and is sampled from now on%s", cg->path, cg->name, a->since,
		at_rate(h, rate, sizeof(rate)));
	sink_cgroups_filter_again(&h->sink->cgroups);
	cgroup_walk(cg, name_cgroup, read_process, h);
}

void watch_made(struct watch *h, bool on, uint64_t since_ns)
{
	const struct target *t = h->ev->target;
	struct arrival a = { h, (double)since_ns / 1e9 };

	if (h->segment != h->sink->cgroups.segment)
		note_again(h);
	if (h->made) {
		h->made = false;
		for (size_t i = 0; i < t->cgroups.n; i++)
			check_cgroup(h, &t->cgroups.v[i], on, a.since);
	}
	late_cgroups_step(&h->pickup, clock_mono_ns(), on, cgroup_arrived, &a);
}
