#!/bin/bash
# beside others
# takes: 30
# Kernel frames have their names where /proc/kallsyms may be read. Otherwise they are [kernel], with
# one line that explains why.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd setpriv
need_cmd jq
"$NSPROF" record -q -F 999 -o "$T/probe" -- "$TARGETS/spin" --kernel 0.1 2>"$T/err" || skip_all "cannot record here: $(cat "$T/err")"

# Without CAP_SYSLOG the kernel only shows addresses if kptr_restrict=0 and perf_event_paranoid is
# at most 1.
blind() { setpriv --bounding-set=-syslog --inh-caps=-syslog "$@"; }
hidden=$(blind awk '$1 ~ /[1-9a-f]/ { n = 1; exit } END { print n ? "" : "yes" }' /proc/kallsyms)

"$NSPROF" record -q -F 999 -o "$T/seen" -- "$TARGETS/spin" --kernel --cpu 1
"$NSPROF" symbolize --annotate "$T/seen" >"$T/seen.folded" 2>"$T/seen.err"
check "the kernel's functions lie on the program's, with names" \
	has_chain <(sed 's/_\[[ik]\]//g' "$T/seen.folded") "app_middle;app_inner;app_leaf" 90
like "a name of the read path is among them" "$(cat "$T/seen.folded")" 'app_leaf;.*(read_iter_zero|read_zero|vfs_read|ksys_read)_\[k\]'
unlike "none is [kernel]" "$(cat "$T/seen.folded")" '\[kernel\]'
check "the names come from the recording as well" sh -c \
	"mkdir '$T/none' && setpriv --bounding-set=-syslog --inh-caps=-syslog '$NSPROF' symbolize -q --annotate --proc '$T/none' --no-inline '$T/seen' |
		grep -Eq '(read_iter_zero|read_zero|vfs_read|ksys_read)_\[k\]'"

# With CAP_BPF a BPF program looks up single names. Without it the recorder reads /proc/kallsyms.
# Either way an address has a name that the file gives it.
nobpf() { setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin "$@"; }
# named RECORDING: "ADDRESS NAME" of its kernel frames, with names from the recording's own rows.
named() {
	mkdir -p "$T/none"
	"$NSPROF" script -q --proc "$T/none" --no-inline "$1" | sed -nE 's/^\t *(ffff[0-9a-f]{12}) ([^ ]+) .*/\1 \2/p' | sort -u
}
# misnamed: those lines of stdin that disagree with /proc/kallsyms. Any of several names at one
# address is right. After the last call of a function that does not return, the next function
# begins.
misnamed() {
	{ awk '{ print $1, 0, $3 }' /proc/kallsyms; awk '{ print $1, 1, $2 }'; } | sort -k1,1 -k2,2n | awk '
		!$2 { if ($1 != at) { split("", before); for (n in is) before[n]; split("", is); at = $1 } is[$3]; next }
		!($3 in is || ($1 == at && $3 in before)) { print $1, $3 }'
}
"$NSPROF" record -v -F 999 -o "$T/asked" -- "$TARGETS/spin" --kernel --cpu 1 2>"$T/asked.err"
if nobpf "$NSPROF" record -q -o /dev/null -- true 2>"$T/err" && grep -q 'looked up by a BPF program' "$T/asked.err"; then
	nobpf "$NSPROF" record -v -F 999 -o "$T/read" -- "$TARGETS/spin" --kernel --cpu 1 2>"$T/read.err"
	like "without CAP_BPF the file is read, and -v says so" "$(cat "$T/read.err")" \
		'reading kernel symbols from /proc/kallsyms.*not permitted'
	unlike "and nothing else" "$(cat "$T/read.err")" 'looked up by a BPF program'
	for how in asked read; do
		named "$T/$how" >"$T/$how.named"
		check "$how: there are several functions" test "$(cut -d' ' -f2 "$T/$how.named" | sort -u | wc -l)" -ge 4
		is "$how: each is what lies there" "$(misnamed <"$T/$how.named")" ""
		unlike "$how: no frame is without a name" "$("$NSPROF" symbolize -q --annotate --proc "$T/none" --no-inline "$T/$how")" '\[kernel\]'
	done
	# The kernel reports a BPF program to all listeners. All but the first get a size that the
	# record does not have.
	for who in one two three; do
		"$NSPROF" record -q -a -F 99 -o "$T/$who" &
	done
	for who in one two three; do
		wait_for "[ -s '$T/$who' ]" 20
	done
	"$NSPROF" record -q -F 999 -o "$T/between" -- "$TARGETS/spin" --kernel --cpu 0.1
	"$TARGETS/spin-b" --cpu 0.5
	kill -INT $(jobs -p)
	wait
	for who in one two three; do
		"$NSPROF" symbolize -q --no-inline "$T/$who" >"$T/$who.folded"
		check "recorder $who hears what is executed behind that" has_chain <(grep '^spin-b;' "$T/$who.folded") \
			"$("$TARGETS/spin-b" --chain)" 90
		check "recorder $who: in its place" jq -e '.ledger.lost_sideband + .ledger.unordered == 0' <("$NSPROF" info --json "$T/$who")
	done
else
	skip "names with and without BPF" "no BPF program may be loaded here: $(grep -h BPF "$T/asked.err" | cat - "$T/err")"
fi

if [ -z "$hidden" ]; then
	skip "hidden kernel symbols" "this kernel shows them without CAP_SYSLOG"
	done_testing
fi
blind "$NSPROF" record -q -F 999 -o "$T/blind" -- "$TARGETS/spin" --kernel --cpu 1
blind "$NSPROF" symbolize "$T/blind" >"$T/blind.folded" 2>"$T/blind.err"
like "hidden: kernel frames are [kernel]" "$(cat "$T/blind.folded")" ';app_leaf;.*\[kernel\] [0-9]+$'
is "hidden: no two of them in a row" "$(grep -c 'kernel\];\[kernel' "$T/blind.folded")" 0
is "hidden: one line explains it" "$(grep -c -i 'kernel' "$T/blind.err")" 1
like "and says what to do" "$(cat "$T/blind.err")" 'kptr_restrict|CAP_SYSLOG|kallsyms'
done_testing
