# shellcheck shell=bash
# Several events in one recording against one recording for each: bytes of the file, for as many
# samples of each event. The workload starts short programs all the time, so it has page faults,
# switches and CPU time.

SIZED=(cpu-clock page-faults sched:sched_process_exec)

# event_of EVENT: as it is given
event_of() {
	case $1 in
	cpu-clock) echo cpu-clock/freq=999/ ;;
	page-faults) echo page-faults/period=10/ ;;
	*) echo "$1" ;;
	esac
}

sized_record() { # LABEL EVENT...: sets the row's bytes and samples of each event
	local label=$1 e i=0
	shift
	local EVENTS=() groups=''
	for e; do
		EVENTS+=(-e "$(event_of "$e")")
		groups+=${groups:+,}$CG
	done
	[ "$TOOL" != nsprof ] || groups=$CG
	# shellcheck disable=SC2046
	record "$TOOL" "$WORK/sized.data" "$EVENTSIZE_SECONDS" $(dwarf 16384) -a -G "$groups" || return 1
	put "$label bytes" "$(stat -c %s "$WORK/sized.data")"
	if [ "$TOOL" = nsprof ]; then
		"$NSPROF" info --json "$WORK/sized.data" >"$WORK/info"
		for e; do
			put "$label $e" "$(jq --argjson i $i '.events[$i].samples // .samples' "$WORK/info")"
			i=$((i + 1))
		done
	else
		"$(perf_of "$TOOL")" report --stats -i "$WORK/sized.data" >"$WORK/stats" 2>"$WORK/log"
		for e; do
			put "$label $e" "$(awk -v e="$e" '/stats:$/ { now = index($1, e) == 1 } now && $1 == "SAMPLE" { n += $3 } END { print n + 0 }' "$WORK/stats")"
		done
	fi
	rm -f "$WORK/sized.data"
}

# sum_of TOOL: bytes of the separate recordings, each for as many samples as the event has in the one
# of all.
sum_of() {
	local e
	for e in "${SIZED[@]}"; do
		echo "$(med "$ROW" "$1" "$e bytes") $(med "$ROW" "$1" "$e $e") $(med "$ROW" "$1" "all $e")"
	done | awk '{ s += $2 > 0 ? $1 * $3 / $2 : $1 } END { printf "%.0f\n", s }'
}

table_eventsize() {
	local e t all sum
	ROW=programs
	workload sh -c 'while :; do "$0" "$1"; done' "$TARGETS/deep" 0.02
	sleep 0.3
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for TOOL in $(rotate $RUN $(each '#-z') nsprof); do
			for e in "${SIZED[@]}"; do sized_record "$e" "$e" || return 1; done
			sized_record all "${SIZED[@]}" || return 1
		done
	done
	stop_workload

	echo "### Several events on disk"
	echo
	echo "$EVENTSIZE_SECONDS s, ${SIZED[*]} in one recording, against one recording for each, by the samples of each event. Bytes of the whole files."
	echo
	md_head tool "samples: ${SIZED[0]}" "${SIZED[1]}" "${SIZED[2]}" "bytes: all in one" "separate" "one / separate"
	for t in $(each '#-z') nsprof; do
		all=$(med "$ROW" $t "all bytes") sum=$(sum_of $t)
		e=$(ratio "$all" "$sum")
		[ $t != nsprof ] || e=$(verdict "$e" 1.1)
		md "$(tool_label $t)" "$(num %d "$(med "$ROW" $t "all ${SIZED[0]}")")" "$(num %d "$(med "$ROW" $t "all ${SIZED[1]}")")" \
			"$(num %d "$(med "$ROW" $t "all ${SIZED[2]}")")" "$(num %d "$all")" "$(num %d "$sum")" "$e"
	done
}
