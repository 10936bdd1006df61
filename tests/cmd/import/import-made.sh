#!/bin/bash
# perf.data that this machine's perf does not write: both byte orders, as a file and through a pipe,
# attributes of each past and future size, each kind of mapping record, and records of each type,
# from old ones to ones that are not defined yet (tools/made_perfdata.py).
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3 nm readelf
cd "$T" || exit 1
SPIN=$BUILD/tests/targets/spin
[ -x "$SPIN" ] || skip_all "$SPIN is not built (make test-targets)"

made() { python3 "$TOP/tests/tools/made_perfdata.py" "$@"; }

# The contents that made_perfdata.py puts into each of them.
cat >want <<'WANT'
made;main;app_outer;app_leaf;[kernel] 2
made;main;app_outer;app_leaf;bpf_prog_0123_made 3
WANT
for order in '<' '>'; do
	for form in file pipe; do
		for mmap in 1 2 3; do
			[ $form$mmap != pipe3 ] || continue
			what="order $order, $form, mapping $mmap"
			made "$order" $form 112 $mmap "$SPIN" data
			"$NSPROF" symbolize -q data >got
			is "$what: status" $? 0
			check "$what: its stacks" diff got want
		done
		cp data "$form.data"
		# shellcheck disable=SC2002
		cat data | "$NSPROF" symbolize -q >got
		check "order $order, $form: its stacks from a pipe" diff got want
	done
	# Sizes with room for user registers and more: import.sh.
	for size in 64 $([ "$order" = '>' ] || echo 72 80 512) 144; do
		made "$order" file $size 2 "$SPIN" data
		"$NSPROF" symbolize -q data >got
		check "order $order: attributes of $size bytes" diff got want
	done
done
for form in file pipe; do
	"$NSPROF" script -q -F comm,time,cgroup,period $form.data | awk '/^made/ { n[$NF " " $3]++ } END { for (c in n) print c, n[c] }' | sort >got
	is "$form: cgroups and periods" "$(paste -sd , got)" "/made/one 1000000 3,/made/two 1000000 2"
	"$NSPROF" info --json $form.data >info
	for line in '"hostname": *"elsewhere"' '"event": *"cycles"' '"event_modifier": *"ppp"'; do
		like "$form: $line" "$(<info)" "$line"
	done
	like "$form: what was lost" "$("$NSPROF" info $form.data)" '^ +7  samples lost by the kernel'
done
# Cut anywhere: the intact part is shown, and nothing else.
size=$(stat -c %s file.data)
bad=
for ((cut = 104; cut < size; cut += 389)); do
	head -c $cut file.data >short
	"$NSPROF" symbolize -q short >got 2>err
	rc=$?
	[ $rc = 1 ] || bad+=" $cut: status $rc"
done
is "cut anywhere: status 1" "$bad" ""
done_testing
