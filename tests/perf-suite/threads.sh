#!/bin/bash
# Stacks by DWARF of a program with threads: each thread's stacks lead to where the thread begins,
# through functions that only threads call.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"

record data -F 499 --call-graph dwarf,8192 -- "$TARGETS/spin" --cpu --threads 4 0.3
script data | awk '/^[^ \t#]/ { tid = $2; sub(/.*\//, "", tid) } / app_leaf/ { leaf[tid] = 1 } / app_thread/ && leaf[tid] { print tid }' |
	sort -u >workers
is "each of four threads has a stack from its leaf to its entry" "$(wc -l <workers)" 4
stacks data | grep 'app_leaf' >folded
all "every one of their stacks has all its callers" folded '[;]app_thread;(app_[a-z_]+;)*app_outer;app_middle;app_inner;app_leaf[; ]'
done_testing
