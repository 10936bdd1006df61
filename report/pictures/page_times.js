// Samples over time, a row for each of the busiest containers, processes or threads, and the brush that
// selects a part. Stacks that end with a state have its color.

// @level: what has a row; one of LEVELS. wanted(thread): is it shown?
function Timeline(canvas, side, level, wanted) {
	this.canvas = canvas;
	this.side = side;
	// In long recordings a cell spans several blocks: no screen shows more.
	this.cells = Math.min(side.blocks, 2000);
	const cells = this.cells, path = PICKED.slice(0, PICKED.indexOf(level) + 1), rows = new Map(), sums = new Map();
	const of = side.threads.map(function (t) {
		if (!wanted(t))
			return null;
		const names = path.map(function (l) { return LEVELS[l](t); }), key = JSON.stringify(names);
		if (!rows.has(key))
			rows.set(key, { name: names[names.length - 1], title: names.join(' / '), total: 0, has: new Set(),
				groups: names.map(function (n, i) { return JSON.stringify(names.slice(0, i + 1)); }) });
		return rows.get(key);
	});
	const counted = new Uint8Array(side.threads.length);
	for (let i = 0; i < side.n; i++)
		if (of[side.thread[i]]) {
			of[side.thread[i]].total += side.count[i];
			counted[side.thread[i]] = 1;
		}
	// A thread that changes its name, or has several values of a field, is one.
	side.threads.forEach(function (t, i) {
		if (counted[i])
			of[i].has.add(t.tid < 0 ? i : t.pid + '/' + t.tid);
	});
	const all = Array.from(rows.values()).filter(function (r) { return r.total; }).sort(function (a, b) { return b.total - a.total; });
	for (const row of all)
		for (const g of row.groups)
			sums.set(g, (sums.get(g) || 0) + row.total);
	const busiest = all.slice(0, all.length > 9 ? 8 : 9), name = all.length - busiest.length + ' others';
	const others = { name: name, title: name, total: 0, threads: 0, groups: [] };
	all.forEach(function (r, i) {
		r.threads = r.has.size;
		r.shown = i < busiest.length ? r : others;
		if (r.shown === others) {
			others.total += r.total;
			others.threads += r.threads;
		}
	});
	// Threads of a process, and processes of a container, stand together.
	this.rows = busiest.sort(function (a, b) {
		const l = path.findIndex(function (p, i) { return a.groups[i] !== b.groups[i]; });
		return l < 0 ? 0 : sums.get(b.groups[l]) - sums.get(a.groups[l]) || (a.groups[l] < b.groups[l] ? -1 : 1);
	}).concat(others.total ? others : []);
	// By state, in this order from the bottom up; null: without a state.
	this.states = [null].concat(Array.from(STATE_COLORS.keys()));
	const state = data.frames.name.map(function (name) { return Math.max(0, this.states.indexOf(name)); }, this);
	// A sampled wait stands for others, which were at other times. So a cell may seem to have more
	// time than its threads had.
	const time = unit === 'period' && TIME_EVENTS.has(fact(0, 'event')) ? side.blockNs * side.blocks / cells : Infinity;
	for (const row of this.rows) {
		row.sums = this.states.map(function () { return new Float64Array(cells); });
		row.most = row.threads * time;
	}
	// A thread's row is full where the thread spent all of its time, and that of the others is their mean.
	this.full = level === 'thread' && time < Infinity;
	for (let i = 0; i < side.n; i++)
		if (of[side.thread[i]])
			of[side.thread[i]].shown.sums[state[data.tree.frame[side.node[i]]] || 0][Math.floor(side.block[i] * cells / side.blocks)] += side.count[i];
}

Timeline.LABEL = 150;
Timeline.ROW = 22;

// Cuts a path at its front and a name at its end, since the other end tells it from others.
function shortened(name, room) {
	if (name.length <= room)
		return name;
	return name[0] === '/' ? '..' + name.slice(2 - room) : name.slice(0, room - 2) + '..';
}

Timeline.prototype.draw = function (theme, from, to) {
	const dpr = window.devicePixelRatio || 1, n = this.side.blocks, cells = this.cells, states = this.states, ctx = this.canvas.getContext('2d');
	const height = this.rows.length * Timeline.ROW + 16;
	this.canvas.style.height = height + 'px';
	this.width = this.canvas.clientWidth;
	this.canvas.width = Math.round(this.width * dpr);
	this.canvas.height = Math.round(height * dpr);
	ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
	ctx.clearRect(0, 0, this.width, height);
	ctx.font = '12px system-ui, sans-serif';
	ctx.textBaseline = 'middle';
	const plot = this.width - Timeline.LABEL, columns = Math.max(1, Math.min(cells, Math.floor(plot)));
	// Each state's bars end where those of the next begin.
	const bars = this.rows.map(function (row) {
		const sums = new Float64Array(columns), width = new Float64Array(columns);
		for (let b = 0; b < cells; b++)
			width[Math.floor(b * columns / cells)]++;
		return row.sums.map(function (cell) {
			for (let b = 0; b < cells; b++)
				sums[Math.floor(b * columns / cells)] += cell[b];
			return sums.map(function (v, i) { return v / width[i]; });
		});
	});
	const full = this.full, most = this.rows.reduce(function (m, row, r) {
		return Math.max(m, Math.min(row.most, bars[r][states.length - 1].reduce(function (x, y) { return Math.max(x, y); }, 0)));
	}, 0);
	this.rows.forEach(function (row, r, rows) {
		const y = r * Timeline.ROW;
		ctx.fillStyle = theme.text;
		ctx.fillText(shortened(row.name, 22), 0, y + Timeline.ROW / 2, Timeline.LABEL - 8);
		ctx.fillStyle = theme.lane;
		ctx.fillRect(Timeline.LABEL, y + 1, plot, Timeline.ROW - 2);
		// A line between those of different containers or processes.
		ctx.fillStyle = theme.muted;
		if (r && row.groups[row.groups.length - 2] !== rows[r - 1].groups[rows[r - 1].groups.length - 2])
			ctx.fillRect(0, y, this.width, 1);
		// The highest first: the lower ones cover it.
		for (let s = states.length; s--;) {
			ctx.fillStyle = s ? STATE_COLORS.get(states[s]) : theme.bar;
			for (let c = 0; c < columns; c++) {
				const h = most ? Math.min(bars[r][s][c] / (full ? row.most : most), 1) * (Timeline.ROW - 3) : 0;
				if (h > 0 && (!s || bars[r][s][c] > bars[r][s - 1][c]))
					ctx.fillRect(Timeline.LABEL + c * plot / columns, y + Timeline.ROW - 1 - Math.max(h, 1),
						Math.max(plot / columns - (plot / columns > 4 ? 1 : 0), 0.5), Math.max(h, 1));
			}
		}
	}, this);
	const seconds = n * this.side.blockNs / 1e9;
	ctx.fillStyle = theme.muted;
	for (let i = 0; i <= 4; i++) {
		ctx.textAlign = i === 0 ? 'left' : i === 4 ? 'right' : 'center';
		ctx.fillText(+(seconds * i / 4).toFixed(seconds < 400 ? 1 : 0) + ' s', Timeline.LABEL + plot * i / 4, height - 7);
	}
	ctx.textAlign = 'left';
	if (from > 0 || to < n) {
		ctx.fillStyle = theme.veil;
		ctx.fillRect(Timeline.LABEL, 0, plot * from / n, height - 16);
		ctx.fillRect(Timeline.LABEL + plot * to / n, 0, plot * (1 - to / n), height - 16);
		ctx.strokeStyle = theme.outline;
		ctx.strokeRect(Timeline.LABEL + plot * from / n + 0.5, 0.5, Math.max(plot * (to - from) / n - 1, 1), height - 17);
	}
};

// The block at a place of the canvas, as a fraction, so that both edges of a brush can be rounded
// as needed.
Timeline.prototype.block = function (px) {
	const at = (px - Timeline.LABEL) / (this.width - Timeline.LABEL) * this.side.blocks;
	return Math.max(0, Math.min(this.side.blocks, at));
};

// The timeline of a side with its fields, in @parent; @level and wanted() are Timeline's. Calls
// select(from, to) when the blocks [from, to) are selected.
function timeline(parent, side, level, wanted, select) {
	const canvas = document.createElement('canvas'), range = document.createElement('div');
	const line = new Timeline(canvas, side, level, wanted);
	const seconds = side.blockNs / 1e9, before = side.label ? side.label + ': ' : '', inputs = [];
	canvas.setAttribute('role', 'img');
	canvas.setAttribute('aria-label', before + 'samples over time; the fields below choose a part');
	range.className = 'range';
	line.set = function (from, to) {
		inputs[0].value = +(from * seconds).toFixed(3);
		inputs[1].value = +(to * seconds).toFixed(3);
	};
	line.choose = function (from, to) {
		from = Math.max(0, Math.min(from, side.blocks - 1));
		to = Math.min(side.blocks, Math.max(to, from + 1));
		line.set(from, to);
		select(from, to);
	};
	const all = function () { line.choose(0, side.blocks); };
	['Time from', 'to'].forEach(function (word, e) {
		const label = document.createElement('label'), input = document.createElement('input');
		input.type = 'number';
		input.min = 0;
		input.max = +(side.blocks * seconds).toFixed(3);
		input.step = 'any';
		input.value = e ? input.max : 0;
		input.addEventListener('change', function () {
			line.choose(Math.floor(inputs[0].value / seconds + 1e-6), Math.ceil(inputs[1].value / seconds - 1e-6));
		});
		label.append((e ? '' : before) + word + ' ', input, ' s');
		inputs.push(input);
		range.append(label);
	});
	const clear = document.createElement('button');
	clear.type = 'button';
	clear.textContent = 'All times';
	clear.addEventListener('click', all);
	range.append(clear);
	let begun = null;
	canvas.addEventListener('pointerdown', function (e) {
		begun = line.block(e.offsetX);
		canvas.setPointerCapture(e.pointerId);
	});
	canvas.addEventListener('pointermove', function (e) {
		const row = line.rows[Math.floor(e.offsetY / Timeline.ROW)];
		canvas.title = row ? row.title : '';
		if (begun === null)
			return;
		const at = line.block(e.offsetX);
		line.choose(Math.floor(Math.min(begun, at)), Math.ceil(Math.max(begun, at)));
	});
	for (const end of ['pointerup', 'pointercancel'])
		canvas.addEventListener(end, function () { begun = null; });
	canvas.addEventListener('dblclick', all);
	parent.append(canvas, range);
	return line;
}
