// page.js PAGE SCRIPT: opens PAGE (a file) in headless Chromium and runs SCRIPT, the path of a
// module that exports an async function that takes the object described below. Uses the DevTools
// protocol (https://chromedevtools.github.io/devtools-protocol/) through a pipe: no port, and no
// package but Chromium itself.
//
//	p.eval(expression)	its value in the page, as JSON
//	p.mouse(type, x, y)	mousePressed, mouseReleased, mouseMoved at a position in the window
//	p.key(name)		a key, by its KeyboardEvent.key
//	p.media(features)	such as { 'prefers-color-scheme': 'dark' }; p.size(width, height)
//	p.shot(file)		a screenshot; p.pdf(file)
//	p.cpu()			seconds of CPU time that the page took so far: in total, and in scripts alone
//	p.requests		URLs that were requested; p.errors: exceptions of scripts, and what the browser refused them
'use strict';
const { spawn } = require('child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('fs');
const { tmpdir } = require('os');
const { join, resolve } = require('path');
const { pathToFileURL } = require('url');

const [page, script] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'nsprof-chromium.'));
const browser = spawn('chromium', ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking',
	'--disable-component-update', '--disable-sync', '--disable-extensions', '--mute-audio', '--hide-scrollbars', '--remote-debugging-pipe',
	'--user-data-dir=' + profile, 'about:blank'], { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
const waiting = new Map(), events = [];
let id = 0, rest = '', session;

browser.on('error', function (e) {
	console.error('page.js: cannot run chromium: ' + e.message);
	process.exit(2);
});
browser.stdio[4].on('data', function (chunk) {
	rest += chunk;
	const messages = rest.split('\0');
	rest = messages.pop();
	for (const text of messages) {
		const m = JSON.parse(text);
		if (m.id) {
			const [done, failed] = waiting.get(m.id);
			waiting.delete(m.id);
			if (m.error)
				failed(new Error(m.error.message));
			else
				done(m.result);
		} else {
			events.forEach(function (f) { f(m.method, m.params); });
		}
	}
});

function send(method, params) {
	return new Promise(function (done, failed) {
		waiting.set(++id, [done, failed]);
		browser.stdio[3].write(JSON.stringify({ id: id, method: method, params: params || {}, sessionId: session }) + '\0');
	});
}

async function run() {
	const { targetInfos } = await send('Target.getTargets');
	const { targetId } = targetInfos.find(function (t) { return t.type === 'page'; });
	session = (await send('Target.attachToTarget', { targetId: targetId, flatten: true })).sessionId;
	const p = { requests: [], errors: [] };
	const loads = new Set();
	let wake = function () {};
	events.push(function (method, m) {
		if (method === 'Network.requestWillBeSent')
			p.requests.push(m.request.url);
		else if (method === 'Runtime.exceptionThrown')
			p.errors.push(m.exceptionDetails.exception ? m.exceptionDetails.exception.description : m.exceptionDetails.text);
		else if (method === 'Log.entryAdded' && m.entry.level === 'error')
			p.errors.push(m.entry.text);
		else if (method === 'Page.lifecycleEvent' && m.name === 'load')
			wake(loads.add(m.loaderId));
	});
	for (const domain of ['Page', 'Network', 'Runtime', 'Log'])
		await send(domain + '.enable');
	await send('Page.setLifecycleEventsEnabled', { enabled: true });
	await send('Performance.enable', { timeDomain: 'threadTicks' });
	p.cpu = async function () {
		const { metrics } = await send('Performance.getMetrics'), of = function (name) {
			return metrics.find(function (m) { return m.name === name; }).value;
		};
		return { all: of('TaskDuration'), script: of('ScriptDuration') };
	};
	p.size = function (width, height) {
		return send('Emulation.setDeviceMetricsOverride', { width: width, height: height, deviceScaleFactor: 1, mobile: false });
	};
	p.eval = async function (expression) {
		const r = await send('Runtime.evaluate', { expression: expression, returnByValue: true, awaitPromise: true });
		if (r.exceptionDetails)
			throw new Error(expression + ': ' + r.exceptionDetails.exception.description);
		return r.result.value;
	};
	p.mouse = function (type, x, y) {
		return send('Input.dispatchMouseEvent', { type: type, x: x, y: y, button: type === 'mouseMoved' ? 'none' : 'left', clickCount: 1,
			buttons: type === 'mousePressed' ? 1 : 0 });
	};
	p.drag = async function (x0, x1, y) {
		await p.mouse('mousePressed', x0, y);
		await send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: x1, y: y, button: 'left', buttons: 1 });
		await p.mouse('mouseReleased', x1, y);
	};
	p.key = async function (key, modifiers) {
		const codes = { Enter: 13, Escape: 27, Backspace: 8 };
		for (const type of ['keyDown', 'keyUp'])
			await send('Input.dispatchKeyEvent', { type: type, key: key, modifiers: modifiers || 0, windowsVirtualKeyCode: codes[key] || 0,
				text: type === 'keyDown' && key.length === 1 && !modifiers ? key : undefined });
	};
	p.media = function (features) {
		return send('Emulation.setEmulatedMedia', { features: Object.entries(features).map(function (e) { return { name: e[0], value: e[1] }; }) });
	};
	p.shot = async function (file) {
		writeFileSync(file, Buffer.from((await send('Page.captureScreenshot', { format: 'png' })).data, 'base64'));
	};
	p.pdf = async function (file) {
		writeFileSync(file, Buffer.from((await send('Page.printToPDF', { printBackground: true })).data, 'base64'));
	};
	await p.size(1280, 800);
	const { loaderId } = await send('Page.navigate', { url: pathToFileURL(resolve(page)).href });
	while (!loads.has(loaderId))
		await new Promise(function (done) { wake = done; });
	await require(resolve(script))(p);
	await send('Browser.close').catch(function () {});
}

// If it hangs, it ends with the test that started it.
run().catch(function (e) {
	console.error('page.js: ' + e.message);
	process.exitCode = 1;
	browser.kill();
});
browser.on('exit', function () { rmSync(profile, { recursive: true, force: true, maxRetries: 5 }); });
