// Writes a screenshot of the page to the file PNG, as wide as README.md is shown, and as high as
// the page is.
'use strict';

module.exports = async function (p) {
	await p.media({ 'prefers-color-scheme': 'light' });
	await p.size(960, 610);
	await p.eval('(function () { const s = document.getElementById("by"); s.value = "container"; s.dispatchEvent(new Event("change")); }())');
	// What is drawn after the size changes.
	await p.eval('new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })');
	await p.shot(process.env.PNG);
};
