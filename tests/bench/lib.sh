# shellcheck shell=bash
# Shared by the tables of the bench. tests/bench/run sets the sizes and sources this file and the
# tables.
#
# Every measurement is one line of $RESULTS: table, row, tool, metric, run, value. med and spread
# compute the tables from it, so the printed figures and those of --tsv cannot differ.

TARGETS=$BUILD/tests/targets
RESULTS=$WORK/results.tsv
DUMP_MAX=65528
TIMEFORMAT='%R %U %S'
TABLE='' ROW='' TOOL='' RUN=0

# put METRIC VALUE: record a value for the current TABLE, ROW, TOOL and RUN.
put() {
	printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$TABLE" "$ROW" "$TOOL" "$1" "$RUN" "$2" >>"$RESULTS"
}

values() { # ROW TOOL METRIC: all runs in the current table, sorted
	awk -F '\t' -v t="$TABLE" -v r="$1" -v o="$2" -v m="$3" '$1 == t && $2 == r && $3 == o && $4 == m { print $6 }' \
		"$RESULTS" | LC_ALL=C sort -g
}

# med ROW TOOL METRIC: the median over the runs; "-" without any.
med() {
	values "$@" | awk '{ v[NR] = $1 }
		END { if (!NR) print "-"; else print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# spread ROW TOOL METRIC: from the first to the third quartile.
spread() {
	values "$@" | awk '{ v[NR] = $1 }
		END { if (!NR) print "-"; else printf "%.2f to %.2f\n", v[int((NR + 3) / 4)], v[int((3 * NR + 3) / 4)] }'
}

# num FORMAT VALUE: VALUE by printf(1), with thousands separators for %d; "-" stays.
num() {
	case $2 in
	- | '') echo - ;;
	*) LC_ALL=C awk -v f="$1" -v v="$2" 'BEGIN {
		if (f != "%d") { printf f "\n", v; exit }
		s = sprintf("%.0f", v); n = length(s)
		for (i = 1; i <= n; i++) printf "%s%s", substr(s, i, 1), (n - i) % 3 == 0 && i < n && substr(s, i, 1) != "-" ? "," : ""
		print "" }' ;;
	esac
}

# ratio A B: "0.123", or "-" if one is missing.
ratio() {
	awk -v a="$1" -v b="$2" 'BEGIN { if (a == "-" || b == "-" || b + 0 == 0) print "-"; else printf "%.3f\n", a / b }'
}

# verdict VALUE LIMIT: the value, and whether it is at most the required limit.
verdict() {
	awk -v v="$1" -v l="$2" 'BEGIN { if (v == "-") print "-"; else print v (v <= l ? " (yes" : " (**no**") ", <= " l ")" }'
}

# reached VALUE LIMIT: the value, and whether it is at least the required limit.
reached() {
	awk -v v="$1" -v l="$2" 'BEGIN { if (v == "-") print "-"; else print v (v >= l ? " (yes" : " (**no**") ", >= " l ")" }'
}

# rotate N WORD...: the words, rotated by N, so that each tool goes first once.
rotate() {
	local n=$1
	shift
	local w=("$@")
	n=$((n % ${#w[@]}))
	echo "${w[@]:n}" "${w[@]:0:n}"
}

# ---- workloads, in a cgroup of their own

# The hierarchy that selects perf events: v1's perf_event where it is mounted, otherwise v2.
bench_cgroup_mount() {
	awk '{ for (i = 7; $i != "-"; i++); if ($(i+1) == "cgroup" && $NF ~ /perf_event/) v1 = $5
		else if ($(i+1) == "cgroup2") v2 = $5 } END { print v1 ? v1 : v2 }' /proc/self/mountinfo
}

cg_kill() { # DIR: end the processes in it
	local p n
	for ((n = 0; n < 200; n++)); do
		[ -n "$(cat "$1/cgroup.procs" 2>/dev/null)" ] || return 0
		for p in $(cat "$1/cgroup.procs"); do kill -KILL "$p" 2>/dev/null; done
		sleep 0.02
	done
}

stop_workload() {
	cg_kill "$CGROOT/$CG"
}

# workload COMMAND...: run it in the cgroup, in the background, until stop_workload.
workload() {
	(
		echo $BASHPID >"$CGROOT/$CG/cgroup.procs"
		exec "$@"
	) >/dev/null 2>&1 &
	disown
}

busy_workload() { # one busy thread for each CPU, deep C++ stacks
	local i
	for ((i = 0; i < NCPU; i++)); do workload "$TARGETS/deep" 100000 60; done
}

loop_workload() { # the same, in a loop two calls deep
	local i
	for ((i = 0; i < NCPU; i++)); do workload "$TARGETS/spin" 100000; done
}

# ---- recorders

# perf_of TOOL: the command of that perf.
perf_of() {
	case $1 in
	perf2*) echo "$PERF2" ;;
	*) echo "$PERF" ;;
	esac
}

# perf_label TOOL: "perf 6.1.187", "perf 7.2.13 -z"
perf_label() {
	local version
	version=$("$(perf_of "$1")" --version)
	case $1 in
	*-z) echo "${version/ version/} -z" ;;
	*-sched) echo "${version/ version/} sched" ;;
	*) echo "${version/ version/}" ;;
	esac
}

tool_label() { # TOOL
	case $1 in
	perf*) perf_label "$1" ;;
	*) echo "$1" ;;
	esac
}

# each TEXT: TEXT once per perf, with "#" replaced by its name: "perf perf-z nsprof" for "# #-z",
# and with a second perf "perf perf-z perf2 perf2-z".
each() {
	local p
	for p in "${PERFS[@]}"; do
		printf '%s ' "${1//#/$p}"
	done
}

# What the tools record; tables may have a variable of this name of their own.
EVENTS=(-e cpu-clock)

# tool_cmd TOOL FILE ARGUMENT...: set CMD. perf runs without its build-id work, because nsprof has
# no equivalent.
tool_cmd() {
	local tool=$1 file=$2
	shift 2
	case $tool in
	nsprof*) CMD=("$NSPROF" record -q -o "$file" "${EVENTS[@]}" "$@") ;;
	*-z) CMD=("$(perf_of "$tool")" record -q -B -N -z -o "$file" "${EVENTS[@]}" "$@") ;;
	*-sched) CMD=("$(perf_of "$tool")" sched record -q -B -N -o "$file" "$@") ;;
	*) CMD=("$(perf_of "$tool")" record -q -B -N -o "$file" "${EVENTS[@]}" "$@") ;;
	esac
}

# The arguments that give TOOL its stack copies: tool_cmd TOOL FILE -F 999 $(dwarf 16384) ...
dwarf() { echo "--call-graph dwarf,$1"; }

# record TOOL FILE SECONDS ARGUMENT...: record, and create $WORK/started once recording has begun.
# Sets CPU (user + system seconds of the recorder and its timer) and REAL. Fails with the recorder's
# message if the recorder failed.
record() {
	local tool=$1 file=$2 secs=$3 rc r u s
	shift 3
	rm -f "$file" "$file.old" "$WORK/started"
	tool_cmd "$tool" "$file" "$@"
	{ time "${CMD[@]}" -- sh -c ': >"$0"; exec sleep "$1"' "$WORK/started" "$secs" >"$WORK/log" 2>&1; } 2>"$WORK/time"
	rc=$?
	read -r r u s <"$WORK/time"
	REAL=$r CPU=$(awk -v u="$u" -v s="$s" 'BEGIN { print u + s }')
	[ $rc = 0 ] && return
	echo "bench: $tool failed ($rc): $(head -n 3 "$WORK/log")" >&2
	return 1
}

# counts TOOL FILE: set KEPT and LOST to numbers of samples, from the recorder's own statistics of
# the kernel's count. Sets no counts for a recording that crashes perf (see perf_script).
counts() {
	local rc
	case $1 in
	nsprof*) read -r KEPT LOST < <("$NSPROF" info --json "$2" | jq -r '"\(.samples) \(.lost)"') ;;
	*) # After the first section there is one per event, where LOST_SAMPLES is a sum, not a number of records.
		# perf 7 has one for its own event, which takes no samples but counts lost mappings.
		{
			"$(perf_of "$1")" report --stats -i "$2" >"$WORK/stats"
			rc=$?
		} 2>"$WORK/log" # also bash's message about a crash
		[ $rc -eq 0 ] || put died $rc
		read -r KEPT LOST < <(awk '/stats:$/ { event = $1 != "Aggregated" && $1 !~ /^dummy/ } event && $1 == "SAMPLE" { n += $3 }
			event && $1 == "LOST_SAMPLES" { l += $3 } END { print n + 0, l + 0 }' "$WORK/stats") ;;
	esac
	KEPT=${KEPT:-0} LOST=${LOST:-0}
}

# perf_script TOOL FILE ARGUMENT...: the text of that perf. perf 6.1 crashes on some recordings
# (when a mapped binary has a build-id of more than 20 bytes: "stack smashing detected"). That is
# not a measurement; it is recorded as metric "died".
perf_script() {
	local rc perf
	perf=$(perf_of "$1")
	shift
	# In braces, so that bash's message about the crash goes there, too.
	{
		"$perf" script -i "$@"
		rc=$?
	} 2>"$WORK/log"
	[ $rc -lt 128 ] || put died $rc
}

# start TOOL FILE ARGUMENT...: record in the background until stop; sets RECORDER. Returns when the
# command after "--" runs: perf has enabled sampling by then, nsprof does so some milliseconds
# later.
start() {
	local tool=$1 file=$2 n
	shift 2
	rm -f "$file" "$file.old" "$WORK/started"
	tool_cmd "$tool" "$file" "$@"
	# Not in a subshell, so that $! is the recorder's own pid.
	"${CMD[@]}" -- sh -c ': >"$0"; exec sleep 100000' "$WORK/started" >"$WORK/log" 2>&1 &
	RECORDER=$!
	for ((n = 0; n < 1000; n++)); do
		[ ! -e "$WORK/started" ] || return 0
		kill -0 "$RECORDER" 2>/dev/null || break
		sleep 0.02
	done
	echo "bench: $tool did not start: $(head -n 3 "$WORK/log")" >&2
	return 1
}

# stop: end the recorder, and its command with it.
stop() {
	kill -INT "$RECORDER"
	wait "$RECORDER" 2>/dev/null
	RECORDER=''
}
md() { # CELL...: one row of a table
	printf '|'
	printf ' %s |' "$@"
	echo
}

md_head() { # CELL...
	local c
	md "$@"
	printf '|'
	for c; do printf -- '---|'; done
	echo
}
