# shellcheck shell=bash
# Start-up beside many idle processes: the time from the recorder's exec to its first sample, both
# by CLOCK_MONOTONIC, the second from the recording itself. At 4,000 Hz on all CPUs the first sample
# comes within 0.25 ms after sampling is switched on; -p records a busy process. The method is the
# same for both tools, and neither is traced. "All": wall time of a recording of "sleep 0.05", which
# includes the end. The sandbox: CPU time of $SANDBOX_RUNS runs on nearly nothing, with it and without.

# stamped COMMAND...: prints CLOCK_MONOTONIC in ns and becomes COMMAND.
stamped() {
	python3 -c 'import os, sys, time
sys.stdout.write("%d\n" % time.clock_gettime_ns(time.CLOCK_MONOTONIC))
sys.stdout.flush()
os.dup2(2, 1)
os.execvp(sys.argv[1], sys.argv[1:])' "$@"
}

first_sample() { # TOOL FILE: ns; nothing without a sample
	case $1 in
	nsprof) "$NSPROF" info --json "$2" | jq 'select(.samples > 0) | .first_sample_ns' ;;
	# "    0   904.412105: " with -F tid,time; --ns gives nanoseconds.
	*) perf_script "$1" "$2" -G --ns -F time | tr -d ' :' | LC_ALL=C sort -g |
		awk 'NR == 1 { split($1, t, "."); printf "%d%s\n", t[1], t[2] }' ;;
	esac
}

# several COMMAND...: mean CPU time of a run, in ms.
several() {
	local i
	{ time for ((i = 0; i < SANDBOX_RUNS; i++)); do "$@" >/dev/null 2>&1; done; } 2>"$WORK/time"
	awk -v n="$SANDBOX_RUNS" '{ print ($2 + $3) * 1000 / n }' "$WORK/time"
}

# The programs that have a sandbox, one a row, and with what they do nearly nothing.
SANDBOXED=(record symbolize import export info "report of a profile" "report of a recording" diff)

sandboxed() { # ROW: sets CMD
	local nothing=$WORK/sandbox
	case $1 in
	record) CMD=("$NSPROF-record" -q -e cpu-clock -o "$nothing.2.data" -- true) ;;
	symbolize) CMD=("$NSPROF-symbolize" -q --no-cache "$nothing.data") ;;
	import) CMD=("$NSPROF-import" -q -o "$nothing.3.data" "$nothing.perf") ;;
	export) CMD=("$NSPROF-export" -q -o "$nothing.2.perf" "$nothing.data") ;;
	info) CMD=("$NSPROF-info" "$nothing.data") ;;
	"report of a profile") CMD=("$NSPROF-report" "$nothing.profile") ;;
	"report of a recording") CMD=("$NSPROF-report" -q "$nothing.data") ;;
	diff) CMD=("$NSPROF-diff" "$nothing.profile" "$nothing.profile") ;;
	esac
}

sandbox_costs() {
	local n o
	"$NSPROF" record -q -e cpu-clock -o "$WORK/sandbox.data" -- true
	"$NSPROF" symbolize -q --format profile -o "$WORK/sandbox.profile" "$WORK/sandbox.data"
	"$NSPROF" export -q -o "$WORK/sandbox.perf" "$WORK/sandbox.data"
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for ROW in "${SANDBOXED[@]}"; do
			sandboxed "$ROW"
			for TOOL in $(rotate $RUN sandbox none); do
				local opts=()
				[ "$TOOL" = sandbox ] || opts=(--no-sandbox)
				put cpu_ms "$(several "${CMD[0]}" "${opts[@]}" "${CMD[@]:1}")"
			done
		done
	done
	echo
	echo "What the sandbox costs: milliseconds of CPU time of a run on nearly nothing; at most 3 more are asked for."
	echo
	md_head command "ms: sandbox" "--no-sandbox" "difference <= 3 ms"
	for ROW in "${SANDBOXED[@]}"; do
		n=$(med "$ROW" sandbox cpu_ms) o=$(med "$ROW" none cpu_ms)
		md "$ROW" "$(num %.1f "$n")" "$(num %.1f "$o")" "$(verdict "$(awk -v a="$n" -v b="$o" 'BEGIN { printf "%.1f", a - b }')" 3)"
	done
}

table_startup() {
	local i begin first p n t
	for ((i = 0; i < N_PROCESSES; i++)); do
		workload sleep 100000
	done
	sleep 0.5
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for ROW in -a "-p, busy"; do
			local target=(-a) busy=''
			if [ "$ROW" != -a ]; then
				"$TARGETS/spin" 100 >/dev/null &
				busy=$!
				target=(-p "$busy")
			fi
			for TOOL in $(rotate $RUN $(each '#') nsprof); do
				local more=()
				[ "$TOOL" = nsprof ] || more=(-k CLOCK_MONOTONIC)
				rm -f "$WORK/start.data"
				tool_cmd "$TOOL" "$WORK/start.data" "${more[@]}" -F 4000 --call-graph dwarf,8192 "${target[@]}"
				{ time stamped "${CMD[@]}" -- sleep 0.05 >"$WORK/stamp" 2>"$WORK/log"; } 2>"$WORK/time"
				read -r begin <"$WORK/stamp"
				put wall "$(cut -d' ' -f1 "$WORK/time")"
				first=$(first_sample "$TOOL" "$WORK/start.data")
				counts "$TOOL" "$WORK/start.data"
				put samples "$KEPT"
				[ -z "$first" ] || put first_ms "$(awk -v a="$begin" -v b="$first" 'BEGIN { printf "%.2f", (b - a) / 1e6 }')"
			done
			[ -z "$busy" ] || { kill "$busy"; wait "$busy" 2>/dev/null; }
		done
	done
	stop_workload

	echo "### Start-up with $N_PROCESSES processes"
	echo
	echo "Milliseconds from exec to the first sample; at most 50 are asked for. All: wall time of a recording of 0.05 s, end included."
	echo
	md_head target perf "ms: perf" nsprof "nsprof <= 50 ms" "all, s: perf" nsprof "nsprof / perf"
	for ROW in -a "-p, busy"; do
		for t in "${PERFS[@]}"; do
			p=$(med "$ROW" $t first_ms) n=$(med "$ROW" nsprof first_ms)
			md "$ROW" "$(perf_label $t)" "$(num %.1f "$p")" "$(num %.1f "$n")" "$(verdict "$(num %.1f "$n")" 50)" \
				"$(num %.3f "$(med "$ROW" $t wall)")" "$(num %.3f "$(med "$ROW" nsprof wall)")" \
				"$(num %.2f "$(ratio "$(med "$ROW" nsprof wall)" "$(med "$ROW" $t wall)")")"
		done
	done
	sandbox_costs
}
