// For page.js, with speedscope's own index.html: loads $PROFILE as if it were dropped there, has
// speedscope export what it read (Ctrl-S), and writes that to $EXPORTED.
'use strict';
const { readFileSync, writeFileSync } = require('fs');
const { basename } = require('path');

module.exports = async function (p) {
	const { PROFILE, EXPORTED } = process.env;
	const until = async function (expression) {
		while (!await p.eval(expression))
			await new Promise(function (done) { setTimeout(done, 50); });
	};

	// With this in its address, the page lets others pass it a file.
	await p.eval('location.hash = "#localProfilePath=none.js"; location.reload()');
	await until('!!(window.speedscope && window.speedscope.loadFileFromBase64)');
	await p.eval('URL.createObjectURL = function (blob) { window.exported = blob; return "data:,"; }; 0');
	await p.eval('window.speedscope.loadFileFromBase64(' + JSON.stringify(basename(PROFILE)) + ', "' +
		readFileSync(PROFILE).toString('base64') + '"); 0');
	await until('document.title !== "speedscope"');
	await until('window.dispatchEvent(new KeyboardEvent("keydown", { key: "s", ctrlKey: true })), !!window.exported');
	writeFileSync(EXPORTED, await p.eval('window.exported.text()'));
};
