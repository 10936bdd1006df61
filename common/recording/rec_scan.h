/*
 * Finds and reads the blocks of a recording: by the index in the END block, else from header to
 * header, and where something is damaged by looking for the next block whose checksum is right.
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
	uint32_t samples;	/* as the header or the index says */
	uint32_t seq;
	uint16_t type, flags;
};

/* Where a block is read to. Zeroed: none yet. */
struct rec_buf {
	void *data;		/* owned */
	size_t cap;
};

struct rec_file {
	int fd;			/* borrowed; can be read at any offset */
	uint64_t size;		/* bytes */
	struct rec_block *blk;	/* owned; in the order of the file, END not included */
	size_t nblk, cap;
	bool complete;		/* an END block was found */
	uint64_t cut_at;	/* !complete: first byte that belongs to no whole block */
	uint64_t bad;		/* stretches that are no block, though blocks follow */
	uint64_t first_bad;	/* file offset of the first of them */
	struct codec_dec *codec;	/* owned */
	struct rec_buf buf, raw;	/* payload of the block read last, and decompressed */
	uint64_t behind;	/* complete: bytes behind the end, as of another recording appended to this one */
	uint64_t budget;	/* bytes that may still be checked in the search for blocks */
};

void rec_file_init(struct rec_file *f, int fd, uint64_t size);
void rec_file_fini(struct rec_file *f);
/* The same file and table, for another thread. */
void rec_file_copy(struct rec_file *f, const struct rec_file *from, int fd);

/* Fill the table of blocks. @start: file offset of the first one. 0 or negative errno of a read. */
int rec_scan(struct rec_file *f, uint64_t start);

/*
 * Read the block at @off. *@payload: its h->stored_len bytes, borrowed until the next call. 0;
 * -EBADMSG when it is not a whole and sound block; or negative errno of a read.
 */
int rec_block_load(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		   const void **payload);
/* The same to @buf, borrowed from there. */
int rec_block_load_to(struct rec_file *f, uint64_t off, struct rec_buf *buf, struct rec_block_header *h,
		      const void **payload);
void rec_buf_fini(struct rec_buf *buf);
/* As rec_block_load() for any type but STREAM, decompressed: h->raw_len bytes. */
int rec_block_load_raw(struct rec_file *f, uint64_t off, struct rec_block_header *h,
		       const void **raw);

/* All @len bytes at @off. 0, -EBADMSG at the end of the file, or negative errno. */
int rec_pread(int fd, void *buf, size_t len, uint64_t off);

#endif
