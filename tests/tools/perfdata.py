#!/usr/bin/env python3
"""Derives other perf.data files from one: as other machines, other versions and accidents write
them.

	perfdata.py swap IN OUT		the other byte order
	perfdata.py attr N IN OUT	struct perf_event_attr of N bytes
	perfdata.py bare IN OUT		without sample_id_all
	perfdata.py killed IN OUT	data.size is 0, no features: perf was killed
	perfdata.py compressed2 IN OUT	records of perf 6.16: sizes from 64 KiB on wrap
	perfdata.py order IN OUT	records of a round in the reverse order
	perfdata.py lost N IN OUT	with a record, at the end, that N were lost
	perfdata.py losses IN		writes no file: prints the losses in the rings' records, and those the kernel counted for each event
	perfdata.py throttles IN	writes no file: prints a line per event, how often it was throttled and unthrottled, and the ns between
	perfdata.py mutate SEED IN OUT	bytes changed at random
	perfdata.py resize TYPE N IN OUT	the header of the first record of that type says N bytes; prints where it is
	perfdata.py check IN		writes no file: checks that each byte is where the format has it; prints samples, periods, and how many
					records of each type

Source of the layout: tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h.
"""
import random
import struct
import sys

IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD = 1 << 16, 1, 2, 4, 8, 64, 512, 128, 256
CALLCHAIN, REGS_USER, STACK_USER = 32, 1 << 12, 1 << 13
SAMPLE_ID_ALL = 1 << 18
SAMPLE, MMAP, LOST, COMM, EXIT, THROTTLE, UNTHROTTLE, FORK, MMAP2 = 9, 1, 2, 3, 4, 5, 6, 7, 10
LOST_SAMPLES, NAMESPACES, KSYMBOL, BPF_EVENT, CGROUP = 13, 16, 17, 18, 19
FINISHED_ROUND, COMPRESSED, COMPRESSED2 = 68, 81, 83


class File:
	def __init__(self, path):
		self.raw = bytearray(open(path, 'rb').read())
		(self.magic, self.hsize, self.attr_size, self.aoff, self.alen, self.doff, self.dlen, _,
		 _) = struct.unpack_from('<8s8Q', self.raw, 0)
		self.features = bytearray(self.raw[72:104])
		self.attrs = []
		for at in range(self.aoff, self.aoff + self.alen, self.attr_size):
			ioff, ilen = struct.unpack_from('<2Q', self.raw, at + self.attr_size - 16)
			ids = struct.unpack_from('<%dQ' % (ilen // 8), self.raw, ioff)
			self.attrs.append([bytearray(self.raw[at:at + self.attr_size - 16]), list(ids)])
		self.data = self.raw[self.doff:self.doff + self.dlen]
		self.bodies = []
		bits = [i for i in range(256) if self.features[i // 8] >> i % 8 & 1]
		for i, f in enumerate(bits):
			off, size = struct.unpack_from('<2Q', self.raw, self.doff + self.dlen + 16 * i)
			self.bodies.append((f, bytearray(self.raw[off:off + size])))

	def type_of(self, attr):
		return struct.unpack_from('<Q', attr, 24)[0]

	def records(self):
		at = 0
		while at + 8 <= len(self.data):
			_, _, size = struct.unpack_from('<IHH', self.data, at)
			yield self.data[at:at + size]
			at += size

	def write(self, path, order='<', swap=None, keep_features=True, dlen=None):
		out = bytearray(104)
		entries = []
		for attr, ids in self.attrs:
			entries.append((len(out), 8 * len(ids)))
			out += struct.pack('%s%dQ' % (order, len(ids)), *ids)
		aoff = len(out)
		for (attr, _), (off, size) in zip(self.attrs, entries):
			out += swap.attr(attr) if swap else attr
			out += struct.pack(order + '2Q', off, size)
		doff = len(out)
		out += self.data
		size = len(self.data) if dlen is None else dlen
		if keep_features:
			table = len(out)
			out += bytearray(16 * len(self.bodies))
			for i, (f, body) in enumerate(self.bodies):
				struct.pack_into(order + '2Q', out, table + 16 * i, len(out), len(body))
				out += body
		features = struct.unpack('<4Q', self.features) if keep_features else (0, 0, 0, 0)
		head = struct.pack(order + '8Q4Q', 104, len(self.attrs[0][0]) + 16, aoff, doff - aoff, doff, size, 0, 0, *features)
		out[0:104] = (b'PERFILE2' if order == '<' else b'2ELIFREP') + head
		open(path, 'wb').write(out)


class Swap:
	"""Each field by its own width; text stays."""
	def __init__(self, f):
		self.f = f

	def words(self, b, widths):
		out, at = bytearray(b), 0
		for w in widths:
			if at + w > len(b):
				break
			out[at:at + w] = b[at:at + w][::-1]
			at += w
		return out

	def rest(self, b, width):
		return self.words(b, [width] * (len(b) // width))

	def attr(self, a):
		out = self.words(a, [4, 4] + [8] * 4)
		# Bit fields are allocated from the other end of each byte.
		out[40:48] = bytes(int('{:08b}'.format(x)[::-1], 2) for x in a[40:48])
		out[48:] = self.words(a[48:], [4, 4, 8, 8, 8, 8, 4, 4, 8, 4, 2, 2, 4, 4, 8, 8][:len(a)])
		return out

	def sample(self, b, attr):
		kind, at, out = self.f.type_of(attr), 0, bytearray()

		def take(n, width):
			nonlocal at
			piece = b[at:at + n]
			at += n
			out.extend(self.rest(piece, width))
			return piece
		for bit, width in ((IDENTIFIER, 8), (IP, 8), (TID, 4), (TIME, 8), (ADDR, 8), (ID, 8), (STREAM_ID, 8), (CPU, 4),
				   (PERIOD, 8)):
			if kind & bit:
				take(8, width)
		if kind & CALLCHAIN:
			n, = struct.unpack('<Q', take(8, 8))
			take(8 * n, 8)
		if kind & REGS_USER:
			abi, = struct.unpack('<Q', take(8, 8))
			if abi:
				take(8 * bin(struct.unpack_from('<Q', attr, 80)[0]).count('1'), 8)
		if kind & STACK_USER:
			n, = struct.unpack('<Q', take(8, 8))
			if n:
				take(n, 8)
				take(8, 8)
		take(len(b) - at, 8)
		return bytes(out)

	def sid(self, b, kind):
		widths = []
		for bit, w in ((TID, [4, 4]), (TIME, [8]), (ID, [8]), (STREAM_ID, [8]), (CPU, [4, 4]), (IDENTIFIER, [8])):
			widths += w if kind & bit else []
		size = sum(widths)
		return b[:-size], bytes(self.words(b[-size:], widths))

	def record(self, rec):
		kind, misc, size = struct.unpack_from('<IHH', rec)
		head, body = struct.pack('>IHH', kind, misc, size), bytes(rec[8:])
		attr = self.f.attrs[0][0]
		widths = {MMAP: [4, 4, 8, 8, 8], MMAP2: [4, 4, 8, 8, 8, 4, 4, 8, 8, 4, 4], COMM: [4, 4], LOST: [8, 8],
			  FORK: [4] * 4 + [8], EXIT: [4] * 4 + [8], THROTTLE: [8] * 3, UNTHROTTLE: [8] * 3, CGROUP: [8],
			  KSYMBOL: [8, 4, 2, 2], BPF_EVENT: [2, 2, 4], LOST_SAMPLES: [8], NAMESPACES: [4, 4] + [8] * 15}
		if kind == SAMPLE:
			return head + self.sample(body, attr)
		if kind not in widths:
			return head + body
		body, sid = self.sid(body, self.f.type_of(attr))
		if kind == MMAP2 and misc & 1 << 14:
			w = [4, 4, 8, 8, 8]
			return head + bytes(self.words(body[:32], w)) + body[32:56] + bytes(self.words(body[56:64], [4, 4])) + body[64:] + sid
		return head + bytes(self.words(body, widths[kind])) + sid

	def feature(self, f, body):
		if f in (3, 4, 5, 6):			# a counted string
			return self.words(body, [4])
		return None				# other sections are not handled


def swap(src, dst):
	f = File(src)
	s = Swap(f)
	f.data = bytearray(b''.join(s.record(r) for r in f.records()))
	f.bodies = [(n, s.feature(n, b)) for n, b in f.bodies if s.feature(n, b) is not None]
	bits = 0
	for n, _ in f.bodies:
		bits |= 1 << n
	f.features = bytearray(struct.pack('<4Q', bits, 0, 0, 0))
	f.write(dst, '>', s)


def attr(size, src, dst):
	f = File(src)
	for a in f.attrs:
		b = (a[0] + bytearray(512))[:size]
		struct.pack_into('<I', b, 4, size)
		a[0] = b
	f.write(dst)


def bare(src, dst):
	f = File(src)
	kind = f.type_of(f.attrs[0][0])
	sid = 8 * sum(bool(kind & b) for b in (TID, TIME, ID, STREAM_ID, CPU, IDENTIFIER))
	out = bytearray()
	for r in f.records():
		t, misc, size = struct.unpack_from('<IHH', r)
		if t != SAMPLE and t < 64:
			r = struct.pack('<IHH', t, misc, size - sid) + bytes(r[8:-sid])
		out += r
	f.data = out
	for a in f.attrs:
		flags, = struct.unpack_from('<Q', a[0], 40)
		struct.pack_into('<Q', a[0], 40, flags & ~SAMPLE_ID_ALL)
	f.write(dst)


def compressed2(src, dst):
	f = File(src)
	out, run = bytearray(), bytearray()

	def flush():
		nonlocal run
		if run:
			whole = (16 + len(run) + 7) & ~7
			out.extend(struct.pack('<IHHQ', COMPRESSED2, 0, whole & 0xffff, len(run)))
			out.extend(run + bytes(whole - 16 - len(run)))
		run = bytearray()
	for r in f.records():
		if struct.unpack_from('<I', r)[0] == COMPRESSED:
			run += r[8:]
			continue
		flush()
		out += r
	flush()
	f.data = out
	f.write(dst)


def order(src, dst):
	f = File(src)
	out, held = bytearray(), []
	for r in f.records():
		if struct.unpack_from('<I', r)[0] == FINISHED_ROUND:
			out += b''.join(bytes(x) for x in reversed(held)) + bytes(r)
			held = []
		else:
			held.append(r)
	f.data = out + b''.join(bytes(x) for x in reversed(held))
	f.write(dst)


def lost(n, src, dst):
	f = File(src)
	last = [r for r in f.records() if struct.unpack_from('<I', r)[0] == COMM][-1]
	sid = bytes(last[-Check.SID:])
	f.data += struct.pack('<IHHQQ', LOST, 0, 24 + len(sid), 1, n) + sid
	f.write(dst)


def losses(src):
	f = File(src)
	kind = f.type_of(f.attrs[0][0])
	# After its id.
	behind = 0 if kind & IDENTIFIER else 8 * sum(bool(kind & b) for b in (STREAM_ID, CPU))
	told, counted = 0, [0] * len(f.attrs)
	for r in f.records():
		what, = struct.unpack_from('<I', r)
		if what == LOST:
			told += struct.unpack_from('<Q', r, 16)[0]
		elif what == LOST_SAMPLES:
			n, = struct.unpack_from('<Q', r, 8)
			of, = struct.unpack_from('<Q', r, len(r) - behind - 8)
			counted[next((i for i, a in enumerate(f.attrs) if of in a[1]), 0)] += n
	print(told, *counted)


def throttles(src):
	f = File(src)
	kind = f.type_of(f.attrs[0][0])
	# As for all records the time is that of the id fields; the one in the body was read
	# slightly earlier.
	behind = 8 * sum(bool(kind & b) for b in (ID, STREAM_ID, CPU, IDENTIFIER))
	since, seen = {}, [[0, 0, 0] for _ in f.attrs]
	for r in f.records():
		what, = struct.unpack_from('<I', r)
		if what not in (THROTTLE, UNTHROTTLE):
			continue
		ident, = struct.unpack_from('<Q', r, 16)
		time, = struct.unpack_from('<Q', r, len(r) - behind - 8)
		event = seen[next(i for i, a in enumerate(f.attrs) if ident in a[1])]
		if what == THROTTLE:
			event[0] += 1
			since[ident] = time
		elif ident in since:
			event[1] += 1
			event[2] += time - since.pop(ident)
	for event in seen:
		print(*event)


def mutate(seed, src, dst):
	rng = random.Random(seed)
	raw = bytearray(open(src, 'rb').read())
	for _ in range(rng.choice((1, 3, 20, 200))):
		# Most damage goes where lengths are: to the beginning, and to headers of records.
		at = rng.choice((rng.randrange(min(len(raw), 512)), rng.randrange(len(raw))))
		raw[at] = rng.choice((0, 0xff, rng.randrange(256), raw[at] ^ 1 << rng.randrange(8)))
	if rng.randrange(4) == 0:
		raw = raw[:rng.randrange(len(raw))]
	open(dst, 'wb').write(raw)


def resize(kind, size, src, dst):
	f = File(src)
	at = f.doff
	for r in f.records():
		if struct.unpack_from('<I', r)[0] == kind:
			break
		at += len(r)
	struct.pack_into('<H', f.raw, at + 6, size)
	open(dst, 'wb').write(f.raw)
	print(at)


class Wrong(Exception):
	pass


def need(what, ok):
	if not ok:
		raise Wrong(what)


class Body:
	"""Takes fields from the front; end() checks that nothing is left."""
	def __init__(self, what, data):
		self.what, self.data, self.at = what, bytes(data), 0

	def take(self, fmt):
		need(self.what + ': too short', self.at + struct.calcsize('<' + fmt) <= len(self.data))
		got = struct.unpack_from('<' + fmt, self.data, self.at)
		self.at += struct.calcsize('<' + fmt)
		return got if len(got) > 1 else got[0]

	def text(self, size):
		raw = self.take('%ds' % size)
		text = raw.split(b'\0')[0]
		need(self.what + ': text without end, or no zeros behind it', len(text) < size and not raw[len(text):].strip(b'\0'))
		return text.decode(errors='replace')

	def counted(self):
		return self.text(self.take('I'))

	def end(self):
		need('%s: %d bytes too long' % (self.what, len(self.data) - self.at), self.at == len(self.data))


class Check:
	"""For files with one event with IP, TID, TIME, CPU, PERIOD, CALLCHAIN and sample_id_all;
	each record by the comment at its type in include/uapi/linux/perf_event.h."""
	KIND = IP | 2 | 4 | CPU | PERIOD | CALLCHAIN
	SID = 24	# pid, tid; time; cpu, reserved

	def __init__(self, path):
		self.f = File(path)
		self.size = len(self.f.raw)
		self.samples = self.periods = self.lost = 0
		self.types = {}
		self.names = {}		# of files: name -> build-id
		self.comms = set()	# (pid, tid) with a name
		self.maps = {}		# pid -> ranges

	def header(self):
		f = self.f
		need('magic', f.magic == b'PERFILE2' and f.hsize == 104)
		need('one event', len(f.attrs) == 1 and f.alen == f.attr_size == 128)
		need('sections in the file', 104 <= f.aoff and f.aoff + f.alen <= f.doff and f.doff + f.dlen <= self.size)
		attr, ids = f.attrs[0]
		need('attr', struct.unpack_from('<I', attr, 4)[0] == len(attr) == 112 and len(ids) == 1)
		need('sample_type', f.type_of(attr) == self.KIND)
		need('sample_id_all', struct.unpack_from('<Q', attr, 40)[0] & SAMPLE_ID_ALL)

	def sample(self, b, misc):
		ip, pid, tid, _, _, zero, period, n = b.take('QIIQIIQQ')
		ips = b.take('%dQ' % n) if n > 1 else [b.take('Q')] * n
		b.end()
		need('sample: reserved', not zero)
		need('sample: markers', not n or ips[0] >= 1 << 64 - 12)
		part, wrong = None, 0
		for v in ips:
			if v >= 2 ** 64 - 4096:
				need('sample: kernel before user, each once', v == 2 ** 64 - (128 if part is None and v > 2 ** 64 - 200 else 512)
				     and part != v)
				part = v
			else:
				wrong += (part == 2 ** 64 - 128) != (v >= 1 << 63 and v < 0xffffffffff600000)
		need('sample: kernel addresses in the kernel part only', not wrong)
		need('sample: ip and mode are those of the innermost frame', not n or (ip == ips[1] and misc == (1 if ips[0] == 2 ** 64 - 128 else 2)))
		need('sample: a thread with a name', (pid, tid) in self.comms or pid == 0)
		self.samples += 1
		self.periods += period

	def record(self, kind, misc, body):
		self.types[kind] = self.types.get(kind, 0) + 1
		b = Body('record of type %d' % kind, body)
		if kind == SAMPLE:
			return self.sample(b, misc)
		if kind == FINISHED_ROUND:
			return b.end()
		need('record of type %d: room for an id' % kind, len(body) >= self.SID)
		b = Body(b.what, body[:-self.SID])
		rest = len(b.data)
		if kind in (MMAP, MMAP2):
			pid, _, start, size, _ = b.take('IIQQQ')
			bid = b''
			if kind == MMAP2:
				n, r1, r2, raw = b.take('BBH20s')
				bid = raw[:n] if misc & 1 << 14 else b''
				need('mmap2: build-id', not misc & 1 << 14 or (0 < n <= 20 and not r1 and not r2 and not raw[n:].strip(b'\0')))
				prot, _ = b.take('II')
				need('mmap2: code', prot & 4)
			name = b.text(rest - b.at)
			need('mmap: mode', misc & 7 == (1 if kind == MMAP else 2) and (kind == MMAP2 or pid == 0xffffffff))
			need('mmap: not empty, no overflow', 0 < size and start + size <= 1 << 64)
			need('two build-ids for ' + name, not name.startswith('/') or self.names.setdefault(name, bid) == bid)
		elif kind == COMM:
			self.comms.add(b.take('II'))
			b.text(rest - b.at)
		elif kind in (FORK, EXIT):
			b.take('IIIIQ')
		elif kind == LOST:
			self.lost += b.take('QQ')[1]
		elif kind == KSYMBOL:
			b.take('QIHH')
			b.text(rest - b.at)
		else:
			raise Wrong('type %d is not expected' % kind)
		b.end()
		need('record of type %d: reserved' % kind, not struct.unpack_from('<I', body, len(body) - 4)[0])

	def time(self, kind, body):
		if kind == SAMPLE:
			return struct.unpack_from('<Q', body, 16)[0]
		return struct.unpack_from('<Q', body, len(body) - 16)[0]

	def records(self):
		at, end, data, done, rounds = 0, len(self.f.data), self.f.data, 0, [0, 0]
		while at < end:
			need('record header in the data', at + 8 <= end)
			kind, misc, size = struct.unpack_from('<IHH', data, at)
			need('record at %d: size %d' % (at, size), size >= 8 and not size % 8 and at + size <= end)
			self.record(kind, misc, data[at + 8:at + size])
			if kind == FINISHED_ROUND:	# two rounds are sorted together, earlier ones are done
				done, rounds = rounds[0], [rounds[1], rounds[1]]
			else:
				t = self.time(kind, data[at + 8:at + size])
				need('record at %d: older than what was delivered' % at, t >= done)
				rounds[1] = max(rounds[1], t)
			at += size

	def build_ids(self, b):
		listed = {}
		while b.at < len(b.data):
			kind, misc, size, pid, bid, n, r1, r2 = b.take('IHHi20sBBH')
			name = b.text(size - 36)
			need('build-id of ' + name, kind == 0 and pid == -1 and misc in (0x8001, 0x8002) and 0 < n <= 20 and not r1 and not r2)
			need('build-id twice: ' + name, name not in listed)
			listed[name] = bid[:n]
		for name, bid in self.names.items():
			need('the build-id of ' + name + ' is listed', listed.get(name, b'') == bid)
		need("the kernel's build-id is listed", '[kernel.kallsyms]' in listed)

	def features(self):
		f = self.f
		at = f.doff + f.dlen + 16 * len(f.bodies)
		for i, (n, body) in enumerate(f.bodies):
			off, size = struct.unpack_from('<2Q', f.raw, f.doff + f.dlen + 16 * i)
			need('feature %d at its place' % n, off == at and size)
			at += size
			b = Body('feature %d' % n, body)
			if n == 2:
				self.build_ids(b)
			elif n in (3, 4, 5, 6):
				need('feature %d: text' % n, b.counted())
			elif n == 7:
				need('cpus', len(set(b.take('II'))) == 1)
			elif n == 10:
				need('memory', b.take('Q'))
			elif n == 11:
				for _ in range(b.take('I')):
					b.counted()
			elif n == 12:
				need('event: attr', b.take('II') == (1, 112) and b.take('112s') == bytes(f.attrs[0][0]))
				nids = b.take('I')
				need('event: name', b.counted())
				need('event: ids', [b.take('Q') for _ in range(nids)] == f.attrs[0][1])
			elif n == 21:
				first, last = b.take('QQ')
				need('times', 0 < first <= last)
			elif n == 29:
				need('clock', b.take('II') == (1, 1) and min(b.take('QQ')) > 0)
			else:
				raise Wrong('feature %d is not expected' % n)
			b.end()
		need('nothing behind the features', at == self.size)

	def run(self):
		self.header()
		self.records()
		self.features()
		print('samples', self.samples, 'periods', self.periods, 'lost', self.lost)
		print('types', ' '.join('%d:%d' % t for t in sorted(self.types.items())))


def check(src):
	try:
		Check(src).run()
	except Wrong as e:
		sys.exit('%s: %s' % (src, e))


def main(argv):
	what, args = argv[1], argv[2:]
	if what == 'killed':
		f = File(args[0])
		f.write(args[1], keep_features=False, dlen=0)
	elif what == 'resize':
		resize(int(args[0]), int(args[1]), args[2], args[3])
	elif what in ('attr', 'lost', 'mutate'):
		globals()[what](int(args[0]), args[1], args[2])
	elif what in ('check', 'losses', 'throttles'):
		globals()[what](args[0])
	else:
		globals()[what](args[0], args[1])


main(sys.argv)
