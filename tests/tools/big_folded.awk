# 100,000 different stacks of some 400,000 nodes: three choices at each of eleven levels, so that
# some thousand boxes are wide enough to be seen, and chains below them.
BEGIN {
	for (i = 0; i < 100000; i++) {
		s = "main"
		for (l = p = 1; l <= 11; l++) {
			p *= 3
			s = s ";Class" i % p % 1999 "::f" l (l == 9 ? "_[k]" : l == 7 ? "_[i]" : "")
		}
		for (l = 0; l < i % 4; l++)
			s = s ";leaf_" l
		print s, 1 + i % 3
	}
}
