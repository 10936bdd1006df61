#!/usr/bin/env python3
"""Makes a perf.data from scratch, as other versions and machines write it: one process whose
samples are known.

	made_perfdata.py ORDER FORM ATTR MMAP PROGRAM OUT	ORDER: < or >; FORM: file or pipe; ATTR: bytes of the attribute;
								MMAP: 1 (without inode), 2 (with), 3 (with the build-id)

Three samples in cgroup /made/one and two in /made/two, of thread "made": main, app_outer, app_leaf
of PROGRAM (tests/targets/spin.c), and above them a BPF program of the kernel that exists from the
third sample on. 7 samples are lost. Records that a reader does not need lie between.
"""
import sys

from perfdata_writer import CALLCHAIN, CGROUP, CPU, IDENTIFIER, IP, PERIOD, TID, TIME, Program, Writer, text

KIND = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER | CGROUP
ORDER, FORM, ATTR, MMAP, PROGRAM, OUT = sys.argv[1:3] + [int(n) for n in sys.argv[3:5]] + sys.argv[5:7]
ID, PID, BASE, BPF = 77, 4711, 0x555500000000, 0xffffffffc0100000
writer = Writer(ORDER)
pack, record, program = writer.pack, writer.record, Program(PROGRAM)
build_id = program.build_id


def sid(time):
	return pack('IIQIIQ', PID, PID, time, 1, 0, ID)


def mapping(time):
	where = pack('IIQQQ', PID, PID, BASE, program.size + 4096, program.offset)
	name = text(PROGRAM)
	if MMAP == 1:
		return record(1, where + name + sid(time), 2)
	if MMAP == 2:
		return record(10, where + pack('IIQQII', 8, 1, 12345, 0, 5, 2) + name + sid(time), 2)
	return record(10, where + pack('BBH', len(build_id), 0, 0) + build_id.ljust(20, b'\0') + pack('II', 5, 2) + name + sid(time), 2 | 1 << 14)


def sample(time, cgroup):
	ips = [2 ** 64 - 128, BPF + 0x10, 2 ** 64 - 512] + [BASE + program.symbols[f] + 4 - program.vaddr for f in ('app_leaf', 'app_outer', 'main')]
	return record(9, pack('QQIIQIIQQ%dQQ' % len(ips), ID, ips[1], PID, PID, time, 1, 0, 1000000, len(ips), *ips, cgroup), 1)


NAMESPACES = pack('IIQ', PID, PID, 7) + b''.join(pack('QQ', 4, 4026532000 + i) for i in range(7))
RECORDS = [
	record(82, b''),					# FINISHED_INIT
	record(73, pack('QQ16s', 1, PID, b'made')),		# THREAD_MAP
	record(74, pack('HHHHHH', 0, 2, 0, 1, 0, 0)),		# CPU_MAP
	record(19, pack('Q', 100) + text('/made/one') + sid(0)),
	record(19, pack('Q', 200) + text('/made/two') + sid(0)),
	record(7, pack('IIIIQ', PID, 1, PID, 1, 10) + sid(10)),
	record(16, NAMESPACES + sid(11)),
	record(3, pack('II', PID, PID) + text('made') + sid(12), 1 << 13),
	mapping(13),
	sample(20, 100), sample(30, 100),
	# As for a listener after others: the size includes more id fields than the record has, with
	# arbitrary bytes in them.
	record(17, pack('QIHH', BPF, 0x100, 1, 0) + text('bpf_prog_0123_made') + sid(35) + sid(2 ** 62)),
	record(18, pack('HHI8s', 1, 0, 5, b'01234567') + sid(35) + 2 * sid(2 ** 62)),	# BPF_EVENT
	record(68, b''),					# FINISHED_ROUND
	record(5, pack('QQQ', 36, ID, ID) + sid(36)), record(6, pack('QQQ', 37, ID, ID) + sid(37)),
	record(14, sid(38)), record(15, pack('II', PID, PID) + sid(39)),	# SWITCH, SWITCH_CPU_WIDE
	record(12, pack('II', PID, PID) + sid(39)),		# ITRACE_START
	record(20, pack('QHH4s', BPF, 2, 2, b'\x90\x90\x66\x90') + sid(39)),	# TEXT_POKE
	record(66, pack('I', 12)) + bytes(16),			# TRACING_DATA: 12 bytes after it, and padding
	record(71, pack('QQQIIII', 24, 0, 0, 0, 0, 0, 0)) + b'\xff' * 24,	# AUXTRACE: 24 bytes after it
	record(79, pack('QQQ', 1, 1, 1)),			# TIME_CONV of old files
	sample(40, 100), sample(50, 200), sample(60, 200),
	record(2, pack('QQ', ID, 7) + sid(65)),
	record(84, bytes(8)), record(4095, bytes(16)),		# BPF_METADATA, and an unknown type
	record(4, pack('IIIIQ', PID, 1, PID, 1, 70) + sid(70)),
]
ATTRIBUTE = writer.attribute(ATTR, 1, 0, 1000000, KIND, 0, 8, 9, 13, 18, 23, 24, 28, 29, 30, 32, *([34] if MMAP == 3 else []))
EVENTS = [(ATTRIBUTE, (ID,), 'cycles:ppp')]
FEATURES = [(3, writer.counted('elsewhere')), (5, writer.counted('4.19.1')), (6, writer.counted('x86_64')), (12, writer.event_desc(EVENTS))]
if FORM == 'file':
	FEATURES.insert(0, (2, program.build_id_entry(writer, 0)))
writer.write(OUT, FORM, EVENTS, FEATURES, b''.join(RECORDS), program.build_id_entry(writer, 67))
