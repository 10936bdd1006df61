/*
 * Reads a recording: from a file with pread(2), from a pipe by spooling it to an unlinked temporary
 * file. A cut or damaged file gives every whole block it has; what is missing is told by
 * rec_reader_damage(). Nothing in the file is trusted: each size is capped before use.
 */
#ifndef NSPROF_REC_READER_H
#define NSPROF_REC_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct rec_reader;

struct rec_damage {
	bool cut;			/* no END block: the recorder was stopped or the file cut */
	uint64_t cut_at;		/* file offset in bytes of the first byte that belongs to no whole block */
	uint64_t bad_blocks;		/* whole blocks whose checksum or content is wrong: skipped */
	uint64_t first_bad;		/* file offset of the first of them */
	uint64_t behind;		/* bytes behind the END block, which nobody reads: another recording, perhaps */
	uint64_t lost_samples;		/* samples in skipped blocks and in those that depend on them */
};

/*
 * @path "-" is standard input. NULL after one message that names the file and why it is not a
 * recording (missing, empty, foreign, newer version).
 */
struct rec_reader *rec_reader_open(const char *path);
/* The same of one event by its name, which matters to perf.data with several; NULL: the first that has samples. */
struct rec_reader *rec_reader_open_event(const char *path, const char *event);
/* What is read where nothing is named, as perf does it: standard input ("-") if that is a pipe, else "nsprof.data". */
const char *rec_reader_default(void);
/* What helps where @path cannot be opened, with errno @err, to be put behind the message: "; 'nsprof record' writes one", or "". Static. */
const char *rec_reader_open_hint(const char *path, int err);
/* Does a file that begins with these @n bytes look like one: a recording, or a perf.data, which is imported on the way? */
bool rec_reader_knows(const void *head, size_t n);
/* Does @dirfd look like a perf.data directory, of "perf record --threads"? */
bool rec_reader_knows_dir(int dirfd);
/* Is there a file or directory @path that one of these two knows, or a FIFO? */
bool rec_reader_knows_path(const char *path);
void rec_reader_close(struct rec_reader *r);

/* Setting @key ("event", "frequency", "hostname" ...), or NULL. Borrowed. */
const char *rec_reader_info(const struct rec_reader *r, const char *key);
/* Iterate all settings: start with *@it = 0; false at the end. */
bool rec_reader_info_next(const struct rec_reader *r, size_t *it, const char **key, const char **val);

/* One pass over all events; may be repeated. 0, a callback's non-zero return, or -EIO after a message. */
int rec_reader_events(struct rec_reader *r, const struct event_ops *ops, void *ctx);

/*
 * From the next block on passes over the events decode samples by a thread of their own, up to a thousand ahead of the
 * callback, unless no thread is to be had. What is called with what, and what is returned, stays the same. Between two
 * passes, or from event_ops.block.
 */
void rec_reader_work_ahead(struct rec_reader *r);

/*
 * Samples can be decoded from some blocks on without those before; from one such block to the next is
 * a part. How many there are, at least 1, and in *@samples how many samples the file says it has.
 */
uint32_t rec_reader_parts(struct rec_reader *r, uint64_t *samples);
/*
 * Another reader of the same file, for another thread. What it is told by is the events, captures and
 * damage; settings it has none. Own with rec_reader_close(). NULL: no file descriptor is left.
 */
struct rec_reader *rec_reader_again(const struct rec_reader *r);
/* Several readers each read some parts, and all together each part once: @r's damage becomes that of all. */
void rec_reader_join_damage(struct rec_reader *r, struct rec_reader *const *others, size_t n);

/* One pass over the captures only. Borrowed data, valid during the callback. */
int rec_reader_captures(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap), void *ctx);
/* The same, with slices packed as they are in the file: slice_codec.h unpacks them. */
int rec_reader_captures_packed(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap), void *ctx);

/* The ledger, or false when the recording was cut before it. */
bool rec_reader_ledger(struct rec_reader *r, struct ev_ledger *out);

/*
 * One pass over the rows of the tally, or of the kernel's counts, in the order of the file. Damaged
 * blocks are left out: rec_reader_events() counts them. 0, a callback's non-zero return, or -EIO after
 * a message.
 */
int rec_reader_tally(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_tally *row), void *ctx);
int rec_reader_counts(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_counts *row), void *ctx);

/* When the recording was begun, ns of CLOCK_MONOTONIC: the times of events are relative to it. */
uint64_t rec_reader_start(const struct rec_reader *r);

/* Complete after the first whole pass over the events. */
const struct rec_damage *rec_reader_damage(const struct rec_reader *r);
/* "recording is cut after 12.3 MB ..." as a warning, or nothing. */
void rec_reader_warn_damage(const struct rec_reader *r);
/* Whether all that was written is there and was read; if not, it is said as above. */
bool rec_reader_check_whole(const struct rec_reader *r);
uint64_t rec_reader_size(const struct rec_reader *r);	/* bytes in the file */

#endif
