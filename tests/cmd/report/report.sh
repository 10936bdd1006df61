#!/bin/bash
# nsprof report on folded text of any tool: table, SVG, and every kind of bad input. More about
# tables: tables.sh.
# beside others
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1

printf 'app;main;work;leaf 60\napp;main;work 20\napp;main;vfs_read_[k] 20\n' >a.folded
"$NSPROF" report a.folded >a.txt
is "by total" "$(grep -v '^#' a.txt | awk '{ print $1, $2, $3, $4, $5 }')" '100.00% 0.00% 0 [.] app
100.00% 0.00% 0 [.] main
80.00% 20.00% 20 [.] work
60.00% 60.00% 60 [.] leaf
20.00% 20.00% 20 [k] vfs_read'
is "standard input" "$("$NSPROF" report - <a.folded | grep -v '^#')" "$(grep -v '^#' a.txt)"
is "a named pipe" "$("$NSPROF" report <(cat a.folded) | grep -v '^#')" "$(grep -v '^#' a.txt)"
is "-i FILE" "$("$NSPROF" report -i a.folded | grep -v '^#')" "$(grep -v '^#' a.txt)"
is "nsprof-report is the same program" "$("${NSPROF}-report" a.folded)" "$(cat a.txt)"

check "writes an SVG" "$NSPROF" report --format svg a.folded -o a.svg --title 'a <b> & "c"'
if command -v python3 >/dev/null; then
	check "it is well-formed XML with the frames in their places" python3 - a.svg <<'PY'
import sys, json, xml.dom.minidom as m
d = m.parse(sys.argv[1])
script = d.getElementsByTagName('script')[0].firstChild.data
names = json.loads(script[script.index('['):script.rindex(']') + 1])
f = {}
for g in d.getElementsByTagName('g'):
    if g.getAttribute('class') == 'f':
        i = int(g.getAttribute('data-i'))
        f[names[i] if i else 'all', g.getAttribute('data-k'), int(g.getAttribute('data-n'))] = g.getElementsByTagName('rect')[0]
want = {('all', 'l', 100): 1180, ('app', 'u', 100): 1180, ('main', 'u', 100): 1180, ('work', 'u', 80): 944, ('leaf', 'u', 60): 708,
        ('vfs_read', 'k', 20): 236}
assert set(f) == set(want), sorted(f)
for k, w in want.items():
    assert abs(float(f[k].getAttribute('width')) - w) < 0.2, (k, f[k].getAttribute('width'))
y = lambda k: float(f[k].getAttribute('y'))
assert y(('leaf', 'u', 60)) < y(('work', 'u', 80)) < y(('main', 'u', 100)), 'root at the bottom'
x = lambda k: float(f[k].getAttribute('x'))
assert abs(x(('work', 'u', 80)) - x(('vfs_read', 'k', 20)) - 236) < 0.2, 'siblings in order'
PY
	# Every byte in names, titles included: still XML.
	python3 -c 'import sys; [sys.stdout.buffer.write(b"app;f" + bytes([b]) + b"g 3\n") for b in range(1, 256) if b not in b";\n"]' >bytes.folded
	"$NSPROF" report -q --format svg bytes.folded -o bytes.svg --title "$(printf 'x\001\377y')" 2>/dev/null
	check "any byte in a name gives well-formed XML" python3 -c 'import sys, xml.dom.minidom as m; m.parse("bytes.svg")'
else
	skip "SVG checks" "python3 is not installed"
fi

# Chromium runs the script: search colors and counts, zoom draws again.
if command -v chromium >/dev/null; then
	# First the root's own name, which is not a function's.
	sed 's#</svg>#<script>nsprofFlame.search("^all$"); document.getElementById("title").textContent = document.getElementById("match").textContent; nsprofFlame.search("leaf"); nsprofFlame.zoom("work"); document.getElementById("info").textContent = nsprofFlame.describe().join("; ");</script></svg>#' a.svg >run.svg
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$T/chrome" --dump-dom "file://$T/run.svg" >run.dom 2>/dev/null
	like "in Chromium, search counts what it found" "$(cat run.dom)" 'matched: 60\.00%'
	like "and not the root" "$(cat run.dom)" '<text id="title"[^>]*>matched: 0\.00%<'
	like "and describes a kernel frame" "$(cat run.dom)" 'vfs_read \[kernel\] \(20 samples, 20\.00%\)'
	# Amounts of CPU time have a unit, and are not a number of nanoseconds.
	printf '%s\n' $'nsprof-profile\t1' $'M\tevent\tcpu-clock' $'F\tmain\t\tu\t0\t\t' $'F\twork\t\tu\t0\t\t' $'N\t0\t1' $'N\t1\t2' \
		$'C\t0\t1\t0\t500\t500000000' $'C\t0\t2\t0\t1500\t1500000000' $'E\t8' >cpu.profile
	"$NSPROF" report -q --format svg --by none --weight period cpu.profile |
		sed 's#</svg>#<script>document.getElementById("info").textContent = nsprofFlame.describe().join("; ");</script></svg>#' >cpu.svg
	timeout 60 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
		--disable-component-update --disable-sync --user-data-dir="$T/chrome" --dump-dom "file://$T/cpu.svg" >cpu.dom 2>/dev/null
	like "and amounts of CPU time have a unit" "$(cat cpu.dom)" 'main \(2\.00 s of CPU, 100\.00%\); work \(1\.50 s of CPU, 75\.00%\)'
	like "and zoom widens the frame" "$(tr '\n' ' ' <run.dom | sed 's/<g class/\n<g class/g' | grep '>work<')" 'width="1180"'
else
	skip "search and zoom in a browser" "chromium is not installed"
fi

bad() { # NAME TEXT ARGS...: one line that matches TEXT, exit status 1
	local name=$1 text=$2 out rc
	shift 2
	out=$("$NSPROF" report "$@" 2>&1 >/dev/null)
	rc=$?
	is "$name: exit status" "$rc" 1
	is "$name: one line" "$(wc -l <<<"$out")" 1
	like "$name: says what" "$out" "$text"
}
: >empty
head -c 5000 /dev/urandom | tr -d '\n' >noise
bad "missing file" "cannot open 'nosuch': No such file or directory" nosuch
bad "empty file" "'empty' is empty" empty
bad "a directory" "is a directory" .
bad "no nsprof.data" "cannot open 'nsprof.data'"
bad "noise" "'noise' is neither a recording nor a profile nor folded text" noise
bad "text that is not folded" "'/etc/passwd' is neither" /etc/passwd
bad "a program" "'/bin/sh' cannot be reported; it is a program" /bin/sh
bad "a device without an end" "'/dev/zero' is neither" /dev/zero
bad "a pipe without an end" "standard input is neither" - < <(exec cat /dev/zero)
printf 'PERFILE2%096d' 0 | tr 0 . >perf.data
bad "damage behind perf's magic" "'perf.data' is damaged: its header has no events" perf.data
check_rc "a filter of an unknown key: usage" 129 "$NSPROF" report --filter foo=1 a.folded
# Before the input is read, whether or not it has times and numbers.
for args in "--time x" "--time 5,3" "--time 101%" "--pid 1,x" "--tid 1,," "-c a,,b" "--max-stack 0" "--max-stack 65537" \
	"--max-stack 2x" "-d ," "-S ,"; do
	for input in a.folded nosuch; do
		# shellcheck disable=SC2086
		check_rc "$args: usage" 129 "$NSPROF" report $args $input
		like "$args: says what" "$(cat check.err)" "^nsprof report: error: (--(time|pid|tid|comms|dsos|symbols) takes .* not '[^']*'|invalid .* '[^']*'; --max-stack takes )"
	done
done
check_rc "unknown format: usage" 129 "$NSPROF" report --format pdf a.folded
check_rc "a full disk is noticed" 1 "$NSPROF" report -o /dev/full a.folded
printf 'a;b 1\nbad line\nanother\nthird bad\nfourth\n' >some
is "malformed lines are counted" "$("$NSPROF" report some 2>&1 >/dev/null)" "nsprof report: warning: 'some': 4 lines are not folded stacks, the first: 'bad line', 'another', 'third bad', ..."
echo keep >out.txt
check_rc "a failed run" 1 "$NSPROF" report nosuch -o out.txt
is "leaves what was there" "$(cat out.txt)" keep
done_testing
