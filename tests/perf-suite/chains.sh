#!/bin/bash
# The order of callers is leaf, caller, main: the same with frame pointers and by DWARF, and also
# through a library and back.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd gcc

cat >chain.c <<'C'
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline, noclone)) static void leaf(void)
{
	for (int i = 0; i < 100000; i++)
		sink += i;
}
__attribute__((noinline, noclone)) static void parent(void)
{
	leaf();
	sink++;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 5)
		parent();
	return 0;
}
C
# Without optimization each function has a frame pointer. With it, gcc omits those of leaves.
gcc -O0 -g -o chain chain.c || skip_all "gcc cannot build it"
gcc -O1 -g -fomit-frame-pointer -o bare chain.c
for how in fp dwarf,8192; do
	record $how.data -F 499 --call-graph $how -- ./chain
	stacks $how.data | sed -n 's/.*;\(main;.*\) [0-9]*$/\1/p' | grep ';leaf$' | sort -u >$how
	is "$how: main, its callee, the leaf" "$(<$how)" 'main;parent;leaf'
done
record bare.data -F 499 --call-graph dwarf,8192 -- ./bare
is "without frame pointers, by DWARF" "$(stacks bare.data | sed -n 's/.*;\(main;.*;leaf\) [0-9]*$/\1/p' | sort -u)" 'main;parent;leaf'
if ours; then
	# From one recording, by its rows and by its frame pointers: equal except in the C library,
	# which has no frame pointers.
	from_main() { "$NSPROF" symbolize -q "$@" dwarf,8192.data | sed -n 's/.*;\(main;.*leaf .*\)/\1/p'; }
	is "frame pointers instead of rows: the same stacks, as often" "$(from_main --unwind fp)" "$(from_main)"
fi

# The library is in the program's folder.
export LD_LIBRARY_PATH=$TARGETS
record libs.data -F 499 --call-graph dwarf,16384 -- "$TARGETS/uselib" 0.3
stacks libs.data >folded
like "through a library and back" "$(<folded)" ';main;lib_enter;lib_walk;app_callback;app_burn '
like "through the C library and back" "$(<folded)" ';main;app_sort;([^;]*qsort[^;]*;)+([^;]+;)*app_compare '
unlike "nothing of it in another order" "$(<folded)" 'app_compare;(.*;)?(qsort|main)|app_burn;(.*;)?(lib_|main)'
done_testing
