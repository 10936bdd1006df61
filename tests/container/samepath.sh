#!/bin/bash
# timeout: 400
# Two containers and the host have three different binaries at one path. A name from the wrong one
# must never show: alive, dead, in both orders, by -a and by -G. perf 6.1 keeps one build-id per
# path, so one of them gets the names of another without a warning. When they are dead, it uses the
# host's program for all of them.
# beside others
# takes: 30
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need
HOSTDIR=$(mktemp -d "${TMPDIR:-/tmp}/nsprof-samepath.XXXXXX")
later 'rm -rf "$HOSTDIR"'
# Tests that run beside this one use programs with the same functions on the host, under other
# names.
APP=$HOSTDIR/samepath
cp "$TARGETS/spin-host" "$APP"

# At least two programs have their own names.
two() { # FOLDED
	local p n=0
	for p in aaa bbb host; do
		! grep -q ";${p}_inner;${p}_leaf" "$1" || n=$((n + 1))
	done
	test $n -ge 2
}

# shellcheck disable=SC2016
only() { # FOLDED PREFIX: frames of PREFIX_ appear, those of the other two do not
	local p bad=0
	grep -q "$2_leaf" "$1" || { echo "# no $2_leaf in $1"; return 1; }
	for p in aaa bbb host; do
		[ "$p" = "$2" ] && continue
		if grep -q "${p}_" "$1"; then
			echo "# foreign name: $(grep -m1 "${p}_" "$1")"
			bad=1
		fi
	done
	return $bad
}

foreign() { # FOLDED-A FOLDED-B
	! grep -E "(bbb|host)_" "$1" && ! grep -E "(aaa|host)_" "$2"
}

both() { # FOLDED: split by container label, then only its own names
	local f=$1
	grep "^[^;]*$CTR_CGROOT/a;" "$f" >"$f.a"
	grep "^[^;]*$CTR_CGROOT/b;" "$f" >"$f.b"
	# Exclude containers of tests beside this one, and their programs on the host.
	grep -v "^[^;]*nsprof-test-" "$f" | grep "^[^;]*;samepath;" >"$f.h"
	only "$f.a" aaa && only "$f.b" bbb
}

for order in ab ba; do
	ctr_rootfs "$T/ra-$order" "$TARGETS/spin-a:$APP"
	ctr_rootfs "$T/rb-$order" "$TARGETS/spin-b:$APP"
	for c in $(sed 's/./& /g' <<<"$order"); do
		case $c in
		a) ctr_start a "$T/ra-$order" "$APP" 60 && CGA=$CTR_CG && PIDA=$CTR_PID ;;
		b) ctr_start b "$T/rb-$order" "$APP" 60 && CGB=$CTR_CG && PIDB=$CTR_PID ;;
		esac
	done
	"$APP" 60 &
	HOSTPID=$!
	ctr_record "$T/$order.G" -a -G "$CGA,$CGB" -F 499 --duration 1
	PERF_OPTS='' perf_record "$T/perf" -F 499 --call-graph dwarf -p "$PIDA,$PIDB" -- sleep 1.2
	ctr_record "$T/$order.p" -p "$PIDA,$PIDB" -F 499 --duration 1
	perf_wait "$T/perf"
	perf_not "$order alive: each its own names" two "$T/perf.perf"
	ctr_record "$T/$order.a" -a -F 499 --duration 1.5
	ctr_rest
	for m in G p a; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$order.$m" >"$T/$order.$m.folded"
		check "$order $m alive: each container its own names" both "$T/$order.$m.folded"
	done
	check "$order a alive: the host its own names" only "$T/$order.a.folded.h" host
	ctr_go
	ctr_stop a
	ctr_stop b
	kill "$HOSTPID" && wait "$HOSTPID" 2>/dev/null
	# perf's own file, with one build-id for the path: neither of the two gets the other's
	# names.
	if [ -n "$PERF" ]; then
		"$NSPROF" symbolize -q --no-inline --by process "$T/perf.data" >"$T/$order.import"
		grep "^samepath-$PIDA;" "$T/$order.import" >"$T/$order.import.a"
		grep "^samepath-$PIDB;" "$T/$order.import" >"$T/$order.import.b"
		check "$order perf.data: samples of both" test -s "$T/$order.import.a" -a -s "$T/$order.import.b"
		check "$order perf.data: no foreign names" foreign "$T/$order.import.a" "$T/$order.import.b"
	fi
	# Exported, with the captured data: perf has a separate path for each of the two.
	if [ -n "$PERF" ]; then
		"$NSPROF" export -q --perf-data --buildid-dir "$T/$order.syms" -o "$T/$order.perf" "$T/$order.G"
		for p in $PIDA $PIDB; do
			"$PERF" --buildid-dir "$T/$order.syms" script --no-inline --pid "$p" -i "$T/$order.perf" 2>/dev/null |
				awk -f "$TOP/tests/bench/fold-perf.awk" >"$T/$order.export.$p"
		done
		check "$order exported: perf names the first by its own" only "$T/$order.export.$PIDA" aaa
		check "$order exported: and the second" only "$T/$order.export.$PIDB" bbb
	fi
	perf_fold "$T/perf"
	perf_not "$order dead: each its own names" two "$T/perf.perf"
	for m in G p a; do
		"$NSPROF" symbolize -q --no-inline --by container "$T/$order.$m" >"$T/$order.$m.dead"
		check "$order $m dead: each container its own names" both "$T/$order.$m.dead"
		# Containers only: other processes of the host come and go between the two.
		check "$order $m: dead as alive" cmp <(cat "$T/$order.$m.folded."[ab]) <(cat "$T/$order.$m.dead."[ab])
	done
done

# ---- one build-id, but the code is at another offset of the file, as after patchelf(1): two
# binaries
ctr_rootfs "$T/ra-id" "$TARGETS/spin-id-a:$APP"
ctr_rootfs "$T/rb-id" "$TARGETS/spin-id-b:$APP"
ctr_start a "$T/ra-id" "$APP" 60 && CGA=$CTR_CG
ctr_start b "$T/rb-id" "$APP" 60 && CGB=$CTR_CG
ctr_record "$T/id" -a -G "$CGA,$CGB" -F 499 --duration 1
by_container() {
	"$NSPROF" symbolize -q --no-inline --by container "$T/id" >"$T/id.$1"
	check "one build-id, $1: each container its own names" both "$T/id.$1"
}
by_container alive
ctr_stop a
ctr_stop b
by_container dead
# The host's file at that path is one of the two.
for p in a b; do
	cp "$TARGETS/spin-id-$p" "$APP"
	by_container "dead, $p's on the host"
done

# ---- one build-id, stripped in the container that is met first: the other copy has the names
cp "$TARGETS/spin-a" "$T/bare"
strip "$T/bare"
ctr_rootfs "$T/ra-bare" "$T/bare:$APP"
ctr_rootfs "$T/rb-bare" "$TARGETS/spin-a:$APP"
rm "$APP"
named_in() {
	"$NSPROF" symbolize -q --no-inline --by container "$T/bare.data" | grep "^[^;]*$CTR_CGROOT/b;samepath;" >"$T/bare.b"
	has_chain "$T/bare.b" "$("$TARGETS/spin-a" --chain)" 90
}
ctr_start a "$T/ra-bare" "$APP" 60
ctr_record_while "$T/bare.data" 'ctr_computes; ctr_start b "$T/rb-bare" "$APP" 60; ctr_computes "$CTR_CG" 300' -G "$CTR_CGROOT" -F 499
check "stripped in one of two, alive: names in the other" named_in
ctr_stop a
ctr_stop b
check "stripped in one of two, dead: names in the other" named_in
done_testing
