# Turns perf script text into folded stacks: the job of stackcollapse-perf.pl, with as little work
# as possible.
/^#/ { next }
/^[^ \t]/ { sub(/ +[0-9]+(\/[0-9]+)? .*/, ""); comm = $0; stack = ""; open = 1; next }
/^[ \t]+[0-9a-f]+ / {
	name = $0
	sub(/^[ \t]+[0-9a-f]+ /, "", name)
	sub(/ \([^(]*\)$/, "", name)
	sub(/\+0x[0-9a-f]+$/, "", name)
	gsub(/;/, ":", name)
	stack = ";" name stack
	next
}
/^$/ && open { n[comm stack]++; open = 0 }
END { for (s in n) print s, n[s] | "LC_ALL=C sort"; }
