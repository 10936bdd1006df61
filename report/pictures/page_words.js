// Texts about samples, frames and changes: amounts with their units, shares, verdicts.

function fact(k, key) {
	const m = facts[k].find(function (f) { return f[0] === key; });
	return m ? m[1] : '';
}

// A clock counts ns; its name tells, unless it was renamed.
function isClock() { return fact(0, 'event_unit') ? fact(0, 'event_unit') === 'ns' : /^(cpu|task)-clock/.test(fact(0, 'event')); }

let clock = isClock();
const number = function (n) { return Math.round(n).toLocaleString('en'); };
const percent = function (n, all) { return (all ? 100 * n / all : 0).toFixed(2) + '%'; };

// Nanoseconds of CPU time.
function cpu(ns) {
	const [n, name] = ns < 1e6 ? [ns / 1e3, '\u00b5s'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
	return n.toPrecision(n >= 1000 ? 4 : 3) + ' ' + name + ' of CPU';
}

// Events that count other time than that of CPUs.
const TIME_EVENTS = new Map([['off-cpu', ' off the CPU'], ['wall', ' of wall time']]);

// What side k has, unless the periods of samples are counted.
function counted(k) { return fact(k, 'event') === 'off-cpu' ? 'waits' : 'samples'; }

// A count with its unit, plus CPU time if the event is a clock.
function amount(k, n) {
	const s = chosenEvent || data.meta.sides[k], time = TIME_EVENTS.get(fact(k, 'event'));
	if (unit === 'period' && time)
		return cpu(n).replace(' of CPU', time);
	if (unit === 'period')
		return clock ? cpu(n) : number(n) + ' ' + (fact(k, 'event') || 'events');
	const seconds = clock && s.samples ? n * s.period / s.samples / 1e9 : 0;
	return number(n) + ' ' + counted(k).slice(0, n === 1 ? -1 : undefined) + (seconds ? ', ' + seconds.toFixed(seconds < 10 ? 2 : 1) + ' s of CPU' : '');
}

function scaled(k, n) { return n * data.sides[k].scale; }

// The counts that are 100 % for side k: all of the side, or the total after if amounts are
// compared.
function whole(k) {
	if (!data.meta.amounts)
		return weights[k].total[0];
	return (scaled(1, weights[1].total[0]) || scaled(0, weights[0].total[0])) / data.sides[k].scale;
}

function points(i) {
	const all = weights.map(function (w, k) { return whole(k); });
	return 100 * ((all[1] ? weights[1].total[i] / all[1] : 0) - (all[0] ? weights[0].total[i] / all[0] : 0));
}

// A node's verdict, for what its width shows: self for a leaf, total for other nodes.
function verdict(i) {
	const t = view.tree, c = i ? view.frames.change[t.frame[i]] : view.frames.changeOfAll;
	return c ? (i && t.end[i] === i + 1 ? c.self : c.total) : null;
}

function changeText(what, c) {
	if (!c)
		return what + ': not tested, too few samples';
	if (c.p === null)
		return what + ': no verdict, change cannot be told from chance';
	return what + ': ' + (c.significant ? 'significant' : 'no more than chance') + ', p ' + c.p.toPrecision(2) + ', ' +
		(100 * c.low).toFixed(2) + ' to ' + (100 * c.high).toFixed(2) + ' points';
}

// Describes a node, one fact per line; the first line is its name.
function describe(i) {
	const t = view.tree, f = t.frame[i], lines = [i ? view.frames.name[f] : 'all'];
	data.sides.forEach(function (s, k) {
		const w = weights[k], all = whole(k);
		lines.push((diff ? s.label + ': ' : '') + amount(k, w.total[i]) + ' (' + percent(w.total[i], all) + '), self ' +
			amount(k, w.self[i]) + ' (' + percent(w.self[i], all) + ')');
	});
	if (diff && i) {
		const d = points(i), a = weights[0].total[i], b = weights[1].total[i];
		lines.push((a && !b ? 'vanished, ' : b && !a ? 'new, ' : '') + (d < 0 ? '' : '+') + d.toFixed(2) + ' points');
	}
	const found = i ? view.frames.change[f] : null;
	if (diff && found) {
		lines.push(changeText('as a function, total', found.total));
		lines.push(changeText('self', found.self));
	}
	if (i) {
		const kind = KIND[view.frames.kind[f]], more = [kind === 'leading' ? '' : kind, view.frames.dso[f], view.frames.srcline[f]];
		if (view.frames.source[f])
			more.push('name from ' + view.frames.source[f]);
		lines.push(more.filter(Boolean).join(' \u00b7 '));
	}
	return lines.filter(Boolean);
}
