#!/bin/bash
# Faults of inputs and outputs are found before any work is done. Binary output does not go to a
# terminal.
# beside others
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
printf 'main;work %s\n' 3 4 >a.folded
printf 'main;work 5\n' >b.folded
"$NSPROF" record -q -e cpu-clock -F 999 -o data -- "$BUILD/tests/targets/spin" 0.3 2>err || skip_all "no perf events here: $(cat err)"

# ---- all inputs before the first ----
# A FIFO without a writer is never opened: if diff read it first, it would wait.
mkfifo pipe
# checked NAME PATTERN COMMAND...: it fails at once with such a message.
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
# pty COMMAND: print its status, with a terminal as standard output; its output is in "typescript".
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
	while IFS='|' read -r what command; do
		pty "'$NSPROF' $command"
		like "$what on a terminal: says what helps" "$(cat typescript)" "error: ('/dev/[a-z]*'|standard output) is a terminal, which cannot show a recording: .* -o FILE"
		unlike "$what on a terminal: no recording there" "$(tr -d '\0' <typescript)" NSPROF
	done <<-END
		record -o -|record -e cpu-clock -o - -- true
		record -o /dev/tty|record -e cpu-clock -o /dev/tty -- true
		record -o /dev/stdout|record -e cpu-clock -o /dev/stdout -- true
		import -o /dev/tty|import -o /dev/tty a.folded
		import -o -|import -o - a.folded
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
	"$NSPROF" annotate -q <(cat data) >out 2>err
	check "annotate <(COMMAND)" cmp out hottest
	"$NSPROF" annotate a.folded -i data >out 2>err
	like "a word that is a file, but no recording" "$(cat err)" "in a function 'a.folded' itself \(the file of that name is not a recording\)"
	mkdir bare
	cp a.folded bare
	(cd bare && "$NSPROF" annotate a.folded) >out 2>err
	like "without nsprof.data it is what was meant" "$(cat err)" "error: 'a.folded' is not an nsprof recording; it is folded text"
	(cd bare && "$NSPROF" annotate nope.data) >out 2>err
	like "and one that is not there" "$(cat err)" "error: no recording found: neither 'nope.data' nor 'nsprof.data' exists"
	"$NSPROF" annotate -i data data >out 2>err
	like "with -i it is a name" "$(cat err)" "no sample was taken in a function 'data' itself"
	"$NSPROF" annotate -i data no_such_function >out 2>err
	is "no line ends in blanks" "$(grep -c ' $' by-option)" 0
	is "candidates stand below one error" "$(grep -c 'error:' err) $(grep -c '^ .* samples\?  ' err | sed 's/[1-9].*/some/')" "1 some"
	is "the rule below the head has its cross below the bar" \
		"$(awk 'NR == 1 { print index($0, "|") } /^-+\+/ { print index($0, "+"); exit }' by-option | uniq | wc -l)" 1
else
	skip "annotate" "no code can be shown: $(cat err)"
fi

# ---- what a foreign file is, in all commands that read recordings, as a file and through a pipe
# ----
"$NSPROF" report a.folded >text.report
"$NSPROF" report --csv a.folded >table.csv
printf 'main;work 3\r\nmain 1\r\n' >crlf
printf 'app    12/12    [000]  1234.567890:    1001001 cpu-clock: \n\t   1494 main (/app)\n\n' >script
printf 'app    12 \n\t            1494 main\n\t            1500 _start\n\n' >script-fields
printf '\n0x108@perf.data [0x50]: event: 69\n.\n. ... raw event: size 80 bytes\n' >dump
printf '[{"ph":"X"}]\n' >array.json
gzip -c <data >data.gz
printf 'PERFILE2\150\0\0\0' >header
# Its attributes begin after the end of the file.
{ head -c 16 header | cat - /dev/zero | head -c 16; printf '\220\0\0\0\0\0\0\0\320\0\0\0\0\0\0\0\220\0\0\0\0\0\0\0' && head -c 64 /dev/zero; } >header104
while IFS='|' read -r file kind; do
	for c in symbolize script annotate info export import report diff; do
		case $c in
		import | export) set -- $c -o out.made ;;
		diff) set -- diff a.folded ;;
		annotate) set -- annotate -i ;;
		*) set -- $c ;;
		esac
		[ "$c $file" != "report crlf" ] && [ "$c $file" != "diff crlf" ] || continue
		# For text that may contain folded lines, report names the lines that are not.
		[ "$file" != dump ] || [ $c != report ] && [ $c != diff ] || continue
		"$NSPROF" "$@" $file >out 2>err </dev/null
		is "$c $file: one line" "$(wc -l <err)" 1
		like "$c $file: what it is" "$(cat err)" "error: '$file' .*$kind"
		[ $c != import ] || set -- "$@" -i
		[[ $file != header* ]] || continue
		cat $file | "$NSPROF" "$@" - >out 2>err
		like "cat $file | $c: what it is" "$(cat err)" "error: standard input .*$kind"
	done
done <<-END
	text.report|it is text of nsprof report
	table.csv|(it is a table of nsprof report|is neither)
	crlf|it is folded text
	script|it is text of perf script
	script-fields|it is text of perf script
	dump|it is a dump by perf -D
	array.json|it is JSON
	data.gz|it is a gzip-compressed recording
	header|is cut inside its header: there is nothing to read
	header104|is cut inside its header: there is nothing to read
END
# The first bytes that perf writes into a pipe, before it describes its events.
printf 'PERFILE2\20\0\0\0\0\0\0\0' >begun
like "a pipe that ends at once" "$("$NSPROF" report begun 2>&1)" "error: 'begun' ends before its first event: perf record failed"
head -c 500 data >half
like "a recording that is cut early: where" "$("$NSPROF" report half 2>&1)" "'half' is cut after 0\.[0-9] kB"
cat data | "$NSPROF" import -i - -o out.made >out 2>err
like "import of a recording says that it is one" "$(cat err)" "standard input is not perf.data; it is a recording of nsprof: 'nsprof report' reads it"

# ---- Ctrl-C ends the wait for a pipe without a writer, without a message ----
mkfifo empty.pipe
for c in symbolize script annotate info export import report "diff a.folded"; do
	# shellcheck disable=SC2086
	timeout -s INT 0.3 env --default-signal=INT "$NSPROF" $c empty.pipe >out 2>err
	is "$c of a pipe without a writer: Ctrl-C" "$? $(cat err)" "124 "
done

# ---- another user's recording ----
if mine=$NSPROF && for_nobody && mkdir "$PUBLIC/mine" && cp data "$PUBLIC/mine/nsprof.data" && chmod 600 "$PUBLIC/mine/nsprof.data"; then
	for c in symbolize script annotate info export report "diff nsprof.data"; do
		# shellcheck disable=SC2086
		(cd "$PUBLIC/mine" && "${NOBODY[@]}" "$NSPROF" $c nsprof.data) >out 2>err
		like "$c of root's recording, as a user: what helps" "$(cat err)" \
			"error: cannot open 'nsprof.data': Permission denied; it belongs to another user: use sudo, or make it yours"
	done
	NSPROF=$mine
else
	skip "a recording of somebody else's" "${no_nobody-}"
fi

# ---- counts ----
printf 'main;work 1\n' >one.folded
like "one sample in one stack" "$("$NSPROF" report --format svg one.folded)" '1 sample in 1 stack[^s]'
unlike "diff of single samples" "$("$NSPROF" diff --scale before=1,after=1 one.folded one.folded 2>&1)" '[^0-9]1 (samples|functions|stacks|units)'
like "a row that is left out" "$("$NSPROF" report --csv --limit 2 one.folded a.folded 2>&1; "$NSPROF" report --csv --limit 1 one.folded 2>&1)" '1 more row is left out'
like "an amount for two files" "$("$NSPROF" diff --scale before=1,after=1:2 a.folded b.folded 2>&1)" '2 numbers for 1 file$'
"$NSPROF" record -v -e cpu-clock -C "$(awk -F'[-,]' '{ print $1 }' /sys/devices/system/cpu/online)" -F 999 -o single -- "$BUILD/tests/targets/spin" --cpu 0.1 2>err
like "rings of one CPU" "$(cat err)" 'for mappings on 1 CPU$'
"$NSPROF" symbolize --stats single >out 2>err
like "--stats: counts that may be one" "$(cat err)" 'unique stacks: [0-9]+, unique addresses: [0-9]'
unlike "--stats: one of each" "$(cat err)" '[^0-9.]1 (samples|times|side-band records)'
"$NSPROF" symbolize -q --filter time=0-0.0001 data >/dev/null 2>&1
for c in report info; do
	unlike "$c: one of each" "$("$NSPROF" $c data 2>&1)" '(^|[^0-9.])1 (samples|functions|stacks|processes|threads|cgroups|binaries|mappings|CPUs|files)\b'
done
done_testing
