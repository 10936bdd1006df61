/* The process table's own state, shared by proctab.c and the parts below it, which stand here lowest first. */
#ifndef NSPROF_PROC_H
#define NSPROF_PROC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/intern.h"
#include "capture/caplist.h"
#include "host/procfs.h"
#include "procfs/pins.h"
#include "procfs/proc_facts.h"
#include "procfs/procmaps.h"
#include "procs/dsotab.h"
#include "procs/proctab.h"
#include "procs/threads.h"

/* One process, and of it the image that runs: an exec starts over with most of it. */
struct proc {
	struct proctab *pt;
	uint32_t pid, ppid;
	uint32_t serial;		/* ev_proc.serial; 0: not in a recording yet */
	uint32_t segment;		/* in which it was written last: see proc_written() */
	char comm[COMM_LEN];		/* "" = not told yet */
	uint64_t mnt_ns, pid_ns, user_ns;	/* as side-band told; 0 = not told */
	/*
	 * The program, as it was mapped: the first file that an exec maps as code, before its interpreter
	 * (load_elf_binary() in fs/binfmt_elf.c). For processes that are gone before /proc tells; 0 = unknown.
	 */
	uint32_t exe;			/* id in the interner, " (deleted)" included */
	uint64_t exe_wait;		/* awaited: 1 + proc_side.lost at the exec; 0 = not */
	struct mapset *maps;		/* one reference; never NULL */
	bool known;			/* maps has all executable mappings there are */
	bool kthread;			/* kernel thread or idle: has none */
	bool inherited;			/* forked, no exec since */
	bool read_late;			/* ran before we looked: neither fork nor exec was seen */
	bool jit_captured;		/* for good: it has ended */
	bool own;			/* proctab_own_child(), or descends from it */
	bool aside;			/* no side-band is promised: known as another one's rival only */
	bool dead;			/* its leader's EXIT came, and no thread is known to live on */
	bool headless;			/* its leader's EXIT came */
	uint8_t moved_looks;		/* of proc_look_moved(), at the present image */
	uint8_t copy_looks;		/* of proc_find_copy(), the same */
	uint64_t last_time;		/* ns, of its latest sample */
	uint64_t cgroup;		/* proctab_in_cgroup(); 0 = not known */
	uint64_t fork_time;		/* ns, of its fork; 0 = not seen */
	uint64_t exec_time;		/* ns, of the exec the image began with; 0 = not seen */
	uint64_t refresh_time;		/* ns, when its maps were last read again */
	uint64_t lost_seen;		/* proc_side.lost when it was last known what image it runs */
	uint64_t lost_time;		/* ns, when that was last asked for because of a loss; 0 = never */
	uint64_t dead_time;		/* ns, of the latest EXIT, or of the latest sample after it */
	uint64_t over_time;		/* ns, of the exec that ends the image just now; 0 = none does */
	struct proc_facts *facts;		/* NULL = not read, or gone before they could be */
	/*
	 * Read when it ran another program already, while side-band is still before that exec, or when it had ended: who it
	 * is, but not what it runs, nor where. There are no facts then. NULL = not so.
	 */
	struct proc_facts *late;
	struct proc_facts *anc;		/* of the process it was forked from; NULL = none known */
	struct u64map jit;		/* set of runtime addresses seen outside of ELF files */
	struct u64map returns;		/* those of them that samples stood at, to their JIT_RETURN(); 0 = none is known */
	struct proc *dead_prev, *dead_next;
};

/* The files behind mappings: found, proved, held. */
struct proc_files {
	struct intern *paths;
	struct dsotab dsos;
	struct pins pins;
	struct rootpin *own;	/* our root, for what our child runs; NULL = there is none, or it is not to be had */
	struct rootpin *host;	/* detached: this host's root; NULL = not to be had */
	struct copies *copies;	/* NULL = nothing was asked yet */
	size_t forget_at;	/* binaries from which on proctab_forget() looks again */
	uint32_t next_dso;
	uint64_t maps_refused;	/* mappings beyond the cap; told by proctab_tell() */
};

/* What side-band did not tell. */
struct proc_side {
	uint64_t lost;		/* times that side-band records were lost */
	bool (*exec_since)(void *ctx, uint32_t pid, uint64_t time);	/* proctab_look_ahead(); NULL = cannot be told */
	bool (*lost_since)(void *ctx, uint64_t time);	/* the same */
	void *exec_ctx;
	uint64_t barred;	/* proctab_barred(), and the first one's */
	char barred_comm[COMM_LEN];
};

/* Where names of JIT code come from, besides the processes' own files (struct proc_facts). */
struct proc_jit {
	struct jitlook *look;	/* NULL = nothing was asked yet */
	struct rivals *rivals;	/* who is there, as was seen last; NULL = not looked yet */
	bool seeking;		/* in rivals_seek() */
	struct proc_facts **met;	/* owned, one reference to each: of rivals_met(), for rivals_seek_met() */
	size_t nmet, met_cap;
	bool host_maps;		/* proctab_host_maps(), and what it was told */
	uint64_t host_begun;
	int64_t host_begun_wall, host_late;
};

/* What rows are wanted for, and what became of it. */
struct proc_captures {
	/* All sets of addresses are of proctab.segment; proctab_cut() turns them into a list. */
	struct u64map kernel;	/* set of kernel addresses seen */
	size_t nseen;		/* addresses in all sets */
	uint64_t leaf_samples;	/* samples in all maps of leafs */
	/* Of segments before it; see proctab_lists(). All borrowed. */
	struct caplist *const *kept;
	size_t nkept;
	struct caplist *closing;	/* on its way to closing_out */
	struct rec_out *closing_out;
	struct letgo *letgo;	/* of proc_letgo.c; NULL = it had nothing to do yet */
	bool evicting;		/* in capture_before_evict(): nothing may be pinned, no process get known */
	/* Told by proctab_tell(). */
	uint64_t seen_refused;	/* addresses beyond the cap */
	uint64_t written, served, failed;
	uint64_t code_bytes;	/* of code captured */
};

struct proctab {
	struct rec_writer *w;	/* borrowed */
	struct u64map procs;	/* pid to struct proc * */
	struct proc dead;	/* list head, oldest first */
	size_t ndead;
	struct threads threads;
	uint32_t segment;	/* what is written now; 1 and up */
	uint32_t next_serial;
	bool nested;		/* proctab_nested() */
	bool detached;		/* proctab_detach() */
	struct proc_files files;
	struct proc_side side;
	struct proc_jit jit;
	struct proc_captures cap;
	struct maskset ms;	/* what proc_maskset() returned last */
	struct range other_stacks[THREAD_STACKS];
};

/* Is @p in the segment that is written now, so that what happens to it has to be written, too? */
static inline bool proc_written(const struct proc *p)
{
	return p->serial && p->segment == p->pt->segment;
}

/* What is known of @p itself whatever program it runs: start time, numbers, cgroup. NULL = nothing. */
static inline const struct proc_facts *proc_who(const struct proc *p)
{
	return p->facts ? p->facts : p->late;
}

/* ---- proc_table.c ---- */

/* The process with that pid; NULL when it is not known. */
struct proc *proctab_find(const struct proctab *pt, uint32_t pid);
/* The same, in the table from now on. */
struct proc *proctab_know(struct proctab *pt, uint32_t pid);
/* A new one, whose pid nobody has in the table. */
struct proc *proctab_add(struct proctab *pt, uint32_t pid);
void proc_free(struct proc *p);
/* Its samples are over, or were @time ago: to be let go of, unless it lives on (proc_revive()). */
void proc_die(struct proc *p, uint64_t time);
void proc_revive(struct proc *p);

/* ---- proc_rivals.c ---- */

/* The number by which a process with facts @f knows itself; 0 = not known. */
uint32_t rival_number(const struct proc_facts *f);
/* Does a process with facts @b, NULL = not known, have the map that one with @a has? */
bool rival_is(const struct proc_facts *a, const struct proc_facts *b);
/* Was @q over when the process with facts @f began? */
bool rival_ended_before(const struct proc *q, const struct proc_facts *f);
/* @f has a perf map now: see who else has the same, of those in the table; of all there are, when rivals_seek_met() is called. */
void rivals_met(struct proctab *pt, struct proc_facts *f);

/* ---- proc_jit.c ---- */

/* Pin the perf map of live @p, whose facts are known, if it is there. */
void perfmap_pin(struct proc *p);
/* The same once more, now and then: a JIT may run for long before it writes one. */
void perfmap_pin_late(struct proc *p);
/* Pin the jitdump of @p if @e is the mapping that tells where it is. */
void jitdump_pin(struct proc *p, const struct map_user *u, const struct map_entry *e);
/* Is there a jitdump that tells of code of a process with facts @f? */
bool jitdump_there(const struct proc_facts *f);
/*
 * Make ready what captures the names of @addrs (taken) for process @serial with facts @f, which may
 * be NULL.
 */
void perfmap_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs, size_t n,
		     struct capture_job *job);
void jitdump_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs,
		     size_t n, struct capture_job *job);
/* May a file with attributes @st be the perf map of a process with facts @f? NULL, or why not. */
const char *perfmap_refuse(const struct proc_facts *f, const struct stat *st);

/* ---- proc_moved.c ---- */

/* Memory that is aligned so is taken for a copy of code where nobody can be asked. */
#define HUGE_PAGE (2u << 20)

/* Code in @e is in no file: a JIT's, or that of a memfd. */
bool proc_is_memory(const struct proc *p, const struct map_entry *e);

/* Mappings of files that lie next to memory that code runs from. */
struct file_lines {
	struct map_entry *v;	/* owned, sorted by start */
	size_t n, cap;
	struct proc_map last;	/* the latest one of a file; its path is the text's */
	uint64_t near_end;	/* where it ends, or such memory close behind it; 0: there was none */
	uint64_t memory_end;	/* where memory ends that was met behind it; 0: none was */
};

/* A line of /proc/PID/maps of @p, whose text has to stay until all are seen. */
void file_lines_see(struct file_lines *fl, struct proc *p, const struct proc_map *m);
void file_lines_fini(struct file_lines *fl);
/* Turn what in *@maps is memory with a copy of a file's code into mappings of that file. @procfd: of @p, whose user @u is. */
void proc_find_moved(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps, const struct file_lines *fl);

/* ---- proc_copies.c ---- */

/* Is it worth a look, by what it says? */
bool proc_may_be_copy(const struct proc *p, const struct map_entry *e);
/*
 * Is @e, memory of @p that is no mapping of a file, a copy of code of one of the files in @ms, at another place than that file's? Then it becomes
 * a mapping of that file, resolved. @procfd: of @p, whose user @u is. The time that this takes is bounded.
 */
bool proc_find_copy(struct proc *p, const struct map_user *u, int procfd, const struct mapset *ms, struct map_entry *e);
/* The same for all that is in *@maps. */
void proc_find_copies(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps);
void copies_free(struct proctab *pt);

/* ---- proc_read.c ---- */

/* The mount namespace of @p when neither side-band nor /proc tells: 0, unless it is our child's. */
uint64_t proc_own_mnt_ns(const struct proc *p);
/* By whom files of @p are opened. */
struct map_user proc_map_user(const struct proc *p);
/* Is @p, where side-band has come to, a forked process that has begun no program? */
bool proc_is_forked(const struct proc *p);
/*
 * Does @p, @time of a sample of it (0: now), run another program by now than it did where side-band has come to? Asked after
 * something was read, "no" holds for what was read.
 */
bool proc_moved_on(const struct proc *p, int procfd, uint64_t time);
/* Add what the process behind @procfd maps, which @p is, to *@maps. 0, -ESRCH when it has no memory (any more), or the errno of the reading. */
int proc_read_lines(struct proc *p, int procfd, struct mapset **maps);
/*
 * The mappings of live @p now, one reference in *@maps, @time of a sample or 0. 0, or negative errno: -ESRCH when it has no memory (any
 * more), or runs another program by now than it did where side-band has come to.
 */
int proc_read_maps_at(struct proc *p, int procfd, uint64_t time, struct mapset **maps);
/* The same without @procfd; -ESRCH also when it is gone. */
int proc_read_maps(struct proc *p, uint64_t time, struct mapset **maps);

/* ---- proc_maps.c ---- */

/* Into the segment that is written now, if it is not there. */
void proc_write_dso(struct proctab *pt, struct dso *d);
void proc_write_map(struct proc *p, const struct map_entry *e, uint64_t time);
/*
 * Put a mapping into the set, and into the recording when the process is there. @build_id may be
 * NULL.
 */
void proc_add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len,
		  uint64_t time);
/* Add what @p, whose facts are known, maps now, @time of a sample or 0. False when it is gone or cannot be read. */
bool proc_add_present(struct proc *p, uint64_t time);
/* The vsyscall page belongs to all processes and is in no record. */
void proc_add_vsyscall(struct proc *p);
/* Find out what is behind each mapping, and pin the files. */
void proc_pin_all(struct proc *p);

/* ---- proc_acquire.c ---- */

/*
 * Read facts and, when unknown, mappings of live @p, and pin its files. @time: of the sample that
 * asks, 0 = now. 0, or negative errno; -ESRCH: gone, or the pid is another process's by now.
 */
int proc_acquire(struct proc *p, uint64_t time);
/*
 * Records were lost since @p->lost_seen: does @p, at @time of a sample of it, run a program of whose exec there is no record? Then true, and
 * its comm. What cannot be told yet is asked again later.
 */
bool proc_lost_exec(struct proc *p, uint64_t time, char comm[COMM_LEN]);
/* Read /proc/PID/maps again, since a record may have been lost. True when something was new. */
bool proc_refresh_maps(struct proc *p, uint64_t time);

/* ---- proc_seek.c ---- */

/* See who is there by now that may write to the map of @f. */
void rivals_seek(struct proctab *pt, const struct proc_facts *f);
/* The same for all that rivals_met() was called for since. After whatever may have pinned a map. */
void rivals_seek_met(struct proctab *pt);
/*
 * Of a file that others write to as well, a line tells of @f's code if nobody else has code there. Leaves these of
 * @addrs, and returns their number; none if a rival is gone, whose mappings are not known any more.
 */
size_t rivals_leave(struct proctab *pt, const struct proc_facts *f, uint64_t *addrs, size_t n);
void rivals_fini(struct proctab *pt);

/* ---- proc_intro.c ---- */

/* Write @p to the recording: facts, binaries, mappings. */
void proc_introduce(struct proc *p, uint64_t time);
/* Write its facts again: there are more of them. Its mappings stay. */
void proc_write_again(struct proc *p, uint64_t time);
/* Write the thread's comm when that has not been done. */
void proc_introduce_thread(struct proc *p, struct thread *t, uint64_t time);

/* ---- proc_returns.c ---- */

/* Put what was found since into the processes. */
void returns_take(struct proctab *pt);
/* What is known of @p: JIT_RETURN(), sorted, owned by the caller; *@n of them. */
uint64_t *returns_of(const struct proc *p, size_t *n);

/* ---- proc_hostmap.c ---- */

/*
 * The perf map of @p, a process of an imported recording, as far as the file on this host proves to be its own: O_RDONLY, owned, or negative
 * errno.
 */
int hostmap_open(const struct proc *p);

/* ---- proc_capture.c ---- */

/* The members of @set in order, owned by the caller. */
uint64_t *capture_sorted(const struct u64map *set);
/* Run @job here and now. @out NULL: the present file. 0 or a write error. */
int capture_now(struct proctab *pt, struct rec_out *out, struct capture_job *job);
/* The names of the code that JITs have made in @p, which is over, or whose files have to be closed. */
void capture_jit(struct proc *p);
/* Make ready what captures the rows of @d seen so far; the caller notes them as captured. False: there are none that have not been. */
bool capture_prepare_dso(struct proctab *pt, struct dso *d, struct capture_job *job);

/* ---- proc_letgo.c ---- */

/* As proctab_let_go(). */
void letgo_step(struct proctab *pt);
/* Waits for the capture that it has under way. */
void letgo_settle(struct proctab *pt);
void letgo_free(struct proctab *pt);

/* ---- proc_forget.c ---- */

/* Between two segments: let go of binaries and paths that are not needed any more. @cut: the list of
 * the segment that ended. */
void proctab_forget(struct proctab *pt, const struct caplist *cut);

/* ---- proc_cut.c ---- */

/* pins.on_evict: ctx is the struct proctab. */
void capture_before_evict(void *ctx, struct pin *pin);

#endif
