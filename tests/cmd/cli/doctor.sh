#!/bin/bash
# nsprof doctor predicts what nsprof record can do: with all rights, with few, with perf_event_open
# refused, with little memory and few descriptors, and in other namespaces. Each check names the
# call that failed.
. "$(dirname "$0")/../../lib.sh"
REFUSE=$BUILD/tests/targets/refuse
cd "$T" || exit 2
mkdir empty
chmod 755 "$T"

# doctor: run it with the words of "as" before it; sets out and rc.
as=()
doctor() {
	(cd empty && "${as[@]}" "$NSPROF" doctor "$@") >out 2>err </dev/null
	rc=$?
	out=$(cat out err)
}

# said STATE NAME REGEX: the doctor prints such a line.
said() {
	like "${at:-}$2: $1" "$out" "^$1 +$2${3:+ +$3}"
}

# starts ARGUMENT...: does nsprof record start with these?
starts() {
	"${as[@]}" "$NSPROF" record -q -o /dev/null "$@" 2>>record.err </dev/null
}

# agrees: try each kind of recording. The doctor's verdicts and exit status were right.
agrees() {
	local all cgroup other own command want i=0
	local -a names=(-a "-G NAME" "-p PID, another's" "-p PID, one's own" "a command")
	doctor
	: >record.err
	starts -a -- true && all=yes
	starts -G / -- true && cgroup=yes
	starts -p "$OTHER" -- true && other=yes
	# A shell of the same user, recording itself.
	"${as[@]}" sh -c '"$1" record -q -o /dev/null -p $$ -- true' sh "$NSPROF" 2>>record.err && own=yes
	starts -- true && command=yes
	for want in "${all-}" "${cgroup-}" "${other-}" "${own-}" "${command-}"; do
		if [ -n "$want" ]; then
			like "${at:-}${names[i]} starts, and so it says" "$out" "^(works|in part) +${names[i]}( |$)"
		else
			like "${at:-}${names[i]} does not start, and so it says" "$out" "^no +${names[i]} " ||
				tap_note "the recorders said: $(<record.err)"
		fi
		i=$((i + 1))
	done
	# For a whole host "in part" is not enough.
	want=2
	[ -z "${all-}${cgroup-}${other-}${own-}${command-}" ] || want=1
	[ "$(grep -Ec "^works +(-a|-G NAME)( |$)" out)" != 2 ] || want=0
	is "${at:-}exit status" "$rc" $want
}

check_rc "an operand is refused" 129 "$NSPROF" doctor x
is "no line ends in blanks" "$("$NSPROF" doctor | grep -c ' $')" 0
like "and named" "$(<check.err)" "unexpected argument 'x'"
[ ! -c /dev/full ] || check_rc "a full disk is noticed" 1 sh -c "'$NSPROF' doctor >/dev/full"

need_root
sleep 1000 &
OTHER=$!
paranoid=$(cat /proc/sys/kernel/perf_event_paranoid)
cpus=$(getconf _NPROCESSORS_ONLN)

# ---- root ----
at="root: "
doctor
if grep -qw landlock /sys/kernel/security/lsm 2>/dev/null; then
	said "(ok|not ok)" sandbox ".*; parsers also have no paths \(Landlock [0-9]+\)$"
else
	said "(ok|not ok)" sandbox ".*; parsers (also have no paths|lack Landlock)"
fi
if grep -q '^works *-a' out; then
	agrees
	is "root: the whole host can be recorded" "$(tail -n 1 out)" "everything on this host can be recorded from here"
	is "root: and that is status 0" "$rc" 0
	said ok "pid namespace" "the host's: "
	said ok rights "user 0 with CAP_PERFMON or CAP_SYS_ADMIN, with CAP_SYS_PTRACE"
	said ok seccomp "no filter is in place|a filter is in place and lets"
	said ok "user events" "perf_event_open\(cpu-clock:u\)"
	said ok "kernel events" "perf_event_open\(cpu-clock:k\)"
	said ok map_files "files behind mappings can be opened, also those of process [0-9]+"
	like "root: kernel.perf_event_paranoid" "$out" "paranoid is $paranoid[:,]"
else
	skip "root: the whole host" "not from here: $(grep -E '^(in part|no) *-a' out)"
fi
is "nothing on stderr" "$(cat err)" ""
is "nothing is written" "$(ls empty)" ""
like "cgroups: the mount" "$out" "^(not )?ok +cgroups +perf_event is v[12] at '$(awk '{ for (i = 7; $i != "-"; i++)
	if (0) print; if ($(i+1) == "cgroup" && $NF ~ /perf_event/) v1 = $5; if ($(i+1) == "cgroup2" && v2 == "") v2 = $5 }
	END { print v1 != "" ? v1 : v2 }' /proc/self/mountinfo)'"
like "descriptors: the limit" "$out" "descriptors .*the limit is $(ulimit -Hn)"
if "$NSPROF" record -e cycles:u -o /dev/null -- true 2>&1 | grep -q "no hardware counter"; then
	said "not ok" "hardware events" "perf_event_open\(cycles\): (No such file|Operation not supported|No such device).*cpu-clock"
else
	said ok "hardware events" "perf_event_open"
fi
if [ "$(id -u)" = 0 ] && grep -q ' - tracefs ' /proc/self/mountinfo; then
	said ok tracepoints "tracefs is mounted: [0-9]+ groups"
else
	skip "tracepoints" "needs root and tracefs"
fi

# ---- JSON has the same ----
if command -v jq >/dev/null; then
	doctor
	sed -n '/^$/q; s/  *$//; p' out | sed -E 's/^(ok|not ok|cannot tell) +([a-z_]+( [a-z]+)*)  .*/\1 \2/' >text.checks
	text_rc=$rc
	doctor -j
	is "json: the same verdicts" "$(jq -r '.checks[] | .verdict + " " + .name' out)" "$(cat text.checks)"
	is "json: the status" "$(jq .status out)" "$text_rc"
	is "json: recordings" "$(jq -r '[.recordings[].name] | join("|")' out)" "-a|-G NAME|-p PID, another's|-p PID, one's own|a command"
else
	skip "json" "needs jq"
fi

# ---- seccomp ----
if "$REFUSE" perf_event_open 1 true 2>err; then
	for e in "1 Operation not permitted" "38 Function not implemented"; do
		at="seccomp ${e%% *}: "
		as=("$REFUSE" perf_event_open "${e%% *}")
		agrees
		is "${at}nothing works" "$rc" 2
		said "not ok" seccomp "perf_event_open: ${e#* }: blocked by a seccomp filter.*seccomp=unconfined"
		said "not ok" "user events" "perf_event_open: .*${e#* }"
		said no -a "perf_event_open: .*${e#* }.*seccomp"
	done
	if command -v jq >/dev/null; then
		doctor -j
		is "seccomp: errno in the JSON" "$(jq '.checks[] | select(.name == "seccomp") | .errno' out)" 38
	fi
	at="another filter: "
	as=("$REFUSE" acct 1)
	doctor
	said ok seccomp "a filter is in place and lets perf_event_open through"
else
	skip "seccomp" "no filter can be made here: $(cat err)"
fi

# ---- limits ----
at="100 descriptors: "
as=(sh -c 'ulimit -n 100; exec "$@"' sh)
agrees
said "not ok" descriptors "fcntl\(F_DUPFD, $((2 * cpus + 1023))\): Invalid argument: the limit is 100; raise it: ulimit -n $((2 * cpus + 1024))"
at="6 descriptors: "
as=(sh -c 'ulimit -n 6; exec "$@"' sh)
agrees
is "6 descriptors: nothing works" "$rc" 2
said no -a "perf_event_open: cannot open .* events: Too many open files: the limit is 6; raise it"

# ---- a user without rights ----
if ! for_nobody; then
	skip "user without rights" "$no_nobody"
else
	at="user: "
	as=("${NOBODY[@]}")
	agrees
	said "not ok" rights "user 65534 without CAP_PERFMON or CAP_SYS_ADMIN, without CAP_SYS_PTRACE; run as root"
	said "not ok" processes "open\(/proc/[0-9]+/maps\): Permission denied: .*CAP_SYS_PTRACE"
	said "not ok" tracepoints "tracefs (at '.*' cannot be read: Permission denied|is not mounted), and mounting it privately failed: .*; run as root"
	said "not ok" map_files "open\(/proc/[0-9]+/map_files/[0-9a-f]+-[0-9a-f]+\): Operation not permitted; .*CAP_SYS_ADMIN"
	if [ "$("${as[@]}" awk '$1 !~ /^0+$/ { print 1; exit }' /proc/kallsyms)" = 1 ]; then
		said ok "kernel names" "'/proc/kallsyms' shows addresses"
	else
		# kallsyms_show_value() in the kernel: with kptr_restrict 0, perf_event_paranoid
		# decides.
		case $(cat /proc/sys/kernel/kptr_restrict) in
		0) why="kernel.perf_event_paranoid is $paranoid and CAP_SYSLOG is missing; .*sysctl kernel.perf_event_paranoid=1$" ;;
		1) why="kernel.kptr_restrict is 1 and CAP_SYSLOG is missing; .*sysctl kernel.kptr_restrict=0" ;;
		*) why="kernel.kptr_restrict is 2, which hides them from root, too; sysctl kernel.kptr_restrict=1, and run as root" ;;
		esac
		said "not ok" "kernel names" "'/proc/kallsyms' shows no addresses: $why"
	fi
	if [ "$paranoid" -ge 2 ]; then
		said "not ok" paranoid "kernel.perf_event_paranoid is $paranoid[:,] .*sysctl kernel.perf_event_paranoid=-1"
		said "not ok" "kernel events" "perf_event_open: .*Permission denied: .*; run as root"
		said no -a "perf_event_open: .*Permission denied"
	fi
	if [ "$paranoid" = 2 ]; then
		is "user: one's own, so status 1" "$rc" 1
		said "in part" "-p PID, one's own" "user space only"
	fi
	# CAP_PERFMON lifts paranoid, but in Debian's kernels not from 3 on. The doctor has to
	# report the rule of this kernel.
	at="CAP_PERFMON: "
	as=(setpriv --bounding-set=-all,+perfmon,+sys_ptrace --inh-caps=-all)
	if "${as[@]}" grep -q 'CapEff:.*4000080000$' /proc/self/status; then
		agrees
		said ok rights "user 0 with CAP_PERFMON or CAP_SYS_ADMIN, with CAP_SYS_PTRACE"
		if grep -q '^works *-a' out; then
			said ok paranoid "kernel.perf_event_paranoid is $paranoid, which CAP_PERFMON lifts"
		else
			said "not ok" paranoid "kernel.perf_event_paranoid is $paranoid, which only CAP_SYS_ADMIN lifts on this kernel: .*SYS_ADMIN.*=2"
			like "${at}record says so" "$(cat record.err)" "which only CAP_SYS_ADMIN lifts on this kernel; .*SYS_ADMIN.*=2$"
		fi
	else
		skip "CAP_PERFMON" "this setpriv or kernel does not know it"
	fi
	# The limit of locked memory matches the ring size that the recorder then reports.
	at="user, 64 KiB locked: "
	as=(sh -c 'ulimit -l 64; exec "$@"' sh "${NOBODY[@]}")
	doctor
	"${as[@]}" "$NSPROF" record -o /dev/null -- true 2>record.err
	if rings=$(grep -oE "rings hold [0-9]+ ms of samples instead of 250 \([0-9]+ KiB on" record.err); then
		read -r _ _ ms _ _ _ _ _ _ kib _ <<<"${rings/(/}"
		said "not ok" "locked memory" "mmap: Operation not permitted: no more can be locked; rings of $kib KiB on (each of $cpus CPUs|1 CPU) hold $ms ms of samples \(250 are wanted\); raise kernel.perf_event_mlock_kb"
	else
		skip "user: locked memory" "64 KiB and kernel.perf_event_mlock_kb are enough: $(cat record.err)"
	fi
fi
as=()
at=

# ---- /proc and namespaces ----
doctor --proc "$T/empty"
is "a folder that is no /proc" "$rc" 2
said "not ok" "pid namespace" "'$T/empty' is not a /proc that shows this process: No such file or directory; mount one"
refused=$("$NSPROF" record -o x --proc "$T/empty" -- true 2>&1)
is "nsprof record refuses it" "$?" 1
like "with the same words" "$refused" "'$T/empty' is not a /proc that shows this process: No such file"
if unshare -m -p --fork --mount-proc true 2>/dev/null; then
	at="pid namespace: "
	as=(unshare -m -p --fork --mount-proc)
	doctor
	is "pid namespace: not the whole host" "$rc" 1
	said "not ok" "pid namespace" "not the host's:.*hostPID: true"
	said "in part" -a "processes outside this pid namespace have no names"
	said "cannot tell" processes "'/proc' shows no other process"
	said works "a command"
	at="another namespace's /proc: "
	as=(unshare -p --fork)
	doctor
	is "another namespace's /proc: nothing works" "$rc" 2
	said "not ok" "pid namespace" "'/proc' belongs to another pid namespace: .*; use the /proc of this one"
	said "cannot tell" map_files
	refused=$("${as[@]}" "$NSPROF" record -o x -a -- true 2>&1)
	is "nsprof record refuses it" "$?" 1
	like "nsprof record: said" "$refused" "'/proc' belongs to another pid namespace"
	at="the same /proc elsewhere: "
	mkdir p
	as=(unshare -m sh -c 'mount --bind /proc "$1"; shift; exec "$@"' sh "$T/p")
	doctor --proc "$T/p"
	said ok "kernel names" "'$T/p/kallsyms' shows addresses"
	said ok map_files
	as=()
else
	skip "pid namespaces" "cannot be made here"
fi
if unshare -U -r true 2>/dev/null; then
	at="user namespace: "
	as=(unshare -U -r)
	doctor
	said "not ok" rights "user 0 without .*: capabilities in a user namespace other than the host's do not count; .*userns"
	as=()
else
	skip "user namespace" "cannot be made here"
fi
done_testing
