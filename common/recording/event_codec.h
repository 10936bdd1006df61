/*
 * Encodes and decodes side-band events. The coding of a block depends on no other block, so that a
 * damaged block loses only its own definitions.
 */
#ifndef NSPROF_EVENT_CODEC_H
#define NSPROF_EVENT_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "event.h"

struct event_enc {
	uint64_t time;		/* ns, of the previous event; 0 at the start of a block */
	struct strbuf body;	/* scratch, owned */
};

/* Call it at the start of each block. */
void event_enc_begin(struct event_enc *e);
void event_enc_fini(struct event_enc *e);

/*
 * Append one event to @out. Strings are cut after 4,095 bytes, and ev_event.fields after the last
 * whole line below REC_FIELDS_MAX. NULL strings are written as "".
 */
void event_enc_dso(struct event_enc *e, struct strbuf *out, const struct ev_dso *ev);
void event_enc_proc(struct event_enc *e, struct strbuf *out, const struct ev_proc *ev);
void event_enc_mmap(struct event_enc *e, struct strbuf *out, const struct ev_mmap *ev);
void event_enc_comm(struct event_enc *e, struct strbuf *out, const struct ev_comm *ev);
void event_enc_fork(struct event_enc *e, struct strbuf *out, const struct ev_task *ev);
void event_enc_exit(struct event_enc *e, struct strbuf *out, const struct ev_task *ev);
void event_enc_cgroup(struct event_enc *e, struct strbuf *out, const struct ev_cgroup *ev);
void event_enc_ksymbol(struct event_enc *e, struct strbuf *out, const struct ev_ksymbol *ev);
void event_enc_pressure(struct event_enc *e, struct strbuf *out, const struct ev_pressure *ev);
void event_enc_absence(struct event_enc *e, struct strbuf *out, const struct ev_absence *ev);
void event_enc_container(struct event_enc *e, struct strbuf *out, const struct ev_container *ev);
void event_enc_budget(struct event_enc *e, struct strbuf *out, const struct ev_budget *ev);
void event_enc_event(struct event_enc *e, struct strbuf *out, const struct ev_event *ev);
void event_enc_schedstat(struct event_enc *e, struct strbuf *out, const struct ev_schedstat *ev);
void event_enc_wakeup(struct event_enc *e, struct strbuf *out, const struct ev_wakeup *ev);
void event_enc_toggle(struct event_enc *e, struct strbuf *out, const struct ev_toggle *ev);

/*
 * Decode the next event of @c and pass it to its callback. *@time is state, 0 at the start of a
 * block. 0, or -EINVAL when the bytes are damaged. *@ret: what the callback returned, else 0.
 */
int event_dec_next(struct cursor *c, uint64_t *time, const struct event_ops *ops, void *ctx,
		   int *ret);

/*
 * The time of the next event of @c if it is a wake-up, without taking it. @last: as *@time of
 * event_dec_next(). False: it is another event.
 */
bool event_dec_wakeup_time(const struct cursor *c, uint64_t last, uint64_t *time);

#endif
