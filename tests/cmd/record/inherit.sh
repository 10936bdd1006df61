#!/bin/bash
# Inherited state that could end or hang a program: SIGCHLD ignored, a file size limit, being
# process 1 of a pid namespace.
# beside others
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
# shellcheck disable=SC2016
"$NSPROF" record -q -F 999 -o data -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2>err || skip_all "cannot record here: $(tail -n 1 err)"

# ---- the kernel does not report the end of children ----
(
	trap '' CHLD
	exec "$NSPROF" record -q -o chld.data -- grep SigIgn /proc/self/status
) >ignored 2>err &
pid=$!
for ((i = 0; i < 100; i++)); do
	kill -0 $pid 2>/dev/null || break
	sleep 0.1
done
check "SIGCHLD ignored: it ends with its command" test $i -lt 100
kill -INT $pid 2>/dev/null
wait $pid
is "with its status" $? 0
is "the command has SIGCHLD ignored, as it would have without us" $((0x$(awk '{ print $2 }' ignored) >> 16 & 1)) 1
(
	trap '' CHLD
	exec "$NSPROF" record -q -o chld.data -- sh -c 'exit 3'
) 2>err
is "another status" $? 3
(
	trap '' CHLD
	exec "$NSPROF" report --no-header data
) >table 2>err
is "a report, whose stacks come from a child: status" $? 0

# ---- files may not become larger ----
limited() { (ulimit -f 0; exec "$NSPROF" "$@") 2>&1 | cat; }
like "record: a file may not grow" "$(limited record -q -a -o small.data --duration 0.1)" "cannot write 'small.data': File too large"
like "symbolize" "$(limited symbolize -q -o small.folded data)" "cannot write 'small.folded': File too large"
like "report" "$(limited report -q -o small.txt data)" "cannot write 'small.txt': File too large"

# ---- process 1 ----
if unshare -p -f -m --mount-proc true 2>err; then
	for signal in KILL:137 SEGV:139 TERM:143; do
		# shellcheck disable=SC2016
		unshare -p -f -m --mount-proc "$NSPROF" record -q -o first.data -- sh -c 'kill -$0 $$' ${signal%:*} 2>err
		is "process 1 whose command ends by SIG${signal%:*}: status" $? ${signal#*:}
	done
	unshare -p -f -m --mount-proc "$NSPROF" record -q -o first.data -- false 2>err
	is "process 1: its command's status" $? 1
	unshare -p -f -m --mount-proc "$NSPROF" record -v -o first.data -a 2>err &
	pid=$!
	for ((i = 0; i < 100; i++)); do
		grep -q 'sampling began' err && break
		sleep 0.1
	done
	kill -TERM "$(cat /proc/$pid/task/$pid/children)"
	wait $pid
	is "process 1 after SIGTERM: status" $? 143
	# The shell's child is orphaned and ends, and the recorder is its parent then.
	# shellcheck disable=SC2016
	unshare -p -f -m --mount-proc "$NSPROF" record -q -o first.data -- \
		sh -c '(sh -c "exit 0" & exec true); sh -c "(sleep 0.2 &)"; sleep 0.6; ps -eo stat= | grep -c Z' >zombies 2>err
	is "process 1 leaves no zombies" "$(cat zombies)" 0
else
	skip "process 1" "no pid namespace can be made: $(tail -n 1 err)"
fi
done_testing
