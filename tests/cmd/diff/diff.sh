#!/bin/bash
# nsprof diff: what it finds and what it does not, in all output formats; which inputs it refuses;
# its exit status for CI.
# beside others
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
diff() { "$NSPROF" diff "$@"; }

# profile FILE SHARE SEED [SAMPLES [KEY VALUE]...]: 60 blocks of 0.1 s with SAMPLES (100) each.
# 'name' has SHARE of them, at random.
profile() {
	local file=$1 share=$2 seed=$3 samples=${4:-100}
	shift $(($# < 4 ? 3 : 4))
	awk -v share="$share" -v seed="$seed" -v samples="$samples" -v meta="$*" 'BEGIN {
		OFS = "\t"
		n = 1; print "nsprof-profile", 1
		k = split(meta, m, " ")
		for (i = 1; i < k; i += 2) { n++; print "M", m[i], m[i + 1] }
		n += 8
		print "M", "duration_ns", 6000000000
		print "B", 100000000, 60
		print "F", "main", "", "u", 0, "", ""
		print "F", "name.constprop." seed, "", "u", 0, "", ""
		print "F", "rest", "", "k", 0, "", ""
		print "N", 0, 1; print "N", 1, 2; print "N", 1, 3
		for (b = 0; b < 60; b++) {
			x = 0
			# A generator that is the same in every awk (Lewis, Goodman and Miller, 1969).
			for (i = 0; i < samples; i++) { seed = (seed * 16807) % 2147483647; x += seed / 2147483647 < share }
			if (x) { n++; print "C", 0, 2, b, x, x * 600000000 / samples / 6 }
			if (x < samples) { n++; print "C", 0, 3, b, samples - x, (samples - x) * 600000000 / samples / 6 }
		}
		print "E", n
	}' >"$file"
}

profile a 0.30 11 100 event cpu-clock
profile a2 0.30 7777 100 event cpu-clock
profile b 0.36 424242 100 event cpu-clock
profile slow 0.30 991 10 event cpu-clock frequency 10
check "the same program: nothing" diff a a2
like "nothing, and says so in one line" "$(tail -n 1 check.out)" '^no significant change in 3 functions; of the largest, changes of .* points would have been seen$'
# Three samples on one side: any result may be chance, and no share changes by more than 100 points.
profile one 0.30 7777 1 event cpu-clock
awk -F'\t' '$1 == "C" && $4 >= 3 { next } $1 == "E" { print "E\t" n; next } { n++; print }' one >three
check "three samples: nothing" diff a three
like "and nothing could be seen" "$(tail -n 1 check.out)" '^no significant change in 3 functions; the recordings are too short for any change to be seen$'
check "at a tenth of the rate: nothing" diff --aa a slow
like "and as same against same" "$(tail -n 1 check.out)" '^A/A test: changes are [0-9.]+ times as large as expected; no significant change'
check "a change: status 0 without a condition" diff a b
like "is found, with names as of one build" "$(cat check.out)" '^\* +[0-9.]+ +[0-9.]+ +\+[0-9.]+ .* 0\.0[0-9]+   name$'
like "and what it says at the end" "$(tail -n 1 check.out)" "^2 of 3 functions changed significantly, most 'name' \(self [0-9.]+% -> [0-9.]+%\)"
unlike "no color in a file" "$(cat check.out)" "$(printf '\033')"
if command -v script >/dev/null; then
	like "colors on a terminal" "$(unset NO_COLOR; TERM=xterm script -qec "'$NSPROF' diff a b" /dev/null | tr -d '\r')" \
		"^$(printf '\033')\\[31m\\* .* name$(printf '\033')"
fi
check_rc "--aa: a change is an alarm" 1 diff --aa a b
is "the same twice" "$(diff a b)" "$(diff a b)"
is "'a -- b' is 'a b'" "$(diff a -- b)" "$(diff a b)"
is "a file against itself: no change at all" "$(diff -q --format csv a a | awk -F, 'NR > 1 && ($4 != 0 || $11 != 0)')" ""
like "names as they are" "$(diff --no-normalize a b)" 'gone .* name\.constprop\.11$'

# Amounts.
like "CPU time a second" "$(diff --per second a b)" '^all: 100% -> 100%, \+0\.0%'
like "for each unit" "$(diff --scale before=600,after=1200 a b)" '^all: 10ms -> 5ms, -50\.0% \(.*, significant; '
like "several numbers" "$(diff --scale before=300:300,after=600 a a2 -- b)" '^all: 20ms -> 10ms, -50\.0%'

# Conditions.
check_rc "a condition that holds" 1 diff --fail-on 'func:^name$>5%' a b
like "is said" "$(cat check.out)" "^func:\^name\\$>5%: regression, 'name' \+[0-9.]+ %$"
check_rc "in points" 1 diff --fail-on 'self:name>2pp' a b
check_rc "one that cannot hold" 0 diff --fail-on 'func:name>50%' a b
check_rc "a decrease" 0 diff --fail-on 'func:rest>1%' a b
check_rc "one in doubt" 2 diff --fail-on 'func:name>3%' a a2
like "says how many more samples" "$(cat check.out)" '^func:name>3%: inconclusive, .* about [0-9.]+ times as many samples would tell$'
check_rc "one as small as what differs from run to run" 2 diff --fail-on 'func:name>0.5%' a a2
like "says that none would tell" "$(cat check.out)" '^func:name>0.5%: inconclusive, .*: no longer recording would tell, but several per version would$'
check_rc "the worst of several counts" 1 diff --fail-on 'func:name>1%' --fail-on 'func:name>50%' --fail-on 'func:na>2%' a b
check_rc "total, per unit" 1 diff --scale before=600,after=500 --fail-on 'total>2%' a a2
check_rc "total, per unit, within" 0 diff --scale before=600,after=600 --fail-on 'total>10%' a a2
check_rc "total of shares" 129 diff --fail-on 'total>2%' a b
check_rc "no such function" 3 diff --fail-on 'func:nosuch>2%' a b

# Several recordings.
for i in 1 2 3; do
	profile r$i 0.30 $((i * 7919))
	profile s$i 0.36 $((i * 104729))
done
like "several a side" "$(diff r1 r2 r3 -- s1 s2 s3)" '^\* .* name$'
like "how runs differ" "$(diff r1 r2 r3 -- s1 s2 s3)" '^# p: moderated t test over 3 and 3 recordings, .*; costs differ by'
check_rc "no alarm" 0 diff --aa r1 r2 r3 a a2

# Text from other tools has no times.
printf 'app;main;f 100\napp;main;g 300\n' >a.folded
printf 'app;main;f 300\napp;main;h 300\n' >b.folded
like "folded text: no verdict" "$(diff a.folded b.folded)" '^inconclusive: without times'
check_rc "folded text: a condition stays open" 2 diff --fail-on 'func:f>5%' a.folded b.folded
check_rc "folded text: same against same stays open" 2 diff --aa a.folded b.folded
is "what vanished and what is new" "$(diff --format folded a.folded b.folded 2>/dev/null)" 'app;main;f 150 300
app;main;g 450 0
app;main;h 0 300'
check_rc "periods of folded text" 3 diff --weight period a.folded b.folded
check_rc "time of folded text" 3 diff --per second a.folded b.folded
like "why" "$(cat check.err)" "cannot compare: 'a.folded' has no duration"

# Recordings themselves. The results depend on the machine; that both are read does not.
shift_program=$BUILD/tests/targets/shift
if [ -x "$shift_program" ] && "$NSPROF" record -q -F 499 -o r1.data -- "$shift_program" 0.5 >/dev/null 2>&1 &&
	"$NSPROF" record -q -F 999 -o r2.data -- "$shift_program" 0.5 50 >/dev/null 2>&1; then
	check "two recordings" diff --percent-limit 0 -n 0 r1.data r2.data
	like "their functions" "$(cat check.out)" ' serve$'
	like "their settings" "$(cat check.out)" '^# after:  r2\.data, [0-9]+ samples, [a-z-]+, 999 Hz, [0-9.]+ s$'
	check_rc "a filter of an unknown key: usage" 129 diff --filter foo=1 r1.data r2.data
	check_rc "a filter that fits nothing" 3 diff --filter comm=nobody r1.data r2.data
	check_rc "a recording and folded text: no periods there" 3 diff --weight period r1.data a.folded
	check_rc "a recording and folded text" 2 diff --fail-on 'func:serve>1%' r1.data a.folded
	head -c $(($(stat -c %s r1.data) / 2)) r1.data >r3.data
	check_rc "a cut recording is a failure" 3 diff r2.data r3.data
else
	skip "recordings" "cannot record here, or the test programs are not built"
fi

# For programs that read the output.
if command -v python3 >/dev/null; then
	check_rc "json into a file" 2 diff --format json -o d.json --fail-on 'func:name>1%' a a2
	like "the result on stderr" "$(cat check.err)" '^nsprof diff: func:name>1%: inconclusive'
	is "and in it" "$(python3 -c 'import json; print(json.load(open("d.json"))["fail_on"][0]["verdict"])')" inconclusive
	diff -q --format json a b >d.json
	diff -q --format csv a b >d.csv
	check "json and csv say the same" python3 - <<'PY'
import csv, json
j = json.load(open('d.json'))
rows = {r['function']: r for r in csv.DictReader(open('d.csv'))}
assert {f['name'] for f in j['functions']} == set(rows) == {'main', 'name', 'rest'}
for f in j['functions']:
    for v in ('self', 'total'):
        r = rows[f['name']]
        for k in ('before', 'after', 'change'):
            assert abs(float(r[v + '_' + k]) - f[v][k]) < 1e-6
        if f[v]['tested']:
            assert f[v]['low'] <= f[v]['change'] <= f[v]['high']
            assert abs(float(r[v + '_low']) - f[v]['low']) < 1e-6
name = [f for f in j['functions'] if f['name'] == 'name'][0]
assert name['self']['significant'] and name['self']['low'] > 0 and name['self']['p'] <= 0.05
assert abs(name['self']['relative'] - name['self']['change'] / name['self']['before']) < 1e-9
assert j['statistics']['significant'] == 2 and j['statistics']['by'] == 'blocks of time'
PY
	diff -q --format json a.folded b.folded >d.json
	diff -q --format csv a.folded b.folded >d.csv
	check "without times there is no p in them" python3 - <<'PY'
import csv, json
for f in json.load(open('d.json'))['functions']:
    assert f['self'].keys().isdisjoint({'p', 'p_alone', 'detectable'}) and not f['self'].get('significant'), f
assert [(r['self_p'], r['self_significant']) for r in csv.DictReader(open('d.csv'))] == [('', '0')] * 5
PY
	check "svg" diff -q --format svg -o d.svg a b
	check "svg: a frame has both shares, red is more" python3 - <<'PY'
import re, xml.dom.minidom as m
frames = {}
d = m.parse('d.svg')
names = re.findall(r'"((?:[^"\\]|\\.)*)"', d.getElementsByTagName('script')[0].firstChild.data)
for g in d.getElementsByTagName('g'):
    if g.getAttribute('class') == 'f':
        i = int(g.getAttribute('data-i'))
        frames[names[i] if i else 'all'] = [float(v) for v in g.getAttribute('data-c').split()], \
            g.getElementsByTagName('rect')[0].getAttribute('fill')
(before, after), fill = frames['name']
assert after > before and re.match('#ff(..)\\1$', fill), frames
(before, after), fill = frames['rest']
assert after < before and re.match('#(..)\\1ff$', fill), frames
assert frames['all'] == ([100, 100], '#dcdcdc') == frames['main'], frames
PY
	check "svg: what is the same is grey" sh -c "'$NSPROF' diff -q --format svg a a2 | grep -c 'fill=\"#dcdcdc\"' | grep -qx 4"
	check "html" diff -q --format html -o d.html a.folded b.folded
	is "html: what was before, scaled or not, is in it" "$(python3 "$TOP/tests/tools/unpage.py" d.html 0 | sed 's/^[^;]*;//')" \
		"$(cat a.folded)"
	is "html: and what is after" "$(python3 "$TOP/tests/tools/unpage.py" d.html 1 | sed 's/^[^;]*;//')" "$(cat b.folded)"
	diff -q --format html -o d.html a b
	like "html: and what was found, in its title too" "$(cat d.html)" '<title>Before and after: 2 of 3 functions changed significantly'
	printf 'ap"p;x,y 5000\n' >c1.folded
	check "any name in csv and json" python3 - <(diff -q --format csv c1.folded c1.folded) <(diff -q --format json c1.folded c1.folded) <<'PY'
import csv, json, sys
assert [r['function'] for r in csv.DictReader(open(sys.argv[1]))] and json.load(open(sys.argv[2]))
PY
else
	skip "json and csv" "python3 is not installed"
fi
diff --format md a b >d.md
like "Markdown: the sentence" "$(head -n 1 d.md)" '^### Profile: 2 of 3 functions changed significantly'
check "Markdown: every row has all its cells" awk -F '|' '/^\|/ { if (!n) n = NF; if (NF != n) bad = 1; rows++ } END { exit bad || rows != 5 }' d.md

for i in 1 2 3; do
	printf 'main;HashMap.<init> %d\nmain;w(char*, char*) 900\n' $((100 + i)) >md-a$i
	printf 'main;HashMap.<init> %d\nmain;w(char*, char*) 900\n' $((400 + i)) >md-b$i
done
diff -q --format md --fail-on 'func:H.*M.*>5%' md-a1 md-a2 md-a3 -- md-b1 md-b2 md-b3 >d.md
like "Markdown: a name in the sentence is no tag" "$(head -n 1 d.md)" 'most `` HashMap\.<init> `` \(self'
like "Markdown: nor in a condition's, which itself emphasizes nothing" "$(sed -n 3p d.md)" \
	'^- \*\*`` func:H\.\*M\.\*>5% ``: regression, `` HashMap\.<init> `` \+'
like "as text they stand in quotes" "$(diff -q md-a1 md-a2 md-a3 -- md-b1 md-b2 md-b3 | tail -n 1)" "most 'HashMap\.<init>' \(self"

# The kernel has its own memcpy: the two functions must not cancel out.
printf 'main;f;memcpy 1000\nmain;f;memcpy_[k] 5000\nmain;w 9000\n' >same-a
printf 'main;f;memcpy 5000\nmain;f;memcpy_[k] 1000\nmain;w 9000\n' >same-b
is "a function of the kernel is another one than user code's of its name" \
	"$(diff -q --format csv same-a same-b | sed -n 's/^"memcpy",\([^,]*,[^,]*\),.*,/\1 /p' | sort)" \
	"$(printf '%s\n' '0.066666667,0.33333333 user' '0.33333333,0.066666667 kernel')"
is "in json" "$(diff -q --format json same-a same-b | grep -oE '"name":"memcpy","kind":"(user|kernel)"' | sort)" \
	"$(printf '"name":"memcpy","kind":"%s"\n' kernel user)"
is "in Markdown" "$(diff -q --format md same-a same-b | grep -oE '`` memcpy ``( \[k\])? \|' | sort | tr -d '\n')" '`` memcpy `` [k] |`` memcpy `` |'
is "on the page" "$(diff -q --format html same-a same-b | sed -n '/^"changes"/,/\]\]\],$/p' | grep -coE '\[(0\.2[0-9]*,0\.2|-0\.2[0-9]*,-0\.2)[0-9]*')" 2
sed 's/_\[k\]//' same-b >same-c
is "text that does not tell them apart is compared by name" \
	"$(diff -q --format csv same-a same-c | sed -n 's/^"memcpy",\([^,]*,[^,]*\),.*/\1/p')" 0.4,0.4

# Inputs that cannot be compared.
profile cycles 0.3 5 100 event cycles
profile fp 0.3 5 100 event cpu-clock call_graph fp
profile dwarf 0.3 5 100 event cpu-clock call_graph dwarf
profile lossy 0.3 5 100 event cpu-clock kept 6000 lost 2000
profile lossless 0.3 5 100 event cpu-clock kept 6000 lost 0
refused() { # NAME TEXT ARGS...
	check_rc "$1: refused" 3 diff "${@:3}"
	like "$1: says why" "$(cat check.err)" "$2"
	is "$1: prints nothing" "$(cat check.out)" ""
}
refused "another event" "^nsprof diff: error: cannot compare: different events: 'a' has event cpu-clock, 'cycles' cycles$" a cycles
refused "other stacks" "different kinds of stacks: 'dwarf' has call_graph dwarf, 'fp' fp" dwarf fp
refused "other losses" "losses differ too much: 0\.0 % of the samples of 'lossless', 25\.0 % of 'lossy'" lossless lossy
check "--force compares all the same" diff --force lossless lossy
like "and says what is wrong" "$(cat check.out)" '^# compared anyway: losses differ'
: >empty
head -c 2000 a >cut
echo "no folded line" >bad
refused "a missing file" "nosuch" a nosuch
refused "an empty file" "'empty' is empty" a empty
refused "no profile" "'bad' is neither" a bad
check_rc "a cut profile is compared, and is a failure" 3 diff a cut
like "is said" "$(cat check.out)" '^# cut: ends early'
printf 'a;b 18446744073709551615\na;c 7\n' >huge
refused "counts that overflow" "has counts that overflow 64 bits" huge a.folded
for args in a "a b a2" "a --" "-- a b" "--scale before=1 a b" "--scale before=0,after=1 a b" "--scale before=1:2,after=1 a b" \
	"--fail-on x a b" "--format pdf a b" "--per x a b" "--weight x a b" "--alpha 2 a b" "--scale before=1,after=1 --per second a b"; do
	# shellcheck disable=SC2086
	check_rc "usage: $args" 129 diff $args
done
if [ -c /dev/full ]; then
	check_rc "a full disk" 3 sh -c "'$NSPROF' diff a b >/dev/full"
fi
# Nobody reads the output, in each format; it is larger than a pipe holds.
awk 'BEGIN { for (i = 0; i < 3000; i++) printf "a;f%d;some_function_with_a_name;g%d 20\n", i, i }' >many
for f in text md json csv folded svg html; do
	is "$f: closed early" "$(diff -q -n 0 --percent-limit 0 --format $f many many 2>err | head -c 1 >/dev/null; echo "${PIPESTATUS[0]} $(cat err)")" "141 "
	check_rc "$f: closed" 3 sh -c "'$NSPROF' diff -q --format $f a.folded b.folded >&-"
	like "$f: says so" "$(cat check.err)" "cannot write 'standard output': Bad file descriptor"
done
printf 'a;b 1\nno\n7\nx 1e5\nfourth\na;c 1\n' >malformed
diff malformed malformed >out 2>err
like "malformed lines are counted, three are shown" "$(cat err)" "warning: 'malformed': 4 lines are not folded stacks, the first: 'no', '7', 'x 1e5', \.\.\.$"
awk 'BEGIN { for (i = 1; i < 1000000; i++) printf "f;"; print "f 9" }' >deep
check "a million frames" diff deep deep
like "are one function" "$(cat check.out)" '^  +100\.00 .* f$'
printf 'a;b\001c 5000\na;d\377e 4000\n' >bytes
check "bytes of all kinds" diff bytes bytes
unlike "do not reach the terminal" "$(cat check.out)" "$(printf '\001')"

# steps FILE SECONDS SHARE [KEY VALUE]...: 3 s in which nothing runs, then 100 samples of 1 ms in
# each 0.1 s. 'work' has SHARE of them, within 3.
steps() {
	local file=$1 seconds=$2 share=$3
	shift 3
	awk -v seconds="$seconds" -v share="$share" -v meta="$*" 'BEGIN {
		OFS = "\t"
		n = 9; print "nsprof-profile", 1
		k = split("event cpu-clock " meta, m, " ")
		for (i = 1; i < k; i += 2) { n++; print "M", m[i], m[i + 1] }
		printf "M\tduration_ns\t%d000000000\n", seconds
		print "B", 100000000, 10 * seconds
		print "F", "main", "", "u", 0, "", ""; print "F", "work", "", "u", 0, "", ""; print "F", "rest", "", "u", 0, "", ""
		print "N", 0, 1; print "N", 1, 2; print "N", 1, 3
		for (b = 30; b < 10 * seconds; b++) {
			x = 100 * share + b % 4 - 1; y = 100 * (1 - share) + b % 3 - 1
			n += 2; print "C", 0, 2, b, x, x * 1000000; print "C", 0, 3, b, y, y * 1000000
		}
		print "E", n
	}' >"$file"
}
# all: the totals before and after.
all() { diff "$@" 2>/dev/null | sed -n 's/^all: \([0-9.]*\)[^ ]* -> \([0-9.]*\).*/\1 \2/p'; }
steps t10 10 0.6
steps t60 60 0.6
near() { check "$1" awk -v got="$2" -v want="$3" 'BEGIN { split(got, g, " "); split(want, w, " ");
	exit !(g[1] > w[1] * 0.99 && g[1] < w[1] * 1.01 && g[2] > w[2] * 0.99 && g[2] < w[2] * 1.01) }'; }
near "what was not sampled yet counts" "$(all --per second t10 t60)" "70 95"
near "what a filter leaves out is no time" "$(all --per second --filter time=3- t10 t60)" "100 100"
near "a piece of it" "$(all --per second --filter time=2-4 t10 t60)" "50 50"
near "pieces that overlap" "$(all --per second --filter time=3-5 --filter time=4-6 t10 t60)" "100 100"
check_rc "one that is 60 s long is no regression" 0 diff --per second --filter time=3- --fail-on 'total>10%' t10 t60
check "pieces are as long as each side's are" awk '/ blocks of / { a = $6 * $11; b = $8 * $14; ok = a >= 10 && a < 10 + $11 && b >= 60 && b < 60 + $14 } END { exit !ok }' \
	<(diff --per second t10 t60)
steps rare 60 0.6
awk -F'\t' -v OFS='\t' '$1 == "C" && $4 >= 100 { next } $1 == "E" { $2 = n } { n++; print }' rare >early
near "after the last sample there is time, too" "$(all --per second t60 early)" "95 11.667"

# A saved profile filters whole blocks by their start: a block is not idle because half of it is
# left out.
near "half a block" "$(all --per second --filter time=3.05-3.45 t10 t60)" "100 100"
! command -v jq >/dev/null || is "json: seconds of a piece, each side's" "$(diff --per second --format json t10 t60 2>/dev/null | jq -c '.statistics | [.unit_seconds_after / .unit_seconds_before, .units_before * .unit_seconds_before >= 10]')" '[2,true]'
sed 's/^B\t.*/B\t18446744073709\t1000000/' t60 >wide
check_rc "blocks of five hours, a million" 0 diff --per second --force t10 wide
check_rc "and by units" 0 diff --scale before=1,after=1 --force t10 wide

# Losses: amounts are computed as if nothing had been lost, and a message says so.
steps whole 10 0.6 kept 7000 lost 0
steps lossy 10 0.6 kept 6650 lost 350
awk -F'\t' -v OFS='\t' '$1 == "C" { $5 *= 0.95; $6 *= 0.95; $5 = int($5 + 0.5) } { print }' lossy >lossy95
near "amounts: losses" "$(all --per second whole lossy95)" "70 70"
like "are told of" "$(diff --per second whole lossy95)" '^# lossy95: 5 % of its samples were lost or not taken; amounts assume'
like "of shares, too" "$(diff whole lossy95)" '^# lossy95: 5 % of its samples were lost or not taken$'

# Functions of one name, the kernel's and another one, in each format.
printf 'm;read 300\nm;read_[k] 100\nm;x 600\n' >k1
printf 'm;read 100\nm;read_[k] 300\nm;x 600\n' >k2
is "folded: the kernel's function is another one" "$(diff --format folded k1 k2 2>/dev/null)" 'm;read 300 100
m;read_[k] 100 300
m;x 600 600'
printf 'm;read 400\nm;x 600\n' >k3
is "but not where one side does not tell" "$(diff --format folded k1 k3 2>/dev/null)" 'm;read 400 400
m;x 600 600'

# Compared with input that has threads, the thread name at the start of folded text is not a
# function.
awk -F'\t' -v OFS='\t' '$1 == "B" { print; print "T", "", "", "app", "app", 7, 7, 7, 0; next } $1 == "C" { $2 = 1 } $1 == "E" { $2++ } { print }' t10 >threads
is "names of threads" "$(diff -q --format csv --percent-limit 0 threads threads | cut -d, -f1 | sort -u | grep -c app)" 0
n() { awk -F'\t' -v node="$1" '$1 == "C" && $3 == node { n += $5 } END { print n }' threads; }
printf 'app;main;work %d\napp;main;rest %d\n' "$(n 2)" "$(n 3)" >threads.folded
is "folded text of the same: no thread's name, no change" "$(diff -q --format folded threads threads.folded 2>/dev/null)" "main;rest $(n 3) $(n 3)
main;work $(n 2) $(n 2)"
printf 'app;main;work 5\nmain;app 7\n' >twice.folded
like "a function of that name stays" "$(diff threads twice.folded 2>/dev/null)" ' app$'

# Amounts in pictures: what doubled is red, what stayed the same is grey.
steps one 10 0.5
awk -F'\t' -v OFS='\t' '$1 == "C" && $3 == 2 { $5 *= 2; $6 *= 2 } { print }' one >two
diff -q --per second --filter time=3- --format svg -o amounts.svg one two
color() { sed -n "s/^<g class.*data-c=\"\([^\"]*\)\".*fill=\"\([^\"]*\)\".*<text[^>]*>$1<.*/\1 \2/p" amounts.svg; }
like "svg: what doubled" "$(color work)" '^33\.[0-9]+ 66\.[0-9]+ #ff[0-9a-f]{4}$'
like "svg: what stayed" "$(color rest)" '^33\.[0-9]+ 33\.[0-9]+ #dcdcdc$'
like "svg: all" "$(color all)" '^66\.[0-9]+ 100 #ff[0-9a-f]{4}$'
printf 'm;x 625\nm;gone1 300\n' >g1
printf 'm;x 741\nm;new1 330\n' >g2
is "svg: without a verdict all is grey" "$(diff -q --format svg g1 g2 2>/dev/null | grep -o 'fill="#[0-9a-f]*"/>' | sort -u | grep -v 'f8f8f8\|eee')" 'fill="#dcdcdc"/>'

# "ppp" is the precision of addresses, not a part of the event.
steps precise 10 0.6 event_modifier ppp
steps plain 10 0.6
steps user 10 0.6 event_modifier u
check_rc "a precise event" 0 diff plain precise
check_rc "another part of the event" 3 diff user precise

# One recording, read with the program's debug info and without: inlined functions are not new.
if [ -x "$BUILD/tests/targets/shop" ] && command -v jq >/dev/null; then
	inlined=$(printf '^F\t[^\t]*\t[^\t]*/shop\ti\t')
	cp "$BUILD/tests/targets/shop" shop
	"$NSPROF" record -q -e cpu-clock -F 999 -o shop.data -- ./shop 0.5
	"$NSPROF" symbolize -q --format profile shop.data -o with.profile
	like "it has inlined functions" "$(<with.profile)" "$inlined"
	rm shop
	"$NSPROF" symbolize -q --format profile shop.data -o without.profile
	unlike "without its debug info: none" "$(<without.profile)" "$inlined"
	changes() { diff -q --format json --percent-limit 0 "$@" | jq '[.functions[] | select(.self.change != 0 or .total.change != 0)] | length'; }
	for pair in "without with" "with without" "with without -- with with"; do
		# shellcheck disable=SC2086
		is "inlined functions known on one side, $pair: no change" "$(changes $(sed -E 's/with(out)?/&.profile/g' <<<"$pair"))" 0
	done
	like "and it is said" "$(diff without.profile with.profile)" "^# inlined functions of '$PWD/shop' count for their callers: its debug info was gone for some of the recordings$"
	# A build without inlining has them as normal functions.
	sed 's/\tcaptured\t/\tsymtab\t/' without.profile >built.profile
	check "where both had debug info they are compared" [ "$(changes built.profile with.profile)" -gt 0 ]
else
	skip "inlined functions known on one side" "needs jq, and g++ for its program"
fi
done_testing
