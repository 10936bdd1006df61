#!/bin/bash
# What is recorded for each target: a command, a process with threads, the whole machine with the
# cgroup of every process.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"

record command.data -F 499 -g -- "$TARGETS/spin" --cpu 0.2
is "a command: its status" $? 0
like "a command: its hot function" "$(report command.data)" 'app_leaf'

"$TARGETS/spin" --threads 2 100 &
pid=$!
wait_for "[ \"\$(ls /proc/$pid/task | wc -l)\" = 3 ]" 10
record process.data -F 499 -g -p $pid -- sleep 1
kill $pid
like "a process that runs: its threads' function" "$(report process.data)" 'app_leaf'
script process.data -F tid,sym | sed -n 's/^ *\([0-9][0-9]*\) *$/\1/p' | sort -u >tids
is "both threads" "$(wc -l <tids)" 2

record all.data -F 199 -a --all-cgroups -- "$TARGETS/spin" --cpu 0.2
like "the machine: the command is in it" "$(report all.data)" 'app_leaf'
report all.data -s cgroup --no-children | sed -n 's/^ *[0-9.]*% .* \([^ ]*\) *$/\1/p' >cgroups
all "the machine: each sample has a cgroup" cgroups '^/'
done_testing
