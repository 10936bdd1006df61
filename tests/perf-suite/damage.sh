#!/bin/bash
# Cut or damaged files: never a signal, never status 0, and a message about what is missing. The
# intact part is shown. nsprof is tested with its own recordings and with perf's.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"

# refused WHAT FILE COMMAND...: COMMAND ends by itself, with a status other than 0, and prints the
# reason.
refused() {
	local what=$1 rc
	shift
	tool "$@" >out 2>err
	rc=$?
	# 129 to 192 mean signals; perf has statuses above.
	if [ $rc -gt 0 ] && { [ $rc -lt 129 ] || [ $rc -gt 192 ]; } && [ -s err ]; then
		pass "$what: $1 ends with a status and a word"
	else
		fail "$what: $1 ends with a status and a word" "status $rc, says: $(head -n 3 err)"
	fi
}

# The installed perf, which may be the one under test.
perf_record() { perf --buildid-dir "$T/buildids" record -q -B -N -e cpu-clock -F 499 -g -o "$1" -- "$TARGETS/spin" --cpu 0.2 >/dev/null 2>&1; }

record own.data -F 499 -g -- "$TARGETS/spin" --cpu 0.2
files=(own.data)
if ours; then
	if have_perf && perf_record perf.data; then
		files+=(perf.data)
	else
		skip "perf.data" "perf does not record here"
	fi
fi
for f in "${files[@]}"; do
	size=$(stat -c %s "$f")
	for cut in 8 64 256 $((size * 3 / 4)); do
		head -c "$cut" "$f" >short
		what="$f, $cut bytes of it"
		[ "$cut" -le 256 ] || what="$f, 75 % of it"
		refused "$what" report -i short
		refused "$what" script -i short
	done
	# All samples of such a short recording may be in one block
	# (tests/unit/common/recording/test_recdamage.c has longer ones).
	[ $f = own.data ] || like "$f, 75 % of it: what is whole is shown" "$("$NSPROF" symbolize short 2>/dev/null)" "app_leaf "
done

# One mapping's record gets an impossible size.
if [ -e perf.data ] || { ! ours && perf_record perf.data; }; then
	PD() { python3 "$TOP/tests/tools/perfdata.py" "$@"; }
	for size in 3 65000; do
		at=$(PD resize 10 $size perf.data damaged)
		refused "a mapping of $size bytes" script -i damaged
		like "a mapping of $size bytes: where and what" "$(<err)" "at offset ($at|$(printf '0x%x' "$at")): MMAP2 \(10\)"
	done
else
	skip "a damaged record of perf.data" "perf does not record here"
fi

# Change a byte of a recording of nsprof. The blocks before and after it still count.
if ours; then
	size=$(stat -c %s own.data)
	for at in $((size / 4)) $((size / 2)); do
		cp own.data damaged
		byte=$(od -An -tu1 -j "$at" -N 1 own.data)
		printf '%b' "\\x$(printf %x $((byte ^ 1)))" | dd of=damaged bs=1 seek="$at" conv=notrunc status=none
		refused "byte $at" report -i damaged
		like "byte $at: where" "$(<err)" "damaged in 1 place, first at byte [0-9]+"
		first=$(sed -n 's/.*first at byte \([0-9]*\).*/\1/p' err)
		check "byte $at: not behind it" test "$first" -le "$at"
	done
fi
done_testing
