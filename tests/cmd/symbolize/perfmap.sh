#!/bin/bash
# Perf maps of processes that have ended: for code in a memfd, written late and removed, in another
# folder, and left over by the program before an exec (tests/targets/jitloop.c). All names come from
# the recording. Then maps of every odd form.
# beside others
# takes: 35
. "$(dirname "$0")/../../lib.sh"

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
JIT=$BUILD/tests/targets/jitloop
[ -x "$JIT" ] || skip_all "$JIT is not built (make test-targets)"

# jitted FOLDED: the frames called by run_jit(), with the thread's name before them.
jitted() {
	sed -n 's/^\([^;]*\);.*;run_jit;\([][a-z_]*_\[j\]\)[; ].*/\1 \2/p' "$1" | sort -u | tr '\n' ' '
}

mkdir elsewhere
for mode in map memfd late held exec remap; do
	TMPDIR=$T/elsewhere "$NSPROF" record -q -e cpu-clock -F 999 -o $mode.data -- \
		sh -c 'echo $$ >pid; exec "$@"' sh "$JIT" 1 jitted $mode before
	is "$mode: the program ran" $? 0
	rm -f "/tmp/perf-$(cat pid).map"
	"$NSPROF" symbolize -q --annotate $mode.data >$mode.folded
done
is "a perf map" "$(jitted map.folded)" "before jitted_[j] "
is "code in a memfd, as .NET has it" "$(jitted memfd.folded)" "before jitted_[j] "
is "a map that came late and went in the end" "$(jitted late.folded)" "before jitted_[j] "
check "a map in another folder: there is one" test -s elsewhere/perf-*.map
is "a map in another folder" "$(jitted held.folded)" "before jitted_[j] "
is "the map of the program before an exec" "$(jitted exec.folded)" "after [jit]_[j] before jitted_[j] "
if [ "$(id -u)" = 0 ]; then
	mkdir -p newroot/tmp
	TMPDIR=$T/newroot "$NSPROF" record -q -e cpu-clock -F 999 -o rooted.data -- "$JIT" 1 jitted rooted before
	is "a map below another root: the program ran" $? 0
	"$NSPROF" symbolize -q --annotate rooted.data >rooted.folded
	is "a map below another root, entered since" "$(jitted rooted.folded)" "before jitted_[j] "
else
	skip "a map below another root" "needs root for chroot(2)"
fi
# The second program writes its map within a millisecond, and the file may look older than that.
renamed='^after renamed_\[j\] before (\[jit\]|jitted)_\[j\] $'
like "the maps of both programs, of one name" "$(jitted remap.folded)" "$renamed"

# A /tmp that is mounted after the first samples below its root, with a map that is written at exit.
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

# Processes with the same pid in their namespaces that follow each other, as when a container
# restarts at once.
if unshare -m -p --fork true 2>/dev/null; then
	"$NSPROF" record -q -e cpu-clock -F 999 -o lives.data -- unshare -m --propagation private sh -c \
		'mount --bind "$0" /mnt && mount -t tmpfs tmpfs /tmp && exec /mnt/jitloop 1.2 jitted lives' "$BUILD/tests/targets" >/dev/null
	is "three lives: the program ran" $? 0
	"$NSPROF" symbolize -q --annotate lives.data >lives.folded
	like "three lives: none has the name of another's code" "$(jitted lives.folded)" \
		'^after (\[jit\]|renamed)_\[j\] before (\[jit\]|jitted)_\[j\] last \[jit\]_\[j\] $'
else
	skip "three lives" "cannot make namespaces here"
fi

# Execs as above while the process lives, from recordings without rows, because the recorder was
# killed.
# recorded COMM: wait until samples of that program are in the file.
recorded() { wait_for '"$NSPROF" symbolize -q live.data 2>/dev/null | grep -q "^'"$1"';"' 30; }
runs_second() { wait_for "[ \"\$(cat /proc/$pid/comm)\" = after ]" 30; }
kill_recorder() {
	kill -KILL $rec
	wait $rec 2>/dev/null
}
# killed MODE WHEN: record the program, and kill the recorder once the second program was recorded
# ("after"), or before that begins ("before"). Writes its stacks to live.folded.
killed() {
	rm -f live.data
	"$JIT" 60 jitted "$1" before &
	pid=$!
	wait_for "[ -s /tmp/perf-$pid.map ]" 10
	"$NSPROF" record -q -e cpu-clock -F 999 -o live.data -p $pid &
	rec=$!
	recorded before
	[ "$2" = after ] || kill_recorder
	kill -USR2 $pid
	runs_second
	[ "$1" = exec ] || wait_for "grep -q renamed /tmp/perf-$pid.map" 10
	[ "$2" = before ] || { recorded after; kill_recorder; }
	"$NSPROF" symbolize -q --annotate live.data >live.folded
	"$NSPROF" symbolize --stats live.data >live.out 2>live.stats
	kill $pid
	wait $pid 2>/dev/null
	rm -f "/tmp/perf-$pid.map"
}
killed exec after
like "alive: the map of the program before an exec" "$(jitted live.folded)" '^after \[jit\]_\[j\] before '
# The file now contains the second program's map, and the addresses are the same.
killed remap after
like "alive: the maps of both programs" "$(jitted live.folded)" "$renamed"
# The recording ends before the exec, and says nothing of it.
killed remap before
is "alive: the map of a program after the recording" "$(jitted live.folded)" "before [jit]_[j] "
like "alive: and why it is not used" "$(<live.stats)" 'its perf map is not used: the process runs another program now'

# ---- odd maps that no JIT should write: read by the recorder, and again while the process lives
# ----
"$JIT" 120 unused nomap hand &
pid=$!
later "kill -KILL $pid"
# Its only memory that is both writable and executable.
wait_for "grep -q rwxp /proc/$pid/maps" 10
at=$(sed -n 's/^\([0-9a-f]*\)-.* rwxp .*/\1/p' /proc/$pid/maps | head -n 1)
plus() { printf '%x' $((0x$at + $1)); }
map=/tmp/perf-$pid.map
later "rm -f $map"
# map_case WHAT WANT: with $map as it is, the frame in its memory is WANT.
map_case() {
	kill -CONT $pid
	check "$1: recorded" timeout -k 5 30 "$NSPROF" record -q -e cpu-clock:u -F 499 -o hand.data -p $pid --duration 0.3
	# It needs no CPU time meanwhile.
	kill -STOP $pid
	timeout -k 5 30 "$NSPROF" symbolize -q --by none hand.data >live.folded
	is "$1: from the living process" "$(frames live.folded)" "$2"
	rm -rf "$map" aside
	timeout -k 5 30 "$NSPROF" symbolize -q --by none hand.data >rows.folded
	is "$1: from the recording" "$(frames rows.folded)" "$2"
}
# frames: the frames that run_jit calls, except its clock; samples of run_jit itself have nothing
# after it.
frames() { sed -n '/;run_jit;now[; ]/d; s/.*;run_jit;\(.*\) [0-9]*$/\1/p' "$1" | sort -u | tr '\n' '|' | sed 's/|$//'; }
echo "$at 100 one" >$map
map_case "a plain map" one
printf '%s\n' "$at 100 old" "$at 80 older" "$(plus -16) 40 newest" "$(plus 64) 10 behind" >$map
map_case "overlapping entries: the last one" newest
# Within the instruction at 9: which instruction of the loop has the samples depends on the CPU.
printf '%s\n' "$at 100 sized" "$at 0 stub" "$(plus 10) 0 stub" >$map
map_case "entries of size 0 hold a byte at most" sized
printf '0X%s\t0x100   x y\n' "${at^^}" >$map
map_case "prefixes, capitals, tabs; a name with a blank" "x y"
printf '%s 100 dos\r\nnonsense\r\n' "$at" >$map
map_case "lines that end as in DOS" dos
printf '%s 100 f\n' "$at" >$map
map_case "a name of a letter" f
printf '%s 100 go\n' "$at" >$map
map_case "a name of two letters" go
printf '%s 100 whole\n%s 100 in the middle of its na' "$at" "$at" >$map
map_case "a last line that is still being written" whole
printf '%s\n' "$at 100 right" "ffffffffffffff00 1000 over_the_end" "8000000000000000 7fffffffffffffff above" \
	"1$at$at 10 too_long" "-$at 100 negative" "$at -1 negative" "$at 100" "$at" "" "100 $at" >$map
printf '%s 100 nul\0byte\n' "$at" >>$map
map_case "addresses and sizes out of range" right
long="LFoo;::bar $(head -c 6000 /dev/zero | tr '\0' x)"
{ echo "$at 100 early"; echo "$at 100 $long"; } >$map
map_case "a name of 6,000 bytes, with a semicolon" "${long%%;*}\\u{3b}${long#*;}"
{ echo "$at 100 early"; printf '%s 100 ' "$at"; head -c 300000 /dev/zero | tr '\0' y; echo; } >$map
# The long line is not a name. The entry before it counts, or this one is cut to the maximum length
# of a frame.
kill -CONT $pid
check "a line of 300,000 bytes: recorded" timeout -k 5 30 "$NSPROF" record -q -e cpu-clock:u -F 499 -o hand.data -p $pid --duration 0.3
check "a line of 300,000 bytes: symbolized" timeout -k 5 30 "$NSPROF" symbolize -q --by none hand.data
rm -f $map
mkfifo $map
map_case "a FIFO" "[jit]"
ln -s /dev/zero $map
map_case "a link to /dev/zero" "[jit]"
ln -s /dev/full $map
map_case "a link to /dev/full" "[jit]"
if [ "$(id -u)" = 0 ]; then
	echo "$at 100 foreign" >$map
	chown 12345 $map
	map_case "a map of another user" "[jit]"
else
	skip "a map of another user" "needs root"
fi
# The map grows during the recording: entries that were missing at the first samples are known at
# the end.
echo "$(plus 4096) 100 other" >$map
rm -f hand.data
kill -CONT $pid
"$NSPROF" record -q -e cpu-clock:u -F 499 -o hand.data -p $pid --duration 1.5 &
rec=$!
wait_for '[ -s hand.data ]' 20
sleep 0.5
echo "$at 100 grown" >>$map
wait $rec
rm -f $map
is "a map that grows while it is recorded" "$("$NSPROF" symbolize -q --by none hand.data >grow.folded; frames grow.folded)" grown
done_testing
