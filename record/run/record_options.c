/* The table of nsprof record's options. */
#include "run/record_options.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/util.h"
#include "cli/opt.h"
#include "cli/opt_common.h"
#include "run/event_options.h"
#include "run/record_perf_opts.h"
#include "run/record_values.h"

static const char summary[] =
	"Sample processes, containers or the whole host, with call stacks, into a recording. Without a target and without a command, "
	"nsprof records all CPUs until Ctrl-C. With -a, -p or -G, the command is only a timer: the recording ends with it.";

static const char epilog[] =
	"Examples:\n"
	"  nsprof record --container web --duration 10     a container, for ten seconds\n"
	"  nsprof record -G 'kubepods/*/*' --duration 10   all cgroups that match\n"
	"  nsprof record -p 4711 --duration 5              a process with all its threads\n"
	"  nsprof record -F 999 -- make                    a command from its start\n"
	"  ssh host nsprof record -o - -a --duration 5 | nsprof symbolize -i -\n"
	"\n"
	"Exit status:\n"
	"  The status of the command, if there is one; 128 + N if signal N ended it. Otherwise 0 when\n"
	"  the duration is over or the target has ended. After SIGINT (130) or SIGTERM (143), the\n"
	"  recording is complete and nsprof ends by that signal. 129: the command line is wrong.\n"
	"  1: anything else, including that nothing ran in the chosen cgroups.\n";

/* Options that exclude or need each other. */
static int verify(const struct record_cmdline *c)
{
	const struct record_opts *o = &c->o;

	if (o->start_off && !o->ntoggles && !o->control) {
		pr_err("-D -1 waits for the command 'enable': add --control fd:N or --control fifo:PATH");
		return -EINVAL;
	}
	if (o->switch_max_files && !o->switch_output && !o->overwrite) {
		pr_err("--switch-max-files needs --switch-output or --overwrite");
		return -EINVAL;
	}
	if (o->overwrite && (o->switch_bytes || o->switch_ns)) {
		pr_err("--overwrite writes a file only at SIGUSR2: with it, --switch-output can only be 'signal'");
		return -EINVAL;
	}
	if (o->overwrite && o->max_bytes) {
		pr_err("--overwrite and --max-size exclude each other: --overwrite limits its memory itself");
		return -EINVAL;
	}
	if (o->all_user && o->all_kernel) {
		pr_err("--all-user and --all-kernel exclude each other");
		return -EINVAL;
	}
	return 0;
}

int record_options_parse(struct record_cmdline *c, int argc, char **argv, int *first)
{
	struct record_opts *o = &c->o;
	const struct opt opts[] = {
		OPT_GROUP("Target"),
		{ "container", 0, "NAME,...", "sample these containers, by name, ID or ID prefix",
		  OPT_CALL, &o->containers, record_take_list, .value = "," OPT_VALUE_CONTAINER,
		  .more =
			"Everything that runs in a container is sampled, also what docker exec "
			"started. nsprof reads the state files of Docker, podman, containerd, "
			"CRI-O, runc, crun, lxc and systemd-nspawn, of root and of users; it "
			"never talks to a daemon. A container of a Kubernetes pod goes by its "
			"name in the pod. systemd-nspawn in a unit that is not its own "
			"(--keep-unit) goes by the unit's name. An unknown or ambiguous name is "
			"an error; the message lists the candidates.\n\n"
			"A container that starts during the recording under that name, "
			"restarted or new, is sampled too. The kernel reports each new cgroup, "
			"and nsprof looks for the container's state during the next three "
			"seconds." },
		{ "pod", 0, "POD,...", "sample these Kubernetes pods: [NS/]POD[/CONTAINER]",
		  OPT_CALL, &o->pods, record_take_list, .value = "," OPT_VALUE_POD,
		  .more =
			"All containers of the pod are sampled, also those that start later; "
			"with /CONTAINER, only that one." },
		{ "cgroup", 'G', "NAME,...",
		  "sample these cgroups and all below them; patterns: 'docker/*'", OPT_CALL,
		  &o->cgroups, record_take_list, .value = "," OPT_VALUE_CGROUP,
		  .more =
			"A name is relative to the hierarchy (cgroup v2, or the perf_event "
			"hierarchy of v1), or it is an absolute path. A name with * ? or [ is a "
			"shell pattern, in which * does not match a slash. Cgroups that match "
			"it later are sampled from then on. All CPUs are sampled. Unlike perf, "
			"the position among the arguments does not matter." },
		{ "cgroup-of", 0, "PID,...", "sample the cgroups that these processes are in",
		  OPT_CALL, &o->cgroup_of, record_take_list, .value = "," OPT_VALUE_PID },
		{ "pid", 'p', "PID,...",
		  "sample these processes, their threads and what they start", OPT_STR, &o->pids,
		  .value = "," OPT_VALUE_PID,
		  .more =
			"Threads and children that they start from now on are included. As with "
			"perf, children that already run are not: name them too, or record "
			"their cgroup with -G. The recording ends when all of them have ended." },
		{ "tid", 't', "TID,...", "sample these threads and what they start", OPT_STR,
		  &o->tids, .value = "," OPT_VALUE_PID },
		{ "all-cpus", 'a', NULL, "sample everything on all CPUs", OPT_FLAG, &o->all_cpus,
		  .more = NULL },
		{ "cpu", 'C', "LIST", "sample only on these CPUs, e.g. 0,2-4", OPT_STR, &o->cpus,
		  .more = NULL },
		{ "no-inherit", 'i', NULL, "ignore threads and children that start later", OPT_FLAG,
		  &o->no_inherit, .more = NULL },
		{ "include-self", 0, NULL, "keep the recorder's own samples", OPT_FLAG,
		  &o->include_self, .more = "By default they are left out and counted." },
		{ "runtime-root", 0, "DIR", "also look for container state in this directory",
		  OPT_CALL, &o->runtime_roots, record_take_roots, .value = OPT_VALUE_FOLDER,
		  .more =
			"For state in an unusual place: Docker's data root, podman's storage "
			"root or run root, the root of runc or crun, or containerd's state "
			"directory. It is read before the usual ones. The option can be "
			"repeated." },

		OPT_GROUP("Event"),
		{ "event", 'e', "EVENT,...",
		  "sample by these events (default: cycles, or else cpu-clock)", OPT_CALL, c,
		  event_options_event, .value = "," OPT_VALUE_EVENT,
		  .more =
			"See EVENTS. Without a hardware counter for cycles, nsprof samples by cpu-clock "
			"and says so." },
		{ "freq", 'F', "HZ|max", "take HZ samples per second on each CPU (default: 99)",
		  OPT_CALL, c, event_options_freq, .value = "max",
		  .more =
			"A frequency above kernel.perf_event_max_sample_rate is lowered to it, "
			"with a warning. The kernel lowers this limit itself when interrupts of "
			"hardware counters take too long. A CPU or cgroup that comes back "
			"afterwards, and a container that is picked up, is then sampled at the "
			"lower frequency, with a warning. Its samples count by their period." },
		{ "count", 'c', "N", "take one sample every N events instead", OPT_CALL, c,
		  event_options_period, .more = "For clocks, N is nanoseconds, at least 10,000." },
		{ "filter", 0, "FILTER", "sample only events of the tracepoint before it that match",
		  OPT_CALL, c, event_options_filter,
		  .more =
			"The kernel's syntax: FIELD OP VALUE, joined by && and || and grouped by "
			"parentheses. OP is == != < <= > >= & for numbers, and == != ~ for text, where ~ "
			"takes a shell pattern. The filter counts for all tracepoints of the -e before it. "
			"Several are joined by &&. `nsprof list -v` shows the fields." },
		{ "fields", 0, "[WHICH]", "keep the fields of tracepoints: numbers (default) or all",
		  OPT_CALL, c, event_options_fields, .value = "numbers|all|none",
		  .more =
			"Without this option, a recording has no fields. all also keeps text, such as paths "
			"and data that is sent; it may be secret. Names of threads are kept in any case." },
		{ "off-cpu", 0, "[N]", "record when threads leave the CPU, and one stack per N times", OPT_CALL, c,
		  event_options_off_cpu,
		  .more =
			"How long each thread was off the CPU is exact. Stacks say where it waited, and are "
			"taken of one switch in about N; they are weighed so that they add up to the exact "
			"time. Without N, nsprof takes every stack as long as that costs less than 1 % of a "
			"CPU, and fewer of more switches. 1 takes every stack. Without -e, this is the only "
			"event. See TIME OFF THE CPU." },
		{ "wall", 0, NULL, "record where all of the time goes: cpu-clock and --off-cpu", OPT_FLAG, &o->wall,
		  .more = "With -e, cpu-clock is added unless a clock is among the events." },
		{ "wakeups", 0, NULL, "record when threads are woken: how long each wait for a CPU was", OPT_FLAG, &o->wakeups,
		  .more =
			"With --off-cpu or --wall. Without it, the kernel's account tells how long each thread waited for a "
			"CPU in all, and each of its wake-ups gets an equal part. It needs tracefs and the right to record "
			"the whole host, and costs each wake-up on the host some time. See TIME OFF THE CPU." },
		{ "off-cpu-thresh", 0, "TIME", "show the time of shorter waits without stacks, e.g. 1ms", OPT_CALL, o,
		  record_take_off_cpu_thresh,
		  .more = "TIME is in ms, or ends in ns, us, ms or s. Outputs show the shorter waits of each "
			"thread as one frame, [shorter than TIME], so that all sums stay exact. symbolize "
			"--all shows their stacks: they are recorded all the same." },
		{ "optional-events", 0, NULL, "record without the events that this machine cannot record", OPT_FLAG,
		  &o->optional_events,
		  .more =
			"By default, one event that is unknown or cannot be opened ends the "
			"recording before it begins. With the option, `nsprof info` says which "
			"were left out, and why." },
		{ "event-budget", 0, "SIZE|none", "thin events that come more often (default: 20M per second)",
		  OPT_CALL, o, record_take_event_budget, .value = "none",
		  .more =
			"By default, every occurrence of a tracepoint or breakpoint is sampled. "
			"That may be too many. If all of these together write more than SIZE to "
			"the ring of a CPU in a second, the largest of them is thinned: its "
			"period is doubled until they fit, and halved again later. They have "
			"rings of their own, so that events with a frequency lose nothing. The "
			"recording has the time of each change, and samples count by their "
			"period. An event given with -c is thinned only with this option. none: "
			"thin nothing; what finds no room is lost, and counted." },
		{ "strict-freq", 0, NULL, "fail if the kernel does not allow the frequency",
		  OPT_FLAG, &o->strict_freq, .more = NULL },
		{ "all-user", 0, NULL, "sample only code in user space", OPT_FLAG, &o->all_user,
		  .more = NULL },
		{ "all-kernel", 0, NULL, "sample only code in the kernel", OPT_FLAG, &o->all_kernel,
		  .more = "Stacks still include the callers in user space." },

		OPT_GROUP("Stacks"),
		{ NULL, 'g', NULL,
		  "record call graphs (default; accepted for compatibility with perf)", OPT_CALL, o,
		  record_take_g, .more = NULL },
		{ "call-graph", 0, "HOW", "take stacks by dwarf[,SIZE] (default), fp, or none",
		  OPT_CALL, o, record_take_callgraph, .value = "dwarf|dwarf,|fp|none",
		  .more =
			"dwarf copies SIZE bytes of each stack, to be unwound later. The "
			"default is 65528 bytes, the largest copy that the kernel makes. For "
			"32-bit code it takes only the innermost frame, and says so. fp follows "
			"frame pointers while sampling: it has all frames of programs that keep "
			"frame pointers. none takes no stacks. An event may differ: "
			"-e cpu-clock,page-faults/call-graph=no/. See EVENTS." },
		{ "stacks", 0, "masked|full",
		  "keep only what unwinding needs (default), or whole stack copies", OPT_CALL, o,
		  record_take_stacks, .value = "masked|full",
		  .more =
			"masked keeps only code and stack addresses; all other data is zeroed. "
			"If the mappings of a process are not known, it keeps no user stack. "
			"full keeps all data on the stacks, with keys and passwords; guard such "
			"a recording like a core dump." },
		{ "user-callchains", 0, NULL, "keep only the user-space part of stacks", OPT_FLAG,
		  &o->user_chains, .more = NULL },
		{ "kernel-callchains", 0, NULL, "keep only the kernel part of stacks", OPT_FLAG,
		  &o->kernel_chains, .more = NULL },

		OPT_GROUP("Output"),
		{ "output", 'o', "FILE",
		  "write to this file, or - for standard output (default: nsprof.data)", OPT_STR,
		  &o->output, .value = OPT_VALUE_FILE,
		  .more =
			"Without the option, nsprof writes to standard output if that is a "
			"pipe. An existing file is renamed to FILE.old once it is certain that "
			"the recording can start. See FILES OF OTHER USERS in nsprof(1)." },
		{ "max-size", 0, "SIZE", "stop when SIZE is written, e.g. 100M (B, K, M, G)",
		  OPT_CALL, o, record_take_max_size,
		  .more =
			"SIZE counts all files of the run together. The last blocks of half a "
			"second and the captured symbols come on top, some tens of KiB." },
		{ "switch-output", 0, "[WHEN]",
		  "begin a new file at SIGUSR2, and at a size or an age", OPT_CALL, o,
		  record_take_switch_output, .value = "signal",
		  .more =
			"WHEN is signal (the default), a size (100M; B, K, M, G) or an age "
			"(30s, 5m; s, m, h, d). See LONG RUNS." },
		{ "switch-max-files", 0, "N", "keep only the last N of these files", OPT_CALL, o,
		  record_take_max_files, .more = "Only files of this run are removed." },
		{ "overwrite", 0, "[TIME]",
		  "keep the last TIME in memory, write it at SIGUSR2 (default: 30s)", OPT_CALL, o,
		  record_take_overwrite,
		  .more = "A flight recorder: nothing is written before SIGUSR2. See LONG RUNS." },
		{ "timestamp-filename", 0, NULL, "rename the finished file to FILE.<time>",
		  OPT_FLAG, &c->timestamp_name, .more = "The name is that of --switch-output." },

		OPT_GROUP("Time"),
		{ "duration", 0, "SECS", "stop after SECS seconds, e.g. 10 or 0.5", OPT_CALL, o,
		  record_take_duration, .more = NULL },
		{ "delay", 'D', "MS|FROM-TO,...",
		  "start sampling after MS milliseconds, or only in these windows", OPT_CALL, o,
		  record_take_delay, .value = "-1",
		  .more =
			"-1: start when --control says `enable`. FROM-TO,...: sample only in "
			"these windows, in milliseconds after the start. Mappings are recorded "
			"meanwhile." },
		{ "control", 0, "fd:N|fifo:PATH",
		  "take commands: enable, disable, stop, snapshot, ping", OPT_STR, &o->control,
		  .value = "fd:|fifo:",
		  .more =
			"Commands come one per line from an open descriptor or a FIFO: "
			"`enable`, `disable`, `stop` (end the recording as if its duration were "
			"over), `snapshot` (like SIGUSR2, see LONG RUNS), `evlist` and `ping`. "
			"fd:N,ACK or fifo:PATH,ACK: each is answered with \"ack\" on the "
			"descriptor or FIFO ACK." },

		OPT_GROUP("Recorder"),
		{ "mmap-pages", 'm', "PAGES|SIZE",
		  "set the size of each CPU's ring (default: a quarter second)", OPT_CALL, o,
		  record_take_mmap,
		  .more =
			"The default is room for a quarter of a second at the rate and copy "
			"size asked for, at most 512 MiB and 1/8 of the memory for all CPUs "
			"together. If the rings hold less, nsprof says so, and the recording "
			"has it as `ring_ms`." },
		{ "realtime", 'r', "PRIO", "run with this realtime priority (SCHED_FIFO, 1 to 99)",
		  OPT_CALL, o, record_take_realtime, .more = NULL },
		{ "proc", 0, "DIR", "find /proc of the recorded host here (default: /proc)",
		  OPT_STR, &o->proc, .value = OPT_VALUE_FOLDER, .more = "See FROM A CONTAINER." },
		OPT_COMMON_NO_SANDBOX(&o->no_sandbox, "By default nsprof keeps only the rights and system calls that recording takes. "
			"The command keeps all of its own. nsprof-doctor(1) says what is in force."),
		{ "dry-run", 0, NULL, "check the command line and the target, record nothing",
		  OPT_FLAG, &o->dry_run, .more = NULL },
		OPT_COMMON_QUIET(&c->quiet), OPT_COMMON_VERBOSE(&c->verbose),

		/* Hidden. */
		{ "no-call-graph", 0, NULL, NULL, OPT_CALL, o, record_take_no_callgraph,
		  .more = NULL },
		{ "raw-samples", 'R', NULL, NULL, OPT_CALL, c, event_options_fields, .more = NULL },
		{ "per-thread", 0, NULL, NULL, OPT_FLAG, &o->no_inherit, .more = NULL },
		{ "clockid", 'k', "CLOCK", NULL, OPT_CALL, o, record_take_clock, .more = NULL },
		{ "build-info", 0, NULL, NULL, OPT_FLAG, &c->build_info, .more = NULL },
	};
	const struct opt_spec spec = {
		.usage = "nsprof record [options] [-- command...]",
		.summary = summary,
		.epilog = epilog,
		.opts = opts,
		.nopts = ARRAY_SIZE(opts),
		.perf = perf_opts,
		.nperf = perf_nopts,
		.stop_at_operand = true,
		.operands = OPT_VALUE_COMMAND,
	};
	int err = opt_parse(&spec, argc, argv, first);

	if (!err)
		err = event_options_finish(c);
	return err ? err : verify(c);
}
