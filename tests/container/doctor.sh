#!/bin/bash
# nsprof doctor and recordings inside containers: in another container's pid namespace (a sidecar
# with shareProcessNamespace), in the host's pid namespace with the host's /proc at /host/proc (a
# DaemonSet), and with a seccomp profile that refuses perf_event_open. Recordings made there hold
# samples with names.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd runc jq
ctr_need
STATE=$T/runc
OUT=$T/out
# The default of kernels since 5.16. With 64 KiB the rings would be small, and the verdicts would
# mention that.
ulimit -l 8192 2>/dev/null
mkdir "$OUT"
later "for c in \$(runc --root '$STATE' list -q); do runc --root '$STATE' delete -f \$c; done; for d in /sys/fs/cgroup/*/$CTR_CGROOT; do rmdir \"\$d\"; done"

ctr_rootfs "$T/root" "$TARGETS/spin-a" "$TARGETS/spin-nopie" "$BUILD/bin/nsprof" "$BUILD/bin/nsprof-doctor" "$BUILD/bin/nsprof-record"
mkdir -p "$T/root"/{out,host/proc,host/cgroup}

# bundle NAME FILTER [JQ OPTION...]: make a bundle for runc on that root folder, changed by FILTER;
# /out is a folder of the test.
bundle() {
	local dir=$T/bundle-$1 name=$1 filter=$2
	shift 2
	mkdir -p "$dir"
	(cd "$dir" && runc spec && jq --arg cg "/$CTR_CGROOT/$name" --arg out "$OUT" --arg root "$T/root" --arg perf "$PERFCAP" "$@" '
		del(.process.rlimits, .linux.seccomp) | .process.terminal = false | .root = { path: $root, readonly: true }
		| .process.env = ["PATH=/app:/bin"] | .process.cwd = "/out" | .linux.cgroupsPath = $cg
		| .mounts = [.mounts[] | select(.type != "cgroup")]
		| .mounts += [{ destination: "/out", source: $out, options: ["rbind", "rw"] }]
		| def ns($type): .linux.namespaces[] | select(.type == $type);
		  def caps($list): .process.capabilities |= with_entries(select(.key != "ambient") | .value = $list);
		'"$filter" config.json >c && mv c config.json)
}

# inside BUNDLE COMMAND...: run it in that container; its files are in $OUT.
inside() {
	local name=$1
	shift
	jq --argjson args "$(printf '%s\n' "$@" | jq -Rn '[inputs]')" '.process.args = $args' "$T/bundle-$name/config.json" >"$T/config" &&
		cp "$T/config" "$T/bundle-$name/config.json" || return 99
	runc --root "$STATE" run --bundle "$T/bundle-$name" "$name-$$" </dev/null >"$OUT/said" 2>&1
}

verdict() { jq -r --arg n "$1" '.checks[] | select(.name == $n) | .verdict + ": " + .text + "; " + (.remedy // "")' "$OUT/said"; }
works() { jq -r --arg n "$1" '.recordings[] | select(.name == $n) | .works + ": " + (.text // "")' "$OUT/said"; }

# The program to be profiled, in a container of its own, and a container that has nothing to do with
# it.
bundle app '.process.args = ["/app/spin-a", "1000"]'
runc --root "$STATE" run -d --bundle "$T/bundle-app" "app-$$" </dev/null >"$T/log" 2>&1 || skip_all "runc cannot run here: $(tail -n 1 "$T/log")"
APP=$(jq .init_process_pid "$STATE/app-$$/state.json")
bundle stranger '.process.args = ["/app/spin-nopie", "1000"]'
runc --root "$STATE" run -d --bundle "$T/bundle-stranger" "stranger-$$" </dev/null >"$T/log" 2>&1
CHAIN=$("$TARGETS/spin-a" --chain)

# ---- a sidecar ----
# With their default kernel.perf_event_paranoid of 3, Debian's kernels do not accept CAP_PERFMON.
PERFCAP=CAP_PERFMON
bundle alone 'caps([$perf, "CAP_SYS_PTRACE"])'
inside alone nsprof doctor -j
if [ "$(jq '.checks[] | select(.name == "paranoid") | .verdict == "ok"' "$OUT/said")" != true ]; then
	like "CAP_PERFMON is not enough here: doctor" "$(verdict paranoid)" "^not ok: .*which only CAP_SYS_ADMIN lifts.*docker run --cap-add SYS_ADMIN.*kernel.perf_event_paranoid=2"
	is "CAP_PERFMON is not enough here: nothing works" "$(jq .status "$OUT/said")" 2
	inside alone nsprof record -o alone.data -a -- /bin/busybox true
	like "CAP_PERFMON is not enough here: record" "$(cat "$OUT/said")" "which only CAP_SYS_ADMIN lifts on this kernel; .*--cap-add SYS_ADMIN"
	PERFCAP=CAP_SYS_ADMIN
else
	check "CAP_PERFMON is enough here" inside alone nsprof record -q -o alone.data -a -- /bin/busybox true
fi
bundle sidecar 'ns("pid").path = $pidns | caps([$perf, "CAP_SYS_PTRACE"])' --arg pidns "/proc/$APP/ns/pid"
inside sidecar nsprof doctor -j
is "sidecar: a part of the host" "$?" 1
like "sidecar: rights" "$(verdict rights)" "^ok: "
like "sidecar: seccomp" "$(verdict seccomp)" "^ok: "
like "sidecar: pid namespace" "$(verdict "pid namespace")" "^not ok: not the host's:.*hostPID: true"
is "sidecar: it sees the other container's process, and can read it" \
	"$(jq -r '[.processes_seen, .processes_readable, .processes_elsewhere] | join(" ")' "$OUT/said")" "1 1 1"
like "sidecar: another's process" "$(works "-p PID, another's")" "^works: "
like "sidecar: all CPUs" "$(works -a)" "^in part: processes outside this pid namespace"
like "sidecar: cgroups" "$(verdict cgroups)" "^not ok: no cgroup file system is visible: No such file.*-v /sys/fs/cgroup"

inside sidecar nsprof record -q -p 1 -F 499 --duration 1 -o pid.data
is "sidecar: -p" "$?:$(cat "$OUT/said")" "0:"
"$NSPROF" symbolize -q "$OUT/pid.data" >"$T/pid.folded"
check "sidecar: -p: the whole chain" has_chain "$T/pid.folded" "$CHAIN" 95
check "sidecar: -p: from the root" rooted "$T/pid.folded" _start 95

# All CPUs, while a process enters the namespace from outside ("docker exec").
inside sidecar nsprof record -a -e cpu-clock -F 499 -o all.data &
RECORD=$!
check "sidecar: -a: it begins" wait_for '[ -s "$OUT/all.data" ]' 30
check "sidecar: -a: a program is started in the other container" runc --root "$STATE" exec "app-$$" /app/spin-nopie 1
runc --root "$STATE" kill "sidecar-$$" INT
wait $RECORD
is "sidecar: -a: ended by SIGINT" "$?" 130
like "sidecar: -a: a warning" "$(cat "$OUT/said")" "warning: this is not the host's pid namespace: processes outside of it are \[outside\]"
"$NSPROF" symbolize -q --by process "$OUT/all.data" >"$T/all.folded"
grep "^spin-a" "$T/all.folded" | sed 's/^[^;]*;//; s/^/spin-a;/' >"$T/all.app"
check "sidecar: -a: the whole chain" has_chain "$T/all.app" "$CHAIN" 95
grep "^spin-nopie" "$T/all.folded" | sed 's/^[^;]*;//; s/^/x;/' >"$T/all.exec"
check "sidecar: -a: of what was started in the container meanwhile, too" has_chain "$T/all.exec" "$("$TARGETS/spin-nopie" --chain)" 90
grep -F '[outside]' "$T/all.folded" >"$T/all.outside"
check "sidecar: -a: there are others" test -s "$T/all.outside"
# Nothing in the sidecar knows these processes. Kernel functions are the kernel's, whichever process
# calls them.
unlike "sidecar: -a: who have no names" "$(cat "$T/all.outside")" ";(main|(aaa|nopie)_[a-z]+)(;| )"
is "sidecar: -a: and no stacks" "$("$NSPROF" symbolize -q --by process --annotate "$OUT/all.data" | grep -F '[outside]' |
	sed 's/ [0-9]*$//' | tr ';' '\n' | grep -v '_\[k\]$\|^\[' | sort -u)" ""

# ---- without rights ----
bundle bare 'ns("pid").path = $pidns | caps([])' --arg pidns "/proc/$APP/ns/pid"
inside bare nsprof doctor -j
like "no rights" "$(verdict rights)" "^not ok: user 0 without CAP_PERFMON.*--cap-add ${PERFCAP#CAP_} --cap-add SYS_PTRACE"
like "no rights: map_files" "$(verdict map_files)" "^not ok: open\(/proc/[0-9]+/map_files/.*: Operation not permitted.*CAP_CHECKPOINT_RESTORE"
if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
	like "no rights: all CPUs" "$(works -a)" "^no: perf_event_open: .*Permission denied"
fi

# ---- seccomp ----
bundle filtered 'caps([$perf, "CAP_SYS_PTRACE"]) | .linux.seccomp = { defaultAction: "SCMP_ACT_ALLOW", architectures: ["SCMP_ARCH_X86_64"],
	syscalls: [{ names: ["perf_event_open"], action: "SCMP_ACT_ERRNO", errnoRet: 1 }] }'
inside filtered nsprof doctor -j
is "seccomp: nothing" "$?" 2
like "seccomp: the call" "$(verdict seccomp)" "^not ok: perf_event_open: Operation not permitted: blocked by a seccomp filter.*seccomp=unconfined"
like "seccomp: the right is there" "$(verdict rights)" "^ok: "

# ---- a DaemonSet: the host's pid namespace, /proc and cgroups, in a cgroup namespace of its own ----
bundle daemon '.linux.namespaces |= map(select(.type != "pid" and .type != "cgroup")) + [{ type: "cgroup" }]
	| caps([$perf, "CAP_SYS_PTRACE", "CAP_SYSLOG"])
	| .mounts += [{ destination: "/host/proc", source: "/proc", options: ["rbind", "ro"] },
		{ destination: "/host/cgroup", source: $cgroups, options: ["rbind", "ro"] }]' --arg cgroups "$CTR_V2"
inside daemon nsprof doctor -j --proc /host/proc
rc=$?
like "daemon: pid namespace" "$(verdict "pid namespace")" "^ok: the host's:"
like "daemon: kernel names" "$(verdict "kernel names")" "^ok: '/host/proc/kallsyms'"
like "daemon: all CPUs" "$(works -a)" "^works"
is "daemon: the whole host, if its cgroups are those of perf_event" "$rc" \
	"$([ "$(jq -r '.recordings[1].works' "$OUT/said")" = works ] && echo 0 || echo 1)"
if ! grep -q ' - cgroup [^ ]* [^ ]*perf_event' /proc/self/mountinfo; then
	like "daemon: cgroups" "$(verdict cgroups)" "^ok: perf_event is v2 at '/host/cgroup'"
	inside daemon nsprof record -q --proc /host/proc -G "$CTR_CGROOT/app" -F 499 --duration 1 -o cgroup.data
	is "daemon: -G" "$?:$(cat "$OUT/said")" "0:"
	"$NSPROF" symbolize -q "$OUT/cgroup.data" >"$T/cgroup.folded"
	check "daemon: -G: the whole chain" has_chain "$T/cgroup.folded" "$CHAIN" 95
	unlike "daemon: -G: nobody else" "$(cat "$T/cgroup.folded")" "^(\[outside\]|nsprof)"
fi
inside daemon nsprof record -q --proc /host/proc -p "$APP" -F 499 --duration 1 -o host.data
is "daemon: -p" "$?:$(cat "$OUT/said")" "0:"
"$NSPROF" symbolize -q "$OUT/host.data" >"$T/host.folded"
check "daemon: -p: the whole chain" has_chain "$T/host.folded" "$CHAIN" 95

# The host's /proc without its pid namespace: pids there would be other processes. Likewise with a
# part of its cgroups.
bundle misled 'caps([$perf, "CAP_SYS_PTRACE"]) | .mounts += [{ destination: "/host/proc", source: "/proc", options: ["rbind", "ro"] },
	{ destination: "/host/cgroup", source: $cgroups, options: ["rbind", "ro"] }]' --arg cgroups "$CTR_V2/$CTR_CGROOT"
inside misled nsprof doctor -j --proc /host/proc
is "host's /proc, other pid namespace: nothing" "$?" 2
like "host's /proc, other pid namespace: said" "$(verdict "pid namespace")" "^not ok: '/host/proc' belongs to another pid namespace.*hostPID: true"
inside misled nsprof record --proc /host/proc -p "$APP" -o wrong.data
is "host's /proc, other pid namespace: refused" "$?" 1
like "host's /proc, other pid namespace: with the reason" "$(cat "$OUT/said")" "error: '/host/proc' belongs to another pid namespace"
inside misled nsprof doctor -j
like "own /proc: nobody else to be seen" "$(verdict processes)" "^cannot tell: '/proc' shows no other process"
like "a part of the cgroups" "$(verdict cgroups)" "^not ok: perf_event is v[12] at '/host/cgroup', only part of which is visible; "
like "which can be recorded" "$(works "-G NAME")" "^in part: processes outside this pid namespace"
done_testing
