/*
 * Finds and reads the blocks of a recording: by the index in the END block, else from header to
 * header. After damage it searches for the next block with a correct checksum.
 */
#ifndef NSPROF_REC_SCAN_H
#define NSPROF_REC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bytes/codec.h"
#include "recording.h"

struct rec_block {
	uint64_t off;		/* file offset in bytes of the block header */
	uint32_t samples;	/* as stated by the header or the index */
	uint32_t seq;
	uint16_t type, flags;
};

/* A buffer for one block. Zeroed: empty. */
struct rec_buf {
	void *data;		/* owned */
	size_t cap;
};

struct rec_file {
	int fd;			/* borrowed; can be read at any offset */
	uint64_t size;		/* bytes */
	struct rec_block *blk;	/* owned; in file order, without END */
	size_t nblk, cap;
	bool complete;		/* an END block was found */
	uint64_t cut_at;	/* !complete: where the whole blocks end */
	uint64_t bad;		/* damaged stretches with blocks after them */
	uint64_t first_bad;	/* file offset of the first of them */
	struct codec_dec *codec;	/* owned */
	struct rec_buf buf, raw;	/* payload of the block read last, and decompressed */
	uint64_t behind;	/* complete: bytes after the end, e.g. another recording appended */
	uint64_t budget;	/* bytes that the search for blocks may still check */
};

void rec_file_init(struct rec_file *f, int fd, uint64_t size);
void rec_file_fini(struct rec_file *f);
/* Copies @from for another thread: the same file (by @fd) and table of blocks. */
void rec_file_copy(struct rec_file *f, const struct rec_file *from, int fd);

/* Fill the table of blocks. @start: file offset of the first one. 0 or negative errno of a read. */
int rec_scan(struct rec_file *f, uint64_t start);

/*
 * Read the block at @off. *@payload: its h->stored_len bytes, borrowed until the next call. 0;
 * -EBADMSG when it is not a whole, valid block; or negative errno of a read.
 */
int rec_block_load(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		   const void **payload);
/* The same into @buf, from which *@payload is borrowed. */
int rec_block_load_to(struct rec_file *f, uint64_t off, struct rec_buf *buf, struct rec_block_header *h,
		      const void **payload);
void rec_buf_fini(struct rec_buf *buf);
/* As rec_block_load() for any type but STREAM, decompressed: h->raw_len bytes. */
int rec_block_load_raw(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		       const void **raw);

/* All @len bytes at @off. 0, -EBADMSG at the end of the file, or negative errno. */
int rec_pread(int fd, void *buf, size_t len, uint64_t off);

#endif
