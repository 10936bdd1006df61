// Writes what the page draws, as JSON: for each event, and zoomed to the widest frame of each name of $ZOOM
// (separated by blanks; not where an event has none), the boxes of the flame graph as [x, y, width, text],
// and the bars of the timeline by $LANES as [x, y, width, height, color]. It records the calls that draw, so it
// does not rely on the page's numbers.
'use strict';
module.exports = async function (p) {
	await p.size(6000, 1400);
	await p.eval('(' + function () {
		const to = CanvasRenderingContext2D.prototype, rect = to.fillRect, text = to.fillText;
		window.drawn = { flame: [], times: [] };
		to.fillRect = function (x, y, w, h) {
			const list = this.canvas.id === 'flame' ? window.drawn.flame : window.drawn.times;
			// The background: a new picture.
			if (this.canvas.id === 'flame' && h > 18)
				list.length = 0;
			else
				list.push(this.canvas.id === 'flame' ? [x, y, w, ''] : [x, y, w, h, this.fillStyle]);
			rect.call(this, x, y, w, h);
		};
		to.fillText = function (s, ...rest) {
			if (this.canvas.id === 'flame')
				window.drawn.flame[window.drawn.flame.length - 1][3] = s;
			text.call(this, s, ...rest);
		};
	} + ')()');
	const frames = function () { return p.eval('new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })'); };
	const write = async function (event, zoom) {
		await frames();
		console.log(JSON.stringify(Object.assign(await p.eval('window.drawn'), { event: event, zoom: zoom, width: await p.eval('nsprofPage.flame.width') })));
	};
	await p.eval('(function () { const s = document.getElementById("lanes"); s.value = "' + (process.env.LANES || 'thread') + '"; s.dispatchEvent(new Event("change")); }())');
	const events = await p.eval('Array.from(document.getElementById("event").options).map(function (o) { return o.textContent.replace(/ \\([\\d,]+\\)$/, ""); })');
	for (let e = 0; e < events.length; e++) {
		await p.eval('(function () { window.drawn.times.length = 0; const s = document.getElementById("event"); s.value = ' + e + '; s.dispatchEvent(new Event("change")); }())');
		await write(events[e], '');
		const first = await p.eval('window.drawn.flame.slice()');
		for (const zoom of (process.env.ZOOM || '').split(' ')) {
			const box = first.filter(function (b) { return b[3] === zoom; }).sort(function (a, b) { return b[2] - a[2]; })[0];
			if (!zoom || !box)
				continue;
			const at = await p.eval('(function () { const b = document.getElementById("flame").getBoundingClientRect(); return [b.left, b.top]; }())');
			for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
				await p.mouse(type, at[0] + box[0] + box[2] / 2, at[1] + box[1] + 9);
			await p.mouse('mouseMoved', 0, 0);
			await write(events[e], zoom);
			await p.key('Escape');
			await frames();
		}
	}
	if (p.errors.length)
		throw new Error(p.errors.join('; '));
};
