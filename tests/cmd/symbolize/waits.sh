#!/bin/bash
# Time off the CPU from switches and sampled stacks (tools/made_waits.py): sums are exact to the
# nanosecond, with frames for reason and state, also when only some waits have a sample, when several
# threads read the recording, and by --time, --filter and --all. Missing switches are told.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 nm readelf jq
need_target spin
cd "$T" || exit 2
export NO_COLOR=1
made() { python3 "$TOP/tests/tools/made_waits.py" "$1" "$BUILD/tests/targets/spin" data ks >truth; }
sym() { "$NSPROF" symbolize -q --kallsyms ks -i ns "$@"; }
# The truth as lines of folded text with the caller, reason and state: "THREAD FUNCTION REASON STATE NS".
shorten() {
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";"); state = f[k]; reason = f[k - 1] ~ /^\[/ ? f[k - 1] : "-"; fn = "-";
		for (i = 1; i <= k; i++) if (f[i] ~ /^app_/) fn = f[i]
		gsub(/ /, "_", reason); sum[f[1] " " fn " " reason " " state] += n }
		END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' | sort
}
want() { grep -v '^on ' truth | sed 's/\[page fault\]/[page_fault]/' | sort; }
sum() { awk '{ n += $NF } END { printf "%.0f\n", n }'; }
truth_of() { awk -v who="$1" '$1 == who && $1 != "on" { n += $NF } END { print n + 0 }' truth; }

made every
check "imported" "$NSPROF" import -q -o ns data
is "each wait by thread, function, reason and state" "$(sym --event off-cpu --all | shorten)" "$(want)"
is "the first wait names a function of the program" "$(sym --event off-cpu --all | grep -c '^alternate;main;app_outer;futex_wait;futex_wait_queue;schedule;\[futex\];\[blocked\] ')" 1
is "a thread that is in one place all the time is parked" "$(sym --event off-cpu | grep '^polls;.*blocked')" \
	"polls;[parked];[epoll];[blocked] $(awk '$1 == "polls" && /epoll/ { print $NF }' truth)"
is "--by state" "$(sym --event off-cpu --all --by state,comm | grep '^\[runnable\];mixed;main' | sum)" "$(awk '/^mixed app_outer - / { print $NF }' truth)"
is "--by state: the state is a frame once" "$(sym --event off-cpu --all --by state | grep -c 'runnable.*runnable\|blocked.*blocked')" 0
is "the wall clock of a thread" "$(sym --event wall --filter comm=mixed | sum)" \
	$(($(truth_of mixed) + $(awk '/^on mixed / { print $3 }' truth)))
is "of which it ran" "$(sym --event wall | grep '^mixed;main;app_.*;\[running\] ' | sum)" "$(awk '/^on mixed / { print $3 }' truth)"
is "a filter keeps its thread's time" "$(sym --event off-cpu --filter comm=alternate | sum)" "$(truth_of alternate)"
like "times of --filter end to end are the whole" "$(($(sym --event off-cpu --all --filter time=0-0.2 | sum) + $(sym --event off-cpu --all --filter time=0.2- | sum)))" \
	"^$(sym --event off-cpu --all | sum)$"
sym --all --format profile >p
is "a profile has the same time" "$("$NSPROF" report -q --csv --no-children --limit 0 --percent-limit 0 --event off-cpu -i p | awk -F, 'NR > 1 { n += $2 } END { printf "%.0f\n", n }')" \
	"$(sym --event off-cpu --all | sum)"
rows() { "$NSPROF" report -q --json --limit 0 --percent-limit 0 -i p "$@"; }
is "report: a column for each state" "$(rows --event off-cpu --sort comm | jq -r '.rows[] | "\(.comm) [runnable] \(.runnable)", "\(.comm) [blocked] \(.blocked)"' | grep -v ' 0$' | sort)" \
	"$(grep -v '^on ' truth | awk '{ k = $1 " " $(NF - 1); n[k] += $NF } END { for (k in n) print k, n[k] }' | sort)"
is "for each function, too" "$(rows --event off-cpu --sort comm,symbol | jq '.rows[] | select(.comm == "mixed" and .symbol == "app_outer") | .runnable')" \
	"$(awk '/^mixed app_outer - / { print $NF }' truth)"
is "report --symbols: one state" "$(rows --event off-cpu --sort comm --symbols '[runnable]' | jq -c '[.rows[].runnable] | [add]')$(rows --event off-cpu --sort comm --symbols '[runnable]' | jq -c '[.rows[] | has("blocked")] | unique')" \
	"[$(awk '$1 != "on" && $(NF - 1) == "[runnable]" { n += $NF } END { printf "%.0f", n }' truth)][false]"
is "what a thread waits for is a row, its state is none" "$(rows --event off-cpu --sort symbol | jq -r '.rows[].symbol | select(startswith("["))' | sort | tr '\n' ' ')" \
	"[epoll] [futex] [page fault] [sleep] [starting] "
is "Self is the function that waits or is held back, not the scheduler or the reason" "$(rows --event off-cpu --no-children --sort symbol | jq -r '.rows[].symbol' | LC_ALL=C sort | tr '\n' ' ')" \
	"[starting] app_outer do_nanosleep ep_poll folio_wait_bit_common futex_wait_queue "
for sym in do_nanosleep '[sleep]'; do
	is "report --symbols $sym: that time and no other" "$(rows --event off-cpu --no-children --sort symbol --symbols "$sym" | jq -c '[.rows[] | [.symbol, .period]]')" \
		"$(rows --event off-cpu --no-children --sort symbol | jq -c '[.rows[] | select(.symbol == "do_nanosleep") | [.symbol, .period]]')"
done
is "and it is all of its time" "$(rows --event off-cpu --no-children --sort symbol | jq '.rows[] | select(.symbol == "do_nanosleep") | .period')" \
	"$(awk '/ \[sleep\] / { n += $NF } END { printf "%.0f\n", n }' truth)"
if command -v chromium >/dev/null && command -v node >/dev/null; then
	"$NSPROF" report -q --event off-cpu --format html -o off.html -i p
	TMPDIR=$T timeout 100 node "$TOP/tests/tools/page.js" off.html "$TOP/tests/tools/events_page.js" >did 2>&1
	is "the page's table has the same" "$(awk '$1 ~ /%$/ && $1 + 0 > 0 { print $3, $NF }' did | tr -d , | sort -u)" \
		"$(rows --event off-cpu --no-children --sort symbol | jq -r '.rows[] | "\(.period) \(.symbol)"' | sort)"
else
	skip "the page's table" "chromium or node is not installed"
fi
is "each event has its own" "$(rows --sort comm | jq -r '.rows[] | select(.comm == "polls") | to_entries[].key | select(test("run|block|thr"))' | tr '\n' ' ')" \
	"runnable:off-cpu blocked:off-cpu running:wall runnable:wall blocked:wall "
is "of the wall clock, too" "$(rows --sort comm | jq -r '.rows[] | select(.["period:wall"] > 0) | "on \(.comm) \(.["running:wall"])"' | grep -v ' 0$' | sort)" "$(grep '^on ' truth | sort)"
like "as text" "$("$NSPROF" report --event off-cpu --sort comm -i p)" '^# Children +Self +Period +Runnable +Blocked +Command$'
like "and says what adds up" "$("$NSPROF" report --event off-cpu -i p 2>&1)" 'threads: [0-9.]+ s = [0-9.]+ s on a CPU \+ [0-9.]+ s off it; running [0-9.]+ s, runnable [0-9.]+ s, blocked'
like "several events have no sum" "$("$NSPROF" report -i p 2>&1)" "^# 3 events in [0-9]+ different stacks, from 'p'\$"
like "the amount is named" "$("$NSPROF" report -i p 2>&1)" '# event off-cpu: [0-9]+ waits, [0-9.]+ s off the CPU,'
is "report: --by state in the call tree" "$(rows --event off-cpu -g --by state | jq -r '.tree[] | select(.depth == 1) | .symbol' | sort | xargs)" "[blocked] [runnable]"
"$NSPROF" report --event off-cpu -i p >plain 2>err
"$NSPROF" report --event off-cpu --by state -i p >by 2>by.err
check "report: a table is the same with --by state" cmp by plain
is "which a warning says" "$(grep -v -x -F -f err by.err)" \
	"nsprof report: warning: --by state is ignored: it is for the call tree (-g) and the flame graph (--format html or svg); a table has a column for each state"
"$NSPROF" symbolize -q --kallsyms ks -i ns --event wall --all --split-by state -o states
is "--split-by state: files" "$(cd states && echo *)" "blocked.folded runnable.folded running.folded"
"$NSPROF" report -q -i p --event wall --by state,comm --format svg -o p.svg
is "a picture has a color for each state" "$(grep -o 'data-k="s"><[^>]*fill="#[0-9a-f]*"' p.svg | grep -o '#.*' | sort -u | wc -l | tr -d ' ')" 3
like "whose tips say what time it is" "$(grep -o 'data-of="[^"]*"' p.svg)" '="of wall time"'
like "each event has what it counts" "$("$NSPROF" report -q -i p --weight samples)" 'Self +Waits .*Self +Samples '
cp p p2
like "diff compares time off the CPU" "$("$NSPROF" diff --event off-cpu p p2 2>/dev/null)" '^# time off the CPU per function'
"$NSPROF" diff -q --all --event off-cpu ns ns --format csv >same.csv
is "diff --all: nothing is parked" "$(grep -c parked same.csv)/$("$NSPROF" diff -q --event off-cpu ns ns --format csv | grep -c parked)" 0/1
sym --format pprof -o p.gz
is "pprof: a type that Pyroscope knows" "$(gzip -dc p.gz | grep -ac off_cpu)" 1
check_rc "export: the wall clock has no samples of its own" 1 "$NSPROF" export --event wall -o x.perf ns
like "which it says" "$(cat "$T/check.err")" "the event 'wall' has no samples of its own to export; without --event"
for state in runnable blocked; do
	is "--filter state=$state" "$(sym --event off-cpu --all --filter state=$state)" "$(sym --event off-cpu --all | grep "\[$state\] [0-9]*\$")"
	is "report --filter state=$state: that column" "$(rows --event off-cpu --sort comm --filter "state=[$state]" | jq -c "[.rows[] | [.comm, .$state, .period]] | sort")" \
		"$(rows --event off-cpu --sort comm | jq -c "[.rows[] | select(.$state > 0) | [.comm, .$state, .$state]] | sort")"
done
is "wall: what ran" "$(sym --event wall --filter state=running,comm=mixed | sum)" "$(awk '/^on mixed / { print $3 }' truth)"
is "two states add up" "$(sym --event off-cpu --all --filter state=runnable --filter state=blocked | sum)" "$(sym --event off-cpu --all | sum)"
is "a profile of a recording has the same" "$("$NSPROF" report -q --json -i ns --all --filter state=blocked --event off-cpu --sort comm | jq '[.rows[].period] | add')" \
	"$(sym --event off-cpu --all --filter state=blocked | sum)"
is "a clock's samples are of running threads" "$(sym --event cpu-clock --filter state=running)" "$(sym --event cpu-clock)"
check_rc "no wait in a state" 1 "$NSPROF" symbolize --event off-cpu --filter state=throttled ns
like "which it says" "$(<"$T/check.err")" 'no sample matches all --filter conditions: state=throttled matches none of them'
check_rc "in a profile, too" 1 "$NSPROF" report --event off-cpu --filter state=throttled -i p
check_rc "no such state" 129 "$NSPROF" report --filter state=asleep -i ns
like "which lists them" "$(<"$T/check.err")" "--filter state= takes running, runnable, blocked or throttled, not 'asleep'"
check_rc "script does not know them" 129 "$NSPROF" script --filter state=blocked -i ns
is "annotate does" "$("$NSPROF" annotate -q --json --event wall --filter state=runnable -i ns app_outer | jq .functions[0].period)" \
	"$(sym --event wall --keep-parked --filter state=runnable | grep ';app_outer;' | sum)"
for event in off-cpu wall; do
	for fn in app_outer main; do
		is "annotate: $event at the calls of $fn" "$("$NSPROF" annotate -q --json --event $event -i ns $fn | jq '[.functions[].instructions[].period] | add')" \
			"$(sym --event $event --keep-parked | grep ";$fn;" | sum)"
	done
done
is "it is what is known" "$("$NSPROF" annotate -q --json --event off-cpu -i ns app_outer | jq .functions[0].period)" \
	"$(awk '$2 == "app_outer" { n += $NF } END { printf "%.0f\n", n }' truth)"
like "as text" "$("$NSPROF" annotate -q --event off-cpu -i ns app_outer)" '^ Percent +Waits \| app_outer: [0-9]+ waits of off-cpu, [0-9.]+% of all [0-9]+ ns$'
check_rc "annotate: no wait there" 1 "$NSPROF" annotate --event off-cpu -i ns app_leaf
like "which it says" "$(cat "$T/check.err")" "no wait was in a function 'app_leaf' or in what it calls; most were in:"
"$NSPROF" info --json ns >info
is "info: on + off = wall for each thread" "$(jq '[.cpu_times.threads[] | .on_ns + .off_ns + .unknown_ns == .wall_ns] | all' info)" true
is "info: nothing is unknown" "$(jq '.cpu_times.unknown_ns + .cpu_times.gaps' info)" 0
is "info: the time on a CPU" "$(jq -r '.cpu_times.threads[] | "on \(.comm) \(.on_ns)"' info | sort)" "$(grep '^on ' truth | sort)"
like "info: as text" "$("$NSPROF" info ns)" ' wall +on +off +unknown +thread'
like "--stats: the sums" "$(sym --event off-cpu --stats 2>&1 >/dev/null)" 'threads?: [0-9.]+ s = [0-9.]+ s on a CPU \+ [0-9.]+ s off it$'

# Until a thread runs, nobody knows where it waits. If it then idles in one place, it did so before.
for when in early middle late; do
	made $when
	cp truth $when.truth
	"$NSPROF" import -q -o ns data
	is "a thread that wakes once is parked ($when)" "$(sym --event off-cpu | grep '^idles;')" "idles;[parked];[epoll];[blocked] $(truth_of idles)"
	is "in the wall clock, too" "$(sym --event wall | grep '^idles;.*blocked' | sum)" "$(truth_of idles)"
	is "--all has it where it was" "$(sym --event off-cpu --all | grep -c '^idles;.*\(\[before recording\]\|ep_poll;schedule;\[epoll\]\);\[blocked\]')" 2
	[ $when != middle ] || is "one that waits in two places is not" "$(sym --event off-cpu | grep -c '^busy;.*parked')" 0
	sym --format profile --keep-parked -o $when
	"$NSPROF" diff -q --event off-cpu --format csv $when $when >parked.csv
	is "diff has the same" "$(awk -F, '/parked/ { printf "%.6f %.6f\n", $9, $10 }' parked.csv)" \
		"$(sym --event off-cpu | awk '{ all += $NF } /\[parked\]/ { n += $NF } END { printf "%.6f %.6f\n", n / all, n / all }')"
done

# What is parked on one side only, or was never seen to wait, is no change.
# Some last over many blocks of time.
is "a wait counts once, however long it is" "$("$NSPROF" report -i late 2>&1 | sed -n 's/^# event off-cpu: \([0-9]*\) waits.*/\1/p')" \
	"$(sym --event off-cpu --keep-parked --weight samples | sum)"
like "diff counts them" "$("$NSPROF" diff --event off-cpu early late 2>/dev/null)" "^# after: +'?late'?, [0-9]+ waits, "
"$NSPROF" diff -q --event off-cpu --format csv early late >parked.csv
is "diff: what is parked on one side is so on both" "$(awk -F, '/parked/ { printf "%.6f %.6f\n", $9, $10 }' parked.csv)" \
	"$(for when in early late; do
		awk '$1 != "on" { all += $NF } /^polls .*epoll/ || /^idles / { n += $NF } END { printf "%.6f\n", n / all }' $when.truth
	done | paste -sd' ')"
is "and is nowhere else" "$(grep -c 'ep_poll\|before recording' parked.csv)" 0

made some
"$NSPROF" import -q -o ns data
is "some waits without a sample: the same sums" "$(sym --event off-cpu --all | shorten)" "$(want)"
# Viewers add up what they are given: waits as they are weighed, not only those with a sample.
firefox() { python3 "$TOP/tests/tools/firefox_profile.py" "$@"; }
by_state() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); k = split($0, f, ";"); sum[f[1] " " f[k]] += n } END { for (s in sum) printf "%s %.0f\n", s, sum[s] }' "$@" | sort; }
for event in off-cpu wall; do
	sym --event $event --all --format firefox -o firefox
	is "firefox: $event, as the profiler's types have it" "$(firefox check firefox 2>&1)" ""
	firefox fold firefox >fox.folded
	sym --event $event --all | LC_ALL=C sort >want.folded
	is "firefox: the stacks of folded text" "$(sed 's/ [0-9]*$//' fox.folded)" "$(sed 's/ [0-9]*$//' want.folded)"
	is "firefox: the ns of each thread and state" "$(by_state fox.folded)" "$(by_state want.folded)"
done
sym --format speedscope --all -o speedscope
for event in off-cpu wall; do
	is "speedscope: $event in ns" "$(jq -c --arg e "$event: " '[.profiles[] | select(.name | startswith($e))] | [([.[].unit] | unique | .[]), ([.[].weights[]] | add)]' speedscope)" \
		"[\"nanoseconds\",$(sym --event $event --all | sum)]"
	unlike "$event: waits are not called events" "$("$NSPROF" symbolize --kallsyms ks -i ns --event $event 2>&1 >/dev/null)" 'counts are events'
done
is "firefox: a row for each, within a thread that waits all the time" "$(jq '[.threads[].samples | [.time, .stack] | transpose | [.[] | select(.[1])] | [.[:-1], .[1:]] | transpose[] |
	select(.[0][0] >= .[1][0])] | length' firefox)" 0
sym --event off-cpu --format firefox --filter state=runnable -o firefox
is "firefox: one state" "$(firefox fold firefox)" "$(sym --event off-cpu --filter state=runnable | LC_ALL=C sort)"
sym --event off-cpu --format firefox --weight samples -o firefox
is "firefox: numbers of waits" "$(jq '[.threads[].samples.weight[]] | add' firefox)" "$(sym --event off-cpu --weight samples | sum)"

# Without symbols of the kernel. A sample stands for many waits.
is "shares of what has no name are 100 % at most" "$("$NSPROF" symbolize --event off-cpu --all --stats -i ns 2>&1 >/dev/null | awk '$3 == "%" && $2 > 100 { n++ } END { print n + 0 }')" 0

made lost
"$NSPROF" import -q -o ns data
like "missing switches are told" "$(sym --event off-cpu 2>&1 >/dev/null; "$NSPROF" symbolize --event off-cpu ns 2>&1 >/dev/null)" 'switches are missing'
is "and what is unknown is the rest" "$("$NSPROF" info --json ns | jq '[.cpu_times.threads[] | .on_ns + .off_ns + .unknown_ns == .wall_ns] | all and (map(.) | length > 0)')" true

made many
"$NSPROF" import -q -o ns data
sym --event off-cpu --all >folded
is "read by several threads, the same sums" "$(shorten <folded)" "$(want)"
check "and the same text as by one" cmp folded <(taskset -c 0 "$NSPROF" symbolize -q --kallsyms ks -i ns --event off-cpu --all)
done_testing
