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
#include "mask/maskset.h"
#include "procs/threads.h"
#include "recording/rec_writer.h"

struct proctab;
struct proc;
struct cap_entry;
struct caplist;
struct capture_job;
struct mapset;

/* A decoded PERF_RECORD_MMAP2, ours or of a perf.data (or a line of /proc/PID/maps). */
struct kmmap {
	uint64_t time;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t prot, flags;
	bool has_build_id;		/* in a perf.data only; no dev/ino then */
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
 * Read live process @pid (no thread's id) from /proc now (a target of -p or -G at the start): mappings,
 * facts; pins its files. 0, or negative errno (-ESRCH: gone).
 */
int proctab_read(struct proctab *pt, uint32_t pid, uint64_t time);

/* Side-band, in order. */
void proctab_mmap(struct proctab *pt, const struct kmmap *m);
void proctab_comm(struct proctab *pt, const struct ev_comm *ev);
void proctab_fork(struct proctab *pt, const struct ev_task *ev);
void proctab_exit(struct proctab *pt, const struct ev_task *ev);
/* Records are missing from here on: the next mapping of a process need not be the next that it made. */
void proctab_lost(struct proctab *pt);
/* PERF_RECORD_NAMESPACES; a value of 0 is "not given". */
void proctab_namespaces(struct proctab *pt, uint32_t pid, uint64_t mnt_ns, uint64_t pid_ns, uint64_t user_ns);

/*
 * The process of a sample: introduced to the recording if it was not, read from /proc if it was never
 * heard of. Never NULL. Kernel threads and pid 0 have no mappings and are known as such.
 */
struct proc *proctab_sampled(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time);

/*
 * How many programs went out of sight with their exec, and the comm of the first of them, borrowed. The kernel takes the events
 * of a task away when it begins a program with other rights than its own (begin_new_exec() in fs/exec.c): after the exec comes
 * an exit, before anything is mapped. Certain where no side-band is lost.
 */
uint64_t proctab_barred(const struct proctab *pt, const char **comm);

/* The cgroup in which @pid was seen, below perf_event's hierarchy; "" when it was not looked at. Borrowed. */
const char *proctab_cgroup(const struct proctab *pt, uint32_t pid);

/*
 * The id of the cgroup a sample of that process was in, and of the latest one, or of its parent's at the fork. 0: none is known.
 * For samples whose own id the kernel loses (contrib/doc/kernel-quirks.md).
 */
void proctab_in_cgroup(struct proc *p, uint64_t id);
uint64_t proctab_cgroup_id(const struct proctab *pt, uint32_t pid);

/* Number of the sample of that thread among those asked about, 0 and up; nothing is introduced. */
uint32_t proctab_turn(struct proctab *pt, uint32_t pid, uint32_t tid);

/*
 * What to mask with, for thread @tid whose user stack copy begins at @sp. NULL: mappings unknown, or
 * @ip (user) lies in none of them: keep every word. Also learns [sp, sp + size) as a stack of the thread.
 * Borrowed until the next call.
 */
const struct maskset *proc_maskset(struct proc *p, uint32_t tid, uint64_t ip, uint64_t sp, uint64_t size);

/* A maskset that outlives the calls that follow. */
struct maskset_held {
	struct maskset ms;
	struct mapset *maps;			/* one reference; NULL = holds nothing */
	struct range stacks[THREAD_STACKS];
};

/* Hold what proc_maskset() has just returned for @p. To be given back with maskset_release(). */
void proc_maskset_hold(const struct proc *p, const struct maskset *ms, struct maskset_held *h);
void maskset_release(struct maskset_held *h);

/* Code addresses of a masked stack, of registers, of a frame pointer chain: remembered for capture. */
void proc_saw_code(struct proctab *pt, struct proc *p, uint64_t addr);
/* A sample stood at user address @addr, which is among these. */
void proc_saw_leaf(struct proctab *pt, struct proc *p, uint64_t addr);
/* The same where it may be a JIT's code, whatever the kernel did for it there; proc_saw_code() comes before. */
void proc_saw_jit_leaf(struct proc *p, uint64_t addr);
void proctab_saw_kernel(struct proctab *pt, uint64_t addr);

/*
 * End a segment, and begin one that can be read without those before it: every process, thread,
 * binary and mapping is written again when it is needed again, under the same ids. Returns the
 * addresses seen in the one that ended, for capture_prepare() and caplist_free(). The writer is the
 * caller's to turn.
 */
struct caplist *proctab_cut(struct proctab *pt);
/*
 * What is recorded is another time's, or another host's: no process of /proc is one of these, and nothing but the files of
 * this host can be opened, as far as they prove to be those recorded: by the build-id, or by device and inode, unchanged
 * since @until_ns of wall clock. All mappings are known by side-band. @same_kernel: the vdso and /proc/kallsyms of
 * this host are those recorded; may be said again, later.
 */
void proctab_detach(struct proctab *pt, int64_t until_ns, bool same_kernel);
/* After it: the recorded vdso has the build-id @id of @len bytes, so that ours is the recorded one if it has that, too. */
void proctab_recorded_vdso(struct proctab *pt, const uint8_t *id, size_t len);
/*
 * Detached, and the recorded host is this one: perf maps that lie here may be taken for processes of it, as far as they prove to be
 * theirs. @begun: when the recording was begun, ns as in its events, and @wall_ns, the same as wall clock, or up to @late_ns later.
 */
void proctab_host_maps(struct proctab *pt, uint64_t begun, int64_t wall_ns, int64_t late_ns);
/*
 * Process @pid, which waits for its exec, is a child of ours. It runs where we do, and so does what it forks, as long as nothing
 * else is told of them: they may have ended before anyone could look.
 */
void proctab_own_child(struct proctab *pt, uint32_t pid);
/* We are in a pid namespace below the first one: pid 0 is all that runs outside of it, and idle CPUs. */
void proctab_nested(struct proctab *pt);
/*
 * Whether process @pid began a program after @time, ns, by all that is known now, which may be more than the table has been told, and
 * whether anything was lost after it. Without it that is asked of forked processes only, and no exec that was lost is found. @ctx is borrowed.
 */
void proctab_look_ahead(struct proctab *pt, bool (*exec_since)(void *ctx, uint32_t pid, uint64_t time),
			bool (*lost_since)(void *ctx, uint64_t time), void *ctx);
/*
 * Close files on file systems of their own that no process maps any more, once their rows are captured: they could not be unmounted.
 * To be called every 200 ms, at @time, ns as in samples; does not wait.
 */
void proctab_let_go(struct proctab *pt, uint64_t time);
/* There will be more than one file: keep slices of binaries for the next. */
void proctab_keep_slices(struct proctab *pt);

/*
 * Lists of earlier segments that are still needed when a file has to be let go or a process ends:
 * @kept, the oldest first, whose rows will be asked for again, and @closing (NULL: none), whose rows
 * go to @out now. Borrowed until the next call.
 */
void proctab_lists(struct proctab *pt, struct caplist *const *kept, size_t nkept,
		   struct caplist *closing, struct rec_out *out);

/*
 * Get all that the rows of @e, which is in @cl, need into @job, which may then run on any thread, while @cl
 * stays. False: there is nothing to do.
 */
bool capture_prepare(struct proctab *pt, struct caplist *cl, struct cap_entry *e,
		     struct capture_job *job);
/* Write what came out to @out, or count the failure, and clean up. 0 or a write error. */
int capture_finish(struct proctab *pt, struct rec_out *out, struct capture_job *job);

/* At the end: cut, capture everything at once to the writer's present file, and tell with -v. */
int proctab_capture(struct proctab *pt);
/* What could not be captured in the whole run, with -v. */
void proctab_tell(const struct proctab *pt);

#endif
