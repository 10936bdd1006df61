#!/usr/bin/env python3
"""Processed profiles of the Firefox Profiler, version 60: firefox_profile.py COMMAND FILE

check	prints what differs from src/types/profile.ts of the profiler, restated here; nothing when all is right
fold	"comm;frames COUNT" of all threads
times	"tid nanoseconds" of each sample, since the first
"""
import collections
import json
import sys

COLORS = 'transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey'.split()
wrong = []


def number(v):
	return isinstance(v, (int, float)) and not isinstance(v, bool)


def index(n, also=()):
	return lambda v: v in also if v is None or v == -1 else isinstance(v, int) and not isinstance(v, bool) and 0 <= v < n


def null(v):
	return v is None


def string(v):
	return isinstance(v, str)


def whole(v):
	return isinstance(v, int) and not isinstance(v, bool) and v >= 0


def whole_or(other):
	return lambda v: v == other and type(v) is type(other) or whole(v)


def expect(ok, what):
	if not ok:
		wrong.append(what)


def table(where, t, columns):
	"""All columns exist, each as long as the table declares, each value of its kind."""
	expect(set(t) == set(columns) | {'length'}, f'{where} has {sorted(t)}')
	for name, good in columns.items():
		column = t.get(name, [])
		expect(len(column) == t['length'], f'{where}.{name} is {len(column)} long')
		bad = [v for v in column if not good(v)]
		expect(not bad, f'{where}.{name} has {bad[:3]}')


def fields(where, o, must, may=()):
	missing, more = set(must) - set(o), set(o) - set(must) - set(may)
	expect(not missing and not more, f'{where} lacks {missing}, has {more}')
	for name, good in must.items():
		expect(name in o and good(o[name]), f'{where}.{name} is {o.get(name)!r}')


def check_meta(meta):
	flag = lambda v: v in (True, False)
	fields('meta', meta, {
		'interval': lambda v: number(v) and v > 0, 'startTime': number, 'processType': whole, 'product': string,
		'stackwalk': lambda v: v in (0, 1), 'version': whole, 'preprocessedProfileVersion': lambda v: v == 60,
		'markerSchema': lambda v: v == [], 'categories': lambda v: len(v) > 0, 'extra': lambda v: isinstance(v, list),
		'symbolicated': flag, 'usesOnlyOneStackType': flag, 'sourceCodeIsNotOnSearchfox': flag, 'importedFrom': string,
		'profilingStartTime': number, 'profilingEndTime': lambda v: v > 0,
	}, ('logicalCPUs', 'sampleUnits'))
	for c in meta['categories']:
		fields('category', c, {'name': string, 'color': lambda v: v in COLORS,
			'subcategories': lambda v: v[0] == 'Other' and all(map(string, v))})
	expect('grey' in [c['color'] for c in meta['categories']], 'no category is grey')
	if 'sampleUnits' in meta:
		expect(meta['sampleUnits'] == {'time': 'ms', 'eventDelay': 'ms', 'threadCPUDelta': 'ns'}, 'sampleUnits')
	for section in meta['extra']:
		for e in section['entries']:
			fields('entry', e, {'label': string, 'format': lambda v: v == 'string', 'value': string})


def check_shared(shared, meta, libs):
	sizes = {k: v['length'] for k, v in shared.items() if k != 'stringArray'}
	strings = index(len(shared['stringArray']))
	expect(all(map(string, shared['stringArray'])), 'stringArray has others')
	expect(len(set(shared['stringArray'])) == len(shared['stringArray']), 'stringArray has a string twice')
	frames, funcs = shared['frameTable'], shared['funcTable']
	table('stackTable', shared['stackTable'],
		{'frame': index(sizes['frameTable']), 'prefix': index(sizes['stackTable'], (None,))})
	early = [i for i, p in enumerate(shared['stackTable']['prefix']) if p is not None and p >= i]
	expect(not early, f'stacks {early[:3]} have no earlier prefix')
	table('frameTable', frames, {
		'address': whole_or(-1), 'inlineDepth': whole, 'category': index(len(meta['categories'])), 'subcategory': whole,
		'func': index(sizes['funcTable']), 'nativeSymbol': index(sizes['nativeSymbols'], (None,)), 'innerWindowID': null,
		'line': whole_or(None), 'column': null})
	for c, s in zip(frames['category'], frames['subcategory']):
		expect(s < len(meta['categories'][c]['subcategories']), f'no subcategory {s} in {c}')
	table('funcTable', funcs, {
		'name': strings, 'isJS': lambda v: v is False, 'relevantForJS': lambda v: v is False,
		'resource': index(sizes['resourceTable'], (-1,)), 'source': index(sizes['sources'], (None,)),
		'lineNumber': null, 'columnNumber': null})
	table('resourceTable', shared['resourceTable'],
		{'lib': index(len(libs), (None,)), 'name': strings, 'host': null, 'type': lambda v: v == 1})
	table('nativeSymbols', shared['nativeSymbols'],
		{'libIndex': index(len(libs)), 'address': whole, 'name': strings, 'functionSize': whole_or(None)})
	table('sources', shared['sources'], {'uuid': null, 'filename': strings})
	same = list(zip(funcs['name'], funcs['resource'], funcs['source']))
	expect(len(set(same)) == len(same), 'a function is there twice')
	# Frames inlined at an address belong to the symbol there, which contains the address and
	# has the library of their function.
	symbols = shared['nativeSymbols']
	for i, symbol in enumerate(frames['nativeSymbol']):
		if symbol is None:
			continue
		begin, lib = symbols['address'][symbol], symbols['libIndex'][symbol]
		expect(begin <= frames['address'][i] < begin + symbols['functionSize'][symbol], f'frame {i} is not in its symbol')
		resource = funcs['resource'][frames['func'][i]]
		expect(shared['resourceTable']['lib'][resource] == lib, f'frame {i} is in another library')
	for i, p in enumerate(shared['stackTable']['prefix']):
		f = shared['stackTable']['frame'][i]
		if frames['inlineDepth'][f]:
			outer = shared['stackTable']['frame'][p]
			expect(frames['address'][outer] == frames['address'][f] and
				frames['inlineDepth'][outer] == frames['inlineDepth'][f] - 1, f'stack {i} is inlined into another address')


def check_thread(t, meta, nstacks):
	fields('thread', t, {
		'processType': string, 'processStartupTime': number, 'processShutdownTime': null, 'registerTime': number,
		'unregisterTime': null, 'pausedRanges': lambda v: v == [], 'name': string, 'processName': string,
		'isMainThread': lambda v: v == (t['pid'] == t['tid']), 'pid': string, 'tid': string,
		'samples': lambda v: True, 'markers': lambda v: True})
	s = dict(t['samples'])
	kind = s.pop('weightType')
	expect(kind in ('samples', 'tracing-ms'), 'weightType')
	columns = {'stack': index(nstacks, (None,)), 'time': number, 'weight': (lambda v: v in (0, 1)) if kind == 'samples' else lambda v: number(v) and v >= 0}
	if 'sampleUnits' in meta:
		columns['threadCPUDelta'] = whole
	table(f'thread {t["tid"]}', s, columns)
	expect(s['time'] == sorted(s['time']), f'thread {t["tid"]} goes back in time')
	expect(all(0 <= v <= meta['profilingEndTime'] for v in s['time']), f'thread {t["tid"]} is not in the recording')
	for i, (stack, weight) in enumerate(zip(s['stack'], s['weight'])):
		expect((stack is None) == (weight == 0), f'row {i} has a stack and no weight, or the other way')
		# No CPU time where there was no sample, because the thread did not run.
		if stack is None and 'threadCPUDelta' in s:
			expect(s['threadCPUDelta'][i] == 0, f'row {i} has CPU time without a stack')
	for i in range(1, s['length']):
		if s['stack'][i - 1] is not None and 'threadCPUDelta' in s:
			lasts, before, own = (s['time'][i] - s['time'][i - 1]) * 1e6, *s['threadCPUDelta'][i - 1:i + 1]
			expect(lasts <= before + own + 1, f'row {i - 1} lasts {lasts} ns')
	table('markers', t['markers'], dict.fromkeys('data name startTime endTime phase category'.split(), null))


def check(d):
	expect(set(d) == {'meta', 'libs', 'shared', 'threads'}, f'profile has {sorted(d)}')
	check_meta(d['meta'])
	for lib in d['libs']:
		fields('lib', lib, dict.fromkeys('arch name path debugName debugPath breakpadId'.split(), string) |
			{'codeId': lambda v: v is None or string(v)})
	check_shared(d['shared'], d['meta'], d['libs'])
	for t in d['threads']:
		check_thread(t, d['meta'], d['shared']['stackTable']['length'])
	expect(d['threads'], 'no thread: the profiler refuses that')
	tids = [(t['pid'], t['tid']) for t in d['threads']]
	expect(len(set(tids)) == len(tids), 'a thread is there twice')
	for line in wrong[:20]:
		print(line)


def fold(d):
	shared = d['shared']
	names = [shared['stringArray'][shared['funcTable']['name'][f]] for f in shared['frameTable']['func']]
	paths = []
	for frame, prefix in zip(shared['stackTable']['frame'], shared['stackTable']['prefix']):
		paths.append((paths[prefix] if prefix is not None else []) + [names[frame]])
	lines = collections.Counter()
	for t in d['threads']:
		for stack, weight in zip(t['samples']['stack'], t['samples']['weight']):
			if stack is not None:
				# Milliseconds are those of waits, which folded text has in ns.
				lines[';'.join([t['name']] + paths[stack])] += round(weight * 1e6) if t['samples']['weightType'] == 'tracing-ms' else weight
	for line in sorted(lines, key=lambda s: s.encode()):
		print(line, lines[line])


def times(d):
	rows = [(t['tid'], round(time * 1e6)) for t in d['threads']
		for time, weight in zip(t['samples']['time'], t['samples']['weight']) if weight]
	first = min(time for tid, time in rows)
	for tid, time in rows:
		print(tid, time - first)


{'check': check, 'fold': fold, 'times': times}[sys.argv[1]](json.load(open(sys.argv[2])))
