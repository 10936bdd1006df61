#!/usr/bin/env python3
"""Reads a recording, by the manual page nsprof.data(5) and nothing else.

	read_recording.py FILE			everything in it, one line per item
	read_recording.py --blocks FILE		its blocks

It shares no code with nsprof, and is slow. Its purpose is to show that the page is enough to write
a reader. Names in comments are sections of the page. Damage is reported in lines that begin with
"damage"; the exit status is 1 if there are any.
"""
import struct
import subprocess
import sys
import zlib

from recording_samples import COPY_FULL, CUT, Damage, Samples, U64, UNMASKED, need, unzigzag
from recording_slice import sliced_elf
from recording_switches import Switches


# ---- Notation ----
class Bytes:
	"""A payload, or a part of it, read from front to back."""

	def __init__(self, raw, what):
		self.raw, self.at, self.what = raw, 0, what

	def left(self):
		return len(self.raw) - self.at

	def take(self, n):
		need(n <= self.left(), self.what + ' ends too early')
		self.at += n
		return self.raw[self.at - n:self.at]

	def fixed(self, form):
		return struct.unpack('<' + form, self.take(struct.calcsize('<' + form)))

	def u8(self):
		return self.take(1)[0]

	def varint(self):
		v = 0
		for shift in range(0, 70, 7):
			b = self.u8()
			v |= (b & 127) << shift
			if b < 128:
				need(v <= U64, self.what + ': varint beyond 64 bits')
				return v
		raise Damage(self.what + ': varint of more than 10 bytes')

	def svarint(self):
		return unzigzag(self.varint())

	def str(self, longest=4095):
		end = self.raw.find(0, self.at, self.at + longest + 1)
		need(end >= 0, self.what + ': text without its end')
		text = self.raw[self.at:end]
		self.at = end + 1
		return text.decode(errors='surrogateescape')


	def text(self):
		return self.str(16383).replace('\n', '\\n')


def unzstd(raw):
	done = subprocess.run(['zstd', '-dcq'], input=raw, capture_output=True)
	need(done.returncode == 0, 'zstd frame: ' + done.stderr.decode().strip())
	return done.stdout


# ---- File header, Block header, END and trailer ----
HEADER = struct.Struct('<I2H6I')
MAGIC = bytes([0x9e, 0x4e, 0x42, 0x0a])
INFO, STREAM, CAPTURE, LEDGER, END, TALLY, COUNTS = range(1, 8)
ZSTD, KEY, CONT, SLICE = 1, 2, 4, 8
BLOCK_MAX = TEXT_MAX = 16 << 20
CAPTURE_MAX = 256 << 20


def crc32c_table():
	table = []
	for v in range(256):
		for _ in range(8):
			v = v >> 1 ^ (0x82f63b78 if v & 1 else 0)	# 0x1edc6f41, reflected
		table.append(v)
	return table


CRC32C = crc32c_table()


def crc32c(*parts):
	v = 0xffffffff
	for part in parts:
		for b in part:
			v = v >> 8 ^ CRC32C[(v ^ b) & 255]
	return v ^ 0xffffffff


class Block:
	def __init__(self, raw, at):
		head = raw[at:at + 32]
		need(len(head) == 32, 'cut within a block header')
		(_, self.type, self.flags, self.stored, self.raw_len, self.seq, self.samples, self.events,
		 check) = HEADER.unpack(head)
		self.at, self.end = at, at + 32 + self.stored
		need(head[:4] == MAGIC, 'no block magic')
		need(max(self.stored, self.raw_len) <= BLOCK_MAX, 'block too long')
		need(self.end <= len(raw), 'cut within a block')
		stored = raw[at + 32:self.end]
		need(crc32c(head[:28] + bytes(4), stored) == check, 'wrong checksum')
		self.stored_bytes = stored

	def payload(self):
		if not self.flags & ZSTD:
			need(self.type == STREAM or self.stored == self.raw_len, 'two lengths')
			return self.stored_bytes
		out = unzstd(self.stored_bytes)
		need(len(out) == self.raw_len, 'raw length')
		return out


# ---- EVENTS ----
EVENTS = {
	1: ('dso', 'id buildid:id major minor inode generation size mtime:svarint mntns deleted:u8 path:str'),
	2: ('proc', 'time serial pid ppid start pids:pids mntns pidns userns flags:u8 comm:str exe:str root:str cgroup:str'),
	3: ('mmap', 'time pid tid start length offset prot flags dso path:str'),
	4: ('comm', 'time pid tid exec:u8 comm:str'),
	5: ('fork', 'time pid tid ppid ptid'),
	6: ('exit', 'time pid tid ppid ptid'),
	7: ('cgroup', 'id path:str'),
	8: ('ksymbol', 'time address length gone:u8 name:str'),
	9: ('pressure', 'time level cause'),
	10: ('absence', 'time kind cpu cgroup:str'),
	11: ('container', 'time node flags:u8 quota period usage periods throttled waited cgroup:str runtime:str id:str name:str '
			  'image:str pod:str namespace:str uid:str'),
	12: ('budget', 'time kind count cgroup:str byuser:u8 uid'),
	13: ('event', 'time index role leader type config config1 config2 frequency period name:str modifier:str unit:str filter:str '
		      'fields:text callgraph:more dumpsize:more maxstack:more'),
	14: ('schedstat', 'time pid tid run wait slices'),
	15: ('wakeup', 'time pid tid cpu'),
	16: ('toggle', 'time on:u8'),
}


class Event:
	def __init__(self, name, fields):
		self.name, self.fields = name, fields


def read_event(b, last):
	"""One event, and the time to which the next one is relative. The event is None if its type
	is unknown."""
	kind = b.u8()
	body = Bytes(b.take(b.varint()), 'event %d' % kind)
	if kind not in EVENTS:
		return None, last
	name, layout = EVENTS[kind]
	fields = {}
	for field in layout.split():
		field, _, form = field.partition(':')
		if field == 'time':
			last = last + body.svarint() & U64
			v = last
		elif form == 'id':
			n = body.u8()
			need(n <= 20, 'build-id too long')
			v = body.take(n).hex()
		elif form == 'pids':
			n = body.varint()
			need(n <= 8, 'too many pids')
			v = [body.varint() for _ in range(n)]
		elif form == 'more':	# may be missing
			v = body.varint() if body.left() else 0
		else:
			v = getattr(body, form or 'varint')()
		fields[field] = v
	return Event(name, fields), last


# ---- STREAM BLOCKS: Payload; Order and dependence ----
class Stream:
	def __init__(self, block, version):
		b = Bytes(block.payload(), 'STREAM')
		self.method = b.u8()
		n_order, n_events, n_here, self.symbols = (b.varint() for _ in range(4))
		need(self.method < (16 if version == 3 else 4), 'method')
		n_switches, n_switch_code, n_bits = (b.varint(), b.varint(), b.varint()) if self.method & 4 else (0, 0, 0)
		need(n_order + n_events + 4 * (self.symbols + n_switches) == block.raw_len, 'raw length')
		both = b.take(n_here)
		switch_code, bits = b.take(n_switch_code), b.take(n_bits)
		self.switches = Switches(switch_code, n_switches, bits, self.method & 2) if n_switches else None
		if self.method & 1:
			both = unzstd(both)
		need(len(both) == n_order + n_events, 'bytes of ORDER and EVENTS')
		self.code = b.take(b.left())
		order = Bytes(both[:n_order], 'ORDER')
		self.order, is_sample = [], True	# True for each sample, False for each event
		while order.left():
			n = order.varint()
			need(len(self.order) + n <= block.samples + block.events, 'ORDER beyond what the header says')
			self.order += [is_sample] * n
			is_sample = not is_sample
		need(self.order.count(True) == block.samples and self.order.count(False) == block.events, 'counts of the header')
		events, last = Bytes(both[n_order:], 'EVENTS'), 0
		self.events = []
		for _ in range(block.events):
			event, last = read_event(events, last)
			self.events.append(event)
		need(not events.left(), 'bytes behind the last event')


# ---- TALLY and COUNTS ----
TALLY_COLUMNS = 'second cpu kept cut dropped own lost throttled throttled_ns lost_sideband'.split()
COUNTS_COLUMNS = 'cpu events count samples periods lost enabled running event throttled throttled_ns throttled_samples'.split()


def read_table(raw):
	b = Bytes(raw, 'table')
	rows, columns = b.varint(), b.varint()
	table = []
	for _ in range(columns):
		column, v = Bytes(b.take(b.varint()), 'column'), 0
		need(rows <= column.left(), 'column too short')
		table.append([])
		for _ in range(rows):
			v = v + column.svarint() & U64
			table[-1].append(v)
		need(not column.left(), 'column too long')
	return list(zip(*table))


# ---- The whole file ----
class Recording:
	"""items(): everything in file order, as (what, thing); self.damage is complete at the end."""

	def __init__(self, path):
		self.raw = open(path, 'rb').read()
		self.damage = []
		self.samples = None		# sample decoder; None: until the next KEY block
		head = Bytes(self.raw, 'file header')
		need(head.take(8) == b'NSPROF\r\n', 'not a recording')
		self.version, self.header_size, machine, flags, self.wall, self.start = head.fixed('4I2Q')
		need(self.version in (2, 3), 'version %d is not known' % self.version)
		need(64 <= self.header_size <= 4096 and machine == 62, 'file header')

	def hurt(self, at, what):
		self.damage.append((at, what))
		return 'damage', 'at %d: %s' % (at, what)

	def blocks(self):
		"""Each complete block in file order, or a report of damage."""
		at, whole = self.header_size, True
		while at < len(self.raw) and self.raw[at + 8:] != b'NSPROFX\n':
			try:
				block = Block(self.raw, at)
			except Damage as e:
				if whole:
					yield self.hurt(at, e)
				whole = False
				at = self.raw.find(MAGIC, at + 1)
				if at < 0:
					return
				continue
			whole = True
			yield 'block', block
			at = block.end

	def items(self):
		seq, capture, index, end = 0, None, [], None
		for what, block in self.blocks():
			if what == 'damage':
				yield what, block
				continue
			if block.seq != seq:
				yield self.hurt(block.at, 'blocks %d to %d are missing' % (seq, block.seq - 1))
				self.samples = None	# up to the next KEY block
				capture = None
			seq = block.seq + 1
			try:
				if block.type == STREAM:
					if block.flags & KEY:
						self.samples = Samples(self.version)
					yield from self.stream(block)
				elif block.type == CAPTURE:
					capture = self.capture(block, capture)
					if capture and capture[3] == len(capture[2]):
						yield 'capture', capture
						capture = None
				elif block.type == END:
					end = block
					self.end(block, index)
				else:
					yield from self.other(block)
			except Damage as e:
				yield self.hurt(block.at, 'block %d: %s' % (block.seq, e))
				if block.type == STREAM:
					self.samples = None
			index.append((block.at, block.samples, block.type, block.flags))
		if end is None:
			yield self.hurt(len(self.raw), 'no END: the file was cut')

	def stream(self, block):
		s = Stream(block, self.version)
		events, switches = iter(s.events), []
		try:
			switches = s.switches.read() if s.switches else []
		except Damage as e:	# all else can be decoded
			yield self.hurt(block.at, 'block %d: %s' % (block.seq, e))
		switches.reverse()
		if not self.samples:
			yield self.hurt(block.at, '%d samples are lost: what they continue is' % block.samples)
		else:
			self.samples.sym.feed(s.code, s.symbols, s.method & 2)
			self.samples.begin_marks(s.method & 8, s.switches.marks if s.switches else [])
		for is_sample in s.order:
			if not is_sample:
				event = next(events)
				while event and event.name == 'wakeup' and switches and switches[-1].time < event.fields['time']:
					yield 'switch', switches.pop()
				if event:
					yield 'event', event
			elif self.samples:
				try:
					sample = self.samples.sample()
					while switches and switches[-1].time < sample.time:
						yield 'switch', switches.pop()
					yield 'sample', sample
				except Damage as e:	# events can always be decoded
					yield self.hurt(block.at, 'block %d: %s' % (block.seq, e))
					self.samples = None
		while switches:
			yield 'switch', switches.pop()
		if self.samples:
			self.samples.finish()

	def capture(self, block, begun):
		b = Bytes(block.payload(), 'CAPTURE')
		if block.flags & CONT:
			need(begun, 'CONT of no capture')
			kind, id, so_far, size, sliced = begun
		else:
			kind, id, size = b.fixed('IIQ')
			so_far, sliced = b'', block.flags & SLICE
			need(size <= CAPTURE_MAX, 'capture too large')
			if sliced:
				return kind, id, self.unsliced(b, size), size, sliced
		so_far += b.take(b.left())
		need(len(so_far) <= size, 'capture longer than its size')
		return kind, id, so_far, size, sliced

	# SLICED ELF FILES
	def unsliced(self, b, size):
		symbols, n_code, n_text = b.varint(), b.varint(), b.varint()
		need(max(n_text, size) <= TEXT_MAX, 'text or file too long')
		code, text = b.take(n_code), b.take(b.left())
		if len(text) != n_text:
			text = unzstd(text)
			need(len(text) == n_text, 'length of the text')
		elf = sliced_elf(symbols, code, Bytes(text, 'text'))
		need(len(elf) == size, 'size of the sliced file')
		return elf

	def end(self, block, index):
		raw = block.payload()
		need(not raw or self.damage or [struct.unpack_from('<QIHH', raw, at) for at in range(0, len(raw), 16)] == index,
		     'END is not of these blocks')
		need(self.raw[block.end:] == struct.pack('<Q8s', block.at, b'NSPROFX\n'), 'trailer')

	def other(self, block):
		if block.type == INFO:
			b = Bytes(block.payload(), 'INFO')
			while b.left():
				yield 'info', (b.str(), b.str())
		elif block.type == LEDGER:
			raw = block.payload()
			yield 'ledger', struct.unpack('<%dQ' % (len(raw) // 8), raw)
		elif block.type in (TALLY, COUNTS):
			columns = TALLY_COLUMNS if block.type == TALLY else COUNTS_COLUMNS
			for row in read_table(block.payload()):
				if self.version == 3:	# columns that are missing
					row += (0,) * (len(columns) - len(row))
				yield 'tally' if block.type == TALLY else 'counts', dict(zip(columns, row))


def fields(d):
	return ' '.join('%s=%s' % (k, '[%s]' % ','.join(map(str, v)) if isinstance(v, list) else v) for k, v in d.items())


def show(what, x, version):
	if what == 'sample':
		flags = ''.join(' ' + name for bit, name in ((COPY_FULL, 'full'), (UNMASKED, 'unmasked'), (CUT, 'cut')) if x.flags & bit)
		print('sample time=%d pid=%d tid=%d cpu=%d period=%d cgroup=%d%s chain=%s' %
		      (x.time, x.pid, x.tid, x.cpu, x.period, x.cgroup, flags, ','.join('%x' % a for a in x.chain)),
		      'stack=%x+%d crc=%08x' % (x.lo, 8 * len(x.words), zlib.crc32(struct.pack('<%dQ' % len(x.words), *x.words))),
		      ' '.join('%s=%x' % r for r in x.regs.items()) if x.regs else 'no registers',
		      *['event=%d payload=%d crc=%08x' % (x.event, len(x.payload), zlib.crc32(x.payload))] * (version == 3))
	elif what == 'block':
		print('block at=%d type=%d flags=%d stored=%d seq=%d samples=%d' % (x.at, x.type, x.flags, x.stored, x.seq, x.samples))
	elif what == 'event':
		print('event', x.name, fields(x.fields))
	elif what == 'switch':
		print('event switch time=%d cpu=%d pid=%d tid=%d %s' % (x.time, x.cpu, x.pid, x.tid, ('in', 'out', 'preempted')[x.kind]))
	elif what == 'capture':
		print('capture kind=%d id=%d bytes=%d crc=%08x' % (x[0], x[1], len(x[2]), zlib.crc32(x[2])))
	elif what == 'info':
		print('info %s=%s' % x)
	elif what == 'ledger':
		print('ledger', *x)
	else:
		print(what, fields(x) if isinstance(x, dict) else x)


def main(argv):
	sys.stdout.reconfigure(errors='surrogateescape')
	try:
		recording = Recording(argv[-1])
	except Damage as e:
		sys.exit('%s: %s' % (argv[-1], e))
	for what, x in recording.blocks() if '--blocks' in argv else recording.items():
		show(what, x, recording.version)
	return 1 if recording.damage else 0


if __name__ == '__main__':
	sys.exit(main(sys.argv))
