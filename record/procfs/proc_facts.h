/* What /proc shows of a live process, and the files reached through it. */
#ifndef NSPROF_PROC_FACTS_H
#define NSPROF_PROC_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "procfs/pins.h"

#define JITDUMPS_MAX 4	/* per process */
#define COMM_LEN 16	/* TASK_COMM_LEN, the NUL included */

/*
 * Facts of one process image. Referenced by the process and by its children: a child without a perf
 * map of its own uses its parent's, even if the parent is gone.
 */
struct proc_facts {
	uint32_t refs;
	uint32_t pid;			/* in our pid namespace */
	uint32_t ppid;
	uint64_t start_ticks;		/* clock ticks since boot */
	uint32_t nspid[8];		/* outermost first */
	uint32_t nspid_n;
	uint64_t mnt_ns, pid_ns, user_ns;	/* inodes; 0 = not allowed to look */
	uint32_t fsuid;
	bool have_fsuid;
	uint64_t account;	/* of its tenant, for opener_for(); 0 = unknown */
	bool running;			/* when its stat was read */
	bool kthread;
	bool forked;			/* no exec since its fork */
	char *exe, *root, *cgroup;	/* owned; "" when unknown */
	struct rootpin *rootpin;	/* NULL if not available */
	uint64_t begun;			/* ns of CLOCK_MONOTONIC, of its exec or fork; 0 = neither was seen */
	uint64_t image;			/* procfs_stat_image(); 0 = unknown, or none yet */
	uint64_t seen;			/* ns of CLOCK_MONOTONIC: it ran then; 0 = not sampled */
	uint64_t over_time;		/* of its ending exec or exit; 0 = not seen */
	bool over_exec;			/* it was an exec: the process runs another program since */
	uint64_t first_exit;		/* of its first thread, if others were still there; 0 = not seen */
	bool outlived;			/* its exit was seen, and others have its open files: forked processes */
	uint32_t listed;		/* references of lists of captures */
	struct pin map;			/* the perf map, if there was one */
	uint64_t map_time;		/* ns of sample time, of the latest look for it */
	bool map_held;			/* looked for among the files that the process has open */
	uint32_t rivals;		/* processes with a map of that name in the same folder */
	/*
	 * Those that it has mapped, in the order in which they were met. A forked process's first
	 * one may be its parent's, and a program can have two compilers. Not all need be held.
	 */
	struct pin jitdump[JITDUMPS_MAX];
	int64_t jit_shift;		/* clock_mono_shift() of the jitdump's writer */
	const char *jit_why;		/* a jitdump could not be opened; static, NULL: all could */
	bool jit_late;			/* one did not answer in time, and may later */
	uint64_t jit_time;		/* ns of sample time, of the latest try that failed */
	struct proc_facts *up;		/* of the process it was forked from; NULL = none known */
};

/*
 * Reads the facts of process @pid as it is now; not those from rootpin on, except image.
 * @procfd: from nsopen_process(), borrowed. NULL if it is gone. What it no longer showed is empty.
 * Owned, one reference.
 */
struct proc_facts *proc_facts_read(int procfd, uint32_t pid);
struct proc_facts *proc_facts_get(struct proc_facts *f);			/* accepts NULL */
void proc_facts_put(struct pins *ps, struct proc_facts *f);		/* accepts NULL */

/*
 * Text of file @name ("stat") of the process behind @procfd, at most 64 KiB, owned; NULL if it is
 * gone.
 */
char *proc_facts_text(int procfd, const char *name);
/*
 * Is the process behind @procfd still there, at least as a zombie of which /proc shows only the
 * pid?
 */
bool proc_facts_there(int procfd);
/* Does it run? See procfs_stat_running(). */
bool proc_facts_running(int procfd);
/* Does the process behind @procfd run, and did it start at @ticks? */
bool proc_facts_started_at(int procfd, uint64_t ticks);
/* Has the process behind @procfd begun no program since its fork? False if it is gone. */
bool proc_facts_forked(int procfd);
/* procfs_stat_image() of the process behind @procfd; 0 also if that is not known. */
uint64_t proc_facts_image(int procfd);
/*
 * Has the process behind @procfd, which began at @ticks and ran the program with @image, run no other one since?
 * That also holds while it ends, until its parent has reaped it. False if that is not known.
 */
bool proc_facts_same_image(int procfd, uint64_t ticks, uint64_t image);
/* Did a process with start time @ticks begin after @time (ns of CLOCK_MONOTONIC)? */
bool proc_facts_started_after(uint64_t ticks, uint64_t time);
/*
 * Does the running process behind @procfd differ from the one that began at @ticks, and had it begun
 * by @time of a sample (ns)?
 */
bool proc_facts_is_other(int procfd, uint64_t ticks, uint64_t time);
/* Wall clock of the start of a process, in ns. */
int64_t proc_facts_start_wall(uint64_t ticks);
/* The comm of the process behind @procfd, "" if it cannot be read. */
void proc_facts_comm(int procfd, char comm[COMM_LEN]);
/* Stores the comm of a thread in @comm, "" if it cannot be read. True if there is one. */
bool proc_facts_thread_comm(uint32_t pid, uint32_t tid, char comm[COMM_LEN]);
/* Inode of the mount namespace of @pid, 0 if it cannot be read. */
uint64_t proc_facts_mnt_ns(uint32_t pid);

#endif
