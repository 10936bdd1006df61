#!/bin/bash
# --stats only advises on JIT code what its runtime can do. The files that the process maps prove
# which runtime that is. Uses a small JIT of our own (tests/targets/jitloop.c) under the names of
# runtimes.
# beside others
. "$(dirname "$0")/../../lib.sh"

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
TARGETS=$BUILD/tests/targets
[ -x "$TARGETS/jitloop" ] || skip_all "$TARGETS/jitloop is not built (make test-targets)"

# stats NAME COMMAND...: record it, and print the output of --stats.
stats() {
	local name=$1
	shift
	"$NSPROF" record -q -e cpu-clock -F 499 -o "$name.data" -- "$@"
	"$NSPROF" symbolize --stats "$name.data" 2>&1 >"$name.folded"
}
named() { sed -n 's/^ .* names  *\[jit\] of '"$1"'  *//p'; }

while IFS='|' read -r name want; do
	cp "$TARGETS/jitloop" "$name"
	# An earlier process with its number may have left a map.
	got=$(stats "$name" sh -c 'rm -f "/tmp/perf-$$.map"; exec "$@"' sh "./$name" 0.2 x nomap | named "$name")
	is "$name" "$got" "it has no perf map or jitdump  $want"
done <<'END'
qemu-aarch64|run qemu with -perfmap (QEMU 8.0 and later)
qemu-x86_64-static|run qemu with -perfmap (QEMU 8.0 and later)
sbcl|-
luajit-2.1|-
java|run 'jcmd PID Compiler.perfmap' before the recording ends (JDK 17 and later), or start java with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit
node|run node with --perf-basic-prof
beam.smp|run erl with +JPperf true
php8.4|run php with -d opcache.jit_debug=0x10
ruby3.3|run ruby with --yjit-perf
javac-like|if it can, have it write /tmp/perf-PID.map or a jitdump: nsprof-symbolize(1), JIT CODE
node_exporter|if it can, have it write /tmp/perf-PID.map or a jitdump: nsprof-symbolize(1), JIT CODE
phpmyadmin|if it can, have it write /tmp/perf-PID.map or a jitdump: nsprof-symbolize(1), JIT CODE
END

# A runtime in a library is not recognized by the program's name.
cp "$TARGETS/libspin.so" libjvm.so
cp "$TARGETS/jitloop" server
like "a Java machine in a program of another name" "$(LD_PRELOAD=$T/libjvm.so stats embed ./server 0.2 x nomap)" \
	"\[jit\] of server  .*jcmd PID Compiler.perfmap"
cp "$TARGETS/libspin.so" libj9jit29.so
got=$(LD_PRELOAD="$T/libjvm.so $T/libj9jit29.so" stats openj9 ./java 0.2 x nomap)
like "OpenJ9, whose libjvm.so and java have HotSpot's names" "$got" "\[jit\] of java  .*run java with -XX:\+PerfTool$"
unlike "OpenJ9: it has no Compiler.perfmap" "$got" "jcmd"
like "what was forked from it" "$(LD_PRELOAD=$T/libjvm.so stats embedfork sh -c './server 0.2 x nomap; true')" "jcmd PID Compiler.perfmap"

# ---- code in a form that ELF tools do not know
if command -v python3 >/dev/null; then
	head -c 8192 /dev/zero >image.core
	cat >core.py <<'PY'
import ctypes, mmap, sys, time
# mov $0x4000000,%ecx; 1: dec %ecx; jne 1b; ret
code = bytes([0xb9, 0, 0, 0, 4, 0xff, 0xc9, 0x75, 0xfc, 0xc3])
with open(sys.argv[1], "r+b") as f:
    f.write(code)
    f.flush()
    m = mmap.mmap(f.fileno(), 8192, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
fn = ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
end = time.monotonic() + 0.4
while time.monotonic() < end:
    fn()
PY
	got=$(stats core python3 core.py image.core)
	like "a file of another form" "$got" 'names .*/image.core +not an ELF file +-$'
	unlike "is told nothing of build-ids" "$(grep "names .*image.core" <<<"$got")" 'build-id|while it runs'
else
	skip "a file of another form" "needs the command python3"
fi

# ---- a jitdump with its end still in the program's buffer
"$TARGETS/jitdump" late 20 "$T" &
pid=$!
wait_for '[ -s jit-$pid.dump ]' 10
"$NSPROF" record -q -e cpu-clock -F 499 -o late.data -p $pid --duration 0.5
got=$("$NSPROF" symbolize --stats late.data 2>&1 >late.folded)
like "it lives: its buffer may hold the rest" "$got" "names .*\[jit\] of jitdump +not in its jitdump, whose end may still be in the program's buffer +record for longer, or until the program ends"
unlike "it is not said to have none" "$got" 'no perf map or jitdump'
kill $pid
"$NSPROF" record -q -e cpu-clock -F 499 -o ended.data -- "$TARGETS/jitdump" late 0.3 "$T"
like "it ended: the names are there" "$("$NSPROF" symbolize -q ended.data)" ';outer_fn;native_mid;inner_fn;leaf_one'

# ---- callers
cp "$TARGETS/jitdump" erl-like
like "callers: of an unknown runtime" "$(stats nested ./erl-like nested 0.3 "$T")" 'callers .*\[jit\] of erl-like .*if it can, have it keep frame pointers'
cp "$TARGETS/jitdump" qemu-arm
got=$(stats qemu ./qemu-arm nested 0.3 "$T" | grep callers)
like "callers: of one that cannot" "$got" '\[jit\] of qemu-arm +jitted code without frame pointer or unwind rows +-$'
cp "$TARGETS/jitdump" java
like "callers: java" "$(stats jcallers ./java nested 0.3 "$T")" 'callers .*\[jit\] of java .*run java with -XX:\+PreserveFramePointer$'
done_testing
