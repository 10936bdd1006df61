#!/bin/bash
# All threads of the recorder, including the one that waits for Ctrl-C, have priority over what it
# records. The command does not get this priority.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
cd "$T" || exit 1
S=$BUILD/tests/targets/spin-b
[ -x "$S" ] || skip_all "test programs are not built: make test-targets"
nice -n -10 true 2>err && [ ! -s err ] || skip_all "cannot raise priorities here: $(cat err)"
"$NSPROF" record -q -e cpu-clock -o probe -- true 2>err || skip_all "no perf events here: $(cat err)"

# each PID: nice value, policy and realtime priority, once per distinct combination of its threads.
each() { sed 's/.*) //' /proc/"$1"/task/*/stat | awk '{ print $17, $39, $38 }' | sort -u | xargs; }

# started PID: the program that recorder PID started. Its other child opens files for it.
started() { grep -lx spin-b $(sed 's|[0-9]\+|/proc/&/comm|g' /proc/"$1"/task/"$1"/children) 2>/dev/null | cut -d / -f 3; }

# threads ARGUMENT...: record the command with these. Sets n to the number of the recorder's
# threads, ours to their priorities, and theirs to those of the command.
threads() {
	rm -f data
	"$NSPROF" record -q -e cpu-clock -F 99 -o data "$@" -- "$S" 20 2>err &
	r=$!
	wait_for "[ -s data ] && [ \"\$(started $r)\" ] || ! kill -0 $r" 20
	n=$(ls /proc/$r/task | wc -l)
	ours=$(each $r)
	theirs=$(each "$(started $r)")
	kill -INT $r
	wait $r
}

mine=$(each $$)
threads
check "the recorder has threads: $n" test "${n:-0}" -ge 3
is "all of them go before others" "$ours" "-10 0 0"
is "the command stays as it was" "$theirs" "$mine"

if chrt -f 5 true 2>err; then
	threads -r 5
	is "-r: all threads have the realtime priority" "$(sed 's/^[-0-9]* //' <<<"$ours")" "1 5"
	is "-r: the command stays as it was" "$theirs" "$mine"
else
	skip "-r" "no realtime priority here: $(cat err)"
fi
done_testing
