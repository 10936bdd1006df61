/*
 * Compressed sections (unpack.h). Of a zlib stream we get bytes in order, as many at a time as are wanted, and those before
 * damage; zstd is fast enough to unpack all at once.
 */
#include "unpack.h"

#include <pthread.h>
#include <stdlib.h>

#include "codec.h"
#include "codec_inflate.h"
#include "pages.h"
#include "util.h"
#include "xalloc.h"

#define PIECE (128u << 10)	/* bytes unpacked at a time: half a millisecond */

struct unpack {
	struct inflate_dec *zlib;	/* owned; NULL: zstd */
	const uint8_t *in;	/* borrowed */
	size_t in_size;
	uint8_t *out;		/* borrowed */
	size_t size;
	pthread_mutex_t lock;	/* for what follows */
	pthread_cond_t change;
	size_t have;		/* bytes of @out */
	bool ended;		/* no more to come */
	bool busy;		/* somebody is at the stream */
};

struct unpack *unpack_new(bool zstd, const uint8_t *in, size_t in_size, uint8_t *out, size_t size)
{
	struct inflate_dec *zlib = zstd ? NULL : inflate_dec_new(in, in_size);
	struct unpack *u;

	if (!zstd && !zlib)
		return NULL;
	u = xcalloc(1, sizeof(*u));
	*u = (struct unpack){ .zlib = zlib, .in = in, .in_size = in_size, .out = out, .size = size };
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->change, NULL);
	return u;
}

/* One piece behind the first @have bytes: how many bytes; 0: there are no more. */
static size_t next_piece(struct unpack *u, size_t have)
{
	struct codec_dec *dec;
	int ret;

	if (u->zlib) {
		size_t room = MIN(u->size - have, PIECE);

		pages_populate(u->out + have, room);
		return inflate_dec_next(u->zlib, u->out + have, room);
	}
	dec = codec_dec_new();
	ret = codec_decompress(dec, u->out, u->size, u->in, u->in_size);
	codec_dec_free(dec);
	return ret ? 0 : u->size;
}

/* With the lock held, which is let go meanwhile, and nobody else busy. */
static void step(struct unpack *u)
{
	size_t have = u->have, n;

	u->busy = true;
	pthread_mutex_unlock(&u->lock);
	n = next_piece(u, have);
	pthread_mutex_lock(&u->lock);
	u->have += n;
	u->ended = !n || u->have == u->size;
	u->busy = false;
	pthread_cond_broadcast(&u->change);
}

bool unpack_upto(struct unpack *u, size_t end)
{
	bool ok;

	pthread_mutex_lock(&u->lock);
	while (u->have < end && !u->ended) {
		if (u->busy)
			pthread_cond_wait(&u->change, &u->lock);
		else
			step(u);
	}
	ok = u->have >= end;
	pthread_mutex_unlock(&u->lock);
	return ok;
}

bool unpack_some(struct unpack *u)
{
	bool more;

	pthread_mutex_lock(&u->lock);
	if (u->busy)
		pthread_cond_wait(&u->change, &u->lock);
	else if (!u->ended)
		step(u);
	more = !u->ended;
	pthread_mutex_unlock(&u->lock);
	return more;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	inflate_dec_free(u->zlib);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->change);
	free(u);
}
