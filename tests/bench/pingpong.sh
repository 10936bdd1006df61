# shellcheck shell=bash
# What recording time off the CPU costs a program that does nothing but wait: two threads that hand a
# futex to each other, each on a CPU of its own, or both on one; and two that compute in between, so
# that they switch about 37,500 times per second. By the program's own counter, in
# short windows that alternate as in slowdown.sh; and the CPU time of the program per hand-over.
# perf takes the stack of each switch by frame pointers; nsprof as many DWARF stacks as it allows
# itself, and all switches.

pingpong_row() { # ROW WHAT CPUS [OPTION...]
	local base base_us next next_us n u
	ROW=$1
	handover_start "${@:2}"
	for ((RUN = 1; RUN <= PINGPONG_ROUNDS; RUN++)); do
		: >"$WORK/round"
		handover_window
		base=$RATE base_us=$US
		for TOOL in $(rotate $RUN $(each '#') nsprof); do
			local EVENTS=(-e sched:sched_switch -g)
			[ "$TOOL" != nsprof ] || EVENTS=(--off-cpu)
			start "$TOOL" "$WORK/pingpong.data" -a -G "$CG" || return 1
			sleep "$SETTLE"
			handover_window
			stop
			counts "$TOOL" "$WORK/pingpong.data"
			put samples "$KEPT"
			put lost "$LOST"
			[ "$TOOL" != nsprof ] || put switches "$("$NSPROF" info --json "$WORK/pingpong.data" | jq ".ledger.switches / 2 / .duration")"
			echo "$TOOL $RATE $US" >>"$WORK/round"
			rm -f "$WORK/pingpong.data"
		done
		handover_window
		next=$RATE next_us=$US
		echo "none $next $next_us" >>"$WORK/round"
		while read -r TOOL n u; do
			put rate "$n"
			put us "$u"
			put slowdown "$(handover_slowdown "$n" "$base" "$next")"
			put cpu "$(awk -v t="$TOOL" -v u="$u" -v a="$base_us" -v b="$next_us" 'BEGIN { m = t == "none" ? a : (a + b) / 2; printf "%.4f", m ? u / m : 0 }')"
		done <"$WORK/round"
	done
	stop_workload
}

table_pingpong() {
	local rows=("one CPU, with work" "two CPUs" "one CPU") t cells
	pingpong_row "one CPU, with work" pingpong 0 --work "$PINGPONG_WORK" || return 1
	pingpong_row "two CPUs" apart "0-$((NCPU - 1))" || return 1
	pingpong_row "one CPU" pingpong 0 || return 1

	echo "### Slowdown of a lock ping-pong"
	echo
	echo "Two threads hand a futex to each other; with work, they compute for $PINGPONG_WORK us before each hand-over. Slowdown: hand-overs"
	echo "per second without a recorder over those with it, by the program's counter; median of $PINGPONG_ROUNDS windows of $WINDOW s, and the middle"
	echo "half. CPU: of the program, per hand-over, with over without."
	echo "perf: -e sched:sched_switch -g; nsprof: --off-cpu. \"None\": two windows without a recorder, the noise."
	for ROW in "${rows[@]}"; do
		echo
		# Asked for is a program that switches 37,500 times per second.
		md_head "$ROW" "hand-overs/s" "us of CPU each" "switches/s" stacks slowdown CPU "slowdown <= 1.05"
		for t in none $(each '#') nsprof; do
			cells=(-)
			[ $t != nsprof ] || [ "$ROW" = "one CPU" ] || cells=("$(verdict "$(num %.2f "$(med "$ROW" $t slowdown)")" 1.05)")
			md "$(tool_label $t)" "$(num %d "$(med "$ROW" $t rate)")" "$(num %.2f "$(med "$ROW" $t us)")" "$(num %d "$(med "$ROW" $t switches)")" "$(num %d "$(med "$ROW" $t samples)")" \
				"$(num %.2f "$(med "$ROW" $t slowdown)") ($(spread "$ROW" $t slowdown))" "$(num %.2f "$(med "$ROW" $t cpu)")" "${cells[@]}"
		done
	done
}
