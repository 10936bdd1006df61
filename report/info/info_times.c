#include "info/info_times.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/escape.h"
#include "base/intern.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "recording/cpu_times.h"

#define SHOWN 20	/* rows in text; JSON has all */

void info_times_init(struct info_times *it, uint64_t start, struct intern *strings)
{
	static const struct cpu_times_ops none;

	*it = (struct info_times){ .times = cpu_times_new(start, &none, NULL), .strings = strings };
}

void info_times_fini(struct info_times *it)
{
	cpu_times_free(it->times);
	u64map_fini(&it->names);
}

static uint64_t key_of(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid;
}

void info_times_name(struct info_times *it, uint32_t pid, uint32_t tid, const char *comm)
{
	*u64map_put(&it->names, key_of(pid, tid), NULL) = intern_add(it->strings, comm);
}

void info_times_end(struct info_times *it)
{
	cpu_times_end(it->times);
}

/* A thread that has no name of its own has its process's. "" if that is not known either. */
static const char *name_of(const struct info_times *it, const struct cpu_thread *th)
{
	const uint64_t *id = u64map_get(&it->names, key_of(th->pid, th->tid));

	id = id ? id : u64map_get(&it->names, key_of(th->pid, th->pid));
	return id ? intern_str(it->strings, (uint32_t)*id) : "";
}

static uint64_t off(const struct cpu_thread *th)
{
	return cpu_thread_wall(th) - th->ns[CPU_ON] - th->ns[CPU_GAP];
}

static struct cpu_thread sum_of(const struct cpu_thread *th, size_t n)
{
	struct cpu_thread sum = { 0 };

	for (size_t i = 0; i < n; i++) {
		sum.end += cpu_thread_wall(&th[i]);
		for (int s = 0; s < CPU_STATES; s++) {
			sum.ns[s] += th[i].ns[s];
			sum.spells[s] += th[i].spells[s];
		}
		sum.queued_ns += th[i].queued_ns;
	}
	return sum;
}

/* ---- text ---- */

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

static void row_text(const struct cpu_thread *th, const char *name, FILE *to)
{
	struct strbuf sb = STRBUF_INIT;

	escape_name(&sb, *name ? name : "[no_name]");
	fprintf(to, "%12.6f %12.6f %12.6f %12.6f  %s", seconds(cpu_thread_wall(th)), seconds(th->ns[CPU_ON]), seconds(off(th)),
		seconds(th->ns[CPU_GAP]), sb.s ? sb.s : "");
	if (th->tid)
		fprintf(to, "-%" PRIu32 "/%" PRIu32, th->pid, th->tid);
	fputc('\n', to);
	strbuf_fini(&sb);
}

static int by_wall(const void *pa, const void *pb)
{
	const struct cpu_thread *a = *(const struct cpu_thread *const *)pa, *b = *(const struct cpu_thread *const *)pb;

	if (cpu_thread_wall(a) != cpu_thread_wall(b))
		return cpu_thread_wall(a) > cpu_thread_wall(b) ? -1 : 1;
	return a < b ? -1 : a > b;
}

void info_times_text(const struct info_times *it, FILE *to)
{
	const struct cpu_times_doubts doubts = cpu_times_doubts(it->times);
	size_t n;
	const struct cpu_thread *th = cpu_times_threads(it->times, &n), **order;
	const struct cpu_thread sum = sum_of(th, n);

	if (!n)
		return;
	order = xcalloc(n, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		order[i] = &th[i];
	qsort(order, n, sizeof(*order), by_wall);
	fprintf(to, "\ntime of threads in seconds, by their switches: on a CPU + off it + unknown = wall\n"
		"%12s %12s %12s %12s  %s\n", "wall", "on", "off", "unknown", "thread");
	row_text(&sum, "(all)", to);
	for (size_t i = 0; i < n && i < SHOWN; i++)
		row_text(order[i], name_of(it, order[i]), to);
	if (n > SHOWN)
		fprintf(to, "%12s  and %zu more: see --json\n", "", n - SHOWN);
	if (doubts.gaps)
		fprintf(to, "%12s  %" PRIu64 " time%s switches are missing: nothing is known of the time in between\n", "", doubts.gaps,
			plural(doubts.gaps));
	if (doubts.untracked)
		fprintf(to, "%12s  %" PRIu64 " switch%s of more than %u threads left out\n", "", doubts.untracked,
			doubts.untracked == 1 ? "" : "es", CPU_TIMES_MAX);
	free(order);
}

/* ---- JSON ---- */

static void thread_json(const struct info_times *it, const struct cpu_thread *th, struct json *j)
{
	json_begin_object(j, NULL);
	json_u64(j, "pid", th->pid);
	json_u64(j, "tid", th->tid);
	json_name(j, "comm", name_of(it, th));
	json_u64(j, "wall_ns", cpu_thread_wall(th));
	json_u64(j, "on_ns", th->ns[CPU_ON]);
	json_u64(j, "off_ns", off(th));
	json_u64(j, "unknown_ns", th->ns[CPU_GAP]);
	json_u64(j, "blocked_ns", th->ns[CPU_BLOCKED] - th->queued_ns);
	json_u64(j, "preempted_ns", th->ns[CPU_PREEMPTED]);
	json_u64(j, "woken_ns", th->queued_ns);
	json_u64(j, "starting_ns", th->ns[CPU_STARTING]);
	json_u64(j, "before_ns", th->ns[CPU_BEFORE]);
	json_u64(j, "waits", th->spells[CPU_BLOCKED] + th->spells[CPU_PREEMPTED]);
	if (th->have_sched) {
		json_u64(j, "kernel_on_ns", th->sched_run_ns);
		json_u64(j, "kernel_runnable_ns", th->sched_wait_ns);
	}
	json_end_object(j);
}

void info_times_json(const struct info_times *it, struct json *j)
{
	const struct cpu_times_doubts doubts = cpu_times_doubts(it->times);
	size_t n;
	const struct cpu_thread *th = cpu_times_threads(it->times, &n);
	const struct cpu_thread sum = sum_of(th, n);

	if (!n)
		return;
	json_begin_object(j, "cpu_times");
	json_u64(j, "wall_ns", sum.end);
	json_u64(j, "on_ns", sum.ns[CPU_ON]);
	json_u64(j, "off_ns", off(&sum));
	json_u64(j, "unknown_ns", sum.ns[CPU_GAP]);
	json_u64(j, "gaps", doubts.gaps);
	json_begin_array(j, "threads");
	for (size_t i = 0; i < n; i++)
		thread_json(it, &th[i], j);
	json_end_array(j);
	json_end_object(j);
}
