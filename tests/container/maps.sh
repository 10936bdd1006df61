#!/bin/bash
# timeout: 300
# beside others
# takes: 25
# Where perf maps lie and which processes they belong to: a dozen processes recorded at once, each
# with a map that perf 6.1 does not find, finds too late or should not believe. All of them, their
# roots and maps are gone before symbolizing. perf 6.1 never keeps a map: it reads maps when it
# reports, from wherever the pid leads by then. (More forms of maps: hostile.sh and
# tests/cmd/symbolize/perfmap.sh; maps of real runtimes, including -XX:+DumpPerfMapAtExit:
# runtimes.sh.)
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
ctr_rootfs "$T/root" "$TARGETS/jitloop"
mkdir -m 1777 "$T/shared" "$T/both" "$T/linked"
# Another root, with a link to a volume as /tmp.
cp -r "$T/root" "$T/link"
rmdir "$T/link/tmp"
mkdir "$T/link/volume"
ln -s volume "$T/link/tmp"
SECS=5

# The name of its thread identifies each process, and in_NAME its code. Those expected as [jit] have
# no map of their own.
CTR_TMPFS=1 ctr_start tmpfs "$T/root" /app/jitloop 120 in_tmpfs map tmpfs || fail "tmpfs starts"
ctr_start stale "$T/root" sh -c "echo '0 7fffffffffffffff of_an_earlier_process' >/tmp/perf-1.map
	busybox touch -d '2020-01-01 00:00' /tmp/perf-1.map; exec /app/jitloop 120 unused nomap stale" || fail "stale starts"
ctr_start uid "$T/root" /app/jitloop 120 in_uid uid uid || fail "uid starts"
ctr_start otheruid "$T/root" /app/jitloop 120 not_mine chown otheruid || fail "otheruid starts"
# Two containers with one volume as /tmp, both with pid 1: the later one has overwritten the first
# one's map. Their code is at the same address, so nothing shows which process the line is for.
CTR_TMP=$T/shared ctr_start first "$T/root" /app/jitloop 120 in_first map first || fail "first starts"
CTR_TMP=$T/shared ctr_start second "$T/root" /app/jitloop 120 in_second map second || fail "second starts"
# The same, but the second one appends to the file, and its code is elsewhere: each line belongs to
# the process with code there.
CTR_TMP=$T/both ctr_start here "$T/root" /app/jitloop 120 in_here map here || fail "here starts"
wait_for '[ -s "$T/both/perf-1.map" ]' 10
CTR_TMP=$T/both ctr_start there "$T/root" /app/jitloop 120 in_there apart there || fail "there starts"
# As first and second, through a link.
CTR_TMP=$T/linked ctr_start third "$T/link" /app/jitloop 120 in_third map third || fail "third starts"
CTR_TMP=$T/linked ctr_start fourth "$T/link" /app/jitloop 120 in_fourth map fourth || fail "fourth starts"

cg=$CTR_CGROOT/bare
mkdir "$CTR_V2/$cg"
later "rmdir '$CTR_V2/$cg'"
for d in chroot deep; do
	cp -r "$T/root" "$T/$d"
	: >"$T/$d/dev/null"
done
bare=()
bare() { # COMMAND...: in a cgroup, in namespaces that it makes itself
	(
		echo $BASHPID >"$CTR_V2/$cg/cgroup.procs"
		exec "$@"
	) </dev/null >>"$T/log" 2>&1 &
	bare+=($!)
}
bare unshare -m -p -f --kill-child chroot "$T/chroot" /app/jitloop 120 in_chroot map chroot
# Its /tmp is the host's, and its pid was used by many processes there: higher than those in other
# tests' containers.
pid=$((40 + RANDOM % 20))
later "rm -f /tmp/perf-$pid.map"
bare unshare -p -f --kill-child sh -c "i=2; while [ \$i -lt $pid ]; do /bin/true; i=\$((i + 1)); done
	'$TARGETS/jitloop' 120 in_pidns map pidns & wait"
deep=
if unshare -U -r true 2>/dev/null; then
	deep=deep
	bare unshare -U -r -m -p -f --kill-child chroot "$T/deep" /bin/busybox unshare -p -f \
		/bin/busybox unshare -p -f /app/jitloop 120 in_deep map deep
fi
ALL='^(tmpfs|stale|uid|otheruid|first|second|here|there|third|fourth|chroot|pidns|deep)$'
procs=$((12 + ${#deep} / 4))
check "all are at work" wait_for '[ "$(ctr_pids "$CTR_CGROOT" "$ALL" | tr , "\n" | wc -l)" = $procs ]' 60

perf_record "$T/p" -p "$(ctr_pids "$CTR_CGROOT" "$ALL")" -F 499 --call-graph dwarf -- sleep $SECS
ctr_record "$T/data" -G "$CTR_CGROOT" -F 499 --duration $SECS
"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/alive"
refused() { # COMM
	"$NSPROF" symbolize --no-inline --stats --comms "$1" "$T/data" 2>&1 >/dev/null | grep -F '[jit] of jitloop'
}
for c in stale otheruid; do refused $c >"$T/$c.alive"; done
perf_wait "$T/p"
[ -z "$PERF" ] || cp "$T/p.perf" "$T/p.alive"
# Only one process of each pair with a common /tmp is recorded. Its neighbour is found nevertheless,
# first among the running processes, then by its mappings.
for pair in 'first|here|third' 'second|there|fourth'; do
	ctr_record "$T/alone.data" -p "$(ctr_pids "$CTR_CGROOT" "^($pair)\$")" -F 499 --duration 2
	"$NSPROF" symbolize -q --no-inline "$T/alone.data" >>"$T/alone"
	rm "$T/alone.data"
done
for job in "${bare[@]}"; do
	kill -KILL -- "$job"
done
while read -r p; do kill -KILL "$p"; done <"$CTR_V2/$cg/cgroup.procs"
for c in tmpfs stale uid otheruid first second here there third fourth; do
	ctr_stop $c
done
rm -rf "$T/root" "$T/chroot" "$T/deep" "$T/link" "$T/shared" "$T/both" "$T/linked" "/tmp/perf-$pid.map"
"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/gone"
for c in stale otheruid; do
	refused $c >"$T/$c.gone"
	is "$c: why its map is not used, alive and gone" "$(<"$T/$c.gone")" "$(<"$T/$c.alive")"
done
like "stale: why" "$(<"$T/stale.gone")" 'its perf map is not used: it is older than the process  see JIT CODE'
like "otheruid: why" "$(<"$T/otheruid.gone")" 'its perf map is not used: it belongs to another user  see JIT CODE'
perf_fold "$T/p"

# map_case COMM NAME: the name of its code, alive and gone. [jit] means no name.
of_comm() { # FOLDED COMM NAME
	grep "^$2;" "$1" >"$T/comm"
	has_chain "$T/comm" "run_jit;$3" 95
}
map_case() {
	check "$1: $2, alive" of_comm "$T/alive" "$1" "$2"
	check "$1: $2, gone" of_comm "$T/gone" "$1" "$2"
}
# perf has its name while it lives and when it is gone. perf has no whole stacks of JIT code.
of_perf() {
	grep "^$1;" "$T/p.alive" | grep -q ";$2[ ;]" && grep "^$1;" "$T/p.perf" | grep -q ";$2[ ;]"
}
# perf does not have other processes' names for it; only checked if perf runs.
not_others() {
	grep -q "^$1;" "$T/p.alive" && ! grep "^$1;" "$T/p.alive" | grep -q ";$2[ ;]"
}
for c in tmpfs uid chroot pidns $deep here there; do
	map_case $c in_$c
	perf_not "$c: in_$c" of_perf $c in_$c
done
for c in stale otheruid first second third fourth; do
	map_case $c '[jit]'
done
perf_not "stale" not_others stale of_an_earlier_process
perf_not "otheruid" not_others otheruid not_mine
perf_not "first" not_others first in_second
unlike "no name of an earlier process, of another user or of a neighbour" "$(cat "$T/alive" "$T/gone")" \
	'^stale;.*of_an|^otheruid;.*not_mine|^first;.*in_second|^second;.*in_first|^third;.*in_fourth|^fourth;.*in_third'

for c in first second third fourth; do
	check "$c, recorded alone: no name of its neighbour" of_comm "$T/alone" $c '[jit]'
done
for c in here there; do
	check "$c, recorded alone: in_$c" of_comm "$T/alone" $c in_$c
done

# ---- written only at the end, by a container that ends and is removed before the recording is over
ctr_rootfs "$T/root" "$TARGETS/jitloop"
ctr_start atexit "$T/root" sh -c 'until [ -e /tmp/go ]; do busybox sleep 0.05; done; exec /app/jitloop 2 in_atexit end atexit' || fail "atexit starts"
rm -f "$T/data"
"$NSPROF" record -q -o "$T/data" -G "$CTR_CG" -F 499 &
recorder=$!
perf_record "$T/p" -a -G "$CTR_CG" -F 499 --call-graph dwarf -- sleep 600
wait_for '[ -s "$T/data" ]' 20
: >"/proc/$CTR_PID/root/tmp/go"
check "atexit: it ends" wait_for "! kill -0 $CTR_PID" 30
ctr_stop atexit
rm -rf "$T/root"
[ -z "$PERF" ] || kill -INT "$PERF_PID"
perf_wait "$T/p"
kill -INT $recorder
wait $recorder
"$NSPROF" symbolize -q --no-inline "$T/data" >"$T/gone"
cp "$T/p.perf" "$T/p.alive"
check "atexit: in_atexit, gone" of_comm "$T/gone" atexit in_atexit
perf_not "atexit: in_atexit" of_perf atexit in_atexit
done_testing
