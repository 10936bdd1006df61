#!/bin/bash
# nsprof annotate: samples by instruction. Sums match symbolize, instructions and jumps match
# objdump, and lines match addr2line, in C, C++, Go, the C library and a static program. Also: code
# that cannot be shown, and programs in another root, still there and gone.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd gcc objdump addr2line python3 jq
TARGETS=$BUILD/tests/targets
cd "$T" || exit 1
mkdir src
cat >src/work.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) unsigned long step(unsigned long x)
{
	return x * 31 + (x >> 7);		/* STEP */
}
__attribute__((noinline)) unsigned long hot(unsigned long n)
{
	unsigned long x = 1;

	for (unsigned long i = 0; i < n; i++) {
		if (x & 1)
			x = step(x) + i;
		else
			x = x / 3 + sink;	/* DIVIDE */
	}
	return x;
}
static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}
/* The same work for each second of CPU time. */
int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	static char text[4096];

	while (clock() < seconds * CLOCKS_PER_SEC) {
		sink += hot(100000);
		for (size_t i = 0; i < sizeof(text) - 1; i++)
			text[i] = (char)('a' + (i * 7 + sink) % 23);
		qsort(text, sizeof(text) / 8 - 1, 8, compare);
	}
	puts("done");
}
END
gcc -O2 -g -o work src/work.c || skip_all "gcc cannot build it"
"$NSPROF" record -q -o probe -- true 2>err || skip_all "no perf events here: $(cat err)"

# compare NAME DATA N SYMBOL BINARIES: annotated.py finds no difference, and these binaries were
# among the compared ones.
compare() {
	local said
	"$NSPROF" annotate -q -i "$2" --json --percent-limit 0 >"$2.json"
	"$NSPROF" symbolize -q --no-inline --by none --annotate "$2" >"$2.folded"
	said=$(python3 "$TOP/tests/tools/annotated.py" "$2.json" "$2.folded" "$3" "$4" 2>&1)
	is "$1: no difference in samples, instructions, jumps, lines" "$(sed '/^compared:/,$d' <<<"$said")" ""
	like "$1: functions" "$said" '^[1-9][0-9]* functions, [1-9][0-9]* samples$'
	like "$1: binaries" "$said" "^of .*$5"
	like "$1: lines" "$said" '^[1-9][0-9]* lines$'
}

# ---- several binaries ----
run='./work 0.3; "$0/spin-static" --cpu 0.1; "$0/spin" --cpu 0.1'
want='spin spin-static.* work'
[ ! -x "$TARGETS/shop" ] || { run+='; "$0/shop" 0.4' want="shop $want"; }
want="libc.* $want"
[ ! -x "$TARGETS/gospin" ] || { run+='; "$0/gospin" 0.4' want="gospin.* $want"; }
"$NSPROF" record -q -e cpu-clock:u -F 999 -o all.data -- sh -c "$run" "$TARGETS" >/dev/null 2>err || skip_all "cannot record here: $(cat err)"
compare "several binaries" all.data 3 hot "$want"
mv all.data.json all.json
is "what it is of" "$(jq -r '.functions[] | select(.symbol == "hot") | .binary, .code' all.json | xargs)" "$T/work binary"
check "its hottest instruction is in the loop" test "$(jq '[.functions[] | select(.symbol == "hot") | .instructions | max_by(.samples) |
	.line] | .[0]' all.json)" -ge "$(grep -n STEP src/work.c | cut -d: -f1)"
"$NSPROF" annotate -q -i - --json --percent-limit 0 <all.data >stdin.json
check "from standard input" cmp all.json stdin.json
"$NSPROF" annotate -q -i all.data --filter comm=work --json --percent-limit 0 >some.json
is "--filter" "$(jq '.samples' some.json)" "$("$NSPROF" symbolize -q --filter comm=work all.data | awk '{ n += $NF } END { print n }')"

# ---- the text ----
"$NSPROF" annotate -q -i all.data hot >text
like "head" "$(cat text)" "^ Percent  Samples \| hot: $(jq '.functions[] | select(.symbol == "hot") | .samples' all.json) samples of cpu-clock:u, "
like "binary and build-id" "$(cat text)" "\| $T/work, build-id [0-9a-f]{40}$"
like "source text" "$(cat text)" "\| work.c:$(grep -n DIVIDE src/work.c | cut -d: -f1) +x = x / 3 \+ sink;"
like "a jump names its target" "$(cat text)" ': (L[0-9]+)? +j[a-z]+ +0x[0-9a-f]+  <L[0-9]+ (up|down)>$'
is "labels that jumps name are there" "$(grep -oE '<L[0-9]+' text | tr -d '<' | sort -u)" "$(grep -oE ': L[0-9]+' text | cut -c3- | sort -u)"
is "counts add up" "$(awk -F'|' '$1 ~ /[0-9]/ { split($1, n, " "); sum += n[2] } END { print sum }' text)" \
	"$(jq '.functions[] | select(.symbol == "hot") | .samples' all.json)"
like "calls are named" "$("$NSPROF" annotate -q -i all.data main 2>&1; "$NSPROF" annotate -q -i all.data --percent-limit 0)" \
	'callq? +0x[0-9a-f]+  <[a-z_]+'
unlike "--no-source" "$("$NSPROF" annotate -q -i all.data --no-source hot)" 'work\.c'
like "Intel's syntax" "$("$NSPROF" annotate -q -i all.data -M intel hot)" ' r[a-d]x, '
unlike "no colors in a pipe" "$(cat text)" $'\033'
"$NSPROF" annotate -q -i all.data -o out hot
check "-o" cmp text out
# Without a name: functions with at least 5 %, or the hottest one.
is "without a name: the hottest first" "$("$NSPROF" annotate -q -i all.data --percent-limit 100 | head -n 1 | sed 's/.*| \(.*\): [0-9]* samples.*/\1/')" \
	"$(jq -r '.functions[0].symbol' all.json)"

# ---- names ----
if [ -x "$TARGETS/shop" ]; then
	full=$(jq -r '[.functions[] | select(.binary | endswith("/shop")) | .symbol | select(test("^Shop::[a-z_]+\\("))][0]' all.json)
	"$NSPROF" annotate -q -i all.data "$full" >full
	check "a C++ name" test -s full
	"$NSPROF" annotate -q -i all.data "$(jq -r --arg n "$full" '[.functions[] | select(.symbol == $n)][0].linkage' all.json)" >linkage
	check "as the linker knows it" cmp full linkage
	"$NSPROF" annotate -q -i all.data "${full%%(*}" >short
	check "without its parameters" cmp full short
fi
# Inlined: step() became a part of hot().
check_rc "only inlined" 1 "$NSPROF" annotate -q -i all.data step
like "where" "$(cat check.err)" "'step' has no code of its own in these samples: it is inlined into 'hot' \([0-9]+\)"
check_rc "no such function" 1 "$NSPROF" annotate -q -i all.data no_such_function
like "says so" "$(cat check.err)" "no sample was taken in a function 'no_such_function'"
check_rc "part of several" 1 "$NSPROF" annotate -q -i all.data leaf
like "names them" "$(cat check.err)" "'leaf' matches [0-9]+ functions; name one of them"
check_rc "two names" 129 "$NSPROF" annotate -i all.data hot main
check_rc "a syntax there is not" 129 "$NSPROF" annotate -i all.data -M vax hot
check_rc "no recording" 1 "$NSPROF" annotate -i nothing.data hot
check_rc "a filter that nothing meets" 1 "$NSPROF" annotate -q -i all.data --filter comm=nobody hot
like "says what there is" "$(cat check.err)" nobody
[ ! -c /dev/full ] || check_rc "a full disk is noticed" 1 sh -c "'$NSPROF' annotate -q -i all.data hot >/dev/full"

# ---- one program in two files ----
# Without a build-id, because with one they would be one binary.
gcc -O2 -g -Wl,--build-id=none -o twin1 src/work.c && cp twin1 twin2
"$NSPROF" record -q -e cpu-clock:u -F 999 -o twins.data -- sh -c './twin1 0.1 & ./twin2 0.1 & wait' >/dev/null
"$NSPROF" annotate -q -i twins.data --json hot >twins.json
is "the same code is shown once" "$(jq -c '[.functions | length, .[0].twins]' twins.json)" '[1,1]'
is "with the samples of both" "$(jq '.functions[0].samples' twins.json)" \
	"$("$NSPROF" symbolize -q --no-inline --by none twins.data | awk '/;hot [0-9]+$/ { n += $NF } END { print n }')"

# ---- kernel and JIT code ----
if can_sample_kernel && [ -x "$TARGETS/spin" ]; then
	"$NSPROF" record -q -e cpu-clock -F 999 -o kernel.data -- dd if=/dev/zero of=/dev/null bs=64k count=10000 2>/dev/null
	name=$("$NSPROF" symbolize -q --by none --annotate kernel.data | grep -oE '[^; ]+_\[k\] [0-9]+$' | sort -t' ' -k2nr | sed 's/_\[k\].*//;q')
	check_rc "a kernel function" 1 "$NSPROF" annotate -q -i kernel.data "$name"
	like "says that it is one" "$(cat check.err)" "it is a kernel function"
else
	skip "a kernel function" "the kernel cannot be sampled"
fi
if [ -x "$TARGETS/jitloop" ]; then
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o jit.data -- \
		sh -c 'echo $$ >pid; exec "$@"' sh "$TARGETS/jitloop" 0.3 jitted map >/dev/null
	rm -f "/tmp/perf-$(cat pid).map"
	check_rc "JIT code" 1 "$NSPROF" annotate -q -i jit.data jitted
	like "says that it is some" "$(cat check.err)" "'jitted': it is JIT code"
fi

# ---- waits: at the calls that lead to them ----
if can_sample_kernel && [ -x "$TARGETS/waits" ]; then
	"$NSPROF" record -q --wall --off-cpu=1 -o waits.data -- "$TARGETS/waits" 0.2 alternate >/dev/null
	for event in off-cpu wall; do
		"$NSPROF" symbolize -q --event $event --keep-parked --no-inline --by none waits.data >waits.folded
		"$NSPROF" annotate -q --event $event --json -i waits.data alternate >alternate.json
		for fn in wait_futex wait_nanosleep; do
			ns=$(awk -v fn=";alternate;$fn;" 'index($0, fn) { n += $NF } END { printf "%.0f\n", n }' waits.folded)
			is "$event: the call of $fn" "$(jq --arg fn $fn '[.functions[].instructions[] | select(.target_symbol == $fn) | .period] | add' alternate.json)" "$ns"
			check "which is some ($ns)" test "$ns" -gt 0
		done
		"$NSPROF" annotate -q --event $event --json --percent-limit 0 -i waits.data >leaves.json
		is "$event: no sample is within an instruction" "$(jq '[.functions[].samples_inside] | add' leaves.json)" 0
		[ "$(uname -m)" != x86_64 ] || is "$event: libc waits at system calls" \
			"$(jq -c '[.functions[] | select(.symbol == "clock_nanosleep" or .symbol == "__clock_nanosleep") | .instructions[] | select(.samples > 0) | .text] | unique' leaves.json)" '["syscall"]'
		like "$event: without a name, who waits comes first" "$(jq -r '.functions[].symbol' leaves.json | head -n 3)" 'nanosleep|syscall'
	done
else
	skip "waits" "the kernel cannot be sampled"
fi

# ---- perf.data ----
if have_perf && perf record -q -e cpu-clock:u -F 499 -o perf.data -- ./work 0.1 >/dev/null 2>&1; then
	compare "perf.data" perf.data 1 hot work
else
	skip "perf.data" "perf cannot record here"
fi

# ---- another root ----
if [ "$(id -u)" != 0 ] || ! command -v unshare >/dev/null || ! unshare -m true 2>err; then
	skip "another root" "needs root and mount namespaces"
	done_testing
fi
# The binary's source is /src/work.c, below the root of the process; the host has another file at
# that path. A hostile binary may also name a file outside of its root.
echo "the host's secret" >secret.c
mkdir -p root/app root/src
cp src/work.c root/src/work.c
{
	sed '/DIVIDE/q' src/work.c
	printf '#line 1 "%s/secret.c"\n' "$T"
	sed '1,/DIVIDE/d' src/work.c
} >hostile.c
gcc -O2 -g -static -ffile-prefix-map="$T/src"=/src -o root/app/work "$T/src/work.c" 2>/dev/null &&
	gcc -O2 -g -static -o root/app/hostile hostile.c 2>/dev/null || { skip "another root" "gcc cannot link static"; done_testing; }
unshare -m chroot root /app/work 60 &
pid=$!
unshare -m chroot root /app/hostile 60 &
hostile=$!
wait_for "readlink /proc/$pid/exe | grep -q /app/work && readlink /proc/$hostile/exe | grep -q /app/hostile" 20
# Wait by their CPU time, which does not depend on other load.
cpu_ticks() {
	cut -d' ' -f14 "/proc/$1/stat"
}
"$NSPROF" record -q -e cpu-clock:u -F 499 -p $pid,$hostile -o root.data &
recorder=$!
wait_for "[ -s root.data ]" 20
until_ticks=$(($(cpu_ticks $pid) + 20)) until_hostile=$(($(cpu_ticks $hostile) + 20))
wait_for "((\$(cpu_ticks $pid) >= $until_ticks && \$(cpu_ticks $hostile) >= $until_hostile))" 60
kill -INT $recorder
wait $recorder
kill -STOP $pid $hostile
"$NSPROF" annotate -q -i root.data --filter comm=work hot >alive
like "a running process in another root" "$(cat alive)" '\| .*/app/work, build-id'
like "its source is that of its root" "$(cat alive)" 'work.c:[0-9]+ +x = x / 3 \+ sink;'
"$NSPROF" annotate -q -i root.data --filter comm=hostile hot >claimed
like "a source file outside of the root is named" "$(cat claimed)" 'secret\.c:[0-9]+$'
unlike "and not shown" "$(cat claimed)" "the host's secret"
# by_address FILE: the part that does not depend on debug info.
by_address() {
	jq -c '.functions[0] | [.symbol, .build_id, .samples, .samples_inside, (.instructions[] | del(.file, .line))]' "$1"
}
"$NSPROF" annotate -q -i root.data --filter comm=work --json hot >alive.json
kill -KILL $pid $hostile
wait $pid $hostile 2>/dev/null
rm -rf root
check "process and binary are gone" "$NSPROF" annotate -q -i root.data --filter comm=work --json -o gone.json hot
is "the recording's code" "$(jq -r '.functions[0].code' gone.json)" recording
is "is what the binary had" "$(by_address gone.json)" "$(by_address alive.json)"
done_testing
