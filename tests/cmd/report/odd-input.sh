#!/bin/bash
# nsprof report with odd, damaged or hostile input, and with an output that nobody reads: one clear
# line, the right status, and as much output as possible.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
cd "$T" || exit 1
unset PAGER NSPROF_PAGER

# says NAME STATUS TEXT ARGS...: stderr has as many lines as TEXT, and each matches its line there.
says() {
	local name=$1 want=$2 text=$3 rc
	shift 3
	"$NSPROF" report "$@" >out 2>err
	rc=$?
	is "$name: exit status" "$rc" "$want"
	is "$name: lines" "$(wc -l <err)" "$(printf '%s' "$text" | grep -c .)"
	[ -z "$text" ] || like "$name: says what" "$(cat err)" "$text"
}

printf 'a;b 6\na;c 4\n' >good
says "nothing at standard input" 1 "standard input is empty" - </dev/null
printf '\n\n# a comment\n' >blank
says "blank lines and comments alone" 1 "'blank' is neither a recording nor a profile nor folded text" blank
printf 'a;b 0\n' >zero
says "a count of nothing" 0 "" zero
like "is no sample" "$(cat out)" '^# 0 samples in 0 different stacks'
printf 'a;b 1\nno\n\033[31mred\nx 1e5\n7\na;c 1\n' >bad
says "malformed lines: counted, three shown, harmless to a terminal" 0 "'bad': 4 lines are not folded stacks, the first: 'no', '\\\\u\{1b\}\[31mred', 'x 1e5', \.\.\.$" bad
is "the others count" "$(grep -c '^ *50.00%' out)" 2
printf 'a;b 1.5\na;c 0.75\na;d 2.00\n' >float
says "counts that are no whole numbers" 0 \
	"'float': 2 counts are not whole numbers; the fraction is dropped, and whole stacks with it: scale the counts up first$" float
is "are as much as is in front of the point" "$("$NSPROF" report -q --csv --no-children float | sort -r)" \
	"$(printf '%s\n' self,samples,symbol,kind 66.67,2,d,user 33.33,1,b,user)"
printf 'a;b 3.\na;c 4.0\n' >whole
says "and that are, with a point" 0 "" whole
printf 'a;b 1\nno\n' >one
says "one malformed line" 0 "'one': 1 line is not a folded stack: 'no'$" one
printf 'a;b 1\na;b\0c 1\n' >nul
says "a NUL" 1 "'nul' is neither" nul
printf 'a;b 18446744073709551615\na;c 1\n' >over
says "counts that overflow" 1 "'over': the sum of the counts overflows 64 bits" over
like "what there is is shown" "$(cat out)" '^# 18446744073709551615 samples'
printf 'a;b 99999999999999999999999999\n' >huge
says "a count of more than 64 bits" 1 "'huge': the sum of the counts overflows 64 bits" huge
printf ';;a;;b; 3\n; 4\n a 5\n' >semi
says "frames without a name" 0 "" semi
printf 'a;b 1' >noend
says "no end of the last line" 0 "" noend
printf 'a;b 1\r\na;c 2\r\n' >crlf
is "lines of another system" "$("$NSPROF" report --csv crlf)" "$(tr -d '\r' <crlf | "$NSPROF" report --csv -)"

# Every byte that a name can contain.
python3 -c 'import sys; [sys.stdout.buffer.write(b"app;f" + bytes([b]) + b"g" + bytes([b]) + b" 3\n") for b in range(1, 256) if b not in b";\n"]' >bytes
says "every byte in names" 0 "" --limit 0 --percent-limit 0 bytes
cat >want.py <<'PY'
import csv, json, sys
sys.path.insert(0, sys.argv[1])
import names
# White space in front of the count is not the name's.
WANT = {names.escape(b'f' + bytes([b]) + b'g' + bytes([b]), text=True) for b in range(1, 256) if b not in b';\n \t'} | {'app', 'f g', 'f\\u{9}g'}
PY
check "in text all of them can be seen" python3 - "$TOP/tests/tools" <<'PY'
exec(open('want.py').read())
text = names.seen(open('out', 'rb').read(), 'the report')
assert text.count('\n') == 253 + 1 + 5, text.count('\n')
assert {l.split('] ', 1)[1] for l in text.split('\n') if '] ' in l} == WANT
PY
"$NSPROF" report --json --limit 0 --percent-limit 0 bytes >json
"$NSPROF" report --csv --limit 0 --percent-limit 0 bytes >csv
check "JSON and CSV have the same names" python3 - "$TOP/tests/tools" <<'PY'
exec(open('want.py').read())
rows = json.load(open('json', encoding='utf-8'))['rows']
assert len(rows) == 254
assert {r['symbol'] for r in rows} == WANT
assert {r['symbol'] for r in csv.DictReader(open('csv', encoding='utf-8', newline=''))} == WANT
PY

# Stacks of a million frames: recursive calls, and all different.
python3 -c 'print("f;" * 999999 + "f 9")' >deep
python3 -c 'print(";".join("f%d" % i for i in range(1000000)), 9)' >wide
for args in '' '--focus f'; do
	# shellcheck disable=SC2086
	says "a million calls of itself $args" 0 "" $args deep
done
"$NSPROF" report --tree deep >out
like "the tree has one line for them" "$(cat out)" '^ +100\.00% +100\.00% +f \(x1000000\)$'
says "a million functions in one stack, and a picture of them" 0 "" --format svg wide

# Saved profiles. All kinds of damage: tests/unit/common/profile/test_profile.c.
printf '%s\n' $'nsprof-profile\t1' $'F\tmain\t/a\tu\t0\t\t' $'N\t0\t1' $'C\t0\t1\t0\t5\t0' $'E\t4' >p
says "a profile" 0 "" p
like "is shown" "$(cat out)" '^ +100\.00% +100\.00% +5 .*\[\.\] main$'
{
	head -n 1 p
	printf 'M\t%s\t%s\n' event $'cpu\033[31m' frequency 99 target command hostname $'h\033[2J' command $'nsprof-record -- x\033c' kept 5 lost 2 \
		full_copies 1 truncated 3 throttled 'container web: throttled in 7 of 9 periods' filter comm=x
	sed -n '2,4p' p
	printf 'E\t15\n'
} >head
is "who, what, losses, cut stacks, throttling, and nothing that steers a terminal" "$("$NSPROF" report head | grep '^# .*[a-z]' | head -n 5)" \
	"# 5 samples in 1 different stack, from 'head'
# on h\\u{1b}[2J: nsprof-record -- x\\u{1b}c
# event cpu\\u{1b}[31m, 99 Hz, command; 2 lost, 3 truncated
# container web: throttled in 7 of 9 periods
# only comm=x"
head -n 4 p >cut
says "a cut one" 1 "'cut' is cut after line 4; only the lines up to there are used" cut
like "is shown as far as it goes" "$(cat out)" '\[\.\] main$'
sed 's/^N.*/N\t7\t1/' p >ids
says "one with wrong numbers" 1 "'ids' is damaged: line 3 does not belong in a profile; only the lines before it are used" ids
sed 's/\t1$/\t9/;2,$d' p >version
says "one of another version" 1 "'version' is a profile of another version" version
says "a filter that nothing meets" 1 "no sample of 'p' matches all --filter conditions" --filter comm=a p
printf 'a;b 1\n' >f
says "names of threads are not for folded text" 1 "--comms works only on recordings and saved profiles, but 'f' is folded text" -c a f
says "times of a clock are for recordings" 1 "--time works only on recordings, but 'p' is a saved profile" --time 1,2 p
says "filters are not for folded text" 1 "--filter works only on recordings and saved profiles, but 'f' is folded text" --filter comm=a f

# Input from a pipe is kept in an unnamed file in TMPDIR.
mkdir elsewhere
is "TMPDIR is taken" "$(TMPDIR=elsewhere "$NSPROF" report --csv - <good)" "$("$NSPROF" report --csv good)"
rmdir elsewhere
for command in report symbolize info; do
	TMPDIR=elsewhere "$NSPROF" "$command" - </dev/null >out 2>err
	is "$command: nowhere to put what a pipe has: exit status" $? 1
	is "says what helps" "$(cut -d: -f2- err)" " error: cannot create a temporary file in 'elsewhere': No such file or directory. Set TMPDIR to a folder with free space."
done

# Nobody reads the output.
python3 -c 'for i in range(5000): print("a;f%d;some_function_with_a_name;g%d 1" % (i, i))' >many
check_rc "standard output closed" 1 sh -c '"$0" report good >&-' "$NSPROF"
like "is said" "$(cat "$T/check.err")" "cannot write 'standard output': Bad file descriptor"
check_rc "and full" 1 sh -c '"$0" report good >/dev/full' "$NSPROF"
like "is said as well" "$(cat "$T/check.err")" "cannot write 'standard output': No space left on device"
for args in '' --csv --json -g '--format svg' '--format html'; do
	# shellcheck disable=SC2086
	is "closed early $args" "$("$NSPROF" report --limit 0 --percent-limit 0 $args many 2>err | head -c 1 >/dev/null; echo "${PIPESTATUS[0]} $(cat err)")" "141 "
done
done_testing
