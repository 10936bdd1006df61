#!/bin/bash
# nsprof report's tables equal those that a few lines of Python make of the same stacks: all sort
# keys, callers and callees, the call tree; as text, CSV and JSON.
# beside others
. "$(dirname "$0")/../../lib.sh"
need_cmd python3
cd "$T" || exit 1
export NO_COLOR=1

cat >oracle.py <<'PY'
"""What the tables have to say, by looking at each stack; and random profiles with threads, files and recursion."""
import csv, fnmatch, io, json, os, random, subprocess, sys

NSPROF = os.environ['NSPROF']
KINDS = {'u': 'user', 'k': 'kernel', 'j': 'jit', 'i': 'inlined'}
random.seed(7)


def generate(path):
    frames = []
    for i in range(14):
        frames.append(('f%d' % (i % 9), '/lib/%s.so' % 'abc'[i % 3], 'uuki'[i % 4] if i % 9 != 2 else 'u', 'f.c:%d' % (i % 5)))
    frames = list(dict.fromkeys(frames))
    threads = [('web' if i % 2 else '/a,"b"', '/cg/%d' % (i % 3), 'w%d' % (i % 2), 'p', 100 + i // 3, 200 + i) for i in range(6)]
    nodes, children, samples = [(0, 0)], {}, []
    with open(path, 'w') as out:
        lines = ['nsprof-profile\t1', 'M\tevent\tcpu-clock', 'B\t10\t4']
        lines += ['T\t%s\t%s\t%s\t%s\t%d\t%d\t-1\t0' % t for t in threads]
        lines += ['F\t%s\t%s\t%s\t0\t\t%s' % f for f in frames]
        for _ in range(400):
            node, stack = 0, []
            for _ in range(random.randint(1, 9)):
                f = random.randrange(len(frames)) if random.random() < .5 else random.randrange(3)
                stack.append(frames[f])
                if (node, f) not in children:
                    nodes.append((node, f + 1))
                    children[node, f] = len(nodes) - 1
                node = children[node, f]
            n = random.randint(1, 9)
            samples.append((threads[random.randrange(6)], stack, n, node, random.randrange(4)))
        lines += ['N\t%d\t%d' % n for n in nodes[1:]]
        lines += ['C\t%d\t%d\t%d\t%d\t%d' % (threads.index(t) + 1, node, b, n, 1000 * n) for t, _, n, node, b in samples]
        lines += ['E\t%d' % len(lines)]
        out.write('\n'.join(lines) + '\n')
    return samples


def name_of(f):
    # The kernel's functions are others than those of their names elsewhere.
    return f[0] + (' [k]' if f[2] == 'k' else '')


def shown(row, key='symbol'):
    return row[key] + (' [k]' if key == 'symbol' and row['kind'] == 'kernel' else '')


def key_of(keys, t, f):
    value = {'symbol': name_of(f), 'dso': f[1], 'srcline': f[3], 'container': t[0], 'cgroup': t[1], 'comm': t[2],
             'pid': '%d:%s' % (t[4], t[3]), 'tid': '%d:%s' % (t[5], t[2])}
    return tuple(value[k] for k in keys)


def run(*args):
    return subprocess.run([NSPROF, 'report', *args], check=True, stdout=subprocess.PIPE, text=True).stdout


def flat(path, samples, sort, weight):
    keys = sort.split(',')
    total, self = {}, {}
    for t, stack, n, *_ in samples:
        n *= 1000 if weight == 'period' else 1
        for k in {key_of(keys, t, f) for f in stack}:
            total[k] = total.get(k, 0) + n
        k = key_of(keys, t, stack[-1])
        self[k] = self.get(k, 0) + n
    whole = sum(n for _, _, n, *_ in samples) * (1000 if weight == 'period' else 1)
    want = {k: (round(100 * total[k] / whole, 6), round(100 * self.get(k, 0) / whole, 6), self.get(k, 0)) for k in total}
    rows = json.loads(run('--json', '--sort', sort, '--weight', weight, '--limit', '0', '--percent-limit', '0', path))['rows']
    got = {tuple(shown(r, k) for k in keys): (round(r['children'], 6), round(r['self'], 6), r[weight]) for r in rows}
    assert len(rows) == len(got) and got == want, (sort, got, want)
    order = [(-r['children'], -r['self']) for r in rows]
    assert order == sorted(order), sort
    # Only what is their own, by that.
    rows = json.loads(run('--json', '--no-children', '--sort', sort, '--weight', weight, '--limit', '0', '--percent-limit', '0', path))['rows']
    assert {tuple(shown(r, k) for k in keys): r[weight] for r in rows} == self
    assert [r[weight] for r in rows] == sorted(self.values(), reverse=True)
    # CSV says the same, in the same order; names with commas and quotes survive.
    rows = list(csv.DictReader(io.StringIO(run('--csv', '--sort', sort, '--weight', weight, '--limit', '0', '--percent-limit', '0', path))))
    assert {tuple(shown(r, k) for k in keys): (float(r['children']), float(r['self']), int(r[weight])) for r in rows} == \
        {k: (round(a, 2), round(b, 2), c) for k, (a, b, c) in want.items()}, sort


def focus(path, samples, pattern):
    callers, callees, total, self = {}, {}, 0, 0
    for _, stack, n, *_ in samples:
        names = [name_of(f) for f in stack]
        hit = [i for i, f in enumerate(stack) if fnmatch.fnmatchcase(f[0], pattern)]
        if not hit:
            continue
        total += n
        if hit[-1] == len(names) - 1:
            self += n
        for c in {names[i - 1] if i else '(begins here)' for i in hit}:
            callers[c] = callers.get(c, 0) + n
        for c in {names[i + 1] if i + 1 < len(names) else '(ends here)' for i in hit}:
            callees[c] = callees.get(c, 0) + n
    out = json.loads(run('--json', '--focus', pattern, '--limit', '0', '--percent-limit', '0', path))
    assert (out['focus_total'], out['focus_self']) == (total, self), (pattern, out['focus_total'], total)
    for side, want in ('callers', callers), ('callees', callees):
        got = {shown(r): r['samples'] for r in out[side]}
        assert got == want, (pattern, side, got, want)
        assert all(abs(r['share'] - 100 * r['samples'] / total) < 1e-6 for r in out[side])


def tree(path, samples):
    total, self = {}, {}
    for t, stack, n, *_ in samples:
        names = [(t[2], 'leading')] + [(f[0], KINDS[f[2]]) for f in stack]
        for i in range(len(names)):
            k = tuple(names[:i + 1])
            total[k] = total.get(k, 0) + n
        self[tuple(names)] = self.get(tuple(names), 0) + n
    whole = sum(n for _, _, n, *_ in samples)
    for limit in 0, 2.5:
        got, way = {}, []
        out = json.loads(run('--json', '-g', '--percent-limit', str(limit), path))
        for r in out['tree']:
            way = way[:r['depth'] - 1] + [(r['symbol'], r['kind'])]
            assert len(way) == r['depth']
            got[tuple(way)] = (round(r['children'], 6), r['samples'])
        want = {k: (round(100 * n / whole, 6), self.get(k, 0)) for k, n in total.items() if 100 * n >= limit * whole}
        assert got == want, limit
        assert out['hidden'] == len(total) - len(want), limit


samples = generate('p')
what = sys.argv[1]
if what == 'tree':
    tree('p', samples)
elif what == 'focus':
    for pattern in 'f0', 'f3', 'f[12]', '*':
        focus('p', samples, pattern)
else:
    flat('p', samples, what, sys.argv[2])
PY
export NSPROF
for sort in symbol dso srcline comm pid tid container cgroup comm,dso,symbol symbol,container,pid dso,srcline,tid,cgroup,container; do
	check "--sort $sort" python3 oracle.py "$sort" samples
done
check "by period" python3 oracle.py comm,symbol period
check "--focus: callers and callees" python3 oracle.py focus
check "the call tree" python3 oracle.py tree
# rows KEY OPTION...: the shown rows and the number of hidden ones, from JSON.
rows() {
	local key=$1
	shift
	"$NSPROF" report --json "$@" p 2>&1 | jq -r "\"\($key) \(.hidden)\""
}
all=$(rows '.rows | length' --limit 0 --percent-limit 0)
is "JSON: none is left out without limits" "${all#* }" 0
is "JSON: what a limit left out" "$(rows '.rows | length' --limit 3 --percent-limit 0)" "3 $((${all% *} - 3))"
around=$("$NSPROF" report --json --focus f3 --limit 0 --percent-limit 0 p | jq '(.callers | length) + (.callees | length)')
is "JSON: what a limit left out around a function" "$(rows '(.callers + .callees | length)' --focus f3 --limit 1)" "2 $((around - 2))"
is "CSV: it is said" "$("$NSPROF" report --csv --limit 3 --percent-limit 0 p 2>&1 >/dev/null)" \
	"nsprof report: warning: $((${all% *} - 3)) more rows are left out: --limit 0 --percent-limit 0 gives all"
is "CSV: nothing is said where all are there" "$("$NSPROF" report --csv --limit 0 --percent-limit 0 p 2>&1 >/dev/null)" ""
is "sym is perf's word for symbol" "$("$NSPROF" report --csv -s sym p)" "$("$NSPROF" report --csv --sort symbol p)"
is "the default is perf's" "$("$NSPROF" report --csv p)" "$("$NSPROF" report --csv --sort comm,dso,symbol p)"
like "perf's head" "$("$NSPROF" report p)" '^# Children +Self +Samples +Command +Shared Object +Symbol$'
like "and without children" "$("$NSPROF" report --no-children -s dso p)" '^# Overhead +Samples +Shared Object$'
is "at most so many rows" "$("$NSPROF" report --limit 3 p | grep -vc '^#')" 3
like "and says how many there are more" "$("$NSPROF" report --limit 3 --percent-limit 0 -s symbol p)" '^# and 7 more: --limit 0 --percent-limit 0 shows all$'

# The tree as text: an only callee is below its caller, branches are indented, small ones become one
# remark.
printf 'a;b;b;b;c 60\na;b;b;b;d 30\na;b;b;b;e 6\na;b;b;b;e;f_[k] 1\na;x 3\n' >t.folded
# A row below the table's minimum share, and more rows than a table shows.
{ echo 'big;f 99999'; for ((i = 0; i < 60; i++)); do echo "t$i;g$i 1"; done; } >many.folded
is "-g folded: each sample is in a stack" "$("$NSPROF" report -g folded,0,count -s symbol many.folded | awk '/^[0-9]/ { n += $1 } END { print n }')" 100059
is "-g folded: limits are told of" "$("$NSPROF" report -g folded,0,count -s symbol --limit 3 many.folded | tail -n 1)" \
	"# and 58 more: --limit 0 --percent-limit 0 shows all"
is "-t: columns of -g folded" "$("$NSPROF" report -t / -n -g folded,0,count -s symbol --limit 1 many.folded | grep -A 2 Overhead)" \
	"# Overhead/Samples/Symbol
99.94%/99999/[.] f
99999 big;f"
is "-t: columns of --focus" "$("$NSPROF" report -t / --focus f many.folded | grep -A 1 Share)" "# Share/Samples/Symbol
100.00%/99999/[.] big
--
# Share/Samples/Symbol
100.00%/99999/[.] (ends here)"
check_rc "-t: a tree has no columns but its own" 129 "$NSPROF" report -t / -g many.folded
is "branches, and recursion in one line" "$("$NSPROF" report --tree --percent-limit 4 t.folded | grep -v '^#')" '  100.00%    0.00%  a  (and 1 with 3.00%)
   97.00%    0.00%  b (x3)
   60.00%   60.00%  +- c
   30.00%   30.00%  +- d
    7.00%    6.00%  +- e  (and 1 with 1.00%)'

check_rc "an unknown key: usage" 129 "$NSPROF" report --sort symbol,co-lor p
check_rc "a word that may be a field, and is none here" 1 "$NSPROF" report --sort symbol,color p
like "both are named" "$("$NSPROF" report --sort color p 2>&1)" "has no field 'color', which is not a sort key either;"
check_rc "a key twice" 129 "$NSPROF" report --sort symbol,sym p
check_rc "both, tree and focus" 129 "$NSPROF" report -g --focus f0 p
check_rc "a picture of a focus" 129 "$NSPROF" report --format svg --focus f0 p
check_rc "no such function" 1 "$NSPROF" report --focus nosuch p
like "is said" "$(cat "$T/check.err")" "no function is named 'nosuch'"

# On a terminal: a pager, and colors. Neither appears elsewhere.
need_cmd script
unset NO_COLOR
export TERM=xterm
tty() { script -qec "$1" /dev/null | tr -d '\r'; }
is "not on a terminal: plain" "$("$NSPROF" report p | grep -c $'\033')" 0
like "on a terminal: colors" "$(NSPROF_PAGER=cat tty "'$NSPROF' report p")" $'\033\\[31m +[0-9.]+%\033\\[m'
unlike "not with NO_COLOR" "$(NO_COLOR=1 NSPROF_PAGER=cat tty "'$NSPROF' report p")" $'\033'
like "a pager" "$(PAGER='sed s/^/paged:/' tty "'$NSPROF' report p")" '^paged:# Children'
like "ours goes first" "$(PAGER=false NSPROF_PAGER='sed s/^/ours:/' tty "'$NSPROF' report p")" '^ours:# Children'
is "a pager left early is no error" "$(NSPROF_PAGER='head -n 1 >first' tty "'$NSPROF' report --limit 0 --percent-limit 0 p; echo status \$?")" 'status 0'
like "one that is not there is told, and the text is shown" "$(PAGER=./nonexistent tty "'$NSPROF' report p")" 'nonexistent: not found'
like "all of it" "$(PAGER=./nonexistent tty "'$NSPROF' report p")" '# Children'
mkdir few
ln -s "$(command -v sh)" "$(command -v cat)" few
is "without less, too, and there is nothing to be told" "$(unset PAGER NSPROF_PAGER; tty "PATH=$T/few '$NSPROF' report p")" \
	"$(NSPROF_PAGER=cat tty "'$NSPROF' report p")"
unlike "none for a file" "$(PAGER='sed s/^/paged:/' tty "'$NSPROF' report -o out p; cat out")" 'paged'
unlike "nor for CSV" "$(PAGER='sed s/^/paged:/' tty "'$NSPROF' report --csv p")" 'paged'
done_testing
