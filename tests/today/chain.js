// outerWork -> middleWork -> leafWork, compiled by all of V8's tiers. chain.js SECONDS
function leafWork(n) { let s = 0; for (let i = 0; i < 200000; i++) s = (s * 31 + i + n) % 1000003; return s; }
function middleWork(n) { return leafWork(n) + 1; }
function outerWork(end) { let t = 0; while (Date.now() < end) t += middleWork(t % 7); return t; }
console.log(outerWork(Date.now() + 1000 * Number(process.argv[2])));
