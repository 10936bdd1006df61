#!/bin/bash
# Perf maps of processes that have ended: of code in a memfd, written late and removed, and left over by the
# program before an exec (tests/targets/jitloop.c). All is named from the recording.
# beside others
. "$(dirname "$0")/../lib.sh"

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
JIT=$BUILD/tests/targets/jitloop
[ -x "$JIT" ] || skip_all "$JIT is not built (make test-targets)"

# jitted FOLDED: the frames that run_jit() calls, with the thread's name before them.
jitted() {
	sed -n 's/^\([^;]*\);.*;run_jit;\([][a-z_]*_\[j\]\)[; ].*/\1 \2/p' "$1" | sort -u | tr '\n' ' '
}

for mode in map memfd late exec; do
	"$NSPROF" record -q -e cpu-clock -F 999 -o $mode.data -- \
		sh -c 'echo $$ >pid; exec "$@"' sh "$JIT" 1 jitted $mode before
	is "$mode: the program ran" $? 0
	rm -f "/tmp/perf-$(cat pid).map"
	"$NSPROF" symbolize -q --annotate $mode.data >$mode.folded
done
is "a perf map" "$(jitted map.folded)" "before jitted_[j] "
is "code in a memfd, as .NET has it" "$(jitted memfd.folded)" "before jitted_[j] "
is "a map that came late and went in the end" "$(jitted late.folded)" "before jitted_[j] "
is "the map of the program before an exec" "$(jitted exec.folded)" "after [jit]_[j] before jitted_[j] "

# A /tmp that is mounted after the first samples were taken below its root, and a map in it that is written at exit.
if unshare -m -p --fork --mount-proc true 2>/dev/null; then
	"$NSPROF" record -q -e cpu-clock -F 999 -o end.data -- unshare -m -p --fork --mount-proc --propagation private sh -c \
		'mount --bind "$0" /mnt && /mnt/spin 0.3 && mount -t tmpfs tmpfs /tmp && exec /mnt/jitloop 1 jitted end before' \
		"$BUILD/tests/targets" >/dev/null
	is "a /tmp mounted late: the program ran" $? 0
	"$NSPROF" symbolize -q --annotate end.data >end.folded
	is "a /tmp mounted late" "$(jitted end.folded)" "before jitted_[j] "
else
	skip "a /tmp mounted late" "cannot make namespaces here"
fi

# An exec as above while the process lives, from a recording without rows, since the recorder was killed.
"$JIT" 20 jitted exec before &
pid=$!
wait_for "[ -s /tmp/perf-$pid.map ]" 10
"$NSPROF" record -q -e cpu-clock -F 999 -o live.data -p $pid &
rec=$!
size() { stat -c %s live.data 2>/dev/null || echo 0; }
wait_for "[ \"\$(cat /proc/$pid/comm)\" = after ]" 30
# Whole blocks are written, one each half second.
for _ in 1 2 3; do
	was=$(size)
	wait_for '[ "$(size)" -gt "$was" ]' 20
done
kill -KILL $rec
wait $rec 2>/dev/null
"$NSPROF" symbolize -q --annotate live.data >live.folded
like "alive: the map of the program before an exec" "$(jitted live.folded)" '^after \[jit\]_\[j\] before '
kill $pid
wait $pid 2>/dev/null
rm -f "/tmp/perf-$pid.map"
done_testing
