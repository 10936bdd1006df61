#!/bin/bash
# Build-ids of each length that linkers make: the recorded ID finds the debug file of that ID, and
# no other.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd gcc objcopy strip readelf

cat >prog.c <<'C'
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline, noclone)) static void only_in_debug_file(void)
{
	for (int i = 0; i < 1000000; i++)
		sink += i;
}
int main(void)
{
	while (clock() < CLOCKS_PER_SEC / 10)
		only_in_debug_file();
	return 0;
}
C
gcc -O1 -g -o prog prog.c || skip_all "gcc cannot build it"
for kind in sha1 md5 uuid 0x0123456789abcdef; do
	gcc -O1 -g -Wl,--build-id=$kind -o "prog-$kind" prog.c
	id=$(readelf -n "prog-$kind" | sed -n 's/.*Build ID: //p')
	mkdir -p "debug/.build-id/${id:0:2}"
	objcopy --only-keep-debug "prog-$kind" "debug/.build-id/${id:0:2}/${id:2}.debug"
	strip "prog-$kind"
	record "$kind.data" -N -F 499 -g -- "./prog-$kind"
	unlike "$kind, ${#id} digits: no name in the program itself" "$(stacks "$kind.data")" 'only_in_debug_file'
	if ours; then
		stacks "$kind.data" --debug-dir debug >folded
	else
		tool buildid-cache -a "debug/.build-id/${id:0:2}/${id:2}.debug"
		stacks "$kind.data" >folded
	fi
	like "$kind, ${#id} digits: the debug file of that id" "$(<folded)" 'only_in_debug_file'
done
done_testing
