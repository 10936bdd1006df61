-- A sum that the server computes for many seconds in one backend; with the JIT its expression is compiled.
SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = -1; SET jit_optimize_above_cost = 0;
SET max_parallel_workers_per_gather = 0;
SELECT sum((i * 31 + 7) % 1000003 + (i * 17) % 1009) FROM generate_series(1, 400000000) AS g(i);
