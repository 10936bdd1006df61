// Uses the page of a comparison with verdicts. Prints "NAME true" or "NAME false" for each
// function, whether its frame is deeply colored, and lines that begin with "ok " or "not ok ".
// Amounts are CPU time: in outer itself 10 % of 6 s before and 20 % after.
'use strict';
module.exports = async function (p) {
	const ok = function (what, yes) { console.log((yes ? 'ok ' : 'not ok ') + what); };
	const rgb = function (name) {
		return p.eval('(function () { nsprofPage.flame.draw(); const c = nsprofPage.flame.canvas, s = nsprofPage.span("' + name +
			'"); return Array.from(c.getContext("2d").getImageData(Math.ceil(s[0]) + 1, nsprofPage.top("' + name + '") + 2, 1, 1).data); }())');
	};
	for (const name of ['main', 'parent', 'hot', 'outer', 'inner', 'other']) {
		const [r, g, b] = await rgb(name);
		// A verdict's color differs from grey by at least 50, a change without verdict by
		// at most 25 (blue itself has 20).
		console.log(name + ' ' + (Math.max(r, g, b) - Math.min(r, g, b) > 48));
	}
	if (process.env.SHOTS)
		await p.shot(process.env.SHOTS + '/verdicts.png');
	await p.eval('nsprofPage.choose("outer")');
	const words = await p.eval('document.getElementById("status").textContent');
	ok('verdicts: amounts have a unit: ' + words, /before: [0-9.]+ s of CPU \([0-9.]+%\), self [0-9.]+ (s|ms) of CPU/.test(words) &&
		!/[0-9]{7}|[0-9],[0-9]{3},[0-9]{3}/.test(words));
	ok('verdicts: self and total have one each', /total: no more than chance, p .*self: significant, p /.test(words));
	const legend = await p.eval('document.getElementById("legend").textContent');
	ok('verdicts: the legend says what pale is', /pale: no more than chance, or too few samples/.test(legend));
	ok('verdicts: no script fails', !p.errors.length);
};
