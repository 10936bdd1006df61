# shellcheck shell=bash
# What it costs to know how long each woken thread waited for a CPU, on the whole host, while two threads
# hand a futex to each other: hand-overs by their own counter in windows that alternate (handovers.sh), CPU
# of the recorder in these windows, and bytes of its file per wake-up. perf empties its rings in steps of 2 MB,
# so a short window may have none of its work.
# perf sched record takes switches, wake-ups and others, without stacks; nsprof all switches and wake-ups,
# and as many stacks as it allows itself. nsprof without --wakeups is beside it.

# ns of CPU time of the recorder's threads
recorder_used() {
	cat /proc/"$RECORDER"/task/*/schedstat 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

wakeups_counts() { # TOOL FILE SECONDS: puts the number of wake-ups per second, those lost, and bytes for each
	local n=- lost=- seconds=$3 rc
	case $1 in
	nsprof-wakeups) read -r n lost seconds < <("$NSPROF" info --json "$2" | jq -r '"\(.ledger.wakeups) \(.ledger.lost_wakeups) \(.duration)"') ;;
	nsprof) return ;;
	*)
		{
			"$(perf_of "$1")" report --stats -i "$2" >"$WORK/stats"
			rc=$?
		} 2>"$WORK/log" # also bash's message about a crash
		[ $rc -eq 0 ] || put died $rc
		read -r n lost < <(awk '/stats:$/ { event = $1 == "sched:sched_waking" } event && $1 == "SAMPLE" { n += $3 }
			event && $1 == "LOST_SAMPLES" { l += $3 } END { print n + 0, l + 0 }' "$WORK/stats") ;;
	esac
	put wakeups "$n"
	put lost "$lost"
	put wakeups_second "$(ratio "$n" "$seconds")"
	put bytes_wakeup "$(ratio "$(stat -c %s "$2")" "$n")"
}

wakeups_row() { # ROW WHAT CPUS [OPTION...]
	local base next n used begun
	ROW=$1
	handover_start "${@:2}"
	for ((RUN = 1; RUN <= PINGPONG_ROUNDS; RUN++)); do
		: >"$WORK/round"
		handover_window
		base=$RATE
		for TOOL in $(rotate $RUN $(each '#-sched') nsprof nsprof-wakeups); do
			local EVENTS=(--off-cpu -a)
			[ "$TOOL" != nsprof-wakeups ] || EVENTS+=(--wakeups)
			start "$TOOL" "$WORK/wakeups.data" || return 1
			begun=$EPOCHREALTIME
			sleep "$SETTLE"
			used=$(recorder_used)
			handover_window
			used=$(($(recorder_used) - used))
			stop
			put cpu_percent "$(awk -v n="$used" -v w="$WINDOW" 'BEGIN { printf "%.3f", n / w / 1e7 }')"
			wakeups_counts "$TOOL" "$WORK/wakeups.data" "$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.3f", b - a }')"
			n=$(awk -F '\t' -v r="$ROW" -v o="$TOOL" -v k="$RUN" '$1 == "wakeups" && $2 == r && $3 == o && $4 == "wakeups_second" && $5 == k { print $6 }' "$RESULTS")
			put us_wakeup "$(awk -v u="$used" -v n="${n:--}" -v w="$WINDOW" 'BEGIN { if (n + 0 > 0) printf "%.3f", u / 1000 / (n * w); else print "-" }')"
			echo "$TOOL $RATE" >>"$WORK/round"
			rm -f "$WORK/wakeups.data"
		done
		handover_window
		next=$RATE
		echo "none $next" >>"$WORK/round"
		while read -r TOOL n; do
			put rate "$n"
			put slowdown "$(handover_slowdown "$n" "$base" "$next")"
		done <"$WORK/round"
	done
	stop_workload
}

table_wakeups() {
	local t label rows=("one CPU, with work" "two CPUs")
	wakeups_row "one CPU, with work" pingpong 0 --work "$PINGPONG_WORK" || return 1
	wakeups_row "two CPUs" apart "0-$((NCPU - 1))" || return 1

	echo "### How long woken threads wait for a CPU"
	echo
	echo "Two threads hand a futex to each other; with work, they compute for $PINGPONG_WORK us before each hand-over. The whole host is recorded."
	echo "perf: sched record; nsprof: --off-cpu -a, with and without --wakeups. Slowdown: hand-overs per second without a recorder over those"
	echo "with it; median of $PINGPONG_ROUNDS windows of $WINDOW s, and the middle half. CPU: of the recorder, in the same windows. Bytes: of the whole file."
	for ROW in "${rows[@]}"; do
		echo
		md_head "$ROW" "hand-overs/s" slowdown "wake-ups/s" lost "recorder's CPU, %" "us of it per wake-up" "bytes per wake-up"
		for t in none $(each '#-sched') nsprof nsprof-wakeups; do
			label=$(tool_label $t)
			md "${label/nsprof-/nsprof --}" "$(num %d "$(med "$ROW" $t rate)")" "$(num %.2f "$(med "$ROW" $t slowdown)") ($(spread "$ROW" $t slowdown))" \
				"$(num %d "$(med "$ROW" $t wakeups_second)")" "$(num %d "$(med "$ROW" $t lost)")" "$(num %.1f "$(med "$ROW" $t cpu_percent)")" \
				"$(num %.2f "$(med "$ROW" $t us_wakeup)")" "$(num %.1f "$(med "$ROW" $t bytes_wakeup)")"
		done
	done
}
