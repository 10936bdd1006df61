// Describes a frame in the status line and at the mouse.

function showStatus(i) {
	status.textContent = i < 0 ? '' : describe(i).join('  \u00b7  ');
}

function showTip(i, x, y) {
	tip.hidden = i < 0;
	if (i < 0)
		return;
	tip.replaceChildren();
	describe(i).forEach(function (line, k, all) {
		const el = document.createElement(k ? 'span' : 'b');
		el.textContent = line;
		if (k && k === all.length - 1)
			el.className = 'muted';
		tip.append(el);
	});
	const w = tip.offsetWidth, h = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - w - 8)) + 'px';
	tip.style.top = (y + 18 + h > innerHeight ? Math.max(4, y - h - 10) : y + 18) + 'px';
}
