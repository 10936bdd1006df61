#!/bin/bash
# beside others
# waits
# nsprof ps: real processes in cgroups of containers, with and without a limit and own namespaces;
# state files as docker and containerd write them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
STATE=$T/state
ID=$(printf 'abc%061d' 7)
POD=7e1b3c5d-0001-4222-8333-abcdefabcdef
KUBE=kubepods/burstable/pod$POD/$(printf 'dead%060d' 1)

# One container of two processes, with all namespaces of its own except user and cgroup.
ctr_rootfs "$T/root" "$TARGETS/spin"
ctr_start "$ID" "$T/root" sh -c '/app/spin 300 & exec /app/spin 300' || { fail "a container starts"; done_testing; }
# Two processes on one CPU: one of them waits at any time.
while read -r p; do taskset -cp 0 "$p" >"$T/taskset"; done <"$CTR_V2/$CTR_CG/cgroup.procs"
mkdir -p "$STATE/docker/containers/$ID" "$STATE/containerd/io.containerd.runtime.v2.task/k8s.io/${KUBE##*/}"
jq -n --arg id "$ID" --argjson pid "$CTR_PID" '{ ID: $id, Name: "/web", Config: { Image: "registry/shop:\u001b[2J1" },
	State: { Running: true, Pid: $pid } }' >"$STATE/docker/containers/$ID/config.v2.json"

# Another one in the host's namespaces, idle.
mkdir -p "$CTR_V2/$CTR_CGROOT/$KUBE"
bash -c 'echo $$ >"$1/cgroup.procs"; exec sleep 300' - "$CTR_V2/$CTR_CGROOT/$KUBE" &
IDLE=$!
over() {
	kill "$IDLE"
	wait "$IDLE"
	find "$CTR_V2/$CTR_CGROOT/kubepods" -depth -type d -exec rmdir {} +
} 2>/dev/null
later over
wait_for "grep -qx sleep /proc/$IDLE/comm" 5
D=$STATE/containerd/io.containerd.runtime.v2.task/k8s.io/${KUBE##*/}
jq -n --arg cg "/$CTR_CGROOT/$KUBE" '{ linux: { cgroupsPath: $cg }, annotations: { "io.kubernetes.cri.container-type": "container",
	"io.kubernetes.cri.container-name": "nginx", "io.kubernetes.cri.image-name": "nginx:1.25",
	"io.kubernetes.cri.sandbox-name": "front-0", "io.kubernetes.cri.sandbox-namespace": "shop" } }' >"$D/config.json"
echo -n "$IDLE" >"$D/init.pid"
ROOTS=$STATE/docker:$STATE/containerd

check "ps" "$NSPROF" ps --runtime-root "$ROOTS"
cp "$T/check.out" "$T/text"
# The forms that record accepts: joined, or one after the other.
mkdir "$T/empty"
is "an option for each directory" "$("$NSPROF" ps --json --interval 0.01 --runtime-root "$STATE/docker" --runtime-root "$STATE/containerd" --runtime-root "$T/empty" |
	jq -c '[.. | .name? // empty | select(. == "web" or . == "nginx")] | sort')" '["nginx","web"]'
used() { awk '$1 == "usage_usec" { print $2 }' "$CTR_V2/$CTR_CG/cpu.stat"; }
before=$(used)
check "ps --json" "$NSPROF" ps --json --interval 0.5 --runtime-root "$ROOTS"
cp "$T/check.out" "$T/json"
around=$(($(used) - before))
of() { # ID KEY
	jq -c ".containers[] | select(.id == \"$1\") | .$2" "$T/json"
}
is "runtime, name and image" "$(of "$ID" 'runtime, .name, .image' | tr '\n' ' ')" '"docker" "web" "registry/shop:\\u{1b}[2J1" '
is "a pod's container" "$(of "${KUBE##*/}" 'pod_namespace, .pod, .name, .pod_uid' | tr '\n' ' ')" "\"shop\" \"front-0\" \"nginx\" \"$POD\" "
is "the first process" "$(of "$ID" pid)" "$CTR_PID"
is "and as what it knows itself" "$(of "$ID" nspid)" 1
is "cgroup" "$(of "$ID" cgroup)" "\"/$CTR_CG\""
is "processes" "$(of "$ID" processes)" "$(wc -l <"$CTR_V2/$CTR_CG/cgroup.procs")"
is "its own namespaces" "$(of "$ID" 'host_namespaces - ["cgroup", "time"]')" '["user"]'
is "the host's namespaces" "$(of "${KUBE##*/}" 'host_namespaces | length')" "$(find /proc/self/ns -type l ! -name '*_for_children' | wc -l)"
check "CPU time, of what it used before, meanwhile and after" jq -e ".interval_s as \$s | .containers[] | select(.id == \"$ID\")
	| .cpus > 0 and .cpus * \$s * 1000000 <= $around" "$T/json"
if [ -e "$CTR_V2/$CTR_CG/cpu.pressure" ]; then
	pressure() { sed -n 's/^some avg10=\([0-9.]*\) .*/\1/p' "$CTR_V2/$CTR_CG/cpu.pressure"; }
	# The kernel updates the averages every 2 s.
	check "two processes on one CPU wait" wait_for '[ "$(pressure)" != 0.00 ]' 20
	"$NSPROF" ps --json --interval 0.1 --runtime-root "$ROOTS" >"$T/psi"
	check "pressure" jq -e ".containers[] | select(.id == \"$ID\") | .cpu_pressure_some_avg10 | . > 0 and . <= 100" "$T/psi"
	"$NSPROF" ps --interval 0.1 --runtime-root "$ROOTS" >"$T/psi"
	like "in the table" "$(awk '/ web / { print $4 }' "$T/psi")" '^[0-9]*\.[0-9]$'
	unlike "more than none" "$(awk '/ web / { print $4 }' "$T/psi")" '^0\.0$'
else
	skip "pressure" "no cpu.pressure here"
fi
check "none of one that sleeps" jq -e ".containers[] | select(.id == \"${KUBE##*/}\") | .cpus < 0.01" "$T/json"
check "the interval" jq -e '.interval_s >= 0.5 and .interval_s < 5' "$T/json"
TEXT=$(cat "$T/text")
like "a line of the table" "$TEXT" "^ *[0-9.]+ .* docker +web +abc000000000 +$CTR_PID +1 +[23] +user +registry/shop:\\\\u\{1b\}\[2J1$"
like "with the pod" "$TEXT" "containerd +shop/front-0/nginx +dead00000000 +$IDLE +$IDLE +1 "
check "the busiest first" [ "$(grep -n " web " "$T/text" | cut -d: -f1)" -lt "$(grep -n "shop/front-0" "$T/text" | cut -d: -f1)" ]
check "nothing that steers a terminal" sh -c "! grep -q '$(printf '\033')' '$T/text'"

# Throttling, where the cpu controller is: the limit is below what the process gets beside any other
# load.
limit_here() {
	local v1=/sys/fs/cgroup/cpu
	if ctr_cpu && [ -e "$CTR_V2/$CTR_CG/cpu.max" ]; then
		echo "2000 100000" >"$CTR_V2/$CTR_CG/cpu.max"
	elif mkdir "$v1/nsprof-ps-$$"; then
		later "rmdir $v1/nsprof-ps-$$"
		echo 100000 >"$v1/nsprof-ps-$$/cpu.cfs_period_us" && echo 2000 >"$v1/nsprof-ps-$$/cpu.cfs_quota_us" &&
			for p in $(cat "$CTR_V2/$CTR_CG/cgroup.procs"); do echo "$p" >"$v1/nsprof-ps-$$/cgroup.procs"; done
	fi
} 2>/dev/null
if limit_here; then
	check "ps with a limit" "$NSPROF" ps --json --interval 1 --runtime-root "$ROOTS"
	cp "$T/check.out" "$T/json"
	is "the limit" "$(of "$ID" limit_cpus)" 0.02
	check "throttled in most periods" jq -e ".containers[] | select(.id == \"$ID\") | .nr_periods >= 5 and .nr_throttled > .nr_periods / 2" "$T/json"
	check "most of the time" jq -e ".containers[] | select(.id == \"$ID\") | .throttled_usec > 300000" "$T/json"
	check "CPU time as limited" jq -e ".containers[] | select(.id == \"$ID\") | .cpus > 0 and .cpus < 0.15" "$T/json"
else
	skip "throttling" "no cpu controller can be used here"
fi

"$NSPROF" ps --watch --json --interval 0.2 --runtime-root "$ROOTS" >"$T/watch" &
WATCH=$!
check "--watch goes on" wait_for "[ \$(wc -l <'$T/watch') -ge 3 ]" 20
kill -INT "$WATCH"
wait "$WATCH"
is "and ends in order" $? 0
check "each line is whole" jq -e .interval_s "$T/watch"
# Names for completion, and in the shells, from a program that knows where the state is. Other
# containers may run here, too; if another one is called web, this one is web:docker.
names() { "$NSPROF" ps --runtime-root "$ROOTS" --list-names="$1"; }
is "names of containers" "$(names containers | sed -n -e 's/^web:docker$/web/' -e '/^\(web\|nginx\)$/p' | paste -sd ' ')" "nginx web"
is "names of pods, with and without namespace" "$(names pods | grep -xE '(shop/)?front-0' | paste -sd ' ')" "front-0 shop/front-0"
is "names of cgroups" "$(names cgroups | grep -cxF -e "$CTR_CG" -e "$CTR_CGROOT/$KUBE")" 2
check_rc "names of something else" 1 "$NSPROF" ps --list-names=images
mkdir "$T/bin"
printf '#!/bin/sh\n[ "$1" != ps ] || exec "%s" "$@" --runtime-root "%s"\n' "$NSPROF" "$ROOTS" >"$T/bin/nsprof"
chmod +x "$T/bin/nsprof"
for s in bash zsh fish; do
	if ! command -v $s >/dev/null; then
		skip "completion in $s" "needs the command $s"
		continue
	fi
	like "$s completes containers and pods" "$(HOME=$T PATH=$T/bin:$PATH $s "$TOP/tests/tools/complete.$s" "$BUILD/completion/nsprof.$s" \
		'nsprof record --container we' 'nsprof record --pod=other,shop/' "nsprof record -G $CTR_CGROOT/kubep" | paste -sd ' ')" \
		"^== nsprof record --container we( web[^ ]*)* web(:docker)?( web[^ ]*)* == [^=]*--pod=other,shop/ (--pod=)?other,shop/front-0 == .* $CTR_CGROOT/kubepods/burstable"
done
check_rc "a bad interval" 129 "$NSPROF" ps --interval 0
check_rc "a word too many" 129 "$NSPROF" ps web
done_testing
