/*
 * A queue of packed slices and a thread that unpacks them (slice_unpack.h). If the binary itself is
 * found, only the names of its slice are needed. Once one binary is gone, others may be, too: from
 * then on the thread works ahead.
 */
#include "modules/slice_unpack.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "base/xalloc.h"
#include "slice/slice_codec.h"

enum state { SLICE_PACKED, SLICE_BUSY, SLICE_DONE };

struct slice {
	struct slices *of;
	struct slice *next;	/* in the queue */
	struct slice *before;
	enum state state;
	bool left;		/* the thread skips it */
	void *packed;		/* owned */
	size_t packed_size;
	uint64_t size;
	struct strbuf data;	/* empty if it is damaged */
	struct strbuf names;	/* the same, without call frame information */
};

struct slices {
	struct slice *first, **last;	/* all slices */
	struct slice_dec *dec;	/* owned, 1 MiB; NULL: in use, or not made yet */
	struct slice *at;	/* all slices before this one are unpacked or skipped */
	bool ahead, started, stop;
	pthread_t tid;
	pthread_mutex_t lock;	/* protects the state of all slices and their links */
	pthread_cond_t change;
};

struct slices *slices_new(bool ahead)
{
	struct slices *s = xcalloc(1, sizeof(*s));

	s->last = &s->first;
	s->ahead = ahead;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->change, NULL);
	return s;
}

typedef int (*unpack_fn)(struct slice_dec *d, const void *data, size_t len, uint64_t size, struct strbuf *out);

/* Called with the lock held; releases it while it works. */
static void unpack(struct slice *sl, unpack_fn fn, struct strbuf *out)
{
	struct slices *s = sl->of;
	struct slice_dec *dec = s->dec;

	s->dec = NULL;
	pthread_mutex_unlock(&s->lock);
	if (!dec)
		dec = slice_dec_new();
	if (fn(dec, sl->packed, sl->packed_size, sl->size, out))
		strbuf_reset(out);
	pthread_mutex_lock(&s->lock);
	if (s->dec)
		slice_dec_free(dec);
	else
		s->dec = dec;
}

static void unpack_whole(struct slice *sl)
{
	sl->state = SLICE_BUSY;
	unpack(sl, slice_unpack, &sl->data);
	sl->state = SLICE_DONE;
	pthread_cond_broadcast(&sl->of->change);
}

static void *run_ahead(void *arg)
{
	struct slices *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop) {
		struct slice *sl = s->at;

		if (!sl) {
			pthread_cond_wait(&s->change, &s->lock);
			continue;
		}
		if (sl->state == SLICE_PACKED && !sl->left)
			unpack_whole(sl);
		s->at = sl->next;
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

struct slice *slices_add(struct slices *s, const struct capture *cap, struct slice *before)
{
	struct slice *sl = xcalloc(1, sizeof(*sl));

	*sl = (struct slice){ .of = s, .before = before, .packed_size = cap->packed, .size = cap->size };
	sl->packed = xmemdup(cap->data, cap->packed);
	pthread_mutex_lock(&s->lock);
	*s->last = sl;
	s->last = &sl->next;
	if (!s->at)
		s->at = sl;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	return sl;
}

const void *slices_wait(struct slice *sl, size_t *size)
{
	struct slices *s = sl->of;

	pthread_mutex_lock(&s->lock);
	if (s->ahead && !s->started && (s->first != sl || sl->next))
		s->started = !pthread_create(&s->tid, NULL, run_ahead, s);
	if (sl->state == SLICE_PACKED)
		unpack_whole(sl);
	while (sl->state != SLICE_DONE)
		pthread_cond_wait(&s->change, &s->lock);
	pthread_mutex_unlock(&s->lock);
	*size = sl->data.len;
	return sl->data.len ? sl->data.s : NULL;
}

const void *slices_names(struct slice *sl, size_t *size)
{
	struct slices *s = sl->of;
	const struct strbuf *data;

	pthread_mutex_lock(&s->lock);
	while (sl->state == SLICE_BUSY)
		pthread_cond_wait(&s->change, &s->lock);
	data = sl->state == SLICE_DONE ? &sl->data : &sl->names;
	if (data == &sl->names && !data->len)
		unpack(sl, slice_unpack_names, &sl->names);
	pthread_mutex_unlock(&s->lock);
	*size = data->len;
	return data->len ? data->s : NULL;
}

void slices_leave(struct slice *sl)
{
	struct slices *s = sl->of;

	pthread_mutex_lock(&s->lock);
	for (; sl; sl = sl->before)
		sl->left = true;
	pthread_mutex_unlock(&s->lock);
}

struct slice *slices_before(const struct slice *sl)
{
	return sl->before;
}

void slices_free(struct slices *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_broadcast(&s->change);
	pthread_mutex_unlock(&s->lock);
	if (s->started)
		pthread_join(s->tid, NULL);
	while (s->first) {
		struct slice *sl = s->first;

		s->first = sl->next;
		strbuf_fini(&sl->data);
		strbuf_fini(&sl->names);
		free(sl->packed);
		free(sl);
	}
	slice_dec_free(s->dec);
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->change);
	free(s);
}
