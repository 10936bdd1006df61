// Samples over time, a row for each container, and the brush that selects a part. Stacks that end with
// a state have its color.

function Timeline(canvas, side) {
	this.canvas = canvas;
	this.side = side;
	// In long recordings a cell spans several blocks: no screen shows more.
	this.cells = Math.min(side.blocks, 2000);
	const cells = this.cells, rows = new Map();
	const of = side.threads.map(function (t) {
		const name = LEVELS.container(t);
		if (!rows.has(name))
			rows.set(name, { name: name, total: 0 });
		return rows.get(name);
	});
	for (let i = 0; i < side.n; i++)
		of[side.thread[i]].total += side.count[i];
	const all = Array.from(rows.values()).filter(function (r) { return r.total; }).sort(function (a, b) { return b.total - a.total; });
	this.rows = all.slice(0, all.length > 9 ? 8 : 9);
	if (all.length > 9)
		this.rows.push({ name: all.length - 8 + ' others' });
	all.forEach(function (r, i) { r.shown = this.rows[Math.min(i, this.rows.length - 1)]; }, this);
	// By state, in this order from the bottom up; null: without a state.
	this.states = [null].concat(Array.from(STATE_COLORS.keys()));
	const state = data.frames.name.map(function (name) { return Math.max(0, this.states.indexOf(name)); }, this);
	for (const row of this.rows)
		row.sums = this.states.map(function () { return new Float64Array(cells); });
	for (let i = 0; i < side.n; i++)
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
	const most = bars.reduce(function (m, b) { return Math.max(m, b[b.length - 1].reduce(function (x, y) { return Math.max(x, y); }, 0)); }, 0);
	this.rows.forEach(function (row, r) {
		const y = r * Timeline.ROW;
		ctx.fillStyle = theme.text;
		ctx.fillText(shortened(row.name, 22), 0, y + Timeline.ROW / 2, Timeline.LABEL - 8);
		ctx.fillStyle = theme.lane;
		ctx.fillRect(Timeline.LABEL, y + 1, plot, Timeline.ROW - 2);
		// The highest first: the lower ones cover it.
		for (let s = states.length; s--;) {
			ctx.fillStyle = s ? STATE_COLORS.get(states[s]) : theme.bar;
			for (let c = 0; c < columns; c++) {
				const h = most ? bars[r][s][c] / most * (Timeline.ROW - 3) : 0;
				if (h > 0 && (!s || bars[r][s][c] > bars[r][s - 1][c]))
					ctx.fillRect(Timeline.LABEL + c * plot / columns, y + Timeline.ROW - 1 - Math.max(h, 1),
						Math.max(plot / columns - (plot / columns > 4 ? 1 : 0), 0.5), Math.max(h, 1));
			}
		}
	});
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

// The timeline of a side with its fields, in @parent. Calls chosen(from, to) when the blocks [from,
// to) are selected.
function timeline(parent, side, chosen) {
	const canvas = document.createElement('canvas'), range = document.createElement('div'), line = new Timeline(canvas, side);
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
		chosen(from, to);
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
		canvas.title = row ? row.name : '';
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
