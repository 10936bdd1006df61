#!/usr/bin/env python3
"""oracle.py [-n N] [-s SEED] [-o TOOL,...] [-v] LOOKUP BINARY: names, inlined frames and lines at N random
addresses of the code of BINARY, by the symbolizer (LOOKUP: build/tests/tools/lookup) and by addr2line,
llvm-addr2line and eu-addr2line. One line for each of these with how many addresses agree in all, and how many
differ for which reason. Exit status 1 when an address differs for a reason that is not known here.

The reasons are habits of the other program, told from its own answer and from the answers of the others,
never from the address:

  suffix   it leaves out what the compiler appends (".cold", ".part.0", ".lto_priv.0"): it names the function from
           the debug info, we by its symbol, as perf does
  alias    the name is another symbol's at the same address: an alias, or functions of equal code that the
           compiler made one
  plain    the debug info has only the plain name of a function whose symbol is mangled
  inner    it gives an inlined function that has only a plain name the symbol of what it was inlined into (binutils)
  nosym    no symbol is there: it names the function from the debug info (or we, and it has nothing)
  flat     it has no inlined frames here (eu-addr2line where the debug info is in another unit: LTO, Rust)
  file     it has the same line of the file "<artificial>" (binutils with some tables of DWARF 5)
  gap      no symbol holds the address and we say nothing: padding, for which it names what is before it
  outvoted more of the others agree with us, apart from what is above, than with it
"""
import argparse
import collections
import os
import random
import re
import subprocess
import sys

TOOLS = {
    'addr2line': ['addr2line', '-a', '-i', '-f'],
    'llvm-addr2line': ['llvm-addr2line', '-a', '-i', '-f'],
    'eu-addr2line': ['eu-addr2line', '-a', '-i', '-f'],
}


def code_ranges(binary):
    """Sections with code, but for the PLT, whose entries have names by convention only."""
    out = subprocess.run(['readelf', '-SW', binary], stdout=subprocess.PIPE, text=True, check=True).stdout
    for m in re.finditer(r'\] (\S+) +PROGBITS +(\w+) \w+ (\w+) \w+ +\w*X', out):
        if not m[1].startswith('.plt') and m[1] not in ('.init', '.fini'):
            yield int(m[2], 16), int(m[3], 16)


def pick(binary, n, seed):
    ranges = list(code_ranges(binary))
    rng = random.Random(seed)
    total = sum(size for _, size in ranges)
    picked = set()
    for at in rng.sample(range(total), min(n, total)):
        for start, size in ranges:
            if at < size:
                picked.add(start + at)
                break
            at -= size
    return sorted(picked)


def place(text):
    """"/a/b.c:12:3 (discriminator 2)" to ("b.c", 12)."""
    text = re.sub(r' \(.*', '', text)
    m = re.match(r'(.*?):(\d+|\?)(?::\d+)?$', text)
    if not m:
        return '??', 0
    line = 0 if m[2] == '?' else int(m[2])
    name = os.path.basename(m[1])
    return (name, line) if line and name != '??' else ('??', 0)


def ask(tool, binary, addrs):
    """{address: [(name, (file, line)), ...]}, innermost first."""
    text = ''.join('0x%x\n' % a for a in addrs)
    out = subprocess.run(TOOLS[tool] + ['-e', binary], input=text, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True, errors='replace').stdout
    answers, chain, name = {}, None, None
    for line in out.splitlines():
        if name is None and re.match(r'0x[0-9a-f]+$', line):
            chain = answers[int(line, 16)] = []
        elif name is None:
            # eu-addr2line: "f inlined at FILE:LINE:COLUMN in g", and g's turn comes next.
            name = re.sub(r' inlined at .*', '', line).split('@')[0]
        else:
            chain.append((name, place(line)))
            name = None
    return answers


def ask_us(lookup, binary, addrs):
    text = ''.join('%x\n' % a for a in addrs)
    out = subprocess.run([lookup, '--lines', binary], input=text, stdout=subprocess.PIPE, text=True,
                         errors='replace', check=True).stdout
    answers = {}
    for addr, part in zip(addrs, out.split('\n\n')):
        chain = []
        for line in part.splitlines():
            name, at = line.split('\t')
            chain.append((name, place(at)))
        answers[addr] = chain
    return answers


def stem(name):
    """Without what the compiler appends to clones and parts."""
    return re.sub(r'(\.(cold|part|constprop|isra|lto_priv|llvm|localalias)(\.\d+)*)+$', '', name)


def names_of(chain):
    return [n for n, _ in chain]


def lines_of(chain):
    return [at for _, at in chain]


def habit(ours, theirs, aliases):
    """The reason why one other answer is not ours, None when it is, "" when there is no known one."""
    why = None
    if len(ours) > 1 and len(theirs) == 1 and theirs[0][1] == ours[0][1]:
        return 'flat' if habit([(ours[-1][0], ours[0][1])], theirs, aliases) != '' else ''
    if len(ours) != len(theirs):
        return ''
    for i, ((us, us_at), (them, them_at)) in enumerate(zip(ours, theirs)):
        outer = i == len(ours) - 1
        if us_at != them_at:
            if them_at != ('<artificial>', us_at[1]):
                return ''
            why = 'file'
        if us == them:
            continue
        if not outer and them == ours[-1][0] and not us.startswith('_Z'):
            why = 'inner'
            continue
        if not outer:
            return ''
        if '??' in (us, them):
            why = 'nosym'
        elif stem(us) == stem(them):
            why = 'suffix'
        elif us.startswith('_Z') and re.search(rf'(\d){re.escape(re.sub("<.*", "", them))}', us):
            why = 'plain'
        elif stem(them) in aliases.get(stem(us), ()):
            why = 'alias'
        else:
            return ''
    return why


def reason(ours, theirs, others, aliases, in_gap):
    why = habit(ours, theirs, aliases)
    if why == '' and in_gap and ours == [('??', ('??', 0))]:
        return 'gap'
    if why == '':
        with_us = sum(habit(ours, o, aliases) not in ('', 'flat') for o in others)
        return 'outvoted' if with_us > sum(o == theirs for o in others) else 'DIFFERS'
    return why


def debug_file(binary):
    out = subprocess.run(['readelf', '-n', binary], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    m = re.search(r'Build ID: (\w\w)(\w+)', out)
    path = f'/usr/lib/debug/.build-id/{m[1]}/{m[2]}.debug' if m else ''
    return path if os.path.exists(path) else binary


def read_symbols(binary):
    """{name: names at the same address}, without what compilers append; and [(start, end), ...] sorted."""
    at = collections.defaultdict(set)
    ranges = set()
    for file, flags in ((binary, '-DS'), (debug_file(binary), '-S')):
        out = subprocess.run(['nm', flags, '--defined-only', file], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, errors='replace').stdout
        for line in out.splitlines():
            parts = line.split()
            at[parts[0]].add(stem(parts[-1].split('@')[0]))
            if len(parts) == 4:
                ranges.add((int(parts[0], 16), int(parts[0], 16) + int(parts[1], 16)))
    aliases = collections.defaultdict(set)
    for names in at.values():
        for n in names:
            aliases[n] |= names
    return aliases, sorted(ranges)


def gaps(addrs, ranges):
    """Those of the sorted addresses that are in none of the ranges."""
    found, i, reach = set(), 0, 0
    for a in addrs:
        while i < len(ranges) and ranges[i][0] <= a:
            reach = max(reach, ranges[i][1])
            i += 1
        if a >= reach:
            found.add(a)
    return found


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', type=int, default=10000)
    p.add_argument('-s', type=int, default=1)
    p.add_argument('-o', default=','.join(TOOLS))
    p.add_argument('-v', action='store_true')
    p.add_argument('lookup')
    p.add_argument('binary')
    args = p.parse_args()
    addrs = pick(args.binary, args.n, args.s)
    ours = ask_us(args.lookup, args.binary, addrs)
    theirs = {t: ask(t, args.binary, addrs) for t in args.o.split(',')}
    aliases, ranges = read_symbols(args.binary)
    in_gap = gaps(addrs, ranges)
    deep = sum(len(c) > 1 for c in ours.values())
    named = sum(c[-1][0] != '??' for c in ours.values())
    lined = sum(c[0][1][1] != 0 for c in ours.values())
    print(f'{os.path.basename(args.binary)}: {len(addrs)} addresses, {named} with a name, {deep} with inlined '
          f'frames, {lined} with a line')
    unknown = 0
    for tool, answers in theirs.items():
        why = collections.Counter()
        shown = 0
        for a in addrs:
            others = [o[a] for t, o in theirs.items() if t != tool and a in o]
            r = reason(ours[a], answers.get(a, []), others, aliases, a in in_gap)
            why[r] += 1
            unknown += r == 'DIFFERS'
            if args.v and r and shown < 8 and r in ('DIFFERS', 'outvoted'):
                shown += 1
                print(f'  {r} {a:#x}\n    ours  {ours[a]}\n    {tool} {answers.get(a)}')
        same = why.pop(None, 0)
        print(f'  {tool}: {same} agree', ', '.join(f'{n} {r}' for r, n in why.most_common()))
    return 1 if unknown else 0


sys.exit(main())
