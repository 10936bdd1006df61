#!/usr/bin/env python3
"""Compares two texts of perf script, perf's and ours, sample by sample: same_stacks.py PERF OURS

Frames are compared by their offset in the page, since a function may have several names, and perf
counts addresses of programs at fixed places from another start. perf's addresses of kernel-walked
frames are return addresses; ours are those of the calls, a byte before. Address 0 is no frame. Ours
is 0, [no mapping], where perf has an address outside all mappings, which a recording does not keep:
as many of perf's unknown frames in an unknown file are left out.
Prints how many samples are equal; for how many perf has a part of the frames, in their order (where
it got lost, its stack ends with [unknown] frames or a wrong one); how many differ; and how many
only perf has. Of the first three samples that differ, it prints the frames around the difference.
"""
import re
import sys


def read(path):
	samples, key, frames, lost = {}, None, [], 0
	for line in open(path, encoding='utf-8', errors='replace'):
		line = line.rstrip('\n')
		if line.startswith('#'):
			continue
		if not line:
			if key:
				samples[key] = frames, lost
			key, frames, lost = None, [], 0
		elif line[0] != '\t':
			m = re.search(r'\s(?:\d+/)?(\d+)\s+(?:\[\d+\]\s+)?(\d+\.\d+): ', line)
			key = m and (m.group(1), m.group(2))
		else:
			m = re.match(r'^\s*([0-9a-f]+) (.*) \((.*)\)$', line)
			# Inlined frames have no code of their own.
			if not m or m.group(3) == 'inlined':
				continue
			if int(m.group(1), 16) or m.group(2) not in ('[unknown]', '[no mapping]'):
				nowhere = m.group(2) == m.group(3) == '[unknown]'
				frames.append((int(m.group(1), 16) & 0xfff, '[nowhere]' if nowhere else m.group(2)))
			lost += m.group(2) == '[no mapping]'
	return samples


def same(theirs, mine):
	return theirs - mine & 0xfff in (0, 1)


def is_part(few, many):
	rest = iter(many)
	return all(any(same(ip, m) for m in rest) for ip in few)


def went_astray(theirs, mine):
	"""perf's stack ends with a wrong frame, while ours continues to the program's start. Seen
	in libc's _nl_find_domain(): perf took a stale return address of the caller's last call of
	strlen() for the return address of this function. Also below _dl_fini() at a program's end: perf
	left it out, and ended with it behind its caller."""
	few = len(theirs) - 1
	return (0 < few < len(mine) - 1 and mine[-1][1] in ('_start', '__libc_start_main', 'clone3', '__clone3') and
		same(theirs[0][0], mine[0][0]) and is_part([ip for ip, _ in theirs[:few]], [ip for ip, _ in mine]))


def difference(theirs, mine):
	"""The number of frames, and those around the first one that differs, innermost first."""
	if theirs is None:
		return 'only ours has it'
	at = next((i for i, (t, m) in enumerate(zip(theirs, mine)) if not same(t[0], m[0])), min(len(theirs), len(mine)))
	part = slice(max(at - 2, 0), at + 4)
	return f'from frame {at} of {len(theirs)} and {len(mine)}: perf {theirs[part]} ours {mine[part]}'


perf, ours = read(sys.argv[1]), read(sys.argv[2])
equal = part = other = 0
for key, (mine, unmapped) in ours.items():
	theirs = perf[key][0] if key in perf else None
	if unmapped and theirs and unmapped == sum(f[1] == '[nowhere]' for f in theirs):
		theirs = [f for f in theirs if f[1] != '[nowhere]']
	mine = [f for f in mine if f[1] not in ('[truncated_stack]', '[broken_stack]', '[no_stack]')]
	while theirs and len(theirs) > 1 and theirs[-1][1] in ('[unknown]', '[nowhere]') and not any(same(theirs[-1][0], m[0]) for m in mine[len(theirs) - 1:]):
		theirs = theirs[:-1]
	a, b = [ip for ip, _ in mine], [ip for ip, _ in theirs or []]
	if theirs is not None and len(a) == len(b) and all(map(same, b, a)):
		equal += 1
	elif theirs is not None and len(b) < len(a) and (is_part(b, a) or went_astray(theirs, mine)):
		part += 1
	else:
		other += 1
		if other <= 3:
			print('not alike:', key, difference(theirs, mine), file=sys.stderr)
print(equal, part, other, len(set(perf) - set(ours)))
