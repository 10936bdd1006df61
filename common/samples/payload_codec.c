#include "samples/payload_codec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/util.h"
#include "base/xalloc.h"
#include "samples/sample_ctx.h"

/* One symbol says which words of a group are not as expected. */
#define GROUP 4u

/* Symbols under CTX_PAYLOAD: how such a word is coded. */
enum payload_op {
	PAYLOAD_ZERO,
	PAYLOAD_LAST,		/* as in the event's last payload */
	PAYLOAD_AGAIN,		/* as in the thread's last one */
	PAYLOAD_TID, PAYLOAD_PID,
	PAYLOAD_RECENTLY,	/* a recent unexpected word at this place */
	PAYLOAD_DIFF,		/* the thread's last one, and a difference */
	PAYLOAD_NEW,
};

/* The words coded so far, and where the next ones are looked up. */
struct state {
	struct payload_model *m;
	const struct payload_of *of;
	struct payload_row *row;	/* of thread and event */
	uint32_t *last;			/* of the event */
	uint32_t kind;
	uint64_t other;			/* made of the last unexpected word; 0: none yet */
	uint32_t before;		/* the group's symbol before */
};

void payload_model_key(struct payload_model *m)
{
	for (uint32_t i = 0; i < SAMPLED_EVENTS_MAX; i++) {
		m->last[i].len = 0;
		if (m->last[i].word)
			memset(m->last[i].word, 0, PAYLOAD_MAX);
	}
	memset(m->row, 0, sizeof(m->row));
	memset(m->after, 0, sizeof(m->after));
	memset(m->recent, 0, sizeof(m->recent));
}

void payload_model_fini(struct payload_model *m)
{
	for (uint32_t i = 0; i < SAMPLED_EVENTS_MAX; i++)
		free(m->last[i].word);
}

static void begin(struct state *s, struct payload_model *m, const struct payload_of *of)
{
	struct payload_last *last = &m->last[of->event];

	if (!last->word)
		last->word = xcalloc(PAYLOAD_WORDS, sizeof(*last->word));
	*s = (struct state){
		.m = m, .of = of, .last = last->word, .kind = of->event % PAYLOAD_KINDS,
		.row = &m->row[hash_u64((uint64_t)of->event << 32 | of->thread) >> (64 - PAYLOAD_ROW_BITS)],
	};
}

/* What word @i was in the thread's last payload. */
static uint32_t known(const struct state *s, uint32_t i)
{
	return i < PAYLOAD_ROW ? s->row->word[i] : s->last[i];
}

/* What a word is expected to be. */
struct hint {
	uint32_t word;
	struct payload_after *after;	/* what followed the last unexpected word here; NULL: no matter */
	uint32_t check;			/* of this place */
};

static struct hint expect(const struct state *s, uint32_t i)
{
	struct hint h = { .word = known(s, i) };
	uint64_t hash;

	if (!s->other || i >= PAYLOAD_ROW)
		return h;
	hash = hash_u64(s->other + i);
	h.check = (uint32_t)hash | 1;
	h.after = &s->m->after[hash >> (64 - PAYLOAD_AFTER_BITS)];
	if (h.after->check == h.check)
		h.word = h.after->word;
	return h;
}

/* Word @i is @word, although it was expected to be another if @other. */
static void note(struct state *s, const struct hint *h, uint32_t i, uint32_t word, bool other)
{
	if (h->after)
		*h->after = (struct payload_after){ h->check, word };
	if (i < PAYLOAD_ROW)
		s->row->word[i] = word;
	s->last[i] = word;
	if (other)
		s->other = hash_u64((uint64_t)word << 32 | (i + 1) << 16 | s->of->event) | 1;
}

static uint32_t *recent(const struct state *s, uint32_t i)
{
	return s->m->recent[s->kind][i % PAYLOAD_ROW];
}

/* Index of @word among the recent ones, or their number. */
static uint32_t rank_of(const uint32_t *list, uint32_t word)
{
	uint32_t i = 0;

	while (i < PAYLOAD_RECENT && list[i] != word)
		i++;
	return i;
}

static void to_front(uint32_t *list, uint32_t word, uint32_t rank)
{
	memmove(list + 1, list, MIN(rank, PAYLOAD_RECENT - 1) * sizeof(*list));
	list[0] = word;
}

/* Context of a group's symbol. */
static uint32_t group_ctx(const struct state *s, uint32_t i)
{
	return CTX_PAYLOAD_OTHER + (s->kind << 8 | MIN(i / GROUP, 15u) << 4 | s->before);
}

static uint32_t word_ctx(const struct state *s, uint32_t i)
{
	return CTX_PAYLOAD + (s->kind << 5 | i % PAYLOAD_ROW);
}

/* Word @i of the @len bytes at @data; bytes after them are 0. */
static uint32_t word_at(const uint8_t *data, uint32_t len, uint32_t i)
{
	uint32_t word = 0;

	memcpy(&word, data + 4 * i, MIN(len - 4 * i, 4u));
	return word;
}

/* ---- encoder ---- */

static void enc_word(const struct state *s, uint32_t i, uint32_t word, struct strbuf *out)
{
	uint32_t ctx = word_ctx(s, i), *list = recent(s, i), rank = rank_of(list, word);
	int32_t diff = (int32_t)(word - known(s, i));

	if (!word) {
		nibble_put(out, ctx, PAYLOAD_ZERO);
	} else if (!diff) {
		nibble_put(out, ctx, PAYLOAD_AGAIN);
	} else if (word == s->last[i]) {
		nibble_put(out, ctx, PAYLOAD_LAST);
	} else if (word == s->of->tid) {
		nibble_put(out, ctx, PAYLOAD_TID);
	} else if (word == s->of->pid) {
		nibble_put(out, ctx, PAYLOAD_PID);
	} else if (rank < PAYLOAD_RECENT) {
		nibble_put(out, ctx, PAYLOAD_RECENTLY);
		nibble_put(out, CTX_PAYLOAD_RECENT + i % PAYLOAD_ROW, rank);
		to_front(list, word, rank);
	} else {
		if (diff > -65536 && diff < 65536) {
			nibble_put(out, ctx, PAYLOAD_DIFF);
			nibble_put_snum(out, CTX_PAYLOAD_DIFF + s->kind * NIBBLE_NUM, diff);
		} else {
			nibble_put(out, ctx, PAYLOAD_NEW);
			nibble_put_num(out, CTX_PAYLOAD_NEW + s->kind * NIBBLE_NUM, word);
		}
		to_front(list, word, rank);
	}
}

void payload_encode(struct payload_model *m, const struct payload_of *of, const uint8_t *data, uint32_t len,
		    struct strbuf *out)
{
	uint32_t n = (len + 3) / 4, *last_len = &m->last[of->event].len;
	struct state s;

	begin(&s, m, of);
	nibble_put(out, CTX_PAYLOAD_LEN_HIT + s.kind, len == *last_len);
	if (len != *last_len)
		nibble_put_num(out, CTX_PAYLOAD_LEN, len);
	*last_len = len;
	for (uint32_t i = 0; i < n; i += GROUP) {
		size_t at = out->len;
		uint32_t ctx = group_ctx(&s, i), others = 0;

		/* The symbol comes before the words, but what they are expected to be does not. */
		nibble_put(out, ctx, 0);
		for (uint32_t k = i; k < MIN(i + GROUP, n); k++) {
			const struct hint h = expect(&s, k);
			uint32_t word = word_at(data, len, k);
			bool other = word != h.word;

			if (other)
				enc_word(&s, k, word, out);
			others |= (uint32_t)other << (k - i);
			note(&s, &h, k, word, other);
		}
		nibble_set(out, at, ctx, others);
		s.before = others;
	}
}

/* ---- decoder ---- */

static int dec_word(const struct state *s, struct nibble_dec *in, uint32_t i, uint32_t *word)
{
	uint32_t *list = recent(s, i), rank = PAYLOAD_RECENT;
	uint64_t v;

	switch (nibble_get(in, word_ctx(s, i))) {
	case PAYLOAD_ZERO:
		*word = 0;
		return 0;
	case PAYLOAD_AGAIN:
		*word = known(s, i);
		return 0;
	case PAYLOAD_LAST:
		*word = s->last[i];
		return 0;
	case PAYLOAD_TID:
		*word = s->of->tid;
		return 0;
	case PAYLOAD_PID:
		*word = s->of->pid;
		return 0;
	case PAYLOAD_RECENTLY:
		rank = nibble_get(in, CTX_PAYLOAD_RECENT + i % PAYLOAD_ROW);
		if (rank >= PAYLOAD_RECENT)
			return -EINVAL;
		v = list[rank];
		break;
	case PAYLOAD_DIFF:
		v = (uint32_t)(known(s, i) + (uint64_t)nibble_get_snum(in, CTX_PAYLOAD_DIFF + s->kind * NIBBLE_NUM));
		break;
	case PAYLOAD_NEW:
		v = nibble_get_num(in, CTX_PAYLOAD_NEW + s->kind * NIBBLE_NUM);
		break;
	default:
		return -EINVAL;
	}
	if (v > UINT32_MAX)
		return -EINVAL;
	*word = (uint32_t)v;
	to_front(list, *word, rank);
	return 0;
}

int payload_decode(struct payload_model *m, const struct payload_of *of, struct nibble_dec *in, uint8_t *data,
		   uint32_t *len)
{
	uint64_t bytes = m->last[of->event].len;
	struct state s;

	begin(&s, m, of);
	if (!nibble_get(in, CTX_PAYLOAD_LEN_HIT + s.kind))
		bytes = nibble_get_num(in, CTX_PAYLOAD_LEN);
	if (!bytes || bytes > PAYLOAD_MAX)
		return -EINVAL;
	*len = m->last[of->event].len = (uint32_t)bytes;
	for (uint32_t i = 0, n = (*len + 3) / 4; i < n; i += GROUP) {
		uint32_t others = nibble_get(in, group_ctx(&s, i));

		for (uint32_t k = i; k < MIN(i + GROUP, n); k++) {
			const struct hint h = expect(&s, k);
			bool other = others >> (k - i) & 1;
			uint32_t word = h.word;

			if (other && dec_word(&s, in, k, &word))
				return -EINVAL;
			note(&s, &h, k, word, other);
			memcpy(data + 4 * k, &word, sizeof(word));
		}
		s.before = others;
	}
	return 0;
}
