# shellcheck shell=bash
# An exec storm on all CPUs, as a parallel build makes it, under -a: vfork and exec of a program
# that runs for a fraction of a millisecond, again and again. The storm begins after the recorder
# starts and ends before it stops. "brief" is linked dynamically, and its start takes most of its
# time. "brief-bare" has no C library, for as many execs as the machine can do. Measures lost
# side-band records and samples without a name.

# unnamed TOOL FILE: set SAMPLED (user samples of the storm's program) and UNNAMED (those without a
# function).
unnamed() {
	case $1 in
	nsprof) read -r SAMPLED UNNAMED < <("$NSPROF" symbolize -q --no-inline --annotate "$2" | awk '
		/^brief(-bare)?[; ]/ {
			n = $NF; sub(/ [0-9]+$/, "")
			if (/_\[k\]$/) next
			all += n
			if (/;\[[^;]*\]$/) bad += n
		} END { print all + 0, bad + 0 }') ;;
	*) read -r SAMPLED UNNAMED < <(perf_script "$1" "$2" -G --no-inline -F comm,ip,sym | awk '
		$1 ~ /^brief(-bare)?$/ && length($2) <= 12 { all++; bad += $3 == "[unknown]" } END { print all + 0, bad + 0 }') ;;
	esac
}

# storm TOOL PROGRAM: one measurement.
storm() {
	local rate='' n
	rm -f "$WORK/rate" "$WORK/started"
	# The storm is not a child of this shell, because record() counts the time of ended
	# children. It ends by itself.
	(
		(
			until [ "$1" = none ] || [ -e "$WORK/started" ]; do sleep 0.02; done
			sleep 0.3
			"$TARGETS/storm" "$EXEC_SECONDS" "$TARGETS/$2" >"$WORK/rate.new" && mv "$WORK/rate.new" "$WORK/rate"
		) &
	)
	if [ "$1" != none ]; then
		# shellcheck disable=SC2046
		record "$1" "$WORK/exec.data" "$(awk -v s="$EXEC_SECONDS" 'BEGIN { print s + 1 }')" -a -F 999 $(dwarf $DUMP_MAX) || return 1
	fi
	for ((n = 0; n < 500; n++)); do
		[ ! -e "$WORK/rate" ] || break
		sleep 0.02
	done
	read -r rate <"$WORK/rate" || { echo "bench: the exec storm failed" >&2; return 1; }
	put execs_second "$rate"
	[ "$1" != none ] || return 0
	counts "$1" "$WORK/exec.data"
	unnamed "$1" "$WORK/exec.data"
	put samples "$KEPT"
	put lost "$LOST"
	put cpu "$CPU"
	put cpu_exec "$(awk -v c="$CPU" -v n="$rate" -v s="$EXEC_SECONDS" 'BEGIN { print n ? 1e6 * c / n / s : 0 }')"
	put storm_samples "$SAMPLED"
	put unnamed "$UNNAMED"
	[ "$1" != nsprof ] ||
		put lost_sideband "$("$NSPROF" info --json "$WORK/exec.data" | jq .ledger.lost_sideband)"
	rm -f "$WORK/exec.data"
}

table_execs() {
	local t n
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for ROW in brief brief-bare; do
			for TOOL in $(rotate $RUN none $(each '# #-z') nsprof); do
				storm "$TOOL" $ROW || return 1
			done
		done
	done

	echo "### Exec storm"
	echo
	echo "999 Hz x 64 KiB, -a, $EXEC_SECONDS s of storm. perf has mappings and samples in one ring: its side-band losses are among the lost."
	echo
	md_head program tool "execs per second" samples lost "side-band lost" "user samples of the storm" "of them without a name" "CPU s" "us per exec" "CPU / $(perf_label perf)"
	for ROW in brief brief-bare; do
		for t in none $(each '# #-z') nsprof; do
			n=$(num %.0f "$(med $ROW $t execs_second)")
			case $ROW:$t in
			brief-bare:none | brief-bare:nsprof) n=$(reached "$n" 2000) ;;
			esac
			md $ROW "$(tool_label $t)" "$n" "$(num %d "$(med $ROW $t samples)")" "$(num %d "$(med $ROW $t lost)")" \
				"$(verdict "$(med $ROW $t lost_sideband)" 0)" "$(num %d "$(med $ROW $t storm_samples)")" \
				"$(num %.2f%% "$(awk -v a="$(ratio "$(med $ROW $t unnamed)" "$(med $ROW $t storm_samples)")" 'BEGIN { print a == "-" ? a : 100 * a }')")" \
				"$(num %.3f "$(med $ROW $t cpu)")" "$(num %.0f "$(med $ROW $t cpu_exec)")" \
				"$(num %.2f "$(ratio "$(med $ROW $t cpu)" "$(med $ROW perf cpu)")")"
		done
	done
}
