#!/bin/bash
# timeout: 120
# If the recorder or a file system stands still, the summary says so instead of advising larger rings
# or a faster disk. standstill-reader.sh: so it does where the reader of its output stands still.
. "$(dirname "$0")/../../lib.sh"
need_root
S=$BUILD/tests/targets/spin
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"
# A thread, because the copies of its stack are large.
"$S" --threads 1 1000 &
spin=$!

# advice NAME: none of the advice against slowness.
advice() { unlike "$1: no other advice" "$(cat err)" 'use -m|faster disk|could not keep up'; }

# ---- stopped
"$NSPROF" record -e cpu-clock -F 499 -m 512K -p $spin -o data 2>err &
r=$!
wait_for '[ -s data ]' 10
sleep 0.2
kill -STOP $r
sleep 2
kill -CONT $r
sleep 0.3
kill -INT $r
wait $r
like "stopped: it is said" "$(cat err)" 'warning: [0-9]+ of [0-9]+ samples were lost, dropped or cut because the recorder stood still for [2-4]\.[0-9] s: it was stopped by a signal'
advice stopped

# Not stopped, and rings that are too small: the usual advice.
"$NSPROF" record -e cpu-clock -F 4999 --call-graph dwarf,65528 -m 128K -p $spin --duration 1 -o data 2>err
like "small rings: that is what helps" "$(cat err)" 'lost because the rings were full: use -m'
unlike "small rings: nothing stood still" "$(cat err)" 'stood still'

# ---- frozen, where there is a freezer
cg=$(sed -n 's/^0:://p' /proc/self/cgroup)
for mount in /sys/fs/cgroup/unified /sys/fs/cgroup; do
	[ -e $mount/cgroup.procs ] && [ -e $mount/cgroup.controllers ] && break
	mount=
done
if [ -n "$mount" ] && mkdir "$mount/nsprof-frozen.$$" 2>/dev/null && [ -e "$mount/nsprof-frozen.$$/cgroup.freeze" ]; then
	dir=$mount/nsprof-frozen.$$
	later "echo 0 >$dir/cgroup.freeze; sleep 0.3; rmdir $dir"
	sh -c "echo \$\$ >$dir/cgroup.procs; exec '$NSPROF' record -e cpu-clock -F 499 -m 512K -p $spin -o frozen.data" 2>err &
	r=$!
	wait_for '[ -s frozen.data ]' 10
	sleep 0.2
	echo 1 >"$dir/cgroup.freeze"
	sleep 2
	echo 0 >"$dir/cgroup.freeze"
	sleep 0.3
	kill -INT $r
	wait $r
	like "frozen: it is said" "$(cat err)" 'because the recorder stood still for [2-4]\.[0-9] s: it was frozen'
	advice frozen
else
	rmdir "$mount/nsprof-frozen.$$" 2>/dev/null
	skip "frozen" "there is no cgroup that could be frozen"
fi

# ---- a file that is not opened for two seconds, in the thread that drains
if command -v strace >/dev/null && strace -qq -o /dev/null true 2>err; then
	"$S" 100 &
	late=$!
	"$NSPROF-record" -e cpu-clock -F 499 -m 512K -a -o slow.data 2>err &
	r=$!
	wait_for '[ -s slow.data ]' 20
	strace -qq -o trace -e trace=openat2,openat -e inject=openat,openat2:delay_enter=2000000:when=1 -p $r &
	wait_for "grep -q '^TracerPid:.[1-9]' /proc/$r/status" 10
	# A program that the recorder has not seen yet, so that it opens its files.
	for i in $(seq 200); do
		cat /dev/null
		! grep -q DELAYED trace || break
	done
	wait_for 'grep -q DELAYED trace' 20
	sleep 0.5
	kill -INT $r
	wait $r
	kill $late
	like "a file: it is said" "$(cat err)" 'because the recorder stood still for [2-9]\.[0-9] s: a file system did not answer'
	advice "a file"

	# Between the begin of sampling and the first drain: the recorder sets its timer then.
	strace -qq -o trace -e trace=timerfd_settime -e inject=timerfd_settime:delay_enter=2000000:when=2 \
		"$NSPROF-record" -e cpu-clock -F 499 -m 512K -p $spin --duration 1 -o data 2>err
	like "at the beginning: it is said" "$(cat err)" 'because the recorder stood still for [2-9]\.[0-9] s'
	advice "at the beginning"
else
	skip "a file" "needs strace: $(cat err)"
fi

# ---- one Ctrl-C that arrives twice, from the terminal and from the parent process, is one
rm -f data	# left by an earlier one
"$NSPROF" record -e cpu-clock -F 99 -p $spin -o data 2>err &
r=$!
wait_for '[ -s data ]' 10
sleep 0.2
kill -INT $r
kill -INT $r
wait $r
is "the same one twice: status" $? 130
check "the same one twice: the recording is whole" "$NSPROF" info data
kill $spin
done_testing
