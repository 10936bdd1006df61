#!/bin/bash
# Profiles for other viewers: pprof, read by go tool pprof and by a reader of our own; speedscope's
# JSON; the Firefox Profiler's, checked against a restatement of its types. They have all samples
# and the stacks of the folded text.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_root
need_cmd python3
TARGETS=$BUILD/tests/targets

"$TARGETS/deep" 100000 20 &
a=$!
"$TARGETS/spin" 1000 &
b=$!
"$NSPROF" record -q -e cpu-clock -F 299 -p $a,$b -o "$T/data" 2>"$T/err" &
r=$!
# Half a second of CPU time each, however busy this machine is.
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
wait_for '[ -s "$T/data" ]' 10
before=("$(ticks $a)" "$(ticks $b)")
wait_for '(($(ticks $a) >= ${before[0]} + 50 && $(ticks $b) >= ${before[1]} + 50))' 60
kill -INT $r
wait $r
kill $a $b
wait $a $b 2>/dev/null

# Convert both to "comm;frames COUNT": one has tables of strings, functions and locations, the other
# has frames.
cat >"$T/fold.py" <<'PY'
import collections, gzip, json, sys
sys.path.insert(0, sys.argv[3])
from protobuf import fields, packed

lines = collections.Counter()
if sys.argv[1] == 'pprof':
	p = fields(gzip.open(sys.argv[2]).read())
	text = [s.decode() for s in p[6]]
	assert text[0] == ''
	function = {f[1][0]: text[f[2][0]] for f in map(fields, p[5])}
	where = {l[1][0]: [function[fields(x)[1][0]] for x in l[4]] for l in map(fields, p[4])}
	types = [(text[t[1][0]], text[t[2][0]]) for t in map(fields, p[1])]
	assert types == [('samples', 'count'), ('cpu', 'nanoseconds')], types
	for s in map(fields, p[2]):
		labels = {text[l[1][0]]: text[l[2][0]] if l[2] else l[3][0] for l in map(fields, s[3])}
		assert labels['pid'] and labels['tid'], labels
		stack = [n for l in packed(s[1][0]) for n in where[l]]
		lines[';'.join([labels['comm']] + stack[::-1])] += packed(s[2][0])[0]
	names = {text[m[5][0]]: text[m[6][0]] if m[6] else '' for m in map(fields, p[3])}
	assert any(n.endswith('/spin') and len(i) == 40 for n, i in names.items()), names
else:
	d = json.load(open(sys.argv[2]))
	names = [f['name'] for f in d['shared']['frames']]
	for p in d['profiles']:
		assert p['type'] == 'sampled' and p['endValue'] == sum(p['weights']) and len(p['samples']) == len(p['weights'])
		comm = p['name'].rsplit(' ', 1)[0].split(' (')[0].rsplit(' ', 1)[0] if ' (' in p['name'] else p['name'].rsplit(' ', 1)[0]
		for s, w in zip(p['samples'], p['weights']):
			lines[';'.join([comm] + [names[i] for i in s])] += w
for s in sorted(lines, key=lambda s: s.encode()):
	print(s, lines[s])
PY
"$NSPROF" symbolize -q "$T/data" | LC_ALL=C sort >"$T/folded"
check "there are samples" test "$(awk '{ n += $NF } END { print n + 0 }' "$T/folded")" -ge 50
for format in pprof speedscope; do
	"$NSPROF" symbolize -q --format $format -o "$T/$format" "$T/data"
	is "$format: status" $? 0
	python3 "$T/fold.py" $format "$T/$format" "$TOP/tests/tools" 2>"$T/err" | LC_ALL=C sort >"$T/$format.folded"
	is "$format: well-formed" "$(cat "$T/err")" ""
	check "$format: the stacks of the folded text" cmp "$T/$format.folded" "$T/folded"
	"$NSPROF" symbolize -q --format $format -o "$T/again" "$T/data"
	check "$format: the same bytes again" cmp "$T/$format" "$T/again"
done

if find_speedscope; then
	cp "$T/speedscope" "$T/data.speedscope.json"
	through_speedscope "$T/data.speedscope.json" "$T/exported"
	is "the real speedscope reads it" $? 0
	check "and has each stack with its samples" diff <(python3 "$TOP/tests/tools/speedscope_stacks.py" "$T/exported" weights) \
		<(python3 "$TOP/tests/tools/speedscope_stacks.py" "$T/speedscope" weights)
else
	skip "the real speedscope" "needs chromium, node and speedscope: npm install -g speedscope"
fi

firefox() { python3 "$TOP/tests/tools/firefox_profile.py" "$@"; }
"$NSPROF" symbolize -q --srcline --format firefox -o "$T/firefox" "$T/data"
is "firefox: status" $? 0
is "firefox: as the profiler's types have it" "$(firefox check "$T/firefox" 2>&1)" ""
firefox fold "$T/firefox" | LC_ALL=C sort >"$T/firefox.folded"
check "firefox: the stacks of the folded text" cmp "$T/firefox.folded" "$T/folded"
firefox times "$T/firefox" | sort >"$T/times"
"$NSPROF" script -q --ns -F tid,time "$T/data" | python3 -c '
import re, sys
rows = re.findall(r"^\s*(\d+)\s+(\d+)\.(\d{9}):", sys.stdin.read(), re.M)
rows = [(tid, int(s) * 10**9 + int(ns)) for tid, s, ns in rows]
first = min(t for tid, t in rows)
for tid, t in rows:
	print(tid, t - first)
' | sort >"$T/script.times"
check "firefox: each sample at its time" cmp "$T/times" "$T/script.times"
# Addresses and IDs from other programs.
readelf -n "$TARGETS/spin" | sed -n 's/.*Build ID: //p' >"$T/id"
nm -S "$TARGETS/spin" | awk '$4 == "app_leaf" { print $1, $2 }' >"$T/nm"
python3 - "$T/firefox" "$(cat "$T/id")" $(cat "$T/nm") >"$T/ids" <<'PY'
import json, sys, uuid
path, build_id, address, size = sys.argv[1:]
d = json.load(open(path))
lib, = [i for i, l in enumerate(d['libs']) if l['name'] == 'spin']
assert d['libs'][lib]['codeId'] == build_id
assert d['libs'][lib]['breakpadId'] == uuid.UUID(bytes_le=bytes.fromhex(build_id)[:16]).hex.upper() + '0'
s = d['shared']['nativeSymbols']
leaf = [(s['address'][i], s['functionSize'][i], s['libIndex'][i]) for i in range(s['length'])
	if d['shared']['stringArray'][s['name'][i]] == 'app_leaf']
assert leaf == [(int(address, 16), int(size, 16), lib)], leaf
f = d['shared']['frameTable']
assert any(line for line in f['line']) and {c['name'] for c in d['meta']['categories']} == {'Other', 'User', 'Kernel', 'JIT'}
PY
is "firefox: build-ids and symbols are those of readelf and nm" $? 0
"$NSPROF" symbolize -q --srcline --format firefox -o "$T/again" "$T/data"
check "firefox: the same bytes again" cmp "$T/firefox" "$T/again"
sleep 10 &
a=$!
"$NSPROF" record -q -e cpu-clock -p $a --duration 0.1 -o "$T/sleeps" 2>"$T/err"
kill $a
wait $a 2>/dev/null
"$NSPROF" symbolize -q --format firefox -o "$T/nothing" "$T/sleeps"
is "firefox: of a recording without samples, what the profiler opens" "$(firefox check "$T/nothing" 2>&1)" ""

if command -v go >/dev/null; then
	go tool pprof -sample_index=samples -top "$T/pprof" >"$T/top" 2>"$T/err"
	is "go tool pprof: status" $? 0
	is "go tool pprof has all samples" "$(sed -nE 's/.*Total samples = ([0-9]+) .*|.* of ([0-9]+) total$/\1\2/p' "$T/top" | head -n 1)" \
		"$(awk '{ n += $NF } END { print n + 0 }' "$T/folded")"
	check "go tool pprof names functions" grep -q ' app_leaf$' "$T/top"
else
	skip "go tool pprof" "go is not installed"
fi
"$NSPROF" symbolize -q --format pprof "$T/data" >/dev/full 2>"$T/err"
is "a full disk: status" $? 1
"$NSPROF" symbolize --format nonsense "$T/data" 2>"$T/err"
check "an unknown format is named" grep -q "unknown format 'nonsense'; --format takes folded, profile, script, pprof, speedscope or firefox" "$T/err"
done_testing
