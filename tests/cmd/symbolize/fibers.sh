#!/bin/bash
# A stack is whole if it ends where a fiber's own stack begins, or where a fiber continues on the
# thread's stack: the copy holds nothing of the other stack. Tested live, with the program gone, and
# with all unwinders. A stack made by a JIT has the root that the JIT planted.
# beside others
. "$(dirname "$0")/../../lib.sh"

F=$BUILD/tests/targets/fibers

# whole FILE LEAF CHAIN: nearly all of at least 50 samples in LEAF are whole, with CHAIN from the
# root on.
whole() {
	awk -v leaf=";$2[; ]" -v chain="^[^;]*;$3[; ]" '$0 ~ leaf { all += $NF; if ($0 ~ chain) hit += $NF; else print "# not " substr($0, 1, 200) }
		END { printf "# %d of %d\n", hit, all; exit !(all >= 50 && hit >= 0.995 * all) }' "$1"
}

# fiber HOW LEAF CHAIN [NAME]: record it and check its stacks, with each unwinder, and with the
# program gone.
fiber() {
	local how=$1 leaf=$2 chain=$3 name=${4-fibers} u
	cp "$F" "$T/$name"
	"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/$how" -- "$T/$name" "${how%-*}" 0.3 || fail "$how: it is recorded"
	for u in cached libdw libunwind; do
		"$NSPROF" symbolize -q --no-inline --unwind $u "$T/$how" >"$T/$how.$u"
		check "$how: $u: $chain" whole "$T/$how.$u" "$leaf" "$chain"
	done
	rm "$T/$name"
	"$NSPROF" symbolize -q --no-inline "$T/$how" >"$T/$how.gone"
	check "$how: the same with the program gone" cmp "$T/$how.cached" "$T/$how.gone"
	"$NSPROF" record -q -F 999 -e cpu-clock:u --stacks=full -o "$T/$how.full" -- "$F" "${how%-*}" 0.2
	"$NSPROF" symbolize -q --no-inline "$T/$how.full" >"$T/$how.folded"
}

fiber context fiber_leaf '(__start_context|\[libc\.so\.6\]);fiber_entry;fiber_middle;fiber_leaf'
check "context: of whole copies" whole "$T/context.folded" fiber_leaf '(__start_context|\[libc\.so\.6\]);fiber_entry;fiber_middle;fiber_leaf'
fiber linked fiber_leaf 'fiber_run;fiber_entry;fiber_middle;fiber_leaf'
check "linked: of whole copies" whole "$T/linked.folded" fiber_leaf 'fiber_run;fiber_entry;fiber_middle;fiber_leaf'
fiber callback fiber_leaf 'fiber_run;thread_middle;fiber_leaf'
check "callback: of whole copies" whole "$T/callback.folded" fiber_leaf 'fiber_run;thread_middle;fiber_leaf'

# Erlang's emulator calls native code on the thread's stack, and is recognized by its name.
fiber jit-own jit_leaf 'planted;jit_outer;jit_leaf' beam.smp
for u in cached libdw libunwind; do
	check "jit: $u: what it calls on the thread's stack" whole "$T/jit-own.$u" fiber_leaf 'jit_glue;native;fiber_leaf'
done
unlike "no name of the function before the planted one" "$(cat "$T/jit-own.cached")" jit_before
fiber jit-other jit_leaf 'planted;jit_outer;jit_leaf'
check "of any other program's it is not known" whole "$T/jit-other.cached" fiber_leaf '\[broken_stack\];jit_glue;native;fiber_leaf'
done_testing
