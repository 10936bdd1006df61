// Uses the page of shop.py's profile as a person would. Writes what it shows in the format of
// shop.py's "expect", and lines that begin with "ok " or "not ok ". With SHOTS=DIR it leaves
// screenshots there.
'use strict';
const { join } = require('path');
const { readFileSync, mkdtempSync } = require('fs');
const { tmpdir } = require('os');

module.exports = async function (p) {
	const say = function (what, value) { console.log(what + ' ' + value); };
	const ok = function (what, yes) { console.log((yes ? 'ok ' : 'not ok ') + what); };
	const text = function (id) { return p.eval('document.getElementById("' + id + '").textContent'); };
	const samples = async function () { return (await text('summary')).match(/^[\d,]+/)[0].replace(/,/g, ''); };
	const choose = function (id, value) {
		return p.eval('(function () { const s = document.getElementById("' + id + '"); s.value = ' + JSON.stringify(value) +
			'; s.dispatchEvent(new Event("change")); }())');
	};
	const search = async function (what) {
		await p.eval('(function () { const s = document.getElementById("search"); s.value = ' + JSON.stringify(what) +
			'; s.dispatchEvent(new Event("input")); }())');
		return text('match');
	};
	// The position of a frame's box in the window.
	const spot = function (name) {
		return p.eval('(function () { const b = document.getElementById("flame").getBoundingClientRect(), s = nsprofPage.span("' + name +
			'"); return [b.left + s[0] + s[1] / 2, b.top + nsprofPage.top("' + name + '") + 9]; }())');
	};
	const click = async function (at) {
		await p.mouse('mouseMoved', at[0], at[1]);
		await p.mouse('mousePressed', at[0], at[1]);
		await p.mouse('mouseReleased', at[0], at[1]);
	};
	const width = function (name) { return p.eval('Math.round(nsprofPage.span("' + name + '")[1] / nsprofPage.flame.width * 1000)'); };
	const rows = async function (level) {
		await choose('lanes', level);
		for (const r of await p.eval('nsprofPage.rows()'))
			say('row', r.title + ' ' + r.total);
	};
	const frame = function () { return p.eval('new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })'); };
	// The color of a box, left of its name.
	const color = function (name) {
		return p.eval('(function () { nsprofPage.flame.draw(); const c = nsprofPage.flame.canvas, s = nsprofPage.span("' + name +
			'"); return Array.from(c.getContext("2d").getImageData(Math.ceil(s[0]) + 1, nsprofPage.top("' + name + '") + 8, 1, 1).data); }())');
	};
	const shot = async function (name) {
		await frame();
		if (process.env.SHOTS)
			await p.shot(join(process.env.SHOTS, name + '.png'));
	};

	await choose('by', '');
	say('all', await samples());
	ok('the timeline is by container where there are several', await p.eval('document.getElementById("lanes").value') === 'container');
	for (const level of ['container', 'process', 'thread'])
		await rows(level);
	await shot('shop-threads');
	await choose('lanes', 'container');
	const notes = await text('notes');
	ok('losses, filters, throttled containers and notes are there', /12 samples lost/.test(notes) && /only comm=\*/.test(notes) &&
		/throttled in 7 of 9/.test(notes) && /without samples: <idle>/.test(notes));
	const facts = await text('facts');
	ok('and how it was taken, and when', /event.*cpu-clock/.test(facts) && facts.includes('begin2001-09-09 01:46:40.000 UTC'));
	await shot('shop');

	const [user, kernel, jit, inlined] = [await color('parse'), await color('vfs_write'), await color('mark'), await color('layout')];
	ok('kernel frames are orange', kernel[0] > 200 && kernel[1] > 130 && kernel[2] < 80);
	ok('JIT frames green', jit[1] > jit[0] && jit[1] > jit[2]);
	ok('inlined ones blue', inlined[2] > inlined[0]);
	ok('others red', user[0] > 200 && user[0] > user[1] && user[2] > 80);

	say('parse', await search('parse'));
	say('w.lk', await search('^w.lk$'));
	ok('what is no regular expression is searched as it is', await search('(') === 'matched: 0.00%');
	await search('parse');
	const found = await color('parse');
	ok('a match has a color of its own', found[0] > 200 && found[2] > 200 && found[1] < 160);
	await search('');

	const at = await spot('vfs_write');
	await p.mouse('mouseMoved', at[0], at[1]);
	const tip = await text('tip');
	ok('a tooltip has counts, CPU time, kind, file, line and source of the name', /^vfs_write.*samples, .* s of CPU .*self .*kernel.*\/bin\/shop.*shop\.c:12.*symtab/.test(tip));
	await shot('shop-tip');
	await click(await spot('serve'));
	ok('a click zooms', await width('serve') === 1000 && await width('main') === 1000);
	await p.eval('document.getElementById("scroller").focus()');
	await p.key('Backspace');
	ok('Backspace goes back by one', await width('main') === 1000 && await width('serve') < 1000);
	await p.key('Home');
	for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp'])
		await p.key(key);
	ok('arrow keys go from frame to frame, and say where', /^(parse|write|render) /.test(await text('status')));
	await p.key('ArrowDown');
	ok('and back', /^serve /.test(await text('status')));
	await p.key('ArrowLeft');
	ok('and aside', /^gc /.test(await text('status')));
	await p.key('Enter');
	ok('Enter zooms', await width('gc') === 1000);
	await p.key('Escape');
	ok('Escape ends it', await width('gc') < 1000);
	const before = await p.eval('nsprofPage.top("main")');
	await p.key('i');
	ok('an icicle has its root at the top', await p.eval('nsprofPage.top("main")') === 18 && before > 18);
	await shot('shop-icicle');
	await p.key('i');
	await p.key('f', 2);
	ok('Ctrl-F searches', await p.eval('document.activeElement.id') === 'search');

	await choose('container', 'web');
	say('web', await samples());
	ok('only its processes and threads can be chosen', await p.eval('document.getElementById("thread").options.length') === 4);
	await rows('thread');
	await rows('process');
	await choose('lanes', 'container');
	await choose('thread', 'cache-100/103');
	say('cache', await samples());
	await choose('thread', '');
	const line = await p.eval('(function () { const b = document.querySelector("#times canvas").getBoundingClientRect(); return [b.left, b.top, b.width]; }())');
	// 150 pixels are for names, the rest for 40 blocks of 0.1 s. Drags from inside the first
	// wanted block to inside the last.
	const x = function (s) { return line[0] + 150 + (line[2] - 150) * s / 4; };
	await p.drag(x(1.05), x(1.95), line[1] + 20);
	say('web from 1 to 2 s', await samples());
	say('of these parse', await search('parse'));
	await shot('shop-chosen');
	await p.eval('document.querySelector("#times button").click()');
	await choose('container', '');
	await search('');
	ok('all is there again', await samples() === await p.eval('String(nsprofPage.flame.w[0])'));
	const functions = await p.eval('nsprofPage.functions().map(function (f) { return "function " + f.name + " " + f.self[0] + " " + f.total[0]; })');
	console.log(functions.sort().join('\n'));
	await choose('by', 'container');
	for (const name of ['db', 'host', 'web'])
		say('box ' + name, (await p.eval('nsprofPage.span("' + name + '")[1] / nsprofPage.flame.width * 1000')).toFixed(2));
	await shot('shop-grouped');
	await choose('by', '');

	const [same, more, less, weak] = await p.eval('[nsprofPage.changeColor(7, 7 + 1e-9, true), nsprofPage.changeColor(1, 2, true), nsprofPage.changeColor(2, 1, true), nsprofPage.changeColor(1, 2, false)].map(' +
		'function (c) { return c.match(/[\\d.]+/g).map(Number); })');
	ok('in a diff grey is the same, red more, blue less, and pale what is not significant', same[0] === same[2] && more[0] > more[2] + 50 &&
		less[2] > less[0] + 50 && weak[0] > weak[2] && weak[2] > more[2]);
	const light = await p.eval('nsprofPage.flame.theme.background');
	await p.media({ 'prefers-color-scheme': 'dark' });
	await frame();
	ok('dark where that is preferred', light === '#ffffff' && await p.eval('nsprofPage.flame.theme.background') === '#16181c');
	await p.eval('document.getElementById("functions").open = true');
	await shot('shop-dark');
	const pdf = join(process.env.SHOTS || mkdtempSync(join(tmpdir(), 'pdf.')), 'shop.pdf');
	await p.eval('addEventListener("beforeprint", function () { nsprofPage.paper = [nsprofPage.flame.theme.background, nsprofPage.flame.height]; })');
	await p.pdf(pdf);
	ok('it prints, all rows and in the light colors', readFileSync(pdf).subarray(0, 5).toString() === '%PDF-' &&
		await p.eval('nsprofPage.paper.join()') === '#ffffff,' + 18 * await p.eval('nsprofPage.flame.rows'));
	ok('nothing was asked of the network', p.requests.length === 1 && p.requests[0].startsWith('file:'));
	ok('no script complained ' + p.errors.join('; '), p.errors.length === 0);
};
