# shellcheck shell=bash
# From recording to folded text, wall time on an idle machine, without inlined frames: perf script through
# fold-perf.awk, and nsprof symbolize. With inlined frames: nsprof symbolize alone, without what an earlier run left in its cache.

fold_run() { # of the present ROW and RUN: the last recordings of both
	local r u s
	TABLE='fold'
	for TOOL in $(rotate $RUN perf nsprof nsprof-inline); do
		case $TOOL in
		perf) { time perf_script "$WORK/perf.data" --no-inline --max-stack 1024 |
			awk -f "$TOP/tests/bench/fold-perf.awk" >"$WORK/perf.folded"; } 2>"$WORK/time" ;;
		nsprof) { time "$NSPROF" symbolize -q --no-inline "$WORK/nsprof.data" >"$WORK/nsprof.folded"; } 2>"$WORK/time" ;;
		nsprof-inline) { time "$NSPROF" symbolize -q --no-cache "$WORK/nsprof.data" >"$WORK/$TOOL.folded"; } 2>"$WORK/time" ;;
		esac
		read -r r u s <"$WORK/time"
		put seconds "$r"
		put cpu "$(awk -v u="$u" -v s="$s" 'BEGIN { print u + s }')"
		KEPT=$(awk '{ n += $NF } END { print n + 0 }' "$WORK/$TOOL.folded")
		put samples "$KEPT"
		[ "$KEPT" -gt 0 ] || grep -q "^fold	$ROW	$TOOL	died	$RUN	" "$RESULTS" ||
			echo "bench: $TOOL folded nothing of $ROW: $(head -n 3 "$WORK/log")" >&2
	done
}

table_fold() {
	local w p n i
	echo "### From recording to folded stacks"
	echo
	echo "Wall time in seconds, without inlined frames unless it says so, idle machine."
	echo
	md_head workload "samples: perf" nsprof "perf script" "nsprof symbolize" "nsprof / perf" "with inlined functions" "/ perf without"
	for w in "${WORKLOADS[@]}"; do
		p=$(med "$w" perf seconds) n=$(med "$w" nsprof seconds) i=$(med "$w" nsprof-inline seconds)
		md "$w" "$(num %d "$(med "$w" perf samples)")" "$(num %d "$(med "$w" nsprof samples)")" "$(num %.3f "$p")" \
			"$(num %.3f "$n")" "$(verdict "$(ratio "$n" "$p")" 0.1)" "$(num %.3f "$i")" \
			"$(verdict "$(ratio "$i" "$p")" 0.15)"
	done
}
