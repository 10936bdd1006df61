/*
 * Writes a recording (nsprof.data(5)). Everything is appended in the order of the calls; each
 * written block is complete on its own. zstd and write(2) run in a thread of the writer, fed by a
 * bounded queue. So the caller waits for the disk only when the queue is full.
 */
#ifndef NSPROF_REC_WRITER_H
#define NSPROF_REC_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event.h"

struct rec_writer;
/* One file that blocks go to. */
struct rec_out;

/*
 * @fd is borrowed, positioned where the recording begins, and may be a pipe. The header is written
 * at once, so that an unwritable file shows before anything else happens. NULL with *@err =
 * negative errno (no message).
 */
struct rec_writer *rec_writer_new(int fd, int *err);

/*
 * The same for more than one plain event: every event comes first, by rec_writer_event(), and
 * samples may be of any of them, and have payloads. The file is of REC_VERSION. All others are of
 * REC_VERSION_PLAIN, which older readers know.
 */
struct rec_writer *rec_writer_new_events(int fd, int *err);

/*
 * For samples taken earlier: recording began at @start_ns of the events' clock, @wall_ns since the
 * epoch. @events: as rec_writer_new_events().
 */
struct rec_writer *rec_writer_new_at(int fd, uint64_t start_ns, uint64_t wall_ns, bool events, int *err);

/* The same for a recording that began at @start_ns of CLOCK_MONOTONIC, not long ago. */
struct rec_writer *rec_writer_new_since(int fd, uint64_t start_ns, bool events, int *err);

/* The same into memory, for rec_writer_dump(). */
struct rec_writer *rec_writer_new_memory(uint64_t start_ns, bool events, int *err);

/* From now on samples wait for the disk and are never refused. For a source that can wait. */
void rec_writer_patient(struct rec_writer *w);

/*
 * Add a setting or a fact about the host to the INFO block of each file. The next call other than
 * rec_writer_info() writes it.
 */
void rec_writer_info(struct rec_writer *w, const char *key, const char *value);

/*
 * Write events; arguments are copied. 0, or the sticky negative errno of the first failed write
 * (-ENOSPC ...).
 */
int rec_writer_dso(struct rec_writer *w, const struct ev_dso *ev);
int rec_writer_proc(struct rec_writer *w, const struct ev_proc *ev);
int rec_writer_mmap(struct rec_writer *w, const struct ev_mmap *ev);
int rec_writer_comm(struct rec_writer *w, const struct ev_comm *ev);
int rec_writer_fork(struct rec_writer *w, const struct ev_task *ev);
int rec_writer_exit(struct rec_writer *w, const struct ev_task *ev);
int rec_writer_cgroup(struct rec_writer *w, const struct ev_cgroup *ev);
int rec_writer_ksymbol(struct rec_writer *w, const struct ev_ksymbol *ev);
int rec_writer_pressure(struct rec_writer *w, const struct ev_pressure *ev);
int rec_writer_absence(struct rec_writer *w, const struct ev_absence *ev);
int rec_writer_container(struct rec_writer *w, const struct ev_container *ev);
int rec_writer_budget(struct rec_writer *w, const struct ev_budget *ev);
int rec_writer_schedstat(struct rec_writer *w, const struct ev_schedstat *ev);
int rec_writer_wakeup(struct rec_writer *w, const struct ev_wakeup *ev);
int rec_writer_toggle(struct rec_writer *w, const struct ev_toggle *ev);
/*
 * As above, for a new event or a new period of a known one. The writer remembers events and writes
 * them again at the beginning of each part and file, so one that repeats itself is ignored. Also,
 * not sticky: -EINVAL for an index that leaves a gap or is beyond SAMPLED_EVENTS_MAX, or if the writer is
 * not for several events; -E2BIG when all events together have more than 4 MiB of text.
 */
int rec_writer_event(struct rec_writer *w, const struct ev_event *ev);
/*
 * As above; also -EINVAL (not sticky) if the writer is not for several events. Give switches in the
 * order of time, after all samples that are older, and any other event that they need first.
 */
int rec_writer_switch(struct rec_writer *w, const struct ev_switch *ev);
/*
 * As above; also -EINVAL (not sticky) for an event that was not given before or a payload beyond
 * PAYLOAD_MAX, or -EAGAIN (not sticky) when the disk is so far behind that the sample must be
 * dropped, unless the writer is patient.
 */
int rec_writer_sample(struct rec_writer *w, const struct sample_in *s);

/* Percentage of the pool of blocks in use. */
unsigned int rec_writer_fill(const struct rec_writer *w);
/* How often the caller had to wait for the pool, and the most of its blocks ever in use. */
void rec_writer_pool(const struct rec_writer *w, uint64_t *waits, uint64_t *peak);
/* ns: the longest time that the output needed for one finished block. */
uint64_t rec_writer_stall(const struct rec_writer *w);
/* Sets how much compression may cost from now on. */
void rec_writer_effort(struct rec_writer *w, enum pressure_level level);

/* End the current block if it is older than half a second. Call it from the drain loop. */
int rec_writer_tick(struct rec_writer *w, uint64_t now_ns);

/* These write to the current file. Bytes are copied. */
int rec_writer_capture(struct rec_writer *w, const struct capture *cap);
int rec_writer_ledger(struct rec_writer *w, const struct ev_ledger *l);
/*
 * Write rows as one block, in any order, at most REC_TABLE_ROWS; 0 rows write nothing. Sort tally
 * rows by second and CPU: differences are stored.
 */
int rec_writer_tally(struct rec_writer *w, const struct ev_tally *rows, size_t n);
int rec_writer_counts(struct rec_writer *w, const struct ev_counts *rows, size_t n);

/* CLOCK_MONOTONIC in ns as stored in the file header: seconds count from it. */
uint64_t rec_writer_start(const struct rec_writer *w);

/*
 * Write everything out, END block and index included, and join the thread. 0 or the sticky error.
 */
int rec_writer_finish(struct rec_writer *w);
/* Bytes written to the current file so far; in memory: bytes held. */
uint64_t rec_writer_bytes(const struct rec_writer *w);
void rec_writer_free(struct rec_writer *w);	/* accepts NULL; without finish the file is cut */

/* ---- more than one file ---- */

/*
 * End the current block; everything after it goes to a new file at @fd, as for rec_writer_new().
 * Returns the previous file, which the caller now owns. It still needs its captures, its ledger and
 * rec_out_finish(). NULL with *@err: nothing has changed.
 */
struct rec_out *rec_writer_turn(struct rec_writer *w, int fd, int *err);

/* Memory: end the current block and begin the next segment; returns its number, from 0. */
uint32_t rec_writer_segment(struct rec_writer *w);
/* Forget the segments below @segment. Ignored while a dump is being written. */
void rec_writer_forget(struct rec_writer *w, uint32_t segment);
/*
 * Write all segments held to @fd, as a file that began at @start_ns (CLOCK_MONOTONIC). The segments
 * stay. The caller owns the file, as from rec_writer_turn(). NULL with *@err = negative errno.
 */
struct rec_out *rec_writer_dump(struct rec_writer *w, int fd, uint64_t start_ns, int *err);

/* The same as rec_writer_*(), but for file @o. 0 or the file's sticky error. */
int rec_out_capture(struct rec_writer *w, struct rec_out *o, const struct capture *cap);
int rec_out_tally(struct rec_writer *w, struct rec_out *o, const struct ev_tally *rows, size_t n);
int rec_out_counts(struct rec_writer *w, struct rec_out *o, const struct ev_counts *rows, size_t n);
int rec_out_ledger(struct rec_writer *w, struct rec_out *o, const struct ev_ledger *l);
/* Queue the END block and index; nothing may follow. */
void rec_out_finish(struct rec_writer *w, struct rec_out *o);
/* True when they are written or cannot be: time for rec_out_close(). */
bool rec_out_done(const struct rec_out *o);
/* Waits until it is done, frees @o. *@bytes: its size. 0 or the sticky error; @fd stays open. */
int rec_out_close(struct rec_out *o, uint64_t *bytes);

#endif
