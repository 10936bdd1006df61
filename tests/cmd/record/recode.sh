#!/bin/bash
# Recordings of real programs, decoded and encoded again, decode to the same events and samples, and
# the next encoding gives the same bytes.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root

RECODE=$BUILD/tests/tools/recode
TARGETS=$BUILD/tests/targets

# same NAME FILE: decoding and encoding it again gives the same
same() {
	local one two
	if ! one=$("$RECODE" "$2" "$T/one" 2>"$T/err") || ! two=$("$RECODE" "$T/one" "$T/two" 2>>"$T/err"); then
		fail "$1: recoded" "$(cat "$T/err")"
		return
	fi
	is "$1: the same events and samples again" "$(head -1 <<<"$two")" "$(head -1 <<<"$one")"
	# The first 64 bytes hold the time of writing.
	check "$1: the same bytes again" cmp -i 64 "$T/one" "$T/two"
	check "$1: there were samples" test "$(awk '{ print $2; exit }' <<<"$one")" -ge 50
}

# same_events NAME FILE: the same as a recording of several events
same_events() {
	if "$RECODE" "$2" "$T/events" 1 events >"$T/out" 2>"$T/err"; then
		same "$1" "$T/events"
	else
		fail "$1: written" "$(cat "$T/err")"
	fi
}

# recorded NAME COMMAND...: record a second of its CPU time, whatever else has the CPUs, with
# nsprof's options in $opts
recorded() {
	local name=$1
	shift
	if ! "$NSPROF" record -q -F 999 -e cpu-clock "${opts[@]}" -o "$T/data" -- \
		bash -c '(ulimit -c 0; ulimit -t 1; exec "$@"); exit 0' - "$@" >"$T/out" 2>"$T/err"; then
		fail "$name: recorded" "$(cat "$T/err")"
		return
	fi
	same "$name" "$T/data"
}

opts=(--call-graph dwarf,65528)
recorded "C++, deep stacks" "$TARGETS/deep" 100000 60
same_events "several events" "$T/data"
! command -v python3 >/dev/null || recorded "python3" python3 -c 'while True: sum(len(str(i)) for i in range(1000))'
# The limit applies to each process.
recorded "short processes" bash -c 'for i in {1..20}; do awk "BEGIN { while (i++ < 20000) s = s i }"; done'
opts=(--call-graph dwarf,8192 --stacks=full)
recorded "full stacks" "$TARGETS/deep" 100000 60
opts=(-g)
recorded "without stacks" "$TARGETS/spin" 100000

done_testing
