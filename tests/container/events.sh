#!/bin/bash
# Several events in one recording: each has every sample that it should have, and no other. The
# program that is recorded knows how many system calls it makes.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_target calls
need_cmd jq
need_cmd python3
need_cmd perl
ctr_need
TOOLS=$(cd "$(dirname "$0")/../tools" && pwd)
cd "$T" || exit 1
PPID_EVENT=syscalls:sys_enter_getppid
"$NSPROF" record -q --dry-run -e $PPID_EVENT 2>err || skip_all "no tracepoints of system calls here: $(cat err)"
"$NSPROF" record -q -a -e $PPID_EVENT -o probe -- true 2>err || skip_all "no tracepoints may be recorded here: $(cat err)"

# n EVENT: its samples, from the closing line about it.
n() { sed -n "s/.*record: $1: \([0-9]*\) samples\?.*/\1/p" err; }
line() { grep -F "record: $1: " err; }

# start CG ARGS...: the program in cgroup CG (- for none) waits; its input is fd 9, its output fd 8.
# Only one at a time.
start() {
	local cg=$1
	shift
	rm -f in out
	mkfifo in out
	if [ "$cg" = - ]; then
		"$TARGETS/calls" "$@" <in >out &
	else
		sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' sh "$CTR_V2/$cg" "$TARGETS/calls" "$@" <in >out &
	fi
	PIDS+=($!)
	exec 9>in 8<out
	read -r _ CALLS_PID <&8
}
go() { echo >&9 && read -r _ CALLS <&8; }
end() { exec 9>&- 8<&-; wait "${PIDS[-1]}" 2>/dev/null; }
later ctr_end

A=$CTR_CGROOT/a
B=$CTR_CGROOT/b
mkdir "$CTR_V2/$A" "$CTR_V2/$B"

# By cgroup: 10,000 calls in the one, and as many beside it. No stacks: the point is the number.
start "$A" 5000 1
record_calls() { # ARGS...
	rm -f data err
	"$NSPROF" record -v -o data --call-graph none "$@" 2>err &
	RECORDER=$!
	wait_for 'grep -q "sampling began" err || ! kill -0 $RECORDER' 20
}
stop() { kill -INT $RECORDER; wait $RECORDER; }

record_calls -G "$A" -e cpu-clock,$PPID_EVENT -e page-faults -c 1
go
stop
is "a cgroup: as many samples as calls, its child's too" "$(n $PPID_EVENT)" 10000
like "and the kernel counted as many" "$(line $PPID_EVENT)" "none lost, as many as the kernel counted"
like "page faults, every one" "$(line page-faults)" "none lost, as many as the kernel counted"
record_calls -G "$B" -e cpu-clock,$PPID_EVENT
go
stop
is "another cgroup: none" "$(n $PPID_EVENT)" 0
record_calls -a -e context-switches -e cpu-clock -e $PPID_EVENT --filter "common_pid == $CALLS_PID"
go
stop
is "everything, with a filter: only those of the parent" "$(n $PPID_EVENT)" 5000
# With two files in between: each call is in one of them.
record_calls -G "$A" -e $PPID_EVENT -e cpu-clock --switch-output
go
kill -USR2 $RECORDER
wait_for '[ "$(ls data.[0-9]* 2>/dev/null | wc -l)" = 1 ]' 20
go
stop
is "two files: all calls" "$(n $PPID_EVENT)" 20000
[ "$(n $PPID_EVENT)" = 20000 ] || sed "s/^/# /" err
for f in data.[0-9]*; do
	"$NSPROF" info --json "$f" | jq '.events[0].samples'
done >each
is "and each of them is in a file" "$(awk '{ n += $1 } END { print NR, n }' each)" "2 20000"
rm -f data.[0-9]*
record_calls -G "$A" -e cpu-clock -e $PPID_EVENT --overwrite=60s
go
kill -USR2 $RECORDER
wait_for 'grep -q "wrote .*data\.[0-9]*" err' 20
stop
kept() { "$NSPROF" info --json data.[0-9]* | jq -c '[.events[1] | .name, .samples, .count]'; }
is "a flight recorder: all calls" "$(kept)" "[\"$PPID_EVENT\",10000,10000]"
end
rm -f data.[0-9]*
# The last call is microseconds older than the signal.
record_calls -G "$A" -e cpu-clock -e $PPID_EVENT --overwrite=60s
sh -c 'echo $$ >"$1" && exec perl -e "getppid() for 1..10000; kill USR2 => shift" "$2"' sh "$CTR_V2/$A/cgroup.procs" $RECORDER
wait_for 'grep -q "wrote .*data\.[0-9]*" err' 20
stop
is "a flight recorder: all calls before the signal" "$(kept)" "[\"$PPID_EVENT\",10000,10000]"

# A cgroup that is removed and made again: its new events are known, too.
record_calls -G "$B" -e $PPID_EVENT,cpu-clock
rmdir "$CTR_V2/$B"
mkdir "$CTR_V2/$B"
wait_for 'grep -q "came back" err' 20
start "$B" 3000 0
go
stop
is "a cgroup that comes back: all calls" "$(n $PPID_EVENT)" 3000
end

# By process, with the children that it starts.
start - 2000 3
record_calls -p "$CALLS_PID" -e $PPID_EVENT,cpu-clock
go
stop
is "a process and its children" "$(n $PPID_EVENT)" 8000
record_calls -i -p "$CALLS_PID" -e cpu-clock,$PPID_EVENT
go
stop
is "without its children" "$(n $PPID_EVENT)" 2000
end
"$NSPROF" record -o data --call-graph none -e $PPID_EVENT -e cpu-clock -- "$TARGETS/calls" 3000 1 <<<"" >/dev/null 2>err
is "a command from its start" "$(n $PPID_EVENT)" 6000

# Groups: the leader's samples, and with each of them what the other counted since.
start "$A" 3000 0
record_calls -G "$A" -e "{$PPID_EVENT/period=100/,page-faults}:S" -e cpu-clock
go
stop
# Linux 5.10 has no period yet at the first call, and takes two samples of it.
IFS=. read -r major minor _ < <(uname -r)
if [ $((major * 100 + minor)) -lt 601 ]; then
	check "a leader" test "$(n $PPID_EVENT)" = 30 -o "$(n $PPID_EVENT)" = 32
else
	is "a leader" "$(n $PPID_EVENT)" 30
fi
like "a member" "$(line page-faults)" "samples? with those of '$PPID_EVENT'"
record_calls -G "$A" -e "{$PPID_EVENT,cpu-clock}"
go
stop
is "a group, each by itself" "$(n $PPID_EVENT)" 3000
end

# Far too many, with stacks: thinned, and those of the clock are all there.
start "$A" 40000 0 20000
rm -f data err
"$NSPROF" record -v -o data --call-graph dwarf,8192 -e cpu-clock/freq=500/ -e $PPID_EVENT -G "$A" --event-budget 2M 2>err &
RECORDER=$!
wait_for 'grep -q "sampling began" err || ! kill -0 $RECORDER' 20
go
stop
like "thinned, and it says from when on and how much" "$(<err)" "'$PPID_EVENT' came more often than its budget of 2 MB/s on a CPU allows: from [0-9.]* s on, one sample stands for up to [0-9]* events"
like "the clock lost nothing" "$(line cpu-clock)" 'samples, none lost$'
grep "$PPID_EVENT" err | sed 's/^/# /'
events=$(sed -n "s/.*$PPID_EVENT: .* for \([0-9]*\) of 40000 events.*/\1/p" err)
# Never for more than there were; what was lost before it was thinned is missing.
check "and the samples stand for the calls: ${events:-none}" test "${events:-0}" -ge 10000 -a "${events:-0}" -le 40000
end

# What the file says about each event, by a reader written from the manual page alone.
check "what cannot be opened is left out" "$NSPROF" record -o some --call-graph none -e cpu-clock,mem:0x10000:r -e sched:sched_process_exec --fields --optional-events -- \
	env true
like "it says so" "$(<"$T/check.err")" "left out: cannot record event 'mem:0x10000:r'"
"$NSPROF" info --json some >some.json
is "and so does the recording" "$(jq -r '[.events[].name] | join(" ")' some.json)" "cpu-clock sched:sched_process_exec"
like "with the reason" "$(jq -r .settings.left_out some.json)" "cannot record event 'mem:0x10000:r'"
is "each exec" "$(jq '.events[1] | [.samples, .count, .lost]' -c some.json)" "[2,2,0]"
"$NSPROF" record -q -o all --call-graph none -e sched:sched_process_exec --fields=all -- env true
cat >fields.py <<'PY'
# The number pid and the text filename in the payloads of the execs.
import re, struct, sys
sys.path.insert(0, sys.argv[1])
from read_recording import Recording
at, out = {}, []
for what, x in Recording(sys.argv[2]).items():
	if what == 'event' and x.name == 'event':
		x = dict(x.fields)
		at[x['index']] = x['fields'].decode() if isinstance(x['fields'], bytes) else x['fields']
	elif what == 'sample' and x.payload:
		def offset(name):
			return int(re.search(r' %s;\s*offset:(\d+)' % name, at[x.event])[1])
		pid, = struct.unpack_from('<i', x.payload, offset('pid'))
		text, = struct.unpack_from('<I', x.payload, offset('filename'))
		name = x.payload[text & 0xffff:(text & 0xffff) + (text >> 16)]
		out.append('%s %s' % ('pid' if pid == x.pid else pid, name.rstrip(b'\0').decode() or '-'))
print('\n'.join(out))
PY
is "--fields: numbers without text" "$(python3 fields.py "$TOOLS" some | sort -u)" "pid -"
like "--fields=all: text too" "$(python3 fields.py "$TOOLS" all | tail -1)" "^pid /.*/true$"

# A tracepoint that counts nanoseconds: one sample each time, and not one for each of them.
"$NSPROF" record -o stat --call-graph none -e sched:sched_stat_runtime -- "$TARGETS/spin" --cpu 0.3 2>err
unlike "a tracepoint that counts time is not throttled" "$(<err)" throttled
check "and its samples stand for that time" jq -e '.events[0] | .unit == "ns" and .samples < 100000 and .periods > 0.9 * .count and .count > 1e8' \
	<("$NSPROF" info --json stat)

# One plain event is written as before there could be several.
version() { od -An -tu4 -j8 -N4 "$1" | tr -d ' '; }
"$NSPROF" record -q -o plain -e page-faults -c 1 -- true
is "one plain event: version 2" "$(version plain)" 2
is "several: version 3" "$(version some)" 3

# One of several fails.
echo precious >kept
check_rc "one of two cannot be opened" 1 "$NSPROF" record -o kept -e cpu-clock,mem:0x10000:r -- true
is "nothing is overwritten" "$(<kept)" precious
done_testing
