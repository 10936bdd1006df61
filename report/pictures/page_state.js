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
let facts = data.sides.map(function (s, k) { return data.meta.sides[k].meta; });
const chosen = { container: '', process: '', thread: '' };
const ranges = data.sides.map(function (s) { return [0, s.blocks]; });
// Folded text has no threads.
const threads = data.sides.some(function (s) { return s.threads.length > 1; });
// One of several events, or null if there is only one.
let chosenEvent = data.meta.events ? data.meta.events[0] : null;
let levels = threads ? data.meta.by : [], view = groupBy(data, levels), weights = [], widths = 1, term = '';
