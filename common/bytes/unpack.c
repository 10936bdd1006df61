/*
 * Compressed sections (unpack.h). Of a zlib stream we get bytes in order, as many at a time as are wanted, and those before
 * damage; zstd is fast enough to unpack all at once. The file is read, not mapped: whose it is may cut it meanwhile.
 */
#include "bytes/unpack.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/codec.h"
#include "bytes/codec_inflate.h"
#include "host/pages.h"

#define PIECE (128u << 10)	/* bytes unpacked at a time: half a millisecond */
#define INPUT (64u << 10)	/* bytes of zlib's read at a time: they stay in the CPU's cache */

struct unpack {
	bool zstd;
	struct unpack_from from;
	struct inflate_dec *zlib;	/* owned; NULL: not begun */
	uint8_t *input;		/* owned; INPUT bytes of the file */
	size_t read;		/* bytes of @from that were given to @zlib */
	uint8_t *out;		/* borrowed */
	size_t size;
	pthread_mutex_t lock;	/* for what follows */
	pthread_cond_t change;
	size_t have;		/* bytes of @out */
	bool ended;		/* no more to come */
	bool busy;		/* somebody is at the stream */
};

struct unpack *unpack_new(bool zstd, const struct unpack_from *from, uint8_t *out, size_t size)
{
	struct unpack *u = xcalloc(1, sizeof(*u));

	*u = (struct unpack){ .zstd = zstd, .from = *from, .out = out, .size = size };
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->change, NULL);
	return u;
}

/* @len bytes of @from at @at, which end in it, to @to. False: the file does not have them. */
static bool read_from(const struct unpack_from *from, size_t at, uint8_t *to, size_t len)
{
	while (len) {
		ssize_t n = pread(from->fd, to, len, (off_t)(from->off + at));

		if (n <= 0)
			return false;
		at += (size_t)n;
		to += n;
		len -= (size_t)n;
	}
	return true;
}

/* What zlib has next; *@len 0: nothing. */
static const uint8_t *next_input(struct unpack *u, size_t *len)
{
	size_t at = u->read;

	*len = MIN(u->from.size - at, INPUT);
	u->read += *len;
	if (u->from.mem)
		return u->from.mem + at;
	if (!u->input)
		u->input = xmalloc(INPUT);
	if (!read_from(&u->from, at, u->input, *len))
		*len = 0;
	return u->input;
}

/* Up to @room bytes to @out; how many. */
static size_t next_of_zlib(struct unpack *u, uint8_t *out, size_t room)
{
	const uint8_t *in;
	size_t n = 0, len;

	if (!u->zlib) {
		in = next_input(u, &len);
		u->zlib = inflate_dec_new(in, len);
	}
	while (u->zlib) {
		n += inflate_dec_next(u->zlib, out + n, room - n);
		if (n == room || !inflate_dec_hungry(u->zlib))
			break;
		in = next_input(u, &len);
		if (!len)
			break;
		inflate_dec_feed(u->zlib, in, len);
	}
	return n;
}

/* All of a zstd stream to @u->out; how many bytes: all or none. */
static size_t all_of_zstd(struct unpack *u)
{
	uint8_t *copy = u->from.mem ? NULL : xmalloc(u->from.size ? u->from.size : 1);
	const uint8_t *in = copy ? copy : u->from.mem;
	struct codec_dec *dec = codec_dec_new();
	bool ok = !copy || read_from(&u->from, 0, copy, u->from.size);

	ok = ok && !codec_decompress(dec, u->out, u->size, in, u->from.size);
	codec_dec_free(dec);
	free(copy);
	return ok ? u->size : 0;
}

/* One piece behind the first @have bytes: how many bytes; 0: there are no more. */
static size_t next_piece(struct unpack *u, size_t have)
{
	size_t room = MIN(u->size - have, PIECE);

	if (u->zstd)
		return all_of_zstd(u);
	pages_populate(u->out + have, room);
	return next_of_zlib(u, u->out + have, room);
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

size_t unpack_have(struct unpack *u)
{
	size_t have;

	pthread_mutex_lock(&u->lock);
	have = u->have;
	pthread_mutex_unlock(&u->lock);
	return have;
}

void unpack_free(struct unpack *u)
{
	if (!u)
		return;
	inflate_dec_free(u->zlib);
	free(u->input);
	pthread_mutex_destroy(&u->lock);
	pthread_cond_destroy(&u->change);
	free(u);
}
