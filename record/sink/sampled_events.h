/*
 * Which event a sample is of, and what it stands for, where there are several events or one whose
 * period changes.
 */
#ifndef NSPROF_SAMPLED_EVENTS_H
#define NSPROF_SAMPLED_EVENTS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "events/events.h"
#include "events/sample_parse.h"
#include "sink/event_budget.h"
#include "trace/tp_format.h"

struct sampled_event {
	struct sample_layout layout;	/* with the present period, if it is fixed */
	uint64_t before;	/* the period before the kernel got its latest one */
	/*
	 * The recorder itself thins: it takes one of 2^shift samples, which stands for all since the
	 * one that was taken before. For inherited events, see events_can_set_period().
	 */
	uint32_t shift;
	uint64_t turn;		/* samples read from the rings */
	uint64_t held;		/* what those stand for that came since then */
	uint64_t size;		/* bytes of its latest record */
	bool spare;		/* unbounded, beside others that are not */
	bool hides;			/* text in its payloads is zeroed, */
	struct tp_format hidden;	/* owned; by this. Empty: not even their numbers are kept */
};

struct sampled_events {
	const struct events *open;	/* borrowed */
	struct sampled_event *v;	/* owned; open->n of them */
	struct event_budget budget;
	uint8_t *room;		/* owned; masked payloads: PAYLOAD_MAX bytes for each of @slots samples */
	size_t slots, next;
	uint8_t *whole;		/* owned; the payload that is being masked */
	/* The latest counts, by id. Those of members of inherited groups are by thread as well. */
	struct u64map counts;
	struct u64map waits;	/* by id: the samples that an event of --off-cpu took */
	bool by_thread;
	/*
	 * The only event whose samples can have the id of another recorder's (own_id()); UINT32_MAX: there
	 * is none, or several.
	 */
	uint32_t mixed;
};

/*
 * @ev is open. @slots: a payload stays as it is while so many samples are parsed. Release with
 * sampled_events_free().
 */
struct sampled_events *sampled_events_new(const struct events *ev, size_t slots);
void sampled_events_free(struct sampled_events *se);	/* accepts NULL */

enum sampled {
	SAMPLED_TAKEN,
	SAMPLED_THINNED,	/* another sample stands for it, or it stands for nothing */
	SAMPLED_BAD,		/* inner lengths do not fit, or nobody opened its event; CPU and time are known */
};

/* As sample_parse(); also fills in the event and its period, and masks the payload. */
enum sampled sampled_events_parse(struct sampled_events *se, const struct perf_event_header *h, struct raw_sample *raw);

/*
 * Count number @i of those that the leader's sample @lead has. False if it is of the leader itself,
 * or if nothing came to it since the last one. Otherwise *@n came to the member *@event.
 */
bool sampled_events_member(struct sampled_events *se, const struct raw_sample *lead, uint32_t i, uint32_t *event, uint64_t *n);

/* Is @id that of an event that takes samples? */
bool sampled_events_knows(const struct sampled_events *se, uint64_t id);
/* The event of @id; 0 if it is not known. */
uint32_t sampled_events_of(const struct sampled_events *se, uint64_t id);
/* The samples that the event of --off-cpu with @id has taken. */
uint64_t sampled_events_waits(const struct sampled_events *se, uint64_t id);
/* @n samples found no room on @cpu until @time (ns). The record about it was written by @event. */
void sampled_events_lost(struct sampled_events *se, uint32_t cpu, uint32_t event, uint64_t time, uint64_t n);

static inline bool sampled_events_spare(const struct sampled_events *se, uint32_t event)
{
	return se->v[event].spare;
}

/* From now on @event has @period in the kernel, as event_ids know. */
void sampled_events_period(struct sampled_events *se, uint32_t event, uint64_t period);
/* From now on the recorder takes one of 2^@shift samples. */
void sampled_events_shift(struct sampled_events *se, uint32_t event, uint32_t shift);

#endif
