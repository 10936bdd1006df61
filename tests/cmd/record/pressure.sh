#!/bin/bash
# Back-pressure with real stacks: the reader of the recording stops reading, so the recorder gives
# up data step by step. When the reader continues, the recorder takes all steps back.
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd jq python3 taskset
cd "$T" || exit 2
TARGETS=$BUILD/tests/targets

# Only the writer should be too slow, not the thread that drains the rings and not the programs,
# whatever else runs on the machine. So the programs have priority over all others, and the recorder
# over them. Two programs share each CPU evenly.
mapfile -t cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0))[:2], sep="\n")')
pids=()
for cpu in "${cpus[@]}" "${cpus[@]}"; do
	nice -n -10 taskset -c "$cpu" "$TARGETS/deep" 100000 60 >/dev/null &
	pids+=($!)
	later "kill $!"
done
# One that becomes another program while samples are dropped: only side-band records show that.
bash -c 'until [ -e now ]; do :; done; exec "$0" 60' "$TARGETS/spin-a" &
becomes=$!
mkfifo pipe
# A reader that takes nothing for six seconds, then everything: more than the pool absorbs. Six
# seconds lead to keeping one sample in 64; undoing that takes six more.
{ exec <pipe; sleep 5; : >now; sleep 1; cat >pressed; } &
reader=$!
nice -n -17 "$NSPROF" record -e cpu-clock -F 4000 --call-graph dwarf,16384 -a --duration 14 -o - >pipe 2>err
is "the recording ends as any other" $? 0
wait $reader
kill "${pids[@]}" $becomes
"$NSPROF" info --json pressed >info.json
ledger() { jq ".ledger.$1" info.json; }
echo "# kept $(ledger kept), cut $(ledger cut), dropped $(ledger dropped), lost $(ledger lost_kernel), own $(ledger own)"

is "the file is complete" "$(jq .complete info.json)" true
# Going from nothing to the worst step at once is one step, too, if the pool fills between two
# looks.
is "it came to the last step" "$(jq '[.pressure[].level] | max' info.json)" 4
check "and went back by single ones" \
	jq -e '[.pressure[].level] | . as $l | all(range(1; length); $l[.] >= $l[. - 1] - 1)' info.json
# If other programs leave the draining thread no CPU time, the rings fill as well.
check "because of the writer" jq -e 'any(.pressure[]; .cause == "writer")' info.json
check "dated in order, when the reader stood still or later" \
	jq -e '[.pressure[].second] | . == sort and .[0] >= 0 and .[-1] < 16' info.json
is "and taken back in the end" "$(jq '.pressure[-1].level < 4' info.json)" true
# Blocks with uncoded samples (REC_STREAM_PLAIN).
plain=$(python3 - pressed <<'END'
import struct, sys
data = open(sys.argv[1], 'rb').read()
at, plain = struct.unpack_from('<I', data, 12)[0], 0
while at + 32 <= len(data):
    magic, kind, flags, stored = struct.unpack_from('<IHHI', data, at)
    if magic != 0x0a424e9e:
        break
    plain += kind == 2 and data[at + 32] >> 1 & 1
    at += 32 + stored
print(plain)
END
)
check "coding gave way before: $plain blocks without" test "$plain" -gt 0
check "some copies were cut" test "$(ledger cut)" -gt 100
check "some samples were dropped" test "$(ledger dropped)" -gt 1000
is "the kernel lost none for it" "$(ledger lost_kernel)" 0
is "nor any side-band" "$(ledger lost_sideband)" 0
is "all of them are accounted for" "$(jq '.ledger | .kept + .cut + .dropped + .own + .lost_kernel == .taken' info.json)" true
is "in every second, too" "$(jq '[.tally.columns, .tally.rows] | (.[0] | index("dropped")) as $d | ([.[1][][$d]] | add)' info.json)" \
	"$(ledger dropped)"
is "as many as are in the file" "$(ledger 'kept + .ledger.cut')" "$(jq .samples info.json)"
like "the closing line says so" "$(cat err)" "$(ledger cut) with cut stacks.*$(ledger dropped) dropped|$(ledger dropped) dropped"

# The programs of one CPU do the same, and samples of both are dropped equally.
for ((i = 0; i < ${#cpus[@]}; i++)); do
	pair=("${pids[i]}" "${pids[i + ${#cpus[@]}]}")
	mapfile -t n < <(jq --argjson a "${pair[0]}" --argjson b "${pair[1]}" '.processes[] | select(.comm == "deep" and (.pid == $a or .pid == $b)) | .samples' info.json | sort -n)
	# If other load takes the CPU, they only had some slices of it, with a dozen samples each.
	# Then chance decides which are kept.
	if [ $((${n[0]-0} + ${n[1]-0})) -lt 1000 ]; then
		skip "evenly over the threads of CPU ${cpus[i]}" "others had that CPU: ${n[*]} samples of theirs"
		continue
	fi
	check "evenly over the threads of CPU ${cpus[i]} (${n[*]})" test "${#n[@]}" = 2 -a $((${n[1]-0} * 100)) -le $((${n[0]-0} * 150))
done

"$NSPROF" symbolize -q --no-inline --stats pressed >folded 2>stats
check "cut stacks say that they are" grep -q cut folded stats
check "and the others are whole" grep -q '^deep;_start;.*main' folded
check "what began when samples were dropped is known" grep -q '^spin-a;_start;.*main;aaa_outer' folded
done_testing
