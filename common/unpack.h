/* One compressed section, unpacked from its front as far as somebody wants it. */
#ifndef NSPROF_UNPACK_H
#define NSPROF_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

/*
 * The stream @in as it stands behind the section's header, @zstd or else zlib, into @out, which has room
 * for @size bytes. Both are borrowed until unpack_free(). NULL: it is no such stream.
 */
struct unpack *unpack_new(bool zstd, const uint8_t *in, size_t in_size, uint8_t *out, size_t size);
/*
 * Have the first @end bytes in @out, by any thread; what is behind them may be there as well. False when
 * the stream is damaged or ends before them.
 */
bool unpack_upto(struct unpack *u, size_t end);
/* A little more than there is. False when there is no more. */
bool unpack_some(struct unpack *u);
void unpack_free(struct unpack *u);	/* accepts NULL */

#endif
