#!/bin/bash
# timeout: 200
# Stacks deeper than their copy. With one root, all are joined to frames that were seen before, and
# give exactly the callchain that the program declares. With two roots that look alike in the copy,
# a stack never gets the wrong one.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
P=$BUILD/tests/targets/dive
"$P" --chains >"$T/chains"

# against FILE MODE: compare folded lines with MODE's chains. Each stack with a leaf of the program
# is one of them from main on (kernel frames may follow), or is marked and is the inner end of one.
# Prints how many are whole, and how many are marked.
against() {
	awk -v mode="$2" 'NR == FNR { if ($1 == mode) { n = split($2, f, ";"); chain[f[n]] = $2 } next }
	{
		c = $NF; line = $0; sub(/ [0-9]+$/, "", line)
		if (!match(line, /;dive_[ab]_[0-9]+/)) next
		leaf = substr(line, RSTART + 1, RLENGTH - 1)
		part = substr(line, 1, RSTART + RLENGTH - 1)
		if (line ~ /\[truncated_stack\]/) {
			sub(/^.*\[truncated_stack\];/, "", part)
			ok = substr(chain[leaf], length(chain[leaf]) - length(part) + 1) == part
			marked += c
		} else {
			sub(/^.*;main;/, "main;", part)
			ok = part == chain[leaf]
			whole += c
		}
		if (!ok) { print "# not declared: " line; bad += c }
	}
	END { printf "# %d whole, %d marked, %d wrong\n", whole, marked, bad; print whole + 0, marked + 0; exit !(whole && !bad) }' \
		"$T/chains" "$1"
}

for mode in one two; do
	"$NSPROF" record -q -F 1999 --call-graph dwarf,8192 -o "$T/$mode" -- "$P" $mode 1.5 2>"$T/err" ||
		fail "$mode: records" "$(cat "$T/err")"
	"$NSPROF" symbolize -q --no-inline --stats "$T/$mode" >"$T/$mode.folded" 2>"$T/$mode.stats"
	check "$mode: stacks are as declared, or marked" against "$T/$mode.folded" $mode
	for u in libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/$mode" >"$T/$mode.$u"
		check "$mode: $u gives the same" diff "$T/$mode.folded" "$T/$mode.$u"
	done
done

# Seven of nine leaves are deeper than the copy. A whole stack is seen on each way down, and the
# next ones overlap it.
read -r whole marked < <(against "$T/one.folded" one | tail -n 1)
joined=$(awk '/%  complete, outer frames joined/ { print $1 }' "$T/one.stats")
check "one: whole stacks are mostly joined ones" test "$((2 * ${joined:-0}))" -gt "$whole"
check "one: few are left ($marked of $((whole + marked)))" test "$((10 * marked))" -lt "$whole"
# Only frames that were not in the copy are marked as joined.
"$NSPROF" symbolize -q --no-inline --annotate "$T/one" >"$T/annotated"
tagged=$(awk '/;main_\[joined\];/ { n += $NF } END { print n + 0 }' "$T/annotated")
is "one: so many stacks have a joined main" "$tagged" "$joined"
check "one: the rest is the same" diff <(sed 's/_\[[a-z]*\]//g' "$T/annotated" | awk '{ c = $NF; sub(/ [0-9]+$/, ""); n[$0] += c } END { for (s in n) print s, n[s] }' | LC_ALL=C sort) "$T/one.folded"
check "one: the innermost frames are not" test -z "$(grep -E 'dive_a_[0-9]_\[joined\]' "$T/annotated")"
"$NSPROF" report --limit 0 "$T/one" >"$T/table" 2>"$T/err"
unlike "one: for a report they are the same functions" "$(cat "$T/table")" 'joined'
like "one: and in it" "$(cat "$T/table")" ' main$'

# Each of the frames next to the root has two callers.
like "two: deep stacks are marked" "$(cat "$T/two.stats")" 'stack copy too small'
done_testing
