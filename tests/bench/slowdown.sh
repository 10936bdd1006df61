# shellcheck shell=bash
# What a recording costs the recorded programs: units of work per second by the workload's own
# counter, one thread per CPU, under -a. Many short windows alternate. Each is compared with the
# mean of the two windows without a recorder around its round, so that slow drifts of the machine
# cancel. A recorder starts SETTLE seconds before its window, so its own start is not measured.

slowdown_window() {
	"$TARGETS/units" --rate "$WORK/units" "$WINDOW"
}

table_slowdown() {
	local rates=(99 999) heads=() rate base next t n p
	[ -z "$QUICK" ] || rates=(999)
	workload "$TARGETS/units" "$WORK/units" 100000 "$NCPU"
	sleep 0.5
	for ((RUN = 1; RUN <= ROUNDS; RUN++)); do
		for rate in "${rates[@]}"; do
			ROW="$rate Hz x 64 KiB"
			: >"$WORK/round"
			base=$(slowdown_window)
			for TOOL in $(rotate $RUN $(each '# #-z') nsprof); do
				# shellcheck disable=SC2046
				start "$TOOL" "$WORK/slow.data" -a -F "$rate" $(dwarf $DUMP_MAX) || return 1
				sleep "$SETTLE"
				n=$(slowdown_window)
				stop
				counts "$TOOL" "$WORK/slow.data"
				put samples "$KEPT"
				echo "$TOOL $n" >>"$WORK/round"
				rm -f "$WORK/slow.data"
			done
			next=$(slowdown_window)
			while read -r TOOL n; do
				put units_second "$n"
				put slowdown "$(awk -v n="$n" -v a="$base" -v b="$next" 'BEGIN { printf "%.3f", 100 * (1 - n / ((a + b) / 2)) }')"
			done <"$WORK/round"
			TOOL=none
			put units_second "$base"
			# The noise without any recorder, on the same scale.
			put slowdown "$(awk -v a="$base" -v b="$next" 'BEGIN { printf "%.3f", 100 * (1 - b / a) }')"
		done
	done
	stop_workload

	echo "### Slowdown of the workload"
	echo
	echo "Per cent, by its own work counter, -a, one busy thread per CPU: median of $ROUNDS windows of $WINDOW s, and the"
	echo "middle half of them. \"None\" is the difference of two windows without a recorder: the noise."
	echo
	for t in $(each '# #-z'); do
		heads+=("$(perf_label $t)")
	done
	md_head setting none "${heads[@]}" nsprof "not above perf's"
	for rate in "${rates[@]}"; do
		ROW="$rate Hz x 64 KiB"
		n=$(med "$ROW" nsprof slowdown) p=$(for t in "${PERFS[@]}"; do med "$ROW" $t slowdown; done | LC_ALL=C sort -g | head -n 1)
		local cells=()
		for t in none $(each '# #-z') nsprof; do
			cells+=("$(num %.2f "$(med "$ROW" $t slowdown)") ($(spread "$ROW" $t slowdown))")
		done
		md "$ROW" "${cells[@]}" "$(awk -v n="$n" -v p="$p" 'BEGIN { print n <= p ? "yes" : "**no**" }')"
	done
}
