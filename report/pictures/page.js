// Opens the page. html.c puts all scripts into one function, in its order; this one is the last.

// For tests and scripts.
const page = { timings: {}, update: update, search: search, find: find, describe: describe, flame: flame,
	zoom: function (name) { zoom(find(name)); }, choose: function (name) { choose(find(name)); },
	span: function (name) { return flame.span(find(name)); }, top: function (name) { return flame.top(view.tree.depth[find(name)]); },
	functions: function () { return functions(view, weights); }, changeColor: changeColor, pickEvent: pickEvent,
	rows: function () { return lines[0].rows.map(function (r) { return { title: r.title, total: r.total }; }); } };
window.nsprofPage = page;
showFacts();
showTimes();
pickers();
// The first event may have no samples.
if (chosenEvent && !chosenEvent.samples)
	pickEvent(Math.max(0, data.meta.events.findIndex(function (ev) { return ev.samples; })));
update(false);
draw();
page.timings.decode = decoded - started;
page.timings.script = performance.now() - started;
page.timings.opened = performance.now();
