#!/bin/bash
# timeout: 120
# The cache of large debug info: the same names with it and without, whatever happens to its files.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd g++ readelf python3
LOOKUP=$BUILD/tests/tools/lookupbench
[ -x "$LOOKUP" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
cp "$BUILD/tests/bench/many-4-1" many 2>err || skip_all "test programs are not built: $(cat err)"
readelf -SW many | sed 's/\[ */[/' | python3 -c '
import random, sys
start, size = next((int(f[3], 16), int(f[5], 16)) for f in map(str.split, sys.stdin) if len(f) > 5 and f[1] == ".text")
random.seed(5)
for _ in range(1000): print("0x%x" % (start + random.randrange(size)))' >all
head -n 500 all >half
"$LOOKUP" many <all >want
C=$XDG_CACHE_HOME/nsprof
names() { "$LOOKUP" --cache "$@" many <all | cksum; }
entries() { find "$C" -name '*.inl' | wc -l; }
WANT=$(cksum <want)

check "without --cache there is none" [ ! -e "$C" ]
is "the first run" "$(names)" "$WANT"
is "leaves one file" "$(entries)" 1
is "that only its owner can read" "$(stat -c %a "$C" "$C"/*.inl | paste -sd' ')" "700 600"
is "the second run" "$(names)" "$WANT"
# Bytes that a process has read, after its end and before it is waited for.
cat >reads.py <<'END'
import os, subprocess, sys
p = subprocess.Popen(sys.argv[1:], stdin=open('all'), stdout=subprocess.DEVNULL)
os.waitid(os.P_PID, p.pid, os.WEXITED | os.WNOWAIT)
print(next(l.split()[1] for l in open('/proc/%d/io' % p.pid) if l.startswith('rchar')))
END
info=$(size -A many | awk '$1 == ".debug_info" { print $2 }')
if bytes=$(python3 reads.py "$LOOKUP" --cache many 2>err); then
	check "reads no debug info: $bytes bytes in all, .debug_info has $info" [ "$bytes" -lt "$info" ]
else
	skip "reads no debug info" "no account of what a process read: $(tail -n 1 err)"
fi
"$LOOKUP" --cache --no-inline many <all >/dev/null
if bytes=$(python3 reads.py "$LOOKUP" --no-inline many 2>err); then
	check "nor does --no-inline: $bytes bytes" [ "$bytes" -lt "$info" ]
fi

rm -r "$C"
"$LOOKUP" --cache many <half >/dev/null
is "a file that knows a half" "$(names)" "$WANT"
is "and then all" "$(names)" "$WANT"

# Damage: any byte changed, and any length.
cp "$C"/*.inl whole
file=$(echo "$C"/*.inl)
bad=$(python3 - "$file" whole <<'END'
import random, subprocess, sys, os
file, data = sys.argv[1], open(sys.argv[2], 'rb').read()
lookup = os.environ['BUILD'] + '/tests/tools/lookupbench'
want = open('want').read()
random.seed(6)
bad = 0
for i in range(40):
    d = bytearray(data)
    if i % 4 == 0:
        d = d[:random.randrange(len(d))]
    elif i % 4 == 1:
        d += b'x' * random.randrange(1, 100)
    elif i % 4 == 2:
        d[random.randrange(200)] ^= 1 << random.randrange(8)
    else:
        d[random.randrange(len(d))] ^= 1 << random.randrange(8)
    open(file, 'wb').write(d)
    p = subprocess.run([lookup, '--cache', 'many'], stdin=open('all'), capture_output=True, text=True)
    bad += p.returncode != 0 or p.stdout != want or p.stderr != ''
print(bad)
END
)
is "damaged files are not used: wrong answers of 40" "$bad" 0

# Writers at the same time, each with its own addresses.
rm -r "$C"
split -n l/8 all part.
for i in 1 2 3; do
	pids=()
	for p in part.a?; do
		"$LOOKUP" --cache many <"$p" >"out.$p" &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat out.part.a? | cksum >>sums
done
is "eight at once, three times, have the right names" "$(sort -u sums)" "$WANT"
is "one file, none half written" "$(find "$C" -type f | wc -l) $(entries)" "1 1"
is "that is good" "$(names)" "$WANT"

# Another binary with the same build-id, size and layout, as a container could forge it.
LC_ALL=C sed 's/unit00\([0-3]\)/evil66\1/g' many >forged
is "the forged one has the same build-id" "$(readelf -n forged | grep 'Build ID')" "$(readelf -n many | grep 'Build ID')"
is "and the same size" "$(stat -c %s forged)" "$(stat -c %s many)"
"$LOOKUP" --cache forged <all >forged.names
check "the forged binary has its own names" grep -q evil66 forged.names
check "all of them" sh -c '! grep -q unit00 forged.names'
is "and has not changed those of the other" "$(names)" "$WANT"
cp many inplace
"$LOOKUP" --cache inplace <all >/dev/null
cat forged >inplace
is "bytes that were changed in place count" "$("$LOOKUP" --cache inplace <all | cksum)" "$(cksum <forged.names)"

# The command itself.
rm -r "$C"
if "$NSPROF" record -q -o data -e cpu-clock -F 999 -- ./many $(seq 20000) 2>err && "$NSPROF" symbolize -q data >cold 2>err; then
	id=$(readelf -n many | awk '/Build ID/ { print $NF }')
	is "nsprof symbolize leaves a file" "$(find "$C" -name "$id-*.inl" | wc -l)" 1
	is "and gives the same with it" "$("$NSPROF" symbolize -q data | cksum)" "$(cksum <cold)"
	is "--no-cache gives the same" "$("$NSPROF" symbolize -q --no-cache data | cksum)" "$(cksum <cold)"
	rm -r "$C"
	"$NSPROF" symbolize -q --no-cache data >/dev/null
	check "--no-cache writes nothing" [ ! -e "$C" ]
else
	skip "nsprof symbolize with the cache" "cannot record here: $(cat err)"
fi

if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 other && chown 65534:65534 other
	is "as root with another user's home" "$(env -u XDG_CACHE_HOME HOME="$T/other" "$LOOKUP" --cache many <all | cksum)" "$WANT"
	is "nothing is left there" "$(find other | wc -l)" 1
	if unshare -m true 2>err; then
		mkdir ro
		is "with a read-only home" "$(unshare -m sh -c 'mount -t tmpfs -o ro,mode=700 none ro &&
			env -u XDG_CACHE_HOME HOME="$T/ro" "$1" --cache many <all' - "$LOOKUP" 2>err | cksum)" "$WANT"
		is "nothing is said" "$(cat err)" ""
		names >/dev/null
		is "with a read-only cache" "$(unshare -m sh -c 'mount --bind "$2" "$2" && mount -o remount,ro,bind "$2" &&
			"$1" --cache many <all' - "$LOOKUP" "$XDG_CACHE_HOME" 2>err | cksum)" "$WANT"
		is "nothing is said" "$(cat err)" ""
	else
		skip "with a read-only home" "no mount namespace: $(cat err)"
	fi
	# A file system without a disk: its mount identifies it.
	mkdir mnt
	if unshare -m true 2>err; then
		export T
		is "from a tmpfs, and from another that has taken its place" "$(unshare -m sh -c '
			for f in many forged; do
				mount -t tmpfs none mnt && cp $f mnt/bin && "$1" --cache mnt/bin <all | cksum &&
				"$1" --cache mnt/bin <all | cksum && umount mnt
			done' - "$LOOKUP" 2>err | uniq)" "$WANT"$'\n'"$(cksum <forged.names)"
	fi
else
	skip "as root with another user's home, read-only homes" "needs root"
fi
done_testing
