#!/bin/bash
# nsprof record: each option samples the right processes and code, compared with the known behaviour
# of the program.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd jq
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
"$NSPROF" record -q -o probe -- "$S" 0.1 2>err || skip_all "cannot record here: $(cat err)"

# Remove the previous recording: after a failure it must not be taken for the new one.
rec() { rm -f a.data; "$NSPROF" record -q -e cpu-clock -o a.data "$@" 2>err || echo "# record $*: $(cat err)"; }
folded() { "$NSPROF" symbolize -q --no-inline --annotate "$@" a.data; }
# while_works PID OPTION...: as rec, until PID has used 0.2 s of CPU time, even on a busy CPU.
while_works() {
	local worker=$1 from
	shift
	rm -f a.data
	"$NSPROF" record -q -e cpu-clock -o a.data "$@" 2>err &
	own=$!	# the front command becomes the recorder by execve
	wait_for '[ -s a.data ]' 20
	from=$(awk '{ print $14 + $15 }' "/proc/$worker/stat")
	wait_for "((\$(awk '{ print \$14 + \$15 }' /proc/$worker/stat) >= $from + 20))" 60
	kill -INT $own
	wait $own
}
samples() { "$NSPROF" info --json a.data | jq .samples; }

if can_sample_kernel; then
	# As in perf: samples are only taken in the kernel, and their stacks continue to the caller
	# in user space.
	rec -F 999 --all-kernel -- "$S" --kernel 0.5
	f=$(folded)
	like "--all-kernel: what called the kernel is there" "$f" 'app_leaf;.*_\[k\] [0-9]+$'
	is "--all-kernel: every sample is in the kernel" "$(grep -Ecv '_\[k\] [0-9]+$' <<<"$f")" 0
	"$NSPROF" record -q -e cpu-clock:k -F 999 -o a.data -- "$S" --kernel 0.5
	is "-e EVENT:k is the same" "$(folded | grep -Ecv '_\[k\] [0-9]+$')" 0
else
	skip "--all-kernel" "no right to sample the kernel"
fi
"$NSPROF" record -q -e cpu-clock:u -F 999 -o a.data -- "$S" --kernel 0.5
unlike "-e EVENT:u: no kernel frames" "$(folded)" '_\[k\]'
# Woken by ticks of 50 ms and the end, and no more: a clock cannot fill a ring of a quarter second
# between two of them.
"$S" 9 >spun &
P=$!
rm -f a.data
"$NSPROF" record -v -e cpu-clock -F 999 -o a.data -p $P --duration 1.5 2>err
if [ "$("$NSPROF" info --json a.data | jq -r .settings.ring_ms)" -ge 250 ]; then
	like "woken by ticks" "$(cat err)" 'woken [0-9]+ times, [0-9.]+ s'
	read -r woken secs < <(sed -nE 's/.*woken ([0-9]+) times, ([0-9.]+) s.*/\1 \2/p' err)
	check "and by nothing else ($woken in $secs s)" awk "BEGIN {exit !($woken <= $secs * 20 + 4)}"
else
	skip "woken by ticks" "the rings hold less than a quarter second"
fi
# A smaller ring wakes the recorder whenever a quarter of it is written, here every four samples.
rm -f a.data
"$NSPROF" record -v -e cpu-clock -F 999 --call-graph dwarf,8192 -m 128K -o a.data -p $P --duration 1 2>err
read -r woken secs < <(sed -nE 's/.*woken ([0-9]+) times, ([0-9.]+) s.*/\1 \2/p' err)
n=$("$NSPROF" info --json a.data | jq .samples)
check "small rings: woken by what is written, too ($woken times for ${n-0} samples in ${secs-0} s)" [ $((8 * ${woken:-0})) -gt "${n:-0}" ]
kill $P
wait $P 2>waited
"$NSPROF" record -q -e task-clock -F 499 -o a.data -- "$S" 0.5
is "-e task-clock is what info says" "$("$NSPROF" info --json a.data | jq -r .event)" task-clock
like "and samples the program" "$(folded)" 'app_leaf'

# -c counts nanoseconds of cpu-clock: 0.5 s of CPU time at one sample per 2 ms.
"$NSPROF" record -q -e cpu-clock -c 2000000 -o a.data -- "$S" 0.5
n=$(samples)
ns=$("$NSPROF" symbolize -q --weight period a.data | awk '{ p += $NF } END { printf "%.0f", p }')
check "-c N: there are samples" test "$n" -gt 0
is "-c N: each sample stands for N ns" "$ns" $((n * 2000000))
# Its timer does not go below 10 us: a sample then stands for that.
"$NSPROF" record -e cpu-clock -c 1 --call-graph none -o a.data -- "$S" 0.1 2>err
like "-c below what a clock can do: said" "$(cat err)" "no period below 10000 ns: recording one sample every 10000 ns, not 1$"
is "-c below what a clock can do: written down" "$("$NSPROF" info --json a.data | jq .period)" 10000
is "-c below what a clock can do: weighed" "$("$NSPROF" symbolize -q --weight period a.data | awk '{ p += $NF } END { printf "%.0f", p }')" \
	$(($(samples) * 10000))
max=$(cat /proc/sys/kernel/perf_event_max_sample_rate)
"$NSPROF" record -q -e cpu-clock -F max --call-graph none -o a.data -- "$S" 0.1
is "-F max is the kernel's limit" "$("$NSPROF" info --json a.data | jq .frequency)" "$max"

# One thread of several, by its tid.
"$S" --threads 2 20 &
pid=$!
wait_for '[ "$(ls /proc/$pid/task | wc -l)" = 3 ]' 5
tid=$(ls /proc/$pid/task | sort -n | tail -n 1)
rec -F 499 -t "$tid" --duration 0.5
is "-t TID: that thread and no other" "$(folded --by thread | sed -E 's/;.*//' | sort -u)" "spin-$pid/$tid"
rec -F 499 -p "$pid" --duration 0.5
is "-p PID: all its threads that run" "$(folded --by thread | sed -E 's/;.*//' | sort -u | wc -l)" 2
kill $pid
wait $pid 2>/dev/null

# One child runs when the recording begins, one is started later.
mkfifo go
bash -c '"$0" 20 & echo $! >early; read -r _ <go; "$0" 20 & echo $! >later; wait' "$S" &
pid=$!
wait_for '[ -s early ]' 5
rm -f a.data
"$NSPROF" record -q -e cpu-clock -F 499 -p "$pid" --duration 2 -o a.data &
recorder=$!
wait_for '[ -s a.data ]' 5
echo >go
wait $recorder
f=$(folded --by process)
like "-p PID: a child started meanwhile" "$f" "^spin-$(cat later);"
unlike "-p PID: not a child that ran before" "$f" "^spin-$(cat early);"
kill "$(cat early)" "$(cat later)" "$pid"
wait $pid 2>/dev/null

if [ "$(id -u)" != 0 ]; then
	skip "-a and -C" "need root"
	done_testing
fi
# The whole machine is recorded, and other tests or users may run spin as well: select this one by
# its pid.
taskset -c 0 "$S" 200 &
pid=$!
cpu1=$(($(nproc) > 1 ? 1 : 0))
if [ $cpu1 = 1 ]; then
	taskset -c 1 "$S" 200 &
	there=$!
	while_works $there -F 499 -a -C 1
	# By its pid: others may run a program of this name on CPU 1.
	unlike "-C 1: nothing of what runs on CPU 0" "$(folded --by process)" "^spin-$pid;"
	like "-C 1: but what runs there" "$(folded --by process)" "^spin-$there;.*app_leaf"
	kill $there
	wait $there 2>/dev/null
else
	skip "-C 1" "there is one CPU only"
fi
while_works $pid -F 499 -C 0
like "-C 0: what runs on CPU 0" "$(folded --by process)" "^spin-$pid;.*app_leaf"
while_works $pid -F 999 -a
like "-a: everything" "$(folded --by process)" "^spin-$pid;.*app_leaf"
unlike "but not the recorder itself" "$(folded --by process)" "^nsprof-record-$own;"
"$NSPROF" record -q --include-self -e cpu-clock -o a.data -F 4999 -a --duration 0.5 &
own=$!
wait $own
like "unless asked for" "$(folded --by process)" "^nsprof-record-$own;"
kill $pid
wait $pid 2>/dev/null
done_testing
