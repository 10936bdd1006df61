"""What names.sh expects of each output, computed from made_names.py's names by the rules of
contrib/doc/names.md alone: names_outputs.py FOLDER OUTPUT"""
import collections
import csv
import glob
import gzip
import json
import os
import re
import sys
import xml.etree.ElementTree

import made_names
import names
import unpage
from protobuf import fields

ROOT = os.fsencode(os.path.realpath(sys.argv[1]))
csv.field_size_limit(1 << 20)


class Case:
    """One process, and how often it was sampled."""

    def __init__(self, i, name):
        self.n, self.pid, self.kernel = i + 1, 1000 + i, i >= len(made_names.NAMES)
        self.raw, self.comm, self.symbol = name, name[:15], names.escape(name)
        if name[:1] == b'[' and name[-1:] == b']':
            self.symbol = '\\u{5b}' + self.symbol[1:]
        self.dso = '[bpf]' if self.kernel else names.escape(os.path.join(ROOT, made_names.PROGRAM))
        self.cgroup = b'/' + made_names.part(name)
        self.caller = [] if self.kernel else [names.escape(b'[' + made_names.part(name) + b']')]
        self.caller_dso = names.escape(b'/gone/' + made_names.part(name))
        self.kind = 'kernel' if self.kernel else 'user'


CASES = [Case(i, s) for i, s in enumerate(made_names.NAMES + made_names.BPF)]


def frame(text, last=False, mark=''):
    text = re.sub(r'_\[(k|j|i|joined)\]$', r'_\\u{5b}\1]', text.replace(';', '\\u{3b}')) + mark
    if text[0] == '#':
        text = '\\u{23}' + text[1:]
    return re.sub(r' (\d+(\.\d*)?)$', r'\\u{20}\1', text) if last else text


def lines(lead, marks=False):
    sums = collections.Counter()
    for c in CASES:
        stack = [frame(names.escape(l)) for l in lead(c)] + [frame(f) for f in c.caller] + [frame(c.symbol, True, '_[k]' if marks and c.kernel else '')]
        sums[';'.join(stack)] += c.n
    return b''.join(sorted(('%s %d\n' % s).encode() for s in sums.items())).decode()


def symbols():
    sums = collections.Counter()
    for c in CASES:
        sums[c.symbol, c.kind] += c.n
    return sums


def same(got, want):
    got, want = collections.Counter(got), collections.Counter(want)
    assert got == want, 'too much: %.1500r\nmissing: %.1500r' % (got - want, want - got)


def read(path):
    """Our scripts are indented by tabs."""
    text = open(path, 'rb').read()
    return names.seen(text.replace(b'\t', b' ') if re.search(r'page|picture|(html|svg)\.out', path) else text, path)


def folded(path):
    same(read(path).split('\n'), lines(lambda c: [c.comm + b'-%d' % c.pid, c.comm + b'-%d/%d' % (c.pid, c.pid), c.comm]).split('\n'))
    assert read(path) == lines(lambda c: [c.comm + b'-%d' % c.pid, c.comm + b'-%d/%d' % (c.pid, c.pid), c.comm]), 'order'


def marked(path):
    assert read(path) == lines(lambda c: [c.cgroup, c.comm], True)


def table(rows, exact):
    """Rows of CSV or JSON: of each process, or of each function."""
    rows = [r for r in rows if int(r['samples'])]
    if not exact:
        return same({(r['symbol'], r['kind']): int(r['samples']) for r in rows}, symbols())
    same(((r['symbol'], r['kind'], int(r['samples']), r['comm'], r['dso'], r['cgroup']) for r in rows),
         ((c.symbol, c.kind, c.n, names.escape(c.comm), c.dso, names.escape(c.cgroup)) for c in CASES))
    assert all(r['comm'] and r['tid'] and r['pid'] for r in rows)


def dsos(path):
    rows = [unformula(r['dso']) for r in csv.DictReader(open(path, newline='', encoding='utf-8'))]
    same(rows, {d for c in CASES for d in [c.dso] + [c.caller_dso] * len(c.caller)})


def unformula(cell):
    return re.sub(r'^\\u\{(3d|2b|2d|40|ff1d)\}', lambda m: chr(int(m[1], 16)), cell)


def of_csv(path, exact):
    rows = list(csv.DictReader(open(path, newline='', encoding='utf-8')))
    for row in rows:
        for cell in row.values():
            assert not re.match('[=+@\t\r\uff1d\uff0b\uff0d\uff20]|-(?![0-9.])', cell), cell
    table([{k: unformula(v) for k, v in row.items()} for row in rows], exact)


def text_rows(path):
    """Of a report of functions alone."""
    rows = re.findall(r'^ *[0-9.]+% +(\d+) +\[(.)\] (.*)$', read(path), re.M)
    same({(s, {'.': 'user', 'k': 'kernel'}[k]): int(n) for n, k, s in rows if int(n)}, symbols())


def columns(path):
    """Columns of a table begin where their titles do, as far as none before them is longer."""
    head, body = None, 0
    for line in read(path).split('\n'):
        if line.startswith('# ') and 'Command' in line:
            head = line
        elif head and re.match(' *[0-9.]+%', line):
            at = head.index('Container')
            for n in range(len(line)):
                if names.columns(line[:n]) == at:
                    break
            assert line[n - 1] == ' ' and line[n:].startswith('/'), line
            body += 1
    assert body == len(CASES), body


def page(path):
    data = json.loads(unpage.Page(read(path)).scripts[0][1])
    missing = {c.symbol for c in CASES} - set(data['strings'])
    assert not missing, missing
    assert not [s for s in data['strings'] if not s == names.escape(s.encode(), text=True)]


def picture(path):
    text = read(path)
    root = xml.etree.ElementTree.fromstring(text)
    shown = json.loads(re.search(r'nsprofNames=(\[.*?\]);\n', text, re.S)[1].replace("\\'", "'"))
    missing = {c.symbol for c in CASES} - set(shown)
    assert not missing, missing
    assert len(root.findall('.//{*}script')) == 2 and not root.findall('.//{*}img')


def strings(all_of):
    missing = {c.symbol for c in CASES} | {names.escape(c.comm) for c in CASES} - {''}
    missing -= set(all_of)
    assert not missing, missing


def pprof(path):
    p = fields(gzip.open(path).read())
    text = [names.seen(s, path, False) for s in p[6]]
    strings(text)
    functions = {f[1][0]: text[f[2][0]] for f in map(fields, p[5])}
    assert set(functions.values()) == {f for c in CASES for f in [c.symbol] + c.caller}


def speedscope(path):
    d = json.loads(read(path))
    assert {f['name'] for f in d['shared']['frames']} == {f for c in CASES for f in [c.symbol] + c.caller}
    same((p['name'] for p in d['profiles']),
         ('%s %d/%d (%s)' % (names.escape(c.comm), c.pid, c.pid, names.escape(c.cgroup)) for c in CASES))


def firefox(path):
    d = json.loads(read(path))
    strings(d['shared']['stringArray'] + [t['name'] for t in d['threads']])


def word(path):
    return re.sub('[ ()]', lambda m: '\\u{%x}' % ord(m[0]), path)


def script(path):
    text = names.seen(open(path, 'rb').read().replace(b'\n\t', b'\n  '), path).split('\n')
    heads = [l for l in text if re.search(r' +\d+/\d+ +\[', l)]
    comms = collections.Counter(re.match(r'(.*?) +(\d+)/', l).groups() for l in heads)
    want = {}
    for c in CASES:
        comm = frame(names.escape(c.comm)).replace(' ', '_')
        want[comm, str(c.pid)] = c.n
    same(comms, want)
    got = collections.Counter(re.match(r'\s*[0-9a-f]+ (.*) \((.*)\)$', l).groups() for l in text if re.match('  +[0-9a-f]+ ', l))
    sums = collections.Counter()
    for c in CASES:
        sums[frame(c.symbol, True).replace('->', '- >'), word(c.dso)] += c.n
        if c.caller:
            sums['[unknown]', word(c.caller_dso)] += c.n
    same(got, sums)
    assert all(re.search(r':\s*\d+ \S+: +\S+$', l) for l in heads)


def chains(path):
    """The stacks of report -g folded, read again."""
    rows = json.loads(read(path))['rows']
    sums = collections.Counter()
    for c in CASES:
        sums[c.symbol] += c.n
    same({r['symbol']: int(r['samples']) for r in rows if int(r['samples'])}, sums)


def info(path):
    d = json.loads(read(path))
    # A container's first row has its cgroup; the others have it as well.
    same(((p['comm'], p['cgroup'], p['samples']) for p in d['processes']), ((names.escape(c.comm), names.escape(c.cgroup), c.n) for c in CASES))
    assert d['settings']['hostname'] == names.escape(made_names.ALL, name=False)


def annotated(path):
    d = json.loads(read(path))
    user = [c for c in CASES if not c.kernel]
    same(((f['symbol'], f['binary'], f['samples']) for f in d['functions']), ((c.symbol, c.dso, c.n) for c in user))
    assert {i['file'].rsplit('/', 1)[1] for f in d['functions'] for i in f['instructions']} == {'evil\\u{1b}\\u{202e}.c'}


def listing(path):
    heads = re.findall(r'^ Percent +Samples \| (.*): (\d+) samples? of (\S+),', read(path), re.M)
    same(((s, int(n)) for s, n, _ in heads), ((c.symbol, c.n) for c in CASES if not c.kernel))
    # The source lines have the names, too, in their comments.
    for c in CASES[:-len(names.LONG) - 2]:
        raw = c.raw.replace(b'\n', b' ').replace(b'\r', b' ').replace(b'\t', b'    ')
        assert names.escape(b'/* ' + raw + b' */', text=True) in read(path), raw


def parts(folder):
    sums = collections.Counter()
    for c in CASES:
        sums[c.comm] += c.n
    files = glob.glob(folder + '/*')
    assert len(files) == len(sums), (len(files), len(sums))
    assert all(re.fullmatch(r'[A-Za-z0-9@:+][A-Za-z0-9._+@:-]*\.folded|_\.folded|_-\d+\.folded', os.path.basename(f)) for f in files), files
    count = {os.path.basename(f): sum(int(l.rsplit(' ', 1)[1]) for l in read(f).split('\n') if l) for f in files}
    # Nobody takes the file of a name that needs no change.
    for plain in (b'a_b', b'x', b'semi:colon', b'count_12'):
        assert count[plain.decode() + '.folded'] == sums[plain], plain
    assert sum(count.values()) == sum(sums.values())


def diffed(path):
    want = {f for c in CASES for f in [c.symbol] + c.caller}
    if path.endswith('.csv.out'):
        rows = [r['function'] for r in csv.DictReader(open(path, newline='', encoding='utf-8'))]
        assert not [r for r in rows if re.match('[=+@\uff1d]|-', r)]
        assert set(map(unformula, rows)) >= want
    elif path.endswith('.json.out'):
        assert {r['name'] for r in json.loads(read(path))['functions']} >= want
    elif path.endswith('.md.out'):
        rows = re.findall(r'^\|[ *]*\| `` (.*?) ``(?: \[k\])? \|', read(path), re.M)
        assert {r.replace('\\u{60}', '`').replace('\\|', '|') for r in rows} >= want
        assert read(path).count('|') - read(path).count('\\|') == 10 * (2 + len(rows))
    elif path.endswith('.folded.out'):
        got = {l.rsplit(' ', 2)[0].rsplit(';', 1)[-1] for l in read(path).split('\n') if l}
        both = {frame(c.symbol, True) for c in CASES} | {frame(c.symbol, True, '_[k]') for c in CASES if c.kernel}
        assert {frame(c.symbol, True) for c in CASES if not c.kernel} <= got <= both, got - both
    else:
        assert len(read(path)) > 1000


CHECKS = {
    'folded': folded, 'marked': marked, 'p.pprof': pprof, 's.speedscope': speedscope, 'f.firefox': firefox, 'script': script,
    'info.json': info, 'annotate.json': annotated, 'annotate': listing, 'parts': parts,
    'dsos': dsos, 'chains': chains, 'data.text': columns, 'profile.saved.text': columns, 'marked.functions': text_rows, 'data.functions': text_rows,
}


def main(path):
    if path in CHECKS:
        CHECKS[path](path)
    elif path.endswith('.page'):
        page(path)
    elif path.endswith('.picture'):
        picture(path)
    elif path.endswith('.out'):
        diffed(path)
    elif path.endswith('.csv'):
        of_csv(path, path in ('data.csv', 'profile.saved.csv'))
    elif path.endswith('.json'):
        table(json.loads(read(path))['rows'], path in ('data.json', 'profile.saved.json'))
    else:
        raise SystemExit('no check for ' + path)


for output in sys.argv[2:]:
    try:
        main(output)
        print('ok', output)
    except Exception as e:  # one line for each output
        print('not ok', output, type(e).__name__, str(e).replace('\n', ' ')[:300], 'line', e.__traceback__.tb_next.tb_next.tb_lineno)
