# shellcheck shell=bash
# All CPUs are busy, -a: samples expected, kept and lost, and the CPU time of the recorder alone.
# cpu-clock also fires on idle CPUs, so rate x CPUs x seconds samples are expected in any case.
# nsprof does not sample itself, perf does.

BUSY=("999 16384" "999 65528" "4000 65528" "10000 8192")
# Loads for the CPUs: deep stacks that change all the time are the worst case for a recorder.
BUSY_LOADS=("C loop" "C++, deep stacks")

table_busy() {
	local load
	[ -z "$QUICK" ] || BUSY=("999 16384" "4000 65528") BUSY_LOADS=("C++, deep stacks")
	for load in "${BUSY_LOADS[@]}"; do
		if [ "$load" = "C loop" ]; then loop_workload; else busy_workload; fi
		sleep 0.3
		busy_runs "$load" || return 1
		stop_workload
	done
	echo "### All CPUs busy, -a"
	echo
	echo "$BUSY_SECONDS s; CPU is user and system time of the recorder. nsprof counts its own samples, but leaves them out."
	for load in "${BUSY_LOADS[@]}"; do
		busy_print "$load"
	done
}

busy_row() { # LOAD RATE DUMP: sets ROW
	ROW="$1, $2 Hz x $((($3 + 1023) / 1024)) KiB"
}

busy_runs() { # LOAD
	local spec rate dump
	for spec in "${BUSY[@]}"; do
		read -r rate dump <<<"$spec"
		busy_row "$1" "$rate" "$dump"
		for ((RUN = 1; RUN <= RUNS; RUN++)); do
			for TOOL in $(rotate $RUN $(each '# #-z') nsprof); do
				# shellcheck disable=SC2046
				record "$TOOL" "$WORK/busy.data" "$BUSY_SECONDS" -a -F "$rate" $(dwarf "$dump") || return 1
				counts "$TOOL" "$WORK/busy.data"
				put samples "$KEPT"
				put lost "$LOST"
				put cpu "$CPU"
				[ "$TOOL" != nsprof ] || put own "$("$NSPROF" info --json "$WORK/busy.data" | jq '.ledger.own // 0')"
				rm -f "$WORK/busy.data"
			done
		done
	done
}

busy_print() { # LOAD
	local spec rate dump raw z n p
	declare -A of_raw=(["999 16384"]=0.5 ["999 65528"]=0.15) of_z=(["4000 65528"]=0.25)
	echo
	md_head "$1" perf expected "kept: perf, -z, nsprof" "nsprof's own" "lost: perf, -z, nsprof" "CPU s: perf, -z, nsprof" "nsprof / perf" \
		"nsprof / perf -z" "lost 0 asked"
	for spec in "${BUSY[@]}"; do
		read -r rate dump <<<"$spec"
		busy_row "$1" "$rate" "$dump"
		n=$(med "$ROW" nsprof lost)
		for p in "${PERFS[@]}"; do
			raw=$(ratio "$(med "$ROW" nsprof cpu)" "$(med "$ROW" $p cpu)")
			z=$(ratio "$(med "$ROW" nsprof cpu)" "$(med "$ROW" $p-z cpu)")
			[ -z "${of_raw[$spec]-}" ] || raw=$(verdict "$raw" "${of_raw[$spec]}")
			[ -z "${of_z[$spec]-}" ] || z=$(verdict "$z" "${of_z[$spec]}")
			md "${ROW#"$1, "}" "$(perf_label $p)" "$(num %d "$(awk -v r="$rate" -v c="$NCPU" -v s="$BUSY_SECONDS" 'BEGIN { print r * c * s }')")" \
				"$(three $p samples %d)" "$(num %d "$(med "$ROW" nsprof own)")" "$(three $p lost %d)" "$(three $p cpu %.2f)" "$raw" "$z" \
				"$(verdict "$n" 0)"
		done
	done
}

# three PERF METRIC FORMAT: the medians of that perf, the same with -z, and nsprof in the current
# ROW.
three() {
	echo "$(num "$3" "$(med "$ROW" "$1" "$2")"), $(num "$3" "$(med "$ROW" "$1-z" "$2")"), $(num "$3" "$(med "$ROW" nsprof "$2")")"
}
