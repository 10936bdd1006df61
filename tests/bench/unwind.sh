# shellcheck shell=bash
# Unwinding alone, with warm caches, on the stacks of a recording as replay delivers them: CPU time
# and instructions per frame, for stacks of 30 frames and more. "steady": 40 calls that stay and
# some that come and go. C++: deep recursion that rewrites its stack all the time. python3 and g++
# run unmodified.

UNWINDBENCH=$BUILD/tests/tools/unwindbench

unwind_workload() { # WORKLOAD: sets CMD
	case $1 in
	steady) CMD=("$TARGETS/steady" "$UNWIND_SECONDS") ;;
	C++) CMD=("$TARGETS/deep" "$UNWIND_SECONDS" 60) ;;
	python3) CMD=(python3 -c '
import json, re, sys, time
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end: len(re.findall("[a-z]+", json.dumps({"k%d" % i: "value x y" for i in range(20)})))' \
		"$UNWIND_SECONDS") ;;
	g++) CMD=(g++ -O2 -g -c -o "$WORK/out.o" "$COMPILED") ;;
	esac
}

# Instructions of one pass over all stacks, each "fresh" or with "reuse".
unwind_instructions() { # HOW
	valgrind --tool=callgrind --callgrind-out-file=/dev/null --toggle-collect='counted*' \
		"$UNWINDBENCH" "$WORK/unwind.data" "$1" 2>&1 | awk '/I +refs/ { gsub(",", "", $NF); print $NF }'
}

table_unwind() {
	local rows=(steady C++ python3 g++) how what n frames depth ns w all
	for w in "${rows[@]}"; do
		ROW=$w
		unwind_workload "$w"
		"$NSPROF" record -q -o "$WORK/unwind.data" -e cpu-clock -F 999 $(dwarf $DUMP_MAX) -- "${CMD[@]}" >/dev/null 2>"$WORK/log" ||
			{ echo "bench: unwind: $w: $(head -n 1 "$WORK/log")" >&2; return 1; }
		for ((RUN = 1; RUN <= RUNS; RUN++)); do
			while read -r what n frames depth ns; do
				TOOL=$what
				put frames "$frames"
				put depth "$depth"
				put ns "$ns"
			done < <("$UNWINDBENCH" "$WORK/unwind.data")
		done
		RUN=1
		[[ " $COUNTED " != *" $w "* ]] || ! command -v valgrind >/dev/null || for how in fresh reuse; do
			TOOL=$how
			all=all
			[ $how = fresh ] || all=all-reuse
			put instructions "$(ratio "$(unwind_instructions $how)" "$(med "$w" $all frames)")"
		done
	done
	echo "### Unwinding, warm"
	echo
	echo "A frame, without regard to the thread's last stack and with it. Instructions are of all stacks, walked once."
	echo
	md_head workload "frames, >= 30 deep" "mean depth" "ns per frame" "ns with reuse" instructions "with reuse"
	for w in "${rows[@]}"; do
		if [ "$(med "$w" deep frames)" = 0 ]; then
			ns=$(med "$w" all ns) n=$(med "$w" all-reuse ns)
		else
			ns=$(verdict "$(med "$w" deep ns)" 10) n=$(med "$w" deep-reuse ns)
			[ "$w" != steady ] || n=$(verdict "$n" 3)
		fi
		md "$w" "$(num %d "$(med "$w" deep frames)")" "$(med "$w" deep depth)" "$ns" "$n" \
			"$(num %.0f "$(med "$w" fresh instructions)")" "$(num %.0f "$(med "$w" reuse instructions)")"
	done
}
