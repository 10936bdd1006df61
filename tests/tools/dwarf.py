"""What debug info says about some addresses, as readelf prints it: the functions and inlined calls
by which each unit describes them, and the lines. oracle.py uses it to find out which program is
right when they disagree."""
import bisect
import collections
import re
import struct
import subprocess
import zlib

DIE = re.compile(r' *<([0-9a-f]+)><([0-9a-f]+)>: Abbrev Number: (\d+)(?: \(DW_TAG_(\w+)\))?')
ATTR = re.compile(r' *<[0-9a-f]+> +DW_AT_(\w+) *: (.*)')
FORM = re.compile(r'\((?:[a-z0-9_]+|(?:indirect|alt|indexed|offset|index|addr_index)[^)]*)\):? *')
# Most entries are types and variables. awk removes them in a fraction of the time that reading
# their lines here takes. The entry after a wanted one ends it.
FUNCTIONS = r'''/: Abbrev Number:/ {
    was = keep
    keep = /\(DW_TAG_(compile_unit|subprogram|inlined_subroutine)\)/
    if (keep || was) print
    next
}
keep || / Version:/'''
WANTED = {'name', 'linkage_name', 'MIPS_linkage_name', 'low_pc', 'high_pc', 'ranges', 'abstract_origin',
          'specification', 'call_line'}


def run(*command, through=None):
    """Lines of a command's output that an awk program passes."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          errors='replace') as p:
        if not through:
            yield from p.stdout
            return
        with subprocess.Popen(['awk', through], stdin=p.stdout, stdout=subprocess.PIPE, text=True, errors='replace') as q:
            yield from q.stdout


def bare(value):
    """Without the form and its details: "(data1) 199", "(indirect string, offset: 0x1): main"."""
    while m := FORM.match(value):
        value = value[m.end():]
    return value.strip()


def number(text, base=16):
    """None if it is not a number."""
    try:
        return int(bare(text).split()[0], base)
    except (ValueError, IndexError):
        return None


def read_ranges(file):
    """{offset of a list in .debug_ranges: [(start, end), ...]}, the form up to DWARF 4."""
    ranges = collections.defaultdict(list)
    for line in run('readelf', '-W', '-wR', file):
        m = re.match(r' *([0-9a-f]{8,}) ([0-9a-f]{8,}) ([0-9a-f]{8,})\s*$', line)
        if m:
            ranges[int(m[1], 16)].append((int(m[2], 16), int(m[3], 16)))
    return ranges


def section(file, name):
    """Its bytes, b'' if it does not exist. (GABI, chapter 4: section headers, compressed sections.)"""
    with open(file, 'rb') as f:
        elf = f.read()
    shoff, = struct.unpack_from('<Q', elf, 40)
    size, count, names = struct.unpack_from('<3H', elf, 58)
    headers = [struct.unpack_from('<IIQQQQ', elf, shoff + i * size) for i in range(count)]
    for at, kind, flags, _, offset, length in headers:
        at += headers[names][4]
        if elf[at:elf.index(b'\0', at)] != name.encode() or kind == 8:
            continue
        data = elf[offset:offset + length]
        return zlib.decompress(data[24:]) if flags & 0x800 else data
    return b''


class RangeLists:
    """.debug_rnglists (DWARF 5, 7.25), of which readelf 2.40 prints only the first list of a unit."""

    def __init__(self, file):
        self.data = section(file, '.debug_rnglists')

    def leb(self, at):
        value = shift = 0
        while True:
            byte = self.data[at]
            value |= (byte & 127) << shift
            at, shift = at + 1, shift + 7
            if byte < 128:
                return value, at

    def get(self, at, base):
        """The list at an offset; @base: the unit's base address. Indices into .debug_addr are not followed."""
        spans = []
        while at < len(self.data):
            kind, at = self.data[at], at + 1
            if kind == 4:
                start, at = self.leb(at)
                end, at = self.leb(at)
                spans.append((base + start, base + end))
            elif kind == 5:
                base, = struct.unpack_from('<Q', self.data, at)
                at += 8
            elif kind == 6:
                spans.append(struct.unpack_from('<QQ', self.data, at))
                at += 16
            elif kind == 7:
                start, = struct.unpack_from('<Q', self.data, at)
                length, at = self.leb(at + 8)
                spans.append((start, start + length))
            else:
                break
        return spans


class Facts:
    """chains[address]: lists of (offset of the entry, line of the call), the function first, then what is inlined;
    lines[address]: {(file, line)}."""

    def __init__(self, file, addrs):
        self.file = file
        self.addrs = sorted(addrs)
        self.ranges, self.lists = read_ranges(file), RangeLists(file)
        self.base = 0           # of the current unit
        self.origin, self.own = {}, collections.defaultdict(set)
        self.chains = collections.defaultdict(list)
        self.lines = collections.defaultdict(set)
        self.depths = {}        # address: depths of the entries of its last chain
        self.read_entries()
        self.read_lines()

    def names(self, offset):
        """All names of an entry, its own and those of its abstract origin."""
        found = set()
        for _ in range(8):
            found |= self.own.get(offset, set())
            offset = self.origin.get(offset)
            if offset is None:
                break
        return found

    def inside(self, start, end):
        i = bisect.bisect_left(self.addrs, start)
        while i < len(self.addrs) and self.addrs[i] < end:
            yield self.addrs[i]
            i += 1

    def take(self, depth, offset, tag, at, version):
        if tag == 'compile_unit':
            self.base = number(at.get('low_pc', '')) or 0
            return
        ref = at.get('abstract_origin') or at.get('specification')
        if ref and (m := re.search(r'<0x([0-9a-f]+)>', ref)):
            self.origin[offset] = int(m[1], 16)
        for key in ('name', 'linkage_name', 'MIPS_linkage_name'):
            if key in at:
                self.own[offset].add(bare(at[key]))
        if 'ranges' in at:
            where = number(at['ranges'])
            spans = self.lists.get(where, self.base) if version > 4 else self.ranges.get(where, ())
        elif 'low_pc' in at and 'high_pc' in at:
            low, high = number(at['low_pc']), number(at['high_pc'])
            if low is None or high is None:
                return
            # An address if its form is that of an address, otherwise a length; up to DWARF 3 always
            # an address.
            spans = [(low, high if version < 4 or at['high_pc'].startswith('(addr') else low + high)]
        else:
            return
        entry = (offset, number(at.get('call_line', '0'), 10) or 0)
        for a in {a for start, end in spans for a in self.inside(start, end)}:
            if tag == 'subprogram':
                self.chains[a].append([entry])
                self.depths[a] = [depth]
                continue
            if not self.chains[a]:
                continue
            chain, depths = self.chains[a][-1], self.depths[a]
            keep = bisect.bisect_left(depths, depth)
            if keep < len(chain):       # a sibling at the same address
                chain = chain[:keep]
                self.chains[a].append(chain)
            chain.append(entry)
            self.depths[a] = depths[:keep] + [depth]

    def read_entries(self):
        entry, version = None, 0
        for line in run('readelf', '-W', '-wi', self.file, through=FUNCTIONS):
            if entry and (m := ATTR.match(line)):
                if m[1] in WANTED:
                    entry[3].setdefault(m[1], m[2])
                continue
            if m := re.match(r' +Version: +(\d+)', line):
                version = int(m[1])
                continue
            m = DIE.match(line)
            if not m:
                continue
            if entry:
                self.take(*entry, version)
            entry = None
            if m[4] in ('compile_unit', 'subprogram', 'inlined_subroutine'):
                entry = (int(m[1], 16), int(m[2], 16), m[4], {})
        if entry:
            self.take(*entry, version)

    def read_lines(self):
        rows = []       # of the current sequence: (address, file, line)
        for line in run('readelf', '-W', '-wL', self.file):
            m = re.match(r'(\S.*?) +(\d+|-) +(0x[0-9a-f]+|0)\b', line)
            if not m:
                continue
            if m[2] != '-':
                rows.append((int(m[3], 16), m[1], int(m[2])))
                continue
            starts = [r[0] for r in rows]
            if rows:
                for a in self.inside(starts[0], int(m[3], 16)):
                    last = starts[bisect.bisect_right(starts, a) - 1]
                    self.lines[a] |= {(r[1], r[2]) for r in rows if r[0] == last}
            rows = []

    def say(self, addr, answer, symbols):
        """Whether this answer (innermost first: [(name, (file, line)), ...]) is what one of the
        units says. The function itself may have the name of any of the @symbols at the address."""
        inner, lines = answer[0][1], self.lines[addr]
        if inner not in lines and not (inner[1] == 0 and (not lines or any(n == 0 for _, n in lines))):
            return False
        if not self.chains[addr]:
            return len(answer) == 1 and (answer[0][0] in symbols or answer[0][0] == '??' and not symbols)
        for chain in self.chains[addr]:
            if len(chain) != len(answer):
                continue
            calls = [line for _, line in reversed(chain)]
            if any(at[1] != line for (_, at), line in zip(answer[1:], calls)):
                continue
            for i, (offset, _) in enumerate(reversed(chain)):
                name = answer[i][0]
                if name not in self.names(offset) and (i + 1 < len(chain) or name not in symbols):
                    break
            else:
                return True
        return False
