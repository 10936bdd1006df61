# shellcheck shell=bash
# on + off = wall, by clocks of the recorded program: threads that wait in known ways, each of which
# prints its life by CLOCK_MONOTONIC and its CPU time by CLOCK_THREAD_CPUTIME_ID. For perf, what its
# records of switches add up to. And threads that live throughout a recording: on + off is its length.

WAITING=(alternate pipe poll runner sleeper)

# "TID ON OFF", ns, by nsprof; perf's run time and time between switches.
thread_times() { # TOOL FILE
	case $1 in
	nsprof) "$NSPROF" info --json "$2" | jq -r '.cpu_times.threads[] | "\(.tid) \(.on_ns) \(.off_ns)"' ;;
	*) perf_script "$1" "$2" --ns -F time,event,trace | awk '{ split($1, at, "[.:]"); now = at[1] * 1e9 + at[2]; prev = next_ = ""
		for (i = 2; i <= NF; i++) { if ($i ~ /^prev_pid=/) prev = substr($i, 10); if ($i ~ /^next_pid=/) next_ = substr($i, 10) }
		if (prev in came) on[prev] += now - came[prev]
		if (next_ in left) off[next_] += now - left[next_]
		left[prev] = came[next_] = now }
		END { for (t in on) printf "%d %.0f %.0f\n", t, on[t], off[t] }' ;;
	esac
}

# worst FILE: the largest differences of FILE's threads from the program's own lines in $WORK/own:
# "CPU WALL", percent of the thread's life.
worst() {
	awk 'FNR == NR { if ($3 == "life") { life[$2] = $4; cpu[$2] = $5 } next }
		$1 in life { seen[$1]; c = ($2 - cpu[$1]) / life[$1]; w = ($2 + $3 - life[$1]) / life[$1]
			if (c < 0) c = -c; if (w < 0) w = -w; if (c > C) C = c; if (w > W) W = w }
		END { for (t in life) { n++; if (t in seen) have++ } print (have == n && n) ? 100 * C " " 100 * W : "100 100" }' "$WORK/own" "$1"
}

table_walltime() {
	local cpu wall t
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		ROW=threads
		for TOOL in $(rotate $RUN $(each '#') nsprof); do
			local EVENTS=(-e sched:sched_switch)
			[ "$TOOL" != nsprof ] || EVENTS=(--off-cpu)
			# With -G, perf sees who leaves, but not who comes.
			local target=(-a)
			[ "$TOOL" != nsprof ] || target=(-a -G "$CG")
			start "$TOOL" "$WORK/wall.data" "${target[@]}" || return 1
			sleep "$SETTLE"
			(echo $BASHPID >"$CGROOT/$CG/cgroup.procs" && exec "$TARGETS/waits" "$WALL_SECONDS" "${WAITING[@]}") >"$WORK/own"
			stop
			thread_times "$TOOL" "$WORK/wall.data" >"$WORK/times"
			read -r cpu wall < <(worst "$WORK/times")
			put cpu_percent "$cpu"
			put wall_percent "$wall"
			counts "$TOOL" "$WORK/wall.data"
			put samples "$KEPT"
			rm -f "$WORK/wall.data"
		done
		ROW=throughout TOOL=nsprof
		workload "$TARGETS/waits" 100000 "${WAITING[@]}"
		sleep 0.5
		EVENTS=(--off-cpu)
		record nsprof "$WORK/wall.data" "$WALL_SECONDS" -a -G "$CG" || return 1
		stop_workload
		# Each thread's on + off against the longest life of any, which is the recording's.
		put difference_ns "$("$NSPROF" info --json "$WORK/wall.data" | jq '.cpu_times.threads | (map(.wall_ns) | max) as $all |
			map($all - .on_ns - .off_ns) | map(if . < 0 then -. else . end) | max')"
		put threads "$("$NSPROF" info --json "$WORK/wall.data" | jq '.cpu_times.threads | length')"
		rm -f "$WORK/wall.data"
	done

	echo "### Time of threads on and off the CPU"
	echo
	echo "$WALL_SECONDS s, six threads that wait in known ways. The largest difference of any thread, in per cent of its life: its CPU time from"
	echo "CLOCK_THREAD_CPUTIME_ID, and on + off from its life by CLOCK_MONOTONIC. perf: sums over sched:sched_switch."
	echo
	md_head tool "CPU time, %" "on + off = life, %" "asked <= 0.1 %"
	ROW=threads
	for t in $(each '#') nsprof; do
		if [ $t = nsprof ]; then
			md nsprof "$(num %.3f "$(med "$ROW" $t cpu_percent)")" "$(num %.3f "$(med "$ROW" $t wall_percent)")" "$(verdict "$(num %.3f "$(med "$ROW" $t wall_percent)")" 0.1)"
		else
			md "$(tool_label $t)" "$(num %.3f "$(med "$ROW" $t cpu_percent)")" "$(num %.3f "$(med "$ROW" $t wall_percent)")" -
		fi
	done
	ROW=throughout
	echo
	echo "$(med "$ROW" nsprof threads) threads that lived throughout: on + off differs from the recording's length by at most" \
		"$(verdict "$(med "$ROW" nsprof difference_ns)" 0) ns."
}
