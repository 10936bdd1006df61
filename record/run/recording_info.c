#include "run/recording_info.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/strbuf.h"
#include "recording/rec_events.h"

static void number(struct rec_writer *w, const char *key, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	rec_writer_info(w, key, text);
}

void recording_info_clamped(struct rec_writer *w, uint64_t hz)
{
	number(w, "frequency_lowest", hz);
}

/* Shows the symbolizer whether its /proc and clocks are those of the recording. */
static void boot_id(struct rec_writer *w)
{
	char text[64] = "";
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[strcspn(text, "\n")] = '\0';
	if (n > 0)
		rec_writer_info(w, "boot_id", text);
}

static void host(struct rec_writer *w)
{
	struct utsname un;

	boot_id(w);
	if (uname(&un))
		return;
	rec_writer_info(w, "hostname", un.nodename);
	rec_writer_info(w, "kernel", un.release);
	rec_writer_info(w, "arch", un.machine);
}

/* What only recordings of more than one plain event have. */
static void several(struct rec_writer *w, const struct record_opts *o, const struct events *ev)
{
	static const char *const names[] = {
		[PAYLOADS_NONE] = "none", [PAYLOADS_NUMBERS] = "numbers", [PAYLOADS_ALL] = "all",
	};

	rec_writer_info(w, "fields", names[o->payloads]);
	if (events_split(ev))
		number(w, "extra_ring_bytes", ev->extra_bytes);
	if (events_budget(ev) != EVENT_BUDGET_NONE)
		number(w, "event_budget", events_budget(ev));
	if (events_waits(ev) != SIZE_MAX) {
		number(w, "switch_ring_bytes", ev->switch_bytes);
		if (ev->nwakeups)
			number(w, "wakeup_ring_bytes", ev->wakeup_bytes);
		number(w, "off_cpu_thresh_ns", o->off_cpu_thresh_ns);
	}
}

static void left_out(struct rec_writer *w, const struct events *ev)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < ev->nleft; i++)
		strbuf_addf(&text, "%s%s", i ? "\n" : "", ev->left[i].why);
	if (ev->nleft)
		rec_writer_info(w, "left_out", text.s);
	strbuf_fini(&text);
}

void recording_info_write(struct rec_writer *w, const struct record_opts *o, const struct events *ev)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct target *t = ev->target;
	struct strbuf text = STRBUF_INIT;

	rec_writer_info(w, "version", NSPROF_VERSION);
	rec_writer_info(w, "cmdline", o->cmdline);
	rec_writer_info(w, "event", events_first(ev)->name);
	rec_writer_info(w, "event_modifier", evsel_modifier(events_first(ev)));
	if (ev->v[0].period)
		number(w, "period", ev->v[0].period);
	else
		number(w, "frequency", ev->v[0].freq);
	if (ev->lowest)
		recording_info_clamped(w, ev->lowest);
	rec_writer_info(w, "call_graph", rec_events_callgraph(ev->v[0].stacks.callgraph));
	number(w, "dump_size", ev->v[0].stacks.dump_size);
	if (ev->v[0].stacks.max_stack)
		number(w, "max_stack", ev->v[0].stacks.max_stack);
	rec_writer_info(w, "stacks", o->full_stacks ? "full" : "masked");
	target_describe(t, &text);
	rec_writer_info(w, "target", text.s);
	strbuf_reset(&text);
	for (size_t i = 0; i < t->cgroups.n; i++)
		strbuf_addf(&text, "%s%s", i ? "," : "", t->cgroups.v[i].path);
	if (t->cgroups.n)
		rec_writer_info(w, "cgroups", text.s);
	strbuf_fini(&text);
	host(w);
	number(w, "ncpus", t->ncpus);
	number(w, "page_size", page);
	number(w, "memory_kb", (uint64_t)sysconf(_SC_PHYS_PAGES) * page / 1024);
	rec_writer_info(w, "clock", "monotonic");
	number(w, "ring_bytes", ev->data_bytes);
	number(w, "ring_ms", events_ring_ms(ev));
	number(w, "sideband_ring_bytes", ev->nsides ? ev->side_bytes : 0);
	if (events_have_ids(ev))
		several(w, o, ev);
	left_out(w, ev);
	number(w, "user", getuid());
}

void recording_info_started(struct rec_writer *w, uint64_t ns)
{
	number(w, "startup_us", ns / 1000);
}
