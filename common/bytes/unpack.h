/* One compressed section, unpacked from its front as far as somebody wants it. */
#ifndef NSPROF_UNPACK_H
#define NSPROF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

/* Where a stream is, as it stands behind the section's header. */
struct unpack_from {
	const uint8_t *mem;	/* NULL: in the file @fd */
	int fd;
	uint64_t off;		/* bytes, in the file */
	size_t size;		/* bytes */
};

/*
 * The stream @from, @zstd or else zlib, into @out, which has room for @size bytes. Memory, file and @out are borrowed until
 * unpack_free(). What is no such stream has no bytes.
 */
struct unpack *unpack_new(bool zstd, const struct unpack_from *from, uint8_t *out, size_t size);
/*
 * Have the first @end bytes in @out, by any thread; what is behind them may be there as well. False when
 * the stream is damaged or ends before them.
 */
bool unpack_upto(struct unpack *u, size_t end);
/* A little more than there is. False when there is no more. */
bool unpack_some(struct unpack *u);
/* Bytes that are there by now. */
size_t unpack_have(struct unpack *u);
void unpack_free(struct unpack *u);	/* accepts NULL */

#endif
