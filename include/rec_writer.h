/*
 * Writes a recording (nsprof.data(5)). Everything is appended in the order of the calls; a block that
 * has been written is complete on its own. zstd and write(2) run on a thread of the writer's, fed by a
 * bounded queue, so the calling thread never waits for the disk unless the queue is full.
 */
#ifndef NSPROF_REC_WRITER_H
#define NSPROF_REC_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

struct rec_writer;

/* One sample as the recorder hands it over. All borrowed for the call. */
struct sample_in {
	uint64_t time;			/* ns */
	uint32_t pid, tid, cpu;
	uint64_t period;
	uint64_t cgroup;
	const uint64_t *chain;
	uint32_t nchain;		/* capped to 1,024 by the writer */
	bool has_regs;
	uint64_t regs[UREG_MAX];		/* already masked; regs[UREG_SP] kept */
	const struct stack_words *stack;	/* NULL when none */
	bool copy_full;
	bool unmasked;
};

/*
 * @fd is borrowed, positioned where the recording begins, and may be a pipe. The header is written at
 * once, so that an unwritable file is known before anything else happens. NULL with *@err = negative
 * errno (no message).
 */
struct rec_writer *rec_writer_new(int fd, int *err);

/* Settings and host, in the INFO block: written by the next call that is not rec_writer_info(). */
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
int rec_writer_sample(struct rec_writer *w, const struct sample_in *s);

/* End the running block if it is older than half a second; call it from the drain loop. */
int rec_writer_tick(struct rec_writer *w, uint64_t now_ns);

/* Bytes are copied. */
int rec_writer_capture(struct rec_writer *w, const struct capture *cap);
int rec_writer_ledger(struct rec_writer *w, const struct ev_ledger *l);

/* Everything out, END block and index written, thread joined. 0 or the sticky error. */
int rec_writer_finish(struct rec_writer *w);
/* Bytes written to @fd so far. */
uint64_t rec_writer_bytes(const struct rec_writer *w);
void rec_writer_free(struct rec_writer *w);	/* accepts NULL; without finish the file is cut */

#endif
