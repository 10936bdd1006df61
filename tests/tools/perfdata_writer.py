"""Writes perf.data from scratch, for made_perfdata.py and made_events.py: in either byte order, as
a file or in the pipe format.

Source of the layout: tools/perf/Documentation/perf.data-file-format.txt and
include/uapi/linux/perf_event.h.
"""
import re
import struct
import subprocess

IP, TID, TIME, READ, CALLCHAIN, CPU, PERIOD, RAW, IDENTIFIER, CGROUP = 1, 2, 4, 16, 32, 128, 256, 1 << 10, 1 << 16, 1 << 21


class Writer:
	def __init__(self, order):
		self.order = order

	def pack(self, fmt, *values):
		return struct.pack(self.order + fmt, *values)

	def counted(self, s):
		raw = text(s, 64)
		return self.pack('I', len(raw)) + raw

	def record(self, kind, body, misc=0):
		return self.pack('IHH', kind, misc, 8 + len(body)) + body

	def flags(self, *bits):
		"""A machine of the other byte order allocates bit fields from the other end of each byte."""
		raw = sum(1 << b for b in bits).to_bytes(8, 'little')
		return raw if self.order == '<' else bytes(int('{:08b}'.format(x)[::-1], 2) for x in raw)

	def attribute(self, size, kind, config, period, sample_type, read_format, *flags):
		head = self.pack('IIQQQQ', kind, size, config, period, sample_type, read_format)
		return (head + self.flags(*flags) + bytes(512))[:size]

	def event_desc(self, events):
		"""@events: (attribute, ids, name)"""
		body = self.pack('II', len(events), len(events[0][0]))
		return body + b''.join(a + self.pack('I', len(i)) + self.counted(name) + self.ids(i) for a, i, name in events)

	def ids(self, ids):
		return self.pack('%dQ' % len(ids), *ids)

	def write(self, path, form, events, features, data, behind_head=b''):
		"""@features: (number, body); @behind_head: records of the pipe format that are a feature of the file."""
		magic = b'PERFILE2' if self.order == '<' else b'2ELIFREP'
		if form == 'pipe':
			out = magic + self.pack('Q', 16) + b''.join(self.record(64, a + self.ids(i)) for a, i, _ in events)
			out += b''.join(self.record(80, self.pack('Q', n) + body) for n, body in features) + behind_head + data
		else:
			size = len(events[0][0]) + 16
			attrs = 104 + 8 * sum(len(i) for _, i, _ in events)
			start = attrs + size * len(events)
			table, at = b'', start + len(data) + 16 * len(features)
			for _, body in features:
				table += self.pack('QQ', at, len(body))
				at += len(body)
			out = magic + self.pack('8Q4Q', 104, size, attrs, size * len(events), start, len(data), 0, 0,
						sum(1 << n for n, _ in features), 0, 0, 0)
			out += b''.join(self.ids(i) for _, i, _ in events)
			at = 104
			for a, i, _ in events:
				out += a + self.pack('QQ', at, 8 * len(i))
				at += 8 * len(i)
			out += data + table + b''.join(body for _, body in features)
		open(path, 'wb').write(out)


def text(s, room=8):
	raw = (s if isinstance(s, bytes) else s.encode()) + b'\0'
	return raw + bytes(-len(raw) % room)


def tool(*command):
	return subprocess.run(command, check=True, capture_output=True, text=True).stdout


class Program:
	"""What must be known about a binary: its functions, executable segment and build-id."""

	def __init__(self, path):
		self.path = path
		self.symbols = {name: int(at, 16) for at, name in re.findall(r'^(\w+) [tT] (\w+)$', tool('nm', path), re.M)}
		segment = re.search(r'LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x(\w+) 0x\w+ R E', tool('readelf', '-lW', path))
		self.offset, self.vaddr, self.size = (int(n, 16) for n in segment.groups())
		self.build_id = bytes.fromhex(re.search(r'Build ID: (\w+)', tool('readelf', '-n', path)).group(1))

	def build_id_entry(self, w, kind):
		name = text(self.path, 64)
		return w.pack('IHHi', kind, 2 | 1 << 15, 36 + len(name), -1) + self.build_id.ljust(20, b'\0') + \
			w.pack('BBH', len(self.build_id), 0, 0) + name
