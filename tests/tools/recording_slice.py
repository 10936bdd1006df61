"""SLICED ELF FILES of a recording, by that section of the manual page nsprof.data(5) and nothing
else, for read_recording.py."""
import struct

from recording_samples import Symbols, U64, need

HASH = 0x9e3779b1
# Operands of DW_CFA_* in DWARF: u unsigned, s signed, b a block, a an address.
OPERANDS = {1: 'a', 5: 'uu', 6: 'u', 7: 'u', 8: 'u', 9: 'uu', 10: '', 11: '', 13: 'u', 15: 'b', 16: 'ub', 17: 'us', 18: 'us', 19: 's',
	    20: 'uu', 21: 'us', 22: 'ub', 0x2e: 'u', 0x2f: 'uu'}
ADVANCE = {2: 1, 3: 2, 4: 4}
DEF_CFA, DEF_CFA_OFFSET = 12, 14


def digits(v):
	return min((v.bit_length() + 3) // 4, 15)


def hashed(v, shift):
	return (v * HASH & 0xffffffff) >> shift


def rotated(v):
	return (v << 3 | v >> 61) & U64


def uleb(v):
	out = bytearray()
	while v > 127:
		out.append(v & 127 | 128)
		v >>= 7
	return bytes(out) + bytes([v])


def sleb(v):
	out = bytearray()
	while not -64 <= v < 64:
		out.append(v & 127 | 128)
		v >>= 7
	return bytes(out) + bytes([v & 127])


class Symbol:
	value = size = info = at = 0
	name = b''


class Slice:
	def __init__(self, code, symbols, text):
		self.s = Symbols()
		self.s.feed(code, symbols, False)
		self.text = text	# a Bytes

	def head(self):
		return self.s.number('HEAD')

	def blob(self):
		return self.text.take(self.head())

	# Contents
	def read(self):
		n, m, has_frames = self.head(), self.head(), self.head()
		self.e_type, self.machine, self.entry = self.head(), self.head(), self.head()
		self.build_id, self.debuglink, self.debugdata = self.blob(), self.blob(), self.blob()
		self.segments, end = [], 0
		for _ in range(n):
			flags, vaddr = self.head(), end + self.head() & U64
			offset, filesz = vaddr - self.head() & U64, self.head()
			memsz = filesz + self.head() & U64
			end = vaddr + memsz & U64
			self.segments.append((flags, vaddr, offset, filesz, memsz))
		self.symbols, prev = [], Symbol()
		for _ in range(m):
			prev = self.symbol(prev)
			self.symbols.append(prev)
		self.frames = self.call_frames() if has_frames else b''
		self.s.finish()
		need(not self.text.left(), 'text is left')

	# Symbols of the file
	def symbol(self, prev):
		s, new = self.s, Symbol()
		new.at = s.symbol('AT', prev.at)
		need(new.at <= 2, 'AT')
		if new.at == 1:
			new.value = prev.value
		else:
			low = s.symbol('LOW', prev.value & 15)
			base = prev.value if new.at == 2 else prev.value + prev.size & U64
			new.value = ((base >> 4) + s.number('IN' if new.at == 2 else 'GAP') << 4 | low) & U64
		new.size = s.number('SIZE') ^ (prev.size if new.at == 1 else 0)
		kind = s.symbol('TYPE', prev.info)
		new.info = s.symbol('BIND', prev.info) << 4 | kind
		end = self.text.raw.find(0, self.text.at)
		need(end >= 0, 'name without its end')
		new.name = self.text.take(end + 1 - self.text.at)
		return new

	# Call frame information
	def call_frames(self):
		out, cies, self.index, self.fde_end = bytearray(), [], 0, 0
		while True:
			kind = self.s.symbol('KIND')
			if kind == 0:
				return bytes(out) + bytes(4)
			at = len(out)
			if kind == 1:
				need(len(cies) < 14, 'too many CIEs')
				cies.append(at)
				body = bytes(4) + self.blob()
			else:
				need(kind - 2 < len(cies), 'FDE without its CIE')
				body = struct.pack('<I', at + 4 - cies[kind - 2]) + self.fde()
			body += bytes(-(len(body) + 4) % 8)
			out += struct.pack('<I', len(body)) + body

	def fde(self):
		s = self.s
		base, left, value = self.fde_end, 0, None
		if self.symbols:
			self.index += s.number('SKIP')
			need(self.index < len(self.symbols), 'SKIP')
			sym = self.symbols[self.index]
			value, base = sym.value, max(sym.value, self.fde_end)
			left = value + sym.size - base & U64
			if left > sym.size:
				left = 0
		off = s.number('OFF', digits(left))
		begin = base + off & U64
		left = left - off if off < left else 0
		whole = int(begin == value)
		size = left if s.symbol('TO_END', whole, digits(left)) else s.number('RANGE', digits(left))
		self.fde_end = begin + size & U64
		return struct.pack('<QQB', begin, size, 0) + self.instructions(whole)

	def instructions(self, state):
		s, out = self.s, bytearray()
		self.saved, self.cfa, step = 0, 8, 15
		while True:
			high = s.symbol('OP_HIGH', state)
			byte = high << 4 | s.symbol('OP_LOW', hashed(state * 16 + high, 19))
			if not byte:
				return bytes(out)
			out.append(byte)
			after = None
			if byte in ADVANCE:
				out += s.number('ADVANCE').to_bytes(8, 'little')[:ADVANCE[byte]]
			if byte in ADVANCE or byte >> 6 == 1:
				after = 0x400 + hashed(state, 22)
			elif byte >> 6 == 2:
				v = s.symbol('SAVED', byte & 15, self.saved)
				v = s.number('SAVED_FAR') if v == 15 else v
				self.saved = min(v, 15)
				out += uleb(v)
			elif byte == DEF_CFA_OFFSET:
				step = s.symbol('STEP', step)
				self.cfa = rotated(s.number('CFA')) if step == 15 else self.cfa + (step - 7) * 8 & U64
				out += uleb(self.cfa)
				after = byte * 16 + step
			elif byte == DEF_CFA:
				out += uleb(s.number('OPERAND'))
				self.cfa = rotated(s.number('CFA'))
				out += uleb(self.cfa)
			elif byte >> 6 == 0:
				need(byte in OPERANDS, 'instruction %#x' % byte)
				for kind in OPERANDS[byte]:
					out += self.operand(kind)
			state = byte * 16 + self.saved if after is None else after

	def operand(self, kind):
		if kind == 's':
			return sleb(self.s.snum('OPERAND'))
		v = self.s.number('OPERAND')
		if kind == 'a':
			return struct.pack('<Q', v)
		return uleb(v) + (self.text.take(v) if kind == 'b' else b'')

	# The file
	def file(self):
		code = [(v, v + memsz) for flags, v, _, _, memsz in self.segments if flags & 1]
		lowest, highest = min((v for v, _ in code), default=0), max((end for _, end in code), default=0)
		local = [s for s in self.symbols if s.info >> 4 == 0]
		others = [s for s in self.symbols if s.info >> 4]
		symtab, strtab = bytearray(24), bytearray(1)
		for s in local + others:
			where = 1 if lowest <= s.value < highest else 0xfff1
			symtab += struct.pack('<IBBHQQ', len(strtab), s.info, 0, where, s.value, s.size)
			strtab += s.name
		note = struct.pack('<III', 4, len(self.build_id), 3) + b'GNU\0' + self.build_id
		note += bytes(-len(note) % 4)
		# name, type, flags, address, bytes or size, sh_addralign, info, size of an entry
		sections = [('.text', 8, 6, lowest, highest - lowest, 1, 0, 0),
			    ('.note.gnu.build-id', 7, 0, 0, note if self.build_id else b'', 4, 0, 0),
			    ('.eh_frame', 1, 0, 0, self.frames, 8, 0, 0),
			    ('.symtab', 2, 0, 0, bytes(symtab) if self.symbols else b'', 8, len(local) + 1, 24),
			    ('.strtab', 3, 0, 0, bytes(strtab) if self.symbols else b'', 1, 0, 0),
			    ('.gnu_debuglink', 1, 0, 0, self.debuglink, 4, 0, 0),
			    ('.gnu_debugdata', 1, 0, 0, self.debugdata, 1, 0, 0)]
		sections = [s for s in sections if s[4] or s[0] == '.text']
		names = b'\0' + b''.join(s[0].encode() + b'\0' for s in sections) + b'.shstrtab\0'
		sections.append(('.shstrtab', 3, 0, 0, names, 1, 0, 0))
		index = {s[0]: i + 1 for i, s in enumerate(sections)}
		out = bytearray(64)
		for flags, vaddr, offset, filesz, memsz in self.segments:
			out += struct.pack('<IIQQQQQQ', 1, flags, offset, vaddr, vaddr, filesz, memsz, 4096)
		headers = bytearray(64)
		name_at = 1
		for name, kind, flags, addr, data, align, info, entsize in sections:
			out += bytes(-len(out) % (16 if name == '.text' else align))
			size = data if name == '.text' else len(data)
			link = index['.strtab'] if name == '.symtab' else 0
			headers += struct.pack('<IIQQQQIIQQ', name_at, kind, flags, addr, len(out), size, link, info, align, entsize)
			name_at += len(name) + 1
			out += b'' if name == '.text' else data
		out += bytes(-len(out) % 8)
		abi = 3 if any(s.info & 15 == 10 for s in self.symbols) else 0
		n = len(self.segments)
		out[:64] = struct.pack('<4s5B7xHHIQQQIHHHHHH', b'\x7fELF', 2, 1, 1, abi, 0, self.e_type, self.machine, 1, self.entry,
				       64 if n else 0, len(out), 0, 64, 56, n, 64, len(sections) + 1, len(sections))
		return bytes(out + headers)


def sliced_elf(symbols, code, text):
	"""The file; its text is read from front to back."""
	s = Slice(code, symbols, text)
	s.read()
	return s.file()
