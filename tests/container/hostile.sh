#!/bin/bash
# timeout: 300
# beside others
# takes: 45
# Hostile contents of a container: perf maps that are not files, links out of its root, endless
# files, files of another user; binaries deleted, replaced, overwritten, in memory only; names with
# blanks, newlines and semicolons; roots and pid namespaces in every mixture. A frame may go without
# a name, but never has a wrong one. Nothing outside the container is opened, and nothing in it is
# written. (How perf 6.1 handles stale maps, roots and namespaces, and replaced, deleted and
# memory-only binaries: maps.sh and outlive.sh.)
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need

ctr_rootfs "$T/root" "$TARGETS/jitloop" "$TARGETS/memfd" "$TARGETS/spin" "$TARGETS/spin-a" "$TARGETS/spin-b" \
	"$TARGETS/spin-nobid" "$TARGETS/spin-nobid2"
chain() {
	"$TARGETS/$1" --chain
}

# profile NAME: record container NAME for SECS or until it has used 250 ms of CPU time, and
# symbolize it alive into $T/NAME.
profile() {
	[ -n "${SECS-}" ] || { profile_while "$1" "ctr_computes '$CTR_CGROOT/$1' 250"; return; }
	ctr_record "$T/$1.data" -a -G "$CTR_CGROOT/$1" -F 999 --duration "$SECS"
	named "$1"
}
# profile_while NAME SCRIPT: the same, for as long as SCRIPT runs.
profile_while() {
	ctr_record_while "$T/$1.data" "$2" -a -G "$CTR_CGROOT/$1" -F 999
	named "$1"
}
named() {
	local name=$1
	timeout 30 "$NSPROF" symbolize -q --no-inline "$T/$name.data" >"$T/$name" || echo "# symbolize $name failed with $?"
}

# gone NAME WHAT: stop it, and check the same again.
gone() {
	ctr_stop "$1"
	check "$2: the same when it is gone" sh -c "'$NSPROF' symbolize -q --no-inline '$T/$1.data' | diff '$T/$1' -"
}

# ---- perf maps: what a program without its own map finds under the name of one ----
echo '0 7fffffffffffffff host_secret' >/etc/nsprof-test-$$
later "rm -f /etc/nsprof-test-$$"
map_case() { # WHAT SETUP NAME-OF-THE-FRAME [JITLOOP-ARGS]
	ctr_start map "$T/root" sh -c "$2; exec /app/jitloop 60 mine ${4:-nomap}" && ctr_computes || { fail "$1: starts"; return; }
	find "${CTR_DIR[map]}/upper" -printf '%P %T@ %C@\n' | sort >"$T/before"
	profile map
	check "map: $1: the frame is $3" has_chain "$T/map" "run_jit;$3" 95
	is "map: $1: nothing written in the container" \
		"$(find "${CTR_DIR[map]}/upper" -printf '%P %T@ %C@\n' | sort)" "$(cat "$T/before")"
	gone map "map: $1"
}
map_case "its own" : mine map
map_case "a FIFO" 'busybox mkfifo /tmp/perf-1.map' '[jit]'
map_case "a folder" 'mkdir -p /tmp/perf-1.map/x' '[jit]'
map_case "a link to a file of the host" "ln -s /etc/nsprof-test-$$ /tmp/perf-1.map" '[jit]'
map_case "a link up and out" "ln -s ../../../../../../etc/nsprof-test-$$ /tmp/perf-1.map" '[jit]'
map_case "a link through /proc" "ln -s /proc/1/root/etc/passwd /tmp/perf-1.map" '[jit]'
map_case "a link that is right inside" \
	"echo '0 7fffffffffffffff inside' >/etc/nsprof-test-$$; ln -s /etc/nsprof-test-$$ /tmp/perf-1.map" inside
map_case "10 GB of nothing" 'busybox truncate -s 10G /tmp/perf-1.map' '[jit]'
map_case "older than the process" "echo '0 7fffffffffffffff stale' >/tmp/perf-1.map; busybox touch -d '2020-01-01 00:00' /tmp/perf-1.map" '[jit]'
map_case "another user's" : '[jit]' chown
map_case "of a process that is no longer root" : mine uid
map_case "of the parent, for its children" : mine fork
map_case "for threads of 50 ms" : mine threads

# After the recording, the JIT puts other code at the same address.
ctr_start reuse "$T/root" sh -c "/app/jitloop 60 before again" && ctr_computes || fail "reuse: starts"
profile reuse
kill -USR1 "$(pgrep -P "$CTR_PID" jitloop || echo "$CTR_PID")"
check "reuse: the map has a newer line for the address" wait_for "grep -q reused '${CTR_DIR[reuse]}'/upper/tmp/perf-*.map" 5
"$NSPROF" symbolize -q --no-inline "$T/reuse.data" >"$T/reuse"
check "reuse: the name is that of the time of the recording" has_chain "$T/reuse" "run_jit;before" 95
gone reuse "reuse"

# ---- binaries ----
bin_case() { # NAME SCRIPT CHAIN MIN [CHAIN MIN]: MIN per cent of all samples
	local name=$1 script=$2
	ctr_start "$name" "$T/root" sh -c "$script" && ctr_computes || { fail "$name: starts"; return; }
	shift 2
	profile "$name"
	while [ $# -gt 0 ]; do
		check "$name: $1" has_chain "$T/$name" "$1" "$2"
		shift 2
	done
	gone "$name" "$name"
}
RUNS='until grep -qsx s /proc/$!/comm; do :; done'
bin_case deleted "cp /app/spin /tmp/s; /tmp/s 60 & $RUNS; rm /tmp/s; wait" "$(chain spin)" 95
bin_case replaced "cp /app/spin-a /tmp/s; /tmp/s 60 & $RUNS; cp /app/spin-b /tmp/n; mv /tmp/n /tmp/s; wait" "$(chain spin-a)" 95
SECS=2 bin_case both 'cp /app/spin-a /tmp/s; /tmp/s 60 & sleep 1; cp /app/spin-b /tmp/n; mv /tmp/n /tmp/s; /tmp/s 60' \
	"$(chain spin-a)" 30 "$(chain spin-b)" 15
bin_case memfd 'exec /app/memfd /app/spin "a b;c" spin 60' "$(chain spin)" 95
bin_case names 'd="/tmp/a b;c
d (deleted)"; mkdir "$d"; cp /app/spin "$d/x 1;
 y 2"; exec "$d/x 1;
 y 2" 60' "$(chain spin)" 95
unlike "names: each line is frames and one count" "$(cat "$T/names")" '^;|;;|;$|[^0-9]$|^[^ ]* [0-9]+ [0-9]+$'
is "names: one leading frame" "$(cut -d';' -f1 "$T/names" | sort -u)" 'x 1\u{3b}\u{a} y 2'

# Overwritten in place by another program of the same size, with no build-id to distinguish them.
# The first program cannot be named any more, and must not get the second one's names.
ctr_start over "$T/root" sh -c 'cp /app/spin-nobid /tmp/first; until [ -e /tmp/go ]; do sleep 0.05; done; /tmp/first --cpu 0.3
	cat /app/spin-nobid2 >/tmp/first; touch /tmp/over; sleep 60' || fail "over: starts"
profile_while over ': >"/proc/$CTR_PID/root/tmp/go"; wait_for "[ -e \"${CTR_DIR[over]}/upper/tmp/over\" ]" 30'
check "over: it was written over in time" test -e "${CTR_DIR[over]}/upper/tmp/over"
ctr_stop over
grep '^first;' "$T/over" >"$T/over.first"
check "over: the first program was sampled" test -s "$T/over.first"
unlike "over: no name from the second" "$(cat "$T/over.first")" 'nobi2_'

# ---- roots and namespaces ----
# A host program at the container's path, and world-writable maps in the host's /tmp: none of them
# is used.
mkdir -p "$T/host/app"
cp "$TARGETS/spin-b" "$T/host/app/spin-a"
cp -r "$T/root" "$T/chroot"
: >"$T/chroot/dev/null"
cg=$CTR_V2/$CTR_CGROOT/roots
mkdir "$cg"
later "rmdir '$cg'"
for pid in 1 2 3; do
	[ -e /tmp/perf-$pid.map ] && continue
	echo '0 7fffffffffffffff host_map' >/tmp/perf-$pid.map
	later "rm -f /tmp/perf-$pid.map"
done
# roots_case WHAT CHAIN COMMAND...: run COMMAND in that cgroup, in namespaces that it makes itself.
roots_case() {
	local what=$1 want=$2 job
	shift 2
	(
		echo $BASHPID >"$cg/cgroup.procs"
		exec "$@"
	) </dev/null >"$T/log" 2>&1 &
	job=$!
	wait_for "grep -qs '^\(jitloop\|spin-a\)' /proc/$job/comm || [ \$(wc -l <'$cg/cgroup.procs') -ge 2 ]" 5
	ctr_computes "$CTR_CGROOT/roots"
	profile roots
	check "$what" has_chain "$T/roots" "$want" 90
	while read -r p; do kill -KILL "$p"; done <"$cg/cgroup.procs"
	wait $job 2>/dev/null
	check "$what: the same when it is gone" sh -c "'$NSPROF' symbolize -q --no-inline '$T/roots.data' | diff '$T/roots' -"
}
roots_case "chroot in the host's namespaces" "$(chain spin-a)" chroot "$T/chroot" /app/spin-a 60
roots_case "chroot with a pid namespace in the host's mounts" "run_jit;inner" \
	unshare -p -f --kill-child chroot "$T/chroot" /app/jitloop 60 inner
roots_case "chroot with pid and mount namespaces" "run_jit;inner" \
	unshare -m -p -f --kill-child chroot "$T/chroot" /app/jitloop 60 inner
# In its own mount namespace a fresh /tmp hides the host's.
roots_case "a mount namespace in the host's pids" "run_jit;inner" \
	unshare -m sh -c "exec 3<'$TARGETS/jitloop' && mount -t tmpfs tmpfs /tmp && cat <&3 >/tmp/jitloop &&
		chmod +x /tmp/jitloop && exec /tmp/jitloop 60 inner"
roots_case "a mount namespace with another program at a path of the host" "$(chain spin-a)" \
	unshare -m sh -c "mount --bind '$TARGETS/spin-a' '$T/host/app/spin-a' && exec '$T/host/app/spin-a' 60"
if unshare -U -r true 2>/dev/null; then
	roots_case "three pid namespaces deep, in a user namespace" "run_jit;inner" \
		unshare -U -r -m -p -f --kill-child chroot "$T/chroot" /bin/busybox unshare -p -f \
		/bin/busybox unshare -p -f /app/jitloop 60 inner
else
	skip "three pid namespaces deep, in a user namespace" "no user namespaces"
fi

# A process that enters the cgroup while the recording runs.
"$TARGETS/spin-a" 60 &
late=$!
profile_while roots 'echo $late >"$cg/cgroup.procs"; ctr_computes "$CTR_CGROOT/roots"'
kill $late
check "moved into the cgroup during the recording" has_chain "$T/roots" "$(chain spin-a)" 95

# ---- many ----
# 200 processes of 0.1 s: all of their own time has names, and samples in execve do not resolve
# registers of the old program as functions of the new one.
ctr_start many "$T/root" sh -c 'sleep 0.5; i=0; while [ $i -lt 200 ]; do
	/app/spin-a 0.1 & /app/spin-b 0.1 & i=$((i + 2)); [ $((i % 20)) = 0 ] && wait; done; sleep 60' || fail "many: starts"
SECS=5 profile many
ctr_stop many
for p in a b; do
	grep "^spin-$p;" "$T/many" >"$T/many.$p"
	# The less CPU time they get, the larger the share of the loader before main.
	grep -v ';_start;_dl_start;' "$T/many.$p" >"$T/many.main"
	check "many: spin-$p by name" has_chain "$T/many.main" "$(chain spin-$p)" 75
done
# A stack has no copy if its pointer has just moved to a page that does not exist yet (a large frame
# of the loader), or if the process is in execve. Every other stack has its root.
timeout 30 "$NSPROF" symbolize --stats "$T/many.data" 2>&1 >/dev/null |
	awk 'NR > 1 { if (!sub(/^ +[0-9]+ +[0-9.]+ %  /, "")) exit; print }' >"$T/ends"
check "many: verdicts are told" grep -qx complete "$T/ends"
is "many: no stack without a beginning but those that cannot be copied" \
	"$(grep -vx -e complete -e 'no user stack' -e 'stack gone (an exec) or not in memory' "$T/ends")" ""
unlike "many: no code outside its mapping" "$(cat "$T/many.a" "$T/many.b")" '\[no mapping\]'
check "many: that is hardly any" awk '/_stack\]/ { n += $NF } { all += $NF } END { exit !(n * 100 <= all) }' "$T/many.a" "$T/many.b"
unlike "many: names stay with their program (a)" "$(cat "$T/many.a")" 'bbb_'
unlike "many: names stay with their program (b)" "$(cat "$T/many.b")" 'aaa_'
done_testing
