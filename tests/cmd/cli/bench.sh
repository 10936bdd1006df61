#!/bin/bash
# timeout: 400
# beside others
# takes: 120
# One short run of the bench: every table is printed, and every tool has really recorded.
. "$(dirname "$0")/../../lib.sh"
need_root
PERF=${PERF:-perf}
need_cmd "$PERF" jq python3 g++
[ -x "$BUILD/tests/targets/units" ] || skip_all "test programs are not built: make test-targets"
"$PERF" record -q -o "$T/probe" -e cpu-clock -a -- true 2>"$T/err" || skip_all "perf cannot record here: $(cat "$T/err")"

# A recording lasts for a third of a second, in which the workload and a perf need a CPU, whatever
# else runs. So they go first, if that is allowed.
first=()
[ "$(nice -n -10 nice 2>/dev/null)" -ge "$(nice)" ] || first=(nice -n -10)

export PERF
unset PERF2
"${first[@]}" "$TOP/tests/bench/run" --quick --tsv "$T/tsv" >"$T/out" 2>"$T/err" &
bench=$!
wait $bench
is "bench: status" $? 0
is "bench: nothing on stderr" "$(cat "$T/err")" ""

# above NAME TABLE TOOL METRIC LIMIT ROWS: there are at least ROWS rows, and in each the metric is
# above LIMIT.
above() {
	local rows
	if awk -F '\t' -v t="$2" -v o="$3" '$1 == t && $3 == o && $4 == "died" { d = 1 } END { exit !d }' "$T/tsv"; then
		skip "$1" "perf script died of its recording"
		return
	fi
	rows=$(awk -F '\t' -v t="$2" -v o="$3" -v m="$4" '$1 == t && $3 == o && $4 == m { print $2 "\t" $6 }' "$T/tsv")
	check "$1" awk -F '\t' -v l="$5" -v want="$6" '{ n++; if ($2 !~ /^-?[0-9.]+$/ || $2 + 0 <= l) bad = 1; print "# " $0 }
		END { exit n < want || bad }' <<<"$rows"
}

for tool in perf perf-z perf-z8 nsprof; do
	above "size: $tool has samples" size $tool samples 0 2
	above "size: $tool has bytes" size $tool bytes_sample 0 2
done
for tool in sandbox none; do
	above "startup: the sandbox's cost, $tool" startup $tool cpu_ms 0 8
done
for tool in perf nsprof; do
	above "fold: $tool has stacks" fold $tool stacks 0 2
	above "fold: $tool has samples" fold $tool samples 0 2
	above "startup: $tool has a first sample after its start" startup $tool first_ms 0 1
	above "memory: $tool has samples" memory $tool samples 0 2
	above "memory: $tool takes memory" memory $tool rss_anon_kib 0 2
	above "cgroups: $tool has samples" cgroups $tool samples 0 2
	above "cgroups: $tool takes time" cgroups $tool cpu 0 2
done
above "fold: nsprof has stacks with inlined functions" fold nsprof-inline stacks 0 2
above "fold: perf with inlined functions takes time" fold perf-inline seconds 0 2
for tool in perf nsprof nsprof-inline; do
	above "foldcpu: $tool has stacks" foldcpu $tool stacks 0 2
	above "foldcpu: $tool takes time" foldcpu $tool cpu 0 2
done
above "million: there are stacks" million nsprof stacks 0 6
above "million: it takes time" million nsprof seconds 0 6
above "memory: nsprof saw members of the crowd" memory nsprof members 0 2
for tool in perf perf-z nsprof; do
	above "busy: $tool has samples" busy $tool samples 0 2
	above "busy: $tool takes time" busy $tool cpu 0 2
	above "slowdown: $tool has samples" slowdown $tool samples 0 1
	above "slowdown: work goes on under $tool" slowdown $tool units_second 0 1
	above "execs: $tool has samples of the storm" execs $tool storm_samples 0 2
	above "execs: the storm goes on under $tool" execs $tool execs_second 0 2
done
for tool in addr2line nsprof nsprof-symbols; do
	above "lookup: $tool has names" lookup $tool lines 50 2
	above "lookup: $tool takes time" lookup $tool seconds 0 2
done
for how in all all-reuse; do
	above "unwind: $how has frames" unwind $how frames 0 4
	above "unwind: $how takes time" unwind $how ns 0 4
done
above "diff: pairs were compared" diff nsprof critical 0 3
for what in svg diff; do
	above "pictures: $what shows something" pictures $what bytes 100 4
	above "pictures: $what takes time" pictures $what seconds 0 4
done
for tool in perf perf-z nsprof; do
	above "switches: $tool has samples" switches $tool samples 0 1
	above "switches: $tool has bytes" switches $tool bytes_switch 0 1
done
for tool in none perf nsprof; do
	above "pingpong: it goes on under $tool" pingpong $tool rate 0 2
done
for tool in none perf-sched nsprof nsprof-wakeups; do
	above "wakeups: the ping-pong goes on under $tool" wakeups $tool rate 0 2
done
for tool in perf-sched nsprof-wakeups; do
	above "wakeups: $tool has some" wakeups $tool wakeups 0 2
	above "wakeups: $tool has bytes" wakeups $tool bytes_wakeup 0 2
done
for tool in perf nsprof; do
	above "walltime: $tool has samples or switches" walltime $tool wall_percent -1 1
	above "alternate: $tool has samples" alternate $tool samples 0 2
	above "beside: $tool has samples of the clock" beside $tool clock 0 2
done
above "beside: the tracepoint came" beside nsprof events -1 2
for tool in perf-z nsprof; do
	above "eventsize: $tool has all events" eventsize $tool "all bytes" 0 1
	above "eventsize: $tool has the second one" eventsize $tool "all page-faults" 0 1
done
above "wakeups: nsprof takes time for them" wakeups nsprof-wakeups us_wakeup 0 2
is "all tables are printed" "$(grep -c '^### ' "$T/out")" 21
# Each row needs as many cells as its head, or it is not a table.
check "every row has all its cells" awk -F '|' '!/^\|/ { head = 0; next } !head { head = NF } NF != head { print; bad = 1 } END { exit bad }' "$T/out"

# A second perf beside the first: the same perf under another name.
printf '#!/bin/sh\necho "$1" >>"%s"\n[ "$1" = --version ] && echo perf version 99.9 && exit\nexec "%s" "$@"\n' "$T/log2" "$(command -v "$PERF")" >"$T/perf2"
# A program that sums up periods, as stackcollapse-perf.pl does where perf script prints them.
printf '#!/bin/sh\nawk "END { print \\"a;b 5494490000\\" }"\n' >"$T/periods"
chmod +x "$T/perf2" "$T/periods"
STACKCOLLAPSE=$T/periods PERF2=$T/perf2 "${first[@]}" "$TOP/tests/bench/run" --quick --only foldcpu,startup --tsv "$T/tsv" >"$T/out" 2>"$T/err"
is "two perfs: status" $? 0
is "two perfs: nothing on stderr" "$(cat "$T/err")" ""
for tool in perf perf2 nsprof; do
	above "two perfs: $tool has stacks" foldcpu $tool stacks 0 2
	above "two perfs: $tool has samples" foldcpu $tool samples 0 2
	check "two perfs: what $tool has are samples, not periods" awk -F '\t' -v o=$tool '$1 == "foldcpu" && $3 == o && $4 == "samples" {
		n++; if ($6 > 100000) bad = 1; print "# " $0 } END { exit !n || bad }' "$T/tsv"
	above "two perfs: $tool takes time" foldcpu $tool cpu 0 2
	above "two perfs: $tool has a first sample" startup $tool first_ms 0 1
done
is "two perfs: a row for each of them" "$(awk -F '|' '$3 ~ /^ perf / { n[$2 $3]++ } END { for (k in n) print k }' "$T/out" | grep -c 'perf 99.9')" 4
check "two perfs: the second one has recorded" grep -q record "$T/log2"

"$TOP/tests/bench/run" --only nonsense >"$T/out" 2>"$T/err"
is "a table that is not there: status" $? 1
like "a table that is not there: said" "$(cat "$T/err")" "no table 'nonsense'; there are size"
is "no cgroup is left" "$(find /sys/fs/cgroup -maxdepth 3 -type d -name "nsprof-bench-$bench" 2>/dev/null | wc -l)" 0
done_testing
