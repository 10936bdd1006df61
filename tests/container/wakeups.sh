#!/bin/bash
# record --wakeups: how long a woken thread waited for a CPU, wait by wait, also if another container
# woke it. The program that is recorded knows how long.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/../waits.sh"
need_cmd jq
need_cmd python3
need_target queued
need_target waits
ctr_need
can_sample_kernel || skip_all "the kernel may not be recorded"
reader="$(cd "$(dirname "$0")/../tools" && pwd)/read_recording.py"
cd "$T" || exit 2
"$NSPROF" record -q --off-cpu --wakeups -o probe -- true 2>err || skip_all "no wake-ups may be recorded here: $(cat err)"

A=$CTR_CGROOT/late
mkdir "$CTR_V2/$A"
mkfifo in out
run() { # NAME ARGS...: record late while it waits; -p takes its number. Sets late, low_... and high_...
	local program name=$1 status
	shift
	"$TARGETS/queued" 40 "$CTR_V2/$A" <in >out &
	program=$!
	exec 9>in 8<out
	if ! read -r _ late <&8; then
		wait $program
		status=$?
		[ $status != 77 ] || skip_all "no realtime priority here"
		fail "the program starts" "status $status"
		done_testing
	fi
	wait_for "grep -qs '^$late\$' '$CTR_V2/$A/cgroup.procs'" 10
	late_recorded "$name" --call-graph dwarf,8192 "${@/#LATE/$late}"
	"$NSPROF" info --json "$name" >"$name.json"
	# With -a, other programs may have threads of that name.
	"$NSPROF" symbolize -q --all --no-inline --event off-cpu --filter "tid=$late" "$name" >"$name.folded"
	"$NSPROF" symbolize --event off-cpu --stats "$name" >/dev/null 2>"$name.stats"
}

# NAME NS LOW HIGH
within() {
	check "$1: $(awk -v a="$3" -v n="$2" -v b="$4" 'BEGIN { printf "%.3f <= %.3f <= %.3f ms", a / 1e6, n / 1e6, b / 1e6 }')" test "$2" -ge "$3" -a "$2" -le "$4"
}
times() { jq ".cpu_times.threads[] | select(.tid == $late) | $2" "$1.json"; }
sum() { awk -v re="$2" '$0 ~ re { n += $NF } END { printf "%.0f\n", n }' "$1.folded"; }
for r in cgroup all pid; do
	case $r in
	cgroup) run $r --wakeups -G "$A" ;;
	all) run $r --wakeups -a ;;
	pid) run $r --wakeups -p LATE ;;
	esac
	is "$r: no record is lost" "$(jq -c '[.ledger.lost_wakeups, .ledger.lost_switches, .ledger.lost_kernel]' $r.json)" "[0,0,0]"
	like "$r: the last lines have their number" "$(<$r.err)" "off-cpu: .* off it.*; $(jq .ledger.wakeups $r.json) wake-ups, none lost\$"
	woken=$(times $r .woken_ns)
	within "$r: late waited for a CPU" "$woken" $((low_short + low_long)) $((high_short + high_long))
	# It is added up to a tick later, and does not have how long the wake-up itself took. With -a, a slow
	# recorder reads it of other threads first.
	kernel=$(times $r .kernel_runnable_ns)
	if python3 -B "$reader" $r | sed -n "s/^event \(schedstat\|wakeup\) time=\([0-9]*\).* tid=$late .*/\2 \1/p" | sort -n | head -n 1 | grep -q schedstat; then
		within "$r: as the kernel's account has it" "$kernel" $(((low_short + low_long) * 999 / 1000 - 1000000)) \
			$((($(times $r '.woken_ns + .preempted_ns + .starting_ns')) * 1001 / 1000 + 1000000))
	else
		skip "$r: as the kernel's account has it" "the recorder read it after the first wake-up"
	fi
	# The first one began before the recording: it has no stack.
	within "$r: in wait_short" "$(sum $r '^late;(.*;wait_short;.*;\[futex\]|\[no_stack\]);\[runnable\] ')" "$low_short" "$high_short"
	within "$r: in wait_long" "$(sum $r '^late;.*;wait_long;.*;\[futex\];\[runnable\] ')" "$low_long" "$high_long"
	like "$r: --stats says what tells" "$(<$r.stats)" "runnable: preempted, and from each recorded wake-up until the thread ran"
done
was=$late
run without -p LATE
# In equal parts, wait_short gets more than it can have waited.
like "without: the kernel's account" "$(<without.stats)" "in equal parts for all its wake-ups"
check "which does not tell the two waits apart" test "$(sum without '^late;.*;wait_short;.*;\[runnable\] ')" -gt "$high_short"

check "a reader written from the page" python3 -B "$reader" pid
is "has as many as the ledger" "$(grep -c "^event wakeup .* pid=$was tid=$was cpu=[0-9]*\$" "$T/check.out")" "$(jq .ledger.wakeups pid.json)"
is "of no other thread" "$(grep '^event wakeup ' "$T/check.out" | grep -vc " tid=$was ")" 0
check "export takes it" "$NSPROF" export -q -i pid -o pid.perf

# Wakes and waits as fast as they can, on two CPUs: threads are also woken as they are about to sleep.
check "a ping-pong" "$NSPROF" record -q --off-cpu=1 --wakeups -o apart -- "$TARGETS/waits" 0.3 apart
"$NSPROF" info --json apart >apart.json
# By the manual page's words alone: "TID NS WAITS MISSING", ns from wake-ups to the CPU, and waits without any.
python3 -B "$reader" apart | sed -n 's/^event \(switch\|wakeup\) time=\([0-9]*\).* tid=\([0-9]*\)\(.* \(in\|out\|preempted\)\|.*\)$/\2 \3 \1 \5/p' |
	sort -s -n -k1,1 | awk '
	$3 == "wakeup" { if (state[$2] == "on") early[$2] = $1; else if (!woken[$2]) woken[$2] = $1; next }
	$4 == "in" {
		if (state[$2] == "asleep") {
			waits[$2]++
			if (woken[$2])
				ns[$2] += $1 - woken[$2]
			else if (early[$2] && left[$2] - early[$2] <= 1000000)
				ns[$2] += $1 - left[$2]
			else
				missing[$2]++
		}
		state[$2] = "on"
		early[$2] = woken[$2] = 0
		next
	}
	{ state[$2] = $4 == "out" ? "asleep" : "ready"; left[$2] = $1; woken[$2] = 0 }
	END { for (tid in waits) printf "%d %.0f %d %d\n", tid, ns[tid], waits[tid], missing[tid] }' | sort -n >apart.waits
# unseen: is there a CPU whose idle task is not traced? Linux does so with one that was offline and is
# online again, and then reports no wake-up by a timer there. perf counts what it sees.
unseen() {
	local cpu
	for cpu in $(seq 0 $(($(nproc) - 1))); do
		perf stat -x, -o stat -C "$cpu" -e sched:sched_switch --filter 'prev_pid==0' -- taskset -c "$cpu" sleep 0.05 2>/dev/null || return 1
		grep -q '^0,.*sched_switch' stat && return 0
	done
	return 1
}
if command -v perf >/dev/null && unseen; then
	skip "each wait has the wake-up that ended it" "the kernel does not report all of them: an idle task is not traced"
	skip "info adds up the same times" "the same"
elif [ "$(jq '.ledger.lost_wakeups + .ledger.lost_switches' apart.json)" = 0 ]; then
	check "each wait has the wake-up that ended it" awk '{ print "#", $0; n += $3; missing += $4 } END { exit !(n && !missing) }' apart.waits
	is "info adds up the same times" "$(jq -r '.cpu_times.threads | sort_by(.tid)[] | "\(.tid) \(.woken_ns)"' apart.json)" "$(awk '{ print $1, $2 }' apart.waits)"
else
	skip "each wait has the wake-up that ended it" "records were lost"
	skip "info adds up the same times" "records were lost"
fi

# -e beside it is an event like others, and --wall takes wake-ups as well.
check "-e of the same tracepoint" "$NSPROF" record -q --wall --wakeups -e sched:sched_waking -o both -- "$TARGETS/waits" 0.2 pipe
"$NSPROF" info --json both >both.json
is "is an event of its own" "$(jq -r '[.events[].name] | join(" ")' both.json)" "sched:sched_waking cpu-clock off-cpu"
check "beside the wake-ups" jq -e '.events[0].samples > 0 and .ledger.wakeups > 0' both.json

# Each file of a series has its own, and the ledgers add up.
check "over several files" "$NSPROF" record -q --off-cpu --wakeups --switch-output=0.2s -o many -- "$TARGETS/waits" 0.6 alternate
for f in many.*; do
	check "$f: as many as its ledger says" test "$(python3 -B "$reader" "$f" | grep -c '^event wakeup ')" = "$("$NSPROF" info --json "$f" | jq .ledger.wakeups)"
done

# Where nsprof cannot have them.
echo precious >kept
check_rc "for nothing" 129 "$NSPROF" record --wakeups -o kept -- true
like "says what it needs" "$(<"$T/check.err")" "--wakeups needs --off-cpu or --wall"
check_rc "in another pid namespace" 1 unshare -p -m --fork --mount-proc "$NSPROF" record --off-cpu --wakeups -a -o kept -- true
like "says so" "$(<"$T/check.err")" "--wakeups: .* host's pid namespace.*; share the host's"
check_rc "without the right" 1 setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs "$NSPROF" record --off-cpu --wakeups -o - -- true
like "says what is missing" "$(<"$T/check.err")" "--wakeups: it needs tracepoint 'sched:sched_waking', and tracefs .*; run as root"
is "one line" "$(wc -l <"$T/check.err")" 1
is "nothing is overwritten" "$(<kept)" precious
# Nobody has it mounted: a mount of our own.
# shellcheck disable=SC2016
check "without tracefs" unshare -m --propagation private sh -c '
	for t in $(awk '"'"'$0 ~ / - (tracefs|debugfs) / { print $5 }'"'"' /proc/self/mountinfo | sort -r); do umount -l "$t"; done
	! grep -Eq " - (tracefs|debugfs) " /proc/self/mountinfo && exec "$@"' sh "$NSPROF" record -q --off-cpu --wakeups -o private -- "$TARGETS/waits" 0.1 alternate
check "has wake-ups" jq -e '.ledger.wakeups > 0' <("$NSPROF" info --json private)
done_testing
