#!/bin/bash
# A perf.data of several events: the import keeps them all, each output shows them apart, and export
# writes them so that perf reads what it recorded itself.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
have_perf || skip_all "perf is not installed"
need_cmd jq python3
TOOLS=$TOP/tests/tools
SPIN=$BUILD/tests/targets/spin
[ -x "$SPIN" ] || skip_all "$SPIN is not built (make test-targets)"
cd "$T" || exit 1
export NO_COLOR=1

# Each event has samples: the loop sleeps and forks.
work=(bash -c 'for i in 1 2 3 4 5 6; do "$0" --cpu 0.03; sleep 0.01; done; exit 0' "$SPIN")
perf --buildid-dir cache record -q -B -N -F 499 -g -e cpu-clock -e context-switches -e page-faults -o p.data -- "${work[@]}" >log 2>&1 ||
	skip_all "perf record does not work here: $(tail -n 1 log)"
events=(cpu-clock context-switches page-faults)
# perf's own samples by event; it appends the modifiers that it chose itself.
perf script -F event,period -i p.data 2>err | awk 'NF { sub(/:[a-zA-Z]*:$/, ":", $2); n[$2]++; sum[$2] += $1 } END { for (e in n) print e, n[e], sum[e] }' | sort >want
for e in "${events[@]}"; do
	grep -q "^$e: " want || skip_all "perf recorded no sample of $e here"
done

check "imported" "$NSPROF" import -q -o ns p.data
"$NSPROF" script -q -F event,period ns | awk 'NF { sub(/:[a-zA-Z]*:$/, ":", $2); n[$2]++; sum[$2] += $1 } END { for (e in n) print e, n[e], sum[e] }' | sort >got
check "script has perf's samples and periods of each event" cmp got want
count() { awk -v e="$1:" '$1 == e { print $2 }' want; }
total() { awk '{ n += $NF } END { print n + 0 }'; }
for e in "${events[@]}"; do
	is "symbolize --event $e" "$("$NSPROF" symbolize -q --weight samples --event "$e" ns | total)" "$(count "$e")"
	is "the same from the perf.data" "$("$NSPROF" symbolize -q --event "$e" p.data)" "$("$NSPROF" symbolize -q --event "$e" ns)"
done
"$NSPROF" symbolize ns >folded 2>err
is "the first event is the default" "$(cat folded)" "$("$NSPROF" symbolize -q --event cpu-clock ns)"
is "a line says so" "$(grep -c "'ns' has 3 events, and this is 'cpu-clock.*'context-switches.*'page-faults.*--by event shows all" err)" 1
"$NSPROF" symbolize -q --by event,comm --weight samples ns >by
for e in "${events[@]}"; do
	is "--by event: $e" "$(sed -nE "s/^$e(:[a-z]+)?;//p" by)" "$("$NSPROF" symbolize -q --weight samples --event "$e" ns)"
done
"$NSPROF" symbolize -q --split-by event -o dir ns
is "--split-by event" "$(cat dir/page-faults*.folded)" "$("$NSPROF" symbolize -q --event page-faults ns)"

# ---- other formats ----
"$NSPROF" symbolize -q --format profile -o profile ns
for e in "${events[@]}"; do
	name=$(awk -F'\t' -v e="$e" '$1 == "V" && $2 == e { print $2 ($3 == "" ? "" : ":" $3) }' profile)
	is "a saved profile: $e" "$(python3 "$TOOLS/unprofile.py" profile samples "$name")" \
		"$("$NSPROF" symbolize -q --annotate --by thread --weight samples --event "$e" ns)"
done
"$NSPROF" report -q --json --limit 0 --percent-limit 0 ns >report
is "report has the samples of each" "$(jq -r '.events[] | "\(.event | sub(":.*"; "")): \(.samples) \(.period)"' report | sort)" "$(cat want)"
"$NSPROF" symbolize -q --format pprof -o pprof ns
is "pprof has two values for each" "$(python3 - <<PY
import gzip, sys
sys.path.insert(0, '$TOOLS')
from protobuf import fields, packed
p = fields(gzip.open('pprof').read())
strings = [v.decode() for v in p[6]]
types = [tuple(strings[fields(v)[k][0]] for k in (1, 2)) for v in p[1]]
sums = [sum(v) for v in zip(*(packed(fields(s)[2][0]) for s in p[2]))]
names = [t for t, _ in types]
assert len(types) == len(sums) == 6 and names[:2] == ['samples', 'cpu'] and types[1][1] == 'nanoseconds', types
assert strings[p[14][0]] == 'cpu', p[14]
for i, n in enumerate(('cpu-clock', 'context-switches', 'page-faults')):
    assert not i or (names[2 * i + 1].startswith(n) and names[2 * i] == names[2 * i + 1] + ':samples'), names
    print(n + ':', sums[2 * i], sums[2 * i + 1])
PY
)" "$(for e in "${events[@]}"; do grep "^$e: " want; done)"
"$NSPROF" symbolize -q --format speedscope --weight samples -o speedscope ns
is "speedscope has profiles of each" "$(jq -r '.profiles[] | "\(.name | split(":")[0]): \(.endValue)"' speedscope | awk '{ n[$1] += $2 } END { for (e in n) print e, n[e] }' | sort)" \
	"$(cut -d' ' -f1,2 want)"
"$NSPROF" symbolize -q --format firefox --event page-faults -o firefox ns
is "a Firefox profile has one" "$(jq '[.threads[].samples.length] | add' firefox)" "$(count page-faults)"
if command -v stackcollapse-perf.pl >/dev/null; then
	for e in "${events[@]}"; do
		name=$("$NSPROF" script -F event ns | awk -v e="$e" 'index($1, e) == 1 { sub(/:$/, "", $1); print $1; exit }')
		is "stackcollapse-perf.pl --event-filter $e" "$("$NSPROF" script -q ns | stackcollapse-perf.pl --event-filter="$name" 2>/dev/null | total)" \
			"$("$NSPROF" symbolize -q --weight period --event "$e" ns | total)"
	done
else
	skip "stackcollapse-perf.pl --event-filter" "it is not installed"
fi

# ---- export ----
"$NSPROF" export -q -o out.data ns
perf report --header-only -i out.data >header 2>err
is "perf reads the header" "$(sed -nE 's/^# event : name = ([a-z-]+).*/\1/p' header | xargs)" "${events[*]}"
lines() { perf script -F tid,time,event,period,ip -i "$1" 2>>err | sed -E 's/(cpu-clock|context-switches|page-faults):[a-zA-Z]+:/\1:/' | sed -E 's/^ +//; s/ +/ /g'; }
: >err
# Callers of exported stacks are addresses of calls, not return addresses: only heads are compared.
check "perf script has the samples of each event" cmp <(lines out.data | grep : | sort) <(lines p.data | grep : | sort)
is "and again after an import" "$("$NSPROF" import -q -o again out.data; "$NSPROF" script -q -F event,period again | awk 'NF { sub(/:[a-zA-Z]*:$/, ":", $2); n[$2]++; sum[$2] += $1 } END { for (e in n) print e, n[e], sum[e] }' | sort)" "$(cat want)"
"$NSPROF" export -q --event page-faults -o one.data ns
is "export --event" "$(perf script -F event -i one.data 2>/dev/null | grep -c page-faults)" "$(count page-faults)"

# ---- a group that its leader samples ----
if perf --buildid-dir cache record -q -B -N -g -c 1000000 -e '{cpu-clock,page-faults}:S' -o g.data -- "${work[@]}" >log 2>&1; then
	"$NSPROF" import -q -o group g.data
	"$NSPROF" script -q -F event,period group >got
	is "the leader has a sample for each of perf's" "$(grep -c cpu-clock got)" "$(perf script -F event -i g.data 2>/dev/null | grep -c cpu-clock)"
	# perf report: "Samples: 3  of event 'page-faults'", then "Event count (approx.): 55".
	perf report --no-group --stdio --no-children -i g.data >report 2>/dev/null
	for e in cpu-clock page-faults; do
		is "in a group, $e has what it counted" "$(awk -v e=$e 'index($2, e) == 1 { n += $1 } END { print n + 0 }' got)" \
			"$(awk -v e=$e '/^# Samples: / { it = index($0, e) } it && /^# Event count/ { print $NF; exit }' report)"
	done
else
	skip "a group" "perf record cannot sample a group here: $(tail -n 1 log)"
fi
# ---- part of a name ----
if perf record -q -B -N -e 'sched:sched_process_fork,sched:sched_process_exec' -o t.data -- "${work[@]}" >log 2>&1; then
	is "--event takes a part of a name, as in a recording" "$("$NSPROF" script -q --event process_fork -F event t.data)" \
		"$("$NSPROF" script -q --event sched:sched_process_fork -F event t.data)"
	check_rc "but not of several" 1 "$NSPROF" script --event sched: t.data
	like "which are listed" "$(cat "$T/check.err")" "it has 'sched:sched_process_fork', 'sched:sched_process_exec'"
else
	skip "part of a name" "perf records no tracepoints here: $(tail -n 1 log)"
fi
# ---- fields of tracepoints ----
# perf's own words for sched_process_fork are "comm=bash pid=1 child_comm=bash child_pid=2".
if perf record -q -B -N -R -e sched:sched_process_fork -o t.data -- "${work[@]}" >log 2>&1; then
	perf script -F trace -i t.data 2>/dev/null | sed -nE 's/.*comm=(.*) pid=([0-9]+) child_comm=.* child_pid=([0-9]+) *$/\1 \2 \3/p' | sort >want
	check "perf has fields" test -s want
	ours() { "$NSPROF" script -q -F event,trace "$1" | sed -nE 's/.*parent_comm=(.*) parent_pid=([0-9]+) .*child_pid=([0-9]+)$/\1 \2 \3/p' | sort; }
	"$NSPROF" import -q --fields=all -o t.ns t.data
	is "import --fields=all: perf's values" "$(ours t.ns)" "$(cat want)"
	"$NSPROF" import -q --fields -o t.ns t.data
	is "import --fields: without text" "$(ours t.ns)" "$(sed 's/^[^ ]*//' want | sort)"
	is "settings say so" "$("$NSPROF" info --json t.ns | jq -r .settings.fields)" numbers
	"$NSPROF" import -q -o t.ns t.data
	is "import: none" "$("$NSPROF" script -q -F trace t.ns | grep -c .)" 0
else
	skip "fields of tracepoints" "perf records none here: $(tail -n 1 log)"
fi
done_testing
