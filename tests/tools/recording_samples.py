"""Samples of a recording, by the manual page nsprof.data(5) and nothing else, for
read_recording.py.

Comments name sections of the page, and so do names of methods where a section has paragraphs.
"""
import struct
from bisect import bisect_right

U64 = (1 << 64) - 1
M1, M2, M3 = 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb


class Damage(Exception):
	pass


def need(ok, what):
	if not ok:
		raise Damage(what)


def unzigzag(v):
	return v >> 1 ^ -(v & 1)


# ---- Models, Code, Numbers ----
GOALS = [[k if k <= s else 32752 + k for k in range(17)] for s in range(16)]
RATES = [2] * 4 + [3] * 5 + [4] * 12 + [5] * 22 + [6] * 46 + [7]


class Symbols:
	"""A sequence of symbols. The models are kept when the next block's symbols are fed."""

	def __init__(self):
		self.models = {}

	def feed(self, code, count, plain):
		self.code, self.at, self.symbols, self.plain = code, 0, count, plain
		if plain:
			need(len(code) == (count + 1) // 2, 'plain symbols: length')
		elif count:
			self.state = self.u16() << 16
			self.state |= self.u16()

	def u16(self):
		need(self.at + 2 <= len(self.code), 'code ends too early')
		self.at += 2
		return self.code[self.at - 2] | self.code[self.at - 1] << 8

	def take_plain(self):
		self.symbols -= 1
		need(self.symbols >= 0, 'more symbols than there are')
		self.at += 1
		return self.code[self.at - 1 >> 1] >> 4 * (self.at - 1 & 1) & 15

	def narrow(self, low, high):
		self.symbols -= 1
		need(self.symbols >= 0, 'more symbols than there are')
		self.state = (high - low) * (self.state >> 15) + (self.state & 32767) - low
		if self.state < 65536:
			self.state = self.state << 16 | self.u16()

	def flat(self):
		if self.plain:
			return self.take_plain()
		s = (self.state & 32767) >> 11
		self.narrow(2048 * s, 2048 * s + 2048)
		return s

	def symbol(self, *context):
		if self.plain:
			return self.take_plain()
		model = self.models.get(context)
		if model is None:
			model = self.models[context] = [[2048 * k for k in range(17)], 0]
		bounds, count = model
		s = bisect_right(bounds, self.state & 32767) - 1
		self.narrow(bounds[s], bounds[s + 1])
		r = RATES[min(count, 89)]
		model[0] = [c + (g - c >> r) for c, g in zip(bounds, GOALS[s])]
		model[1] = count + 1
		return s

	def number(self, *name):
		n = self.symbol(*name, 'LEN')
		n = 16 if n == 15 else n
		v = 0
		for j in range(n):
			if j == 0:
				v = self.symbol(*name, 'FIRST', n)
			elif j == 1:
				v = v << 4 | self.symbol(*name, 'SECOND', n, v)
			else:
				v = v << 4 | self.flat()
		return v

	def snum(self, *name):
		return unzigzag(self.number(*name))

	def small(self, *name):
		s = self.symbol(*name)
		return s if s < 15 else 15 + self.number(*name, 'MORE')

	def id(self, name, n):
		need(n > 0, 'id ' + name + ' of nothing')
		v = 0
		for j in reversed(range(max(1, (n - 1).bit_length() + 3 >> 2))):
			v = v << 4 | self.symbol(name, j, v & (16 ** max(3 - j, 0) - 1))
		need(v < n, 'id ' + name + ' too large')
		return v

	def finish(self):
		need(self.symbols == 0, 'symbols are left')
		if not self.plain:
			need(self.at == len(self.code), 'code is left')
			need(self.at == 0 or self.state == 65536, 'state at the end')


# ---- SAMPLES ----
REGS, STACK, COPY_FULL, UNMASKED, IP_TAIL, PERIOD, CGROUP, EVICT, BASE, CUT = 1, 2, 4, 8, 16, 32, 64, 128, 256, 512
PAYLOAD = 1024
BRACKETED = PERIOD | CGROUP | EVICT | BASE
REGISTERS = 'bp bx r12 r13 r14 r15 ax cx dx si di r8 r9 r10 r11'.split()


def mix(x):
	x = (x ^ x >> 30) * M2 & U64
	x = (x ^ x >> 27) * M3 & U64
	return x ^ x >> 31


class Thread:
	def __init__(self, pid, tid):
		self.pid, self.tid = pid, tid
		self.sp = self.cgroup = self.event = self.lo = self.hi = 0
		self.flags, self.node = [0] * 8, [0] * 8	# by event modulo 8
		self.places, self.place = [], 8		# latest first: sp, ip, words, node; the last symbol PLACE
		self.regs = [0] * 15
		self.shadow = {}	# address: word, which is not 0


class Cpu:
	def __init__(self):
		self.event = 0
		self.last = [0, 0]	# threads, as entry + 1


class Clock:
	def __init__(self):
		self.time = self.step = self.period = 0


class Sample:
	def __init__(self, **fields):
		self.__dict__.update(fields)


class Samples:
	"""Everything that a decoder keeps since the last KEY block."""

	def __init__(self, version):
		self.version = version
		self.sym = Symbols()
		self.dictionary, self.defined = [], 0
		self.nodes = [(0, 0)]		# parent and address; node 0 is the empty chain
		self.threads, self.cpus, self.clocks = [], {}, {}
		self.payloads = Payloads(self.sym)
		self.full_words = 0
		self.last_cpus = [0, 0, 0]
		self.has_marks, self.marks, self.marked = False, [], 0
		self.cpu_guess, self.thread_guess, self.event_guess = [0] * 1024, [-1] * 1024, [0] * 1024
		self.reg_guess = [(0, [('value', 0)] * 15)] * 1024
		self.recent = [0] * 15
		self.words = Words(self)

	def begin_marks(self, has_marks, marks):
		self.has_marks, self.marks = has_marks, list(reversed(marks))

	def finish(self):
		self.sym.finish()
		need(not self.marks, 'marks are left')

	def define(self):
		self.defined = self.defined + self.sym.snum('DEF') & U64
		self.dictionary.append(self.defined)
		need(len(self.dictionary) <= 1 << 20, 'too many dictionary entries')
		return self.defined

	def known(self, name):
		return self.dictionary[self.sym.id(name, len(self.dictionary))]

	def sample(self):
		sym = self.sym
		mark = self.mark()
		number = mark.cpu if mark else self.cpu()
		cpu = self.cpus.setdefault(number % 1024, Cpu())
		entry = self.marked_thread(mark) if mark else self.thread(cpu)
		t = self.threads[entry]
		if self.version == 3:
			self.event(cpu, t, mark)
			clock = (number + 389 * t.event) % 4096
		else:
			clock = number % 1024
		clock, slot = self.clocks.setdefault(clock, Clock()), t.event % 8
		# flags
		flags = t.flags[slot] if sym.symbol('FLAGS_HIT') else sym.number('FLAGS')
		need(flags < (2048 if self.version == 3 else 1024) and not (flags & CUT and flags & COPY_FULL), 'flags')
		t.flags[slot] = flags & ~BRACKETED
		# evictions
		while flags & EVICT:
			which = sym.number('EVICT')
			if not which:
				break
			need(which <= len(self.threads), 'eviction of no thread')
			gone = self.threads[which - 1]
			gone.shadow, gone.lo, gone.hi = {}, 0, 0
		# cgroup, period, time
		if flags & CGROUP:
			t.cgroup = sym.number('CGROUP')
		if flags & PERIOD:
			clock.period = clock.period + sym.snum('PERIOD') & U64
		clock.step = mark.time - clock.time & U64 if mark else clock.step + sym.snum('TIME') & U64
		clock.time = clock.time + clock.step & U64
		# sp
		which, place = 8, None
		if flags & REGS and self.version == 3:
			which = sym.symbol('PLACE', t.event % 4, t.place)
			if which != 8:
				need(which < len(t.places), 'PLACE')
				place = t.places[which]
				t.sp = place[0]
		if flags & REGS and not place:
			t.sp = t.sp + sym.snum('SP') & U64
		words = self.stack(t, flags, place) if flags & STACK else []
		if not flags & STACK:
			t.lo = t.hi = 0
		ip = None
		if flags & REGS:
			how = sym.symbol('IP_NEW')
			need(how < 2 or (how == 2 and place and place[1]), 'IP_NEW')
			ip = (self.known('IP') if how == 0 else self.define()) if how < 2 else place[1]
			self.registers(t, ip, self.words.seen if flags & STACK else [])
		chain = self.chain(t, slot, place)
		if flags & REGS:
			t.place = which
			if place:
				t.places.remove(place)
			t.places = [(t.sp, ip, t.hi - t.lo >> 3, t.node[slot])] + t.places[:7]
		if flags & IP_TAIL:
			need(ip is not None, 'IP_TAIL without ip')
			chain.append(ip)
		payload = self.payloads.payload(t.event, entry, t.pid, t.tid) if flags & PAYLOAD else b''
		regs = dict(zip(REGISTERS, t.regs), sp=t.sp, ip=ip) if flags & REGS else None
		return Sample(time=clock.time, pid=t.pid, tid=t.tid, cpu=number, period=clock.period, cgroup=t.cgroup,
			      event=t.event, payload=payload, flags=flags, regs=regs, chain=chain, lo=t.lo, words=words)

	def mark(self):
		if not self.has_marks:
			return None
		self.marked = self.sym.symbol('MARK', self.marked)
		need(self.marked < 2, 'MARK')
		need(not self.marked or self.marks, 'no mark is left')
		return self.marks.pop() if self.marked else None

	def marked_thread(self, mark):
		for entry, t in enumerate(self.threads):
			if (t.pid, t.tid) == (mark.pid, mark.tid):
				return entry
		self.threads.append(Thread(mark.pid, mark.tid))
		need(len(self.threads) <= 1 << 18, 'too many threads')
		return len(self.threads) - 1

	def cpu(self):
		a, b, c = self.last_cpus
		slot = mix(a + (b << 20) + (c << 40) & U64) % 1024
		hit = self.sym.symbol('CPU_HIT')
		cpu = self.cpu_guess[slot] if hit else self.sym.number('CPU')
		self.cpu_guess[slot] = cpu
		self.last_cpus = [cpu, a, b]
		return cpu

	def thread(self, cpu):
		sym = self.sym
		slot = mix((cpu.last[0] << 32) + cpu.last[1] & U64) % 1024
		how = sym.symbol('THREAD')
		if how == 0:
			entry = cpu.last[0] - 1
		elif how == 1:
			entry = self.thread_guess[slot]
		elif how == 2:
			pid = sym.number('PID')
			entry = len(self.threads)
			self.threads.append(Thread(pid, pid + sym.snum('TID') & U64))
			need(entry < 1 << 18, 'too many threads')
		else:
			need(how == 3, 'THREAD')
			entry = sym.number('THREAD_ID')
		need(0 <= entry < len(self.threads), 'no such thread')
		self.thread_guess[slot] = entry
		cpu.last = [entry + 1, cpu.last[0]]
		return entry

	def event(self, cpu, t, mark):
		sym = self.sym
		slot = mix((t.event << 32) + cpu.event) % 1024
		event = sym.symbol('EVENT', 16 if mark else min(cpu.event, 15), min(t.event, 15))
		if event == 13:
			event = self.event_guess[slot]
		elif event == 14:
			event = t.event
		elif event == 15:
			event = sym.number('EVENT_NO')
		need(event < 1024, 'event')
		self.event_guess[slot] = cpu.event = t.event = event

	def stack(self, t, flags, place):
		lo = t.sp + 7 & ~7 & U64
		if flags & BASE:
			lo = lo + self.sym.snum('BASE') & U64
		need(lo and lo % 8 == 0, 'start of the copy')
		if flags & COPY_FULL:
			expected = self.full_words
		elif place and place[2]:
			expected = place[2]
		else:
			expected = max(t.hi - lo, 0) // 8
		size = expected + self.sym.snum('SIZE') & U64
		need(1 <= size <= 8192, 'size of the copy')
		if flags & COPY_FULL:
			self.full_words = size
		need(lo + 8 * size <= U64, 'copy beyond the address space')
		t.lo, t.hi = lo, lo + 8 * size
		self.words.copy(t.shadow, t.lo, t.hi)
		return [t.shadow.get(at, 0) for at in range(t.lo, t.hi, 8)]

	def chain(self, t, slot, place):
		sym = self.sym
		how = sym.symbol('CHAIN')
		need(how < 3 or (how == 3 and place), 'CHAIN')
		if how == 3:
			t.node[slot] = place[3]
		elif how:
			t.node[slot] = sym.id('NODE', len(self.nodes))
		if how == 2:
			for _ in range(sym.number('CHAIN_LEN')):
				address = self.define() if sym.symbol('CODE_NEW') else self.known('CODE')
				self.nodes.append((t.node[slot], address))
				t.node[slot] = len(self.nodes) - 1
			need(len(self.nodes) <= (1 << 20) + 1, 'too many nodes')
		chain, node = [], t.node[slot]
		while node:
			node, address = self.nodes[node]
			chain.append(address)
		need(len(chain) <= 1024, 'chain too long')
		return chain

	# Registers
	def registers(self, t, ip, seen):
		sym = self.sym
		slot = mix(ip) >> 54
		row_ip, row = self.reg_guess[slot]
		known = row_ip == ip
		prev = other = 0
		new = []
		for i in range(15):
			guess = self.guess_of(row[i], t.sp, seen) if known else None
			expected = t.regs[i] if guess is None else guess
			if i % 4 == 0:
				other = sym.symbol('OTHER', i // 4, known, other)
			if other >> i % 4 & 1:
				prev = sym.symbol('REG', i, prev, guess is not None, expected == t.regs[i])
				expected = self.register(i, prev, t, seen)
			new.append(expected)
		t.regs = new
		self.reg_guess[slot] = (ip, [self.form_of(v, t.sp, seen) for v in new])

	def form_of(self, v, sp, seen):
		if v in seen:
			return 'seen', seen.index(v)
		if abs(v - sp) < 16 << 20:
			return 'sp', v - sp
		return 'value', v

	def guess_of(self, form, sp, seen):
		kind, v = form
		if kind == 'seen':
			return seen[v] if v < len(seen) else None
		return sp + v & U64 if kind == 'sp' else v

	def register(self, i, how, t, seen):
		sym = self.sym
		if how == 0:
			return t.regs[i]
		if how == 1:
			return 0
		if how == 2:
			return t.sp + 8 * sym.snum('REG_SP') & U64
		if how == 3:
			j = sym.symbol('REG_SEEN', i)
			need(j < len(seen), 'REG_SEEN')
			return seen[j]
		if how == 4:
			return self.known('CODE')
		if how == 5:
			return self.define()
		need(how == 6, 'REG')
		j = sym.symbol('REG_RECENT')
		v = self.recent[j] if j < 15 else sym.number('REG_RAW') ^ t.regs[i]
		if v in self.recent:
			self.recent.remove(v)
		self.recent = [v] + self.recent[:14]
		return v


# ---- Payloads ----
class Payloads:
	def __init__(self, sym):
		self.sym = sym
		self.length, self.last = {}, {}	# by event
		self.rows = {}			# by slot
		self.after = {}			# by slot: check and word
		self.recent = {}		# by event modulo 16 and place

	def payload(self, event, entry, pid, tid):
		sym, kind = self.sym, event % 16
		if not sym.symbol('PAYLOAD_LEN_HIT', kind):
			self.length[event] = sym.number('PAYLOAD_LEN')
		length = self.length.get(event, 0)
		need(1 <= length <= 4096, 'length of the payload')
		n = length + 3 >> 2
		row = self.rows.setdefault(mix((event << 32) + entry) >> 55, [0] * 32)
		last = self.last.setdefault(event, [0] * 1024)
		other = others = 0
		for i in range(n):
			known = row[i] if i < 32 else last[i]
			expected, slot = known, None
			if other and i < 32:
				h = mix(other + i & U64)
				slot, check = h >> 50, h & 0xffffffff | 1
				if self.after.get(slot, (0, 0))[0] == check:
					expected = self.after[slot][1]
			if i % 4 == 0:
				others = sym.symbol('PAYLOAD_OTHER', kind, min(i // 4, 15), others)
			unexpected = others >> i % 4 & 1
			word = self.word(kind, i, known, last[i], pid, tid) if unexpected else expected
			if slot is not None:
				self.after[slot] = check, word
			if i < 32:
				row[i] = word
			last[i] = word
			if unexpected:
				other = mix((word << 32) + (i + 1 << 16) + event) | 1
		return struct.pack('<%dI' % n, *last[:n])[:length]

	def word(self, kind, i, known, last, pid, tid):
		sym = self.sym
		how = sym.symbol('PAYLOAD', kind, i % 32)
		need(how < 8, 'PAYLOAD')
		if how < 5:
			return (0, last, known, tid, pid)[how]
		recent = self.recent.setdefault((kind, i % 32), [0] * 15)
		if how == 5:
			j = sym.symbol('PAYLOAD_RECENT', i % 32)
			need(j < 15, 'PAYLOAD_RECENT')
			word = recent[j]
			del recent[j]
		else:
			word = known + sym.snum('PAYLOAD_DIFF', kind) & 0xffffffff if how == 6 else sym.number('PAYLOAD_NEW', kind)
			need(word < 1 << 32, 'word of the payload')
			recent.pop()
		recent.insert(0, word)
		return word


# ---- Words ----
HISTORY, SLOTS, END_DISTANCE = 65536, 16384, 16383


def slot_and_check(x):
	y = ((x ^ x >> 32) & U64) * M1 & U64
	return y >> 50, y


class Entry:
	__slots__ = 'distance', 'kind', 'value', 'check', 'before'

	def __init__(self, distance, kind, value):
		self.distance, self.kind, self.value = distance, kind, value
		self.check = self.before = 0


class Words:
	def __init__(self, samples):
		self.samples, self.sym = samples, samples.sym
		self.history = []		# all entries; only the last 65536 count
		self.first_table = [0] * SLOTS
		self.second_table = [(0, 0)] * SLOTS
		self.seen = []

	def copy(self, shadow, lo, hi):
		"""One copy: gives the shadow the copy's words from lo to hi."""
		self.lo, self.hi, self.first = lo, hi, hi
		self.seen, self.codes, self.code_at, self.last = [], [0, 0, 0], hi, [0, 0]
		self.shadow = shadow
		# The places of the shadow, from hi down, as they are before this copy.
		self.places = [at for at in range(hi - 8, lo - 8, -8) if at in shadow]
		self.old = {at: shadow[at] for at in self.places}
		self.next_place = 0
		same = self.sym.number('SAME')
		if not same:
			return
		need(same - 1 <= len(self.places), 'SAME')
		for at in self.places[max(0, same - 17):same - 1]:
			self.pass_place(at, self.old[at], *self.form(at, self.old[at]))
		self.next_place = same - 1
		for at in self.places[same - 1:]:
			del shadow[at]
		h, on, ended = 15, 0, False
		while not ended:
			h, on, ended = self.op(h, on)

	def form(self, at, word):
		"""The kind and value with which a place is passed."""
		if word < self.lo or word > self.hi:
			return 0, word
		if word in self.seen:
			return 2, self.seen.index(word)
		return 1, word - at & U64

	def pass_place(self, at, word, kind, value):
		if kind == 0:
			self.codes = [word] + self.codes[:2]
			self.code_at = at
		elif kind == 1:
			self.seen = [word] + self.seen[:7]
		else:
			self.seen.insert(0, self.seen.pop(value))
		self.last = [4 * value + kind & U64, self.last[0]]
		self.first = at

	def counts(self, number):
		return number and len(self.history) - HISTORY <= number < len(self.history)

	def leads(self, number):
		"""The place to which the distance of a counting entry leads; None: the end."""
		at = self.first - 8 * self.history[number].distance
		return at if at >= self.lo else None

	def contexts(self):
		x = (self.code_at - self.first) * M2
		if self.codes[0]:
			x += ((self.codes[1] * M2 & U64) ^ self.codes[2]) * M3 + self.codes[0] * M1
		return slot_and_check(x & U64), slot_and_check(self.last[0] * M2 + self.last[1] * M3 & U64)

	def add(self, at, kind, value, enter):
		"""A new entry; with enter it goes into the slot of the first table."""
		entry = Entry((self.first - at) // 8 if at is not None else END_DISTANCE, kind, value)
		if enter:
			(slot, y), _ = self.contexts()
			entry.check, entry.before = y & 0xffff, self.first_table[slot]
			self.first_table[slot] = len(self.history)
		self.history.append(entry)

	def place(self, at, word, kind=None, value=None, enter=True):
		"""A coded place, which has that word. It is passed with the computed kind and
		value, unless a kind is given."""
		if kind is None:
			kind, value = self.form(at, word)
		self.add(at, kind, value, enter)
		self.pass_place(at, word, kind, value)
		need(word, 'a word of 0')
		self.shadow[at] = word
		while self.next_place < len(self.places) and self.places[self.next_place] >= at:
			self.next_place += 1

	def op(self, h, on):
		"""What one OP means: the next h and on, and whether that was the end. e0, e1,
		before and e3 are the entries of OP 0 to 3."""
		(slot1, y1), (slot2, y2) = self.contexts()
		sym, history = self.sym, self.history
		e0, before = self.first_table[slot1], 0
		if not self.counts(e0) or history[e0].check != y1 & 0xffff:
			e0 = 0
		if e0:
			before = history[e0].before
			if not self.counts(before) or history[before].check != y1 & 0xffff:
				before = 0
		e1 = on if on != e0 and self.counts(on) else 0
		e3, check = self.second_table[slot2]
		if check != y2 & 0xffffffff:
			e3 = 0
		looked = e0 or e1
		off0 = self.code_at == self.first
		shadow_next = self.places[self.next_place] if self.next_place < len(self.places) else None
		i = h * 64 + 8 * off0 + 4 * (not e0) + 2 * (not e1)
		if looked:
			to = self.leads(looked)
			i += 16 * history[looked].kind + (to == shadow_next)
		else:
			i += 48
		op = sym.symbol('OP', i)
		number, ended = len(history), False
		if op in (0, 1, 2, 3):
			on, ended = self.history_run((e0, e1, before, e3)[op], sym.small('RUN', op) + 1)
		elif op == 4:
			run = sym.small('RUN', 4) + 1
			need(self.next_place + run <= len(self.places), 'run of the shadow')
			for at in self.places[self.next_place:self.next_place + run]:
				self.place(at, self.old[at])
			on = 0
		else:
			on = looked + 1 if looked else 0
			if op == 5:
				self.add(None, 0, 0, True)
				ended = True
			elif op <= 10:
				self.place(*self.value(op - 6, self.first - 8 * (sym.small('DIST', op - 6, off0) + 1)))
			else:
				need(looked, 'no distance to go by')
				self.place(*self.value(op - 11, to))
		if op != 0:
			self.second_table[slot2] = (number, y2 & 0xffffffff)
		return h % 4 * 4 + (0 if op <= 1 else 1 if op <= 4 else 2 if op <= 10 else 3), on, ended

	def history_run(self, number, run):
		for j in range(run):
			need(self.counts(number), 'a run of nothing')
			at, e = self.leads(number), self.history[number]
			if at is None:
				need(j == run - 1, 'a run beyond the end')
				self.add(None, 0, 0, True)
				return number + 1, True
			if e.kind == 2:
				need(e.value < len(self.seen), 'an entry that says nothing')
				word = self.seen[e.value]
			else:
				word = e.value + e.kind * at & U64
			self.place(at, word, e.kind, e.value, j == 0)
			number += 1
		return number, False

	def value(self, k, at):
		sym = self.sym
		need(at is not None and at >= self.lo, 'a place below lo')
		if k == 0:
			word = self.samples.known('WORD')
		elif k == 1:
			word = self.samples.define()
		elif k == 2:
			by = sym.symbol('REL_BY')
			need(by == 8 or by < len(self.seen), 'REL_BY')
			n = sym.number('REL') if by == 8 else sym.small('REL_NEAR')
			word = (at if by == 8 else self.seen[by]) + unzigzag(n >> 1) * (1 if n & 1 else 8) & U64
		elif k == 3:
			j = sym.symbol('SEEN')
			need(j < len(self.seen), 'SEEN')
			word = self.seen[j]
		else:
			is_next = self.next_place < len(self.places) and self.places[self.next_place] == at
			word = sym.number('RAW') ^ (self.old[at] if is_next else 0)
		return at, word
