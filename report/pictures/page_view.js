// Updates the view: counts, widths, colors, picture and timelines.

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

// Makes the timelines. What is brushed stays.
function showTimes() {
	by('times').replaceChildren();
	data.sides.forEach(function (s, k) {
		if (s.blocks < 2 || !s.blockNs)
			return;
		const [from, to] = ranges[k];
		lines[k] = timeline(by('times'), s, lanes, function (t) { return among(t, FILTERS); }, function (first, end) {
			ranges[k] = [first, end];
			update(true);
		});
		if (from > 0 || to < s.blocks)
			lines[k].set(from, to);
	});
	by('lanes-label').hidden = !lines.length;
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

// @keep: stay at the current position; otherwise go to the root.
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

// Updates counts, widths and texts; the tree stays.
function update(keep) {
	weights = data.sides.map(function (s, k) {
		const wanted = Uint8Array.from(s.threads, function (t) { return among(t, FILTERS) ? 1 : 0; });
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
