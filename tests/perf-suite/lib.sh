# shellcheck shell=bash
# For the scripts of this folder, after tests/lib.sh: one notation for what both nsprof and perf do.
# It runs nsprof, or perf if run-perf sets $SUITE_TOOL.
#
#	record FILE OPTION...	by cpu-clock, quietly, into FILE
#	script FILE OPTION...	its samples as text
#	report FILE OPTION...	its table
#	stacks FILE		folded stacks, root first, made from script's text
#	ours			true for nsprof

TOOL=${SUITE_TOOL:-nsprof}
TARGETS=$BUILD/tests/targets
cd "$T" || exit 2

ours() { [ "$TOOL" = nsprof ]; }

tool() {
	if ours; then
		"$NSPROF" "$@"
	else
		# Keep the caller's own cache of binaries clean.
		PAGER="cat" perf --buildid-dir "$T/buildids" "$@"
	fi
}

record() {
	tool record -q -e cpu-clock -o "$@"
}

script() {
	tool script -i "$@"
}

report() {
	if ours; then
		tool report -q --limit 0 -i "$@"
	else
		tool report --stdio -i "$@"
	fi
}

stacks() {
	script "$@" 2>/dev/null | awk -f "$TOP/tests/bench/fold-perf.awk"
}

# all SENTENCE FILE REGEX: FILE has lines, and each of them matches.
all() {
	local other
	other=$(grep -Ev -e "$3" "$2" | head -n 5)
	if [ -s "$2" ] && [ -z "$other" ]; then
		pass "$1"
	else
		fail "$1" "without $3: ${other:-no line at all}"
	fi
}

suite_need() {
	ours || have_perf || skip_all "perf is not installed"
	record probe -- true >probe.err 2>&1 || skip_all "cannot record here: $(tail -n 1 probe.err)"
	[ -x "$TARGETS/spin" ] || skip_all "the programs are not built (make test-targets)"
}
suite_need
