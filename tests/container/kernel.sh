#!/bin/bash
# beside others
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

# With CAP_BPF a BPF program asks for single names, without it /proc/kallsyms is read: the names are the same.
nobpf() { setpriv --bounding-set=-bpf,-sys_admin --inh-caps=-bpf,-sys_admin "$@"; }
# Of an address with several names either may be taken.
awk '{ n = $3 "_[k]"; if ($1 in first) { print first[$1]; print n } else first[$1] = n }' /proc/kallsyms >"$T/aliases"
# names RECORDING SHARE: kernel functions in more than SHARE of all samples, from the recording's own rows.
names() {
	mkdir -p "$T/none"
	"$NSPROF" symbolize -q --annotate --proc "$T/none" --no-inline "$1" >"$1.own"
	awk -v least="$2" '{ n = $NF; sub(/ [0-9]+$/, ""); m = split($0, f, ";"); all += n; split("", seen)
			for (i = 1; i <= m; i++) if (f[i] ~ /_\[k\]$/ && !(f[i] in seen)) { seen[f[i]]; sum[f[i]] += n } }
		END { for (s in sum) if (sum[s] > all * least) print s }' "$1.own" | grep -vxF -f "$T/aliases" | sort
}
"$NSPROF" record -v -F 999 -o "$T/asked" -- "$TARGETS/spin" --kernel 1 2>"$T/asked.err"
if nobpf true 2>"$T/err" && grep -q 'asked for by a BPF program' "$T/asked.err"; then
	nobpf "$NSPROF" record -v -F 999 -o "$T/read" -- "$TARGETS/spin" --kernel 1 2>"$T/read.err"
	like "without CAP_BPF the file is read, and -v says so" "$(cat "$T/read.err")" \
		'kernel symbols are read from /proc/kallsyms.*not permitted'
	unlike "and nothing else" "$(cat "$T/read.err")" 'asked for by a BPF program'
	is "several functions are in more than one chain in 20" "$(($(names "$T/asked" 0.05 | wc -l) >= 4))" 1
	is "what is frequent when asked for is there when read" "$(comm -23 <(names "$T/asked" 0.05) <(names "$T/read" 0))" ""
	is "what is frequent when read is there when asked for" "$(comm -23 <(names "$T/read" 0.05) <(names "$T/asked" 0))" ""
	unlike "no frame is without a name" "$(cat "$T/asked.own" "$T/read.own")" '\[kernel\]'
else
	skip "names with and without BPF" "no BPF program may be loaded here: $(grep -h 'BPF' "$T/asked.err" "$T/err")"
fi

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
