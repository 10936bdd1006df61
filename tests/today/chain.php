<?php
// outer_work -> middle_work -> leaf_work. chain.php SECONDS
function leaf_work(int $n): int { $s = $n; for ($i = 0; $i < 200000; $i++) $s = ($s * 31 + $i) % 1000003; return $s; }
function middle_work(int $n): int { return leaf_work($n) + 1; }
function outer_work(float $end): int { $t = 0; while (microtime(true) < $end) $t += middle_work($t % 7); return $t; }
echo outer_work(microtime(true) + (float)$argv[1]), "\n";
