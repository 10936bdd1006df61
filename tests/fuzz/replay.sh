#!/bin/bash
# beside others
# timeout: 120
# Every stored input of the fuzzing harnesses, and every one that was ever a crash, is read without
# a report by AddressSanitizer or UndefinedBehaviorSanitizer. (make fuzz looks for new ones.)
. "$(dirname "$0")/../lib.sh"
ls "$BUILD"-replay/tests/fuzz/*/replay >/dev/null 2>&1 ||
	skip_all "the harnesses are not built: 'make check' builds them, if the compiler has sanitizers"
unset ASAN_OPTIONS UBSAN_OPTIONS	# tests/run's cost time
cd "$TOP" || exit 1

for source in tests/fuzz/*/*.c; do
	program=$BUILD-replay/${source%/*}/replay
	name=$(basename "$source" .c)
	if [ ! -x "$program" ]; then
		fail "$name: it is built"
		continue
	fi
	folders=()
	for folder in tests/fuzz/corpus/"$name" tests/fuzz/crashes/"$name"; do
		[ ! -d "$folder" ] || folders+=("$folder")
	done
	if [ ${#folders[@]} = 0 ]; then
		fail "$name: it has inputs"
		continue
	fi
	check "$name: no report" "$program" "$name" "${folders[@]}"
	is "$name: all of its inputs" "$(<"$T/check.out")" "$(find "${folders[@]}" -type f | wc -l)"
done
done_testing
