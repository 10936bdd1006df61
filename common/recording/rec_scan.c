#include "recording/rec_scan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "base/xalloc.h"
#include "bytes/crc32c.h"

#define SEARCH_CHUNK (256u << 10)
/* Fewest bytes of columns that a sample takes: flags, cpu, time, thread, chain. */
#define SAMPLE_MIN 5u

void rec_file_init(struct rec_file *f, int fd, uint64_t size)
{
	memset(f, 0, sizeof(*f));
	f->fd = fd;
	f->size = size;
	f->codec = codec_dec_new();
	/* Enough for any search in a file that is not malicious; see search(). */
	f->budget = size > UINT64_MAX / 8 ? size : 4 * size + REC_BLOCK_MAX;
}

void rec_file_fini(struct rec_file *f)
{
	codec_dec_free(f->codec);
	free(f->blk);
	rec_buf_fini(&f->buf);
	rec_buf_fini(&f->raw);
}

void rec_file_copy(struct rec_file *f, const struct rec_file *from, int fd)
{
	rec_file_init(f, fd, from->size);
	if (from->nblk) {
		f->blk = xmemdup(from->blk, from->nblk * sizeof(*f->blk));
		f->nblk = f->cap = from->nblk;
	}
	f->complete = from->complete;
	f->cut_at = from->cut_at;
	f->bad = from->bad;
	f->first_bad = from->first_bad;
	f->behind = from->behind;
}

int rec_pread(int fd, void *buf, size_t len, uint64_t off)
{
	char *p = buf;

	while (len) {
		ssize_t n = pread(fd, p, len, (off_t)off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!n)		/* the file became shorter meanwhile */
			return -EBADMSG;
		p += n;
		off += (uint64_t)n;
		len -= (size_t)n;
	}
	return 0;
}

/* Checks everything in a header but its checksum. -EBADMSG: there is no header at @off. */
static int read_header(const struct rec_file *f, uint64_t off, struct rec_block_header *h)
{
	int err;

	if (off > f->size || f->size - off < sizeof(*h))
		return -EBADMSG;
	err = rec_pread(f->fd, h, sizeof(*h), off);
	if (err)
		return err;
	if (h->magic != REC_BLOCK_MAGIC || h->raw_len > REC_BLOCK_MAX ||
	    h->stored_len > REC_BLOCK_MAX || h->samples > h->raw_len / SAMPLE_MIN ||
	    h->stored_len > f->size - off - sizeof(*h))
		return -EBADMSG;
	return 0;
}

static void reserve(struct rec_buf *buf, size_t len)
{
	if (buf->cap > len)
		return;
	buf->cap = len + 4096;	/* never NULL, not even for an empty payload */
	buf->data = xrealloc(buf->data, buf->cap);
}

void rec_buf_fini(struct rec_buf *buf)
{
	free(buf->data);
	*buf = (struct rec_buf){ 0 };
}

int rec_block_load_to(struct rec_file *f, uint64_t off, struct rec_buf *buf, struct rec_block_header *h,
		      const void **payload)
{
	struct rec_block_header zeroed;
	uint32_t crc;
	int err = read_header(f, off, h);

	if (err)
		return err;
	reserve(buf, h->stored_len);
	err = rec_pread(f->fd, buf->data, h->stored_len, off + sizeof(*h));
	if (err)
		return err;
	zeroed = *h;
	zeroed.crc = 0;
	crc = crc32c(crc32c(0, &zeroed, sizeof(zeroed)), buf->data, h->stored_len);
	*payload = buf->data;
	return crc == h->crc ? 0 : -EBADMSG;
}

int rec_block_load(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		   const void **payload)
{
	return rec_block_load_to(f, off, &f->buf, h, payload);
}

int rec_block_load_raw(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		       const void **raw)
{
	int err = rec_block_load(f, off, h, raw);

	if (err)
		return err;
	if (!(h->flags & REC_F_ZSTD))
		return h->raw_len == h->stored_len ? 0 : -EBADMSG;
	reserve(&f->raw, h->raw_len);
	if (codec_decompress(f->codec, f->raw.data, h->raw_len, f->buf.data, h->stored_len))
		return -EBADMSG;
	*raw = f->raw.data;
	return 0;
}

static void add_block(struct rec_file *f, uint64_t off, const struct rec_block_header *h)
{
	XGROW(f->blk, f->nblk, f->cap);
	f->blk[f->nblk++] = (struct rec_block){
		.off = off,
		.samples = h->samples,
		.seq = h->seq,
		.type = h->type,
		.flags = h->flags,
	};
}

/*
 * Is there a valid block at @off? A malicious file could be full of headers that each require
 * checking 16 MiB. When the budget for that is spent, the answer is no.
 */
static bool sound(struct rec_file *f, uint64_t off)
{
	struct rec_block_header h;
	const void *payload;

	if (read_header(f, off, &h) || h.stored_len > f->budget)
		return false;
	f->budget -= h.stored_len;
	return !rec_block_load(f, off, &h, &payload);
}

/*
 * Find the first valid block at or after @from. 0 with *@found, -EBADMSG when there is none, or
 * negative errno.
 */
static int search(struct rec_file *f, uint64_t from, uint64_t *found)
{
	static const uint32_t magic = REC_BLOCK_MAGIC;
	char *chunk = xmalloc(SEARCH_CHUNK);
	int err = -EBADMSG;

	while (f->size > from && f->size - from >= sizeof(struct rec_block_header)) {
		size_t n = MIN(f->size - from, (uint64_t)SEARCH_CHUNK);
		char *p = chunk;

		err = rec_pread(f->fd, chunk, n, from);
		if (err)
			break;
		while ((p = memmem(p, n - (size_t)(p - chunk), &magic, sizeof(magic)))) {
			*found = from + (uint64_t)(p - chunk);
			if (sound(f, *found))
				goto out;
			p++;
		}
		err = -EBADMSG;
		from += n - (sizeof(magic) - 1);	/* a magic may lie across two chunks */
	}
out:
	free(chunk);
	return err;
}

/* The END block at @off, whose header is @h, is the last of this recording. */
static void found_end(struct rec_file *f, uint64_t off, const struct rec_block_header *h)
{
	const uint64_t end = off + sizeof(*h) + h->stored_len + sizeof(struct rec_trailer);

	f->complete = true;
	f->behind = f->size > end ? f->size - end : 0;
}

/* Walks from header to header; whoever reads a block checks its checksum. */
static int walk(struct rec_file *f, uint64_t off)
{
	bool follows = false;		/* @off is where the table's last block ends */

	while (off < f->size) {
		struct rec_block_header h;
		const void *payload;
		int err = read_header(f, off, &h);

		if (!err && h.type == REC_END && !rec_block_load(f, off, &h, &payload)) {
			found_end(f, off, &h);
			return 0;
		}
		if (!err) {
			add_block(f, off, &h);
			off += sizeof(h) + h.stored_len;
			follows = true;
			continue;
		}
		if (err != -EBADMSG)
			return err;
		/*
		 * Either this header is damaged, or the length in the previous one, which led here.
		 */
		if (follows && rec_block_load(f, f->blk[f->nblk - 1].off, &h, &payload))
			off = f->blk[--f->nblk].off;
		follows = false;
		f->cut_at = off;
		err = search(f, off + 1, &off);
		if (err)
			return err == -EBADMSG ? 0 : err;
		if (!f->bad++)
			f->first_bad = f->cut_at;
	}
	f->cut_at = off;
	return 0;
}

/* Fill the table from the index. False, with an empty table: there is no consistent index. */
static bool use_index(struct rec_file *f, uint64_t start)
{
	struct rec_block_header h;
	struct rec_index_entry e;
	struct rec_trailer t;
	const void *raw;
	const char *p;

	if (f->size < start + sizeof(t) || rec_pread(f->fd, &t, sizeof(t), f->size - sizeof(t)) ||
	    memcmp(t.magic, REC_TRAILER_MAGIC, sizeof(t.magic)) || t.end_off > f->size)
		return false;
	if (rec_block_load_raw(f, t.end_off, &h, &raw) || h.type != REC_END ||
	    h.raw_len != (uint64_t)h.seq * sizeof(e))
		return false;
	p = raw;
	for (uint32_t i = 0; i < h.seq; i++, p += sizeof(e)) {
		struct rec_block_header b = { .seq = i };

		memcpy(&e, p, sizeof(e));
		if (e.off < start || e.off > t.end_off) {
			f->nblk = 0;
			return false;
		}
		b.samples = e.samples;
		b.type = e.type;
		b.flags = e.flags;
		add_block(f, e.off, &b);
		start = e.off + sizeof(b);
	}
	found_end(f, t.end_off, &h);
	return true;
}

int rec_scan(struct rec_file *f, uint64_t start)
{
	return use_index(f, start) ? 0 : walk(f, start);
}
