/* What /proc says about a live process, and the files reached through it. */
#ifndef NSPROF_PROC_FACTS_H
#define NSPROF_PROC_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"
#include "procfs/pins.h"

#define JITDUMPS_MAX 4	/* of one process */
#define COMM_LEN 16	/* TASK_COMM_LEN, the NUL included */

/*
 * Facts of one process image. Referenced by the process and by what it forked: a child without a
 * perf map of its own uses its parent's, also when the parent is gone.
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
	bool running;			/* when its stat was read */
	bool kthread;
	bool forked;			/* no exec since its fork */
	char *exe, *root, *cgroup;	/* owned; "" when unknown */
	struct rootpin *rootpin;	/* NULL when not to be had */
	uint64_t begun;			/* ns of CLOCK_MONOTONIC, of its exec or fork; 0 = neither was seen */
	uint64_t over_time;		/* of the exec or exit that has ended this program; 0 = none was seen */
	struct pin map;			/* the perf map, if there was one */
	uint64_t map_time;		/* ns of sample time, when it was last looked for */
	bool map_held;			/* it was looked for among the files that the process has open */
	uint32_t rivals;		/* processes met that have a map of the same name in the same folder */
	/*
	 * Those it has mapped, in the order in which they were met: a forked process's first one may be that of who forked, and a
	 * program can have two compilers. Not all need be held.
	 */
	struct pin jitdump[JITDUMPS_MAX];
	int64_t jit_shift;		/* clock_mono_shift() of who writes the jitdump */
	struct proc_facts *up;		/* of the process it was forked from; NULL = none known */
};

/*
 * Read the facts of process @pid as it is now; not rootpin, begun, over_time, map, jitdump and up.
 * @procfd: of nsopen_process(), borrowed. NULL when it is gone; what it had not told by then is
 * empty. Owned, one reference.
 */
struct proc_facts *proc_facts_read(int procfd, uint32_t pid);
struct proc_facts *proc_facts_get(struct proc_facts *f);			/* accepts NULL */
void proc_facts_put(struct pins *ps, struct proc_facts *f);		/* accepts NULL */

/* Text of file @name ("stat") of the process behind @procfd, 64 KiB at most, owned; NULL when it is gone. */
char *proc_facts_text(int procfd, const char *name);
/* Is the process behind @procfd still there, if only as a zombie, that /proc tells the number of and no more? */
bool proc_facts_there(int procfd);
/* Does it run? procfs_stat_running(). */
bool proc_facts_running(int procfd);
/* Does the process behind @procfd run, and did it start at @ticks? */
bool proc_facts_started_at(int procfd, uint64_t ticks);
/* Has the process behind @procfd begun no program since it was forked? False when it is gone. */
bool proc_facts_forked(int procfd);
/* Did a process that started at @ticks begin to live after @time (ns of CLOCK_MONOTONIC)? */
bool proc_facts_started_after(uint64_t ticks, uint64_t time);
/* Wall clock of the start of a process, in ns. */
int64_t proc_facts_start_wall(uint64_t ticks);
/* Wall clock at @time, ns of CLOCK_MONOTONIC. */
int64_t proc_facts_wall(uint64_t time);
/* The comm of the process behind @procfd, "" when it cannot be read. */
void proc_facts_comm(int procfd, char comm[COMM_LEN]);
/* The comm of a thread into @comm ("" when it cannot be read). */
bool proc_facts_thread_comm(uint32_t pid, uint32_t tid, char comm[COMM_LEN]);
/* Inode of the mount namespace of @pid, 0 when it cannot be read. */
uint64_t proc_facts_mnt_ns(uint32_t pid);

#endif
