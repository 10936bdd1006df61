#!/bin/bash
# JIT code has its caller when it is interrupted before it sets up its frame, after it tore the
# frame down, and when it has none: the recorder looks at the next instructions. This holds while
# the program lives and after it is gone, below kernel frames, with all unwinders, and in each of
# several files.
# beside others
. "$(dirname "$0")/../../lib.sh"

J=$BUILD/tests/targets/jitedges
cd "$T" || exit 1
"$NSPROF" record -q -e cpu-clock:u -o probe -- true 2>err || skip_all "cannot record here: $(cat err)"

# whole FILE: nearly all of at least 50 samples in each of the leaves have their callers, and there
# is no other leaf.
whole() {
	local leaf ok=0
	for leaf in before pushed behind without within; do
		awk -v leaf="$leaf" '$0 ~ ";jit_" leaf "[; ]" { all += $NF
				if ($0 ~ ";main;(run;)?jit_outer;jit_middle;jit_" leaf "[; ]") hit += $NF; else print "# not " $0 }
			END { printf "# %s: %d of %d\n", leaf, hit, all; exit !(all >= 50 && hit >= 0.995 * all) }' "$1" || ok=1
	done
	return $ok
}

cp "$J" edges
"$NSPROF" record -q -F 1999 -e cpu-clock -o data -- ./edges 1
for u in cached libdw libunwind; do
	"$NSPROF" symbolize -q --no-inline --unwind $u data >$u
	check "$u: each has its callers" whole $u
done
rm edges
"$NSPROF" symbolize -q --no-inline data >gone
check "the same with the program gone" cmp cached gone
like "info counts it" "$("$NSPROF" info data)" "1 process's jitted code outside of its frame"

# Attached to, and each of two files alone: the second begins when the first has a second of CPU
# time.
"$J" 30 &
pid=$!
"$NSPROF" record -q -F 1999 -e cpu-clock -p $pid -o split --switch-output=signal 2>err &
r=$!
# ran TICKS: wait until it has run for TICKS, 1/100 s each.
ran() { wait_for "[ \$(awk '{ print \$14 + \$15 }' /proc/$pid/stat) -ge $1 ]" 60; }
wait_for 'ls split* 2>/dev/null | grep -q .' 20
ran 100
kill -USR2 $r
wait_for '[ $(ls split* | wc -l) -ge 2 ]' 20
ran 220
kill -INT $r
wait $r
kill $pid
rm -f "/tmp/perf-$pid.map"
is "there are two files" "$(ls split* | wc -l)" 2
for f in split*; do
	"$NSPROF" symbolize -q --no-inline "$f" >folded
	check "each of several files: each has its callers" whole folded
done
done_testing
