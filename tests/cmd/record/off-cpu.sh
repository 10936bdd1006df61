#!/bin/bash
# timeout: 360
# --off-cpu and --wall record all switches of threads, and stacks of as many as they should.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd jq
need_cmd python3 taskset
need_target waits
can_sample_kernel || skip_all "the kernel may not be recorded"
reader="$(cd "$(dirname "$0")/../../tools" && pwd)/read_recording.py"
cd "$T" || exit 2

record() {
	"$NSPROF" record -q "$@"
}
# FILE: as text, into FILE.txt
read_it() {
	python3 -B "$reader" "$1" >"$1.txt"
}
# FILE, with what record printed in FILE.err: the times in its last lines are those that info adds up;
# where threads live on, their end may be some ms apart.
same_sums() {
	local line
	line=$(sed -n 's/.*off-cpu: //p' "$1.err")
	like "$1: the last lines have the sum" "$line" \
		'switches of threads, [a-z0-9]+ lost; [0-9]+ threads?: [0-9.]+ s = [0-9.]+ s on a CPU \+ [0-9.]+ s off it( \+ [0-9.]+ s unknown)?$'
	check "$1: as info ($line)" jq -ne --arg line "$line" --argjson slack "$2" --slurpfile info <("$NSPROF" info --json "$1") '
		def near(x; y): (x - y / 1e9 | fabs) <= $slack;
		def s(re): ($line | capture(re) // {x: "0"}).x | tonumber;
		$info[0].cpu_times as $t | ($t.threads | length) as $n
		| s("; (?<x>[0-9]+) thread") == $n and near(s(": (?<x>[0-9.]+) s ="); $t.wall_ns) and near(s("= (?<x>[0-9.]+) s on"); $t.on_ns)
		and near(s("CPU [+] (?<x>[0-9.]+) s off"); $t.off_ns) and near(([$line | capture("off it [+] (?<x>[0-9.]+)").x | tonumber] | add // 0); $t.unknown_ns)'
}
# FILE, read before: ns in which its switches were recorded, from the beginning in its header on
recorded() {
	awk -v since="$(od -An -tu8 -j32 -N8 "$1" | tr -d ' ')" 'BEGIN { on = 1 }
	$1 != "event" || $2 !~ /^(switch|wakeup|schedstat|fork|exit|container|toggle)$/ { next }
	{ t = substr($3, 6) + 0; last = t > last ? t : last }
	$2 == "toggle" && on != ($4 == "on=1") { on = !on; if (on) since = t; else sum += t - since }
	END { printf "%.0f\n", sum + (on ? last - since : 0) }' "$1.txt"
}
# FILE: "OUTS INS TWICE SAMPLES"; TWICE: switches of a thread that go the same way as the one before
switches() {
	awk '$1 == "sample" { samples++ }
	$1 == "event" && $2 == "switch" {
		for (i = 3; i < NF; i++)
			if ($i ~ /^tid=/)
				tid = $i
		way = $NF == "in" ? "in" : "out"
		n[way]++
		twice += was[tid] == way
		was[tid] = way
	}
	END { print n["out"] + 0, n["in"] + 0, twice + 0, samples + 0 }' "$1.txt"
}

check "every switch" "$NSPROF" record --off-cpu=1 -o every -- "$BUILD/tests/targets/waits" 0.5 alternate
waits=$(awk '$3 ~ /^wait_/ { n += $5 } END { print n + 0 }' "$T/check.out")
like "the last lines have their number" "$(<check.err)" 'off-cpu: [0-9]+ switches of threads, none lost; '
cp check.err every.err
same_sums every 0.0011
check "read" read_it every
read -r outs ins twice samples < <(switches every)
check "each wait of the program is a switch ($waits, $outs)" test "$waits" -ge 2 -a "$outs" -ge "$waits"
is "threads go and come in turn" "$twice" 0
check "each that leaves a CPU gives a stack ($outs, $samples)" test $((outs - samples)) -le 4 -a $((samples - outs)) -le 4
check "the event: role 1, in ns" grep -q '^event event .* role=1 .* name=off-cpu .* unit=ns' every.txt
is "none is lost" "$("$NSPROF" info --json every | jq '.ledger.lost_switches')" 0
is "the ledger has their number" "$("$NSPROF" info --json every | jq '.ledger.switches')" $((outs + ins))
is "info: what the event counts are switches" "$("$NSPROF" info --json every | jq -r '.events[] | select(.name == "off-cpu") | .unit')" switches
is "info: which are no time" "$("$NSPROF" info every | awk '$NF == "one" && / off-cpu,/ { print $3 }')" \
	"$("$NSPROF" info --json every | jq '.events[] | select(.name == "off-cpu") | .count')"
unlike "info: nothing about wake-ups, which are not recorded" "$("$NSPROF" info every)" 'woken|wake-ups'

check "one of sixteen" record --off-cpu=16 -a -o some -- "$BUILD/tests/targets/waits" 0.5 pingpong
check "read" read_it some
read -r outs ins twice samples < <(switches some)
read -r count taken lost < <("$NSPROF" info --json some | jq -r '.ledger | "\(.count) \(.taken) \(.lost_switches)"')
check "threads go and come in turn ($outs, $ins, $twice, $lost)" test "$twice" -le $((outs / 1000 + lost))
# On a busy machine some are lost; the kernel counts what it switched.
check "fewer stacks ($count, $taken)" test $((taken * 8)) -le "$count" -a $((taken * 32)) -ge "$count"
check "of which each stands for a number of its own" test "$(grep -o ' period=[0-9]* ' some.txt | sort -u | wc -l)" -ge 2

# Far fewer than 64 switches of each thread come in the time after which a period may change.
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
taskset -c "$cpu" "$BUILD/tests/targets/waits" 20 alternate poll pipe >/dev/null &
slow=$!
later "kill $slow"
wait_for "[ \$(ls /proc/$slow/task | wc -l) = 5 ]" 10
check "slow threads, one of 64" record --off-cpu=64 --no-inherit -p $slow --duration 1.5 -o slow
kill $slow
check "read" read_it slow
read -r outs ins twice samples < <(switches slow)
# Four threads that wait often enough, each with an event of its own and a period of 61 or 67.
check "give stacks, too ($outs, $samples)" test $(((samples + 4) * 67)) -ge "$outs" -a $((samples * 61)) -le "$outs"

# The kernel gives samples of the one the ids of the other.
"$BUILD/tests/targets/waits" 20 alternate >/dev/null &
both=$!
later "kill $both"
wait_for "grep -qs '^alternate$' /proc/$both/task/*/comm" 10
"$NSPROF" record -v --off-cpu=1 -p $both -o first 2>first.err &
first=$!
wait_for "grep -q 'sampling began' first.err || ! kill -0 $first" 20
check "two recorders at once" record --off-cpu=1 -p $both --duration 0.5 -o second
kill -INT $first
wait $first
kill $both
for f in first second; do
	check "$f: has each stack" jq -e '.ledger | .dropped == 0 and .kept > 10 and .taken == .count' <("$NSPROF" info --json $f)
done

check "an even number, and two waits that alternate" record --off-cpu=4 -o even -- taskset -c "$cpu" "$BUILD/tests/targets/waits" 0.5 alternate
waits=$(awk '$3 ~ /^wait_/ { n += $5 } END { print n + 0 }' check.out)
if [ "$waits" -ge 40 ]; then
	is "both have stacks" "$("$NSPROF" symbolize -q --event off-cpu --all even | grep -o 'wait_futex\|wait_nanosleep' | sort -u | wc -l)" 2
else
	skip "both have stacks" "the machine is so busy that the program waited $waits times only"
fi

# Two threads never switch, and one runs or waits for a CPU all the time.
"$BUILD/tests/targets/waits" 20 sleeper runner >/dev/null &
steady=$!
later "kill $steady"
wait_for "[ \$(ls /proc/$steady/task | wc -l) = 3 ] && grep -qs '^runner$' /proc/$steady/task/*/comm" 10
sleeper=$(grep -ls '^sleeper$' /proc/$steady/task/*/comm | cut -d/ -f5)
check "threads that were there before" "$NSPROF" record --off-cpu -p $steady --duration 0.6 -o steady
cp check.err steady.err
same_sums steady 0.03
check "and the same with -a" record --off-cpu -a --duration 0.6 -o steady-all
kill $steady
for f in steady steady-all; do
	"$NSPROF" symbolize -q --event off-cpu --by process,thread $f >idle
	whole=$("$NSPROF" info --json $f | jq ".cpu_times.threads[] | select(.tid == $sleeper) | .wall_ns")
	is "$f: one that sleeps all the time has its name and is parked" "$(grep "sleeper-$steady/$sleeper;" idle)" \
		"waits-$steady;sleeper-$steady/$sleeper;[parked];[blocked] $whole"
	is "$f: so has the first thread" "$(grep ";waits-$steady/$steady;" idle)" "waits-$steady;waits-$steady/$steady;[parked];[blocked] $whole"
	like "$f: --all has it as it is" "$("$NSPROF" symbolize -q --all --event off-cpu $f)" \
		"sleeper;\[before recording\];\[blocked\] [0-9]+"
done
"$NSPROF" info --json steady | jq -c '.cpu_times.threads[]' >threads
is "all are known, also those that never switch" "$(jq -s 'map(.kernel_on_ns != null) | all and length == 3' threads)" true
check "read" read_it steady
check "it says when recording was switched on" grep -q '^event toggle .* on=1$' steady.txt
is "all as long as switches were recorded" "$(jq .wall_ns threads | sort -u)" "$(recorded steady)"
is "who never switches never ran" "$(jq -s 'map(select(.waits == 0) | .kernel_on_ns == 0 and .before_ns == .wall_ns) | all' threads)" true
# The kernel counts up to a tick later, and a switch for the thread that leaves or comes.
is "the kernel's times on a CPU are within those by switches" \
	"$(jq -s 'map(.kernel_on_ns <= .on_ns * 1.1 + 2e7) | all' threads)" true
is "and one of them computes" "$(jq -s 'map(select(.kernel_on_ns > 1000000)) | length' threads)" 1

check "threads that begin and end" record --off-cpu=1 -o lives -- "$BUILD/tests/targets/waits" 0.3 alternate poll
"$NSPROF" info --json lives | jq -c '.cpu_times.threads[] | select(.pid != .tid)' >threads
is "none was there before, and none has unknown time" "$(jq -s 'map(.before_ns == 0 and .unknown_ns == 0) | all and length == 2' threads)" true

# There is always one that was forked before and runs when recording is switched on.
bash -c 'while :; do (for ((i = 0; i < 20000; i++)); do :; done); done' &
forks=$!
later "kill $forks"
check "threads that are forked before switches are recorded" record --off-cpu -D 200 -p $forks --duration 0.3 -o forked
kill $forks
"$NSPROF" info --json forked | jq -c '.cpu_times.threads[]' >threads
check "read" read_it forked
is "none has unknown time" "$(jq -s 'map(.unknown_ns) | add' threads)" 0
is "the one that forks is as old as the recording of switches" "$(jq "select(.tid == $forks) | .wall_ns" threads)" "$(recorded forked)"
cp forked plain
grep -v '^event toggle ' forked.txt >plain.txt
check "the delay is no part of it" test $(($(recorded plain) - $(recorded forked))) -ge 200000000
is "and none is older" "$(jq -s "map(select(.wall_ns > $(recorded forked))) | length" threads)" 0

# It sleeps within a millisecond, long before the recorder has opened its file.
check "a command that sleeps at once" record --off-cpu=1 -o sleeps -- sleep 0.3
"$NSPROF" info --json sleeps | jq -c '.cpu_times.threads[]' >threads
# It computes on its way into the wait, while the timer runs already.
check "has all of its sleep" jq -se 'length == 1 and .[0].blocked_ns > 0 and .[0].blocked_ns + .[0].on_ns >= 300000000' threads
is "and nothing before its exec" "$(jq '[.before_ns, .starting_ns, .unknown_ns] | add' threads)" 0
check "read" read_it sleeps
# In the order of time: a block has its switches behind its other events.
read -r begins first exit < <(awk '$1 != "event" { next } { t = substr($3, 6) } $2 == "schedstat" { b = t } $2 == "switch" { print t } $2 == "exit" { e = t }
	END { print "at", b, e }' sleeps.txt | sort -n | awk '$1 == "at" { b = $2; e = $3; next } !f { f = $1 } END { print b, f, e }')
is "it begins with its first switch" "$begins" "$first"
is "from there to its exit it is on or off the CPU" "$(jq '.on_ns + .off_ns' threads)" $((exit - begins))

check "--wall" record --wall -o wall -- "$BUILD/tests/targets/waits" 0.3 runner alternate
check "read" read_it wall
check "its clock comes first" grep -q '^event event .* index=0 role=0 .* name=cpu-clock' wall.txt
check "off-cpu is the second" grep -q '^event event .* index=1 role=1 .* name=off-cpu' wall.txt

check "over several files" record --off-cpu --switch-output=0.3s -o many -- "$BUILD/tests/targets/waits" 0.8 alternate
# A file in which no thread went anywhere says so, too.
"$NSPROF" record -q --off-cpu --switch-output=0.1s -o many.idle -- sleep 60 &
series=$!
wait_for '[ $(ls many.idle.* | wc -l) -ge 4 ]' 20
kill -INT $series
wait $series
for f in many.*; do
	check "read $f" read_it "$f"
	check "$f says what its event is" grep -q '^event event .* role=1 .* name=off-cpu' "$f.txt"
done
# A thread to which nothing happens is in each file all the same.
for f in $(printf '%s\n' many.idle.*[0-9] | sed 1d); do
	is "$f: has its only thread" "$("$NSPROF" info --json "$f" | jq -c '.cpu_times | [(.threads | length), .on_ns, .unknown_ns, .off_ns == .wall_ns]')" "[1,0,0,true]"
	like "$f: it is parked" "$("$NSPROF" symbolize -q --event off-cpu "$f")" '^sleep;\[parked\];\[blocked\] [0-9]+$'
done
"$BUILD/tests/targets/waits" 60 sleeper runner >/dev/null &
steady=$!
later "kill $steady"
wait_for "[ \$(ls /proc/$steady/task | wc -l) = 3 ] && grep -qs '^runner$' /proc/$steady/task/*/comm" 10
sleeper=$(grep -ls '^sleeper$' /proc/$steady/task/*/comm | cut -d/ -f5)
check "threads that were there before, in several files" record --off-cpu -p $steady --switch-output=0.2s --duration 0.7 -o series
check "and with -a" record --off-cpu -a --switch-output=0.2s --duration 0.7 -o series-all
"$NSPROF" record -q --off-cpu -p $steady --overwrite=0.4s -o series-kept &
kept=$!
computes $steady 600
kill -INT $kept
wait $kept
kill $steady
for f in series.* $(compgen -G 'series-all.*') series-kept; do
	"$NSPROF" info --json "$f" | jq -c ".cpu_times.threads[] | select(.pid == $steady)" >threads
	is "$f: all three are there, on and off the CPU" "$(jq -sc 'map(.on_ns + .off_ns == .wall_ns and .unknown_ns == 0)' threads)" "[true,true,true]"
	# What the kernel counted is read within 2 % of the time: of all threads of a busy host, it may not be.
	[[ $f = series-all* ]] || is "$f: and the kernel tells how long" "$(jq -sc 'map(.kernel_on_ns != null)' threads)" "[true,true,true]"
	"$NSPROF" symbolize -q --event off-cpu --by process,thread "$f" >idle
	for t in "sleeper-$steady/$sleeper" "waits-$steady/$steady"; do
		is "$f: $t is parked" "$(grep ";$t;" idle)" "waits-$steady;$t;[parked];[blocked] $(jq "select(.tid == ${t#*/}) | .wall_ns" threads)"
	done
	like "$f: --all has it as it is" "$("$NSPROF" symbolize -q --all --event off-cpu --by process,thread "$f")" "waits-$steady;sleeper-$steady/$sleeper;\[before recording\];\[blocked\] [0-9]+"
done

# A host has many threads that only wait. A file of 0.2 s has 4 ms for reading times, and one takes 20 to 60 us.
if [ -e /run/nsprof-guest ]; then
	skip "hundreds of threads that wait" "a virtual machine without KVM takes minutes to start them"
else
	sleepers=()
	for ((i = 0; i < 40; i++)); do
		"$BUILD/tests/targets/waits" 60 $(printf 'sleeper %.0s' {1..17}) >/dev/null &
		sleepers+=($!)
	done
	later "kill ${sleepers[*]}"
	wait_for "[ \$(cat $(printf '/proc/%s/task/*/comm ' "${sleepers[@]}") | grep -c '^sleeper$') = 680 ]" 10
	check "hundreds of threads that wait" record --off-cpu -a --switch-output=0.2s --duration 1 -o crowded
	kill "${sleepers[@]}"
	for f in crowded.*; do
		"$NSPROF" info --json "$f" | jq -c --args '.cpu_times.threads[] | select(.pid | tostring | IN($ARGS.positional[]))' "${sleepers[@]}" >threads
		is "$f: all are in it, on and off the CPU" "$(jq -sc '[length, (map(.on_ns + .off_ns == .wall_ns and .unknown_ns == 0) | all)]' threads)" "[720,true]"
	done
fi

# Recording is switched off for a while.
"$BUILD/tests/targets/waits" 60 sleeper runner alternate >/dev/null &
steady=$!
later "kill $steady"
wait_for "[ \$(ls /proc/$steady/task | wc -l) = 4 ] && grep -qs '^alternate$' /proc/$steady/task/*/comm" 10
sleeper=$(grep -ls '^sleeper$' /proc/$steady/task/*/comm | cut -d/ -f5)
runner=$(grep -ls '^runner$' /proc/$steady/task/*/comm | cut -d/ -f5)
mkfifo ctl ack
exec 7<>ack 8<>ctl
# FILE ARG...
pause() {
	local file=$1 answer command paused
	shift
	"$NSPROF" record --off-cpu -p $steady --control fifo:ctl,ack -o "$file" "$@" 2>"$file.err" &
	paused=$!
	for command in ping disable enable stop; do
		[ $command = ping ] || computes "$runner" 300
		echo $command >&8
		answer=
		read -r -t 20 -u 7 answer
		is "$file: $command" "$answer" ack
	done
	wait $paused
}
pause paused
pause pauses --switch-output=0.1s
kill $steady
same_sums paused 0.03
for f in paused pauses.*[0-9]; do
	check "read $f" read_it "$f"
	ns=$(recorded "$f")
	"$NSPROF" info --json "$f" | jq -c '.cpu_times // {threads: []} | .threads[]' >threads
	is "$f: all threads are as long as switches were recorded" "$(jq .wall_ns threads | sort -u)" "${ns#0}"
	is "$f: all of it on and off the CPU" "$(jq -s 'map(.on_ns + .off_ns == .wall_ns and .unknown_ns == 0) | all' threads)" true
done
"$NSPROF" info --json paused | jq -c '.cpu_times.threads[]' >threads
is "paused: the kernel tells of all" "$(jq -s 'map(.kernel_on_ns != null and .kernel_on_ns <= .on_ns * 1.1 + 2e7) | all and length == 4' threads)" true
is "paused: one that sleeps all the time is parked" \
	"$("$NSPROF" symbolize -q --event off-cpu --by process,thread paused | grep "sleeper-$steady/$sleeper;")" \
	"waits-$steady;sleeper-$steady/$sleeper;[parked];[blocked] $(recorded paused)"
check "several files begin while it is off" test "$(grep -l '^event toggle .* on=0$' pauses.*.txt | wc -l)" -ge 2

check_rc "no number of switches" 129 record --off-cpu=0 -o no -- true
check_rc "no time" 129 record --off-cpu --off-cpu-thresh 1x -o no -- true
check_rc "a time for nothing" 129 record --off-cpu-thresh 1ms -o no -- true
check "a time" record --off-cpu --off-cpu-thresh 500us -o thresh -- true
check "is in the file" read_it thresh
check "in ns" grep -q '^info off_cpu_thresh_ns=500000$' thresh.txt

# Waits of about 2 and 7 ms: the shorter ones are one frame, with the sum that the switches have.
"$BUILD/tests/targets/waits" 20 alternate >/dev/null &
both=$!
later "kill $both"
wait_for "grep -qs '^alternate$' /proc/$both/task/*/comm" 10
check "short waits" record --off-cpu=1 --off-cpu-thresh 4ms -p $both --duration 0.5 -o brief
kill $both
check "read" read_it brief
sum() { awk '{ n += $NF } END { printf "%.0f\n", n }'; }
"$NSPROF" symbolize -q --event off-cpu brief >folded
is "add up to what the switches say" "$(grep '^alternate;\[shorter than 4 ms\];\[[a-z]*\] [0-9]*$' folded | sum)" \
	"$(awk '$3 ~ /^time=/ && ($2 == "switch" || $2 == "schedstat") { t = substr($3, 6); end = t > end ? t : end }
		$2 == "toggle" { on = substr($3, 6) }
		$2 != "switch" || $3 !~ /^time=/ || t <= on { next }
		$NF != "in" { left[$6] = t; next }
		left[$6] { ns = t - left[$6]; left[$6] = 0; if (ns < 4000000) n += ns }
		END { for (i in left) if (left[i] && end - left[i] < 4000000) n += end - left[i]; printf "%.0f\n", n }' brief.txt)"
is "--all has their stacks, and the same sum" "$("$NSPROF" symbolize -q --event off-cpu --all brief | grep -v shorter | sum)" "$(sum <folded)"
# A sample stands for many waits.
for size in 256 8192; do
	record --off-cpu=16 --call-graph dwarf,$size -o copy.$size -- "$BUILD/tests/targets/waits" 0.3 pingpong >/dev/null
	"$NSPROF" symbolize -q --all --format profile -o copy.$size.p copy.$size
done
cut=$("$NSPROF" symbolize -q --all --weight samples copy.256 | awk '/\[truncated_stack\]/ { n += $NF } END { print n + 0 }')
check "truncated waits are more than samples ($cut)" test "$cut" -gt $((2 * $("$NSPROF" info --json copy.256 | jq .samples)))
like "report has their number" "$("$NSPROF" report -i copy.256.p)" "^# event off-cpu.*; 0 lost, $cut truncated;"
check_rc "diff: their share is of waits" 3 "$NSPROF" diff copy.8192.p copy.256.p
like "which it says" "$(<check.err)" 'shares of truncated stacks differ too much: 0\.0 % of the waits of .*, (9[0-9]\.[0-9]|100\.0) % of '
done_testing
