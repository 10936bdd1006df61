#!/bin/bash
# Two containers with perf maps of up to 250 MB and names of 20 MB, for several processes each, beside
# one with the longest name that a compiler may write. Its name is complete, those of the others are
# cut and marked, and neither memory nor output grow with their maps: of living processes, and in a
# recording.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd python3
ctr_need
PROCESSES=3
REAL=$(printf 'std::vector<%s>' "$(head -c 24000 /dev/zero | tr '\0' v)")

# peak OUT COMMAND...: runs it, and prints the largest resident size of it and its children in MiB.
peak() {
	python3 -c 'import os, resource, sys
out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, out, 1)])
os.waitpid(pid, 0)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)' "$@"
}

ctr_rootfs "$T/root" "$TARGETS/jitloop"
mkdir "$T/one" "$T/two" "$T/real"
for c in one two; do
	CTR_TMP=$T/$c ctr_start $c "$T/root" sh -c \
		"i=0; while [ \$i -lt $PROCESSES ]; do /app/jitloop 90 mine nomap & i=\$((i + 1)); done; wait" || { fail "$c starts"; done_testing; }
done
CTR_TMP=$T/real ctr_start real "$T/root" /app/jitloop 90 "$REAL" || { fail "real starts"; done_testing; }
for c in one two; do
	for ((i = 2; i < PROCESSES + 8; i++)); do ln -s nothing "$T/$c/perf-$i.map"; done
done
wait_for "[ \$(pgrep -c jitloop) -gt $((2 * PROCESSES)) ]" 20
ctr_computes "$CTR_CGROOT/one"
ctr_computes "$CTR_CGROOT/two"
ctr_computes "$CTR_CGROOT/real"
# The maps appear when the recording has ended: then they are read from the living processes.
check "record" "$NSPROF" record -q -G "$CTR_CGROOT" -F 199 --duration 1 -o "$T/live"
ctr_rest
python3 - "$T/one" "$T/two" "$PROCESSES" <<'MAPS'
import os, sys
for n, where in enumerate(sys.argv[1:3]):
    with open(where + '/huge', 'w') as f:
        f.write('1000 7ffffffff000 ' + chr(ord('A') + n) * (20 << 20) + '\n')
        rest = '1 1 ' + 'n' * (20 << 20) + '\n'
        for i in range((11, 1)[n]):
            f.write(rest)
    for i in range(2, int(sys.argv[3]) + 8):
        os.unlink('%s/perf-%d.map' % (where, i))
        os.link(where + '/huge', '%s/perf-%d.map' % (where, i))
MAPS
ctr_go
check "record with the maps" "$NSPROF" record -q -G "$CTR_CGROOT" -F 199 --duration 1 -o "$T/kept"
show() { # NAME RECORDING
	local mib
	mib=$(peak "$T/folded" "$BUILD/bin/nsprof-symbolize" --no-cache "$2" 2>"$T/err")
	is "$1: at most 256 MiB of memory ($mib)" $((mib <= 256)) 1
	is "$1: the long name is complete" "$(grep -cF ";$REAL" "$T/folded" | awk '{ print ($1 > 0) }')" 1
	like "$1: another is cut and marked" "$(cut -c 65400- "$T/folded")" 'A\.\.\.\[20971520 bytes, [0-9a-f]{16}\]'
	like "$1: so is that of the other container, and it is different" "$(cut -c 65400- "$T/folded")" 'B\.\.\.\[20971520 bytes, [0-9a-f]{16}\]'
	is "$1: output of $(stat -c %s "$T/folded") bytes" $(($(stat -c %s "$T/folded") < 16 << 20)) 1
}
ctr_rest
show live "$T/live"
is "the recording has $(stat -c %s "$T/kept") bytes" $(($(stat -c %s "$T/kept") < 1 << 20)) 1
ctr_go
for c in one two real; do ctr_stop $c; done
show kept "$T/kept"
done_testing
