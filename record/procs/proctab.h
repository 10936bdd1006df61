/*
 * The processes that the recorder knows: their executable mappings (for masking), whether they have
 * been written to the recording, the files pinned for them, and the code addresses seen in them.
 *
 * Side-band records come in order of time. A process is written ("introduced") at its first sample:
 * facts, binaries, mappings. After that, its side-band records are written as they come.
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

/* A decoded PERF_RECORD_MMAP2, ours or of a perf.data, or a line of /proc/PID/maps. */
struct kmmap {
	uint64_t time;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint32_t prot, flags;
	bool has_build_id;		/* only in a perf.data; without dev and ino then */
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
 * Reads live process @pid (not a thread ID) from /proc now, for targets of -p or -G at the start:
 * mappings and facts; pins its files. 0, or negative errno (-ESRCH: gone).
 */
int proctab_read(struct proctab *pt, uint32_t pid, uint64_t time);

/* Side-band, in order of time. */
void proctab_mmap(struct proctab *pt, const struct kmmap *m);
void proctab_comm(struct proctab *pt, const struct ev_comm *ev);
/* Both return whether they wrote the event: that they do if the process has samples. */
bool proctab_fork(struct proctab *pt, const struct ev_task *ev);
bool proctab_exit(struct proctab *pt, const struct ev_task *ev);
/* Records are missing from here on: the next mapping reported may not be the next one made. */
void proctab_lost(struct proctab *pt);
/* PERF_RECORD_NAMESPACES; a value of 0 is "not given". */
void proctab_namespaces(struct proctab *pt, uint32_t pid, uint64_t mnt_ns, uint64_t pid_ns, uint64_t user_ns);

/*
 * The process of a sample. Introduces it to the recording if needed, and reads it from /proc if it
 * is unknown. Never NULL. Kernel threads and pid 0 have no mappings and are known as such.
 */
struct proc *proctab_sampled(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time);

/*
 * How many programs the kernel hid from us at their exec, and the first one's comm, borrowed. The
 * kernel removes the events of a task that begins a program with other rights than its own
 * (begin_new_exec() in fs/exec.c). Then an exit follows the exec before anything is mapped. Certain
 * if no side-band is lost.
 */
uint64_t proctab_barred(const struct proctab *pt, const char **comm);

/*
 * The cgroup in which @pid was seen, below perf_event's hierarchy; "" if nobody looked. Borrowed.
 */
const char *proctab_cgroup(const struct proctab *pt, uint32_t pid);

/*
 * The ID of the cgroup of a process: that of its latest sample, or its parent's at the fork. 0:
 * unknown. For samples that lose their own ID in the kernel (contrib/doc/kernel-quirks.md).
 */
void proctab_in_cgroup(struct proc *p, uint64_t id);
uint64_t proctab_cgroup_id(const struct proctab *pt, uint32_t pid);

/*
 * At the end, for a thread without samples whose times are in the recording: writes who it is if that
 * is not there, its process without mappings. @time: ns, now.
 */
void proctab_waited(struct proctab *pt, uint32_t pid, uint32_t tid, uint64_t time);

/* Counts the calls for that thread: returns 0, 1, and so on. Introduces nothing. */
uint32_t proctab_turn(struct proctab *pt, uint32_t pid, uint32_t tid);

/*
 * What to mask with, for thread @tid with a user stack copy that begins at @sp. NULL: the mappings
 * are unknown, or @ip (user) is in none of them; nothing may be kept. Otherwise also learns
 * [sp, sp + size) as a stack of the thread. Borrowed until the next call.
 */
const struct maskset *proc_maskset(struct proc *p, uint32_t tid, uint64_t ip, uint64_t sp, uint64_t size);
/*
 * Is user address @addr, of a callchain, in code that @p has mapped? @leaf: it is the first one, at
 * which @p ran. The others are return addresses: one may be the end of a mapping.
 */
bool proc_is_code(struct proc *p, uint64_t addr, bool leaf);
/* Are the mappings of @p known? Not those of a kernel thread: it has none. */
bool proc_is_known(const struct proc *p);

/* A maskset that stays valid during later calls. */
struct maskset_held {
	struct maskset ms;
	struct mapset *maps;			/* one reference; NULL = holds nothing */
	struct range stacks[THREAD_STACKS];
};

/* Holds what proc_maskset() has just returned for @p. Release with maskset_release(). */
void proc_maskset_hold(const struct proc *p, const struct maskset *ms, struct maskset_held *h);
void maskset_release(struct maskset_held *h);

/*
 * Remembers, for capture, a code address from a masked stack, registers or a frame pointer chain.
 */
void proc_saw_code(struct proc *p, uint64_t addr);
/* A sample stood at user address @addr. proc_saw_code() gets it, too. */
void proc_saw_leaf(struct proctab *pt, struct proc *p, uint64_t addr);
/* The same if it may be JIT code, also for samples in the kernel. Call proc_saw_code() first. */
void proc_saw_jit_leaf(struct proc *p, uint64_t addr);
void proctab_saw_kernel(struct proctab *pt, uint64_t addr);

/*
 * Ends a segment and begins one that can be read without the earlier ones: every process, thread,
 * binary and mapping is written again when it is next needed, under the same IDs. Returns the
 * addresses seen in the ended segment, for capture_prepare() and caplist_free(). The caller
 * switches the writer.
 */
struct caplist *proctab_cut(struct proctab *pt);
/*
 * For a recording of another time or host. No process of /proc is one of its processes. Only files
 * of this host can be opened, if they prove to be the recorded ones: by the build-id, or by device
 * and inode, unchanged since @until_ns of wall clock. All mappings come from side-band.
 * @same_kernel: the vdso and /proc/kallsyms of this host are the recorded ones; a later call may
 * say so.
 */
void proctab_detach(struct proctab *pt, int64_t until_ns, bool same_kernel);
/*
 * After it: the recorded vdso has build-id @id of @len bytes. If ours has it, too, ours is the
 * recorded one.
 */
void proctab_recorded_vdso(struct proctab *pt, const uint8_t *id, size_t len);
/*
 * Detached, and the recorded host is this one: perf maps on it may be used for recorded processes
 * if they prove to be theirs. @begun: start of the recording, ns as in its events. @wall_ns: the
 * same moment by wall clock, or up to @late_ns later.
 */
void proctab_host_maps(struct proctab *pt, uint64_t begun, int64_t wall_ns, int64_t late_ns);
/*
 * Process @pid, which waits for its exec, is our child. It and its descendants run where we do,
 * unless something else is reported: they may end before anybody can look.
 */
void proctab_own_child(struct proctab *pt, uint32_t pid);
/* We are in a nested pid namespace: pid 0 is everything that runs outside of it, and idle CPUs. */
void proctab_nested(struct proctab *pt);
/*
 * @exec_since: did process @pid begin a program after @time, ns? It may know more than the table
 * has been told. @lost_since: was anything lost after @time? Without these calls, only forked
 * processes are checked, and no lost exec is found. @ctx is borrowed.
 */
void proctab_look_ahead(struct proctab *pt, bool (*exec_since)(void *ctx, uint32_t pid, uint64_t time),
			bool (*lost_since)(void *ctx, uint64_t time), void *ctx);
/*
 * Closes files on file systems of their own that no process maps any more, once their rows are
 * captured. Otherwise those could not be unmounted. Forgets binaries and paths that nothing needs
 * any more. Call every 200 ms, between two drains; @time: ns as in samples. Does not wait.
 */
void proctab_let_go(struct proctab *pt, uint64_t time);
/*
 * For opener_misses_settle(): was code of files on device @dev sampled that are neither held nor captured?
 * With @dev 0: are the mappings of @pid unknown? 0 and 0: true.
 */
bool proctab_misses(const struct proctab *pt, dev_t dev, uint32_t pid);
/*
 * Calls @fn for what was left out in the whole run because tenants had used up their budgets, one
 * tenant after the other. Times are 0.
 */
void proctab_left_out(const struct proctab *pt, void (*fn)(void *ctx, const struct ev_budget *ev), void *ctx);
/* There will be several files: keep slices of binaries for the next one. */
void proctab_keep_slices(struct proctab *pt);

/*
 * Lists of earlier segments that still matter when a file has to be let go or a process ends:
 * @kept, oldest first, for rows that will be needed again, and @closing (NULL: none), for rows that
 * go to @out now. Borrowed until the next call.
 */
void proctab_lists(struct proctab *pt, struct caplist *const *kept, size_t nkept,
		   struct caplist *closing, struct rec_out *out);

/*
 * Puts all that the rows of @e, which is in @cl, need into @job. The job may then run on any thread
 * while @cl stays. False: there is nothing to do.
 */
bool capture_prepare(struct proctab *pt, struct caplist *cl, struct cap_entry *e,
		     struct capture_job *job);
/* Writes the result to @out, or counts the failure, and cleans up. 0 or a write error. */
int capture_finish(struct proctab *pt, struct rec_out *out, struct capture_job *job);

/* At the end: cuts, captures everything to the writer's present file, and reports with -v. */
int proctab_capture(struct proctab *pt);
/* With -v, reports what could not be captured in the whole run. */
void proctab_tell(const struct proctab *pt);

#endif
