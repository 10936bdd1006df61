# shellcheck shell=bash
# Two threads that hand a futex to each other, and count how often: the workload of the tables
# pingpong and wakeups. Short windows alternate as in slowdown.sh.

handover_start() { # WHAT CPUS [OPTION...]: of the program "waits"
	rm -f "$WORK/handed"
	workload taskset -c "$2" "$TARGETS/waits" --count "$WORK/handed" "${@:3}" 100000 "$1"
	sleep 0.5
}

# ns of CPU time of its threads
handover_cpu() {
	local p
	for p in $(<"$CGROOT/$CG/cgroup.procs"); do cat /proc/"$p"/task/*/schedstat; done 2>/dev/null | awk '{ n += $1 } END { printf "%.0f\n", n }'
}

handover_window() { # sets RATE, hand-overs per second, and US, microseconds of CPU time for each
	local used
	used=$(handover_cpu)
	RATE=$("$TARGETS/units" --rate "$WORK/handed" "$WINDOW")
	US=$(awk -v a="$used" -v b="$(handover_cpu)" -v r="$RATE" -v w="$WINDOW" 'BEGIN { printf "%.3f", (b - a) / 1000 / (r ? r * w : 1) }')
}

# Of rate N with TOOL, where BEFORE and AFTER are the rates without. TOOL "none": N is one of them,
# and the result is the noise.
handover_slowdown() { # N BEFORE AFTER
	awk -v t="$TOOL" -v n="$1" -v a="$2" -v b="$3" 'BEGIN { printf "%.4f", n ? (t == "none" ? a : (a + b) / 2) / n : 0 }'
}
