/* Looks up names in parallel (name_prefetch.h). */
#include "naming/name_prefetch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpus.h"
#include "base/hash.h"
#include "base/longname.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "debuginfo/inlines.h"
#include "elf/elf_file.h"
#include "modules/module.h"
#include "modules/module_symbols.h"
#include "support/interrupt.h"
#include "support/location.h"
#include "symbols/demangle.h"

#define THREADS_MAX	ELF_HANDLES_MAX
#define PART_MIN	16	/* addresses per thread that are worth it */
#define NAMES_MIN	128	/* the same for names to demangle */
#define SYMBOLS_MIN	16384	/* addresses that are worth threads if only symbols are needed */
#define INLINES_MAX	128	/* as in naming */
#define TICK_NS		100000000
/*
 * Bytes of demangled texts beyond LONGNAME_BRIEF, of all names. What comes later is demangled when it
 * is needed, and the limits of name_accounts.h apply.
 */
#define LONG_TEXTS_MAX	((size_t)16 << 20)

struct ask {
	struct module *mod;
	struct svma at;
	uint32_t loc;		/* index of the location */
	uint32_t group;		/* binaries, in the order they appear */
};

enum job_kind {
	JOB_OPEN,		/* first job of a binary: reads symbols and splits the rest */
	JOB_LOOK_UP,
	JOB_DEMANGLE,
};

/* A run of addresses of one binary, or of its names, for one thread. */
struct job {
	enum job_kind kind;
	size_t first, end;	/* in asks, or in @names */
	struct prefetch_name *names;	/* borrowed from a list */
};

/* The names of one binary's symbols, unique. */
struct list {
	struct prefetch_name *names;	/* owned; stays where it is */
	size_t n;
};

struct ahead {
	const struct prefetch_opts *opts;
	unsigned int threads;
	struct ask *asks;	/* by binary; JOB_OPEN sorts those of a binary by address */
	size_t nasks;
	struct prefetch_symbol *syms;	/* by location */
	uint8_t *done;		/* by location */
	atomic_size_t ndone;
	atomic_size_t long_texts;	/* bytes; LONG_TEXTS_MAX */
	pthread_mutex_t lock;	/* protects the members below */
	pthread_cond_t change;
	struct job *jobs;	/* a stack */
	size_t njobs, jobs_cap;
	struct list *lists;
	size_t nlists, lists_cap;
	unsigned int busy;	/* threads with a job in progress, which may add others */
	/* Used only by the calling thread: */
	struct timespec tick;	/* time of the next tick; CLOCK_MONOTONIC */
	unsigned int ticks;
	bool shown;		/* progress was printed on the terminal */
};

static int by_address(const void *pa, const void *pb)
{
	const struct ask *a = pa, *b = pb;

	return a->at.v < b->at.v ? -1 : a->at.v > b->at.v;
}

/* Groups the addresses by binary, otherwise in their order. */
static void group_asks(struct ahead *ah)
{
	struct u64map groups = U64MAP_INIT;
	struct ask *asks = xcalloc(ah->nasks, sizeof(*asks));
	size_t *at = NULL, n = 0, cap = 0;

	for (size_t i = 0; i < ah->nasks; i++) {
		bool is_new;
		uint64_t *group = u64map_put(&groups, (uintptr_t)ah->asks[i].mod, &is_new);

		if (is_new) {
			*group = n;
			XGROW(at, n, cap);
			at[n++] = 0;
		}
		ah->asks[i].group = (uint32_t)*group;
		at[*group]++;
	}
	/* Turn the size of each group into its position. */
	for (size_t g = 0, sum = 0; g < n; g++) {
		sum += at[g];
		at[g] = sum - at[g];
	}
	for (size_t i = 0; i < ah->nasks; i++)
		asks[at[ah->asks[i].group]++] = ah->asks[i];
	free(ah->asks);
	ah->asks = asks;
	free(at);
	u64map_fini(&groups);
}

static void collect_asks(struct ahead *ah, const struct locations *ls)
{
	size_t cap = 0;

	for (size_t i = 0; i < ls->n; i++) {
		const struct location *loc = &ls->locs[i];
		const struct elf_file *ef;
		struct ask ask = { .mod = loc->mod, .loc = (uint32_t)i };

		if (loc->kind != LOC_FILE)
			continue;
		module_retry(loc->mod);
		ef = loc->mod->elf ? loc->mod->elf : loc->mod->captured;
		if (!ef || !elf_file_off_to_svma(ef, loc->off, &ask.at.v))
			continue;
		XGROW(ah->asks, ah->nasks, cap);
		ah->asks[ah->nasks++] = ask;
	}
	if (ah->nasks)
		group_asks(ah);
}

static void add_job(struct ahead *ah, struct job job)
{
	XGROW(ah->jobs, ah->njobs, ah->jobs_cap);
	ah->jobs[ah->njobs++] = job;
}

static int by_size(const void *pa, const void *pb)
{
	const struct job *a = pa, *b = pb;
	size_t x = a->end - a->first, y = b->end - b->first;

	return x < y ? -1 : x > y;
}

/* One job per binary; those with the most addresses are on top. */
static void first_jobs(struct ahead *ah)
{
	size_t first = 0;

	for (size_t i = 1; i <= ah->nasks; i++) {
		if (i < ah->nasks && ah->asks[i].mod == ah->asks[first].mod)
			continue;
		add_job(ah, (struct job){ JOB_OPEN, first, i, NULL });
		first = i;
	}
	if (ah->njobs > 1)
		qsort(ah->jobs, ah->njobs, sizeof(*ah->jobs), by_size);
}

static void note_done(struct ahead *ah, const struct ask *ask)
{
	ah->done[ask->loc] = 1;
	atomic_fetch_add_explicit(&ah->ndone, 1, memory_order_relaxed);
}

/* Drops the addresses of @job that need no look at debug info. */
static void drop_known(struct ahead *ah, struct job *job)
{
	size_t n = job->first;

	for (size_t i = job->first; i < job->end; i++) {
		if (inlines_known(module_inlines(ah->asks[i].mod), ah->asks[i].at))
			note_done(ah, &ah->asks[i]);
		else
			ah->asks[n++] = ah->asks[i];
	}
	job->end = n;
}

static void demangle_names(struct ahead *ah, struct prefetch_name *names, size_t first, size_t end)
{
	for (size_t i = first; i < end && !interrupt_requested(); i++) {
		size_t len;

		if (atomic_load_explicit(&ah->long_texts, memory_order_relaxed) > LONG_TEXTS_MAX)
			break;
		names[i].plain = demangle(names[i].raw);
		len = strlen(names[i].plain);
		if (len > LONGNAME_BRIEF)
			atomic_fetch_add_explicit(&ah->long_texts, len - LONGNAME_BRIEF, memory_order_relaxed);
	}
}

/*
 * Looks up the symbols of a binary's addresses. Their unique names are shared among all threads for
 * demangling.
 */
static void find_symbols(struct ahead *ah, const struct job *job)
{
	struct list list = { NULL, 0 };
	struct u64map seen = U64MAP_INIT;
	const size_t n = job->end - job->first;
	struct svma *at = xmalloc(n * sizeof(*at));
	size_t cap = 0, part;

	for (size_t i = 0; i < n; i++)
		at[i] = ah->asks[job->first + i].at;
	module_symbols_expect(ah->asks[job->first].mod, at, n);
	free(at);
	for (size_t i = job->first; i < job->end; i++) {
		const struct ask *ask = &ah->asks[i];
		struct prefetch_symbol *s = &ah->syms[ask->loc];
		bool is_new;

		s->asked = true;
		s->found = !module_symbol(ask->mod, ask->at, &s->sym);
		if (!s->found || !ah->opts->demangle)
			continue;
		u64map_put(&seen, (uintptr_t)s->sym.name, &is_new);
		if (!is_new)
			continue;
		XGROW(list.names, list.n, cap);
		list.names[list.n++] = (struct prefetch_name){ s->sym.name, NULL };
	}
	u64map_fini(&seen);
	if (!list.n)
		return;
	part = MAX(list.n / ah->threads + 1, NAMES_MIN);
	pthread_mutex_lock(&ah->lock);
	XGROW(ah->lists, ah->nlists, ah->lists_cap);
	ah->lists[ah->nlists++] = list;
	for (size_t first = part; first < list.n; first += part)
		add_job(ah, (struct job){ JOB_DEMANGLE, first, MIN(first + part, list.n), list.names });
	pthread_cond_broadcast(&ah->change);
	pthread_mutex_unlock(&ah->lock);
	demangle_names(ah, list.names, 0, MIN(part, list.n));
}

/*
 * Looks up symbols and prepares the debug info, if there is any. All parts but the first become new
 * jobs; @job keeps the addresses that are left to look up.
 */
static void open_binary(struct ahead *ah, struct job *job)
{
	struct svma starts[THREADS_MAX];
	size_t n, want, parts;

	find_symbols(ah, job);
	/* For most binaries, that is all. */
	if ((!ah->opts->inlines && !ah->opts->lines) || inlines_none(module_inlines(ah->asks[job->first].mod))) {
		for (; job->first < job->end && !interrupt_requested(); job->first++)
			note_done(ah, &ah->asks[job->first]);
		return;
	}
	qsort(ah->asks + job->first, job->end - job->first, sizeof(*ah->asks), by_address);
	/* Lines are not cached. */
	if (!ah->opts->lines)
		drop_known(ah, job);
	n = job->end - job->first;
	want = MIN(n / PART_MIN, ah->threads);
	if (want < 2)
		return;
	for (size_t i = 0; i < want; i++)
		starts[i] = ah->asks[job->first + n * i / want].at;
	parts = inlines_split(module_inlines(ah->asks[job->first].mod), starts, (unsigned int)want, ah->opts->lines);
	/* Split by address, as the index does: equal addresses belong to one part. */
	for (size_t i = parts; i-- > 1;) {
		size_t first = job->first + n * i / want;

		while (first > job->first && ah->asks[first - 1].at.v >= starts[i].v)
			first--;
		pthread_mutex_lock(&ah->lock);
		add_job(ah, (struct job){ JOB_LOOK_UP, first, job->end, NULL });
		job->end = first;
		pthread_cond_broadcast(&ah->change);
		pthread_mutex_unlock(&ah->lock);
	}
}

/* Sets the next tick. */
static void wind_up(struct ahead *ah)
{
	clock_gettime(CLOCK_MONOTONIC, &ah->tick);
	ah->tick.tv_nsec += TICK_NS;
	if (ah->tick.tv_nsec >= 1000000000) {
		ah->tick.tv_nsec -= 1000000000;
		ah->tick.tv_sec++;
	}
}

static void on_tick(struct ahead *ah)
{
	wind_up(ah);
	if (++ah->ticks < 10 || !ah->opts->progress)
		return;
	ah->shown = true;
	fprintf(stderr, "\rnames of %zu of %zu address%s ", atomic_load(&ah->ndone), ah->nasks, plural_of(ah->nasks, "", "es"));
}

static bool tick_is_due(const struct ahead *ah)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec != ah->tick.tv_sec ? now.tv_sec > ah->tick.tv_sec : now.tv_nsec >= ah->tick.tv_nsec;
}

/* @first: in the calling thread. */
static void do_job(struct ahead *ah, struct job job, bool first)
{
	struct source_line lines[INLINES_MAX + 1];
	const char *names[INLINES_MAX];

	if (job.kind == JOB_DEMANGLE) {
		demangle_names(ah, job.names, job.first, job.end);
		return;
	}
	if (job.kind == JOB_OPEN)
		open_binary(ah, &job);
	for (size_t i = job.first; i < job.end && !interrupt_requested(); i++) {
		const struct ask *ask = &ah->asks[i];

		if (ah->opts->inlines)
			inlines_lookup(module_inlines(ask->mod), ask->at, names, INLINES_MAX);
		if (ah->opts->lines)
			inlines_lines(module_inlines(ask->mod), ask->at, lines, ah->opts->inlines ? INLINES_MAX + 1 : 1);
		note_done(ah, ask);
		if (first && tick_is_due(ah))
			on_tick(ah);
	}
}

/* Waits until something changes. Called with @ah->lock held. */
static void wait_change(struct ahead *ah, bool first)
{
	if (!first) {
		pthread_cond_wait(&ah->change, &ah->lock);
	} else if (pthread_cond_timedwait(&ah->change, &ah->lock, &ah->tick)) {
		on_tick(ah);
		/* An interrupt does not wake up threads that wait for another one's jobs. */
		pthread_cond_broadcast(&ah->change);
	}
}

/* Works until all jobs are done. */
static void work(struct ahead *ah, bool first)
{
	pthread_mutex_lock(&ah->lock);
	for (;;) {
		struct job job;

		while (!ah->njobs && ah->busy && !interrupt_requested())
			wait_change(ah, first);
		if (!ah->njobs || interrupt_requested())
			break;
		job = ah->jobs[--ah->njobs];
		ah->busy++;
		pthread_mutex_unlock(&ah->lock);
		do_job(ah, job, first);
		pthread_mutex_lock(&ah->lock);
		ah->busy--;
		pthread_cond_broadcast(&ah->change);
	}
	pthread_mutex_unlock(&ah->lock);
}

static void *worker(void *ah)
{
	work(ah, false);
	return NULL;
}

/*
 * The calling thread works as well. If it only waited, it would still look busy to the kernel when
 * the others start. The kernel would then mostly put two of them on one CPU and leave another CPU
 * idle for milliseconds.
 */
static void run(struct ahead *ah)
{
	pthread_t tid[THREADS_MAX];
	pthread_condattr_t attr;
	unsigned int n = 0;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&ah->change, &attr);
	pthread_condattr_destroy(&attr);
	pthread_mutex_init(&ah->lock, NULL);
	wind_up(ah);
	while (n + 1 < ah->threads && !pthread_create(&tid[n], NULL, worker, ah))
		n++;
	work(ah, true);
	while (n)
		pthread_join(tid[--n], NULL);
	if (ah->shown)
		fprintf(stderr, "\r%*s\r", 50, "");
	pthread_mutex_destroy(&ah->lock);
	pthread_cond_destroy(&ah->change);
}

/* Joins all lists. */
static void give_names(const struct ahead *ah, struct prefetch_found *found)
{
	size_t n = 0;

	for (size_t i = 0; i < ah->nlists; i++)
		n += ah->lists[i].n;
	found->names = xcalloc(n ? n : 1, sizeof(*found->names));
	for (size_t i = 0; i < ah->nlists; i++) {
		memcpy(&found->names[found->nnames], ah->lists[i].names, ah->lists[i].n * sizeof(*found->names));
		found->nnames += ah->lists[i].n;
		free(ah->lists[i].names);
	}
}

void prefetch_lookup(const struct locations *ls, const struct prefetch_opts *opts, struct prefetch_found *found)
{
	struct ahead ah = { .opts = opts };

	*found = (struct prefetch_found){ .syms = xcalloc(ls->n ? ls->n : 1, sizeof(*found->syms)) };
	collect_asks(&ah, ls);
	if (ah.nasks) {
		ah.threads = opts->threads ? opts->threads : cpus_usable();
		ah.threads = MIN(ah.threads, (unsigned int)THREADS_MAX);
		if (!opts->threads && !opts->inlines && !opts->lines && ah.nasks < SYMBOLS_MIN)
			ah.threads = 1;
		ah.done = xcalloc(ls->n, 1);
		ah.syms = found->syms;
		first_jobs(&ah);
		run(&ah);
	}
	give_names(&ah, found);
	if (ah.ndone < ah.nasks)
		found->done = ah.done;
	else
		free(ah.done);
	free(ah.lists);
	free(ah.jobs);
	free(ah.asks);
}

void prefetch_found_fini(struct prefetch_found *found)
{
	for (size_t i = 0; i < found->nnames; i++)
		free(found->names[i].plain);
	free(found->names);
	free(found->syms);
	free(found->done);
	*found = (struct prefetch_found){ 0 };
}
