# shellcheck shell=bash
# From recording to folded text, wall time on an idle machine, without inlined frames: perf script through
# fold-perf.awk, and nsprof symbolize. With inlined frames: nsprof symbolize, without what an earlier run left in its cache,
# and in the first run perf script as well, which may take minutes: it is stopped after $FOLD_LIMIT seconds ("cut").

fold_run() { # of the present ROW and RUN: the last recordings of both
	local r u s rc
	TABLE='fold'
	for TOOL in $(rotate $RUN perf nsprof nsprof-inline) $([ $RUN != 1 ] || echo perf-inline); do
		# Into a new file: to empty one of 100 MB that was just written, and to write all of that out when it is closed again, takes
		# the kernel 0.06 s, whoever the text is of.
		rm -f "$WORK/$TOOL.folded"
		case $TOOL in
		perf) { time perf_script "$WORK/perf.data" --no-inline --max-stack 1024 |
			awk -f "$TOP/tests/bench/fold-perf.awk" >"$WORK/perf.folded"; } 2>"$WORK/time" ;;
		perf-inline)
			{
				time timeout "$FOLD_LIMIT" perf script -i "$WORK/perf.data" --max-stack 1024 2>"$WORK/log" |
					awk -f "$TOP/tests/bench/fold-perf.awk" >"$WORK/$TOOL.folded"
				rc=${PIPESTATUS[0]}
			} 2>"$WORK/time"
			[ $rc != 124 ] || put cut 1
			[ $rc -lt 128 ] || put died $rc
			;;
		nsprof) { time "$NSPROF" symbolize -q --no-inline "$WORK/nsprof.data" >"$WORK/nsprof.folded"; } 2>"$WORK/time" ;;
		nsprof-inline) { time "$NSPROF" symbolize -q --no-cache "$WORK/nsprof.data" >"$WORK/$TOOL.folded"; } 2>"$WORK/time" ;;
		esac
		read -r r u s <"$WORK/time"
		put seconds "$r"
		put cpu "$(awk -v u="$u" -v s="$s" 'BEGIN { print u + s }')"
		KEPT=$(awk '{ n += $NF } END { print n + 0 }' "$WORK/$TOOL.folded")
		put samples "$KEPT"
		[ "$KEPT" -gt 0 ] || grep -q "^fold	$ROW	$TOOL	\(died\|cut\)	$RUN	" "$RESULTS" ||
			echo "bench: $TOOL folded nothing of $ROW: $(head -n 3 "$WORK/log")" >&2
	done
}

# with_inlined ROW: what perf took and nsprof's share of it, two cells. Where perf was stopped, it would have taken longer.
with_inlined() {
	local p i r
	p=$(med "$1" perf-inline seconds) i=$(med "$1" nsprof-inline seconds)
	r=$(ratio "$i" "$p")
	if [ "$(med "$1" perf-inline cut)" = - ]; then
		printf '%s\n%s\n' "$(num %.1f "$p")" "$(verdict "$r" 0.02)"
	elif awk -v r="$r" 'BEGIN { exit r > 0.02 }'; then
		printf '> %s\n< %s\n' "$FOLD_LIMIT" "$(verdict "$r" 0.02)"
	else # more than asked of the time perf had, less than that of what it wanted: not known
		printf '> %s\n< %s\n' "$FOLD_LIMIT" "$r"
	fi
}

table_fold() {
	local w p n i inlined
	echo "### From recording to folded stacks"
	echo
	echo "Wall time in seconds, without inlined frames unless it says so, idle machine."
	echo
	md_head workload "samples: perf" nsprof "perf script" "nsprof symbolize" "nsprof / perf" "with inlined functions" "/ perf without" \
		"perf script with inlined" "nsprof / perf, both with"
	for w in "${WORKLOADS[@]}"; do
		p=$(med "$w" perf seconds) n=$(med "$w" nsprof seconds) i=$(med "$w" nsprof-inline seconds)
		mapfile -t inlined < <(with_inlined "$w")
		md "$w" "$(num %d "$(med "$w" perf samples)")" "$(num %d "$(med "$w" nsprof samples)")" "$(num %.3f "$p")" \
			"$(num %.3f "$n")" "$(verdict "$(ratio "$n" "$p")" 0.1)" "$(num %.3f "$i")" \
			"$(verdict "$(ratio "$i" "$p")" 0.15)" "${inlined[@]}"
	done
}
