#!/bin/bash
# Kernel frames: with their names where /proc/kallsyms may be read, as [kernel] with one explaining line where not.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd setpriv
"$NSPROF" record -q -F 999 -o "$T/probe" -- "$TARGETS/spin" --kernel 0.1 2>"$T/err" || skip_all "cannot record here: $(cat "$T/err")"

# Without CAP_SYSLOG the kernel shows addresses only to kptr_restrict=0 with perf_event_paranoid of at most 1.
blind() { setpriv --bounding-set=-syslog --inh-caps=-syslog "$@"; }
hidden=$(blind awk '$1 ~ /[1-9a-f]/ { n = 1; exit } END { print n ? "" : "yes" }' /proc/kallsyms)

"$NSPROF" record -q -F 999 -o "$T/seen" -- "$TARGETS/spin" --kernel 1
"$NSPROF" symbolize --annotate "$T/seen" >"$T/seen.folded" 2>"$T/seen.err"
check "the kernel's functions lie on the program's, with names" \
	has_chain <(sed 's/_\[[ik]\]//g' "$T/seen.folded") "app_middle;app_inner;app_leaf" 90
like "a name of the read path is among them" "$(cat "$T/seen.folded")" 'app_leaf;.*(read_iter_zero|read_zero|vfs_read|ksys_read)_\[k\]'
unlike "none is [kernel]" "$(cat "$T/seen.folded")" '\[kernel\]'
check "the names come from the recording as well" sh -c \
	"mkdir '$T/none' && setpriv --bounding-set=-syslog --inh-caps=-syslog '$NSPROF' symbolize -q --annotate --proc '$T/none' --no-inline '$T/seen' |
		grep -Eq '(read_iter_zero|read_zero|vfs_read|ksys_read)_\[k\]'"

if [ -z "$hidden" ]; then
	skip "hidden kernel symbols" "this kernel shows them without CAP_SYSLOG"
	done_testing
fi
blind "$NSPROF" record -q -F 999 -o "$T/blind" -- "$TARGETS/spin" --kernel 1
blind "$NSPROF" symbolize "$T/blind" >"$T/blind.folded" 2>"$T/blind.err"
like "hidden: kernel frames are [kernel]" "$(cat "$T/blind.folded")" ';app_leaf;.*\[kernel\] [0-9]+$'
is "hidden: no two of them in a row" "$(grep -c 'kernel\];\[kernel' "$T/blind.folded")" 0
is "hidden: one line explains it" "$(grep -c -i 'kernel' "$T/blind.err")" 1
like "and says what to do" "$(cat "$T/blind.err")" 'kptr_restrict|CAP_SYSLOG|kallsyms'
done_testing
