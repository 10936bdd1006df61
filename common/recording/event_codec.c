/*
 * Side-band events: u8 type, varint length of the body, body. A reader skips unknown types, and
 * skips extra bytes after the fields it knows. The encoder and the decoder of an event stand side
 * by side here and must list the same fields in the same order, that of nsprof.data(5).
 */
#include "recording/event_codec.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "recording.h"

enum event_type {
	EVENT_DSO = 1,
	EVENT_PROC,
	EVENT_MMAP,
	EVENT_COMM,
	EVENT_FORK,
	EVENT_EXIT,
	EVENT_CGROUP,
	EVENT_KSYMBOL,
	EVENT_PRESSURE,
	EVENT_ABSENCE,
	EVENT_CONTAINER,
	EVENT_BUDGET,
	EVENT_EVENT,
	EVENT_SCHEDSTAT,
	EVENT_WAKEUP,
	EVENT_TOGGLE,
};

#define STRING_MAX 4095		/* PATH_MAX without its NUL */

void event_enc_begin(struct event_enc *e)
{
	e->time = 0;
}

void event_enc_fini(struct event_enc *e)
{
	strbuf_fini(&e->body);
}

static void put_str(struct strbuf *sb, const char *s)
{
	if (s)
		strbuf_add(sb, s, strnlen(s, STRING_MAX));
	strbuf_addc(sb, '\0');
}

/*
 * Times of one block differ little, so the difference to the previous event is stored. It may be
 * negative.
 */
static void put_time(struct event_enc *e, uint64_t time)
{
	strbuf_add_svarint(&e->body, (int64_t)(time - e->time));
	e->time = time;
}

static uint64_t get_time(struct cursor *c, uint64_t *time)
{
	return *time += (uint64_t)cursor_svarint(c);
}

/* A pid or an id beyond 32 bits is damage. */
static uint32_t get_u32(struct cursor *c)
{
	uint64_t v = cursor_varint(c);

	if (v > UINT32_MAX)
		c->bad = true;
	return (uint32_t)v;
}

static const char *get_str(struct cursor *c)
{
	const char *s = cursor_cstr(c);

	return s ? s : "";
}

static struct strbuf *begin(struct event_enc *e)
{
	strbuf_reset(&e->body);
	return &e->body;
}

static void end(struct event_enc *e, struct strbuf *out, enum event_type type)
{
	strbuf_addc(out, (char)type);
	strbuf_add_varint(out, e->body.len);
	strbuf_add(out, e->body.s, e->body.len);
}

/* ---- dso ---- */

void event_enc_dso(struct event_enc *e, struct strbuf *out, const struct ev_dso *ev)
{
	struct strbuf *b = begin(e);
	uint8_t len = MIN(ev->build_id_len, BUILD_ID_MAX);

	strbuf_add_varint(b, ev->id);
	strbuf_addc(b, (char)len);
	strbuf_add(b, ev->build_id, len);
	strbuf_add_varint(b, ev->dev_major);
	strbuf_add_varint(b, ev->dev_minor);
	strbuf_add_varint(b, ev->ino);
	strbuf_add_varint(b, ev->ino_gen);
	strbuf_add_varint(b, ev->size);
	strbuf_add_svarint(b, ev->mtime_ns);
	strbuf_add_varint(b, ev->mnt_ns);
	strbuf_addc(b, ev->deleted);
	put_str(b, ev->path);
	end(e, out, EVENT_DSO);
}

static void dec_dso(struct cursor *c, uint64_t *time, struct ev_dso *ev)
{
	const void *id;

	(void)time;	/* binaries have no time, but all decoders take the same arguments */

	ev->id = get_u32(c);
	ev->build_id_len = cursor_u8(c);
	if (ev->build_id_len > BUILD_ID_MAX) {
		c->bad = true;
		return;
	}
	id = cursor_bytes(c, ev->build_id_len);
	if (id)
		memcpy(ev->build_id, id, ev->build_id_len);
	ev->dev_major = get_u32(c);
	ev->dev_minor = get_u32(c);
	ev->ino = cursor_varint(c);
	ev->ino_gen = cursor_varint(c);
	ev->size = cursor_varint(c);
	ev->mtime_ns = cursor_svarint(c);
	ev->mnt_ns = cursor_varint(c);
	ev->deleted = cursor_u8(c) != 0;
	ev->path = get_str(c);
}

/* ---- proc ---- */

void event_enc_proc(struct event_enc *e, struct strbuf *out, const struct ev_proc *ev)
{
	struct strbuf *b = begin(e);
	uint32_t n = MIN(ev->nspid_n, (uint32_t)ARRAY_SIZE(ev->nspid));

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->serial);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->ppid);
	strbuf_add_varint(b, ev->start_ticks);
	strbuf_add_varint(b, n);
	for (uint32_t i = 0; i < n; i++)
		strbuf_add_varint(b, ev->nspid[i]);
	strbuf_add_varint(b, ev->mnt_ns);
	strbuf_add_varint(b, ev->pid_ns);
	strbuf_add_varint(b, ev->user_ns);
	strbuf_addc(b, (char)(ev->maps_known | ev->inherited << 1));
	put_str(b, ev->comm);
	put_str(b, ev->exe);
	put_str(b, ev->root);
	put_str(b, ev->cgroup);
	end(e, out, EVENT_PROC);
}

static void dec_proc(struct cursor *c, uint64_t *time, struct ev_proc *ev)
{
	uint8_t flags;

	ev->time = get_time(c, time);
	ev->serial = get_u32(c);
	ev->pid = get_u32(c);
	ev->ppid = get_u32(c);
	ev->start_ticks = cursor_varint(c);
	ev->nspid_n = get_u32(c);
	if (ev->nspid_n > ARRAY_SIZE(ev->nspid)) {
		c->bad = true;
		return;
	}
	for (uint32_t i = 0; i < ev->nspid_n; i++)
		ev->nspid[i] = get_u32(c);
	ev->mnt_ns = cursor_varint(c);
	ev->pid_ns = cursor_varint(c);
	ev->user_ns = cursor_varint(c);
	flags = cursor_u8(c);
	ev->maps_known = flags & 1;
	ev->inherited = flags & 2;
	ev->comm = get_str(c);
	ev->exe = get_str(c);
	ev->root = get_str(c);
	ev->cgroup = get_str(c);
}

/* ---- mmap ---- */

void event_enc_mmap(struct event_enc *e, struct strbuf *out, const struct ev_mmap *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->tid);
	strbuf_add_varint(b, ev->start);
	strbuf_add_varint(b, ev->len);
	strbuf_add_varint(b, ev->pgoff);
	strbuf_add_varint(b, ev->prot);
	strbuf_add_varint(b, ev->flags);
	strbuf_add_varint(b, ev->dso);
	put_str(b, ev->path);
	end(e, out, EVENT_MMAP);
}

static void dec_mmap(struct cursor *c, uint64_t *time, struct ev_mmap *ev)
{
	ev->time = get_time(c, time);
	ev->pid = get_u32(c);
	ev->tid = get_u32(c);
	ev->start = cursor_varint(c);
	ev->len = cursor_varint(c);
	ev->pgoff = cursor_varint(c);
	ev->prot = get_u32(c);
	ev->flags = get_u32(c);
	ev->dso = get_u32(c);
	ev->path = get_str(c);
	/* A range that wraps would break every search tree that holds it. */
	if (ev->len > UINT64_MAX - ev->start)
		c->bad = true;
}

/* ---- comm ---- */

void event_enc_comm(struct event_enc *e, struct strbuf *out, const struct ev_comm *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->tid);
	strbuf_addc(b, ev->exec);
	put_str(b, ev->comm);
	end(e, out, EVENT_COMM);
}

static void dec_comm(struct cursor *c, uint64_t *time, struct ev_comm *ev)
{
	ev->time = get_time(c, time);
	ev->pid = get_u32(c);
	ev->tid = get_u32(c);
	ev->exec = cursor_u8(c) != 0;
	ev->comm = get_str(c);
}

/* ---- fork, exit ---- */

static void enc_task(struct event_enc *e, struct strbuf *out, const struct ev_task *ev,
		     enum event_type type)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->tid);
	strbuf_add_varint(b, ev->ppid);
	strbuf_add_varint(b, ev->ptid);
	end(e, out, type);
}

void event_enc_fork(struct event_enc *e, struct strbuf *out, const struct ev_task *ev)
{
	enc_task(e, out, ev, EVENT_FORK);
}

void event_enc_exit(struct event_enc *e, struct strbuf *out, const struct ev_task *ev)
{
	enc_task(e, out, ev, EVENT_EXIT);
}

static void dec_task(struct cursor *c, uint64_t *time, struct ev_task *ev)
{
	ev->time = get_time(c, time);
	ev->pid = get_u32(c);
	ev->tid = get_u32(c);
	ev->ppid = get_u32(c);
	ev->ptid = get_u32(c);
}

/* ---- cgroup ---- */

void event_enc_cgroup(struct event_enc *e, struct strbuf *out, const struct ev_cgroup *ev)
{
	struct strbuf *b = begin(e);

	strbuf_add_varint(b, ev->id);
	put_str(b, ev->path);
	end(e, out, EVENT_CGROUP);
}

static void dec_cgroup(struct cursor *c, uint64_t *time, struct ev_cgroup *ev)
{
	(void)time;
	ev->id = cursor_varint(c);
	ev->path = get_str(c);
}

/* ---- ksymbol ---- */

void event_enc_ksymbol(struct event_enc *e, struct strbuf *out, const struct ev_ksymbol *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->addr);
	strbuf_add_varint(b, ev->len);
	strbuf_addc(b, ev->gone);
	put_str(b, ev->name);
	end(e, out, EVENT_KSYMBOL);
}

static void dec_ksymbol(struct cursor *c, uint64_t *time, struct ev_ksymbol *ev)
{
	ev->time = get_time(c, time);
	ev->addr = cursor_varint(c);
	ev->len = get_u32(c);
	ev->gone = cursor_u8(c) != 0;
	ev->name = get_str(c);
}

/* ---- pressure ---- */

void event_enc_pressure(struct event_enc *e, struct strbuf *out, const struct ev_pressure *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->level);
	strbuf_add_varint(b, ev->cause);
	end(e, out, EVENT_PRESSURE);
}

static void dec_pressure(struct cursor *c, uint64_t *time, struct ev_pressure *ev)
{
	ev->time = get_time(c, time);
	ev->level = get_u32(c);
	ev->cause = get_u32(c);
}

/* ---- absence ---- */

void event_enc_absence(struct event_enc *e, struct strbuf *out, const struct ev_absence *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->kind);
	strbuf_add_varint(b, ev->cpu);
	put_str(b, ev->cgroup);
	end(e, out, EVENT_ABSENCE);
}

static void dec_absence(struct cursor *c, uint64_t *time, struct ev_absence *ev)
{
	ev->time = get_time(c, time);
	ev->kind = get_u32(c);
	ev->cpu = get_u32(c);
	ev->cgroup = get_str(c);
}

/* ---- container ---- */

enum container_flag {
	CONTAINER_USAGE = 1,
	CONTAINER_THROTTLING = 2,
	CONTAINER_GONE = 4,
};

void event_enc_container(struct event_enc *e, struct strbuf *out, const struct ev_container *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->node);
	strbuf_addc(b, (char)((ev->have_usage ? CONTAINER_USAGE : 0) |
			      (ev->have_throttling ? CONTAINER_THROTTLING : 0) |
			      (ev->gone ? CONTAINER_GONE : 0)));
	strbuf_add_varint(b, ev->quota_us);
	strbuf_add_varint(b, ev->period_us);
	strbuf_add_varint(b, ev->usage_us);
	strbuf_add_varint(b, ev->nr_periods);
	strbuf_add_varint(b, ev->nr_throttled);
	strbuf_add_varint(b, ev->throttled_us);
	put_str(b, ev->cgroup);
	put_str(b, ev->runtime);
	put_str(b, ev->id);
	put_str(b, ev->name);
	put_str(b, ev->image);
	put_str(b, ev->pod);
	put_str(b, ev->pod_ns);
	put_str(b, ev->pod_uid);
	end(e, out, EVENT_CONTAINER);
}

static void dec_container(struct cursor *c, uint64_t *time, struct ev_container *ev)
{
	uint8_t flags;

	ev->time = get_time(c, time);
	ev->node = cursor_varint(c);
	flags = cursor_u8(c);
	ev->have_usage = flags & CONTAINER_USAGE;
	ev->have_throttling = flags & CONTAINER_THROTTLING;
	ev->gone = flags & CONTAINER_GONE;
	ev->quota_us = cursor_varint(c);
	ev->period_us = cursor_varint(c);
	ev->usage_us = cursor_varint(c);
	ev->nr_periods = cursor_varint(c);
	ev->nr_throttled = cursor_varint(c);
	ev->throttled_us = cursor_varint(c);
	ev->cgroup = get_str(c);
	ev->runtime = get_str(c);
	ev->id = get_str(c);
	ev->name = get_str(c);
	ev->image = get_str(c);
	ev->pod = get_str(c);
	ev->pod_ns = get_str(c);
	ev->pod_uid = get_str(c);
}

/* ---- budget ---- */

void event_enc_budget(struct event_enc *e, struct strbuf *out, const struct ev_budget *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->kind);
	strbuf_add_varint(b, ev->count);
	put_str(b, ev->cgroup);
	strbuf_addc(b, ev->by_user);
	strbuf_add_varint(b, ev->uid);
	end(e, out, EVENT_BUDGET);
}

static void dec_budget(struct cursor *c, uint64_t *time, struct ev_budget *ev)
{
	ev->time = get_time(c, time);
	ev->kind = get_u32(c);
	ev->count = cursor_varint(c);
	ev->cgroup = get_str(c);
	ev->by_user = cursor_u8(c) != 0;
	ev->uid = get_u32(c);
}

/* ---- event ---- */

/* Text of many lines. One that is cut keeps whole lines. */
static void put_lines(struct strbuf *sb, const char *s)
{
	size_t n = s ? strnlen(s, REC_FIELDS_MAX) : 0;
	const char *end;

	if (n == REC_FIELDS_MAX) {
		end = memrchr(s, '\n', n - 1);
		n = end ? (size_t)(end + 1 - s) : 0;
	}
	strbuf_add(sb, s, n);
	strbuf_addc(sb, '\0');
}

void event_enc_event(struct event_enc *e, struct strbuf *out, const struct ev_event *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->index);
	strbuf_add_varint(b, ev->role);
	strbuf_add_varint(b, ev->leader);
	strbuf_add_varint(b, ev->type);
	strbuf_add_varint(b, ev->config);
	strbuf_add_varint(b, ev->config1);
	strbuf_add_varint(b, ev->config2);
	strbuf_add_varint(b, ev->freq);
	strbuf_add_varint(b, ev->period);
	put_str(b, ev->name);
	put_str(b, ev->modifier);
	put_str(b, ev->unit);
	put_str(b, ev->filter);
	put_lines(b, ev->fields);
	/* Only where it is not as the settings say. */
	if (ev->callgraph != CALLGRAPH_UNSET) {
		strbuf_add_varint(b, ev->callgraph);
		strbuf_add_varint(b, ev->dump_size);
		strbuf_add_varint(b, ev->max_stack);
	}
	end(e, out, EVENT_EVENT);
}

static void dec_event(struct cursor *c, uint64_t *time, struct ev_event *ev)
{
	ev->time = get_time(c, time);
	ev->index = get_u32(c);
	ev->role = get_u32(c);
	ev->leader = get_u32(c);
	ev->type = get_u32(c);
	ev->config = cursor_varint(c);
	ev->config1 = cursor_varint(c);
	ev->config2 = cursor_varint(c);
	ev->freq = cursor_varint(c);
	ev->period = cursor_varint(c);
	ev->name = get_str(c);
	ev->modifier = get_str(c);
	ev->unit = get_str(c);
	ev->filter = get_str(c);
	ev->fields = get_str(c);
	if (cursor_left(c)) {
		ev->callgraph = get_u32(c);
		ev->dump_size = get_u32(c);
		ev->max_stack = get_u32(c);
	}
	/* Readers keep tables by index, and parse the fields. */
	if (ev->index >= SAMPLED_EVENTS_MAX || ev->leader >= SAMPLED_EVENTS_MAX || strlen(ev->fields) >= REC_FIELDS_MAX)
		c->bad = true;
}

/* ---- schedstat ---- */

void event_enc_schedstat(struct event_enc *e, struct strbuf *out, const struct ev_schedstat *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->tid);
	strbuf_add_varint(b, ev->run_ns);
	strbuf_add_varint(b, ev->wait_ns);
	strbuf_add_varint(b, ev->slices);
	end(e, out, EVENT_SCHEDSTAT);
}

static void dec_schedstat(struct cursor *c, uint64_t *time, struct ev_schedstat *ev)
{
	ev->time = get_time(c, time);
	ev->pid = get_u32(c);
	ev->tid = get_u32(c);
	ev->run_ns = cursor_varint(c);
	ev->wait_ns = cursor_varint(c);
	ev->slices = cursor_varint(c);
}

/* ---- wakeup ---- */

void event_enc_wakeup(struct event_enc *e, struct strbuf *out, const struct ev_wakeup *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_add_varint(b, ev->pid);
	strbuf_add_varint(b, ev->tid);
	strbuf_add_varint(b, ev->cpu);
	end(e, out, EVENT_WAKEUP);
}

static void dec_wakeup(struct cursor *c, uint64_t *time, struct ev_wakeup *ev)
{
	ev->time = get_time(c, time);
	ev->pid = get_u32(c);
	ev->tid = get_u32(c);
	ev->cpu = get_u32(c);
}

bool event_dec_wakeup_time(const struct cursor *c, uint64_t last, uint64_t *time)
{
	struct cursor at = *c;
	uint8_t type = cursor_u8(&at);

	cursor_varint(&at);
	if (type != EVENT_WAKEUP)
		return false;
	*time = last + (uint64_t)cursor_svarint(&at);
	return cursor_ok(&at);
}

/* ---- toggle ---- */

void event_enc_toggle(struct event_enc *e, struct strbuf *out, const struct ev_toggle *ev)
{
	struct strbuf *b = begin(e);

	put_time(e, ev->time);
	strbuf_addc(b, ev->on);
	end(e, out, EVENT_TOGGLE);
}

static void dec_toggle(struct cursor *c, uint64_t *time, struct ev_toggle *ev)
{
	ev->time = get_time(c, time);
	ev->on = cursor_u8(c) != 0;
}

/*
 * Decode with @dec into a local struct, then call @op if it is set and the bytes were complete.
 */
#define DISPATCH(type, dec, op)                                                                    \
	do {                                                                                       \
		struct type ev = { 0 };                                                            \
                                                                                           \
		dec(&body, time, &ev);                                                             \
		if (cursor_ok(&body) && ops->op)                                                   \
			*ret = ops->op(ctx, &ev);                                                  \
	} while (0)

int event_dec_next(struct cursor *c, uint64_t *time, const struct event_ops *ops, void *ctx,
		   int *ret)
{
	uint8_t type = cursor_u8(c);
	uint64_t len = cursor_varint(c);
	const void *p = len <= cursor_left(c) ? cursor_bytes(c, len) : NULL;
	struct cursor body;

	*ret = 0;
	if (!cursor_ok(c) || !p)
		return -EINVAL;
	cursor_init(&body, p, len);
	switch (type) {
	case EVENT_DSO:
		DISPATCH(ev_dso, dec_dso, dso);
		break;
	case EVENT_PROC:
		DISPATCH(ev_proc, dec_proc, proc);
		break;
	case EVENT_MMAP:
		DISPATCH(ev_mmap, dec_mmap, mmap);
		break;
	case EVENT_COMM:
		DISPATCH(ev_comm, dec_comm, comm);
		break;
	case EVENT_FORK:
		DISPATCH(ev_task, dec_task, fork);
		break;
	case EVENT_EXIT:
		DISPATCH(ev_task, dec_task, exit);
		break;
	case EVENT_CGROUP:
		DISPATCH(ev_cgroup, dec_cgroup, cgroup);
		break;
	case EVENT_KSYMBOL:
		DISPATCH(ev_ksymbol, dec_ksymbol, ksymbol);
		break;
	case EVENT_PRESSURE:
		DISPATCH(ev_pressure, dec_pressure, pressure);
		break;
	case EVENT_ABSENCE:
		DISPATCH(ev_absence, dec_absence, absence);
		break;
	case EVENT_CONTAINER:
		DISPATCH(ev_container, dec_container, container);
		break;
	case EVENT_BUDGET:
		DISPATCH(ev_budget, dec_budget, budget);
		break;
	case EVENT_EVENT:
		DISPATCH(ev_event, dec_event, event);
		break;
	case EVENT_SCHEDSTAT:
		DISPATCH(ev_schedstat, dec_schedstat, schedstat);
		break;
	case EVENT_WAKEUP:
		DISPATCH(ev_wakeup, dec_wakeup, wakeup);
		break;
	case EVENT_TOGGLE:
		DISPATCH(ev_toggle, dec_toggle, toggle);
		break;
	}
	return cursor_ok(&body) ? 0 : -EINVAL;
}
