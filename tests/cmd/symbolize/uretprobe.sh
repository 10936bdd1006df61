#!/bin/bash
# Return probes of other tools replace a function's return address. Its callers are shown
# nevertheless, with the kernel's page as a frame in between: for recursive functions, for several
# nested probed functions, and for functions called from two places or through a pointer.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd nm

E=$(awk '$3 == "tracefs" { print $2; exit }' /proc/mounts)
[ -n "$E" ] && [ -w "$E/uprobe_events" ] || skip_all "no tracefs with uprobe_events"
G=nsprof_test_$$
C='.*;main;u_loop'

probes_off() {
	[ ! -e "$E/events/$G/enable" ] || echo 0 >"$E/events/$G/enable"
	sed -n "s|^[pr]:\($G/[^ ]*\) .*|-:\1|p" "$E/uprobe_events" | while read -r line; do echo "$line" >>"$E/uprobe_events"; done
}
later probes_off

# probes PROGRAM FUNCTION...: set return probes on these functions
probes() {
	local p=$1 f
	shift
	for f; do
		echo "r:$G/$f $p:0x$(nm "$p" | awk -v f="$f" '$3 == f { print $1 }')" >>"$E/uprobe_events" || return
	done
	echo 1 >"$E/events/$G/enable"
}

# whole FILE CHAIN: nearly all of at least 50 samples in u_leaf are whole, and have CHAIN.
whole() {
	awk -v chain="^[^;]*;$2[; ]" '/;u_leaf[; ]/ { all += $NF; if ($0 ~ chain && !/broken|truncated/) hit += $NF; else print "# not " substr($0, 1, 250) }
		END { printf "# %d of %d\n", hit, all; exit !(all >= 50 && hit >= 0.995 * all) }' "$1"
}

# probed HOW CHAIN FUNCTION...: with return probes on these, with each unwinder.
probed() {
	local how=$1 chain=$2 u
	shift 2
	cp "$BUILD/tests/targets/${P-uretprobe}" "$T/prog"
	probes "$T/prog" "$@" || { fail "$*: probed"; return; }
	"$NSPROF" record -q -F 999 -e cpu-clock:u ${OPTS-} -o "$T/data" -- "$T/prog" "$how" 0.2 || fail "$how: it is recorded"
	probes_off
	for u in ${UNWINDERS-cached libdw libunwind}; do
		"$NSPROF" symbolize -q --no-inline --unwind "$u" "$T/data" >"$T/folded"
		check "$how ($*), $u: $chain" whole "$T/folded" "$chain"
	done
}

U='\[uprobes\]'
probed plain "$C;u_outer;$U;u_probed;u_handler;u_leaf" u_probed
unlike "the page has a name" "$("$NSPROF" symbolize --no-inline --stats "$T/data" 2>&1 >/dev/null)" uprobes
probed recurse "$C;u_outer;$U;u_probed;$U;u_probed;$U;u_probed;$U;u_probed;u_handler;u_leaf" u_probed
probed twice "$C;u_outer;$U;u_probed;u_handler;u_leaf" u_probed
probed pointer "$C;u_outer;$U;u_probed;u_handler;u_leaf" u_probed
probed plain "$C;$U;u_outer;$U;u_probed;u_handler;u_leaf" u_probed u_outer
probed plain "$C;$U;u_outer;$U;u_probed;$U;u_handler;$U;u_leaf" u_probed u_outer u_handler u_leaf
P=uretprobe-fp probed plain "$C;u_outer;$U;u_probed;u_handler;u_leaf" u_probed
# By frame pointers alone the calling function is not known, but its caller is.
P=uretprobe-fp UNWINDERS=fp probed plain '.*;u_loop;\[scanned\];\[uprobes\];u_probed.*;u_leaf' u_probed
# The value that start-up code has in the frame pointer's register is not a frame: a full stack copy
# makes it possible to misread it.
P=uretprobe-fp UNWINDERS=fp OPTS=--stacks=full probed plain '.*;u_loop;\[scanned\];\[uprobes\];u_probed.*;u_leaf' u_probed
if perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o "$T/perf.data" -- true >/dev/null 2>&1; then
	cp "$BUILD/tests/targets/uretprobe" "$T/prog"
	probes "$T/prog" u_probed
	perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o "$T/perf.data" -- "$T/prog" plain 0.2 >/dev/null 2>&1
	probes_off
	"$NSPROF" symbolize -q --no-inline "$T/perf.data" >"$T/folded"
	check "in a perf.data" whole "$T/folded" "$C;u_outer;$U;u_probed;u_handler;u_leaf"
else
	skip "in a perf.data" "perf cannot record here"
fi
done_testing
