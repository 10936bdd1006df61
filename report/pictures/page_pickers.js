// Chooses samples, groups and widths by the lists above the picture.

function options(id, label, wider) {
	const sums = new Map(), select = by(id);
	let all = 0;
	data.sides.forEach(function (s) {
		const name = s.threads.map(function (t) {
			return among(t, wider) ? LEVELS[id](t) : null;
		});
		for (let i = 0; i < s.n; i++)
			if (name[s.thread[i]] !== null) {
				sums.set(name[s.thread[i]], (sums.get(name[s.thread[i]]) || 0) + s.count[i]);
				all += s.count[i];
			}
	});
	const list = Array.from(sums).sort(function (a, b) { return b[1] - a[1] || (a[0] < b[0] ? -1 : 1); });
	if (chosen[id] && !sums.has(chosen[id]))
		chosen[id] = '';
	const make = function (value, text) {
		const o = new Option(text, value);
		o.selected = value === chosen[id];
		return o;
	};
	// Nobody can use a list of tens of thousands. Entries left out have the fewest samples.
	const shown = list.filter(function (e, i) { return i < 500 || e[0] === chosen[id]; });
	select.replaceChildren(make('', 'all ' + label + ' (' + list.length + ')'));
	for (const [name, n] of shown)
		select.append(make(name, name + ': ' + percent(n, all)));
	if (list.length > shown.length) {
		const rest = make('\n', (list.length - shown.length) + ' more, with fewer samples');
		rest.disabled = true;
		select.append(rest);
	}
	select.disabled = list.length < 2;
}

function pickers() {
	options('container', 'containers', []);
	options('process', 'processes', ['container']);
	options('thread', 'threads', ['container', 'process']);
	fieldPickers();
}

// Only some events have fields.
function fieldPickers() {
	const here = fields.filter(function (l) {
		return data.sides.some(function (s) {
			return s.thread.some(function (t) { return s.threads[t].values.has(l); });
		});
	});
	if (!here.includes(chosenField))
		chosenField = '';
	by('field').replaceChildren(new Option('none', '', false, !chosenField));
	for (const l of here)
		by('field').append(new Option(l.slice(6), l, false, l === chosenField));
	by('field-label').hidden = !here.length;
	by('value-label').hidden = !chosenField;
	options('value', 'values', PICKED);
}

by('field').addEventListener('change', function () {
	chosenField = by('field').value;
	chosen.value = '';
	pickers();
	showTimes();
	update(true);
});

for (const id of FILTERS)
	by(id).addEventListener('change', function () {
		chosen[id] = by(id).value;
		pickers();
		showTimes();
		update(true);
	});
for (const id of PICKED)
	by('lanes').append(new Option(id, id, false, id === lanes));
by('lanes').addEventListener('change', function () {
	lanes = by('lanes').value;
	showTimes();
	drawTimes();
});
by('lanes').disabled = !threads;

const GROUPS = [[], ['container'], ['process'], ['thread'], ['comm'], ['container', 'process'], ['container', 'comm'], ['container', 'process', 'thread'],
	['process', 'thread']];
for (const l of fields)
	GROUPS.push([l], ['container', l], [l, 'thread']);
if (!GROUPS.some(function (g) { return g.join() === levels.join(); }))
	GROUPS.push(levels);
for (const g of GROUPS)
	by('by').append(new Option(g.join(', ') || 'nothing', g.join(), false, g.join() === levels.join()));
by('by').addEventListener('change', function () {
	levels = by('by').value ? by('by').value.split(',') : [];
	regroup();
});
by('by').disabled = !threads;

by('widths').addEventListener('change', function () {
	widths = Number(by('widths').value);
	flame.zoom = 0;
	update(true);
});

// Shows another of several events: its counts, its unit and its facts.
function pickEvent(i) {
	const ev = data.meta.events[i], base = data.meta.sides[0];
	chosenEvent = ev;
	unit = ev.unit;
	data.sides[0] = decodeSide(i ? Object.assign({}, base, { ncounts: ev.ncounts, counts: ev.counts }) : base);
	facts = [factsOf(ev, base.meta)];
	clock = isClock();
	by('event').value = i;
	showFacts();
	pickers();
	showTimes();
	regroup();
}

if (chosenEvent) {
	data.meta.events.forEach(function (ev, i) {
		by('event').append(new Option(ev.name + ' (' + number(ev.samples) + ')', i, false, !i));
	});
	by('event-label').hidden = false;
	by('event').addEventListener('change', function () { pickEvent(Number(by('event').value)); });
}
