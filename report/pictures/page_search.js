// Finds frames by name. Names reach the document as text only.

function search(text) {
	let re = null;
	term = text;
	if (text) {
		try {
			re = new RegExp(text, 'i');
		} catch (e) {
			re = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
	}
	flame.hits = re ? Uint8Array.from(view.frames.name, function (n) { return re.test(n) ? 1 : 0; }) : null;
	by('match').textContent = !re ? '' : 'matched: ' + weights.map(function (w) {
		return percent(covered(view.tree, flame.hits, w.total), w.total[0]);
	}).join(' \u2192 ');
	redraw();
}

function find(name) {
	const t = view.tree;
	for (let i = 1; i < t.n; i++)
		if (flame.w[i] > 0 && view.frames.name[t.frame[i]] === name)
			return i;
	return -1;
}
