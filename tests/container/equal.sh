#!/bin/bash
# timeout: 400
# Masked stacks equal full ones, and our unwinder agrees with libunwind and libdw, on recordings of
# real programs. Every allowed difference is listed here, with its reason.
# beside others
# takes: 35
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root "needs perf_event_open for the workloads"
REMASK=$BUILD/tests/tools/remask

# How many samples of A are in stacks that B does not have with the same count.
differing() {
	awk 'NR == FNR { n = $NF; sub(/ [0-9]+$/, ""); a[$0] = n; next }
	{ n = $NF; sub(/ [0-9]+$/, ""); if (a[$0] != n) { d += n > a[$0] ? n - a[$0] : 0 } }
	END { print d + 0 }' "$1" "$2"
}

# Annotated folded text with each stack as in its copy: frames joined from earlier stacks are
# removed. Joining depends on what changed in between, and in a full stack that is any data
# (contrib/doc/joining.md).
as_copied() {
	awk '{ n = $NF; sub(/ [0-9]+$/, ""); if (gsub(/;[^;]*_\[joined\]/, "")) sub(/;/, ";[truncated_stack];"); all[$0] += n }
		END { for (s in all) print s, all[s] }' "$1" | LC_ALL=C sort
}

alike() { # FULL MASKED
	diff <(as_copied "$1") <(as_copied "$2")
}

corpus() { # name command...
	local name=$1 n k
	shift
	"$NSPROF" record -q -F 999 --stacks=full -o "$T/$name.full" -- "$@" >/dev/null 2>"$T/$name.err" ||
		{ fail "$name: records" "$(cat "$T/$name.err")"; return; }
	check "$name: re-masks" "$REMASK" "$T/$name.full" "$T/$name.masked"
	"$NSPROF" symbolize -q --no-inline "$T/$name.masked" >"$T/$name.masked.folded"
	for k in full masked; do
		"$NSPROF" symbolize -q --no-inline --annotate "$T/$name.$k" >"$T/$name.$k.annotated"
	done
	n=$(awk '{ n += $NF } END { print n + 0 }' "$T/$name.full.annotated")
	# Some programs run for wall time, so other load leaves few samples, but never next to none.
	check "$name: has samples ($n)" test "$n" -ge 20
	check "$name: masked and full stacks fold to the same bytes" alike "$T/$name.full.annotated" "$T/$name.masked.annotated"
	for u in libunwind libdw; do
		"$NSPROF" symbolize -q --no-inline --unwind "$u" "$T/$name.masked" >"$T/$name.$u.folded"
		check "$name: cached and $u agree" same "$T/$name.masked.folded" "$T/$name.$u.folded" "$u" "$name"
	done
}

# Equal, except for the differences listed in equal.allowed (program, unwinder, regex for the
# differing lines, reason).
same() {
	local d
	cmp -s "$1" "$2" && return 0
	d=$(diff "$1" "$2" | grep '^[<>]')
	while IFS='|' read -r prog unw re reason; do
		case $prog in "#"* | "") continue ;; esac
		[ "$prog" = "$4" ] || [ "$prog" = "*" ] || continue
		[ "$unw" = "$3" ] || continue
		d=$(grep -Ev -- "$re" <<<"$d")
		echo "# allowed for $prog with $unw: $reason"
	done <"$(dirname "$0")/equal.allowed"
	[ -z "$d" ] && return 0
	sed 's/^/# /' <<<"$d" | head -n 20
	echo "# samples differing: $(differing "$1" "$2")"
	return 1
}

# there WHAT PROGRAM: if PROGRAM is missing, skip with a message.
there() {
	command -v "$2" >/dev/null || { skip "$1" "${2##*/} is not here"; return 1; }
}

corpus spin "$TARGETS/spin" --cpu 0.6
corpus threads "$TARGETS/spin" --cpu --threads 4 0.6
corpus kernel "$TARGETS/spin" --cpu --kernel 0.6
corpus static "$TARGETS/spin-static" --cpu 0.6
corpus staticpie "$TARGETS/spin-staticpie" --cpu 0.6
! there musl "$TARGETS/spin-musl" || corpus musl "$TARGETS/spin-musl" --cpu 0.6
! there muslstatic "$TARGETS/spin-musl" || corpus muslstatic "$TARGETS/spin-musl-static" --cpu --threads 2 0.6
for mode in signal coroutine asm search; do
	corpus "odd-$mode" "$TARGETS/odd" $mode 0.5
done
! there go "$TARGETS/gospin" || corpus go "$TARGETS/gospin" --gc 1
! there go-stripped "$TARGETS/gospin" || corpus go-stripped "$TARGETS/gospin-stripped" 1
! there rust "$TARGETS/rsspin" || corpus rust "$TARGETS/rsspin" 1
! there throws "$TARGETS/throws" || corpus throws "$TARGETS/throws" 1
! there clang "$TARGETS/spin-clang" || corpus clang "$TARGETS/spin-clang" --cpu 0.6
LD_LIBRARY_PATH=$TARGETS corpus uselib "$TARGETS/uselib" 0.6
! there cxx "$TARGETS/deep" || corpus cxx "$TARGETS/deep" 1.5 60
corpus gxx g++ -O2 -c -o "$T/shop.o" "$(dirname "$0")/../targets/shop.cc"
! there python python3 || corpus python python3 -c '
import re, json
def work(n):
    return sum(len(re.findall("[a-z]+", json.dumps({"k%d" % i: "value x y" for i in range(20)}))) for _ in range(n))
for _ in range(250): work(60)'
corpus shell bash -c 'for i in $(seq 60); do /bin/true; ls / >/dev/null; done'
! there perl perl || corpus perl perl -e 'my %h; for my $i (1..2000000) { $h{$i % 1000} .= substr("abc$i", 1, 2); } print scalar keys %h'
done_testing
