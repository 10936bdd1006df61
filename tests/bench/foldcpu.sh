# shellcheck shell=bash
# The CPU time of the runs that fold.sh measures.

table_foldcpu() {
	local with=fold-perf.awk
	[ -z "$STACKCOLLAPSE" ] || with=stackcollapse-perf.pl
	echo "### From recording to folded stacks, CPU time"
	echo
	echo "User and system time in seconds of all processes, without inlined frames and with them; perf script | $with."
	echo
	fold_print cpu 0.05 0.05
}
