#!/usr/bin/env python3
"""Makes a perf.data from scratch, with kinds of events and stacks that this machine cannot record.

	made_events.py WHAT ORDER FORM PROGRAM OUT	ORDER: < or >; FORM: file or pipe

One process, "made", runs main, app_outer, app_leaf of PROGRAM (tests/targets/spin.c). WHAT:

	hybrid		cycles on two kinds of CPUs, two samples on cpu_atom and three on cpu_core; one of cpu_atom/instructions/
	unnamed		the same without names, as a perf that was killed leaves it
	modes		cpu_atom/cycles/u and cpu_core/cycles/k, which are not one event: two samples and three
	deferred	callchains whose user part comes later: two samples share one, in a system call; one was hit in user space. Two more have
			lost theirs, one in the kernel, one in user space
	group		cycles and instructions, sampled by cycles (:S): the counters are 1000 7, 1500 7, 2100 50 on one CPU, 400 30 on another
	offcpu		perf record --off-cpu since Linux 6.16: three samples of cycles; a wait of 600 ms of "made", ended by process 99; sums of two waits
	offcpu6		the same before: only the sums, without raw records
	losses		cycles, which lost 10 samples, and instructions, which lost 20 in the ring and 5 in the PMU
	filtered	the same, and 7 samples of instructions that a filter left out
	losses6		the same from a perf that did not read what each event lost
	oldkernel	Linux 4.4: mappings that no file backs have protection 0; anonymous code called app_leaf
	text		as hybrid, with text between the records, with a single byte of it, and after them
"""
import sys

from perfdata_writer import CALLCHAIN, CPU, IDENTIFIER, IP, PERIOD, READ, RAW, TID, TIME, Program, Writer, text

WHAT, ORDER, FORM, PROGRAM, OUT = sys.argv[1:]
writer = Writer(ORDER)
pack, record, program = writer.pack, writer.record, Program(PROGRAM)
KIND = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER | (READ if WHAT == 'group' else 0)
GROUP = 4 | 8	# PERF_FORMAT_ID, PERF_FORMAT_GROUP
PID, BASE, ANON, KERNEL = 4711, 0x555500000000, 0x7fff00000000, 0xffffffff81000000
IN_KERNEL, IN_USER, DEFERRED = 2 ** 64 - 128, 2 ** 64 - 512, 2 ** 64 - 640
LEAF, OUTER, MAIN = (BASE + program.symbols[f] + 4 - program.vaddr for f in ('app_leaf', 'app_outer', 'main'))
USER = [LEAF, OUTER, MAIN]


def event(number, name, kind, config, *more):
	attribute = writer.attribute(136, kind, config, 1000, KIND, {'group': GROUP, 'losses': 16, 'filtered': 16}.get(WHAT, 0), 8, 9, 13, 18, 23, 24, *more)
	return attribute, (number, number + 10), name	# on two CPUs


def sid(time, number=1):
	return pack('IIQIIQ', PID, PID, time, 1, 0, number)


def sample(time, number, ips, cpu=1, read=b''):
	kernel = ips[0] == IN_KERNEL
	head = pack('QQIIQIIQ', number, KERNEL if kernel else LEAF, PID, PID, time, cpu, 0, 1000)
	return record(9, head + read + pack('Q%dQ' % len(ips), len(ips), *ips), 1 if kernel else 2)


def user_sample(time, number):
	return sample(time, number, [IN_USER] + USER)


def offcpu(time, period, ips, last=PID):
	"""A time off the CPU of "made". @last: what ran when it ended. The kernel pads raw records."""
	wait = pack('IIQQ%dQQ' % (len(ips) + 1), PID, PID, period, len(ips) + 1, IN_USER, *ips, 0)
	if WHAT == 'offcpu6':
		return record(9, pack('QQIIQIIQQ%dQ' % (len(ips) + 1), 2, ips[0], PID, PID, time, 0, 0, period, len(ips) + 1, IN_USER, *ips), 2)
	head = pack('QQIIQIIQ', 2, KERNEL, last, last, time, 0, 0, period if last == PID else 1)
	return record(9, head + pack('I', len(wait) + 4) + wait + bytes(4), 2)


def later(time, cookie, ips):
	"""PERF_RECORD_CALLCHAIN_DEFERRED"""
	return record(22, pack('QQ%dQ' % len(ips), cookie, len(ips), *ips) + sid(time), 2)


def counters(cycles, instructions, ids):
	return pack('QQQQQ', 2, cycles, ids[0], instructions, ids[1])


DUMMY = event(9, 'dummy:u', 1, 9)
HYBRID = [event(1, 'cpu_atom/cycles/P', 0, 10 << 32), event(2, 'cpu_core/cycles/P', 0, 4 << 32), event(3, 'cpu_atom/instructions/', 0, 10 << 32 | 1), DUMMY]
START = [
	record(3, pack('II', PID, PID) + text('made') + sid(10), 1 << 13),
	record(10, pack('IIQQQ', PID, PID, BASE, program.size + 4096, program.offset) + pack('IIQQII', 8, 1, 12345, 0, 5, 2) + text(PROGRAM) + sid(11), 2),
]
HYBRID_RECORDS = [user_sample(20, 1), user_sample(30, 2), user_sample(40, 2), user_sample(50, 3), user_sample(60, 1), user_sample(70, 2)]
events, records = HYBRID, HYBRID_RECORDS
if WHAT == 'modes':
	events = [event(1, 'cpu_atom/cycles/u', 0, 10 << 32, 5, 6), event(2, 'cpu_core/cycles/k', 0, 4 << 32, 4, 6), HYBRID[2], DUMMY]
elif WHAT == 'deferred':
	events = [event(1, 'cycles', 0, 0, 38), event(9, 'dummy:u', 1, 9, 39)]
	one, two, lost, gone = (7 << 48 | n for n in (1, 2, 3, 4))
	records = [
		sample(20, 1, [IN_KERNEL, KERNEL, DEFERRED, one]),
		sample(30, 1, [IN_KERNEL, KERNEL, DEFERRED, one]),
		later(40, one, USER), later(41, one, USER),
		sample(50, 1, [DEFERRED, two]),
		sample(60, 1, [IN_KERNEL, KERNEL, DEFERRED, lost]),
		sample(70, 1, [DEFERRED, gone]),
		record(68, b''),
		record(3, pack('II', PID, PID + 1) + text('other') + sid(80)),
		record(68, b''),
		later(90, two, USER),
	]
elif WHAT == 'group':
	events = [event(1, 'cycles', 0, 0), event(2, 'instructions', 0, 1)]
	# A second CPU has its own events with their own IDs.
	records = [sample(20 + 10 * n, 1, [IN_USER] + USER, read=counters(c, i, (1, 2))) for n, (c, i) in enumerate([(1000, 7), (1500, 7), (2100, 50)])]
	records += [sample(60, 11, [IN_USER] + USER, cpu=2, read=counters(400, 30, (11, 12)))]
elif WHAT in ('losses', 'filtered', 'losses6'):
	events = [event(1, 'cycles', 0, 0), event(2, 'instructions', 0, 1), DUMMY]
	records = [user_sample(20, 1), user_sample(30, 2), record(2, pack('QQ', 1, 30) + sid(40)), record(13, pack('Q', 5) + sid(50, 2)), user_sample(60, 2)]
	if WHAT != 'losses6':	# at the end, without a time
		records += [record(13, pack('Q', 10) + sid(0, 1)), record(13, pack('Q', 20) + sid(0, 12))]
	if WHAT == 'filtered':
		records += [record(13, pack('Q', 7) + sid(0, 2), 1 << 15)]
elif WHAT in ('offcpu', 'offcpu6'):
	kind = IP | TID | TIME | CPU | PERIOD | IDENTIFIER | (RAW if WHAT == 'offcpu' else CALLCHAIN)
	events = [event(1, 'cycles', 0, 0), (writer.attribute(136, 1, 10, 1, kind, GROUP, 18), (2, 12), 'offcpu-time'), DUMMY]
	# They have no time: these only sort them last.
	sums = [offcpu((2 ** 64 - 2 ** 32) + n, 5000, ips) for n, ips in enumerate((USER, [LEAF, MAIN]))]
	wait = [offcpu(40, 600000000, USER, 99)] if WHAT == 'offcpu' else []
	records = [user_sample(20, 1), user_sample(30, 1)] + wait + [user_sample(1000000050, 1)] + sums
elif WHAT == 'oldkernel':
	events = [event(1, 'cycles', 0, 0)]
	START += [record(10, pack('IIQQQ', PID, PID, ANON, 4096, 0) + pack('IIQQII', 0, 0, 0, 0, 0, 0) + text('//anon') + sid(12), 2)]
	records = [sample(20, 1, [IN_USER, LEAF, ANON + 16, MAIN])]
elif WHAT == 'text':
	records = HYBRID_RECORDS[:2] + [b'a command says\nsomething\n'] + HYBRID_RECORDS[2:4] + [b'\n'] + HYBRID_RECORDS[4:] + [b'and ends.\n']
features = [(3, writer.counted('elsewhere')), (5, writer.counted('7.0')), (6, writer.counted('x86_64'))]
if WHAT != 'unnamed':
	features += [(12, writer.event_desc(events))]
if FORM == 'file':
	features.insert(0, (2, program.build_id_entry(writer, 0)))
writer.write(OUT, FORM, events, features, b''.join(START + records), program.build_id_entry(writer, 67))
