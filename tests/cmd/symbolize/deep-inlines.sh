#!/bin/bash
# A program of a container may recurse, with a hundred functions inlined in each frame and long names. Each
# of its samples is 20 MB of text. All of them together are bounded, and a line says what is missing.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc
cd "$T" || exit 1

awk 'BEGIN {
	for (i = 0; i < 200; i++)
		long = long "n"
	print "#include <time.h>\nvolatile unsigned long s; int top(int);"
	print "static inline __attribute__((always_inline)) int f100" long "(int n) { for (int i = 0; i < 300; i++) s += i; return n <= 0 ? 1 : top(n - 1) + 1; }"
	for (i = 99; i >= 0; i--)
		printf "static inline __attribute__((always_inline)) int f%d%s(int n) { return f%d%s(n) + 1; }\n", i, long, i + 1, long
	print "__attribute__((noinline)) int top(int n) { return f0" long "(n) + 1; }"
	print "int main(void) { while (clock() < 4 * CLOCKS_PER_SEC / 10) top(900); }"
}' >deep.c
gcc -g -O1 -fno-optimize-sibling-calls -o deep deep.c || skip_all "gcc cannot build the program"
check "it records" "$NSPROF" record -q -e cpu-clock:u -F 499 --call-graph dwarf,65528 -o data ./deep

# Without a limit, 100 samples are 2 GB.
n=$("$NSPROF" symbolize data 2>err | wc -c)
check "folded text: at most 1.1 GB" test "$n" -gt 1000000 -a "$n" -le 1100000000
like "says what is missing" "$(cat err)" "[0-9]+ stacks have \[frames_left_out\] in the middle, because all together are too long"
n=$("$NSPROF" script data 2>err | wc -c)
check "script: at most 1.2 GB" test "$n" -gt 1000000 -a "$n" -le 1200000000
like "says what is missing" "$(cat err)" "container '.*': [0-9]+ stacks lack outermost frames, because all together are too long"
like "and where" "$("$NSPROF" script data 2>/dev/null | grep -m1 left_out)" '^\s+0 \[frames_left_out\] \(\[unknown\]\)$'
n=$("$NSPROF" symbolize --format profile data | wc -c)
check "a saved profile repeats nothing: at most 10 MB" test "$n" -gt 1000 -a "$n" -le 10000000
done_testing
