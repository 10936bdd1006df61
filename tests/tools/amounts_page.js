// Uses the page of a comparison of amounts; prints lines that begin with "ok " or "not ok ". In
// each block of time, work has 50 samples before and 100 after, rest 50 in both: 100 % is the total
// after, 150.
'use strict';
module.exports = async function (p) {
	const ok = function (what, yes) { console.log((yes ? 'ok ' : 'not ok ') + what); };
	await p.eval('(function () { const d = document.getElementById("functions"); d.open = true; d.dispatchEvent(new Event("toggle")); }())');
	const rows = await p.eval('Array.from(document.querySelectorAll("#functions tbody tr")).map(function (tr) {' +
		' return Array.from(tr.cells).map(function (c) { return c.textContent; }); })');
	const row = function (name) { return (rows.find(function (r) { return r[r.length - 1] === name; }) || []).slice(0, 5).join(' '); };
	ok('amounts: what became more', row('work') === '33.33% 66.67% +33.33 33.33% 66.67%');
	ok('amounts: what stayed', row('rest') === '33.33% 33.33% +0.00 33.33% 33.33%');
	ok('amounts: all of it grew', row('main') === '0.00% 0.00% +0.00 66.67% 100.00%');
	await p.eval('nsprofPage.choose("rest")');
	ok('amounts: a box tells no change', /\+0\.00 points/.test(await p.eval('document.getElementById("status").textContent')));
};
