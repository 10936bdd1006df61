#include "output/states_text.h"

#include <inttypes.h>

#include "base/strbuf.h"
#include "base/util.h"
#include "replay/collect.h"

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

void states_text_identity(const struct collect_states *st, struct strbuf *out)
{
	strbuf_addf(out, "%" PRIu64 " thread%s: %.6f s = %.6f s on a CPU + %.6f s off it", st->threads, plural(st->threads),
		    seconds(st->wall_ns), seconds(st->on_ns), seconds(st->off_ns));
	if (st->gap_ns)
		strbuf_addf(out, " + %.6f s unknown, because switches are missing", seconds(st->gap_ns));
}

void states_text_sums(const struct collect_states *st, struct strbuf *out)
{
	static const char *const names[STATES] = {
		[STATE_RUNNING] = "running", [STATE_RUNNABLE] = "runnable", [STATE_BLOCKED] = "blocked",
		[STATE_THROTTLED] = "throttled",
	};
	const char *sep = "";

	for (int i = 0; i < STATES; i++) {
		if (!st->ns[i] && i != STATE_BLOCKED && i != STATE_RUNNABLE)
			continue;
		strbuf_addf(out, "%s%s %.6f s", sep, names[i], seconds(st->ns[i]));
		sep = ", ";
	}
	if (st->unsampled_ns)
		strbuf_addf(out, "; %.6f s off the CPU without a stack", seconds(st->unsampled_ns));
	if (st->parked_ns)
		strbuf_addf(out, "; %.6f s in [parked]", seconds(st->parked_ns));
	if (st->kernel_threads)
		strbuf_addf(out, "; without %" PRIu64 " kernel thread%s", st->kernel_threads, plural(st->kernel_threads));
}

const char *states_text_queue(const struct collect_states *st)
{
	if (st->by_wakeups)
		return "runnable: preempted, and from each recorded wake-up until the thread ran";
	if (st->by_kernel)
		return "runnable: preempted, and each thread's time in run queues by the kernel's account, in equal parts for all its wake-ups";
	return "runnable: preempted only; a woken thread that waits for a CPU counts as blocked, as wake-ups are not recorded";
}
