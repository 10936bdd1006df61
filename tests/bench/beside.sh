# shellcheck shell=bash
# A clock, and a tracepoint that comes 20,000 times per second beside it: are the clock's samples all
# there, do they show the same, and what does an event cost the recorder? Once with stacks, which are
# thinned to the budget, and once without.

BESIDE_EVENT=syscalls:sys_enter_getppid
BESIDE=("dwarf,16384" none)

table_beside() {
	local how name alone per t k
	[ -z "$QUICK" ] || BESIDE=(none)
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for how in "${BESIDE[@]}"; do
			for TOOL in $(rotate $RUN $(each '#') nsprof); do
				for name in alone beside; do
					ROW="$how, $name"
					# Without -F: perf would apply it to the tracepoint.
					local EVENTS=(-e cpu-clock/freq=999/) stacks=(--call-graph "$how")
					[ "$how" != none ] || [ "$TOOL" = nsprof ] || stacks=()
					[ $name = alone ] || EVENTS+=(-e "$BESIDE_EVENT")
					# perf's -G is for the event before it.
					local groups=(-G "$CG")
					[ $name = alone ] || [ "$TOOL" = nsprof ] || groups=(-G "$CG,$CG")
					workload sh -c 'echo | exec "$0" 100000000 0 20000' "$TARGETS/calls"
					sleep 0.3
					record "$TOOL" "$WORK/beside.data" "$BESIDE_SECONDS" "${stacks[@]}" -a "${groups[@]}" || return 1
					stop_workload
					put cpu "$CPU"
					beside_counts "$TOOL" "$WORK/beside.data"
					rm -f "$WORK/beside.data"
				done
			done
		done
	done

	echo "### A tracepoint beside a clock"
	echo
	echo "$BESIDE_SECONDS s, 999 Hz, a program that computes and calls getppid(2) 20,000 times per second. Samples of the clock: alone and with the"
	echo "tracepoint beside it, and, for nsprof, how many of them are in the loop of that program. CPU of the recorder: of the additional events, each."
	echo
	md_head stacks tool "clock: alone" beside lost "in the loop, %: alone" beside "events" "us per event" "<= 0.5"
	for how in "${BESIDE[@]}"; do
		for t in $(each '#') nsprof; do
			alone=$(med "$how, alone" $t cpu)
			per=$(awk -v a="$alone" -v b="$(med "$how, beside" $t cpu)" -v n="$(med "$how, beside" $t events)" 'BEGIN { printf "%.2f", (n > 0) ? 1e6 * (b - a) / n : 0 }')
			k=-
			[ $t != nsprof ] || k=$(verdict "$per" 0.5)
			md "$how" "$(tool_label $t)" "$(num %d "$(med "$how, alone" $t clock)")" "$(num %d "$(med "$how, beside" $t clock)")" \
				"$(num %d "$(med "$how, beside" $t clock_lost)")" "$(num %.1f "$(med "$how, alone" $t loop)")" "$(num %.1f "$(med "$how, beside" $t loop)")" \
				"$(num %d "$(med "$how, beside" $t events)")" "$per" "$k"
		done
	done
}

# Samples of the clock, those lost, those in the loop, and how often the tracepoint came.
beside_counts() { # TOOL FILE
	if [ "$1" = nsprof ]; then
		"$NSPROF" info --json "$2" >"$WORK/info"
		put clock "$(jq '.events[0].samples // .samples' "$WORK/info")"
		put clock_lost "$(jq '.events[0].lost // .lost' "$WORK/info")"
		put events "$(jq --arg e "$BESIDE_EVENT" '[.events[] | select(.name == $e) | .count] | add // 0' "$WORK/info")"
		[[ $ROW == dwarf* ]] || return 0
		"$NSPROF" symbolize -q --weight samples --event cpu-clock -o "$WORK/folded" "$2"
		put loop "$(awk '{ all += $NF } /;call[; ]/ { n += $NF } END { print all ? 100 * n / all : 0 }' "$WORK/folded")"
		return
	fi
	"$(perf_of "$1")" report --stats -i "$2" >"$WORK/stats" 2>"$WORK/log"
	put clock "$(awk '/stats:$/ { e = $1 } e ~ /cpu-clock/ && $1 == "SAMPLE" { n += $3 } END { print n + 0 }' "$WORK/stats")"
	put clock_lost "$(awk '/stats:$/ { e = $1 } e ~ /cpu-clock/ && $1 == "LOST_SAMPLES" { n += $3 } END { print n + 0 }' "$WORK/stats")"
	put events "$(awk '/stats:$/ { e = $1 } e ~ /getppid/ && ($1 == "SAMPLE" || $1 == "LOST_SAMPLES") { n += $3 } END { print n + 0 }' "$WORK/stats")"
}
