/* One compressed section, unpacked from its start as far as a caller needs it. */
#ifndef NSPROF_UNPACK_H
#define NSPROF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

/* Where the compressed stream is, without the section's header. */
struct unpack_from {
	const uint8_t *mem;	/* NULL: in the file @fd */
	int fd;
	uint64_t off;		/* bytes, in the file */
	size_t size;		/* bytes */
};

/*
 * Unpacks the stream @from (@zstd, otherwise zlib) into @out, which has room for @size bytes.
 * Memory, file and @out are borrowed until unpack_free(). Anything that is not such a stream yields
 * no bytes.
 */
struct unpack *unpack_new(bool zstd, const struct unpack_from *from, uint8_t *out, size_t size);
/*
 * Makes sure that the first @end bytes are in @out; more may follow them. Any thread may call this.
 * False if the stream is damaged or ends before @end.
 */
bool unpack_upto(struct unpack *u, size_t end);
/* Unpacks a little more. False when there is no more. */
bool unpack_some(struct unpack *u);
/* The number of bytes in @out now. */
size_t unpack_have(struct unpack *u);
void unpack_free(struct unpack *u);	/* accepts NULL */

#endif
