#!/bin/bash
# timeout: 400
# beside others
# takes: 30
# The recording is enough: the names are right when the container is gone, with its image, its pids
# and the machine. perf 6.1 runs beside it and fails in each case. Where each case is tested:
#   gone before symbolizing                        gone.sh, runc.sh, runtimes/*.sh; here: without
#                                                  build-id, before the end
#   maps written at exit, on tmpfs, stale, shared, of another user; chroot, pid and user namespaces
#                                                  maps.sh, runtimes.sh, jit.sh
#   same path in two containers and on the host    samepath.sh
#   replaced, deleted, in a memfd; JIT code in a memfd
#                                                  here, hostile.sh, tests/cmd/symbolize/perfmap.sh
#   no build-id, its debug info, its inlines       here, gone.sh, tests/cmd/symbolize/stacks.sh (Go)
#   another machine, unprivileged; the pid belongs to another process
#                                                  here
#   500 processes of at most 0.2 s                 here, storm.sh
#   restarted during the recording                 restart.sh
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq python3
ctr_need
chain() { "$TARGETS/$1" --chain; }
# Host programs at the containers' paths, which must not be used.
[ ! -e /app ] || skip_all "there is an /app here"
later 'rm -rf /app'
fold() { "$NSPROF" symbolize -q --no-inline "${@:2}" "$1"; }
# named FOLDED PREFIX CHAIN: at least 20 samples have a function PREFIX_..., and 90 % of them have
# the chain.
named() {
	grep "[;]$2_" "$1" >"$T/named"
	awk '{ n += $NF } END { if (n < 20) print "# only " n + 0 " samples of " name; exit n < 20 }' name="$2" "$T/named" && has_chain "$T/named" "$3" 90
}

# ---- gone before the recording ends: container, image layers, cgroup; the host has another program
# at its path
ctr_rootfs "$T/root" "$TARGETS/spin-nobid" "$TARGETS/spin" "$TARGETS/jitloop"
ctr_start early "$T/root" sh -c '/app/spin-nobid 60 & /app/spin 60 & exec /app/jitloop 60 in_early map early' || fail "early starts"
mkdir /app
cp "$TARGETS/spin-nobid2" /app/spin-nobid
cp "$TARGETS/spin-b" /app/spin
wait_for "grep -qs early /proc/$CTR_PID/comm" 10
"$NSPROF" record -q -o "$T/early" -G "$CTR_CG" -F 999 &
recorder=$!
perf_record "$T/p" -p "$(ctr_pids "$CTR_CG" 'spin|early')" -F 999 --call-graph dwarf -- sleep 1.5
sleep 1
rm -rf "$T/root"
ctr_stop early
perf_wait "$T/p"
kill -INT $recorder
wait $recorder
fold "$T/early" >"$T/f"
check "gone early, no build-id" named "$T/f" nobid "$(chain spin-nobid)"
check "gone early, with one" named "$T/f" app "$(chain spin)"
check "gone early, JIT code" has_chain <(grep '^early;' "$T/f") "run_jit;in_early" 95
unlike "gone early: nothing of the host's programs" "$(cat "$T/f")" ';(nobi2|bbb)_'
perf_not "gone early, no build-id" named "$T/p.perf" nobid "$(chain spin-nobid)"
perf_not "gone early, with one" named "$T/p.perf" app "$(chain spin)"
rm -rf /app

# ---- binaries that no longer exist anywhere while they run
ctr_rootfs "$T/root" "$TARGETS/spin" "$TARGETS/spin-a" "$TARGETS/spin-b" "$TARGETS/spin-host" "$TARGETS/memfd" "$TARGETS/jitloop" "$TARGETS/spin-one"
ctr_start files "$T/root" sh -c 'runs() { until grep -qsx "$1" /proc/$!/comm; do :; done; }
	cp /app/spin /tmp/s; /tmp/s 60 & runs s; cp /app/spin-a /tmp/r; /tmp/r 60 & runs r; rm /tmp/s
	cp /app/spin-b /tmp/n; mv /tmp/n /tmp/r; /app/memfd /app/spin-host memory spin 60 & : >/tmp/ready
	exec /app/jitloop 60 in_memory memfd memjit' || fail "files starts"
wait_for "grep -qs memjit /proc/$CTR_PID/comm" 20
perf_record "$T/p" -p "$(ctr_pids "$CTR_CG")" -F 999 --call-graph dwarf -- sleep 1.5
ctr_record "$T/files" -G "$CTR_CG" -F 999 --duration 1.5
fold "$T/files" >"$T/f.alive"
perf_wait "$T/p"
ctr_stop files
rm -rf "$T/root"
fold "$T/files" >"$T/f.gone"
for state in alive gone; do
	check "deleted, $state" named "$T/f.$state" app "$(chain spin)"
	check "replaced, $state" named "$T/f.$state" aaa "$(chain spin-a)"
	check "in a memfd, $state" named "$T/f.$state" host "$(chain spin-host)"
	check "JIT code in a memfd, $state" has_chain <(grep '^memjit;' "$T/f.$state") "run_jit;in_memory" 95
	unlike "replaced: not by the new one, $state" "$(cat "$T/f.$state")" ';bbb_'
done
perf_not "deleted" named "$T/p.perf" app "$(chain spin)"
perf_not "replaced" named "$T/p.perf" aaa "$(chain spin-a)"
perf_not "in a memfd" named "$T/p.perf" host "$(chain spin-host)"

# ---- in a memfd, started during the recording: the kernel reports its first mapping with the
# length of the whole program
# To start it takes CPU time, too, a lot of it on a busy host.
one_runs() {
	wait_for "readlink /proc/$CTR_PID/exe | grep -q '^/memfd:'" 30 && ctr_computes
}
ctr_rootfs "$T/root" "$TARGETS/spin-one" "$TARGETS/memfd"
ctr_record_while "$T/one" 'ctr_start one "$T/root" /app/memfd /app/spin-one memory spin 60; one_runs' -F 999 -G "$CTR_CGROOT"
fold "$T/one" >"$T/f.alive"
ctr_stop one
rm -rf "$T/root"
fold "$T/one" >"$T/f.gone"
for state in alive gone; do
	check "in a memfd, code in the first segment, $state" named "$T/f.$state" one "$(chain spin-one)"
done

# ---- no build-id: its separate debug info, and its inlined functions
cat >"$T/inl.c" <<'C'
#include <time.h>
static inline __attribute__((always_inline)) unsigned long inl_inner(unsigned long x)
{
	for (int i = 0; i < 400000; i++) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		__asm__ volatile("" : "+r"(x));
	}
	return x;
}
static inline __attribute__((always_inline)) unsigned long inl_middle(unsigned long x) { return inl_inner(x) + 1; }
__attribute__((noinline, noclone)) unsigned long inl_work(unsigned long x) { return inl_middle(x) ^ 3; }
int main(void)
{
	unsigned long x = 1;
	for (time_t end = time(0) + 60; time(0) < end;)
		x += inl_work(x);
	return (int)(x & 1);
}
C
if gcc -O2 -g -Wl,--build-id=none -o "$T/inl" "$T/inl.c" 2>"$T/err"; then
	objcopy --only-keep-debug "$T/inl" "$T/inl.debug"
	(cd "$T" && strip -o inl-split inl && objcopy --add-gnu-debuglink=inl.debug inl-split)
	for prog in inl inl-split; do
		files=("$T/$prog")
		[ $prog = inl ] || files+=("$T/inl.debug")
		ctr_rootfs "$T/root-$prog" "${files[@]}"
		ctr_start $prog "$T/root-$prog" "/app/$prog" || fail "$prog starts"
		perf_record "$T/$prog.p" -p "$CTR_PID" -F 999 --call-graph dwarf -- sleep 0.6
		ctr_record "$T/$prog.data" -G "$CTR_CG" -F 999 --duration 0.6
		"$NSPROF" symbolize -q "$T/$prog.data" >"$T/f"
		check "$prog: inlined functions, alive" has_chain "$T/f" "main;inl_work;inl_middle;inl_inner" 90
		PERF_SCRIPT= perf_wait "$T/$prog.p"
		perf_not "$prog: inlined functions" has_chain "$T/$prog.p.perf" "main;inl_work;inl_middle;inl_inner" 90
		ctr_stop $prog
		rm -rf "$T/root-$prog"
		fold "$T/$prog.data" >"$T/f"
		check "$prog: functions, gone" has_chain "$T/f" "main;inl_work" 90
	done
else
	skip "no build-id" "gcc does not work here: $(head -n 1 "$T/err")"
fi
cat >"$T/goinl.go" <<'GO'
package main

import "time"

// Some of it, so that samples are in it and not at the end of the loop, whatever the CPU's habits.
func mix(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	x ^= x >> 11
	return x*6364136223846793005 + 1442695040888963407
}

//go:noinline
func work(n uint64) uint64 {
	x := n | 1
	for i := 0; i < 80000; i++ {
		x = mix(x)
	}
	return x
}

func main() {
	x := uint64(1)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		x += work(x)
	}
	println(x)
}
GO
if GOFLAGS='' GO111MODULE=off GOCACHE=$T/gocache GOPATH=$T/gopath go build -o "$T/goinl" "$T/goinl.go" 2>"$T/err"; then
	ctr_rootfs "$T/root-go" "$T/goinl"
	ctr_start go "$T/root-go" /app/goinl || fail "goinl starts"
	perf_record "$T/p" -p "$CTR_PID" -F 999 --call-graph dwarf -- sleep 1
	ctr_record "$T/go.data" -G "$CTR_CG" -F 999 --duration 1
	"$NSPROF" symbolize -q "$T/go.data" >"$T/f"
	check "Go: whole chains, alive" has_chain "$T/f" "main.main;main.work" 90
	check "Go: inlined functions, alive" has_chain "$T/f" "main.work;main.mix" 5
	perf_wait "$T/p"
	perf_not "Go: whole chains" has_chain "$T/p.perf" "main.main;main.work" 90
	ctr_stop go
	rm -rf "$T/root-go" "$T/goinl"
	fold "$T/go.data" >"$T/f"
	check "Go: whole chains, gone" has_chain "$T/f" "main.main;main.work" 90
else
	skip "Go" "it does not build here: $(head -n 1 "$T/err")"
fi

# ---- on another machine, as nobody: another root with other programs at the same paths, another
# boot, nothing from /proc
ctr_rootfs "$T/root" "$TARGETS/spin" "$TARGETS/spin-nobid" "$TARGETS/spin-static" "$TARGETS/jitloop"
ctr_start moved "$T/root" sh -c '/app/spin 60 & /app/spin-nobid 60 & /app/spin-static --kernel 60 & exec /app/jitloop 60 in_moved map moved' ||
	fail "moved starts"
wait_for "grep -qs moved /proc/$CTR_PID/comm" 10
perf_record "$T/p" -p "$(ctr_pids "$CTR_CG")" -F 999 --call-graph dwarf -- sleep 1.5
ctr_record "$T/moved" -G "$CTR_CG" -F 999 --duration 1.5
fold "$T/moved" >"$T/moved.here"
perf_wait "$T/p"
other=$T/other
ctr_rootfs "$other" "$TARGETS/spin-b:/app/spin" "$TARGETS/spin-nobid2:/app/spin-nobid" "$TARGETS/spin-b:/app/spin-static" "$TARGETS/spin-b:/app/jitloop"
# The other root's C library differs from the container's; nsprof brings its own.
mkdir -p "$other/opt" "$other/rec"
lib=$(ldd "$BUILD/bin/nsprof-symbolize" | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p')
interp=$(readelf -lW "$BUILD/bin/nsprof-symbolize" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
# shellcheck disable=SC2086
cp -L $lib "$interp" "$BUILD/bin/nsprof-symbolize" "$other/opt"
for f in $(cd "$other" && find lib lib64 usr -name '*.so*' -type f); do
	cp -L "$TARGETS/libspin.so" "$other/$f"
done
cp "$T/moved" "$other/rec/moved"
chmod 711 "$T"
chmod -R a+rX "$other"
echo 00000000-1111-2222-3333-444444444444 >"$other/rec/boot_id"
echo '0 7fffffffffffffff of_the_other_machine' >"$other/tmp/perf-1.map"
# shellcheck disable=SC2016
elsewhere() {
	unshare -m -p -u -i -n --fork --propagation private sh -c 'hostname elsewhere; mount -t proc proc "$0/proc" &&
		mount --bind "$0/rec/boot_id" "$0/proc/sys/kernel/random/boot_id" &&
		exec chroot --userspec=65534:65534 "$0" "$@"' "$other" "$@"
}
check "another machine: we are nobody there" test "$(elsewhere /bin/busybox id -u)" = 65534
elsewhere "/opt/${interp##*/}" --library-path /opt /opt/nsprof-symbolize -q --no-inline /rec/moved >"$T/moved.there" 2>"$T/err"
is "another machine: it can be read there" $? 0
is "and says nothing" "$(cat "$T/err")" ""
check "another machine: the same functions" diff "$T/moved.here" "$T/moved.there"
check "another machine: of the program" named "$T/moved.there" app "$(chain spin)"
check "another machine: without build-id" named "$T/moved.there" nobid "$(chain spin-nobid)"
check "another machine: of the kernel below it" grep -q ';static_leaf;.*read' "$T/moved.there"
check "another machine: JIT code" has_chain <(grep '^moved;' "$T/moved.there") "run_jit;in_moved" 95
ctr_stop moved
rm -rf "$T/root" "$other"
perf_fold "$T/p"
perf_not "another machine: of the program" named "$T/p.perf" app "$(chain spin)"
perf_not "another machine: JIT code" has_chain <(grep '^moved;' "$T/p.perf") "run_jit;in_moved" 95

# ---- the pid now belongs to another process: other programs at the same paths, with their own map
cat >"$T/as_pid.py" <<'PY'
# as_pid.py PID COMMAND...: run COMMAND as process PID, which is free (clone3(2) with set_tid).
import ctypes, os, struct, sys
tid = (ctypes.c_int * 1)(int(sys.argv[1]))
args = struct.pack('11Q', 0, 0, 0, 0, 17, 0, 0, 0, ctypes.addressof(tid), 1, 0)
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(435, args, len(args))
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
if pid < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
os.waitpid(pid, 0)
PY
free=$(sh -c 'echo $$')
if python3 "$T/as_pid.py" "$free" /bin/true 2>"$T/err"; then
	mkdir /app
	cp "$TARGETS/spin-nobid" /app/prog
	cp "$TARGETS/jitloop" /app/jit
	/app/prog 60 &
	spin=$!
	/app/jit 60 in_first map &
	jit=$!
	wait_for "[ -s /tmp/perf-$jit.map ]" 10
	later "rm -f /tmp/perf-$jit.map"
	"$NSPROF" record -q -e cpu-clock -F 999 -o "$T/cut" -p $spin,$jit &
	recorder=$!
	perf_record "$T/p" -F 999 --call-graph dwarf -p $spin,$jit -- sleep 1.5
	ctr_record "$T/whole" -e cpu-clock -F 999 -p $spin,$jit --duration 1.5
	wait_for '[ "$(stat -c %s "$T/cut")" -gt 1000 ]' 10
	# The recording has no rows, so the binaries must still exist.
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	fold "$T/whole" >"$T/whole.before"
	perf_wait "$T/p"
	kill $spin $jit
	wait $spin $jit 2>/dev/null
	rm -rf /app "/tmp/perf-$jit.map"
	mkdir /app
	cp "$TARGETS/spin-nobid2" /app/prog
	cp "$TARGETS/jitloop" /app/jit
	python3 "$T/as_pid.py" $spin /app/prog 60 2>"$T/err" &
	python3 "$T/as_pid.py" $jit /app/jit 60 in_second map 2>>"$T/err" &
	check "pids used again" wait_for "[ -s /tmp/perf-$jit.map ] && [ -e /proc/$spin/exe ]" 10
	later "kill $spin $jit"
	fold "$T/whole" >"$T/whole.after"
	check "pids used again: the same names" diff "$T/whole.before" "$T/whole.after"
	check "pids used again: of the program" named "$T/whole.after" nobid "$(chain spin-nobid)"
	check "pids used again: JIT code" has_chain <(grep '^jit;' "$T/whole.after") "run_jit;in_first" 95
	fold "$T/cut" >"$T/cut.after"
	check "pids used again, a recording without rows: there are samples" test -s "$T/cut.after"
	unlike "pids used again, a recording without rows: no name of the new ones" "$(cat "$T/cut.after")" 'nobi2_|in_second'
	perf_fold "$T/p"
	perf_not "pids used again: of the program" named "$T/p.perf" nobid "$(chain spin-nobid)"
	perf_not "pids used again: JIT code" has_chain <(grep '^jit;' "$T/p.perf") "run_jit;in_first" 95
	kill $spin $jit
	rm -rf /app
else
	skip "pids used again" "cannot choose a pid here: $(cat "$T/err")"
fi

# ---- 500 processes of 0.01 to 0.1 s in a container that is gone before the recording ends, at most
# 30 each second: to look at 70, the recorder may need more than a tenant's 5 % of a busy CPU
# (contrib/doc/budgets.md)
ctr_rootfs "$T/root" "$TARGETS/spin-static" "$TARGETS/spin-a"
ctr_start short "$T/root" sh -c 'until [ -e /tmp/go ]; do busybox sleep 0.05; done; i=0; while [ $i -lt 50 ]; do
	for s in 0.01 0.03 0.05 0.07 0.1; do /app/spin-static $s & /app/spin-a 0.1 & done; wait; busybox sleep 0.2; i=$((i + 1)); done' || fail "short starts"
"$NSPROF" record -q -o "$T/short" -G "$CTR_CG" -F 999 &
recorder=$!
perf_record "$T/p" -a -G "$CTR_CG" -F 999 --call-graph dwarf -- sleep 600
wait_for '[ -s "$T/short" ]' 10
: >"/proc/$CTR_PID/root/tmp/go"
wait_for "! kill -0 $CTR_PID 2>/dev/null" 120
ctr_stop short
rm -rf "$T/root"
[ -z "$PERF" ] || kill -INT "$PERF_PID"
perf_wait "$T/p"
kill -INT $recorder
wait $recorder
n=$("$NSPROF" info --json "$T/short" | jq '[.processes[] | select(.comm == "spin-static" or .comm == "spin-a")] | length')
check "500 short processes: sampled are $n" test "$n" -ge 300
# unnamed FOLDED: at most 1 % of the user space samples of these programs have no name; a name in
# brackets does not count as one.
unnamed() {
	awk '/^spin-(static|a);/ { n = $NF; sub(/ [0-9]+$/, ""); if (/_\[k\]$/) next; all += n; if (/;\[[^;]*\]$/ && !/scanned\]$/) { bad += n; which[$0] += n } }
	END { printf "# %d of %d have no name\n", bad, all; for (s in which) print "# " which[s], s; exit !(all >= 1000 && 100 * bad <= all) }' "$1"
}
fold "$T/short" --annotate >"$T/f"
check "500 short processes: at most 1 % without a name" unnamed "$T/f"
check "500 short processes: their chains, static" named "$T/f" static "$(chain spin-static)"
check "500 short processes: their chains" named "$T/f" aaa "$(chain spin-a)"
perf_not "500 short processes: their chains, static" named "$T/p.perf" static "$(chain spin-static)"
perf_not "500 short processes: their chains" named "$T/p.perf" aaa "$(chain spin-a)"
done_testing
