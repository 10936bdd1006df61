// What a large page costs: CPU time, which is little affected by other load, and elapsed time, for
// the reader.
'use strict';
module.exports = async function (p) {
	const cost = async function (what) {
		const before = (await p.cpu()).all;
		await p.eval(what);
		return (await p.cpu()).all - before;
	};
	const opened = (await p.cpu()).all;
	const watch = await p.eval('nsprofPage.timings.opened');
	const draws = await cost('for (let i = 0; i < 20; i++) { nsprofPage.flame.draw(); nsprofPage.flame.ctx.getImageData(0, 0, 1, 1); }') / 20;
	const search = await cost('nsprofPage.search("f1.*2")'), other = await cost('nsprofPage.update(true)');
	console.log('# opened %d ms of CPU time, %d ms by the watch (performance.now()); %d nodes, %d boxes drawn in %s ms; search %s ms, other samples %s ms',
		opened * 1000, watch, await p.eval('nsprofPage.flame.view.tree.n'), await p.eval('nsprofPage.flame.boxes'),
		(draws * 1000).toFixed(1), (search * 1000).toFixed(1), (other * 1000).toFixed(1));
	if (process.env.SHOTS)
		await p.shot(process.env.SHOTS + '/big.png');
	if (p.errors.length || opened > 2 || draws > 0.1 || search > 0.1 || other > 0.3)
		throw new Error('too slow, or ' + p.errors);
};
