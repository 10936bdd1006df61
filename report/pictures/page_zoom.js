// Zooming, and moving from frame to frame.

function zoom(i) {
	flame.zoom = i < 0 ? 0 : i;
	layout(true);
	flame.reveal(flame.zoom);
	redraw();
}

function choose(i) {
	if (i < 0)
		return;
	flame.chosen = i;
	const t = view.tree, z = flame.zoom;
	if (i < z || i >= t.end[z])
		flame.zoom = i < z && t.end[i] >= t.end[z] ? z : 0;
	by('reset').disabled = !flame.zoom;
	flame.reveal(i);
	showStatus(i);
	redraw();
}

function steps(key) {
	const i = flame.chosen < 0 ? flame.zoom : flame.chosen, t = view.tree;
	const out = flame.icicle ? 'ArrowDown' : 'ArrowUp', back = flame.icicle ? 'ArrowUp' : 'ArrowDown';
	switch (key) {
	case out: return flame.widest(i);
	case back: return t.parent[i];
	case 'ArrowLeft': return flame.sibling(i, -1);
	case 'ArrowRight': return flame.sibling(i, 1);
	default: return 0;	// Home
	}
}

function turn() {
	flame.icicle = !flame.icicle;
	by('icicle').setAttribute('aria-pressed', String(flame.icicle));
	layout(false);
}
