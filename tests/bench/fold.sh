# shellcheck shell=bash
# From recording to folded text on an idle machine, with and without inlined frames: perf script
# piped into a program that folds, and nsprof symbolize with an empty cache. Two tables come from
# the same runs.
#
#	fold	wall time; fold-perf.awk folds perf's text, as fast as possible
#	foldcpu	user and system time of all processes; stackcollapse-perf.pl folds
#
# No two recordings have the same number of samples, so times are compared per sample. The samples
# are those that the recorder counted: stackcollapse-perf.pl sums up periods where perf script
# prints them.
#
# If perf script takes longer than 10 s (perf 6.1 with inlined frames), it only runs in the first
# run, and is stopped after $FOLD_LIMIT seconds, or $INLINE_LIMIT with inlined frames ("cut").

FOLD_SLOW=10
STACKCOLLAPSE=${STACKCOLLAPSE:-$(command -v stackcollapse-perf.pl)}

# fold_text: fold perf's text from standard input.
fold_text() {
	if [ "$TABLE" = foldcpu ] && [ -n "$STACKCOLLAPSE" ]; then
		"$STACKCOLLAPSE"
	else
		awk -f "$TOP/tests/bench/fold-perf.awk"
	fi
}

# fold_limit TOOL: seconds that it may take.
fold_limit() {
	case $1 in
	*-inline) echo "$INLINE_LIMIT" ;;
	*) echo "$FOLD_LIMIT" ;;
	esac
}

# fold_perf PERF OPTION...: fold that perf's recording to $WORK/$TOOL.folded.
fold_perf() {
	local perf=$1 rc
	shift
	{
		time timeout "$(fold_limit "$TOOL")" "$(perf_of "$perf")" script -i "$WORK/$perf.data" --max-stack 1024 "$@" 2>"$WORK/log" |
			fold_text >"$WORK/$TOOL.folded" 2>"$WORK/fold.log"
		rc=${PIPESTATUS[0]}
	} 2>"$WORK/time"
	[ $rc != 124 ] || put cut 1
	[ $rc -lt 128 ] || put died $rc
}

fold_run() { # for the current ROW and RUN: fold the last recordings of all tools
	local r u s tables=()
	for TABLE in fold foldcpu; do
		! wanted $TABLE || tables+=($TABLE)
	done
	TABLE=${tables[0]}
	for TOOL in $(each '#') nsprof; do
		counts "$TOOL" "$WORK/$TOOL.data"
		for TABLE in "${tables[@]}"; do put samples "$KEPT"; done
	done
	for TABLE in "${tables[@]}"; do
		for TOOL in $(rotate $RUN $(each '# #-inline') nsprof nsprof-inline); do
			# perf's text depends on the table. nsprof's does not, but is measured
			# beside it.
			! [[ $RUN != 1 && $TOOL == perf*-inline ]] ||
				awk -v s="$(med "$ROW" "$TOOL" seconds)" -v l=$FOLD_SLOW 'BEGIN { exit s > l }' || continue
			# Write to a new file. Emptying a 100 MB file that was just written, and
			# flushing it at the next close, takes the kernel 0.06 s with either tool.
			rm -f "$WORK/$TOOL.folded"
			case $TOOL in
			perf*-inline) fold_perf "${TOOL%-inline}" ;;
			perf*) fold_perf "$TOOL" --no-inline ;;
			nsprof) { time "$NSPROF" symbolize -q --no-inline "$WORK/nsprof.data" >"$WORK/nsprof.folded"; } 2>"$WORK/time" ;;
			nsprof-inline) { time "$NSPROF" symbolize -q --no-cache "$WORK/nsprof.data" >"$WORK/$TOOL.folded"; } 2>"$WORK/time" ;;
			esac
			read -r r u s < <(tail -n 1 "$WORK/time")
			put seconds "$r"
			put cpu "$(awk -v u="$u" -v s="$s" 'BEGIN { print u + s }')"
			KEPT=$(awk '$NF > 0 { n++ } END { print n + 0 }' "$WORK/$TOOL.folded")
			put stacks "$KEPT"
			[ "$KEPT" -gt 0 ] || grep -q "^$TABLE	$ROW	$TOOL	\(died\|cut\)	$RUN	" "$RESULTS" ||
				echo "bench: $TOOL folded nothing of $ROW: $(head -n 3 "$WORK/log")" >&2
		done
	done
}

# per_sample ROW TOOL SECONDS
per_sample() {
	awk -v s="$3" -v n="$(med "$1" "${2%-inline}" samples)" 'BEGIN { if (s == "-" || n + 0 == 0) print "-"; else print s / n }'
}

# fold_pair ROW PERF METRIC LIMIT FORMAT: three cells: perf's and nsprof's times per sample, and
# their ratio. A perf that was stopped would have taken longer.
fold_pair() {
	local p n r ours=nsprof
	[[ $2 != *-inline ]] || ours=nsprof-inline
	p=$(med "$1" "$2" "$3") n=$(med "$1" $ours "$3")
	r=$(ratio "$(per_sample "$1" $ours "$n")" "$(per_sample "$1" "$2" "$p")")
	if [ "$(med "$1" "$2" cut)" = - ]; then
		printf '%s\n%s\n%s\n' "$(num "$5" "$p")" "$(num "$5" "$n")" "$(verdict "$r" "$4")"
	elif awk -v r="$r" -v l="$4" 'BEGIN { exit r > l }'; then
		printf '> %s\n%s\n< %s\n' "$(fold_limit "$2")" "$(num "$5" "$n")" "$(verdict "$r" "$4")"
	else # above the limit for the time perf got; the whole time perf needs is unknown
		printf '> %s\n%s\n< %s\n' "$(fold_limit "$2")" "$(num "$5" "$n")" "$r"
	fi
}

fold_print() { # METRIC LIMIT LIMIT-INLINED
	local w p plain inlined
	md_head workload perf "samples: perf" nsprof "perf script" "nsprof symbolize" "nsprof / perf, per sample" "perf script, inlined" \
		"nsprof symbolize, inlined" "nsprof / perf, per sample"
	for w in "${WORKLOADS[@]}"; do
		for p in "${PERFS[@]}"; do
			mapfile -t plain < <(fold_pair "$w" "$p" "$1" "$2" %.3f)
			mapfile -t inlined < <(fold_pair "$w" "$p-inline" "$1" "$3" %.3f)
			md "$w" "$(perf_label "$p")" "$(num %d "$(med "$w" "$p" samples)")" "$(num %d "$(med "$w" nsprof samples)")" "${plain[@]}" "${inlined[@]}"
		done
	done
}

table_fold() {
	echo "### From recording to folded stacks"
	echo
	echo "Wall time in seconds, without inlined frames and with them, idle machine; perf script | fold-perf.awk."
	echo
	fold_print seconds 0.1 0.1
}
