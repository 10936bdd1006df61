#!/bin/bash
# The kernel's limit of the sampling rate falls during a recording, as the kernel itself lowers it
# with hardware counters. A cgroup that comes back, one that is picked up and a CPU that comes back
# are sampled at the allowed rate. 5 kHz is above what other tests ask for.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../../container/lib.sh"
need_root
need_cmd jq
ctr_need
cd "$T" || exit 1
S=$TARGETS/spin
LIMIT=/proc/sys/kernel/perf_event_max_sample_rate
old=$(cat $LIMIT)
[ "$old" -ge 5000 ] || skip_all "kernel.perf_event_max_sample_rate is $old already"
later "echo $old >$LIMIT"
lower() { echo 3000 2>/dev/null >$LIMIT && [ "$(cat $LIMIT)" = 3000 ]; }
restore() { echo "$old" >$LIMIT; }
lower || skip_all "cannot set $LIMIT"
restore

# record OPTIONS: record in the background; returns when the file exists.
record() {
	rm -f a.data
	"$NSPROF" record -e cpu-clock -F 5000 --call-graph none -o a.data "$@" 2>err &
	RECORDER=$!
	wait_for '[ -s a.data ]' 20
}
stop() {
	kill -INT $RECORDER
	wait $RECORDER
}
# samples_of COMM: the period of its samples, ns, and their number.
samples_of() {
	"$NSPROF" script -q -F comm,period a.data 2>/dev/null | awk -v c="$1" '$1 == c { n[$2]++ } END { for (p in n) print p, n[p] }' | sort -n
}
said_lower() {
	like "$1: it says so" "$(cat err)" 'sampled (again|from now on) at 3000 Hz, now the limit in kernel.perf_event_max_sample_rate$'
	like "$1: and at the end" "$(cat err)" 'max_sample_rate fell below 5000 Hz: .* at as little as 3000 Hz'
	is "$1: the recording has it" "$("$NSPROF" info --json a.data | jq -r '.settings | .frequency + " " + .frequency_lowest')" "5000 3000"
}

cg=$CTR_CGROOT/rate
mkdir "$CTR_V2/$cg"
record -G "$cg"
run_in "$cg" "$TARGETS/spin-a" --cpu 0.3
lower
rmdir "$CTR_V2/$cg"
check "the cgroup goes" wait_for 'grep -q "was removed" err' 10
mkdir "$CTR_V2/$cg"
check "and comes back" wait_for 'grep -q "came back" err' 10
restore
run_in "$cg" "$TARGETS/spin-b" --cpu 0.3
rmdir "$CTR_V2/$cg"
stop
unlike "cgroup: nothing is invalid" "$(cat err)" 'cannot be sampled'
said_lower cgroup
is "cgroup: the first life has the period of 5 kHz" "$(samples_of spin-a | cut -d' ' -f1 | paste -sd' ')" 200000
is "cgroup: the second that of 3 kHz" "$(samples_of spin-b | cut -d' ' -f1 | paste -sd' ')" 333333
# 0.3 s each: the counts differ, the times do not.
check "cgroup: both lives have the time they used" "$NSPROF" symbolize -q --by process -o f a.data
check "... of 0.3 s each" awk '$1 ~ /^spin-a/ { a += $NF } $1 ~ /^spin-b/ { b += $NF } END { print "# " a, b; exit !(b > 0.7 * a && b < 1.3 * a && a > 1.5e8) }' f

mkdir "$CTR_V2/$CTR_CGROOT/rates" "$CTR_V2/$CTR_CGROOT/rates/one"
record -G "$CTR_CGROOT/rates/*"
lower
mkdir "$CTR_V2/$CTR_CGROOT/rates/two"
check "another one is picked up" wait_for 'grep -q "is sampled from now on" err' 10
restore
run_in "$CTR_CGROOT/rates/two" "$TARGETS/spin-b" --cpu 0.2
stop
rmdir "$CTR_V2/$CTR_CGROOT/rates/"{one,two} "$CTR_V2/$CTR_CGROOT/rates"
said_lower "picked up"
is "picked up: at 3 kHz" "$(samples_of spin-b | cut -d' ' -f1 | paste -sd' ')" 333333

cpu=/sys/devices/system/cpu/cpu1/online
if [ -w $cpu ] && [ "$(cat $cpu)" = 1 ] && record -a && later "echo 1 >$cpu" && echo 0 2>/dev/null >$cpu; then
	wait_for 'grep -q "went offline" err' 20
	lower
	echo 1 >$cpu
	check "a CPU comes back" wait_for 'grep -q "came back" err' 20
	restore
	taskset -c 1 "$TARGETS/spin-b" --cpu 0.2
	stop
	said_lower CPU
	is "CPU: at 3 kHz" "$(samples_of spin-b | cut -d' ' -f1 | paste -sd' ')" 333333
else
	[ -z "${RECORDER-}" ] || kill -INT $RECORDER 2>/dev/null
	skip "a CPU that comes back" "there is no CPU 1 that could be taken offline"
fi
is "the limit is what it was" "$(cat $LIMIT)" "$old"
done_testing
