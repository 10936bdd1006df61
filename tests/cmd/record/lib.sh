# shellcheck shell=bash
# For record-limits.sh and record-cpus.sh: things that go away during a recording, what the recorder
# reports about them (its messages are in err), and what the recording (a.data) contains. Sourced
# after tests/lib.sh.

said() { like "$1" "$(cat err)" "$2"; }
one_line() { is "$1: one line" "$(grep -c "${2:-.}" err)" 1; }
absent() { is "$1: in the recording" "$("$NSPROF" info --json a.data | jq -r "$2")" "$3"; }
# now: seconds since boot, in hundredths. dated NAME: the recorder was started at $t0, its file
# existed at $t1, the change was made at $t2 and reported at $t3. The first entry has a second,
# counted from the file's begin, that lies between these times.
now() { cut -d ' ' -f 1 /proc/uptime; }
dated() {
	"$NSPROF" info --json a.data >info.json
	check "$1: when" jq -e --argjson least "$(awk "BEGIN { print $t2 - $t1 - 0.02 }")" --argjson most "$(awk "BEGIN { print $t3 - $t0 + 0.02 }")" \
		'.absences[0].second | . >= $least and . <= $most' info.json
}
folded() { "$NSPROF" symbolize -q --no-inline a.data; }
