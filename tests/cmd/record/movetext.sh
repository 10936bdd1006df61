#!/bin/bash
# Code that a program copies to other memory is still that program's code, whether it keeps its
# address, as for huge pages, or not, as with V8's builtins. This holds when recorded from the start
# and when attached to, while the program runs and when it is gone, with its file removed, and in
# perf.data. Code that is mapped where a library was is not the library's.
# beside others
# takes: 20
. "$(dirname "$0")/../../lib.sh"

M=$BUILD/tests/targets/movetext
CHAIN='main;(move_outer;move_middle;move_leaf|move_away;far_outer;far_leaf)'

# whole FILE: nearly all samples have the chain, from the root on, except those from before it moved
# its code.
whole() {
	"$NSPROF" symbolize -q --no-inline "$1" >"$1.folded" || return 1
	awk -v chain="^movetext[^;]*;.*$CHAIN[; ]" '/;_dl_start;|;main;own_text/ { next } { all += $NF } $0 ~ chain && !/broken|truncated|\[jit\]/ { hit += $NF } !/move_leaf|far_leaf/ { print "# " $0 }
		END { printf "# %d of %d\n", hit, all; exit !(all >= 20 && hit >= 0.98 * all) }' "$1.folded"
}

cp "$M" "$T/movetext"
for how in whole inner remap shared memfd named away; do
	"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/$how" -- "$T/movetext" $how 0.3 >/dev/null 2>"$T/err" ||
		fail "$how: it is recorded" "$(cat "$T/err")"
	check "$how: from the start" whole "$T/$how"

	mkfifo "$T/ready.$how"
	"$T/movetext" $how 60 >"$T/ready.$how" & pid=$!
	read -r _ <"$T/ready.$how"
	"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/$how.on" -p $pid -- bash -c "computes $pid 200" 2>"$T/err" || fail "$how: attach" "$(cat "$T/err")"
	check "$how: on attach" whole "$T/$how.on"
	kill $pid
	wait $pid 2>/dev/null
done

# ---- removed, and attached to
if [ "$(id -u)" = 0 ]; then
	cp "$M" "$T/gone"
	mkfifo "$T/ready"
	"$T/gone" whole 60 >"$T/ready" & pid=$!
	read -r _ <"$T/ready"
	rm "$T/gone"
	"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/removed" -p $pid -- bash -c "computes $pid 200"
	kill $pid
	wait $pid 2>/dev/null
	"$NSPROF" symbolize -q --no-inline "$T/removed" | sed 's/^gone;/movetext;/' >"$T/removed.folded"
	like "the file was removed before" "$(sort -t' ' -k2 -rn "$T/removed.folded" | head -n 1)" "$CHAIN "
else
	skip "the file was removed before" "needs root, to reach it"
fi

# ---- with the file gone, the same stacks
for f in whole inner.on memfd away away.on; do
	"$NSPROF" symbolize -q --no-inline "$T/$f" | sort >"$T/live"
	mv "$T/movetext" "$T/aside"
	"$NSPROF" symbolize -q --no-inline "$T/$f" | sort >"$T/late"
	mv "$T/aside" "$T/movetext"
	check "$f: the same stacks with the file gone" cmp "$T/live" "$T/late"
done

# ---- perf.data
if perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o "$T/perf.data" -- "$T/movetext" inner 0.3 >/dev/null 2>&1; then
	check "a perf.data from the start" whole "$T/perf.data"
	perf record -q -F 999 -e cpu-clock:u --call-graph dwarf,8192 -o "$T/perf.data" -- "$T/movetext" whole 0.3 >/dev/null 2>&1
	check "a perf.data of all of the code" whole "$T/perf.data"
else
	skip "a perf.data" "perf cannot record here"
fi

# ---- other code mapped where a library was
"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/jit" -- "$M" jit "$BUILD/tests/targets/libspin.so" 0.3 >/dev/null
"$NSPROF" symbolize -q "$T/jit" >"$T/jit.folded"
unlike "code where a library was has no name of the library" "$(cat "$T/jit.folded")" 'lib_'
like "it has none at all" "$(cat "$T/jit.folded")" ';jit;\[jit\] '

# ---- node copies its builtins if it does not find its file under the path in /proc/self/maps: here
# in an overlay of two file systems
if [ "$(id -u)" != 0 ] || ! command -v node >/dev/null; then
	skip "node's builtins" "needs root, and node"
elif ! unshare -m --propagation private mount -t tmpfs tmpfs "$T" 2>"$T/err"; then
	skip "node's builtins" "cannot mount here: $(cat "$T/err")"
else
	cat >"$T/builtins.js" <<'JS'
let n = 0;
function busy() { for (let i = 0; i < 2000; i++) n += [3, 1, 2].map((x) => x + i).indexOf(i); return n; }
const end = process.cpuUsage().user + 7e5;
while (process.cpuUsage().user < end) busy();
JS
	# In Debian 13 a library contains the builtins. The options keep busy() out of the
	# optimizing compilers, which would inline the builtins.
	NODE=$(readlink -f "$(command -v node)")
	LIBNODE=$(ldd "$NODE" 2>/dev/null | awk '$1 ~ /^libnode/ { print $3 }')
	cat >"$T/overlay.sh" <<'SH'
cd "$1" && mkdir -p o && mount -t tmpfs tmpfs o && mkdir o/lower o/upper o/root && mount -t tmpfs tmpfs o/lower &&
	cp "$2" o/lower/node && { [ -z "$3" ] || cp "$3" o/lower; } && cp builtins.js o/lower/ && mkdir o/upper/up o/upper/work &&
	mount -t overlay overlay -o "lowerdir=o/lower,upperdir=o/upper/up,workdir=o/upper/work" o/root || exit 1
LD_LIBRARY_PATH=$PWD/o/root exec o/root/node --no-opt --perf-basic-prof o/root/builtins.js
SH
	"$NSPROF" record -q -F 999 -e cpu-clock:u -o "$T/node" -- unshare -m --propagation private \
		sh "$T/overlay.sh" "$T" "$NODE" "$LIBNODE" >"$T/out" 2>&1
	"$NSPROF" symbolize -q --no-inline "$T/node" >"$T/node.folded"
	check "node: its builtins are no [jit]" awk '/JS:[^;]*builtins\.js/ { all += $NF } /JS:[^;]*builtins\.js.*;\[jit\]/ { bad += $NF; print "# " $0 }
		END { printf "# %d of %d\n", bad, all; exit !(all >= 50 && bad <= 0.02 * all) }' "$T/node.folded"
	if readelf -sW "${LIBNODE:-$NODE}" | grep -q Builtins_ArrayMap; then
		check "node: its builtins have their names" awk '/JS:[^;]*builtins\.js/ { all += $NF; if (/;Builtins_ArrayMap|;Builtins_ArrayIndexOf/) named += $NF }
			END { printf "# %d of %d\n", named, all; exit !(named >= 0.2 * all) }' "$T/node.folded"
	else
		skip "node: its builtins have their names" "this node has no symbols of them"
	fi
fi
done_testing
