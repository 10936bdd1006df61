// The state of the page: the data, the current choices and the view. The other files read and
// change it.

const by = function (id) { return document.getElementById(id); };
const started = performance.now();
const data = decode(JSON.parse(by('data').textContent));
by('data').remove();
const decoded = performance.now();
const diff = data.sides.length > 1;
let unit = data.meta.unit;
if (diff)
	LEVELS.numbers = false;
const scroller = by('scroller'), status = by('status'), tip = by('tip');
const flame = new Flame(by('flame'), scroller, by('spacer'));
const chosen = { container: '', process: '', thread: '', value: '' };
// The field whose values can be chosen, a level; '': none.
let chosenField = '';
// Is @t one of the threads that are chosen in these lists?
const among = function (t, lists) { return lists.every(function (l) { return !chosen[l] || LEVELS[l](t) === chosen[l]; }); };
const ranges = data.sides.map(function (s) { return [0, s.blocks]; });
// Folded text has no threads.
const threads = data.sides.some(function (s) { return s.threads.length > 1; });
// One of several events, or null if there is only one.
let chosenEvent = data.meta.events ? data.meta.events[0] : null;
let facts = data.sides.map(function (s, k) { return factsOf(chosenEvent, data.meta.sides[k].meta); });

// What is known of a recording, with what is known of one of its events by itself in place of the same of
// all of them.
function factsOf(ev, meta) {
	if (!ev)
		return meta;
	const own = new Map(ev.facts), keys = ['event', 'event_modifier', 'frequency', 'fixed_period', 'truncated', 'incomplete', 'weight'];
	return ev.facts.filter(function (f) { return f[1]; }).concat(meta.filter(function (f) { return !keys.includes(f[0]) && !own.has(f[0]); }));
}
let levels = threads ? data.meta.by : [];
const fields = fieldLevels(data.sides, levels);
// What has a row in the timeline: the first of which there are several, and none is nearly all.
let lanes = PICKED.find(function (l) {
	return data.sides.some(function (s) {
		const sums = new Map(), name = s.threads.map(LEVELS[l]);
		for (let i = 0; i < s.n; i++)
			sums.set(name[s.thread[i]], (sums.get(name[s.thread[i]]) || 0) + s.count[i]);
		return Array.from(sums.values()).every(function (n) { return n < 0.95 * s.total; });
	});
}) || 'container';
let view = groupBy(data, levels), weights = [], widths = 1, term = '';
