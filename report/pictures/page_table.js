// The table of functions.

function cell(row, text, name) {
	const td = document.createElement(name || 'td');
	td.textContent = text;
	row.append(td);
	return td;
}

// The smaller p of self and total, as in nsprof diff's table.
function pText(change) {
	const known = change ? [change.self, change.total].filter(function (c) { return c && c.p !== null; }) : [];
	const best = known.sort(function (a, b) { return a.p - b.p; })[0];
	return best ? best.p.toPrecision(2) + (known.some(function (c) { return c.significant; }) ? ' *' : '') : '';
}

function table() {
	const all = weights.map(function (w, k) { return whole(k) || 1; });
	const share = function (f, what, k) { return f[what][k] / all[k]; };
	const most = diff ? function (f) { return Math.abs(share(f, 'self', 1) - share(f, 'self', 0)); } :
		function (f) { return f.self[0]; };
	const list = functions(view, weights).filter(function (f) { return f.total.some(Boolean); }).sort(function (a, b) {
		return most(b) - most(a) || b.total[0] - a.total[0] || (a.name < b.name ? -1 : 1);
	});
	const head = by('functions').querySelector('thead'), body = by('functions').querySelector('tbody');
	const tr = document.createElement('tr');
	(diff ? ['self before', 'after', 'change', 'total before', 'after', 'p', ''] : ['self', 'total', unit === 'period' ? (clock ? 'self, CPU' : 'self, ' + (fact(0, 'event') || 'events')) : counted(0), '']).forEach(function (h) {
		cell(tr, h, 'th').scope = 'col';
	});
	const last = cell(tr, 'function', 'th');
	last.className = 'name';
	last.scope = 'col';
	head.replaceChildren(tr);
	body.replaceChildren.apply(body, list.slice(0, 100).map(function (f) {
		const row = document.createElement('tr'), p = function (what, k) { return percent(f[what][k], all[k]); };
		if (diff) {
			const d = 100 * (share(f, 'self', 1) - share(f, 'self', 0));
			cell(row, p('self', 0));
			cell(row, p('self', 1));
			cell(row, (d < 0 ? '' : '+') + d.toFixed(2));
			cell(row, p('total', 0));
			cell(row, p('total', 1));
			cell(row, pText(f.change));
			cell(row, !f.total[1] ? 'vanished' : !f.total[0] ? 'new' : '');
		} else {
			cell(row, p('self', 0));
			cell(row, p('total', 0));
			cell(row, unit === 'period' && clock ? cpu(f.self[0]).replace(' of CPU', '') : number(f.self[0]));
			cell(row, f.kind ? KIND[f.kind] : '');
		}
		const td = cell(row, ''), b = document.createElement('button');
		td.className = 'name';
		b.textContent = f.name;
		b.title = 'search for it';
		b.addEventListener('click', function () {
			by('search').value = '^' + f.name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '$';
			search(by('search').value);
		});
		td.append(b);
		return row;
	}));
	by('functions').querySelector('summary').textContent = 'Functions' +
		(list.length > 100 ? ' (the first 100 of ' + number(list.length) + ')' : '');
}
