// Uses the page of a comparison; prints lines that begin with "ok " or "not ok ". Before is
// "app;main;f 100, app;main;g 300" and after "app;main;f 300, app;main;h 300", so that before
// counts 1.5 times.
'use strict';
module.exports = async function (p) {
	const ok = function (what, yes) { console.log((yes ? 'ok ' : 'not ok ') + what); };
	const text = function (id) { return p.eval('document.getElementById("' + id + '").textContent'); };
	const width = function (name) {
		return p.eval('(function () { const s = nsprofPage.span("' + name + '"); return Math.round((s[1] || 0) / nsprofPage.flame.width * 1000); }())');
	};
	const widths = async function (value) {
		await p.eval('(function () { const s = document.getElementById("widths"); s.value = "' + value + '"; s.dispatchEvent(new Event("change")); }())');
		return [await width('f'), await width('g'), await width('h')].join(' ');
	};
	const color = function (name) {
		return p.eval('(function () { nsprofPage.flame.draw(); const c = nsprofPage.flame.canvas, s = nsprofPage.span("' + name +
			'"); return Array.from(c.getContext("2d").getImageData(Math.ceil(s[0]) + 1, nsprofPage.top("' + name + '") + 8, 1, 1).data); }())');
	};

	ok('diff: both sides are named, with what they have', /^before: 400 samples; after: 600 samples$/.test(await text('summary')));
	ok('diff: widths are those of after', await widths(1) === '500 0 500');
	ok('diff: or of before, where what vanished is', await widths(0) === '250 750 0');
	ok('diff: or of both', await widths(2) === '375 375 250');
	const [more, gone, all] = [await color('f'), await color('g'), await color('main')];
	ok('diff: what became more is red, what is gone blue, what stayed grey', more[0] > more[2] + 20 && gone[2] > gone[0] + 20 &&
		Math.abs(all[0] - all[2]) < 8);
	if (process.env.SHOTS)
		await p.shot(process.env.SHOTS + '/diff.png');
	await p.eval('(function () { const s = document.getElementById("search"); s.value = "^g$"; s.dispatchEvent(new Event("input")); }())');
	ok('diff: a search has the share of each side', /^matched: 75\.?0*% \u2192 0\.?0*%$/.test(await text('match')));
	await p.eval('nsprofPage.choose("g")');
	const g = await text('status');
	ok('diff: a box tells what it had, that it vanished, and no verdict without times', /before: 300 samples \(75\.00%\)/.test(g) &&
		/after: 0 samples/.test(g) && /vanished, -75\.00 points/.test(g) && /no verdict/.test(g) && !/significant/.test(g));
	ok('diff: no script fails, and nothing is asked of the network', !p.errors.length && p.requests.length === 1);
};
