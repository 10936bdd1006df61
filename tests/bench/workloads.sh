# shellcheck shell=bash
# The recordings that the tables size and fold share: four workloads of one or more processes,
# recorded by cgroup at 999 Hz with the largest stack copies, by each perf, the same with -z, with
# -z and copies of 8 KiB, and by nsprof.

WORKLOADS=("C loop" "C++" python3 g++)
[ -z "$QUICK" ] || WORKLOADS=("C loop" g++)

start_named() { # WORKLOAD
	case $1 in
	"C loop") workload "$TARGETS/spin" 100000 ;;
	C++) workload "$TARGETS/deep" 100000 60 ;;
	python3) workload python3 -c '
import json, re
def work(n):
    return sum(len(re.findall("[a-z]+", json.dumps({"k%d" % i: "value x y" for i in range(20)}))) for _ in range(n))
while True: work(60)' ;;
	g++) # Its exit is the loop of a build: a new compiler, assembler and driver each time.
		workload bash -c 'while :; do g++ -O2 -g -c -o "$0/out.o" "$1"; done' "$WORK" "$COMPILED" ;;
	esac
}

# One recording of the running workload.
record_named() { # TOOL FILE
	local dump=$DUMP_MAX tool=$1
	[[ $1 != *-z8 ]] || { tool=${1%8} dump=8192; }
	# shellcheck disable=SC2046
	record "$tool" "$2" "$SIZE_SECONDS" -F 999 $(dwarf $dump) -a -G "$CG"
}

measure_workloads() {
	local w tools
	read -ra tools <<<"$(each '#') nsprof"
	! wanted size || read -ra tools <<<"$(each '# #-z #-z8') nsprof"
	for w in "${WORKLOADS[@]}"; do
		for ((RUN = 1; RUN <= RUNS; RUN++)); do
			ROW=$w
			start_named "$w"
			sleep 0.3
			for TOOL in $(rotate $RUN "${tools[@]}"); do
				record_named "$TOOL" "$WORK/$TOOL.data" || exit 1
				! wanted size || size_one "$WORK/$TOOL.data"
			done
			# Folding runs alone on the machine.
			stop_workload
			! { wanted fold || wanted foldcpu; } || fold_run
		done
	done
	rm -f "$WORK"/*.data
}
