#!/bin/bash
# Renaming without an exec: in every output, a process has one name from one exec to the next, and
# its threads have their own names.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3
RENAMES=$BUILD/tests/targets/renames

sums() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); split($0, f, ";"); s[f[1]] += n } END { for (k in s) print k, s[k] }' "$1" | LC_ALL=C sort; }

# all_outputs WHAT DATA: check a recording of PARENT and CHILD. script shows, sample by sample,
# which process has which.
all_outputs() {
	local what=$1 data=$2
	"$NSPROF" script -q --no-inline -F comm,pid,tid,time "$data" >"$T/script"
	# "comm pid/tid time:", with blanks in comm replaced by underscores.
	awk 'NF { split($2, n, "/"); print n[1], n[2], $1 }' "$T/script" | sort | uniq -c | awk '{ print $2, $3, $4, $1 }' >"$T/threads"
	awk -v p="$PARENT" -v c="$CHILD" '$1 == p || $1 == c' "$T/threads" >"$T/ours"
	is "$what: threads have their own names" "$(awk -v p="$PARENT" '$1 == p && $4 > 10 { print $3 }' "$T/ours" | sort | paste -sd ' ')" \
		"Attach_API main-after main-before main-before"
	local parent child
	parent=$(awk -v p="$PARENT" '$1 == p { n += $4 } END { print n }' "$T/ours")
	child=$(awk -v p="$CHILD" '$1 == p { n += $4 } END { print n }' "$T/ours")
	local want="main-after-$PARENT $parent
zygote-child-$CHILD $child"

	"$NSPROF" symbolize -q --no-inline --by process "$data" >"$T/f"
	is "$what: --by process" "$(sums "$T/f" | grep -E -- "-($PARENT|$CHILD) ")" "$want"
	rm -rf "$T/split"
	"$NSPROF" symbolize -q --no-inline --split-by process -o "$T/split" "$data"
	is "$what: --split-by process" "$(find "$T/split" -name '*.folded' -printf '%f\n' | sort | grep -E -- "-($PARENT|$CHILD)\.folded" | paste -sd ' ')" \
		"main-after-$PARENT.folded zygote-child-$CHILD.folded"
	is "$what: and every sample is there" "$(awk '{ n += $NF } END { print n }' "$T/split/main-after-$PARENT.folded")" "$parent"

	"$NSPROF" report --no-header --stdio -q --sort pid --no-children -n "$data" 2>"$T/err" >"$T/report"
	is "$what: report --sort pid" "$(grep -Eo "($PARENT|$CHILD):[a-z-]+" "$T/report" | sort | paste -sd ' ')" \
		"$(printf '%s\n' "$PARENT:main-after" "$CHILD:zygote-child" | sort | paste -sd ' ')"
	"$NSPROF" symbolize -q --no-inline --format profile -o "$T/profile" "$data"
	is "$what: profile" "$(awk -F'\t' -v p="$PARENT" -v c="$CHILD" '$1 == "T" && ($6 == p || $6 == c) { print $5, $6 }' \
		"$T/profile" | sort -u)" "$(printf '%s\n' "main-after $PARENT" "zygote-child $CHILD" | sort -u)"
	"$NSPROF" report -q --tree --by process --format csv --percent-limit 0 "$T/profile" >"$T/tree" 2>"$T/err"
	is "$what: report --by process, of the profile" "$(grep -Eo ",1,[^,]*-($PARENT|$CHILD),leading\$" "$T/tree" | cut -d, -f3 | sort | paste -sd ' ')" \
		"main-after-$PARENT zygote-child-$CHILD"

	"$NSPROF" symbolize -q --no-inline --format firefox -o "$T/firefox" "$data"
	"$NSPROF" symbolize -q --no-inline --format pprof -o "$T/pprof" "$data"
	is "$what: firefox: processes, and tracks by thread" "$(python3 - "$T/firefox" "$PARENT" "$CHILD" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
mine = [t for t in d['threads'] if t['pid'].split('.')[0] in sys.argv[2:]]
for p in sorted({(t['pid'], t['processName'].split(' (')[0]) for t in mine}):
	print(*p)
print(sorted(t['tid'] for t in mine) == sorted({t['tid'].split('.')[0] for t in mine}), sum(sum(t['samples']['weight']) for t in mine))
PY
)" "$(printf '%s\n' "$PARENT main-after" "$CHILD zygote-child" | sort)
True $((parent + child))"
	is "$what: pprof: labels" "$(python3 "$TOP/tests/tools/pprof_labels.py" "$T/pprof" process pid | awk -v p="$PARENT" -v c="$CHILD" '$2 == p || $2 == c' | sort)" \
		"$(printf '%s\n' "main-after $PARENT $parent" "zygote-child $CHILD $child" | sort)"
}

# From its exec on: what runs before counts as another process with that pid.
"$NSPROF" record -q -e cpu-clock -F 499 -o "$T/data" -- "$RENAMES" 0.4 >"$T/out" 2>"$T/err"
read -r CHILD <"$T/out"
PARENT=$("$NSPROF" script -q --no-inline -F comm,pid "$T/data" | awk '$1 == "main-after" { print $2; exit }')
all_outputs "a recording" "$T/data"
# shellcheck disable=SC2016
"$NSPROF" record -q -e cpu-clock -F 499 -o "$T/exec" -- \
	bash -c 'echo $$; for ((i = 0; i < 50000; i++)); do :; done; exec "$@"' - "$RENAMES" 0.1 >"$T/out" 2>"$T/err"
read -r first <"$T/out"
is "the exec before is another process" "$("$NSPROF" symbolize -q --no-inline --by process "$T/exec" | cut -d';' -f1 |
	grep -E -- "-$first\$" | sort -u)" "bash-$first
main-after-$first"
"$NSPROF" export -q --perf-data -o "$T/exported" "$T/data" 2>"$T/err"
all_outputs "exported as perf.data" "$T/exported"
if have_perf; then
	perf record -q -e cpu-clock -F 499 -g -o "$T/perf.data" "$RENAMES" 0.4 >"$T/out" 2>"$T/err"
	read -r CHILD <"$T/out"
	PARENT=$(perf script -i "$T/perf.data" -F comm,pid 2>"$T/err" | awk '$1 == "main-after" { print $2; exit }')
	all_outputs "perf.data" "$T/perf.data"
else
	skip "perf.data" "no perf"
fi
done_testing
