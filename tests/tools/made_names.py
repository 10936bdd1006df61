#!/usr/bin/env python3
"""Makes a perf.data in which everything has a hostile name (names.py), and what it points to.

	made_names.py FOLDER

Process 1000 + i is called NAMES[i], is in the cgroup of that name, and has i + 1 samples in a function
of that name. A file of that name that is gone has called it. A source line of each function has the
name, too. The host, the command line and an event have all of the short ones at once. Two more
processes are in the kernel: in BPF programs that are called x_[k] and by an escape sequence.
"""
import os
import subprocess
import sys

import names
from perfdata_writer import CALLCHAIN, CGROUP, CPU, IDENTIFIER, IP, PERIOD, TID, TIME, Program, Writer, text

NAMES = names.SHORT + names.LONG
ALL = b' '.join(s for s in names.SHORT)
PROGRAM = b'pro\x1b[2J\xe2\x80\xae gram'
EVENT = b'cycles\x1b[31m\xe2\x80\xae\x9b'
BPF = [b'x_[k]', b'\x1b[2Jbpf']
KIND = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER | CGROUP
BASE, GONE, KERNEL, IN_KERNEL, IN_USER = 0x555500000000, 0x7f0000000000, 0xffffffffa0000000, 2 ** 64 - 128, 2 ** 64 - 512


def build(folder):
    """A program whose functions have NAMES in .strtab, where there were longer ones."""
    slots = ['fn_%03d' % i + '_' * (max(len(NAMES[i]), 15) - 6) for i in range(len(NAMES))]
    source = os.path.join(folder, b'evil\x1b\xe2\x80\xae.c')
    with open(source, 'wb') as out:
        for slot, name in zip(slots, NAMES):
            out.write(b'__attribute__((noinline)) static void %s(volatile int *v) { *v += 1; } /* %s */\n' %
                      (slot.encode(), name.replace(b'\n', b' ').replace(b'\r', b' ')))
        out.write(b'int main(void) { volatile int v = 0; %s return v; }\n' % b''.join(b'%s(&v);' % s.encode() for s in slots))
    program = os.path.join(folder, PROGRAM)
    subprocess.run(['cc', '-w', '-g', '-O1', '-fno-inline', '-Wl,--build-id', '-o', program, source], check=True)
    at = Program(os.fsdecode(program))
    raw = open(program, 'rb').read()
    for slot, name in zip(slots, NAMES):
        assert raw.count(slot.encode() + b'\0') >= 1
        # Debug info does not name functions that the symbol table has.
        raw = raw.replace(b'\0' + slot.encode() + b'\0', b'\0' + name + b'\0' * (len(slot) - len(name) + 1))
    open(program, 'wb').write(raw)
    return at, [at.symbols[s] for s in slots]


def main(folder):
    w = Writer('<')
    at, functions = build(folder)
    path, records = os.path.join(folder, PROGRAM), []

    def record(kind, body, misc=0):
        records.append(w.record(kind, body, misc))

    def sid(pid, time):
        return w.pack('IIQIIQQ', pid, pid, time, 1, 0, 0, 1)[:-16] + w.pack('Q', 1)

    for i, name in enumerate(NAMES + BPF):
        pid = 1000 + i
        user = i < len(NAMES)
        record(19, w.pack('Q', pid) + text(b'/' + part(name)) + sid(pid, 5))
        record(3, w.pack('II', pid, pid) + text(name[:15]) + sid(pid, 10), 1 << 13)
        record(10, w.pack('IIQQQ', pid, pid, BASE, at.size + 4096, at.offset) + w.pack('IIQQII', 8, 1, 12345, 0, 5, 2) + text(path) + sid(pid, 11), 2)
        if user:
            record(10, w.pack('IIQQQ', pid, pid, GONE, 4096, 0) + w.pack('IIQQII', 8, 1, 20000 + i, 0, 5, 2) + text(b'/gone/' + part(name)) + sid(pid, 12), 2)
        else:
            record(17, w.pack('QIHH', KERNEL + 4096 * i, 256, 1, 0) + text(name) + sid(pid, 12))
        ip = KERNEL + 4096 * i + 16 if not user else BASE + functions[i] - at.vaddr
        for n in range(i + 1):
            chain = [IN_USER, ip, GONE + 17] if user else [IN_KERNEL, ip]
            records.append(w.record(9, w.pack('QQIIQIIQ', 1, ip, pid, pid, 1000 + n, 1, 0, 1000) +
                                    w.pack('Q%dQ' % len(chain), len(chain), *chain) + w.pack('Q', pid), 2 if user else 1))
    attribute = w.attribute(136, 0, 0, 1000, KIND, 0, 8, 9, 13, 18, 23, 24, 32)
    features = [(2, build_id(w, at, path)),
                (3, w.counted(ALL)), (5, w.counted('7.0')), (6, w.counted('x86_64')),
                (11, w.pack('I', 2) + w.counted(b'perf\x1b[2J') + w.counted(ALL)), (12, w.event_desc([(attribute, (1,), EVENT)]))]
    w.write(os.path.join(folder, b'perf.data'), 'file', [(attribute, (1,), EVENT)], features, b''.join(records))


def part(name):
    """As the part of a path."""
    return (name if len(name) < 1000 else name[:15]).replace(b'/', b'-')


def build_id(w, at, path):
    name = text(path, 64)
    return w.pack('IHHi', 2, 2 | 1 << 15, 36 + len(name), -1) + at.build_id.ljust(20, b'\0') + w.pack('BBH', len(at.build_id), 0, 0) + name


if __name__ == '__main__':
    main(os.fsencode(sys.argv[1]))
