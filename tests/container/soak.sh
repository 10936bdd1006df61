#!/bin/bash
# beside others
# record -a at 999 Hz while containers come and go: the recorder's memory, descriptors and threads
# do not follow their number, and every container is in the recording. SOAK_SECS seconds (make soak:
# 1800; here 10).
#
# What is flat: a least-squares slope by the number of containers, over the second half of the time,
# that is not above 0 by two standard errors; or one so small that 10,000 containers take less than
# a MiB, or one descriptor. In the first half fills what has a limit: 48 MiB for the stacks of
# threads, half of the descriptors for binaries. A run below 15 minutes is too short for that. It
# begins a new file every second, and only has limits: 128 MiB, 200 descriptors, 8 threads.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd python3 jq
need_target spin
ctr_need
secs=${SOAK_SECS:-10}
cd "$T" || exit 1
ctr_rootfs "$T/root" "$TARGETS/spin:/app/server"
options=(-a)
[ "$secs" -ge 900 ] || options+=(--switch-output=1s)
(ulimit -n 256 && exec "$NSPROF" record -e cpu-clock -F 999 --call-graph dwarf,8192 "${options[@]}" -o a.data) 2>err </dev/null &
recorder=$!
recordings() { find . -maxdepth 1 -name 'a.data*' -size +0; }
wait_for '[ -n "$(recordings)" ]' 30 || skip_all "cannot record all CPUs here: $(cat err)"

# sample: a line "SECONDS CONTAINERS KIB DESCRIPTORS THREADS". No process substitution: numbers of
# processes are given again while this runs (ctr_empty). The file is read at once: its length changes
# between two reads.
sample() {
	local seconds memory threads key value status
	read -r seconds _ </proc/uptime
	status=$(cat "/proc/$recorder/status")
	while read -r key value _; do
		case $key in
		RssAnon:) memory=$value ;;
		Threads:) threads=$value ;;
		esac
	done <<<"$status"
	echo "$seconds $n $memory $(find "/proc/$recorder/fd" -mindepth 1 | wc -l) $threads"
}

n=0 failed=0
end=$((SECONDS + secs))
sample >samples
while [ $SECONDS -lt $end ] || [ $n -lt 12 ]; do
	# Two of them at any time.
	ctr_start "c$n" "$T/root" /app/server 600 >>starts || failed=$((failed + 1))
	ctr_computes "$CTR_CG" 20
	[ $n = 0 ] || ctr_stop "c$((n - 1))"
	n=$((n + 1))
	sample >>samples
done
ctr_stop "c$((n - 1))"
kill -INT $recorder
wait $recorder
is "the recorder ends" $? 130
is "containers that did not start, of $n" $failed 0

cat >slope.py <<'PY'
import sys
column, least, unit = int(sys.argv[1]), float(sys.argv[2]), sys.argv[3]
rows = [tuple(map(float, line.split())) for line in open('samples')]
first, last = rows[0], rows[-1]
rows = [r for r in rows if r[0] >= (first[0] + last[0]) / 2]
x, y = [r[1] for r in rows], [r[column] for r in rows]
n, mx, my = len(x), sum(x) / len(x), sum(y) / len(y)
sxx = sum((a - mx) ** 2 for a in x)
slope = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sxx
error = (sum((b - my - slope * (a - mx)) ** 2 for a, b in zip(x, y)) / max(n - 2, 1) / sxx) ** 0.5
most = max(r[column] for r in rows)
print('# %s: %d at first, %d at half time, %d at last, %d at most; slope %+.4f +- %.4f per container, over %d containers' % (
      unit, first[column], y[0], last[column], most, slope, 2 * error, x[-1] - x[0]))
sys.exit(most > int(sys.argv[4]) if len(sys.argv) > 4 else slope - 2 * error > 0 and slope > least)
PY
# flat COLUMN LEAST LIMIT WHAT
flat() {
	local limit=()
	[ "$secs" -ge 900 ] || limit=("$3")
	check "$4: $([ "$secs" -ge 900 ] && echo flat || echo bounded)" python3 slope.py "$1" "$2" "$4" "${limit[@]}"
}
flat 2 0.1 131072 "KiB of memory"
flat 3 0.0001 200 descriptors
flat 4 0.0001 8 threads

is "all files are complete" "$(for f in $(recordings); do "$NSPROF" info --json "$f" | jq -r .complete; done | sort -u)" true
bad=
for f in $(recordings); do
	"$NSPROF" symbolize -q --no-inline --by container "$f" >>folded || bad+="$f "
done
is "symbolize reads them" "$bad" ""
is "every container is in them" "$(for f in $(recordings); do
	"$NSPROF" info --json "$f" | jq -r --arg cg "/$CTR_CGROOT/" '.containers[].cgroup | select(startswith($cg))'; done | sort -u | wc -l)" "$n"
check "with their program" grep -Eq "^/?$CTR_CGROOT/c[0-9]+;.*app_leaf " folded
echo "# $n containers in $secs s, $(recordings | wc -l) files of $(recordings | xargs cat | wc -c) bytes, $(awk '{ s += $NF } END { print s }' folded) samples"
[ -z "${SOAK_KEEP-}" ] || cp samples "$SOAK_KEEP"
done_testing
