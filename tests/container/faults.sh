#!/bin/bash
# beside others
# takes: 55
# timeout: 300
# Whatever goes wrong with the recorder, its disk, its target or its limits: the file can be read up
# to its last whole block, what is missing is stated, the workload goes on, and nothing of the
# recorder stays behind. "make faults" (FAULTS=all) tries more of each, and perf beside it; its
# results are in contrib/doc/faults.md.
# Elsewhere: full disks (record-limits.sh, record-long.sh), a stopped recorder and the balance of its
# ledger (ledger.sh), removed cgroups (record-limits.sh), every cut and flip of a small file
# (test_recdamage).
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd python3 jq
need_target spin faulty.so
[ "$(id -u)" = 0 ] || skip_all "needs root: it looks for leftovers of the whole machine"
# Mounts of other tests do not show in a namespace of its own.
if [ -z "${FAULTS_MOUNTS-}" ]; then
	unshare -m --propagation private true 2>/dev/null || skip_all "no mount namespaces"
	rm -rf "$T"
	FAULTS_MOUNTS=1 exec unshare -m --propagation private bash "$0"
fi
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"
all=${FAULTS-}
# few SHORT LONG: how many, in make check and in make faults.
few() { [ "$all" = all ] && echo "$2" || echo "$1"; }
S=$TARGETS/spin
RANDOM=${FAULTS_SEED:-27}

nice -n 10 "$S" 3600 &
victim=$!
computes $victim 50
victim_fds() { find /proc/$victim/fd -mindepth 1 | wc -l; }
fds=$(victim_fds)
traces() { cat /sys/kernel/tracing/{uprobe,kprobe,dynamic}_events /sys/kernel/debug/tracing/{uprobe,kprobe}_events 2>/dev/null | grep -a nsprof; }
bpf_pins() { find /sys/fs/bpf -name '*nsprof*' 2>/dev/null; }
# Mounts by id and device. Those that this namespace has copied may get other options, and go with
# their folder.
mounted() { cut -d ' ' -f 1-3 /proc/self/mountinfo | sort; }
mounts=$(mounted)

# ours: processes that a recorder started, and recorders themselves. Not an opener that a hanging FUSE
# file system of another test holds: only the end of that can end it.
ours() {
	local p
	for p in $(grep -lsza "^FAULTS_MARK=$T\$" /proc/[0-9]*/environ); do
		grep -qs request_wait_answer "${p%environ}wchan" ||
			sed -n 's/^\(Name\|State\|Pid\|PPid\):[[:space:]]*/ /p' "${p%environ}status" 2>/dev/null | tr -d '\n'
	done
}
rec() { env FAULTS_MARK="$T" "$NSPROF" record -e cpu-clock -F 999 --call-graph dwarf,4096 "$@" 2>err </dev/null; }
# start ARGUMENT...: record to a.data in the background ($recorder) until there are samples.
start() {
	rm -f a.data
	env FAULTS_MARK="$T" "$NSPROF" record -e cpu-clock -F 999 --call-graph dwarf,4096 -o a.data "$@" 2>err </dev/null &
	recorder=$!
	wait_for '[ "$(stat -c %s a.data 2>/dev/null || echo 0)" -gt 500 ]' 30
}
info() { "$NSPROF" info --json "${2:-a.data}" 2>info.err | jq -r "$1"; }

# clean NAME: the workload goes on as before, and nothing else is there.
clean() {
	local left='' state
	wait_for '[ -z "$(ours)" ]' 10 || left+="processes: $(ours)"$'\n'
	left+=$(comm -13 <(echo "$mounts") <(mounted))
	left+=$(traces)$(bpf_pins)
	left+=$(find . -maxdepth 1 -name '*.tmp*' -o -maxdepth 1 -name '.nsprof*')
	state=$(sed -n 's/^State:\t\(.\).*/\1/p' /proc/$victim/status)
	[ "$state" = R ] || [ "$state" = S ] || left+="the victim is in state '$state'"
	[ "$(victim_fds)" = "$fds" ] || left+="descriptors of the victim: $(victim_fds), not $fds"
	is "$1: nothing is left behind, the workload goes on" "$left" ""
}

# readable FILE: fails with the reason in $why unless nsprof reads what is whole in it.
readable() {
	local end samples got at
	read -r end samples < <(python3 "$TOP/tests/tools/damaged_recordings.py" --whole "$1")
	if [ "${end:--}" = - ]; then
		"$NSPROF" info "$1" >/dev/null 2>info.err
		[ $? = 1 ] && [ -s info.err ] || { why="a file without a header: $(cat info.err)"; return 1; }
		return 0
	fi
	got=$(info .samples "$1")
	[ "$got" = "$samples" ] || { why="$got samples, but its whole blocks have $samples"; return 1; }
	at=$(info '.damage | if .cut then .cut_at else 0 end' "$1")
	[ "$at" = 0 ] || [ "$at" = "$end" ] || { why="cut at $at, but its whole blocks end at $end"; return 1; }
	[ "$samples" = 0 ] || [ "$("$NSPROF" symbolize -q --no-inline "$1" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }')" = "$samples" ] ||
		{ why="not all of the $samples samples have stacks"; return 1; }
}
# whole NAME [FILE]: it is complete, and all its numbers add up.
whole() {
	is "$1: complete, and its ledger has all samples" "$(info '"\(.complete) \(.samples == .ledger.kept + .ledger.cut)"' "${2:-a.data}")" "true true"
}

# perf's RESULT WHAT: in make faults, a row about perf.
perf_says() { echo "# $P: $*"; }
# perfs: those to compare with, in make faults only; PERFS may name several.
perfs() { [ "$all" = all ] && have_perf && echo "${PERFS:-perf}"; }
perf_samples() { timeout 60 "$P" script -i "$1" -F comm 2>perf.err | wc -l; }
perf_rec() { "$P" record -q -e cpu-clock -F 999 --call-graph dwarf,4096 "$@" >/dev/null 2>perf.err </dev/null; }

# ---- SIGKILL at random moments
n=$(few 4 200)
bad=
empty=0 samples=0
for ((i = 0; i < n; i++)); do
	rm -f a.data
	env FAULTS_MARK="$T" "$NSPROF" record -q -e cpu-clock -F 1999 --call-graph dwarf,4096 -o a.data -p $victim 2>err </dev/null &
	recorder=$!
	# Most of them while it records, some while it starts.
	sleep "$(printf '%d.%03d' $((RANDOM % 5 == 0)) $((RANDOM % 20 ? RANDOM % 999 : RANDOM % 60)))"
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	[ -e a.data ] || { empty=$((empty + 1)); continue; }
	readable a.data || bad+="$i: $why"$'\n'
	samples=$((samples + $(info '.samples // 0')))
done 2>/dev/null
# One that is killed while it begins leaves nothing. Where a file needs a name, it leaves FILE.PID-N.tmp.
nameless() { python3 -c 'import os; os.open(".", os.O_TMPFILE | os.O_WRONLY)' 2>/dev/null; }
nameless || rm -f a.data.*.tmp
if command -v strace >/dev/null && nameless; then
	rm -f a.data
	strace -f -o traced -e trace=linkat,renameat2 -e inject=linkat,renameat2:signal=KILL:when=1 \
		env FAULTS_MARK="$T" "$NSPROF" record -q -e cpu-clock -o a.data -p $victim --duration 1 2>err </dev/null
	like "SIGKILL before the file has its name" "$(cat traced)" 'killed by SIGKILL'
	is "leaves no file" "$(find . -name 'a.data*')" ""
else
	skip "SIGKILL before the file has its name" "needs strace, and a file system with O_TMPFILE"
fi
is "SIGKILL: $n files, $empty of them not begun, are readable: $samples samples" "$bad" ""
clean "SIGKILL"
for P in $(perfs); do
	some=0 total=0
	for ((i = 0; i < 20; i++)); do
		rm -f perf.data
		"$P" record -q -e cpu-clock -F 1999 --call-graph dwarf,4096 -o perf.data -p $victim >/dev/null 2>&1 &
		sleep "0.$((400 + RANDOM % 500))"
		kill -KILL $!
		wait $! 2>/dev/null
		got=$(perf_samples perf.data)
		some=$((some + (got > 0))) total=$((total + got))
	done 2>/dev/null
	perf_says "SIGKILL: $some of 20 files can be read, $total samples; $(head -n 1 perf.err)"
done

# ---- EIO and short writes
rm -f a.data
LD_PRELOAD=$TARGETS/faulty.so FAULTY=short rec -q -o a.data -- "$S" --cpu 0.2
is "short writes: status" $? 0
whole "short writes"
check "short writes: there are samples" test "$(info .samples)" -gt 150
for at in $(few 2000 "0 64 100 1000 2000 3000 4000 5000 7000 9000"); do
	rm -f a.data
	LD_PRELOAD=$TARGETS/faulty.so FAULTY=eio:$at rec -o a.data -- "$S" --cpu 1.5
	is "EIO after $at bytes: status" $? 1
	like "EIO after $at bytes: said" "$(cat err)" "^nsprof record: error: cannot write 'a.data': Input/output error"
	[ "$at" -lt 64 ] || check "EIO after $at bytes: readable" eval 'readable a.data || { echo "$why" >&2; false; }'
done
clean "EIO"
for P in $(perfs); do
	LD_PRELOAD=$TARGETS/faulty.so FAULTY=short perf_rec -o perf.data -p $victim -- sleep 0.5
	perf_says "short writes: status $?, $(perf_samples perf.data) samples; $(head -n 1 perf.err)"
	LD_PRELOAD=$TARGETS/faulty.so FAULTY=eio:1000000 perf_rec -o perf.data -p $victim -- sleep 2
	perf_says "EIO: status $?, $(perf_samples perf.data) samples of a file of $(stat -c %s perf.data) bytes; $(head -n 1 perf.err)"
done

# ---- cuts and flipped bits
rec -q -o long.data -- "$S" --cpu "$(few 0.5 2.5)"
check "damaged copies: what is whole is read, and no more" python3 "$TOP/tests/tools/damaged_recordings.py" long.data "$(few 15 1000)" "$(few 25 1000)" 27
bad=
for ((i = 0; i < $(few 3 100); i++)); do
	python3 -c 'import random, sys
d = bytearray(open("long.data", "rb").read())
r = random.Random(int(sys.argv[1]))
for _ in range(4): d[r.randrange(64, len(d))] ^= 1 << r.randrange(8)
open("bits.data", "wb").write(d)' $i
	timeout 60 "$NSPROF" symbolize bits.data >folded 2>err
	[ $? = 1 ] && [ -s err ] || bad+="$i: status $?: $(cat err)"$'\n'
done
is "damaged copies: symbolize ends with a message" "$bad" ""
for P in $(perfs); do
	perf_rec -o perf.data -- "$S" --cpu 0.5
	all_of=$(perf_samples perf.data)
	crashed=0 refused=0 silent=0
	for ((i = 0; i < 100; i++)); do
		python3 -c 'import random, sys
d = bytearray(open("perf.data", "rb").read())
r = random.Random(int(sys.argv[1]))
d[r.randrange(len(d))] ^= 1 << r.randrange(8)
open("bits.data", "wb").write(d)' $i
		got=$(timeout 60 "$P" script -i bits.data -F comm 2>perf.err | wc -l; exit "${PIPESTATUS[0]}")
		rc=$?
		((rc > 128)) && crashed=$((crashed + 1))
		((got == 0)) && refused=$((refused + 1))
		((rc == 0)) && silent=$((silent + 1))
	done
	perf_says "a flipped bit, 100 times: $crashed crashes, $refused times no sample, $silent times status 0"
	size=$(stat -c %s perf.data) some=0
	for ((i = 1; i <= 20; i++)); do
		head -c $((size * i / 21)) perf.data >bits.data
		[ "$(perf_samples bits.data)" = 0 ] || some=$((some + 1))
	done
	perf_says "cut: $some of 20 files can be read, the last with $(perf_samples bits.data) of $all_of samples"
done

# ---- the target is killed
"$S" 600 &
target=$!
computes $target 50
start -p $target
kill -KILL $target
wait $target 2>/dev/null
wait $recorder
is "target killed: the recorder ends" $? 0
whole "target killed"
like "target killed: its samples" "$("$NSPROF" symbolize -q a.data)" 'app_leaf '
clean "target killed"
for P in $(perfs); do
	"$S" 600 &
	target=$!
	computes $target 50
	rm -f perf.data
	"$P" record -q -e cpu-clock -F 999 --call-graph dwarf,4096 -o perf.data -p $target >perf.err 2>&1 &
	recorder=$!
	computes $target 1000
	kill -KILL $target
	wait $target 2>/dev/null
	wait $recorder
	perf_says "target killed: status $?, $(perf_samples perf.data) samples"
done

# ---- the recorder is stopped
start -p $victim -m 1
kill -STOP $recorder
sleep "$(few 0.2 10)"
# Many more samples than the ring holds, however busy the machine is.
computes $victim 1000
kill -CONT $recorder
computes $victim 300
kill -INT $recorder
wait $recorder
is "stopped for a while: status" $? 130
whole "stopped for a while"
check "stopped for a while: what is missing is counted" test "$(info .ledger.lost_kernel)" -gt 0
like "stopped for a while: and said" "$(cat err)" "[0-9]+ lost"
clean "stopped for a while"
for P in $(perfs); do
	"$P" record -e cpu-clock -F 999 --call-graph dwarf,4096 -m 16 -o perf.data -p $victim >/dev/null 2>perf.err &
	recorder=$!
	wait_for '[ "$(stat -c %s perf.data 2>/dev/null || echo 0)" -gt 500 ]' 60
	kill -STOP $recorder
	sleep 10
	kill -CONT $recorder
	computes $victim 300
	kill -INT $recorder
	wait $recorder
	perf_says "stopped for 10 s: $(grep -iE 'lost|captured' perf.err | tr '\n' ' ')$(perf_samples perf.data) samples; perf report: $("$P" report --stdio -i perf.data 2>&1 | grep -i lost | head -n 2 | tr '\n' ' ')"
done

# ---- the wall clock is set while it records
uptime_s() { cut -d ' ' -f 1 /proc/uptime; }
for by in 86400 -86400; do
	rm -f a.data
	from=$(uptime_s)
	LD_PRELOAD=$TARGETS/faulty.so FAULTY=step:100:$by rec -q -o a.data -- "$S" --cpu 0.4
	is "clock step by $by s: status" $? 0
	whole "clock step by $by s"
	check "clock step by $by s: samples of all the time" test "$(info .samples)" -ge 350
	check "clock step by $by s: the duration" jq -en --argjson s "$(info .duration)" --argjson from "$from" --argjson to "$(uptime_s)" '$s > 0.35 and $s < $to - $from'
done
clean "clock step"
for P in $(perfs); do
	LD_PRELOAD=$TARGETS/faulty.so FAULTY=step:100:86400 perf_rec -o perf.data -- "$S" --cpu 0.4
	perf_says "clock step: status $?, $(perf_samples perf.data) samples, which last $("$P" script -i perf.data -F time 2>/dev/null |
		sed -n 's/[ :]//g; 1p; $p' | paste -sd- | awk -F- '{ print $2 - $1 }') s"
done

# ---- a full disk, beside perf
if [ -n "$(perfs)" ]; then
	mkdir full
	mount -t tmpfs -o size=1m none full
	later "umount '$T/full'"
	rec -o full/a.data -p $victim --duration 5 -F 9999
	rc=$?
	echo "# nsprof: disk full: status $rc, $(info .samples full/a.data) samples; $(head -n 1 err)"
	check "disk full: readable" eval 'readable full/a.data || { echo "$why" >&2; false; }'
	for P in $(perfs); do
		rm -f full/*
		"$P" record -q -e cpu-clock -F 999 --call-graph dwarf,4096 -o full/perf.data -p $victim -- sleep 2 >perf.err 2>&1
		rc=$?
		why=$(head -n 1 perf.err)
		perf_says "disk full: status $rc, $(perf_samples full/perf.data) samples; $why; script: $(head -n 1 perf.err)"
	done
	umount full
fi

# ---- few descriptors, on all CPUs
rm -f a.data
(ulimit -n 64; rec -o a.data -a -- "$S" --cpu "$(few 0.2 5)")
rc=$?
if [ $rc = 0 ]; then
	whole "64 descriptors"
	like "64 descriptors: names" "$("$NSPROF" symbolize -q --no-inline a.data)" '^spin;.*app_leaf '
else
	is "64 descriptors: status" $rc 1
	like "64 descriptors: said" "$(cat err)" 'ulimit -n'
fi
clean "64 descriptors"
for P in $(perfs); do
	(ulimit -n 64; perf_rec -o perf.data -a -- sleep 1)
	perf_says "64 descriptors: status $?, $(perf_samples perf.data) samples; $(head -n 1 perf.err)"
done

# ---- little memory
limited() {	# VERSION MOUNT
	local cg=$2/nsprof-faults-$$ rc
	mkdir "$cg" 2>/dev/null || return
	later "rmdir '$cg'"
	if [ "$1" = 2 ]; then
		echo 33554432 >"$cg/memory.max" || return
	else
		echo 33554432 >"$cg/memory.limit_in_bytes" || return
	fi 2>/dev/null
	rm -f a.data
	(echo $BASHPID >"$cg/cgroup.procs"; rec -o a.data -a -- "$S" --cpu "$(few 0.2 5)")
	rc=$?
	# The kernel may end it; then the file is what SIGKILL leaves. Otherwise it is complete.
	if [ $rc = 137 ]; then
		check "32 MiB of memory: killed, readable" eval 'readable a.data || { echo "$why" >&2; false; }'
	else
		is "32 MiB of memory: status" $rc 0
		whole "32 MiB of memory"
	fi
	for P in $(perfs); do
		(echo $BASHPID >"$cg/cgroup.procs"; perf_rec -o perf.data -a -- sleep 5)
		perf_says "32 MiB of memory: status $?, $(perf_samples perf.data) samples; $(head -n 1 perf.err)"
	done
}
memory=$(awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /(^|,)memory(,|$)/) print $5 }' /proc/self/mountinfo | head -n 1)
if [ -n "$memory" ]; then
	limited 1 "$memory"
elif [ -n "$CTR_V2" ] && grep -qw memory "$CTR_V2/cgroup.subtree_control"; then
	limited 2 "$CTR_V2"
else
	false
fi || skip "32 MiB of memory" "no memory cgroup can be made"
clean "32 MiB of memory"

# ---- the container is killed, and its cgroup removed
# Last: it skips the rest where no container can be made.
ctr_need
mounts=$(mounted)	# with a place for containers
ctr_rootfs "$T/root" "$S:/app/server"
if ctr_start web "$T/root" /app/server 600; then
	ctr_computes
	start -G "$CTR_CG"
	# The file exists before the first sample is drained, and the program is looked at then.
	ctr_computes
	ctr_stop web
	wait_for 'grep -q "was removed" err' 20
	kill -INT $recorder
	wait $recorder
	is "container killed: status" $? 130
	like "container killed: said" "$(cat err)" "cgroup '$CTR_CG' was removed"
	whole "container killed"
	is "container killed: in the ledger" "$(info .ledger.cgroups_gone)" 1
	like "container killed: its samples" "$("$NSPROF" symbolize -q a.data)" 'app_leaf '
	for P in $(perfs); do
		ctr_start "web" "$T/root" /app/server 600 && ctr_computes
		rm -f perf.data
		"$P" record -q -e cpu-clock -F 999 --call-graph dwarf,4096 -o perf.data -a -G "${CTR_CG#/}" -- sleep 6 >perf.err 2>&1 &
		recorder=$!
		sleep 2
		ctr_stop web
		wait $recorder
		rc=$?
		why=$(head -n 1 perf.err)
		perf_says "container killed: status $rc, $(perf_samples perf.data) samples; $why"
	done
	rm -rf "$T/root"
	clean "container killed"
else
	fail "a container starts"
fi
done_testing
