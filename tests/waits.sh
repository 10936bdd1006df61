# shellcheck shell=bash
# Time off the CPU in real programs, beside clocks of their own. For tests: . lib.sh and
# container/lib.sh first.
#
# A program that takes the time around a wait measures the wait and its own computing on the way
# into it and out of it. So its clock shows at least the time off the CPU, and at most that and all
# CPU time of its thread. This holds however busy the machine is.
#
#	waits_begin FILE ARGS...	record every switch and stack in the background, until
#	waits_end			which also writes FILE.folded, FILE.json and FILE.shown
#	late_recorded FILE ARGS...	record the program "waits late", process $program, which is told to go on
#				through descriptor 9, and whose times come from 8: low_short, high_short,
#				low_long and high_long, in ns
#	off FILE REGEX			ns off the CPU in stacks that match
#	on FILE [TID...]		ns on a CPU, of these threads or of all
#	agrees NAME OFF CLOCK CPU	OFF is CLOCK, but for the CPU time in it. Count other waits of the
#					thread, such as for a CPU, as CPU time
#	share NAME FILE REGEX OF MIN	at least MIN per cent of the stacks with OF match REGEX

# A clock is read before and after the wait, not in the instant when the thread leaves.
CLOCK_SLACK=1000000

waits_begin() {
	WAITS=$1
	shift
	rm -f "$WAITS"
	: >"$WAITS.err"
	"$NSPROF" record -v -o "$WAITS" --off-cpu=1 "$@" 2>"$WAITS.err" &
	WAITS_RECORDER=$!
	wait_for "grep -q 'sampling began' '$WAITS.err' || ! kill -0 $WAITS_RECORDER" 20
}

late_recorded() {
	waits_begin "$@"
	echo >&9
	read -r _ low_short high_short <&8
	read -r _ low_long high_long <&8
	kill -INT "$WAITS_RECORDER"
	wait "$WAITS_RECORDER"
	exec 9>&- 8<&-
	wait "$program"
}

waits_end() {
	kill -INT "$WAITS_RECORDER"
	wait "$WAITS_RECORDER"
	waits_fold "$WAITS"
}

# waits_fold FILE: "COMM-PID/TID;FRAME;..." with all waits in FILE.folded, what is shown by default in
# FILE.shown.
waits_fold() {
	"$NSPROF" symbolize -q --event off-cpu --all --by thread "$1" >"$1.folded"
	"$NSPROF" symbolize -q --event off-cpu --by thread "$1" >"$1.shown"
	"$NSPROF" info --json "$1" >"$1.json"
	is "${1##*/}: no switch is lost, no time unknown, no stack lost or dropped" \
		"$(jq -c '[.ledger.lost_switches, .cpu_times.unknown_ns, .ledger.lost_kernel, .ledger.dropped]' "$1.json")" "[0,0,0,0]"
	is "${1##*/}: on + off = wall for each thread" \
		"$(jq '[.cpu_times.threads[] | .on_ns + .off_ns == .wall_ns] | all and length > 0' "$1.json")" true
	is "${1##*/}: stacks have all time off the CPU of the threads in them" \
		"$(awk '{ n += $NF } END { printf "%.0f\n", n }' "$1.folded")" "$(jq .cpu_times.off_ns "$1.json")"
}

off() {
	awk -v re="$2" '$0 ~ re { n += $NF } END { printf "%.0f\n", n }' "$1.folded"
}

on() {
	local file=$1
	shift
	jq --arg tids "$*" '($tids | split(" ")) as $t | [.cpu_times.threads[] | select($tids == "" or (.tid | tostring | IN($t[]))) | .on_ns] | add // 0' "$file.json"
}

ms() { awk -v ns="$1" 'BEGIN { printf "%.1f ms\n", ns / 1e6 }'; }

agrees() {
	check "$1: $(ms "$2"), by its own clock $(ms "$3"), CPU $(ms "$4")" \
		test "$2" -gt 0 -a "$2" -le $(($3 + $3 / 1000 + CLOCK_SLACK)) -a "$2" -ge $(($3 - $4 - $3 / 1000 - CLOCK_SLACK))
}

share() {
	check "$1" awk -v re="$3" -v of="$4" -v min="$5" '$0 ~ of { all += $NF; if ($0 ~ re) n += $NF; else other[$0] += $NF }
		END { printf "# %.1f of %.1f ms\n", n / 1e6, all / 1e6; for (s in other) print "# " s, other[s]; exit !(all > 0 && 100 * n >= min * all) }' "$2.folded"
}
