#!/usr/bin/env python3
"""Makes a perf.data of threads whose times on and off the CPU are known, and says what they are.

	made_waits.py WHAT PROGRAM OUT KALLSYMS

One process, "made", with threads that call app_outer or app_middle of PROGRAM (tests/targets/spin.c)
and wait in the kernel, whose symbols go to KALLSYMS. WHAT:

	every	each time a thread leaves the CPU, there is a sample
	some	only of every third one, on the average
	lost	as every, but five switches are missing
	many	as some, with so many samples that several threads read them
	early	as every, for longer; polls does so for 92 % of the time, and idles, which is there from the
		beginning and polls, too, runs once
	late	as early, but polls for 88 %, and idles runs later
	middle	as early, but idles runs in the middle. Then busy is there, too: it polls for half of the
		rest, and sleeps

Prints a line for each thread and way: "THREAD FUNCTION REASON STATE NS", and "on THREAD NS".
"""
import random
import sys

from perfdata_writer import CALLCHAIN, CPU, IDENTIFIER, IP, PERIOD, TID, TIME, Program, Writer, text

WHAT, PROGRAM, OUT, KALLSYMS = sys.argv[1:]
writer = Writer('<')
pack, record, program = writer.pack, writer.record, Program(PROGRAM)
KIND = IP | TID | TIME | CALLCHAIN | CPU | PERIOD | IDENTIFIER
PID, BASE, IN_KERNEL, IN_USER = 4711, 0x555500000000, 2 ** 64 - 128, 2 ** 64 - 512
US, MS, START = 1000, 1000000, 5000000000
OUTER, MIDDLE, MAIN = (BASE + program.symbols[f] + 4 - program.vaddr for f in ('app_outer', 'app_middle', 'main'))
# Kernel stacks as Linux 6.1 has them, leaf first.
NAMES = ['schedule', 'futex_wait_queue', 'futex_wait', 'do_nanosleep', 'hrtimer_nanosleep', 'exit_to_user_mode_loop', 'io_schedule',
	 'folio_wait_bit_common', 'exc_page_fault', 'ep_poll', 'do_epoll_wait', 'irqentry_exit_to_user_mode', 'asm_sysvec_apic_timer_interrupt']
KERNEL = {name: 0xffffffff81000000 + 0x1000 * i for i, name in enumerate(NAMES)}
WAYS = {	# user leaf, kernel stack, reason, preempted, ns
	'lock': (OUTER, ['schedule', 'futex_wait_queue', 'futex_wait'], '[futex]', False, 300 * US),
	'sleep': (MIDDLE, ['schedule', 'do_nanosleep', 'hrtimer_nanosleep'], '[sleep]', False, 2 * MS),
	'fault': (OUTER, ['io_schedule', 'folio_wait_bit_common', 'exc_page_fault'], '[page fault]', False, 90 * US),
	'poll': (MIDDLE, ['schedule', 'ep_poll', 'do_epoll_wait'], '[epoll]', False, 9 * MS),
	'slice': (OUTER, ['schedule', 'exit_to_user_mode_loop', 'irqentry_exit_to_user_mode', 'asm_sysvec_apic_timer_interrupt'], '', True, 50 * US),
}
NAME = {OUTER: 'app_outer', MIDDLE: 'app_middle'}
rnd = random.Random(4)


def event(number, name, config, period, *more):
	return writer.attribute(136, 1, config, period, KIND, 0, 8, 9, 13, 18, 23, 24, *more), (number,), name


def sid(time, tid, number=1):
	return pack('IIQIIQ', PID, tid, time, 1, 0, number)


def sample(time, tid, number, kernel, user, period):
	ips = ([IN_KERNEL] + [KERNEL[k] + 8 for k in kernel] if kernel else []) + [IN_USER, user, MAIN]
	return record(9, pack('QQIIQIIQ', number, ips[1], PID, tid, time, 1, 0, period) + pack('Q%dQ' % len(ips), len(ips), *ips), 1 if kernel else 2)


def switch(time, tid, out, preempted=False):
	return record(14, sid(time, tid), (1 << 13 if out else 0) | (1 << 14 if preempted else 0))


data, truth, on = [], {}, {}


def thread(tid, name, ways, until):
	"""It runs, waits in one way after the other, and runs again."""
	time, left, n = START + rnd.randrange(MS), 1, 0
	data.append((time, record(7, pack('IIIIQ', PID, PID, tid, PID, time) + sid(time, PID))))
	data.append((time + 1, record(3, pack('II', PID, tid) + text(name) + sid(time + 1, tid))))
	begun, time = time, time + rnd.randrange(10, 30) * US
	truth[name, '', '[starting]', '[runnable]'] = time - begun
	data.append((time, switch(time, tid, False)))
	while time < until:
		user, kernel, reason, preempted, ns = WAYS[ways[n % len(ways)]]
		run = rnd.randrange(40, 200) * US
		ns += rnd.randrange(ns // 20)
		on[name] = on.get(name, 0) + run
		for t in range(time + 20 * US, time + run, 100 * US):
			data.append((t, sample(t, tid, 2, [], user, 100 * US)))
		time += run
		left -= 1
		if left <= 0:
			data.append((time - 700, sample(time - 700, tid, 1, kernel, user, 1)))
			left = 1 if WHAT not in ('some', 'many') else rnd.choice((1, 2, 3, 4, 5))
		data.append((time, switch(time, tid, True, preempted)))
		key = name, NAME[user], reason, '[runnable]' if preempted else '[blocked]'
		truth[key] = truth.get(key, 0) + ns
		time += ns
		data.append((time, switch(time, tid, False)))
		n += 1
	data.append((time + 5 * US, record(4, pack('IIIIQ', PID, PID, tid, PID, time + 5 * US) + sid(time + 5 * US, tid))))
	on[name] += 5 * US
	data.append((time + 6 * US, switch(time + 6 * US, tid, True)))	# for good


def idles(tid, wakes, until, name='idles', ways=('poll',)):
	"""It is there, runs each time for a moment, and goes on waiting."""
	data.append((START, record(3, pack('II', PID, tid) + text(name) + sid(START, tid))))
	truth[name, '', '[before recording]', '[blocked]'] = wakes[0] + 20	# the recording begins so long before
	for i, wake in enumerate(wakes):
		time, end = START + wake, START + wakes[i + 1] if i + 1 < len(wakes) else until
		user, kernel, reason = WAYS[ways[i % len(ways)]][:3]
		data.append((time, switch(time, tid, False)))
		data.append((time + 100 * US, sample(time + 100 * US, tid, 1, kernel, user, 1)))
		data.append((time + 101 * US, switch(time + 101 * US, tid, True)))
		truth[name, NAME[user], reason, '[blocked]'] = end - time - 101 * US
	data.append((until, switch(until, tid, False)))


until = START + {'many': 12000, 'early': 1200, 'late': 1200, 'middle': 1200}.get(WHAT, 400) * MS
thread(5001, 'alternate', ['lock', 'sleep'], until)
thread(5002, 'mixed', ['lock', 'slice', 'fault', 'sleep', 'lock'], until)
thread(5003, 'polls', ['poll'] * 10 + ['sleep'] * {'early': 4, 'late': 6}.get(WHAT, 0), until)
if WHAT in ('early', 'late', 'middle'):
	idles(5004, [{'early': 100, 'late': 900, 'middle': 600}[WHAT] * MS], until)
if WHAT == 'middle':
	idles(5005, [600 * MS, 900 * MS], until, 'busy', ('poll', 'sleep'))
if WHAT == 'lost':
	gone = rnd.sample([i for i, (_, r) in enumerate(sorted(data)) if r[0] == 14], 5)
	data = [d for i, d in enumerate(sorted(data)) if i not in gone]
head = [
	record(3, pack('II', PID, PID) + text('made') + sid(START - 20, PID), 1 << 13),
	record(10, pack('IIQQQ', PID, PID, BASE, program.size + 4096, program.offset) + pack('IIQQII', 8, 1, 12345, 0, 5, 2) + text(PROGRAM) +
	       sid(START - 10, PID), 2),
	sample(START - 5, PID, 2, [], OUTER, 1),	# the process is known before its threads begin
]
events = [event(2, 'cpu-clock', 0, 100 * US), event(1, 'context-switches', 3, 1, 26)]
features = [(2, program.build_id_entry(writer, 0)), (3, writer.counted('elsewhere')), (5, writer.counted('6.1.0')), (6, writer.counted('x86_64')),
	    (12, writer.event_desc(events))]
writer.write(OUT, 'file', events, features, b''.join(head + [r for _, r in sorted(data)]))
with open(KALLSYMS, 'w') as f:
	f.write(''.join('%x T %s\n' % (at, name) for name, at in KERNEL.items()) + '%x T behind\n' % (0xffffffff81000000 + 0x1000 * len(NAMES)))
for key, ns in sorted(truth.items()):
	print(*(k or '-' for k in key), ns)
for name, ns in on.items():
	print('on', name, ns)
