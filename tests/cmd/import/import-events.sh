#!/bin/bash
# perf.data of other machines, kernels and versions of perf, made by tools/made_events.py: events of
# several kinds of CPUs, deferred callchains, groups, old kernels, text in perf's pipe; --event of
# each command that reads perf.data; and files of other types.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 nm readelf gzip jq
cd "$T" || exit 1
SPIN=$BUILD/tests/targets/spin
[ -x "$SPIN" ] || skip_all "$SPIN is not built (make test-targets)"
made() { python3 "$TOP/tests/tools/made_events.py" "$@"; }
total() { awk '{ n += $NF } END { print n + 0 }' "$1"; }

# Each in both byte orders, as a file, as a saved pipe and through a pipe.
# forms WHAT [import OPTION...]: call shown NAME, with the folded stacks in "got", the messages in
# "err", the status in $rc.
forms() {
	local order form
	what=$1
	shift
	for order in '<' '>'; do
		for form in file pipe; do
			made "$what" "$order" $form "$SPIN" data
			"$NSPROF" import -o data.ns "$@" data 2>err
			rc=$?
			"$NSPROF" symbolize -q --weight samples data.ns >got
			shown "$what, order $order, $form"
		done
		# shellcheck disable=SC2002
		cat data | "$NSPROF" import -o data.ns "$@" - 2>err
		rc=$?
		"$NSPROF" symbolize -q --weight samples data.ns >got
		shown "$what, order $order, through a pipe"
	done
}
stack="made;main;app_outer;app_leaf"

# ---- one event on two kinds of CPUs ----
shown() {
	is "$1: status" $rc 0
	is "$1: the samples of both" "$(<got)" "$stack 5"
	is "$1: the other event is there, too" "$("$NSPROF" symbolize -q --event instructions data.ns)" "$stack 1"
	is "$1: one event" "$("$NSPROF" info --json data.ns | grep -oE '"event(_modifier)?": *"[^"]*"' | sort -u | tr -d ' \n')" "$settings"
}
settings='"event":"cycles""event_modifier":"P"' forms hybrid
settings='"event":"cycles""event_modifier":""' forms unnamed
shown() { is "$1: different modes are different events" "$(total got)" 2; }
made modes '<' file "$SPIN" data
"$NSPROF" symbolize -q data >got 2>err
shown modes

# ---- --event of each command ----
made hybrid '<' file "$SPIN" data
while read -r event n; do
	is "symbolize --event $event" "$("$NSPROF" symbolize -q --event "$event" data)" "$stack $n"
	is "script --event $event" "$("$NSPROF" script -q --event "$event" data | grep -c '^made ')" "$n"
	is "info --event $event" "$("$NSPROF" info -q --event "$event" --json data | grep -oE '"samples": *[0-9]+' | head -1 | tr -d ' ')" "\"samples\":$n"
	is "report --event $event" "$("$NSPROF" report -q --event "$event" --csv data | awk -F, '/app_leaf/ { print $2; exit }')" \
		"$("$NSPROF" symbolize -q --format profile --event "$event" data | "$NSPROF" report -q --csv - | awk -F, '/app_leaf/ { print $2; exit }')"
	"$NSPROF" import -q --event "$event" -o one.ns data 2>/dev/null
	is "import --event $event" "$("$NSPROF" symbolize -q one.ns)" "$stack $n"
	"$NSPROF" export --perf-data -q --event "$event" -o out.data data 2>/dev/null
	is "export --event $event" "$("$NSPROF" symbolize -q out.data | awk '{ n += $NF } END { print n }')" "$n"
	"$NSPROF" annotate -q --json --event "$event" -i data app_leaf >out 2>err
	like "annotate --event $event" "$(cat out)" "\"samples\": *$n\b"
done <<'LIST'
cycles 5
cycles:P 5
cpu_core/cycles/ 3
cpu_core/cycles/P 3
cpu_atom/cycles/ 2
cpu_atom/instructions/ 1
instructions 1
LIST
"$NSPROF" diff --event cpu_core/cycles/ --format json data data >out 2>err
is "diff --event: status" $? 0
like "diff --event" "$(cat out)" '"samples": *3\b'
for command in symbolize script info report import "annotate app_leaf -i" "export --perf-data" "diff data"; do
	# shellcheck disable=SC2086
	"$NSPROF" $command data --event branches >out 2>err
	is "$command --event branches: status" $? $([[ $command = diff* ]] && echo 3 || echo 1)
	like "$command --event branches: which there are" "$(cat err)" "has no event 'branches'; it has 'cpu_atom/cycles/P', 'cpu_core/cycles/P', 'cpu_atom/instructions/'"
done
check "the event of a recording" "$NSPROF" info --event cycles data.ns
"$NSPROF" info --event branches data.ns 2>err
is "not that of a recording: status" $? 1
like "not that of a recording" "$(cat err)" "'data.ns' has no event 'branches'; it has 'cycles'"
check_rc "report --event of folded text" 1 "$NSPROF" report --event cycles got

# ---- deferred callchains ----
shown() {
	is "$1: status" $rc 0
	sort got >sorted
	check "$1: stacks" diff sorted want
	like "$1: those without are counted" "$(<err)" "warning: 2 samples have no user stack: perf deferred it"
	"$NSPROF" symbolize --stats data.ns 2>stats >/dev/null
	like "$1: a verdict of its own" "$(<stats)" '^ +2 +40\.0 %  user stack deferred by perf, and its record is missing'
}
sort >want <<WANT
$stack 1
$stack;[kernel] 2
made;[broken_stack];[kernel] 1
made;[broken_stack];app_leaf 1
WANT
forms deferred

# ---- groups ----
shown() { is "$1: status" $rc 0; is "$1: what the event counted in between" "$("$NSPROF" symbolize -q --weight period data.ns)" "$stack $sum"; is "$1: samples" "$(total got)" "$n"; }
sum=2500 n=4 forms group
sum=80 n=3 forms group --event instructions
"$NSPROF" import -q -o data.ns data
for e in cycles instructions; do
	is "each event of a group: $e" "$("$NSPROF" script -q --event $e -F comm,event,period,ip,sym data.ns)" "$("$NSPROF" script -q --event $e -F comm,event,period,ip,sym data)"
done
is "periods" "$("$NSPROF" script -q --event cycles -F comm,period data | awk '/^made/ { printf "%s ", $2 }')" "1000 500 600 400 "
is "periods of the other" "$("$NSPROF" script -q --event instructions -F comm,period data | awk '/^made/ { printf "%s ", $2 }')" "7 43 30 "

# ---- time off the CPU ----
shown() {
	is "$1: status" "$rc $(grep -c warning err)" "0 0"
	is "$1: on the CPU" "$(<got)" "$stack 3"
	is "$1: each time off the CPU has its stack and its ns" "$("$NSPROF" symbolize -q --event offcpu-time data.ns)" "$waits"
	is "$1: apart from cycles" "$("$NSPROF" symbolize -q --by event data.ns)" "cycles;$stack 3"$'\n'"${waits//made;/offcpu-time;made;}"
	is "$1: sums make the recording no longer" "$("$NSPROF" info --json data.ns | jq '.duration | round')" 1
}
waits="made;main;app_leaf 5000"$'\n'"$stack 600005000" forms offcpu
like "offcpu: report" "$("$NSPROF" report --event offcpu-time data.ns)" ' 600 ms off the CPU'
is "offcpu: pprof" "$("$NSPROF" symbolize -q --event offcpu-time --format pprof data.ns | gunzip -c | grep -aoE 'off_cpu|nanoseconds' | sort -u | xargs)" "nanoseconds off_cpu"
waits="made;main;app_leaf 5000"$'\n'"$stack 5000"
forms offcpu6
"$NSPROF" import -q --event offcpu-time -o one.ns data
is "offcpu: alone" "$("$NSPROF" symbolize -q one.ns)" "$waits"
"$NSPROF" export -q -o out.data data
is "offcpu: exported" "$("$NSPROF" symbolize -q --event offcpu-time out.data)" "$waits"

# ---- losses of each event ----
shown() {
	"$NSPROF" info --json data.ns >info.json
	is "$1: samples and losses of each event" "$(jq -c '[.events[] | [.name, .samples, .lost]]' info.json)" "$each"
	is "$1: all together" "$(jq -c '[.lost, .ledger.taken]' info.json)" '[35,38]'
}
each='[["cycles",1,10],["instructions",2,25]]' forms filtered
like "filtered: what the user did not want is not lost" "$(<err)" '35 lost, 7 left out by perf.s filter[;,)]'
"$NSPROF" import --event cycles -o one.ns data 2>err
like "filtered: none of cycles" "$(<err)" '10 lost; from '
each='[["cycles",1,10],["instructions",2,25]]' forms losses
"$NSPROF" symbolize -q --format profile -o all.profile data.ns
is "losses: report of a saved profile" "$("$NSPROF" report -q --json all.profile | jq -c '[.events[].lost]')" '[10,25]'
for e in "cycles 10 1" "instructions 25 2"; do
	read -r event lost kept <<<"$e"
	"$NSPROF" symbolize -q --format profile --event $event -o one.profile data.ns
	is "losses: one event: $event" "$(grep -P '^M\t(kept|lost)\t' one.profile | cut -f2,3 | xargs)" "kept $kept lost $lost"
	for of in data.ns all.profile one.profile; do
		like "losses: report --event $event of $of" "$("$NSPROF" report -q --event $event $of)" "^# event $event.*[;,] $lost lost"
	done
done
"$NSPROF" report -q --json data.ns >of-recording
"$NSPROF" report -q --json all.profile >of-profile
is "losses: report of the recording and of its profile" "$(jq -c '[.events[].lost, .lost]' of-profile)" "$(jq -c '[.events[].lost, .lost]' of-recording)"
# cycles lost 10 of 11 here, and none there.
made offcpu '<' file "$SPIN" other.data
"$NSPROF" import -q -o other.ns other.data
"$NSPROF" symbolize -q --format profile -o other.profile other.ns
for of in ns profile; do
	[ $of = ns ] && cp data.ns all.ns
	"$NSPROF" diff --event cycles all.$of other.$of >out 2>err
	like "losses: diff --event of each .$of" "$(<err)" "losses differ too much: 90\.9 % of the samples of 'all\.$of', 0\.0 % of 'other"
done
each='[["cycles",1,null],["instructions",2,null]]' forms losses6
like "losses6: they are not known" "$("$NSPROF" info data.ns)" '^ +2 +\? +- +- +instructions'

# ---- old kernels ----
shown() { is "$1" "$(<got)" "made;main;[jit];app_leaf 1"; }
forms oldkernel

# ---- text in the pipe ----
for order in '<' '>'; do
	made text "$order" pipe "$SPIN" data
	for how in file pipe; do
		if [ $how = file ]; then
			"$NSPROF" symbolize data >got 2>err
		else
			# shellcheck disable=SC2002
			cat data | "$NSPROF" import -o data.ns - 2>err
		fi
		is "text, order $order, $how: status" $? 0
		[ $how = file ] || "$NSPROF" symbolize data.ns >got 2>/dev/null
		is "text, order $order, $how: all samples" "$(<got)" "$stack 5"
		is "text, order $order, $how: one warning" "$(grep -c "36 bytes of text among the records of .*>&2" err)" 1
		unlike "text, order $order, $how: no damage" "$(<err)" 'cut|damaged'
	done
done
made hybrid '<' pipe "$SPIN" data
size=$(stat -c %s data)
bad=
for ((cut = size - 60; cut < size; cut++)); do
	head -c $cut data >short
	"$NSPROF" symbolize -q short >got 2>/dev/null
	[ $? = 1 ] || bad+=" $cut"
done
is "cut in its last record: status 1" "$bad" ""
# An empty line is a single byte, which may also be the first byte of a record's type.
"$NSPROF" symbolize -q data >want
for behind in '\n' 'x\n' 'ok'; do
	# shellcheck disable=SC2059
	{ cat data; printf "$behind"; } >longer
	"$NSPROF" symbolize longer >got 2>err
	is "'$behind' behind the last record: status" $? 0
	check "'$behind' behind the last record: all samples" cmp got want
	# shellcheck disable=SC2002
	cat longer | "$NSPROF" import -o data.ns - 2>err
	is "'$behind' behind the last record, from a pipe: status" $? 0
	like "'$behind' behind the last record: one warning" "$(cat err)" '[0-9] bytes? of text among the records'
done

# ---- other files ----
made hybrid '<' file "$SPIN" perf.data
# The header says where the parts of a file lie, so a file from a pipe has to be reassembled first.
"$NSPROF" import -q -o by-name perf.data && "$NSPROF" symbolize -q by-name >want
# shellcheck disable=SC2002
cat perf.data | "$NSPROF" import -q -o by-pipe - 2>err
is "a file from a pipe: status" "$? $(cat err)" "0 "
"$NSPROF" symbolize -q by-pipe >got
check "a file from a pipe: the same stacks" cmp got want
check "there are some" test -s want
printf 'made  4711/4711  12.345678:       1000 cycles: \n\t            1234 main+0x4 (/bin/made)\n\n' >script
printf '# ========\n# captured on    : today\n' >header
printf '<!DOCTYPE html>\n<html></html>\n' >page.html
printf '\n\4\10\1\20\2' >raw.pb
printf '{"version": 1}\n' >some.json
gzip -c perf.data >perf.data.gz
gzip -c raw.pb >profile.pb.gz
gzip -c script >script.gz
printf 'says: ' | cat - data >behind
printf '\375\67zXZ\0\0' >x.xz
printf '\50\265\57\375\0' >x.zst
while IFS='|' read -r file says; do
	for command in import symbolize info report; do
		"$NSPROF" $command $file >out 2>err
		is "$command $file: status" $? 1
		like "$command $file: what it is" "$(cat err)" "'$file' .*it is $says"
	done
done <<'LIST'
perf.data.gz|gzip-compressed perf\.data: decompress it first
profile.pb.gz|a pprof profile
raw.pb|a pprof profile
script.gz|compressed by gzip
x.xz|compressed by xz
x.zst|compressed by zstd
script|text of perf script: fold it with stackcollapse-perf\.pl
header|text of perf script
page.html|a web page
some.json|JSON
behind|perf\.data after text
LIST
"$NSPROF" symbolize <(cat perf.data.gz) >out 2>err
like "through a pipe" "$(cat err)" "it is gzip-compressed perf\.data"
: >empty
"$NSPROF" import empty 2>err
like "empty" "$(cat err)" "'empty' is empty: perf record was killed"
echo "main;x 3" >folded
"$NSPROF" symbolize folded 2>err
like "symbolize: folded text" "$(cat err)" "it is folded text: 'nsprof report' reads it"
done_testing
