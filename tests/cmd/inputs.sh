#!/bin/bash
# What is wrong with inputs and outputs is found before any work is done; and what no terminal can show does not go to one.
# beside others
. "$(dirname "$0")/../lib.sh"
cd "$T" || exit 1
printf 'main;work %s\n' 3 4 >a.folded
printf 'main;work 5\n' >b.folded
"$NSPROF" record -q -e cpu-clock -F 999 -o data -- "$BUILD/tests/targets/spin" 0.3 2>err || skip_all "no perf events here: $(cat err)"

# ---- all inputs before the first ----
# A FIFO that nobody writes to is never opened: were it read first, diff would wait for it.
mkfifo pipe
# checked NAME PATTERN COMMAND...: it fails at once with a message like that.
checked() {
	local name=$1 pattern=$2 start=$EPOCHREALTIME rc
	shift 2
	timeout 20 "$@" >out 2>err </dev/null
	rc=$?
	like "$name: the message" "$(cat err)" "$pattern"
	check "$name: status $rc" test $rc = "${want_rc:-3}"
}
checked "a second file that is missing" "^nsprof diff: error: cannot open 'nope.data': No such file" "$NSPROF" diff pipe nope.data
: >empty
checked "a second file that is empty" "'empty' is empty" "$NSPROF" diff pipe empty
head -c 5000 /dev/zero >zeros
checked "a second file of another kind" "'zeros' is neither a recording" "$NSPROF" diff pipe zeros
mkdir folder
checked "a second file that is a directory" "'folder' is a directory" "$NSPROF" diff pipe folder
checked "the last of several" "cannot open 'nope.data'" "$NSPROF" diff pipe a.folded -- b.folded nope.data
checked "an output that cannot be written" "cannot write 'no/where'" "$NSPROF" diff -o no/where pipe pipe
want_rc=1
checked "report: an output that cannot be written" "cannot write 'no/where'" "$NSPROF" report -o no/where pipe
echo precious >kept
checked "a failure leaves the output as it was" "cannot open 'nope.data'" "$NSPROF" report -o kept nope.data
is "report" "$(cat kept)" precious
"$NSPROF" diff -o kept a.folded zeros 2>err
is "diff" "$(cat kept)" precious
"$NSPROF" report -o kept zeros 2>err
is "report of another kind" "$(cat kept)" precious
is "and nothing lies beside it" "$(echo kept*)" kept

# ---- terminals ----
# pty COMMAND: its status, with a terminal as standard output; what it says is in "typescript".
pty() {
	script -qec "$1" typescript >/dev/null 2>&1 </dev/null
}
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
	while IFS='|' read -r what command; do
		pty "'$NSPROF' $command"
		is "$what on a terminal: status" $? 129
		like "$what on a terminal: says -o FILE" "$(cat typescript)" "error: $what writes .* a terminal cannot show.*-o FILE"
		is "$what on a terminal: nothing but that" "$(grep -c . <(grep -av '^Script ' typescript))" 1
	done <<-END
		--format pprof|symbolize --format pprof data
		--format speedscope|symbolize --format speedscope data
		--format firefox|symbolize --format firefox data
		--format html|report --format html data
		--format svg|report --format svg a.folded
		--format html|diff --format html a.folded b.folded
		--format svg|diff --format svg a.folded b.folded
		--format svg|report --format svg -o - a.folded
		--format svg|report --format svg -o /dev/stdout a.folded
		--format svg|report --format svg -o /dev/tty a.folded
	END
	pty "'$NSPROF' report --format svg a.folded -o out.svg"
	is "with -o it is written" "$? $(grep -c '<svg' out.svg)" "0 1"
	pty "'$NSPROF' symbolize --format pprof data | cat >out.pb"
	check "so it is into a pipe" test -s out.pb
	pty "NSPROF_PAGER=cat '$NSPROF' report data"
	is "text goes to a terminal" "$? $(grep -c app_leaf typescript | sed 's/[1-9].*/some/')" "0 some"
else
	skip "terminals" "needs the command script and a pseudo-terminal"
fi

# ---- a recording as annotate's argument ----
if "$NSPROF" annotate -q -i data app_leaf >by-option 2>err; then
	"$NSPROF" annotate -q data app_leaf >out 2>err
	check "annotate FILE SYMBOL" cmp out by-option
	"$NSPROF" annotate -q app_leaf data >out 2>err
	check "annotate SYMBOL FILE" cmp out by-option
	"$NSPROF" annotate -q -i data >hottest
	"$NSPROF" annotate -q data >out 2>err
	check "annotate FILE" cmp out hottest
	"$NSPROF" annotate -i data data >out 2>err
	like "with -i it is a name" "$(cat err)" "no sample was taken in a function 'data' itself"
	"$NSPROF" annotate -i data no_such_function >out 2>err
	is "candidates stand below one error" "$(grep -c 'error:' err) $(grep -c '^ .* samples\?  ' err | sed 's/[1-9].*/some/')" "1 some"
	is "the rule below the head has its cross below the bar" \
		"$(awk 'NR == 1 { print index($0, "|") } /^-+\+/ { print index($0, "+"); exit }' by-option | uniq | wc -l)" 1
else
	skip "annotate" "no code can be shown: $(cat err)"
fi

# ---- counts ----
printf 'main;work 1\n' >one.folded
like "one sample in one stack" "$("$NSPROF" report --format svg one.folded)" '1 sample in 1 stack[^s]'
unlike "diff of single samples" "$("$NSPROF" diff one.folded one.folded 2>&1)" '[^0-9]1 (samples|functions|stacks)'
"$NSPROF" symbolize -q --filter time=0-0.0001 data >/dev/null 2>&1
for c in report info; do
	unlike "$c: one of each" "$("$NSPROF" $c data 2>&1)" '(^|[^0-9.])1 (samples|functions|stacks|processes|threads|cgroups|binaries|mappings|CPUs|files)\b'
done
done_testing
