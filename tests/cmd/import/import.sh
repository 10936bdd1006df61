#!/bin/bash
# timeout: 400
# beside others
# takes: 50
# perf.data from perf itself, other machines, other versions and accidents is imported, and also
# read directly by our programs. The stacks are those of perf script, frame for frame.
. "$(dirname "$0")/../../lib.sh"
need_root
have_perf || skip_all "perf is not installed"
TARGETS=$BUILD/tests/targets
PD() { python3 "$TOP/tests/tools/perfdata.py" "$@"; }

perf_rec() { # FILE OPTIONS... -- COMMAND...
	local out=$1
	shift
	perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -o "$out" "$@" >"$T/perf.log" 2>&1
}

folded() { # FILE OUT
	"$NSPROF" symbolize -q --no-inline -o "$2" "$1" 2>"$T/err"
}

# perf's stacks in our notation: no symbol versions, "?" for a frame without a name.
perf_folded() { # FILE OUT
	perf script --no-inline --max-stack 1024 -i "$1" >"$2.txt" 2>"$T/err" && awk -f "$TOP/tests/bench/fold-perf.awk" "$2.txt" | sed 's/@@*[A-Za-z0-9_.]*//g' >"$2"
}

# COMMAND for a second of CPU time, however busy this machine is.
second=(bash -c 'ulimit -c 0 -t 1; "$@"; exit 0' -)

samples() { awk '{ n += $NF } END { print n + 0 }' "$1"; }

if ! perf_rec "$T/a.data" -F 499 --call-graph dwarf,16384 -- "$TARGETS/spin" --cpu 1; then
	skip_all "perf record does not work here: $(tail -n 1 "$T/perf.log")"
fi

# ---- as perf has it ----
perf_folded "$T/a.data" "$T/a.perf" || skip_all "perf script does not work here: $(tail -n 1 "$T/err")"
check "imported" "$NSPROF" import -q -o "$T/a.ns" "$T/a.data"
folded "$T/a.ns" "$T/a.folded"
check "there are samples" test "$(samples "$T/a.folded")" -ge 50
# In the C library's code before and in between, an address may have several names, and perf takes
# another one.
of_spin() { grep -F ";main;app_" "$1"; }
check "most of them are of the program's own functions" test $((10 * $(samples <(of_spin "$T/a.folded")))) -ge $((9 * $(samples "$T/a.folded")))
check "the stacks are perf's, frame for frame" cmp <(of_spin "$T/a.folded") <(of_spin "$T/a.perf")
check "masked: a fraction of perf.data" test $((100 * $(stat -c %s "$T/a.ns"))) -lt "$(stat -c %s "$T/a.data")"
"$NSPROF" info "$T/a.ns" >"$T/info"
check "it says that it was imported" grep -q '^imported  ' "$T/info"
# perf 7.2 writes its own path and no arguments.
is "and from which command" "$(sed -nE 's/^cmdline +//p' "$T/info")" "$(perf report --header-only -i "$T/a.data" 2>/dev/null | sed -nE 's/^# cmdline : (.*[^ ]) *$/\1/p')"
check "event without its modifier" grep -q '^event  *cpu-clock$' "$T/info"

# Sample by sample, by the addresses in user code: perf 6.1 sometimes loses the outermost frames of
# deep stacks, and callers of libc's leaves.
alike() { # NAME FILE: prints how many are equal, and how many are only partial in perf
	local all
	perf script --no-inline --max-stack 1024 -i "$2" >"$T/perf.txt" 2>"$T/err" || echo "# perf script: $?: $(tail -n 3 "$T/err")"
	"$NSPROF" script -q --no-inline "$2" >"$T/our.txt"
	read -ra all < <(python3 "$TOP/tests/tools/same_stacks.py" "$T/perf.txt" "$T/our.txt" 2>"$T/err")
	check "$1: samples" test $((all[0] + all[1])) -ge 30
	is "$1: no stack but perf's, or with frames that perf lost" "${all[2]} $(head -c 2000 "$T/err")" "0 "
	is "$1: none left out" "${all[3]}" 0
	EQUAL=${all[0]} PART=${all[1]}
}
alike "C" "$T/a.data"
is "C: all equal" "$PART" 0
perf_rec "$T/deep.data" -F 299 --call-graph dwarf,65528 -- "${second[@]}" "$TARGETS/deep" 100000 60
alike "deep C++" "$T/deep.data"
perf_rec "$T/gcc.data" -F 199 --call-graph dwarf,65528 -- g++ -O1 -c -o "$T/deep.o" "$TOP/tests/targets/deep.cc"
alike "a compiler" "$T/gcc.data"

# ---- read directly ----
folded "$T/a.data" "$T/direct.folded"
check "symbolize reads perf.data" cmp "$T/direct.folded" "$T/a.folded"
folded - "$T/pipe.folded" <"$T/a.data"
check "from standard input" cmp "$T/pipe.folded" "$T/a.folded"
# shellcheck disable=SC2002
cat "$T/a.data" | folded - "$T/pipe.folded"
check "through a pipe, the file format too" cmp "$T/pipe.folded" "$T/a.folded"
check "info reads it" "$NSPROF" info "$T/a.data"
check "report reads it" grep -q ' app_leaf$' <("$NSPROF" report -q "$T/a.data")
check "report through a pipe" grep -q ' app_leaf$' <("$NSPROF" report -q - < <(cat "$T/a.data"))
check "diff reads it" "$NSPROF" diff -q --aa "$T/a.data" "$T/a.ns"

# ---- other forms that perf writes ----
like_a() { # WHAT FILE [STATUS]
	folded "$2" "$T/other.folded"
	is "$1: status" $? "${3:-0}"
	check "$1: the same stacks" cmp "$T/other.folded" "$T/a.folded"
}
PD swap "$T/a.data" "$T/swap.data" && like_a "the other byte order" "$T/swap.data"
for n in 96 112 136 200; do
	PD attr $n "$T/a.data" "$T/attr.data" && like_a "attributes of $n bytes" "$T/attr.data"
done
PD bare "$T/a.data" "$T/bare.data" && like_a "without sample_id_all" "$T/bare.data"
PD order "$T/a.data" "$T/order.data" && like_a "rounds in another order" "$T/order.data"
PD killed "$T/a.data" "$T/killed.data" && like_a "perf was killed" "$T/killed.data" 1
check "which is told" grep -q 'not finished\|cut' <("$NSPROF" symbolize "$T/killed.data" 2>&1 >/dev/null)

perf_rec "$T/z.data" -z -F 999 --call-graph dwarf,65528 -- "${second[@]}" "$TARGETS/deep" 100000 60
folded "$T/z.data" "$T/z.folded"
check "compressed: samples" test "$(samples "$T/z.folded")" -ge 100
PD compressed2 "$T/z.data" "$T/z2.data"
perf_rec "$T/zs.data" -z -F 199 --call-graph dwarf,16384 -- "$TARGETS/spin" --cpu 1
alike "compressed" "$T/zs.data"
is "compressed: all equal" "$PART" 0
check "compressed, with sizes that wrap" test "$(stat -c %s "$T/z2.data")" -gt 65536
folded "$T/z2.data" "$T/z2.folded"
check "compressed as by 6.16: the same stacks" cmp "$T/z2.folded" "$T/z.folded"

perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -F 499 --call-graph dwarf,16384 -o - -- "$TARGETS/spin" --cpu 1 \
	2>/dev/null >"$T/p.data"
folded "$T/p.data" "$T/p.folded"
check "the pipe format: samples" test "$(samples "$T/p.folded")" -ge 50
check "the pipe format: whole stacks" grep -q '^spin;_start;.*main;app_outer;app_middle;app_inner;app_leaf ' "$T/p.folded"
folded - "$T/p2.folded" < <(cat "$T/p.data")
check "the pipe format through a pipe" cmp "$T/p2.folded" "$T/p.folded"

perf_rec "$T/fp.data" -F 499 -g -- "$TARGETS/spin" --cpu 1
folded "$T/fp.data" "$T/fp.folded"
is "frame pointers: as many samples as perf has" "$(samples "$T/fp.folded")" \
	"$(perf script -F time -i "$T/fp.data" 2>/dev/null | grep -c .)"
alike "frame pointers" "$T/fp.data"
is "frame pointers: all equal" "$PART" 0
perf_rec "$T/deepfp.data" -F 299 -g -- "${second[@]}" "$TARGETS/deep" 100000 60
alike "frame pointers, deep C++" "$T/deepfp.data"
is "frame pointers, deep C++: all equal" "$PART" 0

# ---- several events ----
perf_rec "$T/two.data" -e page-faults -F 499 --call-graph dwarf,8192 -- "$TARGETS/spin" --cpu 1
"$NSPROF" import -o "$T/two.ns" "$T/two.data" 2>"$T/err"
check "both events are taken" grep -q "of 2 events" "$T/err"
"$NSPROF" symbolize -q --event page-faults "$T/two.ns" >"$T/faults"
"$NSPROF" import -e page-faults -o "$T/two.ns" "$T/two.data" 2>"$T/err"
check "or one is chosen" grep -q "of page-faults" "$T/err"
is "it has the same stacks" "$("$NSPROF" symbolize -q "$T/two.ns")" "$(cat "$T/faults")"
"$NSPROF" import -e cycles -o "$T/two.ns" "$T/two.data" 2>"$T/err"
is "an event that is not there: status" $? 1
check "and the message" grep -q "has no event 'cycles'" "$T/err"

# ---- a directory ----
if perf_rec "$T/dir" --threads=core -z -F 499 --call-graph dwarf,8192 -- "$TARGETS/spin" --cpu 1 && [ -s "$T/dir/data" ]; then
	check "perf record --threads: imported" "$NSPROF" import -q -o "$T/dir.ns" "$T/dir"
	folded "$T/dir.ns" "$T/dir.folded"
	check "its samples are there" test "$(samples "$T/dir.folded")" -ge 50
	if perf_folded "$T/dir" "$T/dir.perf"; then
		check "with perf's stacks" cmp <(of_spin "$T/dir.folded") <(of_spin "$T/dir.perf")
	else
		skip "with perf's stacks" "perf script dies of it: $(tail -n 1 "$T/err")"
	fi
	folded "$T/dir" "$T/dir.direct"
	check "and read as it is" cmp "$T/dir.direct" "$T/dir.folded"
	check "report reads it" grep -q ' app_leaf$' <("$NSPROF" report -q "$T/dir")
	for part in "$T"/dir/data.*; do
		mv "$part" "$T/aside"
		ln -s "$T/aside" "$part"
		"$NSPROF" import -q -o "$T/dir.ns" "$T/dir" 2>"$T/err"
		is "a link in it: status" $? 1
		mv "$T/aside" "$part"
		break
	done
	for part in "$T"/dir/data.*; do
		truncate -s -3 "$part" 2>/dev/null
	done
	"$NSPROF" import -q -o "$T/dir.ns" "$T/dir" 2>/dev/null
	is "cut files in it: status" $? 1
else
	skip "perf record --threads" "this perf has none: $(tail -n 1 "$T/perf.log")"
fi
mkdir "$T/empty"
"$NSPROF" import -o "$T/x.ns" "$T/empty" 2>"$T/err"
check "a directory of another kind" grep -q "not one of 'perf record --threads'" "$T/err"

# ---- damage ----
size=$(stat -c %s "$T/a.data")
head -c $((size / 2)) "$T/a.data" >"$T/cut.data"
folded "$T/cut.data" "$T/cut.folded"
is "cut: status" $? 1
check "cut: what is there is shown" test "$(samples "$T/cut.folded")" -ge 20
"$NSPROF" import -q -o "$T/cut.ns" "$T/cut.data"
is "cut: status of the import" $? 1
check "and its recording says so, too" grep -q 'perf.data that is cut' <("$NSPROF" symbolize "$T/cut.ns" 2>&1 >/dev/null)
bad=
for seed in $(seq 10); do
	PD mutate "$seed" "$T/a.data" "$T/m.data"
	timeout 60 "$NSPROF" import -q -o "$T/m.ns" "$T/m.data" >/dev/null 2>&1
	[ $? -le 1 ] || bad+=" $seed"
done
is "10 files with damage: none ends the import by a signal" "$bad" ""
printf 'PERFILE2' >"$T/short.data"
"$NSPROF" import -o "$T/x.ns" "$T/short.data" 2>/dev/null
is "nothing but the magic: status" $? 1
check "no recording is left of that" test ! -e "$T/x.ns"
echo text >"$T/text"
"$NSPROF" import -o "$T/x.ns" "$T/text" 2>"$T/err"
check "not perf.data" grep -q "is not perf.data" "$T/err"
"$NSPROF" import -o "$T/x.ns" "$T/missing" 2>"$T/err"
check "missing" grep -q "cannot open '$T/missing': No such file.*perf record" "$T/err"

# ---- what was lost ----
# Rings of one page: perf's records report losses as they occur, and since 6.1 their total at the
# end.
perf record -q -B -N -m 1 -e cpu-clock -F 20000 --call-graph dwarf,32768 -a -o "$T/lost.data" -- "$TARGETS/spin" 0.5 >"$T/perf.log" 2>&1
# [samples, records about mappings and processes] that were lost, from the ledger, and from the
# tally
losses() { "$NSPROF" info --json "$@" 2>/dev/null | jq -c '[.lost, .ledger.lost_sideband, (.tally as $t | ("lost", "side_lost") as $c |
	($t.columns | index($c)) as $i | [$t.rows[][$i]] | add)]'; }
read -r told samples side <<<"$(PD losses "$T/lost.data")"
rest=$((told > samples + side ? told - samples - side : 0))
check "perf lost samples" test "$samples" -gt 0
is "each lost sample counts once, in the ledger and in the tally" "$(losses "$T/lost.data")" "[$samples,$((side + rest)),$samples,$((side + rest))]"
"$NSPROF" info --json "$T/lost.data" 2>/dev/null >"$T/info"
is "as the kernel counted them" "$(jq .ledger.have_format_lost "$T/info")" true
# Two events in one ring: one of them only runs with the program, and each has its own losses.
perf record -q -B -N -m 8 -e cpu-clock,task-clock -F 10000 --call-graph dwarf,16384 -o "$T/two.data" -- "$TARGETS/spin" 0.5 >"$T/perf.log" 2>&1
read -r told first second side <<<"$(PD losses "$T/two.data")"
check "perf lost samples of both" test "$first" -gt 0 -a "$second" -gt 0
is "what both lost" "$(losses "$T/two.data" | jq -c '[.[0], .[2]]')" "[$((first + second)),$((first + second))]"
is "what the first event lost" "$(losses --event cpu-clock "$T/two.data" | jq -c '[.[0], .[2]]')" "[$first,$first]"
"$NSPROF" import -q -e task-clock -o "$T/two.ns" "$T/two.data" 2>/dev/null
is "what the second event lost" "$(losses "$T/two.ns" | jq -c '[.[0], .[2]]')" "[$second,$second]"

# ---- proof ----
cp "$TARGETS/spin-nobid" "$T/app"
perf_rec "$T/nobid.data" -F 499 --call-graph dwarf,8192 -- "$T/app" --cpu 1
"$NSPROF" import -q -o "$T/nobid.ns" "$T/nobid.data"
folded "$T/nobid.ns" "$T/nobid.folded"
check "no build-id: device and inode prove the file" grep -q 'main;.*_outer;.*_leaf ' "$T/nobid.folded"
cp "$TARGETS/spin-nobid2" "$T/app.new" && mv "$T/app.new" "$T/app"
"$NSPROF" import -q -o "$T/nobid.ns" "$T/nobid.data"
folded "$T/nobid.ns" "$T/nobid.folded"
check "another file in its place gives no names" test "$(grep -c '_leaf' "$T/nobid.folded")" = 0
done_testing
