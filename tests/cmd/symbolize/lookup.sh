#!/bin/bash
# timeout: 120
# Names and lines of random addresses of a C++ program of several units, from the symbolizer's code
# on one thread and on many, match addr2line: the functions inlined at each address, innermost
# first.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd g++ readelf python3
LOOKUP=$BUILD/tests/tools/lookupbench
[ -x "$LOOKUP" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
cp "$BUILD/tests/bench/many-8-1" many 2>err || skip_all "test programs are not built: $(cat err)"
readelf -SW many | sed 's/\[ */[/' | python3 -c '
import random, sys
start, size = next((int(f[3], 16), int(f[5], 16)) for f in map(str.split, sys.stdin) if len(f) > 5 and f[1] == ".text")
random.seed(4)
for _ in range(2000): print("0x%x" % (start + random.randrange(size)))' >addresses

"$LOOKUP" --threads 1 many <addresses >one
check "2,000 addresses have an answer" [ "$(grep -c '^$' one)" = 2000 ]
check "with inlined functions" [ "$(wc -l <one)" -gt 6000 ]
for n in 2 5 16; do
	is "$n threads find the same" "$("$LOOKUP" --threads $n many <addresses | cksum)" "$(cksum <one)"
done
objcopy --compress-debug-sections=zlib many packed
is "compressed debug info, 5 threads" "$("$LOOKUP" --threads 5 packed <addresses | cksum)" "$(cksum <one)"
"$LOOKUP" --threads 1 --lines many <addresses >lines
check "lines" [ "$(grep -c '	.*:[1-9]' lines)" -gt 6000 ]
check "beside the same names" diff <(cut -f1 lines) one
for n in 2 5 16; do
	is "lines, $n threads" "$("$LOOKUP" --threads $n --lines many <addresses | cksum)" "$(cksum <lines)"
done
is "lines, compressed debug info, 5 threads" "$("$LOOKUP" --threads 5 --lines packed <addresses | cksum)" "$(cksum <lines)"
is "lines without inlined functions, 5 threads" "$("$LOOKUP" --threads 5 --lines --no-inline many <addresses | cksum)" \
	"$("$LOOKUP" --threads 1 --lines --no-inline many <addresses | cksum)"
# The older form of compression, and a size in it that exceeds any memory.
objcopy --compress-debug-sections=zlib-gnu many older
is "lines, zlib-gnu, 5 threads" "$("$LOOKUP" --threads 5 --lines older <addresses | cksum)" "$(cksum <lines)"
printf 'ZLIB\0\0\0\0\300\0\0\0' >huge
objcopy -R .debug_str --add-section .zdebug_str=huge many refused
like "zlib-gnu: 3 GiB are refused" "$("$BUILD/tests/tools/lookup" refused <addresses 2>&1 >/dev/null)" 'more than 2 GiB of debug info'
# The headers of compressed sections claim large sizes: memory is only used for data that the file
# has.
python3 - packed claims <<'END'
import struct, sys
raw = bytearray(open(sys.argv[1], 'rb').read())
shoff, = struct.unpack_from('<Q', raw, 40)
for i in range(*struct.unpack_from('<H', raw, 60)):
    flags, = struct.unpack_from('<Q', raw, shoff + 64 * i + 8)
    if flags & 0x800:  # SHF_COMPRESSED
        struct.pack_into('<Q', raw, shoff + 64 * i + 32, 150 << 20)
open(sys.argv[2], 'wb').write(raw)
END
most=$(python3 -c '
import resource, subprocess, sys
subprocess.run([sys.argv[1], "claims"], stdin=open("addresses"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10)' "$LOOKUP")
check "compressed sections of 150 MiB that are not there: $most MiB of memory, below 100" [ "$most" -gt 0 -a "$most" -lt 100 ]
# Without .debug_aranges, as in clang's output.
objcopy -R .debug_aranges many bare
is "without .debug_aranges, 5 threads" "$("$LOOKUP" --threads 5 bare <addresses | cksum)" "$(cksum <one)"

# The function itself is left out: its name comes from the symbol, "f.isra.0", while debug info has
# "f". Two constructors inlined at one place (C1, C2) are one choice of the debug info, and that is
# compared.
cat >compare.py <<'END'
import sys
ours = [b[:-1] for b in (x.split('\n') for x in open(sys.argv[1]).read().split('\n\n')) if b != ['']]
theirs = []
for line in open(sys.argv[2]):
    line = line.rstrip('\n')
    if line.startswith('0x'):
        theirs.append([])
        names = True
    elif names:
        theirs[-1].append(line)
        names = False
    else:
        names = True
theirs = [b[:-1] for b in theirs]
bad = [(i, a, b) for i, (a, b) in enumerate(zip(ours, theirs)) if a != b]
for i, a, b in bad[:3]:
    print('# address %d: ours %s, theirs %s' % (i, a, b))
print('# %d addresses, %d inlined functions' % (len(ours), sum(map(len, ours))))
sys.exit(len(ours) != len(theirs) or len(bad) > 0)
END
if command -v addr2line >/dev/null; then
	addr2line -aif -e many <addresses >theirs
	check "addr2line finds the same inlined functions" python3 compare.py one theirs
else
	skip "addr2line finds the same inlined functions" "no addr2line"
fi
# If several objects have a function, the linker keeps the first one's code, and makes all of their
# debug info point to it.
cat >same.cc <<'END'
#define CAT(a, b) a##b
#define NAME(a, b) CAT(a, b)
static inline __attribute__((always_inline)) int NAME(mix_, UNIT)(int n) { return (n * 31 + 7) ^ n >> 3; }
__attribute__((noinline)) inline int shared(int n) { return NAME(mix_, UNIT)(n) + 5; }
int NAME(use_, UNIT)(int n) { return shared(n); }
END
echo 'int main() {}' >main.cc
if for u in one two three; do g++ -O2 -g -DUNIT=$u -c -o $u.o same.cc || break; done && g++ -O2 -g -o same main.cc two.o three.o one.o; then
	objcopy -R .debug_aranges same same-bare
	nm same | awk '$3 ~ /shared/ { print "0x" $1 }' >at
	for f in same same-bare; do
		is "$f: debug info of the object whose code it is" "$("$LOOKUP" --threads 1 $f <at | grep -o 'mix_[a-z]*')" "mix_two"
	done
else
	fail "same.cc compiles" "$(cat err)"
fi
# On ARM "$x" marks the start of code; on x86-64 it is a normal name.
cat >dollar.c <<'END'
int x(int) __asm__("$x"), d(int) __asm__("$d.foo");
int x(int n) { return n * 3; }
int d(int n) { return n * 5; }
int main(void) { return 0; }
END
if [ "$(uname -m)" = x86_64 ] && gcc -O2 -o dollar dollar.c 2>err; then
	nm dollar | awk '$3 ~ /^\$/ { print $1 }' >addresses
	is "functions that are called as ARM's marks" "$("$LOOKUP" dollar <addresses | grep . | sort)" "$(printf '%s\n' '$d.foo' '$x')"
else
	skip "functions that are called as ARM's marks" "needs gcc for x86-64"
fi
done_testing
