#!/bin/bash
# record --wakeups in a container of a real runtime: a thread that another one of its container wakes waits
# for as long as that one keeps the CPU. The same in a cpuset of one CPU. And on a host where the list of
# CPUs changes while recording.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../waits.sh"
need_cmd runc jq
need_cmd python3
need_target queued
ctr_need
can_sample_kernel || skip_all "the kernel may not be recorded"
reader="$(cd "$(dirname "$0")/../tools" && pwd)/read_recording.py"
cd "$T" || exit 2
"$NSPROF" record -q --off-cpu --wakeups -o probe -- true 2>err || skip_all "no wake-ups may be recorded here: $(cat err)"
STATE=$T/runc
BUNDLE=$T/bundle
ctr_rootfs "$BUNDLE/rootfs" "$TARGETS/queued"
later "for d in /sys/fs/cgroup/*/$CTR_CGROOT; do rmdir \"\$d\"; done"
# With CONFIG_RT_GROUP_SCHED a cgroup has no realtime unless it gets some, and in cgroup v2 none at all.
CPU=$(awk '/ - cgroup / && ("," $NF ",") ~ /,cpu,/ { print $5; exit }' /proc/self/mountinfo)
REALTIME=null
if [ -e "$CPU/cpu.rt_runtime_us" ]; then
	mkdir -p "$CPU/$CTR_CGROOT" && echo 600000 >"$CPU/$CTR_CGROOT/cpu.rt_runtime_us" && REALTIME=500000
fi

# bundle CPUS: both threads have that cpuset; empty: all CPUs. The program writes into a file called
# cgroup.procs, and so stays in the container's cgroup.
bundle() {
	(cd "$BUNDLE" && rm -f config.json && runc spec && jq --arg cg "/$CTR_CGROOT/$NAME" --arg cpus "$1" --argjson rt $REALTIME 'del(.process.rlimits) | .process.terminal = false
		| .process.args = ["/app/queued", "40", "/tmp"] | .root.readonly = false | .linux.cgroupsPath = $cg
		| .process.capabilities |= map_values(. + ["CAP_SYS_NICE"])
		| if $cpus != "" then .linux.resources.cpu.cpus = $cpus else . end
		| if $rt then .linux.resources.cpu.realtimeRuntime = $rt else . end' config.json >c && mv c config.json)
}

# within NAME NS LOW HIGH
within() {
	check "$1: $(awk -v a="$3" -v n="$2" -v b="$4" 'BEGIN { printf "%.3f <= %.3f <= %.3f ms", a / 1e6, n / 1e6, b / 1e6 }')" test "$2" -ge "$3" -a "$2" -le "$4"
}
sum() { awk -v re="$2" '$0 ~ re { n += $NF } END { printf "%.0f\n", n }' "$1.folded"; }

mkfifo in out
# run FILE CPUS: record the container while it runs
run() {
	local f=$1 program low_short high_short low_long high_long way late
	NAME=nsprof-$f-$$
	bundle "$2"
	runc --root "$STATE" run --bundle "$BUNDLE" "$NAME" <in >out 2>runc.err &
	program=$!
	exec 9>in 8<out
	if ! read -r way _ <&8 || [ "$way" != late ]; then
		exec 9>&- 8<&-
		wait $program
		skip "$f" "the container cannot run here: $(tail -n 1 runc.err)"
		return
	fi
	late_recorded "$f" --wakeups --call-graph dwarf,8192 --runtime-root "$STATE" --container "$NAME"
	"$NSPROF" info --json "$f" >"$f.json"
	"$NSPROF" symbolize -q --all --no-inline --event off-cpu --by container,comm "$f" >"$f.folded"
	is "$f: no record is lost" "$(jq -c '[.ledger.lost_wakeups, .ledger.lost_switches, .ledger.lost_kernel]' "$f.json")" "[0,0,0]"
	late=$(jq '.cpu_times.threads[] | select(.comm == "late") | .tid' "$f.json")
	within "$f: late was woken and waited for the CPU" "$(jq ".cpu_times.threads[] | select(.tid == $late) | .woken_ns" "$f.json")" \
		$((low_short + low_long)) $((high_short + high_long))
	# The first one began before the recording: it has no stack.
	within "$f: in wait_short" "$(sum "$f" "^$NAME;late;(.*;wait_short;.*;\\[futex\\]|\\[no_stack\\]);\\[runnable\\] ")" "$low_short" "$high_short"
	within "$f: in wait_long" "$(sum "$f" "^$NAME;late;.*;wait_long;.*;\\[futex\\];\\[runnable\\] ")" "$low_long" "$high_long"
	python3 -B "$reader" "$f" >"$f.events"
	is "$f: the ledger has as many wake-ups as the file" "$(grep -c '^event wakeup ' "$f.events")" "$(jq .ledger.wakeups "$f.json")"
	[ -z "$2" ] || is "$f: late was on that CPU only" "$(sed -n "s/^event switch .* cpu=\\([0-9]*\\) .* tid=$late .*/\\1/p" "$f.events" | sort -u)" "$2"
}
run all ""
run one "$(sed 's/.*[-,]//' /sys/devices/system/cpu/online)"
# A CPU that seems to go offline and to come back: the recorder reads a list of ours. The real thing is in
# record-cpus.sh, but without wake-ups. The kernel goes on, so nothing is known to be missing.
cat >away.sh <<'AWAY'
cat /sys/devices/system/cpu/online >online
mount --bind online /sys/devices/system/cpu/online || exit 99
"$NSPROF" record --off-cpu --wakeups -a -o away -- "$TARGETS/waits" 60 pipe >/dev/null 2>away.err &
recorder=$!
found() { for _ in {1..200}; do ! grep -q "$1" away.err || return 0; kill -0 $recorder || return 1; sleep 0.1; done; }
until [ -s away ] || ! kill -0 $recorder; do sleep 0.1; done
sleep 0.3
echo 0 >online
found "went offline"
echo 0-1 >online
found "came back"
sleep 0.3
kill -INT $recorder
wait $recorder
AWAY
if [ "$(</sys/devices/system/cpu/online)" != 0-1 ]; then
	skip "a CPU goes away" "needs two CPUs, 0 and 1"
else
	export NSPROF TARGETS
	unshare -m --propagation private bash away.sh
	case $? in
	99) skip "a CPU goes away" "nothing can be mounted on the list of CPUs" ;;
	*)
		is "a CPU goes away and comes back: messages" "$(grep -o 'CPU 1 .*' away.err | sed 's/ after [0-9.]* s//')" \
			$'CPU 1 went offline: it is not sampled while it is away\nCPU 1 came back and is sampled again'
		is "which the ledger has" "$("$NSPROF" info --json away | jq -c '[.ledger.cpus_away, [.absences[].what], .ledger.wakeups > 0]')" \
			'[1,["cpu offline","cpu online"],true]' ;;
	esac
fi
done_testing
