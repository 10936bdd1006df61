#!/bin/bash
# CPUs that go offline and come back during a recording: a message at once, an entry in the
# recording, and samples again. Alone: every other recorder would report them, too.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../container/lib.sh"
need_root
need_cmd jq
S=$TARGETS/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"

# ---- a CPU that goes offline and comes back
cpu=/sys/devices/system/cpu/cpu1/online
if [ ! -w $cpu ] || [ "$(cat $cpu)" != 1 ]; then
	skip_all "there is no CPU 1 that could be taken offline"
fi
later "echo 1 >$cpu"
rm -f a.data
t0=$(now)
"$NSPROF" record -e cpu-clock -F 499 -a -o a.data 2>err &
recorder=$!
wait_for '[ -s a.data ]' 20
t1=$(now)
sleep 0.3
t2=$(now)
if ! echo 0 2>/dev/null >$cpu; then
	kill -INT $recorder
	wait $recorder
	skip_all "CPU 1 cannot be taken offline here"
fi
check "a CPU goes: said at once" wait_for 'grep -q "went offline" err' 20
t3=$(now)
echo 1 >$cpu
check "a CPU comes back: said at once" wait_for 'grep -q "came back" err' 20
# Only the new events of that CPU see this one.
taskset -c 1 "$S" 20 &
pid=$!
sleep 1.2
kill -INT $recorder
wait $recorder
is "a CPU goes and comes: status" $? 130
kill $pid
wait $pid 2>/dev/null
said "a CPU goes: in these words" '^nsprof record: warning: CPU 1 went offline after [0-9.]+ s: it is not sampled while it is away$'
one_line "a CPU goes" 'went offline'
said "a CPU comes back: in these words" '^nsprof record: warning: CPU 1 came back after [0-9.]+ s and is sampled again$'
one_line "a CPU comes back" 'came back'
absent "a CPU goes and comes" '[.absences[] | "\(.what) \(.cpu)"] | join(", ")' "cpu offline 1, cpu online 1"
absent "a CPU goes and comes, in the ledger" .ledger.cpus_away 1
dated "a CPU goes"
check "a CPU goes and comes: in this order" jq -e '.absences | .[0].second < .[1].second' <("$NSPROF" info --json a.data)
like "a CPU goes and comes: the report says so" "$("$NSPROF" report a.data 2>/dev/null)" '^# event .*; a CPU was offline for a time$'
like "a CPU comes back: it is sampled again" "$(folded)" 'app_leaf'
check "a CPU comes back: the recording is whole" "$NSPROF" info a.data

# ---- files and segments that begin while it is away
rm -f b.data*
"$NSPROF" record -e cpu-clock -F 499 -a -o b.data --switch-output 2>err &
recorder=$!
wait_for '[ -s b.data ]' 20
sleep 0.2
echo 0 >$cpu
wait_for 'grep -q "went offline" err' 20
kill -USR2 $recorder
wait_for '[ "$(ls b.data* | wc -l)" = 2 ]' 20
sleep 0.3
kill -INT $recorder
wait $recorder
for f in b.data*; do
	"$NSPROF" info --json "$f" | jq -r '.absences[] | "\(.what) \(.cpu)"'
done >each
is "a CPU is away: both files say so" "$(cat each)" "$(printf 'cpu offline 1\n%.0s' 1 2)"
echo 1 >$cpu
wait_for '[ "$(cat $cpu)" = 1 ]' 20
rm -f b.data*
"$NSPROF" record -e cpu-clock -F 499 -a -o b.data --overwrite=1s 2>err &
recorder=$!
sleep 0.5
echo 0 >$cpu
wait_for 'grep -q "went offline" err' 20
sleep 3
kill -INT $recorder
wait $recorder
echo 1 >$cpu
# What happened is older than anything that is still in the file.
is "a CPU is away: a flight recorder says so" "$("$NSPROF" info --json b.data | jq -c '[.ledger.cpus_away, [.absences[].what]]')" '[1,["cpu offline"]]'

# ---- one that comes back after a cgroup was removed: the other cgroups are sampled there
ctr_need
CHAIN_B=$("$TARGETS/spin-b" --chain)
cg=$CTR_CGROOT/again
mkdir "$CTR_V2/$cg" "$CTR_V2/$CTR_CGROOT/other"
later "rmdir '$CTR_V2/$CTR_CGROOT/other'"
record_start -G "$cg,$CTR_CGROOT/other"
rmdir "$CTR_V2/$cg"
echo 0 >$cpu
wait_for 'grep -q "went offline" err' 10
live "$cg" "$TARGETS/spin-a" 0.7
echo 1 >$cpu
check "a CPU comes back: it is sampled again" wait_for 'grep -q "CPU 1 came back after [0-9.]* s and is sampled again" err' 10
run_in "$CTR_CGROOT/other" taskset -c 1 "$TARGETS/spin-b" 1
mv used.taskset used.spin-b
record_end
folded >f
check "a CPU comes back: what ran on the other meanwhile" grep -q "^spin-a;.*aaa_leaf" f
check "a CPU comes back: what runs on it" life f spin-b "$CHAIN_B"

# ---- several events: all of them are opened again
if "$NSPROF" record -q --dry-run -e syscalls:sys_enter_getppid 2>probe.err; then
	"$NSPROF" record -v -o a.data --call-graph none -e cpu-clock,syscalls:sys_enter_getppid -G "$CTR_CGROOT/other" 2>err &
	RECORDER=$!
	wait_for 'grep -q "sampling began" err' 20
	echo 0 >$cpu
	wait_for 'grep -q "went offline" err' 10
	echo 1 >$cpu
	wait_for 'grep -q "came back" err' 10
	run_in "$CTR_CGROOT/other" taskset -c 1 "$TARGETS/calls" 2000 0 <<<"" >/dev/null
	record_end
	is "a CPU comes back: each call on it" "$("$NSPROF" info --json a.data | jq -c '.events[1] | [.samples, .count, .lost]')" "[2000,2000,0]"
	is "and on no other" "$("$NSPROF" info --json a.data | jq -c '[.counts_by_cpu[] | select(.event == 1 and .samples > 0) | .cpu]')" "[1]"
else
	skip "several events on a CPU that comes back" "no tracepoints of system calls: $(cat probe.err)"
fi
done_testing
