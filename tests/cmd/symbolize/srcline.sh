#!/bin/bash
# nsprof symbolize --srcline: all frames, inlined ones too, have their source lines. A caller has
# the line of its call even if the return address belongs to another function.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc objdump nm strip
cd "$T" || exit 1
# leaf() never returns, and the compiler knows that. The call is the last instruction of its caller,
# so the return address is the first byte after it, where another function begins.
cat >last.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long spin(unsigned long n)
{
	while (n--)
		sink += n;			/* LEAF */
	return sink;
}
__attribute__((noreturn, noinline, section(".text.b"))) static void leaf(void)
{
	for (time_t end = time(NULL) + 2; time(NULL) < end;)
		spin(1000000);			/* SPIN */
	exit(0);
}
static inline __attribute__((always_inline, noreturn)) void wrap(void)
{
	leaf();					/* WRAPPED */
}
__attribute__((noreturn, noinline, section(".text.b"))) static void caller(void)
{
	sink = 3;
	wrap();					/* CALLER */
}
__attribute__((noinline, section(".text.b"))) int bystander(int x) { return x + (int)sink; }
int main(int argc, char **argv)
{
	if (argc > 5)
		return bystander(argc) + (int)(long)argv;
	caller();				/* MAIN */
}
END
gcc -O2 -g -fno-reorder-functions -fno-toplevel-reorder -o last last.c || skip_all "gcc cannot build it"
line() { grep -n "/\* $1 \*/" last.c | cut -d: -f1; }
# The return address of the call, and the end of caller().
ra=$(objdump -d --no-show-raw-insn last | awk '/<caller>:/ { in_it = 1 } in_it && /call.*<leaf>/ { getline; print $1; exit }')
end=$(nm -S last | awk '$4 == "caller" { print $1, $2 }' | while read -r a n; do printf '%x:' $((0x$a + 0x$n)); done)
is "caller() ends with its call" "$ra" "$end"
"$NSPROF" record -q -e cpu-clock:u -F 499 -o nsprof.data -- ./last 2>err || skip_all "cannot record here: $(cat err)"
"$NSPROF" symbolize --srcline --annotate --by none >out
like "functions, inlined functions and the lines of their calls" "$(cat out)" \
	"main \(last.c:$(line MAIN)\);caller \(last.c:$(line CALLER)\);wrap \(last.c:$(line WRAPPED)\)_\[i\];leaf \(last.c:$(line SPIN)\);spin \(last.c:($(line LEAF)|$(($(line LEAF) - 1)))\)_\[i\] [0-9]+$"
unlike "nothing is its neighbour's" "$(cat out)" 'bystander'
"$NSPROF" symbolize --srcline --no-inline --by none >out
like "--no-inline: functions stand at the line of the call that was inlined" "$(cat out)" \
	"main \(last.c:$(line MAIN)\);caller \(last.c:$(line CALLER)\);leaf \(last.c:$(line SPIN)\) [0-9]+$"
"$NSPROF" symbolize --by none >out
like "without it none" "$(cat out)" 'main;caller;wrap;leaf;spin [0-9]+$'
# The C library has no debug info here, or has lines: brackets never appear without both.
"$NSPROF" symbolize --srcline --by none >out
unlike "a name has a line or none" "$(cat out)" '\((:|\?\?|[^;:)]*:0\))'
strip -g -o bare last
"$NSPROF" record -q -e cpu-clock:u -F 99 -o bare.data -- ./bare
like "without debug info names stand alone" "$("$NSPROF" symbolize --srcline --by none bare.data)" 'main;caller;leaf [0-9]+$'
done_testing
