// Runs inside the SVG that svg.c writes. Each frame has its start (data-b) and size (data-n) in
// counts; its position in pixels follows from them and from the zoomed frame.
(function () {
	'use strict';
	const svg = document.documentElement;
	const all = Number(svg.getAttribute('data-all'));
	const unit = svg.getAttribute('data-unit');
	const width = Number(svg.getAttribute('width'));
	const pad = 10, char = 7;
	const info = document.getElementById('info');
	const match = document.getElementById('match');
	const reset = document.getElementById('reset');
	const kinds = { k: ' [kernel]', j: ' [jit]', i: ' [inlined]' };
	const frames = Array.from(document.querySelectorAll('#frames > g.f')).map(function (g) {
		const rect = g.querySelector('rect');
		const id = Number(g.getAttribute('data-i')), count = Number(g.getAttribute('data-n'));
		return {
			g: g, id: id, rect: rect, text: g.querySelector('text'),
			name: id ? nsprofNames[id] : 'all', kind: kinds[g.getAttribute('data-k')] || '',
			begin: Number(g.getAttribute('data-b')), count: count,
			y: Number(rect.getAttribute('y')),
			sides: g.hasAttribute('data-c') ? g.getAttribute('data-c').split(' ').map(Number) : null,
		};
	});

	// Nanoseconds are shown as time.
	function amount(n) {
		if (unit !== 'ns')
			return n.toLocaleString('en') + ' ' + (n === 1 ? unit.replace(/s$/, '') : unit);
		const [v, name] = n < 1e6 ? [n / 1e3, '\u00b5s'] : n < 1e9 ? [n / 1e6, 'ms'] : [n / 1e9, 's'];
		return v.toPrecision(v >= 1000 ? 4 : 3) + ' ' + name + ' ' + svg.getAttribute('data-of');
	}

	function describe(f) {
		if (f.sides)
			return f.name + f.kind + ' (' + f.sides[0].toFixed(2) + '% -> ' + f.sides[1].toFixed(2) + '%, ' +
				(f.sides[1] < f.sides[0] ? '' : '+') + (f.sides[1] - f.sides[0]).toFixed(2) + ' points)';
		return f.name + f.kind + ' (' + amount(f.count) + ', ' +
			(100 * f.count / all).toFixed(2) + '%)';
	}

	let zoomed = null, term = '';

	function label(f, x, w) {
		const room = Math.floor((w - 4) / char);
		if (room < 3) {
			if (f.text)
				f.text.setAttribute('visibility', 'hidden');
			return;
		}
		if (!f.text) {
			f.text = document.createElementNS('http://www.w3.org/2000/svg', 'text');
			f.text.setAttribute('y', f.y + 12);
			f.g.appendChild(f.text);
		}
		f.text.setAttribute('visibility', 'visible');
		f.text.setAttribute('x', x + 3);
		f.text.textContent = f.name.length > room ? f.name.slice(0, room - 2) + '..' : f.name;
	}

	function layout() {
		const begin = zoomed ? zoomed.begin : 0, count = zoomed ? zoomed.count : all;
		const scale = (width - 2 * pad) / count;
		for (const f of frames) {
			// Ancestors of the zoomed frame fill the width; everything beside it
			// disappears.
			const inside = f.begin >= begin && f.begin + f.count <= begin + count && (!zoomed || f.y <= zoomed.y);
			const above = zoomed && f.begin <= begin && f.begin + f.count >= begin + count && f.y > zoomed.y;
			f.g.setAttribute('display', inside || above ? 'inline' : 'none');
			f.g.classList.toggle('past', Boolean(above));
			if (!inside && !above)
				continue;
			const x = above ? pad : pad + (f.begin - begin) * scale;
			const w = above ? width - 2 * pad : f.count * scale;
			f.rect.setAttribute('x', x);
			f.rect.setAttribute('width', Math.max(w, 0.1));
			label(f, x, w);
		}
		reset.setAttribute('visibility', zoomed ? 'visible' : 'hidden');
	}

	function search(text) {
		let re = null, hit = 0, covered = 0;
		term = text;
		if (text) {
			try {
				re = new RegExp(text, 'i');
			} catch (e) {
				re = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
			}
		}
		// In document order a parent comes before its children, and what it covers is
		// counted once.
		for (const f of frames) {
			// The root is not a function, so "all" never matches.
			const is = Boolean(re && f.id && re.test(f.name));
			f.g.classList.toggle('hit', is);
			if (is && f.begin >= covered) {
				hit += f.count;
				covered = f.begin + f.count;
			}
		}
		match.textContent = re ? 'matched: ' + (100 * hit / all).toFixed(2) + '%' : ' ';
	}

	function ask() {
		const text = window.prompt('Search (regular expression):', term);
		if (text !== null)
			search(text);
	}

	for (const f of frames) {
		f.g.addEventListener('mouseover', function () {
			info.textContent = describe(f);
			if (!f.g.querySelector('title')) {
				const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
				title.textContent = describe(f);
				f.g.prepend(title);
			}
		});
		f.g.addEventListener('mouseout', function () { info.textContent = ' '; });
		f.g.addEventListener('click', function () {
			zoomed = f.count === all ? null : f;
			layout();
		});
	}
	reset.addEventListener('click', function () { zoomed = null; layout(); });
	document.getElementById('search').addEventListener('click', ask);
	window.addEventListener('keydown', function (e) {
		if ((e.ctrlKey && e.key === 'f') || e.key === 'F3') {
			e.preventDefault();
			ask();
		} else if (e.key === 'Escape') {
			zoomed = null;
			search('');
			layout();
		}
	});
	// The root is at the bottom, where reading begins.
	window.scrollTo(0, svg.getBoundingClientRect().height);
	// For tests and scripts: total counts and the unit are in the root's attributes.
	window.nsprofFlame = { search: search, zoom: function (name) {
		zoomed = frames.find(function (f) { return f.name === name; }) || null;
		layout();
	}, describe: function () { return frames.map(describe); } };
}());
