/*
 * The decoded contents of a recording: one struct for each kind of event and one table of
 * callbacks. The reader delivers events in file order, which is time order. All pointers are
 * borrowed and valid only during the callback. Times: ns of CLOCK_MONOTONIC on the recorded host.
 */
#ifndef NSPROF_EVENT_H
#define NSPROF_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackcopy.h"

#define BUILD_ID_MAX 20

/*
 * Registers, numbered as PERF_REG_X86_* in arch/x86/include/uapi/asm/perf_regs.h. The recording
 * keeps 0-8 (ax bx cx dx si di bp sp ip) and 16-23 (r8-r15).
 */
enum {
	UREG_AX, UREG_BX, UREG_CX, UREG_DX, UREG_SI, UREG_DI, UREG_BP, UREG_SP, UREG_IP,
	UREG_R8 = 16, UREG_R9, UREG_R10, UREG_R11, UREG_R12, UREG_R13, UREG_R14, UREG_R15,
	UREG_MAX = 24,
};

/* PERF_SAMPLE_REGS_USER mask for the registers above. */
#define UREG_MASK 0xff01ffull

/*
 * A binary. Defined before the first mapping that uses it; may be repeated with the same contents.
 * Identity: the build-id; without one, (mnt_ns, dev, ino, size, mtime, path) together.
 */
struct ev_dso {
	uint32_t id;			/* 1 and up; may have gaps */
	uint8_t build_id[BUILD_ID_MAX];
	uint8_t build_id_len;		/* bytes; 0 = none known */
	uint32_t dev_major, dev_minor;	/* as in /proc/PID/maps; 0 when unknown */
	uint64_t ino, ino_gen;
	uint64_t size;			/* bytes; 0 when the file could not be opened */
	int64_t mtime_ns;		/* wall clock; 0 when unknown */
	uint64_t mnt_ns;		/* inode of the mount namespace it was seen in; 0 unknown */
	const char *path;		/* as in /proc/PID/maps, without " (deleted)" */
	bool deleted;
};

/*
 * Facts about a process, taken while it lived. A new ev_proc for a pid begins a new process image,
 * unless its serial is that of the current image. Then the image continues with these facts. If
 * maps_known, the mappings that follow replace its own.
 */
struct ev_proc {
	uint64_t time;
	uint32_t serial;	/* identity of this process image, 1 and up; may have gaps */
	uint32_t pid;		/* in the recorder's pid namespace */
	uint32_t ppid;
	uint64_t start_ticks;	/* field 22 of /proc/PID/stat, ticks since boot; 0 = unknown */
	uint32_t nspid[8];	/* NStgid of /proc/PID/status, outermost first */
	uint32_t nspid_n;	/* 0 = unknown */
	uint64_t mnt_ns, pid_ns, user_ns;	/* inodes; 0 = unknown */
	const char *comm;	/* "" when unknown */
	const char *exe;	/* target of /proc/PID/exe, or what the exec mapped first */
	const char *root;	/* target of /proc/PID/root */
	const char *cgroup;	/* v2 path "/docker/<id>", or v1 perf_event path; "" = unknown */
	bool maps_known;	/* the mappings that follow are complete */
	bool inherited;		/* forked, no exec yet: the perf map may be the parent's */
};

struct ev_mmap {
	uint64_t time;
	uint32_t pid, tid;
	uint64_t start, len;	/* runtime address, bytes */
	uint64_t pgoff;		/* byte offset in the file */
	uint32_t prot;		/* PROT_* */
	uint32_t flags;		/* MAP_* */
	uint32_t dso;		/* ev_dso.id; 0: no file behind it (anonymous, memfd without ELF) */
	const char *path;	/* "//anon", "[vdso]", "/memfd:jit", a file's path ... */
};

struct ev_comm {
	uint64_t time;
	uint32_t pid, tid;
	bool exec;
	const char *comm;
};

struct ev_task {	/* fork and exit */
	uint64_t time;
	uint32_t pid, tid, ppid, ptid;
};

struct ev_cgroup {
	uint64_t id;
	const char *path;
};

struct ev_ksymbol {	/* a BPF program or trampoline, loaded or unloaded */
	uint64_t time;
	uint64_t addr;
	uint32_t len;
	bool gone;		/* unloaded */
	const char *name;
};

/*
 * Follows the last address of a chain. The kernel deferred the user part of the chain
 * (PERF_CONTEXT_USER_DEFERRED, Linux 6.19), and the recording lacks what it wrote later.
 */
#define CHAIN_DEFERRED ((uint64_t)-640)
/*
 * Follows the last address of a chain. The recorder kept no other user addresses and no stack, as it
 * did not know the mappings of the process: nothing tells addresses from data. Ours, not the
 * kernel's.
 */
#define CHAIN_WITHHELD ((uint64_t)-3001)
/*
 * Stands for a user address in a chain that is in none of the process's mappings, although these are
 * known. The address itself may be data.
 */
#define CHAIN_UNMAPPED ((uint64_t)1)

#define PAYLOAD_MAX 4096u	/* bytes of one tracepoint's record that are kept */

/* How an event of the recording takes its samples. */
enum event_role {
	ROLE_SAMPLES = 0,	/* asked for with -e */
	ROLE_WAITS = 1,	/* stacks of threads that go off the CPU: weighed by switches */
	ROLE_MEMBER = 2,	/* of a group: read when its leader is sampled */
	/*
	 * On and off the CPU together: readers make it of ROLE_WAITS and the clock that is its
	 * leader. Not in recordings.
	 */
	ROLE_WALL = UINT32_MAX,
};

#define SAMPLED_EVENTS_MAX 1024u	/* events of one recording */

/* How an event takes stacks. */
enum callgraph {
	CALLGRAPH_UNSET,	/* not its own: as the recording's settings say */
	CALLGRAPH_NONE,		/* none: its samples have one address */
	CALLGRAPH_FP,		/* the kernel follows frame pointers */
	CALLGRAPH_DWARF,	/* registers and a copy of the user stack, which readers unwind */
};

/*
 * An event that samples are of. A recording without any has one, which the INFO block describes.
 * Each segment begins with all of them, in the order of their indices. A repeated index says that
 * the period is a new one from @time on.
 */
struct ev_event {
	uint64_t time;
	uint32_t index;		/* ev_sample.event; from 0, without gaps, below SAMPLED_EVENTS_MAX */
	uint32_t role;		/* enum event_role; later versions may know more */
	uint32_t leader;		/* index of its group's leader; its own without a group */
	uint32_t type;			/* of struct perf_event_attr, as config, 1 and 2 */
	uint64_t config, config1, config2;
	uint64_t freq;			/* Hz; 0: @period is fixed */
	uint64_t period;		/* 0: by frequency */
	const char *name;		/* "cycles", "cpu_core/cycles/", "sched:sched_switch" */
	const char *modifier;		/* "u", "k" or "" */
	const char *unit;		/* of periods: "ns", or "" for events */
	const char *filter;		/* as the kernel got it, or "" */
	/*
	 * The lines "field:..." of the tracepoint's format file if payloads are kept, or "". Fields
	 * that are text hold zeros, unless they were asked for.
	 */
	const char *fields;
	uint32_t callgraph;		/* enum callgraph; later versions may know more */
	uint32_t dump_size;		/* bytes of stack asked for, with CALLGRAPH_DWARF; else 0 */
	uint32_t max_stack;		/* frames of a stack, from the leaf; 0: as many as there are */
};

/* A thread goes to a CPU or leaves it. */
struct ev_switch {
	uint64_t time;
	uint32_t pid, tid, cpu;
	bool out;		/* it leaves, */
	bool preempted;		/* although it could go on running */
	bool mark;		/* only in a block's switches: see switch_codec.h */
};

/*
 * A thread that sleeps is made runnable: until it gets a CPU, it waits for one. It may be about to sleep
 * only. Then it stays awake, or it is already on its way off the CPU.
 */
struct ev_wakeup {
	uint64_t time;
	uint32_t pid, tid;	/* the woken thread */
	uint32_t cpu;		/* of whoever woke it */
};

/*
 * The kernel's own times of a thread since it began, as /proc/PID/task/TID/schedstat has them.
 * Written when recording begins for a thread that was there before, and for those that are there when
 * it ends. A thread that begins, or comes into the target, without a fork that is written has one
 * with all times 0. If it comes by its exec, a switch to a CPU of the same time follows.
 */
struct ev_schedstat {
	uint64_t time;		/* of the reading */
	uint32_t pid, tid;
	uint64_t run_ns;	/* on a CPU */
	uint64_t wait_ns;	/* runnable, waiting for one */
	uint64_t slices;	/* times it got one */
};

/*
 * Recording was switched on or off. Between off and on, nothing is known of threads, and their time
 * does not count. Only in recordings of switches. Without one before it, a segment begins switched on.
 */
struct ev_toggle {
	uint64_t time;	/* all events were on at it, or until then */
	bool on;
};

struct ev_sample {
	uint64_t time;
	uint32_t pid, tid, cpu;
	uint64_t period;
	uint64_t cgroup;	/* cgroup id; 0 = not recorded */
	uint32_t event;		/* ev_event.index; 0 in recordings of one plain event */
	uint32_t payload_len;	/* bytes; 0: none is kept */
	const uint8_t *payload;	/* a tracepoint's record, laid out as ev_event.fields says */
	const uint64_t *chain;	/* as the kernel wrote it, PERF_CONTEXT_* included; leaf first */
	uint32_t nchain;	/* >= 1 marker + 1 address even without call graphs */
	bool has_regs;		/* regs are valid: the user part is to be unwound */
	uint64_t regs[UREG_MAX];	/* masked: 0 where neither code nor stack */
	struct stack_view stack;	/* lo == hi when there is none */
	uint64_t changed_end;	/* every word at or above it equals the thread's previous sample */
	/*
	 * Every word at or above it equals the last one that the thread's samples had at that
	 * address, however long ago. UINT64_MAX: no earlier words are known.
	 */
	uint64_t known_end;
	bool copy_full;		/* the copy has the size asked for: there may be more stack */
	bool unmasked;		/* --stacks=full: all words are kept */
	bool cut;		/* under pressure, only the lowest words kept; never copy_full */
};

/* A sample as the recorder hands it to rec_writer.h. All pointers are borrowed for the call. */
struct sample_in {
	uint64_t time;			/* ns */
	uint32_t pid, tid, cpu;
	uint64_t period;
	uint64_t cgroup;
	uint32_t event;			/* ev_event.index */
	uint32_t payload_len;		/* bytes, at most PAYLOAD_MAX; 0: none */
	const uint8_t *payload;
	const uint64_t *chain;
	uint32_t nchain;		/* capped to 1,024 by the writer */
	bool has_regs;
	uint64_t regs[UREG_MAX];		/* already masked; regs[UREG_SP] kept */
	const struct stack_words *stack;	/* NULL when none */
	/*
	 * A hint that saves comparing; not written to the file. The last @same words of @stack
	 * equal, at the same addresses, the end of the last stack that a sample of this thread had.
	 * That sample's @serial was @same_as. 0: not known.
	 */
	uint64_t serial, same_as;
	uint32_t same;
	bool copy_full;
	bool unmasked;
	bool cut;			/* see ev_sample.cut; excludes copy_full */
};

/* What the recorder gives up when it cannot keep up, one step after the other. */
enum pressure_level {
	PRESSURE_NONE,		/* everything is kept, with the best compression */
	PRESSURE_FAST,		/* faster, weaker compression */
	PRESSURE_STORED,	/* no compression */
	PRESSURE_CUT,		/* stack copies are cut: ev_sample.cut */
	PRESSURE_DROP,		/* whole samples are dropped, evenly over threads */
	PRESSURE_LEVELS,
};

enum pressure_cause {
	PRESSURE_WRITER = 1,	/* packing and writing lag behind recording */
	PRESSURE_RINGS = 2,	/* the kernel's rings fill faster than they are drained */
};

/* From @time on the recorder is at @level. */
struct ev_pressure {
	uint64_t time;
	uint32_t level;		/* enum pressure_level; later versions may know more */
	uint32_t cause;		/* enum pressure_cause of the change, also when the level falls */
};

enum absence_kind {
	ABSENCE_CPU = 1,	/* went offline: not sampled while it is away */
	ABSENCE_CPU_BACK = 2,	/* online and sampled again */
	ABSENCE_CPU_DEAF = 3,	/* online again, but its events could not be reopened */
	ABSENCE_CGROUP = 4,	/* removed: what ran in it until then is recorded */
	ABSENCE_CGROUP_BACK = 5,	/* recreated: a new cgroup of the same path, and sampled */
	ABSENCE_CGROUP_DEAF = 6,	/* recreated or newly matching, but events did not open */
	ABSENCE_CGROUP_NEW = 7,	/* newly matches the target and is sampled from now on */
};

/*
 * A part of the target went away or came back, seen at @time. Each segment begins by repeating what
 * is away at that moment.
 */
struct ev_absence {
	uint64_t time;
	uint32_t kind;		/* enum absence_kind; later versions may know more */
	uint32_t cpu;		/* for the CPU kinds */
	const char *cgroup;	/* path for the cgroup kinds, else "" */
};

/*
 * A cgroup and its CPU usage, as read at @time. For a container it is the container's own cgroup;
 * otherwise one that samples came from, that was chosen, or that has a limit and contains one with
 * samples. Written before its first sample in a segment, when its limit has changed, and again at the
 * segment's end. Counters run from the cgroup's creation, so the recording's share is the last value
 * minus the first. The first values are 0 for a cgroup that was created during the recording.
 */
struct ev_container {
	uint64_t time;
	uint64_t node;		/* its id, as in ev_cgroup; new when recreated; 0 = unknown */
	const char *cgroup;	/* path, "/docker/3f..." */
	const char *runtime;	/* "docker"; "" = no container, or runtime unknown */
	/*
	 * As the runtime has them; "" = unknown. If other containers have the name at the same time,
	 * ":" and the runtime or an id prefix follow it.
	 */
	const char *id, *name, *image;
	const char *pod, *pod_ns, *pod_uid;	/* Kubernetes */
	bool have_usage, have_throttling;	/* fields below are valid; latter: and counted */
	bool gone;		/* it was removed: the counters are those of the last look */
	uint64_t quota_us, period_us;	/* CPU time per period; quota 0: no known limit */
	uint64_t usage_us;	/* CPU time */
	uint64_t nr_periods, nr_throttled;	/* periods with work; of these, throttled ones */
	uint64_t throttled_us;	/* time it was kept from running, sum over CPUs */
};

/*
 * One CPU in one second of the recording. Counts are of samples unless they say otherwise. A CPU
 * and second may have several rows; add them.
 */
struct ev_tally {
	uint64_t second;	/* since rec_reader_start(); anything older counts in second 0 */
	uint32_t cpu;
	uint64_t kept, cut, dropped, own, lost;	/* as in struct ev_ledger; lost is lost_kernel */
	uint64_t throttled;	/* times the kernel throttled an event */
	uint64_t throttled_ns;	/* duration, sum over events; in the second of its end */
	uint64_t side_lost;	/* records about mappings and processes */
};

/* The kernel's own counts of one event on one CPU, to check against what was accounted for. */
struct ev_counts {
	uint32_t cpu;
	uint32_t events;	/* sampling events open on it */
	uint64_t count;		/* sum of read(2) over them: ns for clocks, else events */
	uint64_t samples;	/* received: kept + cut + dropped + own */
	uint64_t periods;	/* sum of their periods, in the unit of count */
	uint64_t lost;		/* samples not received: ev_ledger.lost_kernel */
	uint64_t enabled, running;	/* ns, sums over the events; running: counting */
	uint64_t event;		/* ev_event.index */
	uint64_t throttled, throttled_ns, throttled_samples;	/* as in struct ev_ledger */
};

/*
 * Counts by cause; see the LEDGER block. Unit: samples unless stated otherwise.
 * kept + cut + dropped + own + lost_kernel is what the kernel took.
 */
struct ev_ledger {
	uint64_t kept;		/* whole in the file */
	uint64_t lost_kernel;	/* ring full: by PERF_FORMAT_LOST, else PERF_RECORD_LOST_SAMPLES */
	uint64_t lost_sideband;	/* records, not samples: side-band ring full */
	uint64_t dropped;	/* by the recorder itself */
	uint64_t throttled;	/* times the kernel throttled an event */
	uint64_t unordered;	/* records that arrived too late to be sorted by time */
	uint64_t maps_unknown;	/* kept with all words, but without the process's mappings */
	uint64_t copy_full;	/* kept, with a stack copy of the size asked for */
	uint64_t cut;		/* in the file, ev_sample.cut */
	uint64_t own;		/* left out on purpose: the recorder's own, or from other cgroups */
	uint64_t throttled_ns;	/* time events were stopped by throttling, sum over events */
	uint64_t throttled_samples;	/* samples missed in that time, estimated from the period */
	uint64_t count;		/* sum of the events' own counts: ns for clocks, else events */
	uint64_t periods;	/* sum of the periods of kept + cut + dropped + own, same unit */
	uint64_t pool_waits;	/* times the drain waited for the writer's pool */
	uint64_t pool_peak;	/* most blocks that ever waited to be packed and written */
	uint64_t pressure_n[PRESSURE_LEVELS];	/* times it was entered; [0]: back to none */
	uint64_t pressure_ns[PRESSURE_LEVELS];	/* time spent at each */
	uint64_t cpus_away;	/* most CPUs of the target that were offline at the same time */
	uint64_t cgroups_gone;	/* cgroups of the target that were removed */
	uint64_t withheld;	/* kept or cut, without their user stack: CHAIN_WITHHELD */
	uint64_t unread;	/* files and processes, not samples: nothing answered in time */
	uint64_t switches;	/* records of threads that go to a CPU or leave it: in the file, */
	uint64_t lost_switches;	/* and lost, as there was no room for them */
	uint64_t wakeups;	/* of threads whose switches are recorded: in the file; */
	uint64_t lost_wakeups;	/* records of any thread's wake-up that found no room */
	bool have_format_lost;	/* lost_kernel is from PERF_FORMAT_LOST, with losses at the end */
	bool have_count;	/* every event's count could be read */
	bool exact;		/* count is of single events, and each of them made a sample */
};

/* What was left out because a tenant had used up its budget. */
enum budget_kind {
	BUDGET_PATHS = 1,	/* mappings with new paths */
	BUDGET_FILES = 2,	/* mappings of new binaries */
	BUDGET_MAPS = 3,	/* mappings of processes that had too many, these included */
	BUDGET_ADDRS = 4,	/* addresses of code: nothing was captured for them */
	BUDGET_SAMPLES = 5,	/* samples whose process is in the recording without its mappings */
	BUDGET_KINDS
};

/*
 * A tenant, that is a container, or outside of containers a user in a cgroup, made the recorder
 * leave out things. Others lost nothing by it. Written at the end of a segment.
 */
struct ev_budget {
	uint64_t time;
	uint32_t kind;		/* enum budget_kind; later versions may know more */
	uint64_t count;		/* in this segment */
	const char *cgroup;	/* path; "" = unknown */
	bool by_user;		/* only processes of @uid in that cgroup */
	uint32_t uid;
};

struct event_ops {
		/* Any may be NULL. A non-zero return ends the pass; the reader returns it. */
	int (*dso)(void *ctx, const struct ev_dso *ev);
	int (*proc)(void *ctx, const struct ev_proc *ev);
	int (*mmap)(void *ctx, const struct ev_mmap *ev);
	int (*comm)(void *ctx, const struct ev_comm *ev);
	int (*fork)(void *ctx, const struct ev_task *ev);
	int (*exit)(void *ctx, const struct ev_task *ev);
	int (*cgroup)(void *ctx, const struct ev_cgroup *ev);
	int (*ksymbol)(void *ctx, const struct ev_ksymbol *ev);
	int (*pressure)(void *ctx, const struct ev_pressure *ev);
	int (*absence)(void *ctx, const struct ev_absence *ev);
	int (*container)(void *ctx, const struct ev_container *ev);
	int (*budget)(void *ctx, const struct ev_budget *ev);
	int (*event)(void *ctx, const struct ev_event *ev);
	/*
	 * In the order of time. Later than the samples that are older, but up to a block's time
	 * later: a sample of role ROLE_WAITS comes before the switch that it belongs to.
	 */
	int (*cpu_switch)(void *ctx, const struct ev_switch *ev);
	/* In the order of time among the switches. */
	int (*wakeup)(void *ctx, const struct ev_wakeup *ev);
	int (*schedstat)(void *ctx, const struct ev_schedstat *ev);
	int (*toggle)(void *ctx, const struct ev_toggle *ev);
	int (*sample)(void *ctx, const struct ev_sample *ev);
	/*
	 * Called before each part (rec_reader_parts()), from 0 on. If it returns false, the reader
	 * skips the part's samples without decoding them and calls skipped() in their place with
	 * their number. NULL: none are skipped.
	 */
	bool (*wants)(void *ctx, uint32_t part);
	void (*skipped)(void *ctx, uint64_t samples);
	/* Before each block of wanted samples: rec_reader_work_ahead() may be called here. */
	void (*block)(void *ctx);
};

/* Rows captured at record time. */
enum capture_kind {
	CAPTURE_ELF = 1,	/* a sliced ELF file; id = ev_dso.id */
	CAPTURE_PERF_MAP = 2,	/* lines of a perf-PID.map; id = ev_proc.serial */
	CAPTURE_KALLSYMS = 3,	/* lines of /proc/kallsyms; id = 0 */
	CAPTURE_JITDUMP = 4,	/* functions of a jitdump; id = ev_proc.serial; see jitdump.h */
	CAPTURE_CODE = 5,	/* code of sampled functions; id = ev_dso.id; see code_pack.h */
	CAPTURE_JIT_RETURNS = 6,	/* u64 each, sorted, of JIT_RETURN(); id = ev_proc.serial */
};

/*
 * The jitted instruction at runtime address @addr (below 2^57) is in a prologue or epilogue,
 * outside its frame. Its return address lies @off bytes (a multiple of 8) above the stack pointer.
 * %rbp still belongs to its caller.
 */
#define JIT_RETURN(addr, off) ((uint64_t)(addr) << 7 | (uint64_t)(off) / 8)
#define JIT_RETURN_ADDR(v) ((v) >> 7)
#define JIT_RETURN_OFF(v) (((v) & 127) * 8)
#define JIT_RETURN_OFF_MAX 1016

struct capture {
	enum capture_kind kind;
	uint32_t id;
	const void *data;
	size_t size;	/* bytes */
	size_t packed;	/* not 0: @data has this many bytes; slice_unpack() turns them into @size */
};

#endif
