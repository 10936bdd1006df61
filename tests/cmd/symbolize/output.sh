#!/bin/bash
# Tens of MiB of output, written by a separate thread if there are two CPUs: the bytes are the same
# as with one CPU, to files, pipes and devices, and nothing is lost in silence.
# beside others
. "$(dirname "$0")/../../lib.sh"
DEEP=$BUILD/tests/targets/deep
[ -x "$DEEP" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
# Some 500 frames of at least 20 characters per stack, for a second of CPU time: then a signal ends
# it.
# shellcheck disable=SC2016
(ulimit -c 0; "$NSPROF" record -q -o data -e cpu-clock:u -F 4999 --call-graph dwarf,65528 -- sh -c 'ulimit -S -t 1; exec "$0" 1000 1000' "$DEEP") 2>err
[ -s data ] || skip_all "cannot record here: $(cat err)"
folded() { "$NSPROF" symbolize -q --no-cache "$@" data; }
cpu=$(taskset -cp $$ | sed 's/.*[ ,-]//')
taskset -c "$cpu" "$NSPROF" symbolize -q --no-cache -o one data || skip_all "no stacks are to be had here"
size=$(stat -c %s one)
[ "$size" -ge $((21 << 20)) ] || skip_all "$size bytes of output are too few for a thread: few samples were to be had"
[ "$(nproc)" -ge 2 ] || skip "by a thread" "there is one CPU"
folded -o two
is "status" $? 0
check "a file has the same bytes" cmp one two
folded >two
check "standard output has" cmp one two
echo before >two
folded >>two
check "and what was in the file" cmp <(echo before; cat one) two
check "a pipe has" cmp one <(folded)
is "closed early" "$(folded 2>err | head -c 18000000 | cmp -n 18000000 one - && echo "${PIPESTATUS[0]} $(cat err)")" "141 "
# The children of a shell that ignores a signal ignore it, too.
(trap '' PIPE; folded 2>err; echo $? >status) | head -c 18000000 >/dev/null
is "where that is no signal: status" "$(cat status)" 1
is "and one line" "$(cat err)" "nsprof symbolize: error: cannot write 'standard output': Broken pipe"
folded >/dev/full 2>err
is "a full device: status" $? 1
is "and one line" "$(cat err)" "nsprof symbolize: error: cannot write 'standard output': No space left on device"

# Names of open files: output goes after the earlier output, which stays, and later output stays as
# well.
{ echo before; "$NSPROF" symbolize -q --no-cache -o /dev/stdout data; echo after; } >two
check "/dev/stdout" cmp <(echo before; cat one; echo after) two
echo before >two
"$NSPROF" symbolize -q --no-cache -o /dev/fd/5 data 5>>two
check "/dev/fd/5, appended to" cmp <(echo before; cat one) two
for name in /dev/stdout /proc/self/fd/1; do
	echo before >two
	"$NSPROF" record -q -e cpu-clock:u -o $name -- true >>two
	is "record, $name: what was there stays" "$(head -n 1 two) $(ls two*)" "before two"
	tail -c +8 two >three
	check "record, $name: and the recording is behind it" "$NSPROF" info three
	"$NSPROF" record -q --switch-output -o $name -- true >>two 2>err
	is "record, $name is no place for many files" "$? $(cut -d: -f3 err)" "129  --switch-output writes more than one file, but '$name' is not a regular file"
done
# This file in /dev is a regular file, unlike most others there.
if [ -d /dev/shm ] && shm=$(mktemp -d /dev/shm/nsprof-test.XXXXXX); then
	later 'rm -rf "$shm"'
	cat one one >"$shm/x"
	folded -o "$shm/x"
	check "a longer file in /dev/shm is replaced" cmp one "$shm/x"
	is "and nothing is left beside it" "$(ls "$shm")" x
else
	skip "a longer file in /dev/shm is replaced" "there is no /dev/shm"
fi

mkdir small
echo old >small/x
if (($(id -u) == 0)) && mount -t tmpfs -o size=20m tmpfs small 2>/dev/null; then
	# shellcheck disable=SC2016
	later 'umount "$T/small"'
	echo old >small/x
	folded -o small/x 2>err
	is "a full disk: status" $? 1
	is "and one line" "$(cat err)" "nsprof symbolize: error: cannot write 'small/x': No space left on device"
	is "what was there stays" "$(ls small) $(cat small/x)" "x old"
else
	skip "a full disk" "no tmpfs can be mounted"
fi
(trap '' XFSZ; ulimit -f 20000; folded -o small/x 2>err; echo $? >status)
is "beyond a limit: status" "$(cat status)" 1
like "and one line" "$(cat err)" "^nsprof symbolize: error: cannot write 'small/x': [A-Z][^:]*\$"
is "and what was there stays" "$(ls small) $(cat small/x)" "x old"
done_testing
