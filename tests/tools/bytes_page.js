// A page whose names try to break out of their text: the page shows them as text, no script fails,
// and none of theirs runs.
'use strict';
module.exports = async function (p) {
	await p.eval('(function () { document.getElementById("functions").open = true; nsprofPage.search("onerror"); }())');
	const all = await p.eval('nsprofPage.functions().length');
	const elements = await p.eval('document.querySelectorAll("img, script:not(:last-of-type)").length');
	const match = await p.eval('document.getElementById("match").textContent');
	await p.eval('nsprofPage.choose("</scr" + "ipt><img src=x onerror=alert(1)>")');
	const status = await p.eval('document.getElementById("status").textContent');
	if (p.errors.length || elements || all < 250 || !/^matched: 0\.\d+%$/.test(match) || !status.startsWith('</script><img src=x') || p.requests.length !== 1)
		throw new Error([p.errors, elements, all, match, status, p.requests].join('; '));
};
