// The data that html.c wrote into the page: decodes columns of numbers into typed arrays, groups
// the tree by containers, processes and threads, and counts the selected samples.
//
// Nodes are in preorder: parent[i] < i, and the subtree of i is [i, end[i]). Node 0 is the root.
'use strict';

const KIND = ['user', 'kernel', 'JIT', 'inlined', 'leading'];
const KERNEL = 1, INLINED = 3, LEADING = 4;

// Columns are LEB128 numbers in base64. Beyond 2^53 they are as close as a double allows.
function column(text) {
	const bytes = atob(text);
	let at = 0;
	function next() {
		let v = 0, scale = 1, b;
		do {
			b = bytes.charCodeAt(at++);
			v += (b & 127) * scale;
			scale *= 128;
		} while (b & 128);
		return v;
	}
	return {
		next: next,
		signed: function () {
			const v = next();
			return v % 2 ? -(v + 1) / 2 : v / 2;
		},
	};
}

function decodeFrames(d) {
	const n = d.nframes, c = column(d.frames), strings = d.strings;
	const f = { n: n, name: new Array(n), dso: new Array(n), srcline: new Array(n), source: new Array(n),
		kind: new Uint8Array(n), change: new Array(n) };
	for (let i = 0; i < n; i++) {
		f.name[i] = strings[c.next()];
		f.dso[i] = strings[c.next()];
		f.srcline[i] = strings[c.next()];
		f.source[i] = strings[c.next()];
		f.kind[i] = c.next();
	}
	const verdict = function (v) { return v ? { low: v[0], high: v[1], p: v[2], significant: v[3] } : null; };
	for (const [frame, self, total] of d.changes) {
		const change = { self: verdict(self), total: verdict(total) };
		if (frame < 0)
			f.changeOfAll = change;
		else
			f.change[frame] = change;
	}
	return f;
}

function decodeTree(d) {
	const n = d.nnodes, c = column(d.nodes), path = [0];
	const t = { n: n, parent: new Uint32Array(n), frame: new Uint32Array(n), depth: new Uint32Array(n),
		end: new Uint32Array(n) };
	let depth = 0;
	for (let i = 1; i < n; i++) {
		depth = depth + 1 - c.next();
		t.parent[i] = path[depth - 1];
		t.depth[i] = depth;
		t.frame[i] = c.next();
		path[depth] = i;
	}
	setEnds(t);
	return t;
}

function setEnds(t) {
	for (let i = 0; i < t.n; i++)
		t.end[i] = i + 1;
	for (let i = t.n - 1; i > 0; i--)
		if (t.end[i] > t.end[t.parent[i]])
			t.end[t.parent[i]] = t.end[i];
}

function decodeSide(s) {
	const n = s.ncounts, c = column(s.counts);
	const side = { n: n, thread: new Uint32Array(n), block: new Uint32Array(n), node: new Uint32Array(n),
		count: new Float64Array(n), threads: s.threads, blocks: Math.max(1, s.nblocks), blockNs: s.block_ns, scale: s.scale,
		label: s.label, total: 0 };
	let thread = 0, block = 0, node = 0;
	for (let i = 0; i < n; i++) {
		const up = c.next();
		thread += up;
		block = up ? c.next() : block + c.next();
		node += c.signed();
		side.thread[i] = thread;
		side.block[i] = block;
		side.node[i] = node;
		side.total += side.count[i] = c.next();
	}
	return side;
}

function decode(d) {
	return { meta: d, frames: decodeFrames(d), tree: decodeTree(d), sides: d.sides.map(decodeSide) };
}

// ---- threads of samples ----

// The names of --by.
const LEVELS = {
	numbers: true,	// show numbers of processes and threads; they differ between two recordings
	container: function (t) { return (t.container || '[not known]') + (t.helper ? ' [runtime_helper]' : ''); },
	process: function (t) { return (t.process || t.comm || '[no_name]') + (LEVELS.numbers && t.pid >= 0 ? '-' + t.pid : ''); },
	thread: function (t) {
		return (t.comm || '[no_name]') + (LEVELS.numbers && t.pid >= 0 ? '-' + t.pid + '/' + (t.tid >= 0 ? t.tid : 'N') : '');
	},
	comm: function (t) { return t.comm || '[no_name]'; },
	value: function (t) { return chosenField && LEVELS[chosenField](t); },
};

// Makes a level "field:NAME" of each field of a tracepoint that threads have, and of those among @asked.
// Returns them. A level's names are those of leading frames: "NAME=VALUE".
function fieldLevels(sides, asked) {
	const found = asked.filter(function (l) { return l.startsWith('field:'); });
	for (const s of sides)
		for (const t of s.threads) {
			t.values = new Map();
			for (const field of t.fields ? t.fields.split(' ') : []) {
				const level = 'field:' + field.slice(0, field.indexOf('='));
				t.values.set(level, field);
				if (!found.includes(level))
					found.push(level);
			}
		}
	for (const level of found)
		LEVELS[level] = function (t) { return t.values.get(level) || level.slice(6) + '=[none]'; };
	return found;
}

// The lists above the picture, each within what the ones before it chose.
const PICKED = ['container', 'process', 'thread'], FILTERS = PICKED.concat('value');

// The tree with these levels as leading frames: each group has the part of the tree that its
// samples touch.
// counts: for each side, the node of each count.
function groupBy(data, levels) {
	if (!levels.length)
		return { tree: data.tree, frames: data.frames, counts: data.sides.map(function (s) { return s.node; }) };
	const base = data.tree, groups = new Map();
	data.sides.forEach(function (side, k) {
		// Thread 0: unknown.
		const of = side.threads.map(function (t, i) {
			const path = i ? levels.map(function (l) { return LEVELS[l](t); }) : [], key = JSON.stringify(path);
			if (!groups.has(key))
				groups.set(key, { key: key, path: path, counts: data.sides.map(function () { return []; }) });
			return groups.get(key);
		});
		for (let i = 0; i < side.n; i++)
			of[side.thread[i]].counts[k].push(i);
	});
	const frames = Object.assign({}, data.frames);
	for (const key of ['name', 'dso', 'srcline', 'source', 'change'])
		frames[key] = frames[key].slice();
	const kinds = Array.from(frames.kind), ids = new Map();
	function leading(name) {
		if (!ids.has(name)) {
			ids.set(name, frames.n++);
			frames.name.push(name);
			frames.dso.push('');
			frames.srcline.push('');
			frames.source.push('');
			frames.change.push(undefined);
			kinds.push(LEADING);
		}
		return ids.get(name);
	}
	const parent = [0], frame = [0], depth = [0];
	const counts = data.sides.map(function (s) { return new Uint32Array(s.n); });
	const seen = new Int32Array(base.n).fill(-1), place = new Uint32Array(base.n);
	let last = [], open = [0], number = 0;
	const sorted = Array.from(groups.values()).filter(function (g) {
		return g.counts.some(function (c) { return c.length; });
	}).sort(function (a, b) { return a.key < b.key ? -1 : a.key > b.key ? 1 : 0; });
	for (const g of sorted) {
		let same = 0;
		while (same < last.length && last[same] === g.path[same])
			same++;
		open.length = same + 1;
		for (let l = same; l < g.path.length; l++) {
			parent.push(open[l]);
			frame.push(leading(g.path[l]));
			depth.push(l + 1);
			open.push(parent.length - 1);
		}
		last = g.path;
		const nodes = [];
		seen[0] = number;
		g.counts.forEach(function (list, k) {
			const node = data.sides[k].node;
			for (const c of list)
				for (let i = node[c]; seen[i] !== number; i = base.parent[i]) {
					seen[i] = number;
					nodes.push(i);
				}
		});
		place[0] = open[g.path.length];
		for (const i of Uint32Array.from(nodes).sort()) {
			place[i] = parent.length;
			parent.push(place[base.parent[i]]);
			frame.push(base.frame[i]);
			depth.push(base.depth[i] + g.path.length);
		}
		g.counts.forEach(function (list, k) {
			const node = data.sides[k].node;
			for (const c of list)
				counts[k][c] = place[node[c]];
		});
		number++;
	}
	frames.kind = Uint8Array.from(kinds);
	const tree = { n: parent.length, parent: Uint32Array.from(parent), frame: Uint32Array.from(frame),
		depth: Uint32Array.from(depth), end: new Uint32Array(parent.length) };
	setEnds(tree);
	return { tree: tree, frames: frames, counts: counts };
}

// Self and total of each node, over the threads that are wanted and the blocks [from, to).
function weigh(data, view, k, wanted, from, to) {
	const side = data.sides[k], at = view.counts[k], t = view.tree;
	const self = new Float64Array(t.n), total = new Float64Array(t.n);
	for (let i = 0; i < side.n; i++)
		if (wanted[side.thread[i]] && side.block[i] >= from && side.block[i] < to)
			self[at[i]] += side.count[i];
	total.set(self);
	for (let i = t.n - 1; i > 0; i--)
		total[t.parent[i]] += total[i];
	return { self: self, total: total };
}

// The start of each node, in counts from the left. Siblings are sorted by name.
function place(t, total) {
	const x = new Float64Array(t.n), next = new Float64Array(t.n);
	for (let i = 1; i < t.n; i++) {
		const p = t.parent[i];
		next[i] = x[i] = next[p];
		next[p] += total[i];
	}
	return x;
}

// The part of a node's total that frames with hits[frame] cover; a match inside a match counts
// once.
function covered(t, hits, total) {
	let sum = 0;
	for (let i = 1; i < t.n;) {
		if (hits[t.frame[i]]) {
			sum += total[i];
			i = t.end[i];
		} else {
			i++;
		}
	}
	return sum;
}

// How the names of kernel functions begin that take a thread off the CPU, and that lead it back to user
// space or to a function of the kernel: as in wait_frames.c.
const SCHEDULER = /^(_?_?schedule|io_schedule|preempt_schedule|_?_cond_resched|dynamic_cond_resched|dynamic_preempt_schedule|finish_task_switch)/;
const WORK = /^(throttle_cfs_rq_work|task_work_run|resume_user_mode_work)/;
const TO_USER = new RegExp('^((__|prepare_|(__)?irqentry_|(__)?syscall_|arm64_(syscall_)?|asm_)?exit_to_user|do_notify_resume|work_pending|ret_to_user|' +
	'ret_from_fork|do_syscall_64|(__)?do_fast_syscall_32|do_int80_|entry_SYSCALL_|el0t?_)');
const TO_KERNEL = new RegExp('^((raw_|dynamic_)?irqentry_exit(?!_to_user)|arm64_preempt_schedule_irq|(__|arm64_)?exit_to_kernel_mode|' +
	'exit_el1_|el1h?_|(asm_)?sysvec_|(asm_)?common_interrupt|(asm_)?exc_)');

// The node of the function that the stack of node i is in when it ends, as wait_frames.c has it: a
// thread off the CPU is in the function that called the scheduler, or that was held back.
function ownNode(t, frames, i) {
	const name = function (node) { return frames.name[t.frame[node]]; };
	const bare = function (node) { return node && !frames.kind[t.frame[node]] && !frames.dso[t.frame[node]] ? name(node) : ''; };
	const kernel = function (node) { return node && frames.kind[t.frame[node]] === KERNEL; };
	const leads = function (node) { return frames.kind[t.frame[node]] === LEADING; };
	const program = function (node) { return node && !kernel(node) && !leads(node) && bare(node)[0] !== '['; };
	const outOf = function (node, re) {
		while (kernel(node) && re.test(name(node)))
			node = t.parent[node];
		return node;
	};
	let up = t.parent[i];
	if (!up || !STATE_COLORS.has(bare(i)) || leads(up))
		return i;
	if (bare(i) === '[running]')
		return up;
	if (bare(up)[0] === '[' && (kernel(t.parent[up]) || bare(t.parent[up]) === '[parked]'))
		up = t.parent[up];
	let own = outOf(up, SCHEDULER);
	const back = outOf(own, TO_KERNEL), way = outOf(own, WORK);
	if (back !== own) {
		if (kernel(back) || program(back))
			own = back;
	} else if (kernel(way) && TO_USER.test(name(way))) {
		const held = outOf(way, /^/);
		if (program(held))
			own = held;
	}
	return own && !leads(own) ? own : up;
}

// Functions by name (kernel functions separately), with self and total of each side. A recursive
// function counts once per stack. A leading frame with the same name is not one of its calls.
function functions(view, weights) {
	const t = view.tree, frames = view.frames, ids = new Map(), of = new Int32Array(frames.n), out = [], path = [];
	for (let f = 0; f < frames.n; f++) {
		const key = ([LEADING, KERNEL].includes(frames.kind[f]) ? frames.kind[f] : 0) + frames.name[f];
		if (!ids.has(key))
			ids.set(key, ids.size);
		of[f] = ids.get(key);
	}
	const on = new Int32Array(ids.size), at = new Array(ids.size);
	for (let i = 1; i < t.n; i++) {
		const f = t.frame[i], id = of[f];
		while (path.length && t.depth[path[path.length - 1]] >= t.depth[i])
			on[of[t.frame[path.pop()]]]--;
		const outermost = !on[id]++;
		path.push(i);
		if (frames.kind[f] === LEADING)
			continue;
		let fn = at[id];
		if (!fn) {
			fn = at[id] = { name: frames.name[f], kind: frames.kind[f], change: frames.change[f],
				self: weights.map(function () { return 0; }), total: weights.map(function () { return 0; }) };
			out.push(fn);
		}
		// A function that was also called, not only inlined, appears as in report's table.
		if (fn.kind === INLINED)
			fn.kind = frames.kind[f];
		const ends = weights.some(function (w) { return w.self[i]; });
		const own = ends ? at[of[t.frame[ownNode(t, frames, i)]]] : fn;
		weights.forEach(function (w, k) {
			own.self[k] += w.self[i];
			if (outermost)
				fn.total[k] += w.total[i];
		});
	}
	return out;
}
