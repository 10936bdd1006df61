#include "run/loop.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/util.h"
#include "host/clock.h"
#include "host/opener_loss.h"
#include "run/watch.h"

#define NS_PER_SEC 1000000000ull
#define TICK_NS 50000000ull
/* Ticks between two checks of CPUs and cgroups. */
#define WATCH_TICKS 4
/*
 * For side-band alone, drain at most once in this time: a fork storm writes without a pause. While
 * side-band comes, drain once more after it: the last of it may be too little to wake us. No pause
 * is made when so much comes that a ring might fill up.
 */
#define SIDE_PAUSE_NS 5000000ull
#define SIDE_PAUSE_MS ((int)(SIDE_PAUSE_NS / 1000000))
/* Until what was there when a dump was asked for, or a segment was to end, can be taken. */
#define HURRY_MS ((int)(DRAIN_GUARD_NS / 1000000) + 1)

enum tag {
	TAG_DATA = 1 << 0,
	TAG_SIDE = 1 << 1,
	TAG_SIGNAL = 1 << 2,
	TAG_TICK = 1 << 3,
	TAG_DEADLINE = 1 << 4,
	TAG_CAPTURE = 1 << 5,
	TAG_TOGGLE = 1 << 6,
	TAG_CONTROL = 1 << 7,
};

static struct timespec to_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC) };
}

static int watch(int epoll, int fd, uint32_t how, uint32_t tag)
{
	struct epoll_event e = { .events = how, .data.u32 = tag };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e);
}

void loop_close(struct loop *l)
{
	int fds[] = { l->fds.epoll, l->fds.signal, l->fds.tick, l->fds.deadline, l->fds.toggle };

	for (size_t i = 0; i < ARRAY_SIZE(fds) && l->open; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	l->open = false;
}

int loop_open(struct loop *l)
{
	struct itimerspec tick = { to_timespec(TICK_NS), to_timespec(TICK_NS) };
	struct loop_fds *w = &l->fds;
	int err = 0;

	l->open = true;
	w->epoll = epoll_create1(EPOLL_CLOEXEC);
	w->signal = signalfd(-1, l->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	w->tick = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->deadline = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	w->toggle = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->epoll < 0 || w->signal < 0 || w->tick < 0 || w->deadline < 0 || w->toggle < 0)
		goto fail;
	err |= timerfd_settime(w->tick, 0, &tick, NULL);
	err |= watch(w->epoll, w->signal, EPOLLIN, TAG_SIGNAL);
	if (l->stopper->fd >= 0)
		err |= watch(w->epoll, l->stopper->fd, EPOLLIN, TAG_SIGNAL);
	err |= watch(w->epoll, w->tick, EPOLLIN, TAG_TICK);
	err |= watch(w->epoll, w->deadline, EPOLLIN, TAG_DEADLINE);
	err |= watch(w->epoll, w->toggle, EPOLLIN, TAG_TOGGLE);
	if (l->control->fd >= 0 && watch(w->epoll, l->control->fd, EPOLLIN, TAG_CONTROL)) {
		err = -errno;
		pr_err("--control: cannot wait for commands: %s; it takes a pipe, a FIFO or a terminal", strerror(-err));
		return err;
	}
	/* Edge-triggered, because the event of an ended thread reports POLLHUP forever. */
	for (size_t i = 0; i < l->drain->n; i++) {
		const struct ring *r = l->drain->rings[i];

		if (r->sideband || r->extra || !events_paced(l->ev))
			err |= watch(w->epoll, r->fd, EPOLLIN | EPOLLET, r->sideband ? TAG_SIDE : TAG_DATA);
	}
	if (!err)
		return 0;
fail:
	err = -errno;
	pr_err("cannot wait for the rings: %s%s", strerror(-err),
	       err == -EMFILE ? "; raise the limit, for instance: ulimit -n 1024" : "");
	return err;
}

/* What woke us within @ms (-1: no limit), as a set of enum tag; 0: nothing did. */
static uint32_t wait_tags(const struct loop_fds *w, int ms)
{
	struct epoll_event e[32];
	uint32_t tags = 0;
	int n = epoll_wait(w->epoll, e, ARRAY_SIZE(e), ms);

	for (int i = 0; i < n; i++)
		tags |= e[i].data.u32;
	return tags;
}

/* @time: ns, CLOCK_MONOTONIC, not 0. If it is over, @timer expires at once. */
static void arm(int timer, uint64_t time)
{
	struct itimerspec it = { { 0, 0 }, to_timespec(time) };

	timerfd_settime(timer, TFD_TIMER_ABSTIME, &it, NULL);
}

static void clear(int timer)
{
	uint64_t n;
	ssize_t got;

	/* One read clears all expirations. */
	got = read(timer, &n, sizeof(n));
	(void)got;
}

static void take_usr2(struct loop *l)
{
	if (spool_switches(l->spool->o))
		spool_ask(l->spool, clock_mono_ns());
	else if (!l->usr2_told)
		pr_info("SIGUSR2 is ignored: it needs --switch-output or --overwrite");
	l->usr2_told = true;
}

/* True if one of them ends the recording. */
static bool take_signals(struct loop *l, int fd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGUSR2)
			take_usr2(l);
		if (si.ssi_signo == SIGCONT)
			l->still.continued = true;
		if (si.ssi_signo == SIGCHLD || si.ssi_signo == SIGUSR2 || si.ssi_signo == SIGCONT)
			continue;
		l->signo = (int)si.ssi_signo;
		return true;
	}
	l->signo = l->stopper->fd >= 0 ? stopper_signo(l->stopper) : 0;
	return l->signo;
}

/* Threads' time begins and ends at @time: take what is older before anybody hears of it. */
static void tell_toggled(struct loop *l, uint64_t time)
{
	const struct timespec ripe = to_timespec(time + DRAIN_GUARD_NS);

	if (l->sink->threads.on) {
		while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ripe, NULL) == EINTR)
			;
		drain_round(l->drain, time, l->sink);
		l->drained(l->settle_ctx, time);
	}
	l->toggled(l->settle_ctx, l->on, time);
}

static void enable(struct loop *l, const struct loop_fds *w)
{
	const bool first = !l->enabled_at;
	uint64_t now;

	if (l->on)
		return;
	events_enable(l->ev);
	now = clock_mono_ns();
	l->on = l->settling = true;
	if (l->start_off)
		pr_info("events enabled");
	if (first)
		l->enabled_at = now;
	if (first && l->duration_ns)
		arm(w->deadline, now + l->duration_ns);
	tell_toggled(l, now);
}

static void disable(struct loop *l)
{
	const uint64_t now = clock_mono_ns();

	if (!l->on)
		return;
	events_pause(l->ev);
	l->on = false;
	pr_info("events disabled");
	tell_toggled(l, now);
}

/* Arms the timer for the next toggle, which may be due already. */
static void arm_toggle(const struct loop *l, const struct loop_fds *w)
{
	if (l->next_toggle < l->ntoggles)
		arm(w->toggle, l->started + l->toggles_ms[l->next_toggle] * 1000000);
}

static void take_toggle(struct loop *l, const struct loop_fds *w)
{
	clear(w->toggle);
	if (l->next_toggle++ % 2)
		disable(l);
	else
		enable(l, w);
	arm_toggle(l, w);
}

static void tell_events(const struct events *ev)
{
	for (size_t i = 0; i < ev->n; i++)
		pr_info("event: %s", ev->v[i].sel.name);
}

/* True if one of them ends the recording. */
static bool take_control(struct loop *l, const struct loop_fds *w)
{
	enum control_cmd cmd;

	if (!control_read(l->control))
		epoll_ctl(w->epoll, EPOLL_CTL_DEL, l->control->fd, NULL);
	while ((cmd = control_next(l->control)) != CONTROL_NONE) {
		if (cmd == CONTROL_ENABLE)
			enable(l, w);
		else if (cmd == CONTROL_DISABLE)
			disable(l);
		else if (cmd == CONTROL_SNAPSHOT && spool_switches(l->spool->o))
			spool_ask(l->spool, clock_mono_ns());
		else if (cmd == CONTROL_SNAPSHOT)
			pr_info("--control: 'snapshot' needs --switch-output or --overwrite");
		else if (cmd == CONTROL_EVLIST)
			tell_events(l->ev);
		control_ack(l->control);
		if (cmd == CONTROL_STOP)
			return true;
	}
	return false;
}

static void start(struct loop *l, const struct loop_fds *w)
{
	const struct timespec now = { 0, 0 };
	sigset_t usr2;

	/* An earlier SIGUSR2 had nothing to switch or to keep. */
	sigemptyset(&usr2);
	sigaddset(&usr2, SIGUSR2);
	sigtimedwait(&usr2, NULL, &now);
	if (!l->started)
		l->started = clock_mono_ns();
	if (l->start_off) {
		pr_info("events disabled");
		arm_toggle(l, w);
	} else if (l->ev->on_exec) {
		l->on = true;
		l->enabled_at = l->started;
		if (l->duration_ns)
			arm(w->deadline, l->enabled_at + l->duration_ns);
	} else {
		enable(l, w);
	}
}

/*
 * A ring wakes us for a record that is younger than the guard, so it cannot be taken yet. Wait
 * until it is old enough: otherwise it would stay until the next tick and block a small ring. For
 * side-band alone, wait for more of it, too.
 */
static void ripen(uint32_t tags, uint64_t last, bool flood)
{
	const uint64_t now = clock_mono_ns();
	uint64_t until = now + DRAIN_GUARD_NS + DRAIN_GUARD_NS / 4;
	struct timespec left;

	if (!(tags & TAG_DATA) && !flood)
		until = MAX(until, last + SIDE_PAUSE_NS);
	left = to_timespec(until - now);
	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
}

/* As spool_step(). Once it has a thread, that thread wakes the loop. */
static int step_spool(struct loop *l, const struct loop_fds *w, uint64_t now)
{
	int had = spool_fd(l->spool), err = spool_step(l->spool, now), fd = spool_fd(l->spool);

	/* If that fails, the next tick is soon enough. */
	if (had < 0 && fd >= 0)
		watch(w->epoll, fd, EPOLLIN | EPOLLET, TAG_CAPTURE);
	return err;
}

/* ms; -1: no limit. */
static int longest_wait(const struct loop *l)
{
	return spool_hurries(l->spool) ? HURRY_MS : l->drain->side_news ? SIDE_PAUSE_MS : -1;
}

enum loop_end loop_run(struct loop *l)
{
	const struct loop_fds *w = &l->fds;
	enum loop_end end;
	struct watch away;
	/* What we leave in a roomy ring is taken at the next tick, long before the ring is full. */
	const uint32_t ripening = events_roomy(l->ev) ? TAG_SIDE : TAG_SIDE | TAG_DATA;
	unsigned int ticks = 0;
	uint64_t last = 0;

	watch_init(&away, l->ev, l->sink);
	thinning_init(&l->thinning, l->ev, l->sink);
	off_cpu_init(&l->off_cpu, l->ev, l->sink);
	standstill_init(&l->still, events_ring_ms(l->ev));
	standstill_drained(&l->still, clock_mono_ns(), ledger_missed(l->sink->ledger));
	l->settling = true;
	start(l, w);
	for (;;) {
		bool ends;
		uint32_t tags;
		int err;

		if (l->settling)
			l->settling = l->settle(l->settle_ctx);
		standstill_wait(&l->still, clock_mono_ns());
		tags = wait_tags(w, l->settling ? 0 : longest_wait(l));
		/* Not after a round that takes long. */
		if (tags & TAG_DEADLINE)
			events_stop_samples(l->ev);
		if (tags & ripening)
			ripen(tags, last, l->drain->side_flood);
		last = clock_mono_ns();
		/* Being stopped and continued interrupts the wait, whatever we waited for. */
		if (standstill_woke(&l->still, last))
			tags |= TAG_SIGNAL;
		drain_round(l->drain, last - DRAIN_GUARD_NS, l->sink);
		l->drained(l->settle_ctx, last - DRAIN_GUARD_NS);
		/* The next round waits for files of others, and the rings must hold what comes meanwhile. */
		opener_be(l->drain->side_flood ? &opener_flooded : &opener_hurried);
		sink_pressure(l->sink, clock_mono_ns(), drain_fill(l->drain, l->least_ring));
		thinning_step(&l->thinning, last);
		off_cpu_step(&l->off_cpu, last);
		l->sink->ledger->woken++;
		ends = tags & TAG_SIGNAL && take_signals(l, w->signal);
		standstill_drained(&l->still, last, ledger_missed(l->sink->ledger));
		if (l->sink->cgroups.facts)
			cgroup_facts_round(l->sink->cgroups.facts);
		err = rec_writer_tick(l->sink->w, last);
		if (err < 0 && !l->sink->err)
			l->sink->err = err;
		if (l->sink->err) {
			end = LOOP_WRITE_ERROR;
			break;
		}
		if (ends) {
			end = LOOP_SIGNAL;
			break;
		}
		err = step_spool(l, w, last);
		if (err) {
			end = err < 0 ? LOOP_WRITE_ERROR : LOOP_FULL;
			break;
		}
		if (tags & TAG_SIGNAL && child_check(l->child)) {
			end = LOOP_CHILD;
			break;
		}
		if (tags & TAG_CONTROL && take_control(l, w)) {
			end = LOOP_STOPPED;
			break;
		}
		watch_made(&away, l->on, l->enabled_at ? last - l->enabled_at : 0);
		if (tags & TAG_TICK) {
			clear(w->tick);
			if (++ticks % WATCH_TICKS == 0) {
				watch_check(&away, l->on,
					    l->enabled_at ? last - l->enabled_at : 0);
				sink_cgroups_watch(&l->sink->cgroups);
				if (l->sink->cgroups.facts)
					cgroup_facts_watch(l->sink->cgroups.facts);
				proctab_let_go(l->sink->pt, last);
			}
			if (l->ev->target->kind != TARGET_COMMAND && events_all_gone(l->ev)) {
				end = LOOP_GONE;
				break;
			}
		}
		if (tags & TAG_DEADLINE) {
			end = LOOP_DURATION;
			break;
		}
		if (tags & TAG_TOGGLE)
			take_toggle(l, w);
	}
	watch_fini(&away);
	off_cpu_fini(&l->off_cpu);
	return end;
}
