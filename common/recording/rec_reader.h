/*
 * Reads a recording: a file with pread(2), a pipe by spooling it to an unlinked temporary file.
 * From a cut or damaged file it reads every whole block; rec_reader_damage() reports what is
 * missing. Nothing in the file is trusted: each size is capped before use.
 */
#ifndef NSPROF_REC_READER_H
#define NSPROF_REC_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct rec_reader;

struct rec_damage {
	bool cut;			/* no END block: recorder killed or file cut */
	uint64_t cut_at;		/* file offset in bytes where the whole blocks end */
	uint64_t bad_blocks;		/* whole blocks with a wrong checksum or content: skipped */
	uint64_t first_bad;		/* file offset of the first of them */
	uint64_t behind;		/* bytes after the END block, unread: perhaps a recording */
	uint64_t lost_samples;		/* samples in skipped blocks and in their dependents */
};

/*
 * @path "-" is standard input. NULL after one message that names the file and says why it is not a
 * recording (missing, empty, foreign, newer version).
 */
struct rec_reader *rec_reader_open(const char *path);
/*
 * The same, with an event that the user named, or NULL in *@event: a perf.data is imported with only
 * this event. Then *@event becomes NULL; otherwise the caller finds it in the recording
 * (rec_events.h).
 */
struct rec_reader *rec_reader_open_event(const char *path, const char **event);
/* The default input, as in perf: standard input ("-") if that is a pipe, else "nsprof.data". */
const char *rec_reader_default(void);
/*
 * Advice to append to the message when @path cannot be opened with errno @err: "; 'nsprof record'
 * writes one", or "". Static.
 */
const char *rec_reader_open_hint(const char *path, int err);
/*
 * Do these first @n bytes of a file look like a recording, or a perf.data, which is imported on the
 * way?
 */
bool rec_reader_knows(const void *head, size_t n);
/* Does @dirfd look like a perf.data directory of "perf record --threads"? */
bool rec_reader_knows_dir(int dirfd);
/* Is @path a FIFO, or a file or directory that one of these two functions recognizes? */
bool rec_reader_knows_path(const char *path);
void rec_reader_close(struct rec_reader *r);

/* The value of setting @key ("event", "frequency", "hostname" ...), or NULL. Borrowed. */
const char *rec_reader_info(const struct rec_reader *r, const char *key);
/* Iterate over all settings: start with *@it = 0; false at the end. */
bool rec_reader_info_next(const struct rec_reader *r, size_t *it, const char **key, const char **val);

/*
 * One pass over all events; may be repeated. 0, a callback's non-zero return, or -EIO after a
 * message.
 */
int rec_reader_events(struct rec_reader *r, const struct event_ops *ops, void *ctx);

/*
 * From the next block on, passes over the events decode samples in a thread, up to a thousand
 * samples ahead of the callbacks, if a thread can be created. Callbacks and results stay the same.
 * Call it between two passes or from event_ops.block.
 */
void rec_reader_work_ahead(struct rec_reader *r);

/*
 * A part begins with a block whose samples can be decoded without the blocks before, and ends
 * before the next such block. Returns the number of parts, at least 1. *@samples: the number of
 * samples that the file states.
 */
uint32_t rec_reader_parts(struct rec_reader *r, uint64_t *samples);
/*
 * Another reader of the same file, for another thread. It delivers events, captures and damage, but
 * has no settings. Own with rec_reader_close(). NULL: no file descriptor is left.
 */
struct rec_reader *rec_reader_again(const struct rec_reader *r);
/* When several readers have together read each part once: @r's damage becomes that of all. */
void rec_reader_join_damage(struct rec_reader *r, struct rec_reader *const *others, size_t n);

/* One pass over the captures only. Borrowed data, valid during the callback. */
int rec_reader_captures(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap), void *ctx);
/* The same, but slices stay packed as in the file: slice_codec.h unpacks them. */
int rec_reader_captures_packed(struct rec_reader *r, int (*fn)(void *ctx, const struct capture *cap), void *ctx);

/* The ledger. False when the recording was cut before it. */
bool rec_reader_ledger(struct rec_reader *r, struct ev_ledger *out);
/* Were wake-ups lost (cpu_times.h)? True if there is no ledger. */
bool rec_reader_misses_wakeups(struct rec_reader *r);

/*
 * One pass over the rows of the tally, or of the kernel's counts, in file order. Damaged blocks are
 * left out; rec_reader_events() counts them. 0, a callback's non-zero return, or -EIO after a
 * message.
 */
int rec_reader_tally(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_tally *row), void *ctx);
int rec_reader_counts(struct rec_reader *r, int (*fn)(void *ctx, const struct ev_counts *row), void *ctx);

/* The version of the format: REC_VERSION, or REC_VERSION_PLAIN if there is one plain event. */
uint32_t rec_reader_version(const struct rec_reader *r);
/* When the recording began, ns of CLOCK_MONOTONIC. Output shows event times relative to it. */
uint64_t rec_reader_start(const struct rec_reader *r);

/* Complete after the first whole pass over the events. */
const struct rec_damage *rec_reader_damage(const struct rec_reader *r);
/* Warns "recording is cut after 12.3 MB ..." if there is damage. */
void rec_reader_warn_damage(const struct rec_reader *r);
/* Is everything that was written here, and was it read? If not, it warns as above. */
bool rec_reader_check_whole(const struct rec_reader *r);
uint64_t rec_reader_size(const struct rec_reader *r);	/* bytes in the file */

#endif
