// Above the picture: how the recording was taken, what it lacks, what the colors mean.

// Numbers that need formatting.
const TIMES = {
	begin_wall_ns: ['begin', function (ns) { return new Date(ns / 1e6).toISOString().replace('T', ' ').replace('Z', ' UTC'); }],
	duration_ns: ['duration', function (ns) { return (ns / 1e9).toFixed(3) + ' s'; }],
};
const SAID = { filter: 'only ', throttled: '', note: '' };

function showFacts() {
	by('title').textContent = data.meta.title;
	const dl = by('facts').querySelector('dl');
	for (const list of [dl, by('notes'), by('legend')])
		list.replaceChildren();
	data.sides.forEach(function (s, k) {
		const before = diff ? s.label + ': ' : '', lacks = [];
		for (const [key, value] of facts[k])
			if (key === 'event_unit') {
				continue;
			} else if (key in SAID) {
				lacks.push(SAID[key] + value);
			} else {
				const dt = document.createElement('dt'), dd = document.createElement('dd'), time = TIMES[key];
				dt.textContent = before + (time ? time[0] : key);
				dd.textContent = time ? time[1](Number(value)) : value;
				dl.append(dt, dd);
			}
		for (const [key, text] of [['lost', ' samples lost'], ['dropped', ' samples dropped'], ['cut', ' samples with a stack cut by the recorder'],
			['throttled_samples', ' samples (estimated) not taken while the kernel throttled the event'], ['truncated', ' ' + counted(k) + ' whose stack is deeper than its copy']])
			if (Number(fact(k, key)) > 0)
				lacks.push(number(fact(k, key)) + text);
		if (data.meta.note && !k)
			lacks.push(data.meta.note);
		if (data.meta.sides[k].cut)
			lacks.push('the profile ends early; the page shows what could be read');
		for (const text of lacks) {
			const li = document.createElement('li');
			li.textContent = before + text;
			by('notes').append(li);
		}
	});
	by('facts').hidden = !dl.children.length;
	by('widths-label').hidden = !diff;
	const legend = diff ? [['more', changeColor(0, 1, true)], ['less', changeColor(1, 0, true)],
		['pale: no more than chance, or too few samples to tell', changeColor(0, 1, false), changeColor(1, 0, false)],
		['the same', changeColor(0, 0)]] :
		KIND.slice(0, 4).map(function (k, i) { return [k, kindColor('', i)]; })
			.concat(Array.from(STATE_COLORS).filter(function (s) { return data.frames.name.includes(s[0]); })
				.map(function (s) { return [s[0].slice(1, -1), s[1]]; }));
	for (const [text, ...colors] of legend) {
		const span = document.createElement('span');
		for (const rgb of colors) {
			const i = document.createElement('i');
			i.style.background = rgb;
			span.append(i);
		}
		span.append(text);
		by('legend').append(span);
	}
}
