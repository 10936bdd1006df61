/*
 * Compressed sections (unpack.h). A zlib stream is unpacked in order, as far as needed, and up to
 * the first damage. zstd is fast enough to unpack everything at once. The file is read and not
 * mapped, because its owner may truncate it meanwhile.
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
/* bytes of zlib input read at a time: they stay in the CPU's cache */
#define INPUT (64u << 10)

struct unpack {
	bool zstd;
	struct unpack_from from;
	struct inflate_dec *zlib;	/* owned; NULL: not started */
	uint8_t *input;		/* owned; INPUT bytes of the file */
	size_t read;		/* bytes of @from that were passed to @zlib */
	uint8_t *out;		/* borrowed */
	size_t size;
	pthread_mutex_t lock;	/* protects what follows */
	pthread_cond_t change;
	size_t have;		/* bytes ready in @out */
	bool ended;		/* no more bytes will come */
	bool busy;		/* a thread is unpacking */
};

struct unpack *unpack_new(bool zstd, const struct unpack_from *from, uint8_t *out, size_t size)
{
	struct unpack *u = xcalloc(1, sizeof(*u));

	*u = (struct unpack){ .zstd = zstd, .from = *from, .out = out, .size = size };
	pthread_mutex_init(&u->lock, NULL);
	pthread_cond_init(&u->change, NULL);
	return u;
}

/*
 * Reads @len bytes of @from, starting at @at, to @to. The caller makes sure that they end within
 * @from. False: the file is too short.
 */
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

/* The next input for zlib; *@len is 0 if there is none. */
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

/* Unpacks up to @room bytes to @out and returns their number. */
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

/* Unpacks a whole zstd stream to @u->out. Returns the number of bytes: all or 0. */
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

/* Unpacks one piece behind the first @have bytes and returns its size; 0: there are no more. */
static size_t next_piece(struct unpack *u, size_t have)
{
	size_t room = MIN(u->size - have, PIECE);

	if (u->zstd)
		return all_of_zstd(u);
	pages_populate(u->out + have, room);
	return next_of_zlib(u, u->out + have, room);
}

/* The lock is held on entry and on return, and released meanwhile. No other thread may be busy. */
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
