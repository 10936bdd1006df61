// The page around the picture: what is chosen, said and done with keys and mouse. Names reach the document as text only.
(function () {
	const by = function (id) { return document.getElementById(id); };
	const started = performance.now();
	const data = decode(JSON.parse(by('data').textContent));
	by('data').remove();
	const decoded = performance.now();
	const diff = data.sides.length > 1, unit = data.meta.unit;
	if (diff)
		LEVELS.numbers = false;
	const scroller = by('scroller'), status = by('status'), tip = by('tip');
	const flame = new Flame(by('flame'), scroller, by('spacer'));
	const facts = data.sides.map(function (s, k) { return data.meta.sides[k].meta; });
	const chosen = { container: '', process: '', thread: '' };
	const ranges = data.sides.map(function (s) { return [0, s.blocks]; });
	// Folded text has no threads.
	const threads = data.sides.some(function (s) { return s.threads.length > 1; });
	let levels = threads ? data.meta.by : [], view = groupBy(data, levels), weights = [], widths = 1, term = '';

	// ---- words ----

	function fact(k, key) {
		const m = facts[k].find(function (f) { return f[0] === key; });
		return m ? m[1] : '';
	}

	const clock = /^(cpu|task)-clock/.test(fact(0, 'event'));
	const number = function (n) { return Math.round(n).toLocaleString('en'); };
	const percent = function (n, all) { return (all ? 100 * n / all : 0).toFixed(2) + '%'; };

	// Nanoseconds of CPU time.
	function cpu(ns) {
		const [n, name] = ns < 1e6 ? [ns / 1e3, '\u00b5s'] : ns < 1e9 ? [ns / 1e6, 'ms'] : [ns / 1e9, 's'];
		return n.toPrecision(n >= 1000 ? 4 : 3) + ' ' + name + ' of CPU';
	}

	// A count with its unit, and CPU time where the event is a clock.
	function amount(k, n) {
		const s = data.meta.sides[k];
		if (unit === 'period')
			return clock ? cpu(n) : number(n) + ' ' + (fact(k, 'event') || 'events');
		const seconds = clock && s.samples ? n * s.period / s.samples / 1e9 : 0;
		return number(n) + (n === 1 ? ' sample' : ' samples') + (seconds ? ', ' + seconds.toFixed(seconds < 10 ? 2 : 1) + ' s of CPU' : '');
	}

	function scaled(k, n) { return n * data.sides[k].scale; }

	// What is 100 % of side k's counts: all of the side's, or as much as there is after where amounts are compared.
	function whole(k) {
		if (!data.meta.amounts)
			return weights[k].total[0];
		return (scaled(1, weights[1].total[0]) || scaled(0, weights[0].total[0])) / data.sides[k].scale;
	}

	function points(i) {
		const all = weights.map(function (w, k) { return whole(k); });
		return 100 * ((all[1] ? weights[1].total[i] / all[1] : 0) - (all[0] ? weights[0].total[i] / all[0] : 0));
	}

	// What is known of a node's change, as its width shows it: of a leaf its function's self, of others their total.
	function verdict(i) {
		const t = view.tree, c = i ? view.frames.change[t.frame[i]] : view.frames.changeOfAll;
		return c ? (i && t.end[i] === i + 1 ? c.self : c.total) : null;
	}

	function changeText(what, c) {
		if (!c)
			return what + ': not tested, too few samples';
		if (c.p === null)
			return what + ': no verdict, nothing tells change from chance';
		return what + ': ' + (c.significant ? 'significant' : 'no more than chance') + ', p ' + c.p.toPrecision(2) + ', ' +
			(100 * c.low).toFixed(2) + ' to ' + (100 * c.high).toFixed(2) + ' points';
	}

	// What is said of a node, a line each; the first is its name.
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

	function showStatus(i) {
		status.textContent = i < 0 ? '' : describe(i).join('  \u00b7  ');
	}

	function showTip(i, x, y) {
		tip.hidden = i < 0;
		if (i < 0)
			return;
		tip.replaceChildren();
		describe(i).forEach(function (line, k, all) {
			const el = document.createElement(k ? 'span' : 'b');
			el.textContent = line;
			if (k && k === all.length - 1)
				el.className = 'muted';
			tip.append(el);
		});
		const w = tip.offsetWidth, h = tip.offsetHeight;
		tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + 'px';
		tip.style.top = (y + 18 + h > innerHeight ? Math.max(4, y - h - 10) : y + 18) + 'px';
	}

	// ---- drawing ----

	const dark = matchMedia('(prefers-color-scheme: dark)');
	const LIGHT = { background: '#ffffff', text: '#1b1b1b', muted: '#575757', outline: '#000000', sliver: '#b9b2ac', lane: '#f0f0f0',
		bar: '#3f74ad', veil: 'rgba(255,255,255,.72)' };
	const DARK = { background: '#16181c', text: '#e8e8e8', muted: '#a9adb5', outline: '#ffffff', sliver: '#6b6660', lane: '#22262c',
		bar: '#7fb0e6', veil: 'rgba(22,24,28,.75)' };
	const theme = function () { return dark.matches && !flame.printing ? DARK : LIGHT; };
	let asked = false, drawn = null;
	const lines = [];

	function drawTimes() {
		drawn = theme();
		lines.forEach(function (line, k) { line.draw(drawn, ranges[k][0], ranges[k][1]); });
	}

	function draw() {
		asked = false;
		const from = performance.now();
		flame.draw(theme());
		page.timings.draw = performance.now() - from;
		if (drawn !== flame.theme)
			drawTimes();
	}

	function redraw() {
		if (!asked) {
			asked = true;
			requestAnimationFrame(draw);
		}
	}

	// @keep: stay where one was reading; else go to the root.
	function layout(keep) {
		const top = scroller.getBoundingClientRect().top + scrollY;
		const room = Math.max(260, innerHeight - Math.min(top, innerHeight * 0.55) - 70);
		scroller.style.height = Math.min(room, flame.rows * ROW + 4) + 'px';
		flame.resize();
		if (!keep)
			scroller.scrollTop = flame.icicle ? 0 : scroller.scrollHeight;
		by('reset').disabled = !flame.zoom;
		redraw();
	}

	function color(i) {
		const c = verdict(i);
		return changeColor(scaled(0, weights[0].total[i]), scaled(1, weights[1].total[i]), Boolean(c && c.significant));
	}

	// Counts, widths and words anew; the tree stays.
	function update(keep) {
		weights = data.sides.map(function (s, k) {
			const wanted = Uint8Array.from(s.threads, function (t) {
				return ['container', 'process', 'thread'].every(function (l) { return !chosen[l] || LEVELS[l](t) === chosen[l]; }) ? 1 : 0;
			});
			return weigh(data, view, k, wanted, ranges[k][0], ranges[k][1]);
		});
		let w = weights[0].total;
		if (diff)
			w = Float64Array.from(w, function (v, i) {
				return (widths === 1 ? 0 : scaled(0, v)) + (widths === 0 ? 0 : scaled(1, weights[1].total[i]));
			});
		flame.hover = -1;
		flame.show(view, w, diff ? color : null);
		if (flame.chosen >= 0 && !(w[flame.chosen] > 0))
			flame.chosen = -1;
		showStatus(flame.chosen);
		drawTimes();
		layout(keep);
		search(term);
		summary();
		if (by('functions').open)
			table();
	}

	function regroup() {
		view = groupBy(data, levels);
		flame.zoom = 0;
		flame.chosen = -1;
		update(false);
	}

	function summary() {
		by('summary').textContent = data.sides.map(function (s, k) {
			const shown = weights[k].total[0];
			return (diff ? s.label + ': ' : '') + amount(k, shown) + (shown < s.total ? ' of ' + amount(k, s.total) + ' (' +
				percent(shown, s.total) + ')' : '');
		}).join('; ');
	}

	function search(text) {
		let re = null;
		term = text;
		if (text) {
			try {
				re = new RegExp(text, 'i');
			} catch (e) {
				re = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
			}
		}
		flame.hits = re ? Uint8Array.from(view.frames.name, function (n) { return re.test(n) ? 1 : 0; }) : null;
		by('match').textContent = !re ? '' : 'matched: ' + weights.map(function (w) {
			return percent(covered(view.tree, flame.hits, w.total), w.total[0]);
		}).join(' \u2192 ');
		redraw();
	}

	function zoom(i) {
		flame.zoom = i < 0 ? 0 : i;
		layout(true);
		flame.reveal(flame.zoom);
		redraw();
	}

	function choose(i) {
		if (i < 0)
			return;
		flame.chosen = i;
		const t = view.tree, z = flame.zoom;
		if (i < z || i >= t.end[z])
			flame.zoom = i < z && t.end[i] >= t.end[z] ? z : 0;
		by('reset').disabled = !flame.zoom;
		flame.reveal(i);
		showStatus(i);
		redraw();
	}

	// ---- functions ----

	function cell(row, text, name) {
		const td = document.createElement(name || 'td');
		td.textContent = text;
		row.append(td);
		return td;
	}

	// The smaller p of self and total, as nsprof diff's table has it.
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
		(diff ? ['self before', 'after', 'change', 'total before', 'after', 'p', ''] : ['self', 'total', unit === 'period' ? (clock ? 'self, CPU' : 'self, ' + (fact(0, 'event') || 'events')) : 'samples', '']).forEach(function (h) {
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

	// ---- choosing samples ----

	function options(id, label, wider) {
		const sums = new Map(), select = by(id);
		let all = 0;
		data.sides.forEach(function (s) {
			const name = s.threads.map(function (t) {
				return wider.every(function (l) { return !chosen[l] || LEVELS[l](t) === chosen[l]; }) ? LEVELS[id](t) : null;
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
		// A list of tens of thousands is of no use to anyone; what is not in it has the fewest samples.
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
	}

	for (const id of ['container', 'process', 'thread'])
		by(id).addEventListener('change', function () {
			chosen[id] = by(id).value;
			pickers();
			update(true);
		});

	const GROUPS = [[], ['container'], ['process'], ['thread'], ['comm'], ['container', 'process'], ['container', 'comm'], ['container', 'process', 'thread'],
		['process', 'thread']];
	if (!GROUPS.some(function (g) { return g.join() === levels.join(); }))
		GROUPS.push(levels);
	for (const g of GROUPS)
		by('by').append(new Option(g.join(', ') || 'nothing', g.join(), false, g.join() === levels.join()));
	by('by').addEventListener('change', function () {
		levels = by('by').value ? by('by').value.split(',') : [];
		regroup();
	});
	by('by').disabled = !threads;

	// ---- mouse and keys ----

	const canvas = by('flame');
	canvas.addEventListener('pointermove', function (e) {
		const i = flame.at(e.offsetX, e.offsetY);
		if (i !== flame.hover) {
			flame.hover = i;
			redraw();
		}
		showTip(i, e.clientX, e.clientY);
	});
	canvas.addEventListener('pointerleave', function () {
		flame.hover = -1;
		showTip(-1);
		redraw();
	});
	canvas.addEventListener('click', function (e) {
		const i = flame.at(e.offsetX, e.offsetY);
		if (i < 0)
			return;
		flame.chosen = i;
		showStatus(i);
		zoom(i);
	});
	scroller.addEventListener('scroll', redraw);

	function steps(key) {
		const i = flame.chosen < 0 ? flame.zoom : flame.chosen, t = view.tree;
		const out = flame.icicle ? 'ArrowDown' : 'ArrowUp', back = flame.icicle ? 'ArrowUp' : 'ArrowDown';
		switch (key) {
		case out: return flame.widest(i);
		case back: return t.parent[i];
		case 'ArrowLeft': return flame.sibling(i, -1);
		case 'ArrowRight': return flame.sibling(i, 1);
		default: return 0;	// Home
		}
	}

	scroller.addEventListener('keydown', function (e) {
		if (e.ctrlKey || e.altKey || e.metaKey)
			return;
		if (/^Arrow|^Home$/.test(e.key))
			choose(steps(e.key));
		else if (e.key === 'Enter')
			zoom(flame.chosen);
		else if (e.key === 'Backspace')
			zoom(view.tree.parent[flame.zoom]);
		else
			return;
		e.preventDefault();
	});

	function turn() {
		flame.icicle = !flame.icicle;
		by('icicle').setAttribute('aria-pressed', String(flame.icicle));
		layout(false);
	}

	addEventListener('keydown', function (e) {
		const typing = /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
		if ((e.key === 'f' && (e.ctrlKey || e.metaKey)) || (e.key === '/' && !typing)) {
			by('search').focus();
			by('search').select();
		} else if (e.key === 'Escape' && !by('keys').open) {
			by('search').value = '';
			search('');
			zoom(0);
			showTip(-1);
		} else if (e.key === 'i' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
			turn();
		} else {
			return;
		}
		e.preventDefault();
	});
	by('controls').addEventListener('submit', function (e) { e.preventDefault(); });
	by('search').addEventListener('input', function () { search(by('search').value); });
	by('reset').addEventListener('click', function () { zoom(0); });
	by('icicle').addEventListener('click', turn);
	by('help').addEventListener('click', function () { by('keys').showModal(); });
	by('functions').addEventListener('toggle', function () {
		if (by('functions').open)
			table();
	});
	by('widths').addEventListener('change', function () {
		widths = Number(by('widths').value);
		flame.zoom = 0;
		update(true);
	});
	addEventListener('resize', function () {
		layout(true);
		drawTimes();
	});
	dark.addEventListener('change', redraw);
	// On paper: all rows, as far as a canvas reaches, in the colors of the light page.
	addEventListener('beforeprint', function () {
		flame.printing = true;
		flame.resize(Math.min(flame.rows * ROW, 12000));
		flame.draw(theme());
		drawTimes();
	});
	addEventListener('afterprint', function () {
		flame.printing = false;
		layout(true);
		drawTimes();
	});

	// ---- the page itself ----

	// Numbers that nobody reads as they are.
	const TIMES = {
		begin_wall_ns: ['begin', function (ns) { return new Date(ns / 1e6).toISOString().replace('T', ' ').replace('Z', ' UTC'); }],
		duration_ns: ['duration', function (ns) { return (ns / 1e9).toFixed(3) + ' s'; }],
	};
	const SAID = { filter: 'only ', throttled: '', note: '' };

	function head() {
		by('title').textContent = data.meta.title;
		const dl = by('facts').querySelector('dl');
		data.sides.forEach(function (s, k) {
			const before = diff ? s.label + ': ' : '', lacks = [];
			for (const [key, value] of facts[k])
				if (key in SAID) {
					lacks.push(SAID[key] + value);
				} else {
					const dt = document.createElement('dt'), dd = document.createElement('dd'), time = TIMES[key];
					dt.textContent = before + (time ? time[0] : key);
					dd.textContent = time ? time[1](Number(value)) : value;
					dl.append(dt, dd);
				}
			for (const [key, text] of [['lost', ' samples lost'], ['dropped', ' samples dropped'], ['cut', ' samples with a stack cut short by the recorder'],
				['throttled_samples', ' samples or so not taken while the kernel throttled the event'], ['truncated', ' samples whose stack is deeper than its copy']])
				if (Number(fact(k, key)) > 0)
					lacks.push(number(fact(k, key)) + text);
			if (data.meta.note && !k)
				lacks.push(data.meta.note);
			if (data.meta.sides[k].cut)
				lacks.push('the profile ended early: this is what was read of it');
			for (const text of lacks) {
				const li = document.createElement('li');
				li.textContent = before + text;
				by('notes').append(li);
			}
		});
		by('facts').hidden = !dl.children.length;
		by('widths-label').hidden = !diff;
		const legend = diff ? [['more', changeColor(0, 1, true)], ['less', changeColor(1, 0, true)],
			['pale: no more than chance, or too few samples to tell', changeColor(0, 1, false), changeColor(1, 0, false)],
			['the same', changeColor(0, 0)]] :
			KIND.slice(0, 4).map(function (k, i) { return [k, kindColor('', i)]; });
		for (const [text, ...colors] of legend) {
			const span = document.createElement('span');
			for (const rgb of colors) {
				const i = document.createElement('i');
				i.style.background = rgb;
				span.append(i);
			}
			span.append(text);
			by('legend').append(span);
		}
	}

	function find(name) {
		const t = view.tree;
		for (let i = 1; i < t.n; i++)
			if (flame.w[i] > 0 && view.frames.name[t.frame[i]] === name)
				return i;
		return -1;
	}

	// For tests, and for those who script it.
	const page = { timings: {}, update: update, search: search, find: find, describe: describe, flame: flame,
		zoom: function (name) { zoom(find(name)); }, choose: function (name) { choose(find(name)); },
		span: function (name) { return flame.span(find(name)); }, top: function (name) { return flame.top(view.tree.depth[find(name)]); },
		functions: function () { return functions(view, weights); } };
	window.nsprofPage = page;
	head();
	data.sides.forEach(function (s, k) {
		if (s.blocks > 1 && s.blockNs)
			lines[k] = timeline(by('times'), s, function (from, to) {
				ranges[k] = [from, to];
				update(true);
			});
	});
	pickers();
	update(false);
	draw();
	page.timings.decode = decoded - started;
	page.timings.script = performance.now() - started;
	page.timings.opened = performance.now();
}());
