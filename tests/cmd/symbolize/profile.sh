#!/bin/bash
# symbolize --format profile has the contents of the folded text, and also processes, times and
# files.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3 jq
TARGETS=$BUILD/tests/targets
cd "$T" || exit 1

"$NSPROF" record -q -F 999 -g -o rec -- bash -c '"$0" --threads 2 0.3; "$0" --kernel 0.3' "$TARGETS/spin" >/dev/null 2>&1 ||
	skip_all "cannot record here"
folded() { "$NSPROF" symbolize -q --annotate --by thread "$@" rec; }
profile() { "$NSPROF" symbolize -q --format profile "$@" rec; }

profile >p
for weight in samples period; do
	check "it has the stacks of folded text, $weight" cmp <(python3 "$TOP/tests/tools/unprofile.py" p $weight) <(folded --weight $weight)
done
profile --merge-threads >merged
check "merged threads too" cmp <(python3 "$TOP/tests/tools/unprofile.py" merged samples) <(folded --merge-threads)
profile --no-inline >plain
check "and without inlined functions" cmp <(python3 "$TOP/tests/tools/unprofile.py" plain samples) <(folded --no-inline)
profile --filter comm=spin >spin
check "and with a filter" cmp <(python3 "$TOP/tests/tools/unprofile.py" spin samples) <(folded --filter comm=spin)
like "which it names" "$(cat spin)" $'^M\tfilter\tcomm=spin$'

meta() { awk -F'\t' -v k="$1" '$1 == "M" && $2 == k { print $3 }' p; }
"$NSPROF" info --json rec >info
is "the event" "$(meta event)" "$(jq -r .settings.event info)"
is "the frequency" "$(meta frequency)" "$(jq -r .settings.frequency info)"
is "where" "$(meta hostname)" "$(jq -r .settings.hostname info)"
is "since when" "$(meta begin_wall_ns)" "$(jq -r .settings.start_wall_ns info)"
is "all samples of the ledger are in" "$(meta kept)" "$(awk -F'\t' '$1 == "C" { n += $5 } END { print n }' p)"
like "functions have their files" "$(cat p)" "^F	[^	]*	$TARGETS/spin	u	0	symtab	\$"
like "the kernel's are marked" "$(cat p)" '^F	[^	]*	\[kernel.kallsyms\]	k	0	kallsyms	$'
profile --srcline >lines
like "with --srcline they have lines" "$(cat lines)" '^F	[^	(]*	[^	]*/spin	u	0	symtab	spin\.c:[0-9]+$'

# Processes and times: the same samples as with filters.
block=$(awk -F'\t' '$1 == "B" { print $2 }' p)
check "blocks are 10 ms or more" [ "$block" -ge 10000000 ]
tid=$(awk -F'\t' '$1 == "T" && $4 == "spin" && $7 != $6 { print $7; exit }' p)
is "by thread" "$(awk -F'\t' -v t="$tid" '$1 == "T" { tid[++n] = $7 } $1 == "C" && tid[$2] == t { s += $5 } END { print s }' p)" \
	"$("$NSPROF" symbolize -q --filter tid="$tid" rec | awk '{ s += $NF } END { print s }')"
is "and by time" "$(awk -F'\t' -v w="$block" '$1 == "C" && $4 * w >= 100000000 && $4 * w < 300000000 { s += $5 } END { print s }' p)" \
	"$("$NSPROF" symbolize -q --filter time=0.1-0.3 rec | awk '{ s += $NF } END { print s }')"

# A saved profile filters like the recording. Times are rounded to blocks, and these are multiples
# of a block.
same() { # FILTER...
	local f=()
	for c; do f+=(--filter "$c"); done
	is "of a saved profile: ${*:-all}" "$("$NSPROF" report -q "${f[@]}" --limit 0 --percent-limit 0 --csv p)" \
		"$("$NSPROF" report -q "${f[@]}" --limit 0 --percent-limit 0 --csv rec)"
}
end=$(awk -v b="$block" 'BEGIN { printf "%.6f", 20 * b / 1e9 }')
same
same comm=spin
same tid="$tid"
same "comm=s*" "comm=nothing" time=-"$end"
like "it says by which steps" "$("$NSPROF" report --filter time=-1 p 2>&1 >/dev/null)" 'time= on a saved profile selects whole blocks of [0-9.]+ s'
same "container=*" time="$end"-
# One digit is changed, or a name: altered data is never shown without a warning.
like "a saved profile has a checksum" "$(tail -n 1 p)" $'^E\t[0-9]+\t[0-9a-f]{8}$'
sed $'/^C\t/{s/\t1\t/\t2\t/;}; s/app_leaf/app_lead/' p >altered
check "with damage in it" cmp -s <(wc -lc <p) <(wc -lc <altered)
check_rc "which does not show but by the checksum" 1 "$NSPROF" report altered
like "and that is said" "$(cat "$T/check.err")" "warning: 'altered' is damaged or was edited: its checksum differs from the one in its last line"
check_rc "with no checksum there is nothing to say" 0 "$NSPROF" report <(sed $'/^E/s/\t[^\t]*$//' altered)
check_rc "nothing left" 1 "$NSPROF" report -q --filter comm=nothing p
# Details that it was saved with can still be left out.
table() { "$NSPROF" report -q --limit 0 --percent-limit 0 --csv --sort comm,tid,pid,dso,symbol "$@"; }
is "report --no-inline of a saved profile" "$(table --no-inline p)" "$(table plain)"
"$NSPROF" symbolize -q rec >text
check_rc "not of folded text" 1 "$NSPROF" report -q --filter comm=spin text

# By the place of samples: the innermost function of a stack, and its file.
in_function() { awk -v name="$1" '{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";"); if (f[k] ~ name) s += n } END { print s + 0 }' text; }
events() { "$NSPROF" report -q --stats "$@" | awk '/SAMPLE events:/ { print $NF; exit }'; }
n=$(in_function '^app_leaf$')
check "there are samples in app_leaf" test "$n" -gt 0
for of in rec p text; do
	is "report -S of $of" "$(events -S app_leaf $of)" "$n"
	is "report --symbols of $of, a glob and another" "$(events --symbols 'app_l*,nothing' $of)" "$(in_function '^app_l')"
done
n=$("$NSPROF" script -q --no-inline -F comm,ip,sym,dso rec |
	awk '/^[^ \t]/ { leaf = 1; next } NF && leaf { leaf = 0; n += $NF ~ /\/spin\)$/ } END { print n + 0 }')
check "there are samples in spin" test "$n" -gt 0
is "report -d: by the last part" "$(events -d spin,nothing --no-inline rec)" "$n"
is "report --dsos: by the path" "$(events --dsos "$TARGETS/spin" plain)" "$n"
is "report -d and -S: both" "$(events -d spin -S app_leaf rec)" "$(in_function '^app_leaf$')"
printf 'a;f<x, y> 3\na;g 4\nf<x, y>;g 5\n' >commas
is "report -S: a comma in brackets is of the name" "$(events -S 'f<x, y>,h' commas)" 3
printf '%s\n' 'm;operator>>(In&, int) 10' 'm;P::operator->(int, int) 5' 'm;operator<<(Out&, int) 20' 'm;operator<< <char>(Out&, int) 2' \
	'm;operator,(A, B) 4' 'm;run(fn(i32, i32) -> i32) 7' 'm;work 30' 'm;my_operator<x, y> 8' >operators
for one in "operator>>(In&, int):10" "P::operator->(int, int):5" "operator<<(Out&, int),work:50" "operator>>(In&, int),work:40" "operator<< <char>(Out&, int),work:32" \
	"operator,(A, B),work:34" "run(fn(i32, i32) -> i32),work:37" "my_operator<x, y>,work:38" "work,operator>>(In&, int),P::operator->(int, int):45"; do
	is "report -S ${one%:*}" "$(events -S "${one%:*}" operators)" "${one##*:}"
done
check_rc "report -S: nothing is there" 1 "$NSPROF" report -q -S nothing rec
like "which is said" "$(cat "$T/check.err")" "error: no sample of 'rec' is in nothing; --sort dso,symbol"
check_rc "report -d: folded text has no files" 1 "$NSPROF" report -q -d spin text
like "which is said, too" "$(cat "$T/check.err")" "error: --dsos: 'text' does not record the files of its functions"

check_rc "--by chooses of what a profile has" 129 "$NSPROF" symbolize --format profile --by thread rec
check_rc "an unknown format" 129 "$NSPROF" symbolize --format nonsense rec
check_rc "a full disk is noticed" 1 "$NSPROF" symbolize -q --format profile -o /dev/full rec
done_testing
