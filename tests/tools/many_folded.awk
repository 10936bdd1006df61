# -v stacks=N -v shape=tree|any -v seed=NUMBER: N different stacks as folded text. "tree": as in
# real programs, four callees per function and twelve calls deep, so that stacks share their
# callers. "any": sixteen calls, each to any of 400 functions, so that beyond the second call hardly
# two stacks have anything in common.
function name(n) { return "ns::Class" n % 97 "::method_" n }
BEGIN {
	srand(seed)
	for (i = 0; i < stacks; i++) {
		s = "worker"
		part = 4 ^ 12 / 4
		for (l = 0; l < (shape == "tree" ? 12 : 16); l++) {
			s = s ";" name(shape == "tree" ? 31 * l + int(i * 16 / part) % 4 : int(400 * rand()))
			part /= 4
		}
		print s, 1 + int(20 * rand())
	}
}
