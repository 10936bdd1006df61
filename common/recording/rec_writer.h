/*
 * Writes a recording (nsprof.data(5)). Everything is appended in the order of the calls; a block that
 * has been written is complete on its own. zstd and write(2) run on a thread of the writer's, fed by a
 * bounded queue, so the calling thread never waits for the disk unless the queue is full.
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
 * @fd is borrowed, positioned where the recording begins, and may be a pipe. The header is written at
 * once, so that an unwritable file is known before anything else happens. NULL with *@err = negative
 * errno (no message).
 */
struct rec_writer *rec_writer_new(int fd, int *err);

/* The same for what was recorded before: it began at @start_ns of the events' clock, @wall_ns since the epoch. */
struct rec_writer *rec_writer_new_at(int fd, uint64_t start_ns, uint64_t wall_ns, int *err);

/* The same into memory, for rec_writer_dump(). */
struct rec_writer *rec_writer_new_memory(int *err);

/* From now on a sample waits for the disk and is never refused: of a source that can stand still. */
void rec_writer_patient(struct rec_writer *w);

/*
 * Settings and host, in the INFO block of each file: written by the next call that is not
 * rec_writer_info().
 */
void rec_writer_info(struct rec_writer *w, const char *key, const char *value);

/*
 * Events. 0, or the sticky negative errno of the first write that failed (-ENOSPC ...). They copy
 * what they need.
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
/*
 * Besides, -EAGAIN (not sticky) when the disk is so far behind that the sample has to be dropped, unless the writer is
 * a patient one.
 */
int rec_writer_sample(struct rec_writer *w, const struct sample_in *s);

/* How much of the pool of blocks is in use, percent. */
unsigned int rec_writer_fill(const struct rec_writer *w);
/* Times the caller had to wait for the pool, and the most blocks of it that were in use. */
void rec_writer_pool(const struct rec_writer *w, uint64_t *waits, uint64_t *peak);
/* ns: the longest that the output took to take one block, of those it has taken. */
uint64_t rec_writer_stall(const struct rec_writer *w);
/* How much compression may cost from now on. */
void rec_writer_effort(struct rec_writer *w, enum pressure_level level);

/* End the running block if it is older than half a second; call it from the drain loop. */
int rec_writer_tick(struct rec_writer *w, uint64_t now_ns);

/* To the present file. Bytes are copied. */
int rec_writer_capture(struct rec_writer *w, const struct capture *cap);
int rec_writer_ledger(struct rec_writer *w, const struct ev_ledger *l);
/*
 * Rows in a block of their own, in any order, at most REC_TABLE_ROWS; 0 rows write nothing. Those of
 * the tally are best written by second and CPU: differences are stored.
 */
int rec_writer_tally(struct rec_writer *w, const struct ev_tally *rows, size_t n);
int rec_writer_counts(struct rec_writer *w, const struct ev_counts *rows, size_t n);

/* CLOCK_MONOTONIC in ns as it stands in the file header: where seconds are counted from. */
uint64_t rec_writer_start(const struct rec_writer *w);

/* Everything out, END block and index written, thread joined. 0 or the sticky error. */
int rec_writer_finish(struct rec_writer *w);
/* Bytes written to the present file so far; in memory: held. */
uint64_t rec_writer_bytes(const struct rec_writer *w);
void rec_writer_free(struct rec_writer *w);	/* accepts NULL; without finish the file is cut */

/* ---- more than one file ---- */

/*
 * End the running block; what follows goes to a new file at @fd, as for rec_writer_new(). Returns
 * the file before, now the caller's: it wants its captures, its ledger, and rec_out_finish(). NULL
 * with *@err: nothing has changed.
 */
struct rec_out *rec_writer_turn(struct rec_writer *w, int fd, int *err);

/* Memory: end the running block and begin the next segment, whose number is returned; from 0. */
uint32_t rec_writer_segment(struct rec_writer *w);
/* Forget the segments below @segment. Ignored while a dump is being written. */
void rec_writer_forget(struct rec_writer *w, uint32_t segment);
/*
 * Write all segments held to @fd: a file that began at @start_ns (CLOCK_MONOTONIC). They stay. The
 * file is the caller's, as from rec_writer_turn(). NULL with *@err = negative errno.
 */
struct rec_out *rec_writer_dump(struct rec_writer *w, int fd, uint64_t start_ns, int *err);

/* As those for the present file. 0 or the file's sticky error. */
int rec_out_capture(struct rec_writer *w, struct rec_out *o, const struct capture *cap);
int rec_out_tally(struct rec_writer *w, struct rec_out *o, const struct ev_tally *rows, size_t n);
int rec_out_counts(struct rec_writer *w, struct rec_out *o, const struct ev_counts *rows, size_t n);
int rec_out_ledger(struct rec_writer *w, struct rec_out *o, const struct ev_ledger *l);
/* The END block and index, soon; nothing may follow. */
void rec_out_finish(struct rec_writer *w, struct rec_out *o);
/* They are written, or cannot be: time for rec_out_close(). */
bool rec_out_done(const struct rec_out *o);
/* Waits until it is done, frees @o. *@bytes: its size. 0 or the sticky error; @fd stays open. */
int rec_out_close(struct rec_out *o, uint64_t *bytes);

#endif
