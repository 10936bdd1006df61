#!/bin/bash
# Samples with a varying period, as from -F with an event that is not a clock, count by their period
# in all outputs. The test reads perf's own recording and compares the sums with perf's.
. "$(dirname "$0")/../../lib.sh"
need_cmd perf python3
need_root
cd "$T" || exit 2

# record OUT COMMAND...: record "uneven" from its first fault to its last, with COMMAND -p PID.
record() {
	local out=$1 recorder
	shift
	rm -f in told
	mkfifo in
	"$BUILD/tests/targets/uneven" 60 3 60000 <in >told &
	exec 7>in
	wait_for 'grep -q ready told' 10 || return
	"$@" -p "$(awk '{ print $2; exit }' told)" -o "$out" >log 2>&1 &
	recorder=$!
	# Both recorders map a ring of the event, and then continue at once.
	wait_for "grep -q perf_event /proc/$recorder/maps" 10 || return
	sleep 0.3
	echo >&7
	wait_for 'grep -q done told' 20
	kill -INT $recorder
	wait $recorder
	exec 7>&-
}

# perf_sums FILE: "few many" of samples, then of periods, from perf script.
perf_sums() {
	perf script -i "$1" -F period,ip,sym 2>/dev/null | awk '
		$3 ~ /^few_faults/ { fs++; fp += $1 } $3 ~ /^many_faults/ { ms++; mp += $1 } END { print fs, ms, fp, mp }'
}

if ! record perf.data perf record -q -e page-faults:u -F 499 || ! perf script -i perf.data -F period >/dev/null 2>&1; then
	skip_all "perf cannot record here: $(tail -1 log)"
fi
read -r fs ms fp mp < <(perf_sums perf.data)
echo "# perf: few_faults $fs samples, period $fp; many_faults $ms samples, period $mp"
check "samples misrepresent it, or this test shows nothing" [ "$((fs * 2))" -gt "$ms" -a "$mp" -gt $((fp * 20)) ]

pick() { awk -v f="$1" '$0 ~ f "[^;]*$" { n += $NF } END { print n + 0 }'; }
pair() { "$NSPROF" "$@" 2>err | tee out | pick few_faults; pick many_faults <out; }
sums() { pair "$@" | paste -sd' '; }

is "folded text is by period" "$(sums symbolize -q perf.data)" "$fp $mp"
is "... by samples when asked" "$(sums symbolize -q --weight samples perf.data)" "$fs $ms"
"$NSPROF" symbolize perf.data >/dev/null 2>err
like "and says so" "$(cat err)" 'period varies.*--weight samples'
is "a filter does not change what is counted" "$(sums symbolize -q --filter time=0-1000 perf.data)" "$fp $mp"
"$NSPROF" symbolize -q --split-by process -o split perf.data 2>err
is "nor does dividing it" "$(cat split/* | pick few_faults) $(cat split/* | pick many_faults)" "$fp $mp"
"$NSPROF" symbolize -q --format profile -o profile perf.data

cat >sums.py <<'PY'
import csv, gzip, json, re, subprocess, sys
nsprof, few, many = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def run(*command):
	return subprocess.run((nsprof,) + command, capture_output=True, check=True).stdout
def same(what, got):
	print('# %s: %s' % (what, got))
	if tuple(got) != (few, many):
		sys.exit('%s: %s, perf has %s' % (what, got, (few, many)))
def of(pairs):
	pairs = list(pairs)
	return tuple(sum(n for name, n in pairs if name.startswith(f)) for f in ('few_faults', 'many_faults'))

for data in ('perf.data', 'profile'):
	rows = json.loads(run('report', '-q', '--json', '--no-children', '--sort', 'symbol', '--percent-limit', '0', data))
	assert rows['unit'] == 'period', rows['unit']
	same('json of ' + data, of((r['symbol'], r['period']) for r in rows['rows']))
	text = run('report', '-q', '--csv', '--no-children', '--sort', 'symbol', '--percent-limit', '0', data).decode()
	same('csv of ' + data, of((r['symbol'], int(r['period'])) for r in csv.DictReader(text.splitlines())))
	shares = of((r['symbol'], r['self']) for r in rows['rows'])
	assert abs(shares[1] - 100 * many / rows['total']) < .01, shares
	svg = run('report', '-q', '--format', 'svg', data).decode()
	assert 'data-unit="events"' in svg
	m = re.search(r'data-n="(\d+)" data-k="u"><rect [^>]*/><text [^>]*>many_faults</text>', svg)
	assert int(m[1]) == many and 'data-all="%d"' % rows['total'] in svg, m
	text = run('report', '-q', '-g', 'folded,count', '--no-children', data).decode()
	row = [line for line in text.splitlines() if 'many_faults' in line][0]
	assert abs(float(row.split('%')[0]) - shares[1]) < .01, row
	text = run('report', '-q', '--focus', 'many_faults', data).decode()
	assert 'its %d events' % many in text, text
	page = run('report', '-q', '--format', 'html', data).decode()
	assert '"unit":"period"' in page.replace(' ', '')

speed = json.loads(run('symbolize', '-q', '--format', 'speedscope', 'perf.data'))
names = [f['name'] for f in speed['shared']['frames']]
same('speedscope', of((names[s[-1]], w) for p in speed['profiles'] for s, w in zip(p['samples'], p['weights']) if s))

fox = json.loads(run('symbolize', '-q', '--format', 'firefox', 'perf.data'))
sh = fox['shared']
def leaf(stack):
	return sh['stringArray'][sh['funcTable']['name'][sh['frameTable']['func'][sh['stackTable']['frame'][stack]]]]
same('firefox', of((leaf(s), w) for t in fox['threads'] for s, w in zip(t['samples']['stack'], t['samples']['weight']) if s is not None))

ann = json.loads(run('annotate', '-q', '--json', '--percent-limit', '0', '-i', 'perf.data'))
same('annotate', of((f['symbol'], sum(i['period'] for i in f['instructions'])) for f in ann['functions']))
assert ann['functions'][0]['symbol'] == 'many_faults'
text = run('annotate', '-q', '-i', 'perf.data', 'many_faults').decode()
assert re.search(r'%.2f%% of all %d events' % (100 * many / ann['period'], ann['period']), text), text

info = json.loads(run('info', '--json', 'perf.data'))
assert sum(p['periods'] for p in info['processes']) == info['periods'] == sum(c['periods'] for c in info['containers']), info
assert info['periods'] >= few + many and info['samples'] < few + many
assert re.search(r'^ +events +samples', run('info', 'perf.data').decode(), re.M)

diff = json.loads(run('diff', '-q', '--format', 'json', 'perf.data', 'profile'))
assert diff['weight'] == 'period', diff['weight']
PY
check "report, profile, speedscope, firefox, annotate, info and diff have perf's sums of periods" python3 sums.py "$NSPROF" "$fp" "$mp"

"$NSPROF" symbolize -q --format pprof -o pprof.gz perf.data
check "pprof's default is the event" python3 - "$TOP/tests/tools" <<'PY'
import gzip, sys
sys.path.insert(0, sys.argv[1])
from protobuf import fields
p = fields(gzip.open('pprof.gz').read())
assert p[6][p[14][0]] == b'page-faults', p[6][p[14][0]]
# 1 / 499 Hz is a time, and the event is none.
assert not any(p[12]), p[12]
PY

# nsprof's own recorder, with the same event.
if record own.data "$NSPROF" record -e page-faults:u -F 499; then
	is "each sample of ours has its period: script against folded text" \
		"$(sums symbolize -q own.data)" "$("$NSPROF" script -q -F period,sym,ip --no-inline own.data 2>/dev/null |
			awk 'NF == 1 { p = $1; first = 1; next } first { first = 0; if (/few_faults/) f += p; if (/many_faults/) m += p } END { print f, m }')"
	read -r f m < <(sums symbolize -q own.data)
	# The kernel's periods of software events adapt with a delay, so their sum is not the count.
	check "of 180 and 60,000 faults the many are most" [ "$m" -gt $((f * 20)) ]
else
	fail "our own recorder" "$(cat log)"
fi

# A clock's period is fixed: samples are counted, as usual.
"$NSPROF" record -q -e cpu-clock:u -F 499 -o clock.data -- "$BUILD/tests/targets/spin" 1000 >/dev/null 2>&1 &
r=$!
sleep 0.6
kill -INT $r
wait $r 2>/dev/null
n=$("$NSPROF" info --json clock.data | python3 -c 'import json, sys; print(json.load(sys.stdin)["samples"])')
is "a clock counts samples" "$("$NSPROF" symbolize clock.data 2>err | awk '{ n += $NF } END { print n }')" "$n"
unlike "and nothing is said" "$(cat err)" 'varies'
is "in a report, too" "$("$NSPROF" report --json clock.data | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["unit"], d["total"])')" "samples $n"
# Periods of a clock are CPU time, and are shown as such.
time=$("$NSPROF" info --json clock.data | python3 -c 'import json, sys; ns = json.load(sys.stdin)["periods"]; print("%.4g %s" % ((ns / 1e6, "ms") if ns < 1e9 else (ns / 1e9, "s")))')
"$NSPROF" report --weight period --no-children clock.data >table
like "the head of a table has CPU time" "$(head -1 table)" "^# $n samples, $time of CPU time, in [0-9]+ different"
"$NSPROF" report --weight period --focus app_leaf clock.data >focus
like "that of callers, too" "$(cat focus)" "shares are of its [0-9.]+ m?s of CPU time$"
"$NSPROF" report --weight period --format svg clock.data >picture
like "and of a picture" "$(cat picture)" ">$n samples, $time of CPU time, in [0-9]+ stack"
check_rc "a profile has both: --weight is refused" 129 "$NSPROF" symbolize --format profile --weight samples perf.data
done_testing
