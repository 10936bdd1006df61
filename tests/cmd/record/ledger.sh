#!/bin/bash
# The ledger balances: samples in the file, lost, dropped and left out add up to the kernel's count,
# even with tiny rings and a stopped recorder. The target itself counts page faults (getrusage),
# independently of perf_event.
. "$(dirname "$0")/../../lib.sh"

need_root
need_cmd python3
FAULTS=$BUILD/tests/targets/faults
SPIN=$BUILD/tests/targets/spin
[ -x "$FAULTS" ] && [ -x "$SPIN" ] || skip_all "needs 'make test-targets'"
cd "$T" || exit 1
if ! "$NSPROF" record -q -o probe -- true 2>err; then
	skip_all "no perf events here: $(cat err)"
fi
"$NSPROF" info --json probe >probe.json
python3 -c 'import json; exit(not json.load(open("probe.json"))["ledger"]["have_format_lost"])' ||
	skip_all "the kernel has no PERF_FORMAT_LOST: tail losses are unknown"

cat >balance.py <<'PY'
# Checks that hold for every recording; then those named. Prints the equation.
import json, sys
name, checks = sys.argv[1], sys.argv[2:]
d = json.load(open(name))
l, tally, cpus = d['ledger'], d['tally'], d['counts_by_cpu']
col = {c: i for i, c in enumerate(tally['columns'])}
def total(c): return sum(r[col[c]] for r in tally['rows'])
for ours, theirs in (('kept', 'kept'), ('cut', 'cut'), ('dropped', 'dropped'), ('own', 'own'), ('lost', 'lost_kernel'),
		     ('throttled', 'throttled'), ('throttled_ns', 'throttled_ns'), ('side_lost', 'lost_sideband')):
	assert total(ours) == l[theirs], (ours, total(ours), l[theirs])
for c in cpus:
	rows = [r for r in tally['rows'] if r[col['cpu']] == c['cpu']]
	assert sum(r[col[k]] for r in rows for k in ('kept', 'cut', 'dropped', 'own')) == c['samples'], c
	assert sum(r[col['lost']] for r in rows) == c['lost'], c
assert sum(c['count'] for c in cpus) == l['count'] and sum(c['periods'] for c in cpus) == l['periods'], l
assert d['samples'] == l['kept'] + l['cut'] and l['have_count'], l
taken = l['kept'] + l['cut'] + l['dropped'] + l['own'] + l['lost_kernel']
assert taken == l['taken']
print('# %s: kept %d + cut %d + dropped %d + own %d + lost %d = %d; counted %d; side-band lost %d' % (name, l['kept'],
      l['cut'], l['dropped'], l['own'], l['lost_kernel'], taken, l['count'], l['lost_sideband']))
for check in checks:
	what, _, value = check.partition('=')
	if what == 'faults':		# of the target, as it counted them: to the sample
		assert l['exact'] and taken == l['count'] == int(value), (taken, l['count'], value)
		assert all(c['count'] == c['samples'] + c['lost'] for c in cpus), cpus
	elif what == 'every':		# one sample every so many events, on each CPU less than one is left over
		faults, n = (int(v) for v in value.split('/'))
		assert l['count'] == faults and l['lost_kernel'] == 0, (l, faults)
		assert all(c['samples'] == c['count'] // n and c['periods'] == c['samples'] * n for c in cpus), cpus
		assert taken * n > faults - len(cpus) * n, (taken, faults, n)
	elif what == 'lost':		# at least so many
		assert l['lost_kernel'] >= int(value), l
	elif what == 'period':		# a clock with this period, on CPUs
		for c in cpus:
			print('# %s CPU %d: (%d + %d lost) x %s ns of %d: %.2f %%' % (name, c['cpu'], c['samples'], c['lost'],
			      value, c['count'], c.get('coverage', 0)))
			# Not more than was counted, but for two clocks compared: the timer's and the count's.
			assert (c['samples'] + c['lost']) * int(value) <= c['count'] * 1.001 + int(value), c
			assert c['periods'] == c['samples'] * int(value), c
	elif what == 'control':		# a recording beside this one that lost nothing: late timers hit both
		k = json.load(open(value))['ledger']
		print('# %s: covers %.2f %%, undisturbed %.2f %%' % (name, l['coverage'], k['coverage']))
		assert k['lost_kernel'] == 0, k
		assert abs(l['coverage'] - k['coverage']) < 5, (l['coverage'], k['coverage'])
	elif what == 'throttled':	# the count of a throttled clock stands still: running = count + throttled
		# Others' events that come to the CPU meanwhile bring the count up to date: it may hold part of that time.
		assert l['throttled'] > 0 and l['throttled_samples'] > 0, l
		for c in cpus:
			stood = sum(r[col['throttled_ns']] for r in tally['rows'] if r[col['cpu']] == c['cpu'])
			print('# %s CPU %d: ran %d = counted %d + throttled %d + %d' % (name, c['cpu'], c['running_ns'], c['count'],
			      stood, c['running_ns'] - c['count'] - stood))
			assert 0 <= stood <= c['running_ns'], c
			# Never more; some us lie between the stop and the time in its record.
			assert c['running_ns'] - c['count'] <= stood + 100000 + 10000 * l['throttled'], c
		assert sum(c['running_ns'] - c['count'] for c in cpus) > 0, l
	elif what == 'pressure':	# the steps in their order, dated, and counted as often and as long as they were
		steps = d['pressure']
		print('# %s: %s' % (name, ', '.join('%.1f s level %d' % (s['second'], s['level']) for s in steps)))
		assert [s['level'] for s in steps][:4] == [1, 2, 3, 4] and l['dropped'] > 0, (steps, l)
		assert all(a['second'] <= b['second'] for a, b in zip(steps, steps[1:])), steps
		assert all(s['cause'] in ('writer', 'rings') for s in steps), steps
		for level, n in enumerate(l['pressure_times']):
			assert n == len([s for s in steps if s['level'] == level]), (level, l, steps)
		# From the first drop on: so long it was at that level, if it never left it.
		if len(steps) == 4:
			at = [s['second'] for s in steps]
			for level in 1, 2, 3:
				assert abs(l['pressure_ns'][level] / 1e9 - (at[level] - at[level - 1])) < 1e-3, (level, l, at)
		assert l['pool_peak'] > 0, l
	elif what == 'sideband':
		assert l['lost_sideband'] > 0, l
	else:
		raise SystemExit('unknown check ' + check)
PY

balances() {	# NAME RECORDING CHECK...
	local name=$1 data=$2
	shift 2
	"$NSPROF" info --json "$data" >"$data.json"
	check "$name" python3 balance.py "$data.json" "$@"
}

# The recorder under test runs in the background, with its messages in FILE.err; fd 9 belongs to the
# target.
recorder=
record() {	# FILE OPTION...
	local file=$1
	shift
	"$NSPROF" record -o "$file" "$@" 2>"$file.err" 9>&- &
	recorder=$!
}
# recording: wait until it has enabled the events. Then it waits for its rings (epoll_wait and its
# kin), or sleeps before it reads them (clock_nanosleep).
recording() {
	wait_for "grep -Eq '^(230|232|281|441) ' /proc/$recorder/syscall 2>/dev/null" 10
}

# ---- page faults: exact, against the target's own count
# faults FILE STOP PAGES CHILDREN OPTION...: STOP is no, once (the recorder is stopped for the first
# of two rounds) or tail (stopped for the only round; the target ends before the recorder continues,
# so the kernel cannot write a LOST record).
faults() {
	local file=$1 stop=$2 pages=$3 children=$4 pid
	shift 4
	rm -f go said
	mkfifo go
	: >said
	"$FAULTS" "$pages" "$children" <go >said &
	exec 9>go
	wait_for 'grep -q ready said' 10
	pid=$(sed -n 's/^ready //p' said)
	record "$file" -c 1 -p "$pid" "$@"
	recording
	[ "$stop" = no ] || kill -STOP "$recorder"
	echo >&9
	wait_for 'grep -q round said' 10
	if [ "$stop" != tail ]; then
		kill -CONT "$recorder"
		sleep 0.1
		echo >&9
		wait_for '[ "$(grep -c round said)" = 2 ]' 10
	fi
	exec 9>&-
	wait_for 'grep -q faults said' 10
	if [ "$stop" = tail ]; then
		kill -INT "$recorder"
		kill -CONT "$recorder"
	fi
	wait "$recorder"
	counted=$(sed -n 's/^faults //p' said)
}

faults none.data no 300 0 -e page-faults --call-graph none
is "the target made the faults it was told to" "$counted" 600
balances "page faults, nothing lost" none.data faults="$counted"
like "and the closing line says so" "$(cat none.data.err)" "\(600 samples, [0-9]+ bytes each; none lost\)"
# The target has one thread, but each CPU has its own event and count.
faults every.data no 1500 0 -e page-faults -c 100
balances "one sample every 100 page faults" every.data every="$counted/100"
"$NSPROF" symbolize --weight period every.data >every.folded 2>err
check "its weight is what the samples stand for" python3 -c '
import json
l = json.load(open("every.data.json"))["ledger"]
weight = sum(int(line.rsplit(" ", 1)[1]) for line in open("every.folded"))
print("# weight %d, periods %d of %d" % (weight, l["periods"], l["count"]))
exit(weight != l["periods"] or weight % 100)'
faults once.data once 1000 0 -e page-faults -m 128K
is "2000 faults" "$counted" 2000
balances "page faults, tiny rings, the recorder stopped for half" once.data faults=2000 lost=900
like "the closing line balances" "$(cat once.data.err)" "[0-9]+ lost; 2000 in all, as the kernel counted\)"
faults tail.data tail 1000 0 -e page-faults -m 128K
balances "page faults, stopped until just before the end: no LOST record" tail.data faults=1000 lost=900
faults children.data once 100 4 -e minor-faults -m 128K
balances "faults of children that have ended" children.data faults="$counted" lost=500

# Files end while records about losses are still to come: no loss is in two ledgers.
faults many.data once 1000 0 -e page-faults -m 128K --switch-output=0.1s
sum=0
for f in many.data.2*; do
	"$NSPROF" info --json "$f" >many.json
	sum=$((sum + $(python3 -c 'import json; print(json.load(open("many.json"))["ledger"]["taken"])')))
done
is "a row of files: all ledgers together have what the target counted" "$sum" "$counted"

# ---- back-pressure: nobody reads the output until the target has ended
rm -f go said
mkfifo go
: >said
"$FAULTS" 20000 <go >said &
exec 9>go
wait_for 'grep -q ready said' 10
{
	# Not through the front command's exec: its pid is needed while it is part of a pipeline.
	"$NSPROF" record -o - -e page-faults -c 1 -p "$(sed -n 's/^ready //p' said)" --call-graph none -m 4M 2>press.err &
	echo $! >press.pid
	wait
} 9>&- | {
	wait_for 'grep -q faults said' 60
	cat >press.data
} 9>&- &
pipeline=$!
wait_for '[ -s press.pid ]' 10
recorder=$(cat press.pid)
recording
for ((i = 0; i < 50; i++)); do
	echo >&9
done
wait_for '[ "$(grep -c round said)" = 50 ]' 60
exec 9>&-
wait $pipeline
balances "the reader of the recording stands: steps, dated, and every sample accounted for" press.data faults=1000000 pressure
like "info lists the steps" "$("$NSPROF" info press.data)" '^ +[0-9.]+  samples are dropped \((writing|rings)\)$'
like "the closing line has the equation" "$(cat press.err)" '[0-9]+ dropped; 1000000 in all, as the kernel counted\)'

# Every output mentions losses; the folded stacks themselves stay clean.
lost=$(python3 -c 'import json; print(json.load(open("once.data.json"))["ledger"]["lost_kernel"])')
like "info tells the second" "$("$NSPROF" info once.data)" '^ +[0-9]+ +[0-9]+ +[0-9]+ +0 +[1-9][0-9]* +0 +0$'
"$NSPROF" symbolize -i once.data -o once.folded 2>once.err
like "symbolize says what is missing" "$(cat once.err)" "of 2000 samples $lost lost"
unlike "not in the stacks" "$(cat once.folded)" "lost"
"$NSPROF" symbolize --stats -i once.data -o once.folded 2>once.err
like "symbolize --stats has the equation" "$(cat once.err)" "^taken: +2000 samples: [0-9]+ whole, 0 cut, $lost lost, 0 dropped"
like "report's header" "$("$NSPROF" report -q once.data)" "^# event page-faults.*; $lost lost, "
"$NSPROF" report -q --format svg -o once.svg once.data
like "the flame graph's subtitle" "$(cat once.svg)" "samples? in [0-9]+ stacks?; $lost lost<"

# ---- cpu-clock: accurate except for late timers, which an undisturbed recording beside it also has
"$SPIN" --threads 2 20 &
spin=$!
# clock FILE OPTION...: tiny rings and large copies, stopped for half a second, beside a recording
# without losses
clock() {
	local file=$1 control
	shift
	"$NSPROF" record -q -o control.data --call-graph none -m 8M "$@" &
	control=$!
	record "$file" -m 128K "$@"
	recording
	sleep 0.2
	kill -STOP "$recorder"
	sleep 0.5
	kill -CONT "$recorder"
	sleep 0.2
	kill -INT "$recorder" "$control"
	wait "$recorder" "$control"
	"$NSPROF" info --json control.data >control.json
}
clock all.data -a -e cpu-clock -c 1000000
balances "-a -c 1000000" all.data period=1000000 control=control.json lost=100
clock freq.data -a -e cpu-clock -F 999
balances "-a -F 999" freq.data period=1001001 control=control.json lost=100
clock task.data -p $spin -e cpu-clock -F 999
balances "-p -F 999" task.data control=control.json lost=100
root=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
group=$root/nsprof-ledger-$$
if [ -n "$root" ] && mkdir "$group" 2>/dev/null; then
	later "rmdir $group"
	later "echo $spin >$root/cgroup.procs"
	echo $spin >"$group/cgroup.procs"
	clock group.data -G "nsprof-ledger-$$" -e cpu-clock -F 999
	balances "-G -F 999" group.data control=control.json lost=100
	echo $spin >"$root/cgroup.procs"
else
	skip "-G -F 999" "cannot make a cgroup"
fi
kill $spin

# Children that end: their losses and counts belong to the event they inherited. They run until told
# to end, so that they run while the recorder is stopped, however slow the machine is.
record kids.data -m 128K -e cpu-clock -F 999 -- bash -c "until [ -e enough ]; do $SPIN 0.1; done"
recording
sleep 0.1
kill -STOP "$recorder"
sleep 0.4
kill -CONT "$recorder"
: >enough
wait "$recorder"
balances "inherited, the children ended" kids.data period=1001001 lost=50

# ---- side-band: records, not samples
# Into the rings of one process and its children, 256 KiB per CPU, which are smaller than those of
# -a.
record side.data -p $$ -e cpu-clock --call-graph none
recording
kill -STOP "$recorder"
for ((i = 0; i < 600; i++)); do
	/bin/true
done
kill -CONT "$recorder"
sleep 0.1
kill -INT "$recorder"
wait "$recorder"
balances "a storm while the recorder stands: mappings are lost, and counted apart" side.data sideband
like "and it says what that means" "$(cat side.data.err)" "records? about mappings and processes \(no samples?\) w(as|ere) lost: some names may be missing"

# ---- throttling: more interrupts in a tick than the limit allows. 20 kHz is above what other tests
# ask for.
# An idle CPU takes no samples, so nothing is throttled: both are kept busy.
limit=/proc/sys/kernel/perf_event_max_sample_rate
old=$(cat $limit)
if echo 20000 2>/dev/null >$limit && [ "$(cat $limit)" = 20000 ]; then
	later "echo $old >$limit"
	"$SPIN" --threads "$(nproc)" 20 &
	spin=$!
	"$NSPROF" record -o thr.data -a -e cpu-clock -c 20000 --call-graph none --duration 0.3 2>thr.err
	"$NSPROF" record -o two.data -a -c 20000 -e cpu-clock,page-faults --call-graph none --duration 0.3 2>two.err
	echo "$old" >$limit
	kill $spin
	if grep -q throttled thr.err; then
		balances "throttled: the count stands still meanwhile" thr.data throttled
		like "the closing line tells" "$(cat thr.err)" 'about [0-9]+ not taken when throttled'
	else
		fail "throttled: the kernel did" "$(cat thr.err)"
	fi
	"$NSPROF" info --json two.data >two
	is "one of two events was throttled" "$(jq -c '[.ledger.throttled == .events[0].throttled and .events[0].throttled > 0, .ledger.throttled_samples == .events[0].throttled_samples,
		.ledger.throttled_ns == .events[0].throttled_ns, .events[1].throttled, .events[1].throttled_samples]' two)" '[true,true,true,0,0]'
	times=$(jq .ledger.throttled two) samples=$(jq .ledger.throttled_samples two)
	like "the closing line of the event" "$(cat two.err)" "cpu-clock: .*; throttled $times times?\$"
	like "info" "$("$NSPROF" info two.data)" "cpu-clock, every 20000 ns; throttled $times times?, 0\.[0-9]{3} s in all: about $samples samples not taken\$"
	"$NSPROF" symbolize -q --format profile -o two.p two.data
	for f in two.data two.p; do
		is "report: $f" "$("$NSPROF" report --json -i $f | jq -c '.events | map([.throttled_times, .throttled_samples])')" "[[$times,$samples],[0,0]]"
		is "one event: $f" "$("$NSPROF" report --json --event page-faults -i $f | jq -c '[.throttled_times, .throttled_samples]')" '[0,0]'
	done
	like "its header" "$("$NSPROF" report -i two.p)" "^# event cpu-clock.*about $samples not taken when throttled"
else
	skip "throttling" "cannot set $limit"
fi
done_testing
