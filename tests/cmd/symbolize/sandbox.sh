#!/bin/bash
# The process that reads a recording: its rights as /proc shows them, that results are the same
# without it, and what happens if a file ends it. strace sends it the signal of a fault when it
# reads that file.
# beside others
. "$(dirname "$0")/../../lib.sh"
. "$TOP/tests/parser.sh"
need_cmd jq
need_target spin
cd "$T" || exit 1
! grep -qa __asan_init "$BUILD/bin/nsprof-record" || skip_all "with a sanitizer nothing is given up"

"$NSPROF" record -q -e cpu-clock:u -F 999 -o a.data -- "$BUILD/tests/targets/spin" --cpu 0.5 >/dev/null || skip_all "nothing can be recorded here"

# ---- the same results ----
check "with a sandbox" "$NSPROF" symbolize -o in.folded a.data
check "without one" "$NSPROF" symbolize --no-sandbox -o out.folded a.data
like "--no-sandbox says so" "$(cat check.err)" '^nsprof symbolize: warning: --no-sandbox: the recording is read with all rights$'
check "are the same" cmp in.folded out.folded
unlike "nothing was refused" "$("$NSPROF" symbolize -o in.folded a.data 2>&1; "$NSPROF" script a.data 2>&1 >/dev/null)" refused
# glibc looks up the number of CPUs when it wants one heap more than arena_test (default: 8).
cat >many.c <<'END'
#define _GNU_SOURCE
#include <sched.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
	(void)pid;
	CPU_ZERO_S(size, set);
	for (int i = 0; i < 16; i++)
		CPU_SET_S(i, size, set);
	return 0;
}
END
if ${CC:-cc} -shared -fPIC -o many.so many.c 2>err; then
	# Which threads want memory at the same time is chance.
	unlike "nor with the heaps that 16 CPUs have" "$(for _ in 1 2 3; do
		GLIBC_TUNABLES=glibc.malloc.arena_test=1 LD_PRELOAD=$T/many.so "$NSPROF-symbolize" -o many.folded a.data 2>&1
	done)" refused
	check "the same there" cmp many.folded in.folded
else
	skip "16 CPUs" "nothing can be compiled: $(head -n 1 err)"
fi
is "the output's mode is as usual" "$(stat -c %a in.folded)" "$(stat -c %a out.folded)"
is "and its owner" "$(stat -c %u:%g in.folded)" "$(id -u):$(id -g)"
check "standard input" sh -c "'$NSPROF' symbolize -i - <a.data >stdin.folded && cmp stdin.folded in.folded"
check "a pipe" sh -c "cat a.data | '$NSPROF' symbolize -i - >stdin.folded && cmp stdin.folded in.folded"
check "more than one file" "$NSPROF" symbolize --split-by comm -o split a.data
is "its name" "$(ls split)" spin.folded

# ---- its rights, while it waits for a reader ----
mkfifo pipe
sleep 100 <>pipe &
"$NSPROF-script" a.data 2>err >pipe &
pid=$!
parser_rights "$pid" symbolize
if p=$(parser_of "$pid"); then
	# The first signal asks for what was read so far, which waits for the reader as well.
	kill -TERM "$pid"
	sleep 0.3
	kill -TERM "$pid"
	wait "$pid"
	is "SIGTERM to the program ends both" "$? $(kill -0 "$p" 2>&1 | grep -c 'No such')" "143 1"
else
	fail "a parser" "$(cat err)"
fi
"$NSPROF-script" a.data 2>err >pipe &
pid=$!
if wait_for 'p=$(parser_of "$pid")' 60; then
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null
	check "SIGKILL to the program ends both" wait_for '! kill -0 $p 2>/dev/null || grep -q "^State:.Z" /proc/$p/status' 10
fi

# ---- a file that ends it ----
if ! strace -qq -o /dev/null true 2>err; then
	skip "a file that ends the parser" "$(cat err)"
	done_testing
	exit
fi
cp "$BUILD/tests/targets/spin" victim
"$NSPROF" record -q -e cpu-clock:u -F 999 -o b.data -- ./victim --cpu 0.3 >/dev/null
# hit OPTIONS...: the signal comes with the second read of the file.
hit() {
	strace -f -qq -o trace -P "$T/victim" -e trace=pread64 -e inject=pread64:signal=SIGSEGV:when=2 \
		"$NSPROF-symbolize" --no-cache -o c.folded "$@" b.data
}
hit 2>err
is "a file that ends the parser: status" $? 0
like "it is named" "$(cat err)" "^nsprof symbolize: warning: reading '.*/victim' ended the process that reads files of others, by signal 11 .*: beginning again without that file\$"
is "once" "$(grep -c 'beginning again' err)" 1
check "the result has its frames without names" grep -q '\[victim' c.folded
unlike "and none of its names" "$(cat c.folded)" 'app_inner'
is "all samples are there" "$(awk '{ n += $NF } END { print n }' c.folded)" "$("$NSPROF" info --json b.data | jq .samples)"
like "--stats says why" "$(hit --stats 2>&1)" 'reading the file ended the process that did it'

# ---- a perf map that ends it ----
if [ -x "$BUILD/tests/targets/jitloop" ]; then
	"$BUILD/tests/targets/jitloop" 60 jitted nomap before >/dev/null &
	jit=$!
	computes "$jit" 50
	"$NSPROF" record -q -e cpu-clock:u -F 999 -o jit.data -p "$jit" --duration 0.3
	# Written later than the recording, so that it is read now. It has all addresses.
	echo "1000 7ffffffe0000 jitted" >"/tmp/perf-$jit.map"
	like "a perf map: its name" "$("$NSPROF" symbolize -q jit.data)" jitted
	strace -f -qq -o trace -P "/tmp/perf-$jit.map" -e trace=read,pread64 -e inject=read,pread64:signal=SIGSEGV:when=1 \
		"$NSPROF-symbolize" --no-cache -o jit.folded jit.data 2>err
	is "a perf map that ends the parser: status" $? 0
	like "it is named" "$(cat err)" "^nsprof symbolize: warning: reading '/tmp/perf-$jit.map' ended the process that reads files of others, by signal 11 "
	is "all its samples are there" "$(awk '{ n += $NF } END { print n }' jit.folded)" "$("$NSPROF" info --json jit.data | jq .samples)"
	kill "$jit"
	wait "$jit" 2>/dev/null
	rm -f "/tmp/perf-$jit.map"
else
	skip "a perf map that ends the parser" "$(why_not jitloop)"
fi

# ---- export ----
exported() {
	"$NSPROF-export" -q --no-sandbox --buildid-dir "$1.syms" -o "$1.perf" b.data
}
check "export" "$NSPROF-export" -q --buildid-dir in.syms -o in.perf b.data
exported out 2>err
is "export without a sandbox" "$? $(cat err)" "0 "
check "export: the same without a sandbox" cmp in.perf out.perf
check "and the same files" diff -r in.syms out.syms
like "export says so" "$("$NSPROF-export" --no-sandbox -o out.perf b.data 2>&1)" '^nsprof export: warning: --no-sandbox: the recording is read with all rights$'
like "export: a parser without rights" "$("$NSPROF-export" -v -o in.perf b.data 2>&1)" 'sandbox of the parser: .* no capabilities: yes; .* system calls filtered: yes'
strace -f -qq -o trace -P "$T/victim" -e trace=pread64 -e inject=pread64:signal=SIGSEGV:when=2 \
	"$NSPROF-export" --buildid-dir hit.syms -o hit.perf b.data 2>err
is "export, and a file that ends the parser: status" $? 0
like "it is named" "$(cat err)" "^nsprof export: warning: reading '.*/victim' ended the process that reads files of others, by signal 11 "
check "the symbols are the same" diff -r hit.syms in.syms
done_testing
