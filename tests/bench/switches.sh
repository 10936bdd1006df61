# shellcheck shell=bash
# Every switch with a stack: Python threads that take the interpreter from each other, 16 KiB copies,
# all samples and all records of switches. Samples taken, lost, and bytes of the file per sample.

# Five threads that compute. The interpreter is handed over after 1 us.
gil_workload() {
	workload python3 -c '
import sys, threading
sys.setswitchinterval(1e-6)
def work():
    n = 0
    while True: n += 1
for _ in range(4): threading.Thread(target=work).start()
work()'
}

table_switches() {
	local t bytes
	gil_workload
	sleep 0.5
	ROW=python
	for ((RUN = 1; RUN <= RUNS; RUN++)); do
		for TOOL in $(rotate $RUN $(each '# #-z') nsprof); do
			local EVENTS=(-e context-switches -c 1 --switch-events)
			[ "$TOOL" != nsprof ] || EVENTS=(--off-cpu=1)
			# shellcheck disable=SC2046
			record "$TOOL" "$WORK/switches.data" "$SWITCH_SECONDS" $(dwarf 16384) -a -G "$CG" || return 1
			counts "$TOOL" "$WORK/switches.data"
			[ "$TOOL" != nsprof ] || put lost_switches "$("$NSPROF" info --json "$WORK/switches.data" | jq .ledger.lost_switches)"
			bytes=$(stat -c %s "$WORK/switches.data")
			put switches_second "$(awk -v n="$((KEPT + LOST))" -v s="$SWITCH_SECONDS" 'BEGIN { printf "%.0f", n / s }')"
			put samples "$KEPT"
			put lost "$LOST"
			put lost_percent "$(awk -v k="$KEPT" -v l="$LOST" 'BEGIN { print k + l ? 100 * l / (k + l) : 0 }')"
			put bytes_switch "$(ratio "$bytes" "$KEPT")"
			put cpu "$CPU"
			rm -f "$WORK/switches.data"
		done
	done
	stop_workload

	echo "### Every switch with a stack"
	echo
	echo "$SWITCH_SECONDS s, a Python program of five threads, copies of 16 KiB. Switches per second: stacks kept and lost. Bytes: of"
	echo "the whole file, records of switches included, per switch with a stack."
	echo
	md_head tool "switches/s" "stacks kept" lost "lost, %" "lost: asked 0" "bytes per switch" "asked <= 8" "CPU s"
	for t in $(each '# #-z') nsprof; do
		if [ $t = nsprof ]; then
			md "$(tool_label $t)" "$(num %d "$(med "$ROW" $t switches_second)")" "$(num %d "$(med "$ROW" $t samples)")" \
				"$(num %d "$(med "$ROW" $t lost)") stacks, $(num %d "$(med "$ROW" $t lost_switches)") switches" \
				"$(num %.1f "$(med "$ROW" $t lost_percent)")" \
				"$(verdict "$(awk -v a="$(med "$ROW" $t lost)" -v b="$(med "$ROW" $t lost_switches)" 'BEGIN { print a + b }')" 0)" \
				"$(num %.1f "$(med "$ROW" $t bytes_switch)")" "$(verdict "$(num %.1f "$(med "$ROW" $t bytes_switch)")" 8)" "$(num %.2f "$(med "$ROW" $t cpu)")"
		else
			md "$(tool_label $t)" "$(num %d "$(med "$ROW" $t switches_second)")" "$(num %d "$(med "$ROW" $t samples)")" "$(num %d "$(med "$ROW" $t lost)")" \
				"$(num %.1f "$(med "$ROW" $t lost_percent)")" - "$(num %.1f "$(med "$ROW" $t bytes_switch)")" - "$(num %.2f "$(med "$ROW" $t cpu)")"
		fi
	done
}
