#include "events/wakeup_events.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "events/event_attr.h"
#include "events/refusal.h"
#include "evlist/tracefs.h"
#include "trace/tp_format.h"

#define GROUP "sched"
#define NAME "sched_waking"
#define WHY_MAX 1024

/* The field is the same in all kernels. Its place is not: until 6.5, another one comes before it. */
static int find_field(const struct tracefs *t, struct wakeup_source *src)
{
	struct tp_format format = { 0 };
	struct strbuf text = STRBUF_INIT;
	const struct tp_field *pid = NULL;
	int err = tracefs_format(t, GROUP, NAME, &text);

	if (!err && text.s)
		err = tp_format_parse(&format, text.s, text.len);
	if (!err)
		pid = tp_format_find(&format, "pid", strlen("pid"));
	if (pid && pid->kind == TP_NUMBER && pid->size == sizeof(uint32_t) && !pid->dynamic)
		src->pid_at = pid->offset;
	else if (!err)
		err = -EINVAL;
	tp_format_fini(&format);
	strbuf_fini(&text);
	return err;
}

int wakeup_events_find(struct wakeup_source *src)
{
	char why[WHY_MAX];
	struct tracefs t;
	int err;

	*src = (struct wakeup_source){ 0 };
	err = tracefs_open(&t, NULL, why, sizeof(why));
	if (err) {
		pr_err("--wakeups: it needs tracepoint '" GROUP ":" NAME "', and %s", why);
	} else {
		err = tracefs_id(&t, GROUP, NAME, &src->id);
		if (!err)
			err = find_field(&t, src);
		if (err)
			pr_err("--wakeups: tracepoint '" GROUP ":" NAME "' of this kernel cannot be used: %s; record without --wakeups: "
			       "then the kernel's account tells how long each thread waited for a CPU in all", strerror(-err));
	}
	tracefs_close(&t);
	return err;
}

static struct ring *ring_of(const struct events *ev, uint32_t c)
{
	return &ev->data[EVENT_RINGS * (size_t)ev->target->ncpus + c];
}

static int open_on(struct events *ev, uint32_t c)
{
	const struct event_place at = { -1, (int)ev->target->cpus[c], -1, 0 };
	int fd = event_open(ev, EVENT_WAKEUPS, &at);

	if (fd < 0)
		return fd;
	XGROW(ev->wakeups, ev->nwakeups, ev->cap_wakeups);
	ev->wakeups[ev->nwakeups++] = (struct event_fd){ .fd = fd, .cpu = c };
	return 0;
}

/* They are of the whole machine, whatever the target is. */
static void explain(const struct events *ev, int err, uint32_t c)
{
	const struct target all = { .kind = TARGET_ALL };
	struct strbuf why = STRBUF_INIT, *before;
	struct evsel sel;

	evsel_init(&sel, GROUP ":" NAME, PERF_TYPE_TRACEPOINT, ev->wakeup_source.id);
	sel.tracepoint = true;
	before = log_divert(&why);
	refusal_explain(err, &sel, &all, -1, ev->target->cpus[c], ev->nwakeups + ev->target->nall);
	log_divert(before);
	pr_err("--wakeups: %.*s", why.s ? (int)strcspn(why.s, "\n") : 0, why.s ? why.s : "");
	strbuf_fini(&why);
}

int wakeup_events_open(struct events *ev)
{
	for (uint32_t c = 0; ev->wakeup_source.id && c < ev->target->nall; c++) {
		int err = open_on(ev, c);

		if (err) {
			explain(ev, err, c);
			return err;
		}
	}
	return 0;
}

int wakeup_events_map(struct events *ev)
{
	for (size_t i = 0; i < ev->nwakeups; i++) {
		struct ring *r = ring_of(ev, ev->wakeups[i].cpu);
		int err = ring_map(r, ev->wakeups[i].fd, ev->wakeup_bytes, false);

		if (err)
			return err;
		r->extra = r->wakeups = true;
	}
	return 0;
}

int wakeup_events_reopen(struct events *ev, uint32_t c, bool enable)
{
	const size_t first = ev->nwakeups;
	int err;

	if (!ev->wakeup_source.id)
		return 0;
	err = open_on(ev, c);
	if (err)
		return err;
	if (ioctl(ev->wakeups[first].fd, PERF_EVENT_IOC_SET_OUTPUT, ring_of(ev, c)->fd)) {
		err = -errno;
		close(ev->wakeups[--ev->nwakeups].fd);
		return err;
	}
	if (enable)
		wakeup_events_enable_from(ev, first);
	return 0;
}

void wakeup_events_enable_from(struct events *ev, size_t first)
{
	for (size_t i = first; i < ev->nwakeups; i++)
		ioctl(ev->wakeups[i].fd, PERF_EVENT_IOC_ENABLE, 0);
}

void wakeup_events_disable(struct events *ev)
{
	for (size_t i = 0; i < ev->nwakeups; i++)
		ioctl(ev->wakeups[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}
