#!/usr/bin/env python3
"""Damages a recording in many ways, and checks what nsprof reads of it.

	damaged_recordings.py FILE CUTS FLIPS SEED	FILE cut at each boundary of a block and after CUTS
							random bytes, and with FLIPS single bits flipped
	damaged_recordings.py --whole FILE		prints where the whole blocks end and their samples,
							"-" if not even the header is there

What is left is computed from the blocks as nsprof.data(5) describes them, not by nsprof: a cut
leaves the blocks before it, and nothing is missing if END is one of them. A flipped bit costs its
block and, if that has samples, those up to the next KEY block. Prints a line for each wrong answer,
then a summary as a comment.
"""
import json
import os
import random
import struct
import subprocess
import sys

from read_recording import crc32c

HEADER, BLOCK = 64, struct.Struct('<IHHIIIIII')
MAGIC, STREAM, KEY = 0x0a424e9e, 2, 2
WHOLE = -1	# where a recording is cut that lacks nothing
NSPROF = os.environ['NSPROF']


def blocks(data):
	"""(offset, end, type, flags, samples) of all whole blocks from the beginning."""
	at, out = HEADER, []
	while at + BLOCK.size <= len(data):
		magic, kind, flags, stored, _, _, samples, _, crc = BLOCK.unpack_from(data, at)
		end = at + BLOCK.size + stored
		if magic != MAGIC or end > len(data) or crc32c(data[at:at + 28], bytes(4), data[at + 32:end]) != crc:
			break
		out.append((at, end, kind, flags, samples))
		at = end
	return out


def info(name):
	r = subprocess.run([NSPROF, 'info', '--json', name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60)
	return r.returncode, json.loads(r.stdout) if r.stdout else None, r.stderr.decode(errors='replace')


class Damage:
	def __init__(self, data):
		self.data, self.blocks, self.runs, self.wrong = data, blocks(data), 0, 0

	def complain(self, what, why):
		self.wrong += 1
		print('%s: %s' % (what, why))

	def look(self, what, data, samples, cut_at):
		"""@samples None: the file may be refused."""
		with open('damaged', 'wb') as f:
			f.write(data)
		self.runs += 1
		status, got, said = info('damaged')
		if status not in (0, 1):
			self.complain(what, 'status %d: %s' % (status, said))
		elif got is None:
			if samples is not None or not said:
				self.complain(what, 'refused: ' + said)
		elif samples is not None:
			if got['samples'] != samples:
				self.complain(what, '%d samples, expected %d' % (got['samples'], samples))
			if cut_at is not None and got['damage'].get('cut_at', WHOLE) != cut_at:
				self.complain(what, 'whole up to %d, expected %d' % (got['damage'].get('cut_at', WHOLE), cut_at))
			if cut_at is not None and status != (cut_at != WHOLE):
				self.complain(what, 'status %d' % status)

	def cut(self, size):
		left = [b for b in self.blocks if b[1] <= size]
		if size < HEADER:
			return self.look('cut after %d' % size, self.data[:size], None, None)
		cut_at = WHOLE if len(left) == len(self.blocks) else left[-1][1] if left else HEADER
		self.look('cut after %d' % size, self.data[:size], sum(b[4] for b in left), cut_at)

	def flip(self, bit):
		at = bit // 8
		data = bytearray(self.data)
		data[at] ^= 1 << bit % 8
		hit = next((i for i, b in enumerate(self.blocks) if b[0] <= at < b[1]), None)
		samples = sum(b[4] for b in self.blocks)
		if hit is None:	# the header, which has no checksum, or the trailer
			samples = samples if at >= self.blocks[-1][1] else None
		elif self.blocks[hit][2] == STREAM:
			for b in self.blocks[hit:]:
				if b[2] == STREAM and b[3] & KEY and b is not self.blocks[hit]:
					break
				samples -= b[4]
		self.look('bit %d of byte %d' % (bit % 8, at), bytes(data), samples, None)


def main():
	if sys.argv[1] == '--whole':
		data = open(sys.argv[2], 'rb').read()
		found = blocks(data)
		print('%d %d' % (found[-1][1] if found else HEADER, sum(b[4] for b in found)) if len(data) >= HEADER else '-')
		return 0
	data, (cuts, flips, seed) = open(sys.argv[1], 'rb').read(), map(int, sys.argv[2:])
	rnd = random.Random(seed)
	d = Damage(data)
	for b in d.blocks:
		d.cut(b[1])
	d.cut(HEADER)
	d.cut(len(data) - 1)	# in the trailer
	for _ in range(cuts):
		d.cut(rnd.randrange(len(data)))
	for _ in range(flips):
		d.flip(rnd.randrange(8 * len(data)))
	print('# %d bytes in %d blocks with %d samples: %d damaged copies, %d wrong answers' % (len(data), len(d.blocks),
	      sum(b[4] for b in d.blocks), d.runs, d.wrong))
	return d.wrong != 0


sys.exit(main())
