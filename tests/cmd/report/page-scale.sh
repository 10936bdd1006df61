#!/bin/bash
# The scale of the page of report --format html: each box that it draws has the width that is its share
# in folded text, for each event, with the states of threads, and after a zoom. A bar of the timeline is as
# high as its share of the thread's time.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 jq
need_target spin
command -v chromium >/dev/null && command -v node >/dev/null || skip_all "chromium or node is not installed"
TOOLS=$TOP/tests/tools
cd "$T" || exit 1
# Chromium's profile goes there.
export TMPDIR=$T
drawn() { timeout 100 node "$TOOLS/page.js" "$1" "$TOOLS/scale_page.js"; }

python3 "$TOOLS/made_waits.py" every "$BUILD/tests/targets/spin" data ks >/dev/null
"$NSPROF" import -q -o rec data
sym() { "$NSPROF" symbolize -q --kallsyms ks -i rec "$@"; }
sym --format profile -o profile
"$NSPROF" report -q --format html -o page.html profile
texts=()
for event in cpu-clock off-cpu wall; do
	sym --event $event --by comm >$event.folded
	texts+=("$event=$event.folded")
done
check "the page draws" env ZOOM="app_outer futex_wait mixed" timeout 100 node "$TOOLS/page.js" page.html "$TOOLS/scale_page.js"
cp check.out drawn
check "each box is as wide as its share in folded text" python3 "$TOOLS/scale.py" drawn "${texts[@]}"
for state in running blocked runnable; do
	like "with [$state]" "$(<check.out)" "^wall app_outer \\[$state\\]$"
done
for event in cpu-clock off-cpu wall; do
	for zoom in "" app_outer mixed; do
		like "of $event${zoom:+ after a zoom to $zoom}" "$(<check.out)" "^$event $zoom [1-9][0-9]*$"
	done
done
# A width that is wrong by a thousandth is found.
sed 's/w \* scale, false)/w * scale * 0.999, false)/' page.html >wrong.html
drawn wrong.html >wrong
check_rc "which would find a wrong one" 1 python3 "$TOOLS/scale.py" wrong "${texts[@]}"

# A thread that waits for all of the time, and for a quarter in another state. It has two values of a field in
# another event, where it is a thread of its own for each.
printf '%s\n' 'nsprof-profile|2' 'M|event|sched:a' 'B|100000000|4' 'V|sched:a|||0|1|samples|0|0' 'V|off-cpu|||0|0|period|0|0' \
	'T|c|/c|w|p|1|1|-1|0' 'T|c|/c|w|p|1|1|-1|0|x=1' 'T|c|/c|w|p|1|1|-1|0|x=2' 'F|f|/x|u|0||' 'F|[blocked]||u|0||' 'F|[runnable]||u|0||' \
	'N|0|1' 'N|1|2' 'N|1|3' 'C|1|2|0|1|75000000|1' 'C|1|2|1|1|75000000|1' 'C|1|2|2|1|75000000|1' 'C|1|2|3|1|75000000|1' \
	'C|1|3|0|1|25000000|1' 'C|1|3|1|1|25000000|1' 'C|1|3|2|1|25000000|1' 'C|1|3|3|1|25000000|1' 'C|2|1|0|1|1|0' 'C|3|1|0|1|1|0' |
	tr '|' '\t' >full.profile
printf 'E\t%d\n' "$(wc -l <full.profile)" >>full.profile
"$NSPROF" report -q --format html -o full.html full.profile
# Bars are 19 pixels high, and those of the lower states cover the higher ones.
is "a thread's row is full where all of its time is" \
	"$(drawn full.html | jq -r 'select(.event == "off-cpu") | [.times[] | select(.[4] == "#82a5f0" or .[4] == "#f0d74b") | "\(.[4]) \(.[3])"] | unique[]')" \
	"#82a5f0 19
#f0d74b 4.75"
done_testing
