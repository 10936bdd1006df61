#!/bin/bash
# timeout: 200
# Two tenants make the recorder work without end: new paths of 4 KiB, new files, mappings, names,
# threads, processes, cgroups. Its memory and its file stay small, the two are named with what was
# left out of theirs, and a third tenant's samples are complete.
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd jq
need_target flood
need_target spin
TARGETS=$BUILD/tests/targets
V2=$(awk '$(NF-2) == "cgroup2" || / - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
[ -n "$V2" ] || skip_all "no cgroup2 mount"
cd "$T" || exit 1
base=nsprof-flood-$$
mkdir "$V2/$base" 2>/dev/null || skip_all "cannot make a cgroup in $V2"
cleanup() {
	local p
	for p in $(cat "$V2/$base"/*/cgroup.procs); do kill -9 "$p"; done
	wait_for '[ -z "$(cat "$V2/$base"/*/cgroup.procs)" ]' 5
	find "$V2/$base" -depth -type d -exec rmdir {} \;
}
later cleanup
mkdir "$V2/$base"/{paths,spam,victim} "$T"/{paths,spam}
"$NSPROF" record -q -r 1 -e cpu-clock -a -o probe -- true 2>err || skip_all "cannot record all CPUs here: $(cat err)"
SECS=3
ANON_MAX=$((64 * 1024))		# KiB without the rings, which are not anonymous memory
GROWTH_MAX=1000000		# bytes per second

# in_cgroup NAME COMMAND...: become COMMAND in that cgroup.
in_cgroup() {
	echo $BASHPID >"$V2/$base/$1/cgroup.procs" && exec "${@:2}"
}
flood() { in_cgroup "$1" "$TARGETS/flood" 60 "$2" "${3:-$T/$1}" >"$1.$2" 2>&1 & }

# Programs that the recorder has not met before, each for some tens of milliseconds.
victims() {
	local i
	for ((i = 0; ; i++)); do
		cp "$TARGETS/spin" "$T/victim.$i"
		"$T/victim.$i" --cpu 0.05 >/dev/null
		rm "$T/victim.$i"
		echo "$i" >victims
	done
}

flood paths paths
flood paths files
for kind in again maps names threads forks execs files; do flood spam $kind; done
flood spam cgroups "$V2/$base/spam"
wait_for '[ "$(cat paths.* spam.* | grep -c ready)" = 10 ]' 20 || { cat paths.* spam.*; fail "all of it runs"; }
# With a priority that other programs on the machine cannot take away.
"$NSPROF" record -r 1 -e cpu-clock -F 99 -a -o data 2>err &
recorder=$!
wait_for '[ -s data ]' 20
(echo $BASHPID >"$V2/$base/victim/cgroup.procs"; victims) &
"$TARGETS/spin" --cpu 60 >/dev/null &
victim=$!
echo $victim >"$V2/$base/victim/cgroup.procs"
# What a tenant may have at once is in the file by then.
sleep 1
begun=$(date +%s%N)
first=$(stat -c %s data)
sleep $SECS
wait_for '[ "$(cat victims)" -ge 5 ]' 30
anon=$(awk '/^RssAnon:/ { print $2 }' /proc/$recorder/status)
bytes=$(($(stat -c %s data) - first))
ms=$((($(date +%s%N) - begun) / 1000000))
kill -INT $recorder
wait $recorder 2>/dev/null
cleanup 2>/dev/null

note() { echo "# $*"; }
note "$anon KiB of anonymous memory, $((bytes * 1000 / ms)) bytes per second, $(cat victims) victims in $ms ms"
check "memory stays below 64 MiB" [ "$anon" -le $ANON_MAX ]
check "the file grows by less than 1 MB per second" [ $((bytes * 1000 / ms)) -le $GROWTH_MAX ]
"$NSPROF" info --json data >info.json
note "samples lost, dropped, side-band records lost: $(jq -c '[.ledger.lost_kernel, .ledger.dropped, .ledger.lost_sideband]' info.json)"
# The other one may do all that it does without a loss: names are written when a sample needs them.
check "'paths' is named with what was left out" jq -e --arg c "/$base/paths" '[.budgets[] | select(.cgroup == $c)] | length > 0' info.json
like "and in the closing lines" "$(<err)" "/$base/paths' is used up: [0-9]"
check "nothing of others was left out" jq -e --arg c "/$base/victim" '[.budgets[] | select(.cgroup == $c)] | length == 0' info.json
"$NSPROF" symbolize -q data >folded
# In spin's own code: what it declares, from the start of the thread on.
awk '/^(victim\.[0-9]+|spin);/ && /app_/ { n += $NF; if (/;(_start|clone3);.*(main|app_thread);app_outer[; ]/) good += $NF; else print "# " $0 }
	END { print "# " good + 0 " of " n + 0 " samples of victims are complete"; exit !(n > 20 && good == n) }' folded >victims.txt
is "the victims' samples are complete" "$?" 0
cat victims.txt
is "and none of them lacks its mappings" "$(grep -E '^(victim\.[0-9]+|spin);' folded | grep -cE 'over_budget|no mapping')" 0
done_testing
