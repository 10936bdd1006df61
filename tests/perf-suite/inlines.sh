#!/bin/bash
# The text of each sample has inlined calls and lines, with frame pointers and by DWARF.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd gcc

cat >inl.c <<'C'
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void looped(int n)
{
	for (int i = 0; i < n; i++)	/* LOOP */
		sink += i;		/* LOOP */
}
__attribute__((noinline, noclone)) static void loops(int n)
{
	sink++;
	looped(n);			/* CALL */
	sink++;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 5)
		loops(1000000);		/* MAIN */
	return 0;
}
C
# Without optimization each function has a frame pointer. With it, gcc omits those of leaves.
gcc -O0 -g -o inl inl.c || skip_all "gcc cannot build it"
lines() { grep -n "/\* $1 \*/" inl.c | cut -d: -f1 | paste -sd '|'; }

for how in fp dwarf,8192; do
	record data -F 499 --call-graph $how -- ./inl
	# One sample per line: function file:line function file:line ... An inlined function has an
	# "i" appended; perf writes that after the line.
	script data -F +srcline 2>/dev/null | awk '
		/^[^ \t#]/ { if (s) print s; s = ""; next }
		/^[ \t]+[0-9a-f]+ / { name = $2; sub(/\+0x.*/, "", name); s = s " " name }
		/:[0-9]+( \(inlined\))?$/ { sub(/.*\//, "", $1); s = s " " $1 }
		/\(inlined\)$/ { s = s " i" }
		END { print s }' | sed -E 's/ i (\S+:[0-9]+)/ \1 i/g' | grep '^ looped ' >samples
	all "$how: the inlined call, its caller, and where they are in the source" samples \
		"^ looped inl.c:($(lines LOOP)) i loops inl.c:$(lines CALL) main inl.c:$(lines MAIN)( |\$)"
done
done_testing
