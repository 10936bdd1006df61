#!/bin/bash
# The order of lines in folded text does not matter: all output is the same for sorted lines,
# shuffled lines, and two sorted parts in the wrong order. There are more lines than nsprof looks at
# in one go (report/input/stacks.c), and they include all odd forms.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
cd "$T" || exit 1
unset PAGER NSPROF_PAGER

cat >make.py <<'PY'
import random, sys
rnd = random.Random(int(sys.argv[1]))
names = [b'a', b'a-', b'a:', b'aaaaaaaa', b'aaaaaaaab', b'k_[k]', b'j_[j]', b'a\xc3\xa4', b'b\xff', b'<&">', b'ns::f(int, char)']
names += [b'ns::Class%d::method_%d' % (i % 97, i) for i in range(300)]
lines = []
for i in range(9500):
    stack = [b'main'] + [rnd.choice(names) for _ in range(1 + rnd.randrange(8))]
    if i % 100 == 0:
        stack[rnd.randrange(len(stack))] = b''
    lines.append(b'%s %d' % (b';'.join(stack), rnd.randrange(9)))
lines += rnd.sample(lines, 500)
lines += [b'main;' + b'deep;' * n + b'end 7' for n in (300, 70000, 70001)]
lines += [b'main;' + b'long' * 20000 + b' 3', b'main;float 2.75', b'main;other;system 4\r', b'', b'# no stack']
lines += [b'no count', b'12', b'x 1e5', b'main;c\0;b 1']
for name, order in ('sorted', sorted), ('shuffled', lambda l: rnd.sample(l, len(l))), ('nearly', lambda l: sorted(l)[7000:] + sorted(l)[:7000]):
    open(name + '/x', 'wb').write(b'\n'.join(order(lines)) + b'\n')
PY

# The contents of a picture without its numbering of names, which follows their first lines.
cat >picture.py <<'PY'
import json, re, sys
text = sys.stdin.buffer.read().decode('utf-8', 'surrogateescape')
table = re.search(r'var nsprofNames=(\[.*?\n?\]);\n\]\]></script>\n', text, re.S)
names = json.loads(table.group(1))
text = text[:table.start()] + text[table.end():]
print(re.sub(r'data-i="(\d+)"', lambda m: 'data-i=%r' % names[int(m.group(1))], text))
PY

for kind in sorted shuffled nearly; do
	mkdir -p $kind
done
python3 make.py 1
mkdir -p before
cp shuffled/x before/y
python3 make.py 2

for kind in sorted shuffled nearly; do
	cd "$T/$kind" || exit 1
	for format in text csv html; do
		"$NSPROF" report -q --limit 0 --percent-limit 0 --format $format x >$format || fail "$kind: $format is written"
	done
	"$NSPROF" report -q --format svg x | python3 ../picture.py >svg
	"$NSPROF" report -q --limit 0 --percent-limit 0 --call-graph caller x >tree
	cat x | "$NSPROF" report -q --limit 0 --percent-limit 0 --format text - | sed "s/'-'/'x'/" >pipe
	for format in text folded; do
		"$NSPROF" diff -q --limit 0 --percent-limit 0 --format $format ../before/y x >diff-$format
	done
	"$NSPROF" report x 2>err >/dev/null
done
cd "$T" || exit 1
for kind in shuffled nearly; do
	for what in text csv html svg tree pipe diff-text diff-folded; do
		check "$kind: $what is that of sorted lines" cmp $kind/$what sorted/$what
	done
	check "$kind: the malformed lines told of are the first ones" python3 - $kind <<'PY'
import sys
bad = [l for l in open(sys.argv[1] + '/x', 'rb').read().split(b'\n') if l in (b'no count', b'12', b'x 1e5', b'main;c\0;b 1')]
want = "4 lines are not folded stacks, the first: %s, ..." % ', '.join("'%s'" % l.split(b'\0')[0].decode() for l in bad[:3])
got = open(sys.argv[1] + '/err').read()
assert want in got, (want, got)
PY
done
# One malformed line has a NUL. It is too far from the start to make the file look binary.
check "what a pipe gives is that of the file" cmp sorted/pipe sorted/text
# The contents of the lines, summed up independently.
check "the counts are those of the lines" python3 - "$TOP/tests/tools" <<'PY'
import csv, re, sys
sys.path.insert(0, sys.argv[1])
import names
csv.field_size_limit(1 << 20)
own = {}
for line in open('shuffled/x', 'rb').read().split(b'\n'):
    m = re.fullmatch(rb'([^\0#][^\0]*) (\d+)(\.\d*)?\r?', line)
    if m:
        leaf = names.escape(re.sub(rb'_\[[kj]\]$', b'', [f for f in m[1].split(b';') if f][-1]), text=True)
        own[leaf] = own.get(leaf, 0) + int(m[2])
rows = {row['symbol']: int(row['samples']) for row in csv.DictReader(open('shuffled/csv', encoding='utf-8'))}
assert len(own) > 300 and {k: n for k, n in rows.items() if n} == {k: n for k, n in own.items() if n}
PY
done_testing
