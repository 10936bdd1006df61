#!/usr/bin/env python3
"""oracle.py [-n N] [-s SEED] [-o TOOL,...] [-v] LOOKUP BINARY: compares names, inlined frames and
lines at N random addresses of the code of BINARY: the symbolizer's (LOOKUP:
build/tests/tools/lookup) against addr2line's, llvm-addr2line's and eu-addr2line's. Prints a line
for each of these tools: how many addresses agree completely, and how many differ for which reason.
The exit status is 1 when an address differs for a reason that is not listed here.

The reasons are habits of the other program. They are recognized by its own answer and by the
answers of the others, never by the address:

  suffix   it leaves out what the compiler appends (".cold", ".part.0", ".lto_priv.0"): it names the function from
           the debug info, we by its symbol, as perf does
  alias    the name is another symbol's at the same address: an alias, or functions of equal code that the
           compiler merged
  plain    the debug info has only the plain name of a function whose symbol is mangled
  inner    it names an inlined function that has only a plain name after the symbol it was inlined into (binutils)
  nosym    there is no symbol: it names the function from the debug info (or we do, and it gives no name)
  flat     it has no inlined frames here (eu-addr2line where the debug info is in another unit: LTO, Rust)
  file     it has the same line of the file "<artificial>" (binutils with some tables of DWARF 5)
  label    it has a label without a size within the function that holds the address (hand-written assembly)
  gap      no symbol and no function of the debug info holds the address, and we give no name: it is padding, and
           the other program names the function before it
  units    several units describe the address, and each of the two answers is what one of them says: the same
           function from headers with different contents, of which the linker kept one copy
  mistaken the debug info, as readelf prints it, agrees with us and not with the other program

For the last three readelf is asked (dwarf.py). If the debug info does not support our answer, none
of them applies.
"""
import argparse
import bisect
import collections
import functools
import os
import random
import re
import subprocess
import sys

import dwarf

TOOLS = {
    'addr2line': ['addr2line', '-a', '-i', '-f'],
    'llvm-addr2line': ['llvm-addr2line', '-a', '-i', '-f'],
    'eu-addr2line': ['eu-addr2line', '-a', '-i', '-f'],
}


def code_ranges(binary):
    """Sections with code, except the PLT, whose entries have names only by convention."""
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
            # eu-addr2line: "f inlined at FILE:LINE:COLUMN in g", and g is the next one; "from FILE"
            # without a line.
            name = re.sub(r' inlined (at|from) .*', '', line).split('@')[0]
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
    """Without the suffixes that the compiler gives clones and parts."""
    return re.sub(r'(\.(cold|part|constprop|isra|lto_priv|llvm|localalias)(\.\d+)*)+$', '', name)


def names_of(chain):
    return [n for n, _ in chain]


def lines_of(chain):
    return [at for _, at in chain]


@functools.lru_cache(maxsize=None)
def plain_name(mangled):
    """The debug info's name for a function without a linkage name: "~list" for "_ZN4listD1Ev"."""
    text = subprocess.run(['c++filt', '-p', mangled], stdout=subprocess.PIPE, text=True).stdout.strip()
    text = re.sub(r'(?: \[clone [^]]*\])+$', '', text)
    # Only the last name's own <> is removed with its content; an operator may have < in its name.
    m = re.search(r'(operator.*)$', text)
    if m:
        return re.sub(r'(?<=[^<])<[^<>=-]+>$', '', m[1])
    while '<' in text:
        shorter = re.sub(r'<[^<>]*>', '', text)
        if shorter == text:
            break
        text = shorter
    return text.split('::')[-1].split(' ')[-1]


def habit(ours, theirs, aliases):
    """The reason for the difference to one other answer, None without a difference, "" if there is
    no known reason."""
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
        elif us.startswith('_Z') and plain_name(us) == re.sub('<.*', '', them):
            why = 'plain'
        elif stem(them) in aliases.get(stem(us), ()):
            why = 'alias'
        else:
            return ''
    return why


def proven(facts, addr, ours, theirs, symbols):
    """The reason for the difference by debug info, "" if there is none."""
    if not symbols and len(ours) == 1 and ours[0][0] == '??' and not facts.chains[addr]:
        return 'gap'
    # The same function, and the line table has no row there (eu-addr2line takes one from another
    # sequence).
    if ours == [(theirs[0][0], ('??', 0))] and len(theirs) == 1 and not facts.chains[addr] and not facts.lines[addr]:
        return 'mistaken'
    if not facts.say(addr, ours, symbols):
        return ''
    return 'units' if facts.say(addr, theirs, symbols) else 'mistaken'


def debug_file(binary):
    out = subprocess.run(['readelf', '-n', binary], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    m = re.search(r'Build ID: (\w\w)(\w+)', out)
    path = f'/usr/lib/debug/.build-id/{m[1]}/{m[2]}.debug' if m else ''
    return path if os.path.exists(path) else binary


def read_symbols(binary):
    """{name: names at the same address}, without the suffixes of compilers; and {(start, end):
    names}, where end is start for those without a size."""
    at = collections.defaultdict(set)
    ranges = collections.defaultdict(set)
    for file, flags in ((binary, '-DS'), (debug_file(binary), '-S')):
        out = subprocess.run(['nm', flags, '--defined-only', file], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, errors='replace').stdout
        for line in out.splitlines():
            parts = line.split()
            name, start = parts[-1].split('@')[0], int(parts[0], 16)
            at[start].add(stem(name))
            ranges[start, start + (int(parts[1], 16) if len(parts) == 4 else 0)].add(name)
    aliases = collections.defaultdict(set)
    for names in at.values():
        for n in names:
            aliases[n] |= names
    return aliases, ranges


def symbols_at(addrs, symbols):
    """{address: names of the symbols that contain it}, and of the nearest labels without a size
    before it within one of them."""
    held = {a: set() for a in addrs}
    labels = {a: set() for a in addrs}
    for (start, end), names in symbols.items():
        for a in addrs[bisect.bisect_left(addrs, start):bisect.bisect_left(addrs, end)]:
            held[a] |= names
    starts = sorted(start for start, end in symbols if start == end)
    for a in addrs:
        i = bisect.bisect_right(starts, a)
        if i and held[a]:
            labels[a] = symbols[(starts[i - 1], starts[i - 1])]
    return held, labels


def main():
    p = argparse.ArgumentParser()
    p.add_argument('-n', type=int, default=10000)
    p.add_argument('-s', type=int, default=1)
    p.add_argument('-o', default=','.join(TOOLS))
    p.add_argument('-v', action='store_true', help='show addresses that differ for no known reason')
    p.add_argument('--show', help='with -v: and those with this reason')
    p.add_argument('lookup')
    p.add_argument('binary')
    args = p.parse_args()
    addrs = pick(args.binary, args.n, args.s)
    ours = ask_us(args.lookup, args.binary, addrs)
    theirs = {t: ask(t, args.binary, addrs) for t in args.o.split(',')}
    aliases, symbols = read_symbols(args.binary)
    held, labels = symbols_at(addrs, symbols)
    why = {t: {a: habit(ours[a], answers.get(a, []), aliases) for a in addrs} for t, answers in theirs.items()}
    for t, reasons in why.items():
        for a, r in reasons.items():
            if r == '' and len(theirs[t][a]) == 1 and theirs[t][a][0][0] in labels[a] and ours[a][0][0] in held[a]:
                reasons[a] = 'label'
    open_addrs = {a for reasons in why.values() for a, r in reasons.items() if r == ''}
    facts = dwarf.Facts(debug_file(args.binary), open_addrs) if open_addrs else None
    deep = sum(len(c) > 1 for c in ours.values())
    named = sum(c[-1][0] != '??' for c in ours.values())
    lined = sum(c[0][1][1] != 0 for c in ours.values())
    print(f'{os.path.basename(args.binary)}: {len(addrs)} addresses, {named} with a name, {deep} with inlined '
          f'frames, {lined} with a line')
    unknown = 0
    for tool, reasons in why.items():
        count = collections.Counter()
        for a, r in reasons.items():
            if r == '':
                r = proven(facts, a, ours[a], theirs[tool].get(a, []), held[a]) or 'DIFFERS'
            if args.v and r in ('DIFFERS', args.show or '') and count[r] < 8:
                print(f'  {r} {a:#x}\n    ours  {ours[a]}\n    {tool} {theirs[tool].get(a)}')
                if facts and a in open_addrs:
                    print(f'    symbols {held[a]}, lines {facts.lines[a]}')
                    for chain in facts.chains[a]:
                        print('    entries', [(sorted(facts.names(o)), line) for o, line in chain])
            count[r] += 1
        unknown += count['DIFFERS']
        same = count.pop(None, 0)
        print(f'  {tool}: {same} agree', ', '.join(f'{n} {r}' for r, n in count.most_common()))
    return 1 if unknown else 0


sys.exit(main())
