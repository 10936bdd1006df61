#!/usr/bin/env python3
"""speedscope_stacks.py FILE [weights]: prints the stacks in a file that speedscope reads or wrote,
root first, each once, with the sum of its weights if requested; threads are merged. For perf script
text it uses the frame names that speedscope would. Source of the format: speedscope's
file-format-schema.json."""
import json
import re
import sys
from collections import Counter

text = open(sys.argv[1], encoding='utf-8', errors='replace').read()
sums = Counter()


def of_profile(profile, frames):
	if profile['type'] == 'sampled':
		for stack, weight in zip(profile['samples'], profile['weights']):
			sums[';'.join(frames[i] for i in stack)] += weight
		return
	stack, since = [], profile['startValue']
	for e in profile['events']:
		if e['at'] != since:
			sums[';'.join(frames[i] for i in stack)] += e['at'] - since
			since = e['at']
		if e['type'] == 'O':
			stack.append(e['frame'])
		elif stack.pop() != e['frame']:
			sys.exit('a call ends that is not the innermost one')


if text.startswith('{'):
	data = json.loads(text)
	for profile in data['profiles']:
		of_profile(profile, [f['name'] for f in data['shared']['frames']])
else:
	for block in re.split('\n\n+', text):
		rows = re.findall(r'^\t *[0-9a-f]+ (.+) \((\S*)\)$', block, re.M)
		if rows:
			sums[';'.join('??? (%s)' % f if name == '[unknown]' else name for name, f in reversed(rows))] += 1
for stack in sorted(sums):
	if stack:
		print(stack, *([round(sums[stack])] if 'weights' in sys.argv[2:] else []))
