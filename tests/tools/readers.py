#!/usr/bin/env python3
"""Reads perf script text with the patterns of other readers, restated: readers.py FILE

Prints one line per reader: its name, samples and frames. All readers must find all of them.
"""
import re
import sys

text = open(sys.argv[1], encoding='utf-8', errors='surrogateescape').read()
lines = text.split('\n')


def stackcollapse():
	"""FlameGraph: a comm up to a blank and a number; frames with a file in parentheses; only an
	empty line ends."""
	samples = frames = 0
	open_stack = False
	for line in lines:
		if line.startswith('#'):
			continue
		if line == '':
			samples += open_stack
			open_stack = False
		elif re.match(r'^(\S.+?)\s+(\d+)/*(\d+)*\s+', line):
			open_stack = True
			if not re.search(r':\s*(\d+)*\s+(\S+):\s*$', line):
				return samples, -1
		elif m := re.match(r'^\s*(\w+)\s*(.+) \((.*)\)', line):
			frames += 1
			if '->' in m.group(2):
				return samples, -2
		else:
			return samples, -3
	return samples, frames


def inferno():
	"""By words: the first one of digits, possibly with one '/', is the PID; a file in
	parentheses has no blanks."""
	samples = frames = 0
	open_stack = False
	for line in lines:
		if line.startswith('#'):
			continue
		if not line.strip():
			samples += open_stack
			open_stack = False
		elif not open_stack:
			words = line.split(' ')
			pids = [i for i, w in enumerate(words) if re.fullmatch(r'\d+(/\d+)?', w)]
			if not pids or ' '.join(words[:pids[0]]).strip() == '':
				return samples, -1
			open_stack = True
		else:
			pc, _, rest = line.strip().partition(' ')
			name, _, module = rest.rpartition(' ')
			if not re.fullmatch(r'[0-9a-f]+', pc) or not name or not re.fullmatch(r'\(\S*\)', module):
				return samples, -2
			frames += 1
	return samples, frames


def speedscope():
	samples = frames = 0
	for block in text.split('\n\n'):
		rows = [r for r in block.split('\n') if r and not r.startswith('#')]
		if not rows:
			continue
		if not re.match(r'^(\S.+?)\s+(\d+)(?:/?(\d+))?\s+', rows[0]) or not re.search(r' \d+\.\d+: ', rows[0]):
			return samples, -1
		if not re.search(r'(\S+):\s*$', rows[0]):
			return samples, -2
		samples += 1
		for r in rows[1:]:
			if not re.match(r'^\s*(\w+)\s*(.+) \((\S*)\)', r):
				return samples, -3
			frames += 1
	return samples, frames


def firefox():
	samples = frames = 0
	rows = iter(lines)
	for line in rows:
		if line == '' or line.startswith('#'):
			continue
		m = re.match(r'^(.*)\s+([\d.]+):', line)
		if not m or not re.match(r'^(.*)\s+(?:(\d+)/)?(\d+)\b', m.group(1)):
			return samples, -1
		samples += 1
		for r in rows:
			if not r.strip():
				break
			if not re.match(r'^\s*(\w+)\s*(.+) \(([^)]*)\)', r):
				return samples, -2
			frames += 1
	return samples, frames


for reader in (stackcollapse, inferno, speedscope, firefox):
	print(reader.__name__, *reader())
