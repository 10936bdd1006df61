#!/bin/bash
# JIT code in perf.data gets its names from the perf map on this host, as in perf, but only if the
# map's owner and modification time prove that it belongs to that process.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd perf
cd "$T" || exit 1
JIT=$BUILD/tests/targets/jitloop
[ -x "$JIT" ] || skip_all "$JIT is not built (make test-targets)"

# perf_rec FILE OPTION... -- COMMAND: record; its process id is in "pid".
perf_rec() {
	local out=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -F 499 -g "${options[@]}" -o "$out" -- \
		sh -c 'echo $$ >pid; exec "$@"' sh "$@" >perf.log 2>&1
	map=/tmp/perf-$(<pid).map
	later "rm -f $map"
}

# jitted FILE: samples of the function that the map names, and of code without a name.
jitted() {
	"$NSPROF" symbolize -q "$1" | awk '/;jitted[; ]/ { j += $NF } /;\[jit\][; ]/ { u += $NF } END { print j + 0, u + 0 }'
}

perf_rec map.data -- "$JIT" 0.4 jitted || skip_all "perf record does not work here: $(tail -n 1 perf.log)"
n=$(perf script -F ip,sym -i map.data 2>err | grep -c ' jitted$')
[ "$n" -gt 0 ] || skip_all "perf script names no JIT code here: $(tail -n 1 err)"
is "a perf map: as often as perf has it" "$(jitted map.data)" "$n 0"
# perf's clock, which gives the map's age, is not that of a time namespace.
if unshare -T --monotonic 5000 --boottime 5000 true 2>err; then
	unshare -T --fork --monotonic 5000 --boottime 5000 "$NSPROF" import -q -o far.ns map.data
	is "from a time namespace" "$(jitted far.ns)" "$n 0"
else
	skip "from a time namespace" "no time namespaces: $(<err)"
fi
cp map.data copy.data
is "of a copy, too" "$(jitted copy.data)" "$n 0"
"$NSPROF" import -q -o map.ns map.data
touch -r "$map" time
for wrong in 'touch -d "1 hour ago"' 'touch -d "1 hour"' 'chown 1000'; do
	eval "$wrong \"$map\""
	is "${wrong/ -d/}: it is nobody's" "$(jitted map.data)" "0 $n"
	chown 0 "$map"
	touch -r time "$map"
done
is "its own time, its own owner: named again" "$(jitted map.data)" "$n 0"
mv "$map" linked
ln -s "$T/linked" "$map"
is "a link to it: anybody could have made it" "$(jitted map.data)" "0 $n"
rm "$map"
is "gone: no names" "$(jitted map.data)" "0 $n"
is "they are in what was imported before" "$(jitted map.ns)" "$n 0"

perf_rec memfd.data -- "$JIT" 0.5 jitted memfd
like "code in a memfd" "$(jitted memfd.data)" '^[1-9][0-9]* 0$'

# With an exact clock: the map is half a second older than the program after the exec.
perf_rec exec.data -k mono -- "$JIT" 1 jitted exec before
"$NSPROF" symbolize -q exec.data | sed -n 's/^\([^;]*\);.*;\(jitted\|\[jit\]\)[; ].*/\1 \2/p' | sort -u >who
is "the map of the program before an exec" "$(paste -sd , who)" "after [jit],before jitted"

# A process of another user that continues to run: accepted by its owner, while it lives.
"$JIT" 100 jitted uid &
pid=$!
later "rm -f /tmp/perf-$pid.map"
wait_for "[ \"\$(stat 2>/dev/null -c %u /tmp/perf-$pid.map)\" = 1000 ]" 20
perf --buildid-dir "$T/cache" record -q -B -N -e cpu-clock -F 499 -g -p $pid -o live.data -- sleep 1 >perf.log 2>&1
like "a user's process that runs on" "$(jitted live.data)" '^[1-9][0-9]* 0$'
chown 1001 "/tmp/perf-$pid.map"
like "and another user's map" "$(jitted live.data)" '^0 [1-9]'
chown 1000 "/tmp/perf-$pid.map"
kill $pid
wait $pid 2>/dev/null
like "when it has ended, nobody knows whose the map is" "$(jitted live.data)" '^0 [1-9]'
done_testing
