// Mouse, keys, buttons, window size, printing.

const canvas = by('flame');
canvas.addEventListener('pointermove', function (e) {
	const i = flame.at(e.offsetX, e.offsetY);
	if (i !== flame.hover) {
		flame.hover = i;
		redraw();
	}
	showTip(i, e.clientX, e.clientY);
});
canvas.addEventListener('pointerleave', function () {
	flame.hover = -1;
	showTip(-1);
	redraw();
});
canvas.addEventListener('click', function (e) {
	const i = flame.at(e.offsetX, e.offsetY);
	if (i < 0)
		return;
	flame.chosen = i;
	showStatus(i);
	zoom(i);
});
scroller.addEventListener('scroll', redraw);

scroller.addEventListener('keydown', function (e) {
	if (e.ctrlKey || e.altKey || e.metaKey)
		return;
	if (/^Arrow|^Home$/.test(e.key))
		choose(steps(e.key));
	else if (e.key === 'Enter')
		zoom(flame.chosen);
	else if (e.key === 'Backspace')
		zoom(view.tree.parent[flame.zoom]);
	else
		return;
	e.preventDefault();
});

addEventListener('keydown', function (e) {
	const typing = /^(INPUT|SELECT)$/.test(document.activeElement.tagName);
	if ((e.key === 'f' && (e.ctrlKey || e.metaKey)) || (e.key === '/' && !typing)) {
		by('search').focus();
		by('search').select();
	} else if (e.key === 'Escape' && !by('keys').open) {
		by('search').value = '';
		search('');
		zoom(0);
		showTip(-1);
	} else if (e.key === 'i' && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
		turn();
	} else {
		return;
	}
	e.preventDefault();
});
by('controls').addEventListener('submit', function (e) { e.preventDefault(); });
by('search').addEventListener('input', function () { search(by('search').value); });
by('reset').addEventListener('click', function () { zoom(0); });
by('icicle').addEventListener('click', turn);
by('help').addEventListener('click', function () { by('keys').showModal(); });
by('functions').addEventListener('toggle', function () {
	if (by('functions').open)
		table();
});
addEventListener('resize', function () {
	layout(true);
	drawTimes();
});
dark.addEventListener('change', redraw);
// For printing: all rows, as far as a canvas can reach, in the colors of the light page.
addEventListener('beforeprint', function () {
	flame.printing = true;
	flame.resize(Math.min(flame.rows * ROW, 12000));
	flame.draw(theme());
	drawTimes();
});
addEventListener('afterprint', function () {
	flame.printing = false;
	layout(true);
	drawTimes();
});
