// A page with names that occur twice: as a thread and a function, and as functions of the kernel
// and of user code. Prints the functions with kind, self and total.
'use strict';
module.exports = async function (p) {
	const list = await p.eval('nsprofPage.functions().map(function (f) { return [f.name, f.kind, f.self[0], f.total[0]].join(" "); })');
	console.log(list.sort().join('\n'));
	if (p.errors.length)
		throw new Error(p.errors.join('; '));
};
