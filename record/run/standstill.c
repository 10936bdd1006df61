#include "run/standstill.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"

#define NS_PER_MS 1000000ull
/* A shorter delay is that of a busy machine, where the usual advice helps. */
#define LIMIT_NS (1000 * NS_PER_MS)
/* A LOST record reports its loss with the next sample of the ring. */
#define SETTLE_NS (1000 * NS_PER_MS)

/*
 * ns that this thread could have run but did not: the second number of schedstat
 * (Documentation/scheduler/sched-stats.rst).
 */
static uint64_t waited_for_cpu(void)
{
	int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	char text[128];
	uint64_t ran, waited = 0;
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2 ? waited : 0;
}

void standstill_init(struct standstill *st, uint64_t ring_ms)
{
	*st = (struct standstill){ .limit = MAX(MIN(ring_ms, UINT64_MAX / NS_PER_MS) * NS_PER_MS, LIMIT_NS) };
	if (ring_ms > UINT64_MAX / NS_PER_MS)
		st->limit = LIMIT_NS;
}

void standstill_wait(struct standstill *st, uint64_t now)
{
	st->began_waiting = now;
}

static uint64_t gap_to(const struct standstill *st, uint64_t now)
{
	return st->last && now > st->last ? now - st->last : 0;
}

bool standstill_woke(struct standstill *st, uint64_t now)
{
	st->in_rings = now - st->began_waiting;
	return gap_to(st, now) > st->limit;
}

static enum standstill_why why(const struct standstill *st, uint64_t gap, uint64_t waited)
{
	if (st->continued)
		return STANDSTILL_STOPPED;
	if (waited - st->waited > gap / 2)
		return STANDSTILL_CPU;
	return st->in_rings > gap / 2 ? STANDSTILL_FROZEN : STANDSTILL_FILES;
}

void standstill_drained(struct standstill *st, uint64_t began, uint64_t lost)
{
	const uint64_t gap = gap_to(st, began);
	const uint64_t waited = waited_for_cpu();

	if (gap > st->limit) {
		st->total += gap;
		if (gap > st->longest) {
			st->longest = gap;
			st->why = why(st, gap, waited);
		}
		st->settled = began + SETTLE_NS;
	}
	if (began >= st->settled && lost > st->told)
		st->other += lost - st->told;
	st->told = lost;
	st->continued = false;
	st->waited = waited;
	st->last = began;
}

uint64_t standstill_other(const struct standstill *st, uint64_t lost)
{
	return st->other + (st->last >= st->settled && lost > st->told ? lost - st->told : 0);
}

void standstill_text(const struct standstill *st, char *text)
{
	static const char *const causes[] = {
		[STANDSTILL_NONE] = "",
		[STANDSTILL_STOPPED] = "it was stopped by a signal (SIGSTOP, SIGTSTP)",
		[STANDSTILL_CPU] = "the machine gave it no CPU: use -r PRIORITY",
		[STANDSTILL_FILES] = "a file system did not answer when it looked at a recorded process's files",
		[STANDSTILL_FROZEN] = "it was frozen (a cgroup's freezer, a debugger) or the whole machine stood still",
	};

	snprintf(text, STANDSTILL_TEXT, "for %.1f s: %s", (double)st->total / 1e9, causes[st->why]);
}
