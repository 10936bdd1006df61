/*
 * The processes the recorder knows: their executable mappings (for masking), which of them have been
 * written to the recording, the files pinned for them, and the code addresses seen in them.
 *
 * Fed by side-band records in the order of time. A process is written ("introduced") at its first sample:
 * facts, binaries, mappings; from then on its side-band records are written as they come.
 */
#ifndef NSPROF_PROCTAB_H
#define NSPROF_PROCTAB_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "event.h"
#include "maskset.h"
#include "rec_writer.h"

struct proctab;
struct proc;

/* A decoded PERF_RECORD_MMAP2 (or a line of /proc/PID/maps). */
struct kmmap {
	uint64_t time;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t prot, flags;
	bool has_build_id;		/* PERF_RECORD_MISC_MMAP_BUILD_ID: no dev/ino then */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;
	uint32_t dev_major, dev_minor;
	uint64_t ino, ino_gen;
	const char *path;
};

/* @w is borrowed. */
struct proctab *proctab_new(struct rec_writer *w);
void proctab_free(struct proctab *pt);

/*
 * Read a live process from /proc now (a target of -p or -G at the start): mappings, facts; pins its
 * files. 0, or negative errno (-ESRCH: gone).
 */
int proctab_read(struct proctab *pt, uint32_t pid, uint64_t time);

/* Side-band, in order. */
void proctab_mmap(struct proctab *pt, const struct kmmap *m);
void proctab_comm(struct proctab *pt, const struct ev_comm *ev);
void proctab_fork(struct proctab *pt, const struct ev_task *ev);
void proctab_exit(struct proctab *pt, const struct ev_task *ev);
/* PERF_RECORD_NAMESPACES; a value of 0 is "not given". */
void proctab_namespaces(struct proctab *pt, uint32_t pid, uint64_t mnt_ns, uint64_t pid_ns, uint64_t user_ns);

/*
 * The process of a sample: introduced to the recording if it was not, read from /proc if it was never
 * heard of. Never NULL. Kernel threads and pid 0 have no mappings and are known as such.
 */
struct proc *proctab_sampled(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time);

/*
 * What to mask with, for thread @tid whose user stack copy begins at @sp. NULL: mappings unknown, or
 * @ip (user) lies in none of them: keep every word. Also learns [sp, sp + size) as a stack of the thread.
 * Borrowed until the next call.
 */
const struct maskset *proc_maskset(struct proc *p, uint32_t tid, uint64_t ip, uint64_t sp, uint64_t size);

/* Code addresses of a masked stack, of registers, of a frame pointer chain: remembered for capture. */
void proc_saw_code(struct proctab *pt, struct proc *p, uint64_t addr);
void proctab_saw_kernel(struct proctab *pt, uint64_t addr);

/* At the end: write the captured rows (sliced ELF, perf maps, kallsyms) for all addresses seen. */
int proctab_capture(struct proctab *pt);

#endif
