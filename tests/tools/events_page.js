// Picks each event in the page's list, and prints what it then shows of event number $EVENT; without a
// list, what it shows at all. Also with a thread chosen before.
'use strict';
module.exports = async function (p) {
	const n = await p.eval('document.getElementById("event-label").hidden ? 0 : document.getElementById("event").options.length');
	const dump = async function () {
		return p.eval('(function () { const d = document.getElementById("functions"); d.open = true; d.dispatchEvent(new Event("toggle"));' +
			' const rows = Array.from(d.querySelectorAll("tr")).map(function (tr) { return Array.from(tr.cells).map(function (c) { return c.textContent; }).join(" "); });' +
			' const facts = Array.from(document.querySelectorAll("#facts dt")).map(function (dt) { return dt.textContent + "=" + dt.nextSibling.textContent; });' +
			' return [document.getElementById("summary").textContent].concat(rows, facts.filter(function (f) { return /^(event|freq|fixed)/.test(f); }).sort()).join("\\n"); }())');
	};
	const pick = async function (id, value) {
		await p.eval('(function () { const s = document.getElementById("' + id + '"); s.value = ' + JSON.stringify(value) + '; s.dispatchEvent(new Event("change")); }())');
	};
	const out = [];
	for (const thread of ['', 'w1-100/201'])
		for (let i = 0; i < Math.max(n, 1); i++) {
			await pick('thread', thread);
			if (n)
				await pick('event', String((i + 1) % n));
			if (!n || String((i + 1) % n) === process.env.EVENT)
				out.push(await dump());
		}
	for (const text of out)
		console.log(text);
	for (const e of p.errors)
		console.log('error: ' + e);
};
