// Draws the visible part of the tree on a canvas. Elements for 100,000 stacks would take a browser
// seconds to create and lay out, and only a few thousand boxes are ever wide enough to be seen.
const ROW = 18, SEEN = 0.35;

// Dark text on each of these has a contrast of 4.5 and more (WCAG 2.1, 1.4.3).
function mix(name) {
	let h = 2166136261;
	for (let i = 0; i < name.length; i++)
		h = Math.imul(h ^ name.charCodeAt(i), 16777619);
	h ^= h >>> 15;
	return [(h & 255) / 255, (h >>> 8 & 255) / 255];
}

// What a thread did, as the last frame of its stacks; with their colors.
const STATE_COLORS = new Map([['[running]', 'rgb(105,190,115)'], ['[runnable]', 'rgb(240,215,75)'], ['[blocked]', 'rgb(130,165,240)'],
	['[throttled]', 'rgb(228,125,195)']]);

function kindColor(name, kind) {
	if (!kind && STATE_COLORS.has(name))
		return STATE_COLORS.get(name);
	const [a, b] = mix(name), c = function (r, g, bl) {
		return 'rgb(' + Math.round(r) + ',' + Math.round(g) + ',' + Math.round(bl) + ')';
	};
	switch (kind) {
	case 1: return c(225 + a * 20, 150 + b * 45, 40);
	case 2: return c(105 + a * 45, 195 + b * 40, 95 + a * 40);
	case 3: return c(110 + a * 45, 195 + b * 30, 210 + a * 35);
	case 4: return c(200 + a * 25, 200 + a * 25, 205 + a * 25);
	default: return c(232 + a * 20, 118 + b * 70, 95 + a * 40);
	}
}

// Colors of a diff: red grew, blue shrank; changes that are no more than chance, or were not
// tested, stay pale.
function changeColor(before, after, significant) {
	const r = (after - before) / (Math.max(before, after) || 1);
	const part = Math.min(1, Math.abs(r));
	// The palest significant change is deeper than the largest insignificant one.
	const s = Math.round(significant ? 50 + 75 * part : 25 * part);
	if (!s || part < 1e-6)
		return 'rgb(225,225,225)';
	return r > 0 ? 'rgb(245,' + (225 - s) + ',' + (225 - s) + ')' : 'rgb(' + (225 - s) + ',' + (230 - s * 0.6) + ',245)';
}

function Flame(canvas, scroller, spacer) {
	this.canvas = canvas;
	this.scroller = scroller;
	this.spacer = spacer;
	this.ctx = canvas.getContext('2d');
	this.icicle = false;
	this.zoom = 0;
	this.hover = this.chosen = -1;
	this.hits = null;
	this.colors = [];
}

// w: widths in counts by node. color(node) overrides the color of the kind.
Flame.prototype.show = function (view, w, color) {
	if (this.view !== view)
		this.colors = new Array(view.frames.n);
	this.view = view;
	this.w = w;
	this.color = color;
	this.x = place(view.tree, w);
	if (!(w[this.zoom] > 0))
		this.zoom = 0;
	let deepest = 0;
	const t = view.tree;
	for (let i = 0; i < t.n; i++)
		if (w[i] > 0 && t.depth[i] > deepest)
			deepest = t.depth[i];
	this.rows = deepest + 1;
};

Flame.prototype.resize = function (height) {
	const dpr = window.devicePixelRatio || 1;
	this.width = this.scroller.clientWidth;
	this.height = height || this.scroller.clientHeight;
	this.canvas.style.width = this.width + 'px';
	this.canvas.style.height = this.height + 'px';
	this.canvas.width = Math.round(this.width * dpr);
	this.canvas.height = Math.round(this.height * dpr);
	this.ctx.setTransform(dpr, 0, 0, dpr, 0, 0);
	this.full = Math.max(this.rows * ROW, this.height);
	this.spacer.style.height = this.full + 'px';
};

// The top of a row of boxes, on the canvas.
Flame.prototype.top = function (depth) {
	const y = this.icicle ? depth * ROW : this.full - (depth + 1) * ROW;
	return y - this.offset();
};

Flame.prototype.offset = function () {
	return this.printing ? 0 : this.scroller.scrollTop;
};

// Start and width of a node on the canvas. Nodes left or right of the zoomed one have no width.
Flame.prototype.span = function (i) {
	const z = this.zoom, t = this.view.tree, scale = this.width / this.w[z];
	if (i <= z && t.end[i] >= t.end[z])
		return [0, this.width];
	return [(this.x[i] - this.x[z]) * scale, this.w[i] * scale];
};

Flame.prototype.draw = function (theme) {
	const ctx = this.ctx, t = this.view.tree;
	const z = this.zoom;
	this.theme = theme || this.theme;
	ctx.fillStyle = this.theme.background;
	ctx.fillRect(0, 0, this.width, this.height);
	ctx.font = '12px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace';
	ctx.textBaseline = 'middle';
	if (!this.char)
		this.char = ctx.measureText('M').width;
	this.boxes = 0;
	if (!(this.w[0] > 0))
		return;
	for (let i = z; ; i = t.parent[i]) {
		this.box(i, 0, this.width, i !== z);
		if (!i)
			break;
	}
	const scale = this.width / this.w[z], x0 = this.x[z], last = t.end[z], least = SEEN / scale;
	const above = Math.ceil((this.height + this.offset()) / ROW);
	const beyond = this.icicle ? above : Math.ceil((this.full - this.offset()) / ROW);
	const slivers = new Float64Array(this.rows + 1).fill(-1);
	for (let i = z + 1; i < last;) {
		const w = this.w[i], depth = t.depth[i];
		if (w < least || depth > beyond) {
			// Each is too narrow to see, but together they are not: one grey line per
			// pixel that has any.
			const x = (this.x[i] - x0) * scale;
			if (w > 0 && x >= slivers[depth] && depth <= beyond) {
				ctx.fillStyle = this.theme.sliver;
				ctx.fillRect(x, this.top(depth), 1, ROW - 1);
				slivers[depth] = x + 1;
			}
			i = t.end[i];
			continue;
		}
		this.box(i, (this.x[i] - x0) * scale, w * scale, false);
		i++;
	}
	for (const i of [this.hover, this.chosen])
		if (i >= 0 && this.w[i] > 0) {
			const [x, w] = this.span(i);
			ctx.strokeStyle = this.theme.outline;
			ctx.lineWidth = i === this.chosen ? 2 : 1;
			ctx.strokeRect(x + 0.5, this.top(t.depth[i]) + 0.5, Math.max(w - 1, 1), ROW - 2);
		}
};

Flame.prototype.box = function (i, x, w, past) {
	const ctx = this.ctx, t = this.view.tree, f = t.frame[i], y = this.top(t.depth[i]);
	if (y < -ROW || y > this.height)
		return;
	const name = i ? this.view.frames.name[f] : 'all';
	const hit = this.hits && i && this.hits[f];
	ctx.globalAlpha = past ? 0.55 : 1;
	if (hit)
		ctx.fillStyle = '#ee7bf0';
	else if (this.color)
		ctx.fillStyle = this.color(i);
	else if (i)
		ctx.fillStyle = this.colors[f] || (this.colors[f] = kindColor(name, this.view.frames.kind[f]));
	else
		ctx.fillStyle = kindColor(name, LEADING);
	ctx.fillRect(x, y, Math.max(w - (w > 3 ? 0.6 : 0), 0.5), ROW - 1);
	ctx.globalAlpha = 1;
	this.boxes++;
	const room = Math.floor((w - 6) / this.char);
	if (room < 3)
		return;
	ctx.fillStyle = '#111';
	ctx.fillText(name.length > room ? name.slice(0, room - 2) + '..' : name, x + 3, y + ROW / 2, w - 6);
};

// The node at a point of the canvas, or -1.
Flame.prototype.at = function (px, py) {
	const t = this.view.tree, z = this.zoom, y = py + this.offset();
	const depth = Math.floor(this.icicle ? y / ROW : (this.full - y) / ROW);
	if (depth < 0 || !(this.w[0] > 0))
		return -1;
	let i = z;
	if (depth <= t.depth[z]) {
		while (t.depth[i] > depth)
			i = t.parent[i];
		return i;
	}
	const x = this.x[z] + px * this.w[z] / this.width;
	while (i >= 0 && t.depth[i] < depth)
		i = this.child(i, x);
	return i;
};

// The child at @x (counts from the left), or -1.
Flame.prototype.child = function (i, x) {
	const t = this.view.tree;
	for (let c = i + 1; c < t.end[i]; c = t.end[c])
		if (this.w[c] > 0 && x >= this.x[c] && x < this.x[c] + this.w[c])
			return c;
	return -1;
};

// Neighbours for the arrow keys: the widest child, the next visible sibling.
Flame.prototype.widest = function (i) {
	const t = this.view.tree;
	let best = -1;
	for (let c = i + 1; c < t.end[i]; c = t.end[c])
		if (this.w[c] > 0 && (best < 0 || this.w[c] > this.w[best]))
			best = c;
	return best;
};

Flame.prototype.sibling = function (i, step) {
	const t = this.view.tree, p = t.parent[i];
	let before = -1;
	for (let c = p + 1; i && c < t.end[p]; c = t.end[c]) {
		if (!(this.w[c] > 0))
			continue;
		if (step < 0 && c === i)
			return before;
		if (step > 0 && c > i)
			return c;
		before = c;
	}
	return -1;
};

Flame.prototype.reveal = function (i) {
	const y = this.top(this.view.tree.depth[i]) + this.offset();
	if (y < this.scroller.scrollTop)
		this.scroller.scrollTop = y;
	else if (y + ROW > this.scroller.scrollTop + this.height)
		this.scroller.scrollTop = y + ROW - this.height;
};
