# shellcheck shell=bash
# Can a diff be believed? Recordings of one program (tests/targets/shift: ten functions with
# wandering shares), two busy threads:
#   same      pairs of the same program: how often does a diff find anything? The limit is its rate
#             of false alarms (5 %).
#   N %       one recording has N % more work in one function, by the program's own count: is it
#             found as often as the same-against-same diffs predicted?
#   99 Hz     against DIFF_HZ of the same program: nothing must be found.
# Each recording is turned into a profile once, and the profiles are compared.

DIFF_HZ=1999
DIFF_ALPHA=0.05

# diff_recording FILE HZ EXTRA
diff_recording() {
	"$NSPROF" record -q -e cpu-clock -F "$2" -o "$WORK/diff.data" -- "$TARGETS/shift" "$DIFF_SECONDS" "$3" >"$1.work" 2>"$WORK/log" &&
		"$NSPROF" symbolize -q --format profile -o "$1" "$WORK/diff.data" 2>>"$WORK/log" && return
	echo "bench: $(head -n 3 "$WORK/log")" >&2
	return 1
}

# diff_pair BEFORE AFTER: one line "SIGNIFICANT PARSE_FOUND PARSE_SE CRITICAL PARSE_CHANGE", for
# 'parse' with its callees.
diff_pair() {
	"$NSPROF" diff -q --format json --alpha $DIFF_ALPHA "$1" "$2" >"$WORK/diff.json" 2>"$WORK/log" || {
		echo "bench: $(head -n 3 "$WORK/log")" >&2
		return 1
	}
	# A very short recording may have too few samples of 'parse' for a result.
	jq -r '(.functions[] | select(.name == "parse") | .total) as $p |
		[.statistics.significant, (if $p.significant then 1 else 0 end), $p.se // "-", .statistics.critical, $p.change // "-"] | @tsv' "$WORK/diff.json"
}

# diff_pairs ROW BEFORE AFTER: record the results of the diff of the two.
diff_pairs() {
	local any found se critical change
	ROW=$1
	read -r any found se critical change < <(diff_pair "$2" "$3") && [ -n "${change-}" ] || return 1
	put any "$((any > 0))"
	put found "$found"
	put se "$se"
	put critical "$critical"
	put change "$change"
}

# The change of parse's share from EXTRA per cent more work, by the program's own counts over all
# its recordings.
diff_truth() { # EXTRA
	cat "$WORK"/diff-a*.work | awk -v e="$1" '{ all += $2 } $1 == "parse" { p += $2 }
		END { b = p / all; e /= 100; printf "%.6f\n", (b + e) / (1 + e) - b }'
}

# diff_predicted CHANGE: the mean rate at which the same-against-same diffs would have detected it.
diff_predicted() {
	paste <(diff_values same se) <(diff_values same critical) | python3 -c '
import math, sys
change = float(sys.argv[1])
rates = [0.5 * math.erfc(-(change / float(se) - float(critical)) / math.sqrt(2)) for se, critical in (l.split() for l in sys.stdin) if se != "-"]
print("%.3f" % (sum(rates) / len(rates) if rates else 0))' "$1"
}

diff_values() { # ROW METRIC, in the order of the runs
	awk -F '\t' -v t="$TABLE" -v r="$1" -v m="$2" '$1 == t && $2 == r && $4 == m { print $6 }' "$RESULTS"
}

diff_sum() { # ROW METRIC
	diff_values "$1" "$2" | awk '{ n += $1 } END { print n + 0 }'
}

# diff_limits RATE N: the range "LOW HIGH" of hits in N tries at RATE, which holds in 99 of 100
# cases.
diff_limits() {
	python3 -c '
import math, sys
p, n = float(sys.argv[1]), int(sys.argv[2])
low = high = None
sum = 0
for k in range(n + 1):
    sum += math.comb(n, k) * p ** k * (1 - p) ** (n - k)
    if low is None and sum > 0.005:
        low = k
    if high is None and sum >= 0.995 - 1e-12:
        high = k
print(low, n if high is None else high)' "$1" "$2"
}

table_diff() {
	local e n p low high change
	TOOL=nsprof
	for ((RUN = 1; RUN <= DIFF_PAIRS; RUN++)); do
		diff_recording "$WORK/diff-a$RUN" $DIFF_HZ 0 && diff_recording "$WORK/diff-aa$RUN" $DIFF_HZ 0 &&
			diff_pairs same "$WORK/diff-a$RUN" "$WORK/diff-aa$RUN" || return 1
		# Recordings with and without the change alternate, so that both contain drifts of
		# the machine.
		((RUN <= DIFF_CHANGED)) || continue
		for e in "${DIFF_EXTRA[@]}"; do
			diff_recording "$WORK/diff-b" $DIFF_HZ "$e" && diff_pairs "$e %" "$WORK/diff-a$RUN" "$WORK/diff-b" || return 1
		done
		diff_recording "$WORK/diff-slow" 99 0 && diff_pairs "99 Hz" "$WORK/diff-a$RUN" "$WORK/diff-slow" || return 1
	done

	echo "### Can a diff be believed?"
	echo
	echo "Recordings of $DIFF_SECONDS s at $DIFF_HZ Hz, one per version; $DIFF_ALPHA is the rate of false alarms asked of a whole diff."
	echo
	md_head "after" pairs "true change, points" "mean found" "any function significant" "asked" "the changed one found" "predicted" "within chance"
	n=$(diff_sum same any)
	read -r low high < <(diff_limits $DIFF_ALPHA "$DIFF_PAIRS")
	md "the same" "$DIFF_PAIRS" 0 "$(diff_mean same)" "$n ($(awk -v n="$n" -v p="$DIFF_PAIRS" 'BEGIN { printf "%.1f %%", 100 * n / p }'))" \
		"<= $(awk -v n="$DIFF_PAIRS" -v a=$DIFF_ALPHA 'BEGIN { print n * a }')" - - "$( ((n <= high)) && echo "yes, <= $high" || echo "**no**, <= $high")"
	for e in "${DIFF_EXTRA[@]}"; do
		change=$(diff_truth "$e")
		p=$(diff_predicted "$change")
		n=$(diff_sum "$e %" found)
		read -r low high < <(diff_limits "$p" "$DIFF_CHANGED")
		md "$e % more" "$DIFF_CHANGED" "$(awk -v c="$change" 'BEGIN { printf "%.2f", 100 * c }')" "$(diff_mean "$e %")" \
			"$(diff_sum "$e %" any)" - "$n" "$(awk -v n="$DIFF_CHANGED" -v p="$p" 'BEGIN { printf "%.1f", n * p }')" \
			"$( ((n >= low && n <= high)) && echo "yes, $low to $high" || echo "**no**, $low to $high")"
	done
	n=$(diff_sum "99 Hz" any)
	read -r low high < <(diff_limits $DIFF_ALPHA "$DIFF_CHANGED")
	md "the same at 99 Hz" "$DIFF_CHANGED" 0 "$(diff_mean "99 Hz")" "$n" 0 - - "$( ((n <= high)) && echo "yes, <= $high" || echo "**no**, <= $high")"
}

diff_mean() { # ROW: mean of the found change, in points
	diff_values "$1" change | awk '$1 != "-" { s += $1; n++ } END { if (n) printf "%.2f\n", 100 * s / n; else print "-" }'
}
