/*
 * Encodes samples to symbols and back. One encoder serves a whole recording: threads, dictionaries
 * and predictors live on from block to block until a KEY block resets them. nsprof.data(5)
 * describes the coding.
 */
#ifndef NSPROF_SAMPLE_CODEC_H
#define NSPROF_SAMPLE_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/strbuf.h"
#include "event.h"
#include "samples/word_codec.h"

struct sample_change {
	const uint32_t *gone;	/* indices of threads, below REC_THREAD_MAX */
	uint32_t ngone;
	uint32_t thread;	/* index of the sample's thread */
	struct word_change words;
};

/* The samples of a block. All borrowed. */
struct sample_block {
	struct cursor code;
	uint64_t symbols;	/* in it */
	bool plain;		/* as in nibble_dec_begin() */
	uint64_t n;		/* expected samples */
	bool has_marks;		/* of samples, in the block's switches: switch_dec_marks() */
	const struct ev_switch *marks;
	size_t nmarks;
};

/* How a sample's time, CPU and thread are coded. It is MARKS_NONE for all samples of a block or for none. */
enum sample_mark {
	MARKS_NONE,		/* the block has no marks */
	MARK_OTHER,		/* with the sample */
	MARK_NEXT,		/* as the next of the block's marks, which has the same */
};

struct sample_enc;
struct sample_dec;

/* @pages: limit of shadow pages (4 KiB of stack each) held at once, at least WORD_CODEC_PAGES. */
struct sample_enc *sample_enc_new(size_t pages);
void sample_enc_free(struct sample_enc *e);	/* accepts NULL */
/* Call it before anything else: samples have events and payloads (REC_VERSION). */
void sample_enc_events(struct sample_enc *e);
/* Call it before the first sample of a KEY block. */
void sample_enc_key(struct sample_enc *e);
/* True when the dictionaries are so large that the next block should be a KEY block. */
bool sample_enc_wants_key(const struct sample_enc *e);
/* Note the symbols of @s in @out, see nibble_codec.h. */
void sample_enc_add(struct sample_enc *e, const struct sample_in *s, enum sample_mark mark, struct strbuf *out);

struct sample_dec *sample_dec_new(void);
void sample_dec_free(struct sample_dec *d);	/* accepts NULL */
void sample_dec_events(struct sample_dec *d);	/* as sample_enc_events() */
void sample_dec_key(struct sample_dec *d);
/* Start on the samples of @b. Its code and marks must stay in place until they were taken. */
void sample_dec_block(struct sample_dec *d, const struct sample_block *b);
/*
 * Take the next sample. *@ev borrows from @d until the next call. 0, or -EINVAL when the code is
 * damaged: then @d is useless until sample_dec_key().
 */
int sample_dec_next(struct sample_dec *d, struct ev_sample *ev);
/*
 * What the sample taken last changed in the known stacks, for callers that keep a copy of them:
 * first threads are forgotten, then words of one thread change. Borrowed until the next call.
 */
const struct sample_change *sample_dec_change(struct sample_dec *d);
/*
 * The known stack words of the thread with this index; NULL: no such thread. Borrowed until the
 * next call.
 */
const struct shadow_thread *sample_dec_shadow(const struct sample_dec *d, uint32_t thread);
/* Were all samples in the code taken, and all marks? */
bool sample_dec_done(const struct sample_dec *d);

#endif
