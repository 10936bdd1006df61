"""Switches of a block of a recording, by the manual page nsprof.data(5) and nothing else, for
read_recording.py.
"""
import heapq

from recording_samples import Symbols, U64, mix, need

COMES, BLOCKED, PREEMPTED, MARK = range(4)	# KIND


class Switch:
	def __init__(self, time, cpu, pid, tid, kind):
		self.time, self.cpu, self.pid, self.tid, self.kind = time, cpu, pid, tid, kind


class Switches:
	def __init__(self, code, count, bits, plain):
		self.bits, self.n_bits, self.bytes = int.from_bytes(bits, 'little'), 0, len(bits)
		self.sym = Symbols()
		self.sym.feed(code, count, plain)
		self.threads, self.guess = [], [0] * 1024
		self.marks = []			# known after read(), in the order of samples

	def read(self):
		"""All switches in the order of time, and of CPUs at the same time."""
		runs = self.runs()
		self.marks = sorted((s for run in runs for s in run if s.kind == MARK), key=lambda s: (s.time, s.cpu))
		runs = [run for run in ([s for s in run if s.kind != MARK] for run in runs) if run]
		heads = [(run[0].time, i, 0) for i, run in enumerate(runs)]
		heapq.heapify(heads)
		switches = []
		while heads:
			_, i, at = heads[0]
			switches.append(runs[i][at])
			if at + 1 < len(runs[i]):
				heapq.heapreplace(heads, (runs[i][at + 1].time, i, at + 1))
			else:
				heapq.heappop(heads)
		return switches

	def runs(self):
		"""The switches and marks of each CPU, in the order of CPUs."""
		sym, first, cpu = self.sym, 0, -1
		runs = []
		for _ in range(sym.number('CPUS')):
			cpu += sym.number('CPU') + 1
			need(cpu < 1 << 32, 'number of the CPU')
			n = sym.number('COUNT') + 1
			first = first + sym.snum('FIRST') & U64
			runs.append(self.of_cpu(cpu, n, first))
		sym.finish()
		need(self.n_bits + 7 >> 3 == self.bytes, 'bits of switches')
		return runs

	def of_cpu(self, cpu, n, time):
		sym = self.sym
		recent, kind = [], BLOCKED
		run = []
		for _ in range(n):
			on = bool(recent) and kind in (COMES, MARK)
			marked = bool(recent) and kind == MARK
			last = recent[0] if recent else 0
			slot = mix((last << 32) + (recent[1] if len(recent) > 1 else 0)) % 1024
			time_kind = 6 if marked else last % 4 if on else 4 + (kind == PREEMPTED)
			if on:
				op = sym.symbol('OUT', last % 32, marked)
				if op == 3:
					thread, kind = last, MARK
				else:
					thread, kind = (last, op + 1) if op < 2 else self.other()
			else:
				op = sym.symbol('IN', last % 32, kind == PREEMPTED)
				kind = COMES
				if op < 13:
					need(op < len(recent), 'IN of nothing')
					thread = recent[op]
				elif op == 13:
					thread = self.guess[slot]
				elif op == 14:
					thread = sym.number('ID')
				else:
					thread, kind = self.other()
			need(thread < len(self.threads) and kind < 4, 'switch')
			time = time + self.time(time_kind) & U64
			run.append(Switch(time, cpu, *self.threads[thread], kind))
			if kind == COMES:
				self.guess[slot] = thread
			if thread in recent:
				recent.remove(thread)
			recent = [thread] + recent[:12]
		return run

	def raw(self, n):
		v = self.bits >> self.n_bits & (1 << n) - 1
		self.n_bits += n
		return v

	def time(self, kind):
		sym = self.sym
		op = sym.symbol('TIME', kind)
		if op == 15:
			return sym.number('FAR')
		if op == 0:
			return self.raw(6)
		top = 16 | sym.symbol('TOP', kind, op)
		return top << op + 1 | self.raw(op + 1)

	def other(self):
		sym = self.sym
		kind = sym.symbol('KIND')
		if sym.symbol('THREAD') != 1:
			return sym.number('ID'), kind
		pid = sym.number('PID')
		tid = pid + sym.snum('TID') & U64
		need(max(pid, tid) < 1 << 32, 'pid or tid')
		self.threads.append((pid, tid))
		return len(self.threads) - 1, kind
