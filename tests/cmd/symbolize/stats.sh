#!/bin/bash
# timeout: 240
# symbolize --stats shows what is missing, per binary, with the reason and the remedy. The test
# applies each remedy to the real program, and it has to help. The counts are those of the folded
# stacks.
# beside others
# takes: 25
. "$(dirname "$0")/../../lib.sh"
need_cmd cc strip objcopy readelf
O=$BUILD/tests/targets/odd
[ -x "$O" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
"$NSPROF" record -q -o probe -- true 2>err || skip_all "no perf events here: $(cat err)"

# take NAME [OPTION...] -- COMMAND...: record user code, and make its table.
take() {
	local name=$1
	shift
	"$NSPROF" record -q -e cpu-clock:u -F 499 -o "$name.data" "$@" >out 2>&1 || fail "$name: records" "$(cat out)"
	look "$name"
}
# look NAME [OPTION...]: make NAME.folded and NAME.stats from NAME.data.
look() {
	"$NSPROF" symbolize --stats -q "${@:2}" "$1.data" >"$1.folded" 2>"$1.stats"
}
# row NAME WHAT BINARY: samples, reason and remedy of a row of the table, separated by bars; the
# columns are two blanks apart.
row() {
	sed -nE "s!^ +([0-9]+) +[0-9.]+ %  $2 +$3  +(.*[^ ])  +([^ ].*)\$!\\1|\\2|\\3!p" "$1.stats" | sed 's/  *|/|/g'
}
reason() { row "$@" | cut -d'|' -f2; }
remedy() { row "$@" | cut -d'|' -f3; }
# holding NAME REGEX: the number of samples of NAME with a matching stack.
holding() { awk -v re="$2" '{ c = $NF; sub(/ [0-9]+$/, "") } (";" $0 ";") ~ re { n += c } END { print n + 0 }' "$1.folded"; }
# most NAME REGEX [REGEX]: REGEX matches nine of ten samples of NAME, or of those that match the
# second REGEX.
most() {
	local n all
	n=$(holding "$1" "$2") all=$(holding "$1" "${3:-.}")
	echo "# $n of $all"
	[ "$all" -gt 0 ] && [ $((n * 10)) -ge $((all * 9)) ]
}
# callers_add_up NAME: the rows about callers add up to the samples marked as not whole.
callers_add_up() {
	is "$1: the samples of the rows are those of the profile" \
		"$(awk '/ %  callers / { n += $1 } END { print n + 0 }' "$1.stats")" "$(holding "$1" ';\[(truncated|broken)_stack\];')"
}

# ---- stacks ----
cat >far.c <<'END_C'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifndef TOUCH
#define TOUCH SIZE
#define DEPTH 40
#endif
#ifndef MS
#define MS 500
#endif
static volatile unsigned long sink;
__attribute__((noinline)) void far_leaf(void)
{
	struct timespec t;
	long end = 0, now;
	if (MS > 500 && write(1, "down", 4) != 4)
		return;
	do {
		for (int i = 0; i < 100000; i++)
			sink += sink * 3 + 1;
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
		end = end ? end : now + MS;
	} while (now < end);
}
__attribute__((noinline)) void far_call(int n)
{
	volatile char frame[SIZE];
	memset((char *)frame, n, TOUCH);
	if (n)
		far_call(n - 1);
	else
		far_leaf();
	sink += frame[n];
}
__attribute__((noinline)) void far_first(void) { far_call(DEPTH); sink++; }
int main(void) { far_first(); return 0; }
END_C
for size in 800 2000; do
	cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -DSIZE=$size -o far$size far.c
	mkdir -p long
	cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -DSIZE=$size -DMS=60000 -o long/far$size far.c
done
# take_down PROGRAM OPTION...: record once it is down there, because one stack of its way down would
# have the outer frames for all others.
take_down() {
	: >down
	"long/$1" >down &
	local pid=$!
	check "$1: it is down there" wait_for '[ -s down ]' 20
	take far "${@:2}" -p $pid --duration 0.5
	kill $pid
	wait $pid 2>/dev/null
}
take_down far800 --call-graph dwarf,8192
is "a small copy: reason" "$(reason far callers ".*/far800")" "stack copy too small"
callers_add_up far
option=$(remedy far callers ".*/far800" | grep -oE -- '--call-graph [a-z0-9,]+')
# shellcheck disable=SC2086
take far $option -- ./far800
check "a small copy: '$option' helps" most far ';main;far_first;far_call;.*far_leaf;' ';far_leaf;'
is "and there is no such row any more" "$(row far callers ".*/far800")" ""
take_down far2000 --call-graph dwarf,65528
like "the largest copy: the remedy is another" "$(remedy far callers ".*/far2000")" 'frame pointers.*--call-graph fp$'
callers_add_up far
option=$(remedy far callers ".*/far2000" | grep -oE -- '--call-graph [a-z0-9,]+')
# shellcheck disable=SC2086
take far $option -- ./far2000
check "the largest copy: '$option' helps" most far ';main;far_first;far_call;.*far_leaf;' ';far_leaf;'

# A frame of eight pages, touched only at its lower end: the copy ends there, in the first thread's
# stack and in all others.
cc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -DSIZE=32768 -DTOUCH=8 -DDEPTH=0 -o far0 far.c
take far -- ./far0
is "a page that is not there: reason" "$(reason far callers ".*/far0")" "a page of the stack was not in memory (a large frame not touched yet)"
check "a page that is not there: marked" most far '^;far0;\[truncated_stack\];far_call;far_leaf;' ';far_leaf;'
callers_add_up far
like "a page that is not there: remedy" "$(remedy far callers ".*/far0")" 'frame pointers.*--call-graph fp$'
option=$(remedy far callers ".*/far0" | grep -oE -- '--call-graph [a-z0-9,]+')
cc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -DSIZE=32768 -DTOUCH=8 -DDEPTH=0 -o far0 far.c
# shellcheck disable=SC2086
take far $option -- ./far0
check "a page that is not there: '$option' helps" most far ';main;far_first;far_call;.*far_leaf;' ';far_leaf;'

"$NSPROF" symbolize -q --stats --max-stack 2 far.data >far.folded 2>far.stats
option=$(remedy far callers - | grep -oE -- '--max-stack')
is "--max-stack: remedy" "$option" "--max-stack"
look far $option 1000
is "--max-stack: it helps" "$(row far callers -)" ""

# Computed jumps out of a large frame, by two-byte numbers, so that the size of the table is
# unknown: its code cannot be followed, nor can its caller be searched for.
cat >interp.c <<'END_C'
#include <string.h>
#include <time.h>
static volatile unsigned long sink;
__attribute__((noinline)) unsigned long interp(const unsigned short *p, unsigned long a)
{
	static const void *const ops[] = { &&add, &&mul, &&push, &&loop, &&end };
	const unsigned short *start = p;
	volatile unsigned long stack[500];
	unsigned long i = 0;
	memset((void *)stack, 1, sizeof(stack));
#define NEXT goto *ops[*p++]
	NEXT;
add:	a += stack[i % 500] + p[0]; NEXT;
mul:	a *= 6364136223846793005ul; NEXT;
push:	stack[a % 500] = a; NEXT;
loop:	if (i++ < 200000) p = start; NEXT;
end:	return a;
}
__attribute__((noinline)) unsigned long caller(unsigned long n)
{
	static const unsigned short code[] = { 0, 1, 2, 0, 1, 2, 3, 4 };
	return interp(code, n) + 1;
}
int main(void)
{
	struct timespec t;
	long end = 0, now;
	do {
		sink += caller(sink);
		clock_gettime(CLOCK_MONOTONIC, &t);
		now = t.tv_sec * 1000 + t.tv_nsec / 1000000;
		end = end ? end : now + 500;
	} while (now < end);
	return 0;
}
END_C
cc -O2 -fno-asynchronous-unwind-tables -fomit-frame-pointer -o interp interp.c
take interp -- ./interp
is "no rows: reason" "$(reason interp callers ".*/interp")" "no unwind rows and no frame pointer"
callers_add_up interp
for option in $(remedy interp callers ".*/interp" | grep -oE -- '-f[a-z-]+'); do
	cc -O2 -fno-asynchronous-unwind-tables -fomit-frame-pointer "$option" -o interp interp.c
	take interp -- ./interp
	check "no rows: $option helps" most interp ';main;caller;interp;' ';interp;'
	is "and there is no such row any more" "$(row interp callers ".*/interp")" ""
done

take alt -- "$O" altstack 0.5
like "a handler on a stack of its own: remedy" "$(remedy alt callers '.*')" 'without SA_ONSTACK'
take alt -- "$O" signal 0.5	# the same handler without it
check "without SA_ONSTACK the interrupted code is seen" most alt ';main;.*;odd_raise;.*odd_handler;' ';odd_handler;'

# ---- names ----
cc -O1 -g -DSIZE=100 -Wl,--build-id -o whole far.c
id=$(readelf -n whole | sed -n 's/.*Build ID: //p')
mkdir -p "debug/.build-id/${id:0:2}"
objcopy --only-keep-debug whole "debug/.build-id/${id:0:2}/${id:2}.debug"
strip -o stripped whole
take stripped -- ./stripped
is "stripped: reason" "$(reason stripped names ".*/stripped")" "stripped of its symbols"
is "stripped: as many samples as have such a frame" "$(row stripped names ".*/stripped" | cut -d'|' -f1)" "$(holding stripped ';\[stripped\];')"
like "stripped: remedy" "$(remedy stripped names ".*/stripped")" 'install its debug symbols, or give --debug-dir or --debuginfod'
look stripped --debug-dir debug
check "stripped: --debug-dir helps" most stripped ';main;far_first;far_call;.*;far_leaf;'
is "and there is no such row any more" "$(row stripped names ".*/stripped")" ""
# One binary does not hide another: both need a remedy.
strip -o uselib "$BUILD/tests/targets/uselib"
strip -o libspin.so "$BUILD/tests/targets/libspin.so"
LD_LIBRARY_PATH=. "$NSPROF" record -q -o two.data -- ./uselib 0.3
like "the warning names two binaries" "$("$NSPROF" symbolize two.data 2>&1 >/dev/null)" \
	"without a name in '[^']*': stripped [^;]*; [0-9.]+ % in '[^']*': stripped"
# The binary itself may be gone: the recording has its rows and its build-id.
rm stripped
look stripped --debug-dir debug
check "stripped and gone: --debug-dir helps" most stripped ';main;far_first;far_call;.*;far_leaf;'

# A killed recorder writes no rows, and the program is gone.
kill_recorder() { # SIGNAL
	cp whole gone
	touch go
	"$NSPROF" record -q -e cpu-clock -F 499 -o gone.data -- \
		sh -c 'echo $$ >pid; "$0" --kernel 0.3; while [ -e go ]; do ./gone; done' "$BUILD/tests/targets/spin" &
	rec=$!
	size() { stat -c %s gone.data 2>/dev/null || echo 0; }
	wait_for '[ "$(size)" -gt 0 ]' 20
	# The recorder writes whole blocks, one per half second.
	for _ in 1 2 3; do
		was=$(size)
		wait_for '[ "$(size)" -gt "$was" ]' 20
	done
	kill "-$1" $rec
	rm go
	wait $rec
	wait_for '! kill -0 "$(cat pid)"' 20
	mv gone aside
	look gone
} 2>/dev/null
kill_recorder KILL
check "recorder killed: nothing is known of the binary" most gone ';\[gone\];' '^;gone;'
like "recorder killed: remedy" "$(remedy gone names '.*/gone')" 'stop the recorder with Ctrl-C or SIGTERM'
if ! for_nobody; then
	skip "kernel names hidden" "$no_nobody"
elif ! head -1 /proc/kallsyms | grep -q '^0* ' && can_sample_kernel; then
	chmod 755 "$T" && chmod 644 gone.data
	env -u XDG_CACHE_HOME "${NOBODY[@]}" "$NSPROF" symbolize -q --stats gone.data 2>gone.stats >/dev/null
	is "kernel names hidden: remedy" "$(remedy gone names '\[kernel\]')" "symbolize as root, or set kernel.kptr_restrict to 0 and kernel.perf_event_paranoid to 1"
	look gone
	is "kernel names hidden: root sees them" "$(row gone names '\[kernel\]')" ""
else
	skip "kernel names hidden" "needs samples of the kernel and its names"
fi
kill_recorder TERM
check "SIGTERM: the recording has what it needs of it" most gone ';main;far_first;far_call;.*;far_leaf;' '^;gone;'
is "and there is no such row" "$(row gone names '.*/gone')" ""

# ---- Haskell ----
cat >Nested.hs <<'END_HS'
module Main where
{-# NOINLINE inner #-}
inner :: Integer -> Integer
inner n = if n < 2 then n else inner (n - 1) + inner (n - 2)
{-# NOINLINE outer #-}
outer :: Integer -> Integer
outer n = sum [inner (20 + i `mod` 3) | i <- [1 .. n]]
main :: IO ()
main = print (outer 60)
END_HS
if command -v ghc >/dev/null && ghc -O1 Nested.hs -o nested >out 2>err; then
	take nested -- ./nested
	callers_add_up nested
	like "ghc: remedy" "$(remedy nested callers '.*/nested' | sort -u)" '^Haskell.*: build with ghc -prof and run with \+RTS -p'
	if ghc -O1 -prof -fprof-auto -o nested-prof -outputdir prof Nested.hs >out 2>err; then
		./nested-prof +RTS -p >out 2>&1
		# An indented tree: inner below outer.
		like "ghc -prof, +RTS -p: tells callers" "$(awk '$1 == "outer" || $1 == "inner" { print $1 }' nested-prof.prof | tail -n 2 | tr '\n' ' ')" '^outer inner $'
	else
		skip "ghc -prof" "needs ghc-prof: $(head -n 1 err)"
	fi
else
	skip "ghc" "needs ghc"
fi

# ---- JIT ----
cat >fib.js <<'END_JS'
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
const end = Date.now() + 1000;
for (var s = 0; Date.now() < end;) s += fib(22);
END_JS
cat >Fib.java <<'END_JAVA'
public class Fib {
	static long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
	public static void main(String[] a)
	{
		long s = 0, end = System.currentTimeMillis() + 1500;
		while (System.currentTimeMillis() < end)
			s += fib(25);
		if (s == 0)
			System.out.println(s);
	}
}
END_JAVA
# The option for running a program in the text of the remedy.
with() { remedy "$@" | grep -oE -- ' -[A-Za-z+:-]+[a-zA-Z]'; }
if command -v node >/dev/null; then
	take node -- node fib.js
	is "node: as many samples as have a frame without a name" "$(row node names '\[jit\] of node' | cut -d'|' -f1)" \
		"$(holding node ';\[jit\];')"
	mapfile -t options < <(with node names '\[jit\] of node' | tr -d ' ')
	take node -- node "${options[@]}" fib.js
	check "node: '${options[*]}' helps" most node ';[^;]*fib[^;]*fib.js[^;]*;' ';(\[jit\]|[^;]*fib.js[^;]*);'
	is "and there is no such row any more" "$(row node names '\[jit\] of node')" ""
else
	skip "node" "needs node"
fi
if command -v java >/dev/null && command -v javac >/dev/null && javac Fib.java 2>err; then
	take java -- java Fib
	callers_add_up java
	mapfile -t options < <({ with java names '\[jit\] of java'; with java callers '\[jit\] of java'; } | tr -d ' ')
	take java -- java "${options[@]}" Fib
	check "java: '${options[*]}' helps" most java ';JavaMain;.*;[^;]*Fib[.]fib[^;]*;' ';(\[jit\]|[^;]*Fib[.]fib[^;]*);'
	is "java: no row for callers any more" "$(row java callers '\[jit\] of java')" ""
	check "java: names for all but a few" test "$(holding java ';\[jit\];')" -lt 20
else
	skip "java" "needs java and javac"
fi
done_testing
