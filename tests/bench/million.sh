# shellcheck shell=bash
# A million samples to folded text, with warm caches, without inlined frames: wall time and largest
# memory. The recordings repeat the samples of the four workloads' recordings (tests/tools/recode).
# The second part shows how the time grows: with the samples at a fixed set of stacks, and with the
# stacks at a fixed number of samples. A quarter of a million samples is enough for these lines:
# making such a recording takes several times as long as reading it.

RECODE=$BUILD/tests/tools/recode

# long_recording SAMPLES: make $WORK/long.data, with the samples of $WORK/short.data repeated.
long_recording() {
	local n
	n=$("$NSPROF" info --json "$WORK/short.data" | jq .samples)
	[ "$n" -gt 0 ] && "$RECODE" "$WORK/short.data" "$WORK/long.data" $((($1 + n - 1) / n)) >/dev/null
}

short_recording() { # WORKLOAD SECONDS
	start_named "$1"
	sleep 0.3
	# shellcheck disable=SC2046
	record nsprof "$WORK/short.data" "$2" -F 999 $(dwarf $DUMP_MAX) -a -G "$CG" || return
	stop_workload
}

# Seconds, MiB, samples and lines of one run over $WORK/long.data.
million_once() {
	local s m
	rm -f "$WORK/long.folded" # as in fold_run: emptying it would be measured
	read -r s m < <(python3 -c '
import resource, subprocess, sys, time
t = time.monotonic()
subprocess.run(sys.argv[2:], stdout=open(sys.argv[1], "w"), check=True)
print("%.4f %.1f" % (time.monotonic() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))' \
		"$WORK/long.folded" "$NSPROF" symbolize -q --no-inline "$WORK/long.data")
	put seconds "${s:--}"
	put mib "${m:--}"
	put samples "$(awk '{ n += $NF } END { print n + 0 }' "$WORK/long.folded")"
	put stacks "$(wc -l <"$WORK/long.folded")"
}

million_runs() { # the first one warms up
	"$NSPROF" symbolize -q --no-inline "$WORK/long.data" >/dev/null
	for ((RUN = 1; RUN <= RUNS; RUN++)); do million_once; done
}

# plot METRIC ROW...: one bar per row for its seconds, scaled to the longest.
plot() {
	local x=$1 r
	shift
	for r; do echo "$(med "$r" nsprof "$x") $(med "$r" nsprof seconds)"; done |
		awk '{ x[NR] = $1; y[NR] = $2; if ($2 > max) max = $2 } END { for (i = 1; i <= NR; i++) {
			bar = ""; for (k = 0; max && k < 50 * y[i] / max; k++) bar = bar "#"
			printf "    %9d  %6.3f s  %s\n", x[i], y[i], bar } }'
}

table_million() {
	local w k samples=() stacks=() line=$((MILLION / 4))
	TOOL=nsprof
	for w in "${WORKLOADS[@]}"; do
		short_recording "$w" "$SIZE_SECONDS" && long_recording "$MILLION" || return 1
		ROW=$w
		million_runs
	done
	# The last workload is the compiler, with stacks that are all different.
	for ((k = 1; k <= MILLION_STEPS; k++)); do
		long_recording $((line * k / MILLION_STEPS)) || return 1
		ROW="samples $k"
		samples+=("$ROW")
		million_runs
	done
	for ((k = 1; k <= MILLION_STEPS; k++)); do
		short_recording "$w" "$(awk -v s="$SIZE_SECONDS" -v k=$k -v n=$MILLION_STEPS 'BEGIN { print s * k / n }')" &&
			long_recording $line || return 1
		ROW="stacks $k"
		stacks+=("$ROW")
		million_runs
	done
	rm -f "$WORK/short.data" "$WORK/long.data" "$WORK/long.folded"
	echo "### A million samples"
	echo
	echo "Wall time warm, without inlined frames. At most 1.5 s on 2 CPUs and 256 MiB are asked for."
	echo
	md_head workload samples "unique stacks" seconds MiB
	for w in "${WORKLOADS[@]}"; do
		md "$w" "$(num %d "$(med "$w" nsprof samples)")" "$(num %d "$(med "$w" nsprof stacks)")" \
			"$(verdict "$(med "$w" nsprof seconds)" 1.5)" "$(verdict "$(med "$w" nsprof mib)" 256)"
	done
	echo
	echo "By samples, the same stacks of $w:"
	echo
	plot samples "${samples[@]}"
	echo
	echo "By unique stacks, as many samples:"
	echo
	plot stacks "${stacks[@]}"
}
