#!/bin/bash
# timeout: 400
# What import reports about a perf.data in addition to its stacks: throttling, the event's name,
# what is left out, what is damaged or missing, and which names are available.
# beside others
# takes: 25
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3 jq
have_perf || skip_all "perf is not installed"
TARGETS=$BUILD/tests/targets
cd "$T" || exit 1
perf_rec() { # FILE OPTIONS... -- COMMAND...
	local out=$1
	shift
	perf record -q -B -N -o "$out" "$@" >perf.log 2>&1
}
# shellcheck disable=SC2016
loop=(sh -c 'i=0; while [ $i -lt 150000 ]; do i=$((i + 1)); done')
perf_rec a.data -e cpu-clock -F 500 -g -- "${loop[@]}" || skip_all "perf record does not work here: $(tail -n 1 perf.log)"

# ---- throttling ----
# The kernel's records give the times: for a clock that fires every 10 us, the number of missing
# samples is known.
for ((i = 0; i < 6; i++)); do
	perf_rec throttled.data -c 10000 -e cpu-clock,page-faults -a -m 8M -- "${loop[@]}"
	read -r times pairs ns <<<"$(python3 "$TOP/tests/tools/perfdata.py" throttles throttled.data)"
	[ "$times" -gt 0 ] && [ "$times" = "$pairs" ] && break
done
if [ "$times" -gt 0 ] && [ "$times" = "$pairs" ]; then
	"$NSPROF" info --json throttled.data >info 2>/dev/null
	is "throttled: how often" "$(jq .ledger.throttled info)" "$times"
	is "and for how long" "$(jq .ledger.throttled_ns info)" "$ns"
	check "what was not taken meanwhile" awk -v got="$(jq .ledger.throttled_samples info)" -v ns="$ns" \
		'BEGIN { exit !(got > 0.9 * ns / 10000 - 1 && got < 1.1 * ns / 10000 + 1) }'
	is "which of the events was" "$(jq -c '.events | map([.name, .throttled > 0])' info)" '[["cpu-clock",true],["page-faults",false]]'
	"$NSPROF" import -q -e page-faults -o other.ns throttled.data 2>/dev/null
	is "another event of the file was not" "$("$NSPROF" info --json other.ns | jq -c '[.ledger.throttled, .ledger.throttled_samples]')" '[0,0]'
else
	skip "throttling" "the kernel has throttled nothing here, or perf has not seen the end of it ($times times, $pairs whole)"
fi

# ---- user space only: the build-id shows that it is this vdso ----
cat >clock.c <<'END'
#include <time.h>
int main(void)
{
	struct timespec t, begun;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while (t.tv_sec - begun.tv_sec < 1);
	return 0;
}
END
if ${CC:-cc} -O1 -o clock clock.c 2>err && perf record -q -e cpu-clock:u -F 999 -o user.data -- ./clock >perf.log 2>&1 &&
	perf buildid-list -i user.data | grep -qF '[vdso]'; then
	"$NSPROF" report -q --no-children --sort symbol --format csv user.data >table 2>/dev/null
	like "user space alone: functions of the vdso" "$(cat table)" '__vdso_clock_gettime'
	cp user.data other.data
	python3 - <<'END'
# Another vdso's build-id.
data = bytearray(open('other.data', 'rb').read())
at = data.rindex(b'[vdso]\0')
for i in range(at - 24, at - 4):
	data[i] ^= 0x5a
open('other.data', 'wb').write(data)
END
	unlike "not of another vdso" "$("$NSPROF" report -q --no-children --sort symbol --format csv other.data 2>/dev/null)" '__vdso_clock_gettime'
else
	skip "user space alone" "no program, or perf writes no build-id of the vdso: $(tail -n 1 err perf.log)"
fi

# ---- damage has a place ----
python3 - >want <<'END'
import struct
data = bytearray(open('a.data', 'rb').read())
at, size = struct.unpack_from('<QQ', data, 40)
end = at + size
while at < end:
	kind, _, size = struct.unpack_from('<IHH', data, at)
	if kind == 9:
		# The length of the chain: IP, TID, TIME, PERIOD stand before it.
		struct.pack_into('<Q', data, at + 40, 5000)
		print('at offset %#x: SAMPLE (9) of %d bytes' % (at, size))
		break
	at += size
open('damaged.data', 'wb').write(data)
END
"$NSPROF" import -o damaged.ns damaged.data 2>err
is "a damaged record: status" $? 1
like "its place and kind" "$(cat err)" "1 damaged record is left out, the first $(sed 's/[()]/\\&/g' want)"

# ---- what is left out ----
perf record -q -B -N -e cpu-clock,page-faults -F 500 -o - -- "${loop[@]}" >pipe.data 2>perf.log
clocks=$(perf script -i pipe.data -F event 2>/dev/null | grep -c cpu-clock)
check "a saved pipe has samples" test "$clocks" -gt 0
for what in pipe.data -; do
	"$NSPROF" import -v -e page-faults -o pipe.ns "$what" <pipe.data 2>err
	like "left out of it ($what)" "$(cat err)" "$clocks samples of 'cpu-clock' are left out because of --event\$"
done
# shellcheck disable=SC2002
cat pipe.data | "$NSPROF" import -v -e page-faults -o pipe.ns - 2>err
like "left out of a pipe" "$(cat err)" "$clocks samples of 'cpu-clock' are left out because of --event\$"
# shellcheck disable=SC2002
cat pipe.data | "$NSPROF" import -o pipe.ns - 2>err
unlike "nothing is left out without --event" "$(cat err)" "left out"
is "all events of a pipe" "$("$NSPROF" script -F event pipe.ns | grep -c cpu-clock)" "$clocks"

# ---- names ----
perf record -q -B -N -e cpu-clock,page-faults -F 2000 -m 1 -o killed.data -a -- sleep 20 >perf.log 2>&1 &
pid=$!
for ((i = 0; i < 100; i++)); do
	[ "$(stat -c %s killed.data 2>/dev/null || echo 0)" -gt 20000 ] && break
	sleep 0.05
done
pkill -P $pid -x sleep
kill -9 $pid
wait $pid 2>/dev/null
"$NSPROF" import -e page-faults -o killed.ns killed.data 2>err
is "perf was killed: its events have names all the same" "$(grep -c 'has no event' err)" 0
is "the one that was chosen" "$("$NSPROF" info --json killed.ns | jq -r .settings.event)" page-faults
if perf_rec trace.data -e sched:sched_wakeup,sched:sched_switch -a -- sleep 0.2; then
	for event in sched:sched_wakeup sched:sched_switch; do
		"$NSPROF" import -q -e $event -o trace.ns trace.data 2>err
		is "a tracepoint's whole name: $event" "$("$NSPROF" info --json trace.ns | jq -rc '[.settings.event, .settings.event_modifier]')" "[\"$event\",\"\"]"
	done
	"$NSPROF" import -q -e sched -o trace.ns trace.data 2>err
	is "half of it is none" $? 1
else
	skip "tracepoints" "perf has none here: $(tail -n 1 perf.log)"
fi

# ---- a file of several is missing ----
if perf_rec dir --threads=core -a -e cpu-clock -F 499 -- "${loop[@]}" && [ -s dir/data.1 ] && [ -s dir/data.0 ]; then
	rm dir/data.0
	want=$(perf script -i dir -F comm 2>/dev/null | grep -c .)
	"$NSPROF" import -o dir.ns dir 2>err
	is "a file is missing: status" $? 1
	like "it is said" "$(cat err)" "1 file of 'dir' is missing"
	is "what the others have is there" "$("$NSPROF" info --json dir.ns | jq .ledger.kept)" "$want"
else
	skip "a file of several is missing" "this perf has no --threads, or wrote one file only: $(tail -n 1 perf.log)"
fi
done_testing
