#!/bin/bash
# perf and nsprof record on one host at the same time, and each of them starts first once. What one
# asks the kernel for must not change what the other gets. (Up to at least 6.18, the kernel sets the
# build-id flag for all listeners once one of them asks for build-ids.)
# beside unit tests
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd perf
need_cmd jq
# perf 7 asks for build-ids by default; here it has to ask for device and inode.
perf_rec() { perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -F 499 --no-buildid-mmap "$@" 2>>"$T/perf.err"; }
perf_begin() { # FILE OPTION...
	perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -F 499 --no-buildid-mmap -o "$@" -- sleep 60 2>>"$T/perf.err" &
	wait_for "[ -s '$1' ]" 20
}
nsprof_begin() {
	"$NSPROF" record -q -a -F 499 -o "$1" &
	wait_for "[ -s '$1' ]" 20
}
perf_rec -o "$T/probe" -- true >/dev/null || skip_all "perf cannot record here: $(cat "$T/perf.err")"
"$NSPROF" record -q -a -F 99 -o "$T/probe" -- true 2>"$T/err" || skip_all "cannot record here: $(cat "$T/err")"
P=$TARGETS/spin-b
inode=$(stat -c %i "$P")
chain=$("$P" --chain)

# mapped FILE: the inode of the mapped program, according to perf script.
mapped() {
	perf --buildid-dir "$T/cache" script -i "$1" --show-mmap-events 2>"$T/script.err" |
		sed -nE "s#.*PERF_RECORD_MMAP2 .* [0-9a-f]+:[0-9a-f]+ ([0-9]+) [0-9]+\]: r-xp $P\$#\1#p" | sort -u
}

# perf_is_right WHEN FILE
perf_is_right() {
	is "$1: the mapping is what perf asked for" "$(mapped "$2")" "$inode"
	perf --buildid-dir "$T/cache" report -i "$2" --stdio -g none --sort sym >"$T/names" 2>"$T/names.err"
	# perf 7.2 aborts on some records of BPF programs, which any process may load meanwhile.
	if grep -q "processing failed for event of type: KSYMBOL" "$T/names.err"; then
		skip "$1: perf has its names" "perf cannot read its own file: $(head -n 1 "$T/names.err")"
		return
	fi
	check "$1: perf has its names" grep -q "^ .*bbb_leaf" "$T/names"
}

# nsprof_is_right WHEN FILE
nsprof_is_right() {
	"$NSPROF" symbolize -q --no-inline "$2" >"$T/folded"
	check "$1: nsprof has whole stacks" has_chain <(grep '^spin-b;' "$T/folded") "$chain" 90
}

"$P" 60 >/dev/null &
spin=$!

# nsprof starts after a perf that asks for build-ids: the build-id flag in nsprof's mapping records
# is then wrong.
perf_begin "$T/ids.perf" --buildid-mmap -a
ids=$!
nsprof_begin "$T/ours"
ours=$!
perf_rec -o "$T/command.perf" -- "$P" --cpu 1 >/dev/null
kill -INT $ours $ids
wait $ours $ids
nsprof_is_right "beside perf that asks for build-ids" "$T/ours"
check "beside perf that asks for build-ids: nothing is lost" jq -e '.ledger.lost_sideband + .ledger.unordered == 0' <("$NSPROF" info --json "$T/ours")

# One perf starts before nsprof, one after it.
rm -f "$T/ours" "$T/command.perf"
perf_begin "$T/all.perf" -a
all=$!
nsprof_begin "$T/ours"
ours=$!
perf_rec -o "$T/command.perf" -- "$P" --cpu 1 >/dev/null
is "perf of a command beside nsprof: its status" $? 0
perf_is_right "perf of a command beside nsprof" "$T/command.perf"
kill -INT $ours $all
wait $ours
nsprof_is_right "beside perf" "$T/ours"
wait $all
perf_is_right "perf -a that was there before nsprof" "$T/all.perf"
kill $spin
wait $spin 2>/dev/null
done_testing
