#!/bin/bash
# timeout: 150
# Reusing a thread's last stack gives the same result as unwinding from leaf to root: on stacks that
# stay, on stacks that come and go, on several threads, with signals on an alternate stack, and
# across forks and execs. Every sample of each recording is compared, frame by frame.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"
U=$BUILD/tests/tools/unwindbench
G=$BUILD/tests/targets
[ -x "$U" ] && [ -x "$G/steady" ] || skip_all "test programs are not built: make test-targets"
cd "$T" || exit 1
compare() { # NAME COMMAND...
	local name=$1
	shift
	if ! "$NSPROF" record -q -o data -e cpu-clock -F 4999 --call-graph dwarf,65528 -- "$@" >/dev/null 2>err; then
		skip "$name" "cannot record here: $(head -n 1 err)"
		return
	fi
	check "$name" "$U" data 1
	tap_note "$("$U" data 20)"
}
compare "frames that stay" "$G/steady" 1
# Walks that reuse the outer frames take a fraction of the instructions: counted, not timed.
if command -v valgrind >/dev/null; then
	count() {
		valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='counted*' "$U" data "$1" 2>&1 |
			awk '/I +refs/ { gsub(",", "", $NF); print $NF }'
	}
	fresh=$(count fresh) reuse=$(count reuse)
	check "are taken over: $reuse instructions, without $fresh" [ "$((reuse * 2))" -lt "$fresh" ]
else
	skip "are taken over" "no valgrind"
fi
compare "threads" "$G/spin" --threads 4 1
[ ! -x "$G/deep" ] || compare "deep recursion" "$G/deep" 1 60
[ ! -x "$G/shop" ] || compare "C++ with exceptions" "$G/shop" 1
compare "processes that come and go" sh -c 'for i in 1 2 3 4 5 6 7 8 9; do "$0" 0.05 20; done' "$G/steady"
if command -v python3 >/dev/null; then
	compare "an interpreter with a timer signal" python3 -c '
import json, re, signal, time
signal.signal(signal.SIGALRM, lambda *a: sum(range(2000)))
signal.setitimer(signal.ITIMER_REAL, 0.003, 0.003)
end = time.monotonic() + 1
while time.monotonic() < end:
    len(re.findall("[a-z]+", json.dumps({"k%d" % i: "value x y" for i in range(40)})))
signal.setitimer(signal.ITIMER_REAL, 0)'
fi
! command -v g++ >/dev/null || compare "a compiler" g++ -O2 -g -c -o deep.o "$TOP/tests/targets/deep.cc"
done_testing
