# shellcheck shell=bash
# An exec storm on all CPUs, as a parallel build makes it: vfork and exec of a dynamically linked program of a
# fraction of a millisecond, again and again, under -a. Side-band records lost, samples without a name.

# unnamed TOOL FILE: sets SAMPLED (user samples of the storm's program) and UNNAMED (of them, without a function).
unnamed() {
	case $1 in
	nsprof) read -r SAMPLED UNNAMED < <("$NSPROF" symbolize -q --no-inline --annotate "$2" | awk '
		/^brief(-static)?[; ]/ {
			n = $NF; sub(/ [0-9]+$/, "")
			if (/_\[k\]$/) next
			all += n
			if (/;\[[^;]*\]$/) bad += n
		} END { print all + 0, bad + 0 }') ;;
	*) read -r SAMPLED UNNAMED < <(perf_script "$2" -G --no-inline -F comm,ip,sym | awk '
		$1 ~ /^brief(-static)?$/ && length($2) <= 12 { all++; bad += $3 == "[unknown]" } END { print all + 0, bad + 0 }') ;;
	esac
}

table_execs() {
	local rate t l
	ROW=brief
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for TOOL in $(rotate $RUN none perf perf-z nsprof); do
			"$TARGETS/storm" "$(awk -v s="$EXEC_SECONDS" 'BEGIN { print s + 1.5 }')" "$TARGETS/brief" >"$WORK/rate" &
			CROWD=$!
			sleep 0.2
			if [ "$TOOL" != none ]; then
				# shellcheck disable=SC2046
				record "$TOOL" "$WORK/exec.data" "$EXEC_SECONDS" -a -F 999 $(dwarf $DUMP_MAX) || return 1
			fi
			wait $CROWD || { echo "bench: the exec storm failed" >&2; return 1; }
			CROWD=''
			read -r rate <"$WORK/rate"
			put execs_second "$rate"
			[ "$TOOL" != none ] || continue
			counts "$TOOL" "$WORK/exec.data"
			unnamed "$TOOL" "$WORK/exec.data"
			put samples "$KEPT"
			put lost "$LOST"
			put cpu "$CPU"
			put storm_samples "$SAMPLED"
			put unnamed "$UNNAMED"
			[ "$TOOL" != nsprof ] ||
				put lost_sideband "$("$NSPROF" info --json "$WORK/exec.data" | jq .ledger.lost_sideband)"
			rm -f "$WORK/exec.data"
		done
	done

	echo "### Exec storm"
	echo
	echo "999 Hz x 64 KiB, -a, $EXEC_SECONDS s. perf has mappings and samples in one ring: its side-band losses are among the lost."
	echo
	md_head tool "execs a second" samples lost "side-band lost" "user samples of the storm" "of them without a name" "CPU s" "CPU / perf"
	for t in none perf perf-z nsprof; do
		l=$(med $ROW $t lost_sideband)
		md "$t" "$(num %d "$(med $ROW $t execs_second)")" "$(num %d "$(med $ROW $t samples)")" "$(num %d "$(med $ROW $t lost)")" \
			"$(verdict "$l" 0)" "$(num %d "$(med $ROW $t storm_samples)")" \
			"$(num %.2f%% "$(awk -v a="$(ratio "$(med $ROW $t unnamed)" "$(med $ROW $t storm_samples)")" 'BEGIN { print a == "-" ? a : 100 * a }')")" \
			"$(num %.3f "$(med $ROW $t cpu)")" "$(num %.2f "$(ratio "$(med $ROW $t cpu)" "$(med $ROW perf cpu)")")"
	done
}
