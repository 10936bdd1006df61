#!/bin/bash
# Time off the CPU in containers that begin and end while they are recorded, and are gone before
# symbolize: each thread lives from its beginning to its end, and its times add up.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
need_target waits
ctr_need
can_sample_kernel || skip_all "the kernel may not be recorded"

ctr_rootfs "$T/root" "$TARGETS/waits"
ctr_start old "$T/root" /app/waits 60 alternate || { fail "a container starts"; done_testing; }
old_cg=${CTR_CG##*/}
ctr_record_while "$T/data" '
	ctr_start brief "$T/root" /app/waits 0.4 poll && ctr_wait brief
' --off-cpu -G "$CTR_CGROOT"
"$NSPROF" info --json "$T/data" >"$T/info"
"$NSPROF" symbolize -q --no-inline --all --event off-cpu "$T/data" >"$T/alive"
ctr_stop brief
ctr_stop "$old_cg"
rm -rf "$T/root"
"$NSPROF" symbolize -q --no-inline --all --event off-cpu "$T/data" >"$T/dead"
threads() { jq -r ".cpu_times.threads[] | $1" "$T/info"; }

check "the same stacks after the containers are gone" diff "$T/alive" "$T/dead"
like "the one that came: where it waits" "$(cat "$T/dead")" 'poller;.*;wait_epoll;epoll_wait;.*;\[epoll\];\[blocked\]'
like "the other one" "$(cat "$T/dead")" 'alternate;.*;wait_futex;.*;\[futex\];\[blocked\]'
is "on + off + unknown = wall in each thread" "$(threads '.on_ns + .off_ns + .unknown_ns == .wall_ns' | sort -u)" true
is "no time is unknown" "$(threads .unknown_ns | sort -u)" 0
is "a thread that came was not there before" "$(threads 'select(.comm == "poller") | .before_ns')" 0
whole=$(threads .wall_ns | sort -n | tail -1)
check "and lived as long as it ran" test "$(threads 'select(.comm == "poller") | .wall_ns')" -lt "$whole" -a \
	"$(threads 'select(.comm == "poller") | .wall_ns')" -ge 390000000
is "threads that were there all the time have the kernel's account" \
	"$(threads 'select(.comm == "alternate") | .kernel_on_ns > 0')" true

# None of its threads runs while it is recorded.
ctr_rootfs "$T/root" "$TARGETS/waits"
ctr_start idle "$T/root" /app/waits 60 sleeper || { fail "a container starts"; done_testing; }
idle_cg=$CTR_CG
wait_for "grep -qs '^sleeper\$' /proc/$CTR_PID/task/*/comm" 20
ctr_record "$T/idle" --off-cpu -G "$idle_cg" --duration 0.3
ctr_record "$T/idle-all" --off-cpu -a --duration 0.3
ctr_stop idle
for f in idle idle-all; do
	for who in waits sleeper; do
		like "$f: $who has its container, though it has no sample" "$("$NSPROF" symbolize -q --event off-cpu --by container,comm "$T/$f")" \
			"$idle_cg;$who;\\[parked\\];\\[blocked\\] [0-9]+"
	done
done
done_testing
