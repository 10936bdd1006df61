#!/bin/bash
# Time namespaces, as in containers that were moved from another host: their clocks differ from the
# kernel's clock, which samples use. Tested with a JIT in one (its dump dates the code), and with
# the recorder in one.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd unshare jq

cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
unshare -T --monotonic 1000 --boottime 1000 true 2>err || skip_all "no time namespaces: $(cat err)"
JIT=$BUILD/tests/targets/jitdump

stacks() { # FOLDED LEAF
	sed -n "s/.*;\(main;.*;$2\)[; ].*/\1/p" "$1" | sort -u
}

# No clock may go below 0: on a machine that booted a moment ago, the offset has to be small.
past=-1000
until unshare -T --monotonic $past --boottime $past true 2>err; do
	past=$((past / 2))
	((past < -1)) || { skip "clocks that are behind" "this machine booted a moment ago: $(cat err)"; past=; break; }
done

# On older kernels exec does not enter the namespace: unshare itself is outside, its children are
# inside.
for by in $past 5000; do
	# shellcheck disable=SC2016
	unshare -T --monotonic $by --boottime $by bash -c '"$0" move 1.5 . & echo $! >pid.new; mv pid.new pid; wait' "$JIT" &
	wait_for "[ -e pid ]" 10
	pid=$(cat pid)
	rm pid
	wait_for "[ -e jit-$pid.dump ]" 10
	"$NSPROF" record -q -e cpu-clock -F 999 -o nsprof.data -p $pid
	wait
	"$NSPROF" symbolize -q nsprof.data >folded
	is "a JIT $by s off: before its code moved" "$(stacks folded leaf_one)" "main;run;mover;leaf_one"
	is "a JIT $by s off: after" "$(stacks folded leaf_two)" "main;run;mover;leaf_two"
	# With a wrong clock the recorder would drain nothing, or everything at once.
	unshare -T --fork --monotonic $by --boottime $by "$NSPROF" record -e cpu-clock -F 999 -o own.data -- \
		bash -c '"$0" 1 jitted & "$0" 1 jitted; wait' "$BUILD/tests/targets/jitloop" 2>err
	"$NSPROF" info --json own.data >info.json
	is "a recorder $by s off: nothing lost" "$(jq '.ledger | .lost_kernel + .dropped' info.json)" 0
	check "a recorder $by s off: samples" jq -e '.samples > 20' info.json
	like "a recorder $by s off: names" "$("$NSPROF" symbolize -q own.data)" ';main;run_jit;jitted'
	check "a recorder $by s off: all that the kernel counted ($(jq -c '[.ledger.coverage, .samples]' info.json))" \
		jq -e '.ledger.coverage | . > 90 and . < 101' info.json
	# Processes as the recorder reads them: none of them began after now.
	[ ! -x "$BUILD/tests/unit/record/procs/test_proctab" ] ||
		check "$by s off: the table of processes" unshare -T --fork --monotonic $by --boottime $by "$BUILD/tests/unit/record/procs/test_proctab"
done
done_testing
