#!/bin/bash
# The recording shows that a CPU limit holds a container back: counters of cpu.stat (v2, or v1 if it
# has the cpu controller) during the recording, in info, report and symbolize, in each of several
# files, for cgroups that begin or are removed meanwhile, and for a runc container. Also cgroups in
# which nothing ran. It enables the cpu controller for the whole machine.
# beside unit tests
# takes: 25
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need

# The place of the cpu controller: its v1 mount, otherwise v2, where it has to be enabled first.
CPU=$(awk '/ - cgroup / && ("," $NF ",") ~ /,cpu,/ { print $5; exit }' /proc/self/mountinfo)
if [ -n "$CPU" ]; then
	mkdir "$CPU/$CTR_CGROOT" || skip_all "cannot make a cgroup in $CPU"
	later "find '$CPU/$CTR_CGROOT' -depth -type d -exec rmdir {} +"
else
	CPU=$CTR_V2
	ctr_cpu || skip_all "no cpu controller to be had"
fi
later "find '$CTR_V2/$CTR_CGROOT' -mindepth 1 -depth -type d -exec rmdir {} +"

# make NAME [QUOTA]: make a cgroup of that name, limited to QUOTA us per 100 ms.
make() {
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1" "$CPU/$CTR_CGROOT/$1"
	[ -n "${2-}" ] || return 0
	if [ "$CPU" = "$CTR_V2" ]; then
		echo "$2 100000" >"$CPU/$CTR_CGROOT/$1/cpu.max"
	else
		echo "$2" >"$CPU/$CTR_CGROOT/$1/cpu.cfs_quota_us"
	fi
}
# run NAME COMMAND...: run it in that cgroup, in place of the calling shell.
run() {
	local name=$1
	shift
	echo $BASHPID >"$CPU/$CTR_CGROOT/$name/cgroup.procs"
	echo $BASHPID >"$CTR_V2/$CTR_CGROOT/$name/cgroup.procs"
	exec "$@"
}
remove() {
	rmdir "$CTR_V2/$CTR_CGROOT/$1"
	[ "$CPU" = "$CTR_V2" ] || rmdir "$CPU/$CTR_CGROOT/$1"
}
counter() { awk -v key="$2" '$1 == key { print $2 }' "$CPU/$CTR_CGROOT/$1/cpu.stat"; }
used() { awk '$1 == "usage_usec" { print $2 }' "$CTR_V2/$CTR_CGROOT/$1/cpu.stat"; }
# of FILE NAME EXPRESSION: evaluate it for cgroup NAME in the output of info.
of() { "$NSPROF" info --json "$1" | jq -r --arg cg "/$CTR_CGROOT/$2" '.containers[] | select(.cgroup == $cg) | '"$3"; }

# The limits are low: on a busy machine no process would reach a higher one. The counters of the
# kernel around the recording include more than the recording. It lasts 20 periods, with a runnable
# process in each. The first reading comes with the first sample, at most a period and a drain after
# the start.
make tight 2000
run tight "$TARGETS/spin" 60 &
tight=$!
make free
run free "$TARGETS/spin" 60 &
free=$!
wait_for '[ -n "$(used tight)" ] && [ "$(used tight)" -gt 0 ] && [ "$(used free)" -gt 0 ]' 10 || fail "they run"
periods=$(counter tight nr_periods) throttled=$(counter tight nr_throttled)
check "a limited and a free one: recorded" "$NSPROF" record -q -o "$T/two" -F 1999 -G "$CTR_CGROOT/tight,$CTR_CGROOT/free" --duration 2
periods=$(($(counter tight nr_periods) - periods)) throttled=$(($(counter tight nr_throttled) - throttled))
got=$(of "$T/two" tight .nr_periods) held=$(of "$T/two" tight .nr_throttled)
check "periods: $got of $periods around it" test "$got" -ge 15 -a "$got" -le "$periods"
check "throttled in $held of $throttled around it" test "$held" -gt 0 -a "$held" -le "$throttled" -a "$held" -le "$got"
is "the limit" "$(of "$T/two" tight '"\(.quota_us) \(.period_us)"')" "2000 100000"
is "the free one: no limit, never throttled" "$(of "$T/two" free '"\(.quota_us) \(.nr_throttled // 0)"')" "null 0"
check "time held back" test "$(of "$T/two" tight .throttled_us)" -gt 0
line="cgroup '/$CTR_CGROOT/tight': throttled in $held of $got periods, [0-9.]+ s, limit 0\\.02 CPUs"
like "info says so" "$("$NSPROF" info "$T/two")" "^ +limit 0\\.02 CPUs; throttled in $held of $got periods, [0-9.]+ s"
like "report says so" "$("$NSPROF" report -q "$T/two")" "^# $line\$"
like "its picture says so" "$("$NSPROF" report -q --format svg "$T/two")" "throttled in $held of $got periods"
like "symbolize says so" "$("$NSPROF" symbolize -o /dev/null "$T/two" 2>&1)" "^nsprof symbolize: $line\$"
is "once" "$("$NSPROF" report "$T/two" 2>&1 | grep -c "throttled in $held of $got")" 1
is "of the free one nobody speaks" "$("$NSPROF" report "$T/two" 2>&1 | grep -c "free.*throttled")" 0
is "nothing with -q" "$("$NSPROF" symbolize -q -o /dev/null "$T/two" 2>&1)" ""

# The chosen cgroup has the limit, and the processes are in one below it (v2: the limited one has to
# be a parent then).
mkdir "$CTR_V2/$CTR_CGROOT/tight/below"
echo $tight >"$CTR_V2/$CTR_CGROOT/tight/below/cgroup.procs"
"$NSPROF" record -q -o "$T/above" -F 1999 -G "$CTR_CGROOT/tight" --duration 1
check "a limit above what runs" test "$(of "$T/above" tight .nr_throttled)" -gt 0
is "the samples are those below" "$(of "$T/above" tight .samples) $(of "$T/above" tight/below '.samples > 0')" "0 true"
"$NSPROF" record -q -o "$T/lower" -F 1999 -G "$CTR_CGROOT/tight/below" --duration 1
check "also if only the lower one is recorded" test "$(of "$T/lower" tight .nr_throttled)" -gt 0
"$NSPROF" record -q -a -o "$T/around" -F 1999 --duration 1
check "also if the whole host is recorded" test "$(of "$T/around" tight .nr_throttled)" -gt 0
is "the samples are those below again" "$(of "$T/around" tight .samples) $(of "$T/around" tight/below '.samples > 0')" "0 true"
echo $tight >"$CTR_V2/$CTR_CGROOT/tight/cgroup.procs"
rmdir "$CTR_V2/$CTR_CGROOT/tight/below"

# Each of several files, and a flight recorder's, has its own counters. Their sum is at most the
# counters around them.
periods=$(counter tight nr_periods)
"$NSPROF" record -q -o "$T/row" -F 1999 -G "$CTR_CGROOT/tight" --switch-output=1s --duration 3.5
sum=0 files=0 own=0
for f in "$T"/row.*; do
	n=$(of "$f" tight '.nr_periods // 0')
	files=$((files + 1)) sum=$((sum + ${n:-0})) own=$((own + (${n:-0} > 0)))
done
check "$own of $files files of a row have their own periods" test "$own" = "$files" -a "$files" -ge 2
check "$sum periods in all of them" test "$sum" -le $(($(counter tight nr_periods) - periods))
"$NSPROF" record -q -a -o "$T/flight" -F 1999 --overwrite=2s --duration 2.5
check "a flight recorder's dump" test "$(of "$T/flight" tight .nr_throttled)" -gt 0
kill $tight $free
wait $tight $free 2>/dev/null

# A cgroup that begins during the recording is counted from its beginning, exact to the microsecond,
# since it has ended before the last reading.
"$NSPROF" record -q -a -o "$T/born" -F 1999 --duration 3 &
recorder=$!
sleep 0.5
make born 30000
(run born "$TARGETS/spin" 1)
wait $recorder
is "all CPU time of what began in it" "$(of "$T/born" born .usage_us)" "$(used born)"
is "all its periods" "$(of "$T/born" born '"\(.nr_periods) \(.nr_throttled)"')" "$(counter born nr_periods) $(counter born nr_throttled)"

# A removed cgroup has the counters of the last look: at most its real ones, and not much less.
make brief 30000
"$NSPROF" record -q -a -o "$T/removed" -F 1999 --duration 3 &
recorder=$!
sleep 0.5
(run brief "$TARGETS/spin" 1)
sleep 0.3
all=$(counter brief nr_periods)
remove brief
wait $recorder
is "removed, and said" "$(of "$T/removed" brief .removed)" true
got=$(of "$T/removed" brief .nr_periods)
check "$got of its $all periods" test "$got" -ge 5 -a "$got" -le "$all"

# Nothing ran.
make idle
check_rc "nothing ran in the only one: an error" 1 "$NSPROF" record -o "$T/idle" -F 1999 -G "$CTR_CGROOT/idle" --duration 0.3
like "which says so" "$(<"$T/check.err")" "error: nothing ran in '$CTR_CGROOT/idle' while"
unlike "once" "$(<"$T/check.err")" "no samples"
check "the file is there and whole" "$NSPROF" info "$T/idle"
check_rc "as well when a command has the time" 1 "$NSPROF" record -q -o "$T/idle" -F 1999 -G "$CTR_CGROOT/idle" -- sleep 0.3
make busy
# It runs even in the shortest recording, whatever else does.
for dir in "$CPU/$CTR_CGROOT" "$CPU/$CTR_CGROOT/busy"; do
	echo 10000 >"$dir/cpu.weight" || echo 200000 >"$dir/cpu.shares"
done 2>/dev/null
run busy "$TARGETS/spin" 600 &
busy=$!
wait_for '[ "$(used busy)" -gt 0 ]' 10
check "nothing ran in one of two: a warning" "$NSPROF" record -o "$T/half" -F 1999 -G "$CTR_CGROOT/idle,$CTR_CGROOT/busy" --duration 0.5
like "which names it" "$(<"$T/check.err")" "warning: nothing ran in '$CTR_CGROOT/idle' while"
unlike "only it" "$(<"$T/check.err")" "/busy'"
unlike "samples and CPU time agree" "$(<"$T/check.err")" "stand for"
# A few ms of work may fall between two ticks. The root's CPU time is counted by ticks alone, so it
# is never zero.
for name in "$CTR_CGROOT/busy" /; do
	bad=
	for i in {1..20}; do
		"$NSPROF" record -q -o "$T/short" -F 99 -G "$name" -- true 2>"$T/short.err" && ! grep "nothing ran in '" "$T/short.err" ||
			bad+="$i: $(<"$T/short.err")"$'\n'
	done
	is "20 times for a moment: '$name' is not called empty" "$bad" ""
done
for i in {1..70}; do
	mkdir "$CTR_V2/$CTR_CGROOT/many$i"
	later "rmdir '$CTR_V2/$CTR_CGROOT/many$i'"
done
MANY=$(printf ",$CTR_CGROOT/many%d" {1..70})
check "one of many" "$NSPROF" record -o "$T/many" -F 1999 -G "$CTR_CGROOT/busy$MANY" --duration 0.5
like "those without samples" "$(<"$T/check.err")" "warning: no samples of '$CTR_CGROOT/many1', .* and 65 more of 71 cgroups"
unlike "samples and CPU time of many agree" "$(<"$T/check.err")" "stand for"
kill $busy
wait $busy 2>/dev/null
# A process that does next to nothing, at one sample per second of CPU time.
export -f run
export CPU CTR_CGROOT CTR_V2
"$NSPROF" record -o "$T/little" -e cpu-clock -F 1 -G "$CTR_CGROOT/idle" -- bash -c 'run idle sleep 0.1' 2>"$T/check.err"
is "too little for a sample: a warning" $? 0
if [ "$("$NSPROF" info --json "$T/little" | jq .samples)" = 0 ]; then
	like "which says how much it was" "$(<"$T/check.err")" "warning: no samples, though [0-9.]+ ms of CPU time were used"
fi

# runc, with the limit in its own configuration.
if ! command -v runc >/dev/null; then
	skip "a limited container of runc" "runc is not installed"
	done_testing
fi
NAME=nsprof-throttle-$$
ctr_rootfs "$T/bundle/rootfs" "$TARGETS/spin"
(cd "$T/bundle" && runc spec && jq --arg cg "/$CTR_CGROOT/$NAME" 'del(.process.rlimits) | .process.terminal = false
	| .process.args = ["/app/spin", "60"] | .linux.cgroupsPath = $cg
	| .linux.resources.cpu = { quota: 2500, period: 50000 }' config.json >c && mv c config.json)
if ! runc --root "$T/runc" run -d --bundle "$T/bundle" "$NAME" </dev/null >"$T/log" 2>&1; then
	skip "a limited container of runc" "$(tail -n 1 "$T/log")"
	done_testing
fi
later "runc --root '$T/runc' delete -f '$NAME'; for d in /sys/fs/cgroup/*/$CTR_CGROOT; do rmdir \"\$d\"; done"
check "recorded by its name" "$NSPROF" record -q -o "$T/runc.data" -F 1999 --container "$NAME" --runtime-root "$T/runc" --duration 2
check "runc: removed" runc --root "$T/runc" delete -f "$NAME"
is "its name and limit" "$(of "$T/runc.data" "$NAME" '"\(.runtime) \(.id) \(.label) \(.quota_us) \(.period_us)"')" "runc $NAME $NAME 2500 50000"
check "throttled" test "$(of "$T/runc.data" "$NAME" .nr_throttled)" -gt 0
like "by its name" "$("$NSPROF" report -q "$T/runc.data")" "^# container $NAME \\(runc\\): throttled in [0-9]+ of [0-9]+ periods, [0-9.]+ s, limit 0\\.05 CPUs"
like "symbolize --by container as well" "$("$NSPROF" symbolize -q --by container "$T/runc.data")" "^$NAME;spin;_start;"
done_testing
