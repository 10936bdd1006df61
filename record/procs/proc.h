/* The state of the process table, shared by proctab.c and the parts below it, lowest first. */
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
#include "procfs/tenants.h"
#include "procs/addrset.h"
#include "procs/dsotab.h"
#include "procs/proctab.h"
#include "procs/threads.h"

/* One process and the program image that it runs. An exec resets most of it. */
struct proc {
	struct proctab *pt;
	uint32_t pid, ppid;
	uint32_t serial;		/* ev_proc.serial; 0: not in a recording yet */
	uint32_t segment;		/* the segment it was last written to: see proc_written() */
	char comm[COMM_LEN];		/* "" = not known yet */
	uint64_t mnt_ns, pid_ns, user_ns;	/* from side-band; 0 = not known */
	/*
	 * The program as mapped: the first file that an exec maps as code, before its interpreter
	 * (load_elf_binary() in fs/binfmt_elf.c). For processes that are gone before /proc can be
	 * read; 0 = unknown.
	 */
	uint32_t exe;			/* id in the interner, " (deleted)" included */
	uint64_t exe_wait;		/* exe is to come: 1 + proc_side.lost at the exec; 0 = not */
	struct mapset *maps;		/* one reference; never NULL */
	bool known;			/* maps has all executable mappings of the process */
	bool kthread;			/* kernel thread or idle task: has no mappings */
	bool inherited;			/* forked, no exec since */
	bool read_late;			/* ran before we looked: neither fork nor exec was seen */
	bool jit_captured;		/* for good, as it has ended */
	bool own;			/* proctab_own_child(), or a descendant of it */
	bool aside;			/* known only as a rival: may have no side-band */
	bool dead;			/* its leader's EXIT came, and no thread is known to live */
	bool headless;			/* its leader's EXIT came */
	uint8_t moved_looks;		/* of look_moved() (proc_maps.c), for the present image */
	uint8_t copy_looks;		/* of proc_find_copy(), for the present image */
	bool muted;			/* in the recording without its mappings */
	bool stale;			/* in the recording with mappings that are not its own any more */
	bool sampled;			/* the present image was */
	bool overfull;			/* its mappings are beyond the budget: none are kept */
	bool tenant_sure;		/* it cannot have moved to another tenant since */
	struct tenant *tenant;		/* NULL = not known yet, or detached */
	uint32_t held_maps;		/* what it counts for at its tenant */
	/* The present image used: bytes of side-band and of new paths, ns of the drain. */
	uint64_t wrote, named, spent_ns;
	uint64_t last_time;		/* ns, of its latest sample */
	uint64_t cgroup;		/* proctab_in_cgroup(); 0 = not known */
	uint64_t fork_time;		/* ns, of its fork; 0 = not seen */
	uint64_t exec_time;		/* ns, of the exec that began the image; 0 = not seen */
	uint64_t refresh_time;		/* ns, when its maps were last read again */
	uint64_t lost_seen;		/* proc_side.lost when its image was last certain */
	uint64_t lost_time;		/* ns, of the last check for a lost exec; 0 = never */
	uint64_t dead_time;		/* ns, of the latest EXIT, or of a later sample */
	uint64_t over_time;		/* ns, of the exec that is ending the image now; 0 = none */
	struct proc_facts *facts;		/* NULL = not read, or gone before */
	/*
	 * Facts read too late: when it already ran another program while side-band is still before
	 * that exec, when it had ended, or when the recording ends without a sample of it. They tell
	 * which process it is, but not what it runs or where. There are no facts then. NULL = none.
	 */
	struct proc_facts *late;
	struct proc_facts *anc;		/* of the process it was forked from; NULL = unknown */
	struct addrset jit;		/* runtime addresses seen outside of ELF files */
	struct u64map returns;		/* those of samples, to their JIT_RETURN(); 0 = unknown */
	struct proc *dead_prev, *dead_next;
};

/* The files behind mappings: found, checked, held. */
struct proc_files {
	struct intern *paths;
	struct dsotab dsos;
	struct pins pins;
	struct rootpin *own;	/* our root, for what our child runs; NULL = not available */
	struct rootpin *host;	/* detached: this host's root; NULL = not available */
	struct copies *copies;	/* NULL = nothing was searched yet */
	size_t forget_at;	/* number of binaries at which proc_forget() looks again */
	size_t forget_bytes;	/* of paths: the same */
	uint32_t next_dso;
};

/* What side-band did not report. */
struct proc_side {
	uint64_t lost;		/* times that side-band records were lost */
	bool (*exec_since)(void *ctx, uint32_t pid, uint64_t time);	/* proctab_look_ahead(); NULL = none */
	bool (*lost_since)(void *ctx, uint64_t time);	/* the same */
	void *exec_ctx;
	uint64_t barred;	/* proctab_barred(), and the first one's comm */
	char barred_comm[COMM_LEN];
};

/* Where names of JIT code come from, other than the processes' own files (struct proc_facts). */
struct proc_jit {
	struct jitlook *look;	/* NULL = not used yet */
	struct rivals *rivals;	/* the processes of the last look; NULL = not looked yet */
	bool seeking;		/* in rivals_seek() */
	struct proc_facts **met;	/* owned, one reference each; for rivals_seek_met() */
	size_t nmet, met_cap;
	bool host_maps;		/* proctab_host_maps(), and its arguments */
	uint64_t host_begun;
	int64_t host_begun_wall, host_late;
};

/* The addresses that need rows, and the results of captures. */
struct proc_captures {
	/* All sets of addresses belong to proctab.segment; proctab_cut() turns them into a list. */
	struct addrset kernel;	/* kernel addresses seen */
	uint64_t leaf_samples;	/* samples in all maps of leafs */
	/* The lists of earlier segments; see proctab_lists(). All borrowed. */
	struct caplist *const *kept;
	size_t nkept;
	struct caplist *closing;	/* on its way to closing_out */
	struct rec_out *closing_out;
	struct letgo *letgo;	/* of proc_letgo.c; NULL = not used yet */
	bool evicting;		/* in capture_before_evict(): pin nothing, add no process */
	/* Reported by proctab_tell(). */
	uint64_t written, served, failed;
	uint64_t code_bytes;	/* of captured code */
};

struct proctab {
	struct rec_writer *w;	/* borrowed */
	struct u64map procs;	/* pid to struct proc * */
	struct proc dead;	/* list head, oldest first */
	size_t ndead;
	struct threads threads;
	struct tenants tenants;
	uint32_t segment;	/* the one being written; 1 and up */
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

/* Is @p in the segment that is being written, with its mappings or without? */
static inline bool proc_present(const struct proc *p)
{
	return p->serial && p->segment == p->pt->segment;
}

/* Is it there with its mappings? Then what happens to it has to be written, too. */
static inline bool proc_written(const struct proc *p)
{
	return proc_present(p) && !p->muted && !p->stale;
}

/* What is known of the process, whatever it runs: start time, pids, cgroup. NULL = nothing. */
static inline const struct proc_facts *proc_who(const struct proc *p)
{
	return p->facts ? p->facts : p->late;
}

/* ---- proc_table.c ---- */

/* Who answers for the time of openers for @f: its tenant, or while that is unknown its cgroup. */
uint64_t proc_facts_account(const struct proc_facts *f);
/* What this thread opens from now on is for @p: what does not answer counts against its cgroup. */
void proc_on_behalf(const struct proc *p);
/* The same for process @pid with facts @f, of which nothing else is known yet. */
void proc_facts_on_behalf(const struct proc_facts *f, uint32_t pid);

/* The process with that pid; NULL if it is not known. */
struct proc *proctab_find(const struct proctab *pt, uint32_t pid);
/* The same, but adds a process that is not known. */
struct proc *proctab_know(struct proctab *pt, uint32_t pid);
/* Adds a process. The table must not have that pid. */
struct proc *proctab_add(struct proctab *pt, uint32_t pid);
void proc_free(struct proc *p);
/* Its samples are over, or were at @time: frees it later, unless it lives on (proc_revive()). */
void proc_die(struct proc *p, uint64_t time);
void proc_revive(struct proc *p);
/* Where it counts when it is dead. */
struct tenant *proc_dead_account(const struct proc *p);

/* ---- proc_tenant.c ---- */

/* The tenant of @p; NULL if there are no budgets (detached). */
struct tenant *proc_tenant(struct proc *p);
/* pin.owner of files that only @p needs. */
static inline uint32_t proc_pin_owner(const struct proc *p)
{
	return p->tenant ? p->tenant->index + 1 : 0;
}
/* It is in @cgroup now, as user @uid. */
void proc_in_tenant(struct proc *p, const char *cgroup, uint32_t uid);
/* @p was forked from @parent. */
void proc_tenant_of_parent(struct proc *p, struct proc *parent);
/* May the tenant hold @n more because of @p? Then it does. */
bool proc_may_hold(struct proc *p, enum tenant_hold what, uint64_t n);
/* The id of a path that @p maps; that of PATH_LEFT_OUT if it is new and beyond the budget. */
uint32_t proc_path(struct proc *p, const char *path, size_t len);
/* What a path of @len bytes counts for, bytes. */
uint64_t proc_path_cost(size_t len);
/* May the drain look at @p and its files? */
bool proc_has_time(struct proc *p);
/*
 * Before it does, and when it did. CPU time counts, ns. Waiting for a CPU is not the tenant's
 * doing, and what openers slept has an account of its own (opener_loss).
 */
uint64_t proc_work_begin(void);
void proc_work_end(struct proc *p, uint64_t begun);
/* As dsotab_resolve(), for a mapping of @p. Beyond the budget, @e becomes a mapping of no binary. */
void proc_resolve(struct proc *p, struct map_user *u, struct map_entry *e, const uint8_t *build_id, size_t len);
/* What an event with the string @text counts for, bytes. */
uint64_t proc_event_cost(const char *text);
/* May an event of @n bytes about @p be written at @time? And: it was. */
bool proc_may_write(struct proc *p, uint64_t n, uint64_t time);
void proc_wrote(struct proc *p, uint64_t n);
/* Writes one mapping in place of all. */
void proc_write_left_out(struct proc *p, uint64_t time);
/* The segment ends: writes what was left out in it. */
void proc_write_budgets(struct proctab *pt);
/* With -v: which tenants have used much of a budget. */
void proc_tell_budgets(const struct proctab *pt);
/* The mappings of @p have changed: counts them, or gives up those of a process with too many. */
void proc_hold_maps(struct proc *p);
/* Forgets its mappings, and does not even look at the later ones of this image. */
void proc_give_up_maps(struct proc *p);

/* ---- proc_rivals.c ---- */

/* The pid by which a process with facts @f knows itself; 0 = unknown. */
uint32_t rival_number(const struct proc_facts *f);
/* Do the processes with facts @a and @b share one perf map? @b may be NULL: unknown. */
bool rival_is(const struct proc_facts *a, const struct proc_facts *b);
/* Had @q ended when the process with facts @f began? */
bool rival_ended_before(const struct proc *q, const struct proc_facts *f);
/*
 * @f has a perf map now: finds the processes in the table that share it. rivals_seek_met() then
 * looks among all processes.
 */
void rivals_met(struct proctab *pt, struct proc_facts *f);

/* ---- proc_jit.c ---- */

/* Pins the perf map of live @p, if it exists. The facts of @p are known. */
void perfmap_pin(struct proc *p);
/* The same again, from time to time: a JIT may run for long before it writes a map. */
void perfmap_pin_late(struct proc *p);
/* Pins the jitdump of @p if @e is the mapping that shows where it is. */
void jitdump_pin(struct proc *p, const struct map_user *u, const struct map_entry *e);
/* Again, some time after one did not answer. A process that is busy with its mappings may answer late. */
void jitdump_pin_late(struct proc *p);
/* Is there a jitdump with code of a process with facts @f? */
bool jitdump_there(const struct proc_facts *f);
/*
 * Prepares @job to capture the names of @addrs (taken) for process @serial with facts @f, which may
 * be NULL.
 */
void perfmap_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs, size_t n,
		     struct capture_job *job);
void jitdump_prepare(const struct proc_facts *f, uint32_t serial, const char *comm, uint64_t *addrs,
		     size_t n, struct capture_job *job);
/* May a file with attributes @st be the perf map of a process with facts @f? NULL, or why not. */
const char *perfmap_refuse(const struct proc_facts *f, const struct stat *st);

/* ---- proc_moved.c ---- */

/* Memory with this alignment counts as a copy of code if the process cannot be read. */
#define HUGE_PAGE (2u << 20)

/* Is code in @e in no file: a JIT's, or that of a memfd? */
bool proc_is_memory(const struct proc *p, const struct map_entry *e);

/* Mappings of files next to memory that holds code. */
struct file_lines {
	struct map_entry *v;	/* owned, sorted by start */
	size_t n, cap;
	struct proc_map last;	/* the latest one of a file; its path is the text's */
	uint64_t near_end;	/* end of it, or of such memory close behind it; 0: none */
	uint64_t memory_end;	/* end of the memory that was met behind it; 0: none */
};

/* Takes a line of /proc/PID/maps of @p. The text has to stay until all lines are seen. */
void file_lines_see(struct file_lines *fl, struct proc *p, const struct proc_map *m);
void file_lines_fini(struct file_lines *fl);
/*
 * Turns memory in *@maps with a copy of a file's code into mappings of that file. @procfd and @u
 * are those of @p.
 */
void proc_find_moved(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps, const struct file_lines *fl);

/* ---- proc_copies.c ---- */

/* Does @e look like a copy, so that a search is worth it? */
bool proc_may_be_copy(const struct proc *p, const struct map_entry *e);
/*
 * Is @e, memory of @p that maps no file, a copy of code of a file in @ms, at another place than
 * that file's? Then @e becomes a resolved mapping of that file. @procfd and @u are those of @p. The
 * time that this takes is bounded.
 */
bool proc_find_copy(struct proc *p, const struct map_user *u, int procfd, const struct mapset *ms, struct map_entry *e);
/* The same for everything in *@maps. */
void proc_find_copies(struct proc *p, const struct map_user *u, int procfd, struct mapset **maps);
void copies_free(struct proctab *pt);

/* ---- proc_read.c ---- */

/*
 * The mount namespace of @p if neither side-band nor /proc shows it: ours for our child, otherwise
 * 0.
 */
uint64_t proc_own_mnt_ns(const struct proc *p);
/* The user with which files of @p are opened. */
struct map_user proc_map_user(const struct proc *p);
/* Is @p, as far as side-band has come, a forked process that has begun no program? */
bool proc_is_forked(const struct proc *p);
/*
 * Does @p by now run another program than the one that side-band has come to? @time: of a sample of
 * it (0: now). If called after something was read, "no" holds for what was read.
 */
bool proc_moved_on(const struct proc *p, int procfd, uint64_t time);
/*
 * Adds the mappings of @p, the process behind @procfd, to *@maps. 0; -ESRCH: it has no memory (any
 * more); or the errno of reading.
 */
int proc_read_lines(struct proc *p, int procfd, struct mapset **maps);
/*
 * The mappings of live @p now, one reference in *@maps. @time: of a sample, or 0. 0, or negative
 * errno. -ESRCH: it has no memory (any more), or by now runs another program than the one that
 * side-band has come to.
 */
int proc_read_maps_at(struct proc *p, int procfd, uint64_t time, struct mapset **maps);
/* The same without @procfd; -ESRCH also when it is gone. */
int proc_read_maps(struct proc *p, uint64_t time, struct mapset **maps);

/* ---- proc_maps.c ---- */

/* Writes to the present segment what is not in it yet. */
void proc_write_dso(struct proc *p, struct dso *d);
void proc_write_map(struct proc *p, const struct map_entry *e, uint64_t time);
/*
 * Adds a mapping to the set, and to the recording if the process is in it. @build_id may be NULL.
 */
void proc_add_map(struct proc *p, struct map_entry *e, const uint8_t *build_id, size_t len,
		  uint64_t time);
/*
 * Adds what @p maps now; its facts are known. @time: of a sample, or 0. False: it is gone or cannot
 * be read.
 */
bool proc_add_present(struct proc *p, uint64_t time);
/* The vsyscall page belongs to all processes and is in no record. */
void proc_add_vsyscall(struct proc *p);
/*
 * Finds the binary behind each mapping, and pins the files. False if that was put off for some,
 * because the tenant's time is used up.
 */
bool proc_pin_all(struct proc *p);

/* ---- proc_acquire.c ---- */

/*
 * Reads the facts of live @p and, if unknown, its mappings, and pins its files. @time: of the
 * sample that needs them, 0 = now. 0, or negative errno; -ESRCH: it is gone, or the pid belongs to
 * another process by now.
 */
int proc_acquire(struct proc *p, uint64_t time);
/*
 * Records were lost since @p->lost_seen. Does @p, at @time of a sample of it, run a program of
 * which the exec record was lost? Or has its pid a new process, whose fork was lost as well? Then
 * true, and its comm. What is not certain yet is checked again
 * later.
 */
bool proc_lost_exec(struct proc *p, uint64_t time, char comm[COMM_LEN]);
/* Reads /proc/PID/maps again, because a record may have been lost. At most ten times a second. */
void proc_refresh_maps(struct proc *p, uint64_t time);

/* ---- proc_seek.c ---- */

/* Looks for processes that may write to the map of @f by now. */
void rivals_seek(struct proctab *pt, const struct proc_facts *f);
/*
 * The same for all calls of rivals_met() since. Call it after anything that may have pinned a map.
 */
void rivals_seek_met(struct proctab *pt);
/*
 * In a file that others write to as well, a line belongs to @f's code only if nobody else has code
 * there. Keeps those of @addrs and returns their number; 0 if a rival is gone, because its mappings
 * are no longer known.
 */
size_t rivals_leave(struct proctab *pt, const struct proc_facts *f, uint64_t *addrs, size_t n);
void rivals_fini(struct proctab *pt);

/* ---- proc_intro.c ---- */

/* Writes @p to the recording: facts, binaries, mappings. */
void proc_introduce(struct proc *p, uint64_t time);
/*
 * A sample of @p comes, which is in the recording without its mappings, or with stale ones.
 * Introduces it again, with its mappings if they are known and the budget allows it.
 */
void proc_introduce_again(struct proc *p, uint64_t time);
/*
 * Writes who @p is, without mappings: it has no samples, and none will come. False: nothing is known
 * of it, or the budget does not allow it.
 */
bool proc_introduce_idle(struct proc *p, uint64_t time);
/* Writes its facts again, because there are more of them. Its mappings stay. */
void proc_write_again(struct proc *p, uint64_t time);
/* Writes the thread's comm if that has not been done. */
void proc_introduce_thread(struct proc *p, struct thread *t, uint64_t time);

/* ---- proc_returns.c ---- */

/* Stores new results with their processes. */
void returns_take(struct proctab *pt);
/* The results for @p: JIT_RETURN(), sorted, owned by the caller; *@n of them. */
uint64_t *returns_of(const struct proc *p, size_t *n);

/* ---- proc_capture.c ---- */

/* Runs @job now. @out NULL: the present file. 0 or a write error. */
int capture_now(struct proctab *pt, struct rec_out *out, struct capture_job *job);
/*
 * Captures the names of JIT code in @p, which is over, or has to give up its files. False: not now,
 * because its tenant has used up the drain's time.
 */
bool capture_jit(struct proc *p);
/*
 * Prepares @job to capture the rows of @d seen so far; the caller notes them as captured. False:
 * all of them are captured.
 */
bool capture_prepare_dso(struct proctab *pt, struct dso *d, struct capture_job *job);

/* ---- proc_letgo.c ---- */

/* The binary that is being captured; NULL = none. */
struct dso *letgo_busy(const struct proctab *pt);
/* As proctab_let_go(). */
void letgo_step(struct proctab *pt);
/* Waits for its capture that is under way. */
void letgo_settle(struct proctab *pt);
void letgo_free(struct proctab *pt);

/* ---- proc_forget.c ---- */

/*
 * Between two segments: lets go of binaries and paths that are not needed any more. @cut: the list
 * of the segment that ended.
 */
void proc_forget(struct proctab *pt, const struct caplist *cut);
/* The same at any time between two drains. */
void proc_forget_now(struct proctab *pt);

/* ---- proc_cut.c ---- */

/* pins.on_evict: ctx is the struct proctab. */
void capture_before_evict(void *ctx, struct pin *pin);

#endif
