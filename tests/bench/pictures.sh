# shellcheck shell=bash
# Folded text of a million different stacks, sorted as tools write it and shuffled, drawn as a flame
# graph; and a diff of two such texts: wall time and largest memory. The real flamegraph.pl runs
# beside it where it is installed. Some stacks share their callers, as those of programs do. Others
# have nothing in common (tests/tools/many_folded.awk), which gives one box per frame.

# timed COMMAND...: wall time and largest memory of it, as the present TOOL's.
timed() {
	local s m
	read -r s m < <(python3 -c '
import resource, subprocess, sys, time
t = time.monotonic()
rc = subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), stderr=subprocess.DEVNULL).returncode
m = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("%.3f %.0f" % (time.monotonic() - t, m) if rc in (0, 2) else "- -")' "$WORK/shown" "$@")
	put seconds "$s"
	put mib "$m"
	put bytes "$(stat -c %s "$WORK/shown")"
}

# shuffle FILE SEED: reorder its lines, in the same way in every run.
shuffle() {
	shuf --random-source=<(python3 -c 'import random, signal, sys
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
sys.stdout.buffer.write(random.Random(int(sys.argv[1])).randbytes(16 << 20))' "$2") "$1" >"$1.shuffled" && mv "$1.shuffled" "$1"
}

table_pictures() {
	local shape side order seed=0
	for shape in tree any; do
		for side in a b; do
			awk -v stacks="$MILLION" -v shape=$shape -v seed=$((++seed)) -f "$TOP/tests/tools/many_folded.awk" |
				LC_ALL=C sort >"$WORK/$side.folded" || return 1
		done
		for order in sorted shuffled; do
			if [ $order = shuffled ]; then
				shuffle "$WORK/a.folded" $((seed - 1)) && shuffle "$WORK/b.folded" $seed || return 1
			fi
			ROW="$shape, $order"
			for ((RUN = 1; RUN <= RUNS; RUN++)); do
				TOOL=svg timed "$NSPROF" report -q --format svg "$WORK/a.folded"
				TOOL=diff timed "$NSPROF" diff "$WORK/a.folded" "$WORK/b.folded"
				! command -v flamegraph.pl >/dev/null || TOOL=flamegraph.pl timed flamegraph.pl "$WORK/a.folded"
			done
		done
	done
	rm -f "$WORK"/[ab].folded "$WORK/shown"
	echo "### Pictures of a million stacks"
	echo
	echo "Wall time in seconds and largest memory in MiB, from folded text with its lines sorted, as stackcollapse programs write them, and shuffled. At most" \
		"1.5 s and 1,024 MiB are asked for the picture, and 3 s for a diff of two."
	echo
	md_head stacks "report --format svg" MiB "diff of two" MiB flamegraph.pl MiB
	for ROW in "tree, sorted" "tree, shuffled" "any, sorted" "any, shuffled"; do
		md "$ROW" "$(verdict "$(med "$ROW" svg seconds)" 1.5)" "$(verdict "$(med "$ROW" svg mib)" 1024)" \
			"$(verdict "$(med "$ROW" diff seconds)" 3)" "$(med "$ROW" diff mib)" "$(med "$ROW" flamegraph.pl seconds)" \
			"$(med "$ROW" flamegraph.pl mib)"
	done
}
