#!/bin/bash
# Choosing by cgroup: several names, any order of arguments, parents and children, a host with
# cgroup v2 only.
# beside others
# waits
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
ctr_rootfs "$T/root" "$TARGETS/spin-a" "$TARGETS/spin-b"
ctr_start a "$T/root" /app/spin-a 600 || fail "container a starts"
CGA=$CTR_CG
ctr_start b "$T/root" /app/spin-b 600 || fail "container b starts"
CGB=$CTR_CG

folded() { "$NSPROF" symbolize -q --no-inline "$T/$1"; }
has() { # NAME WANTED UNWANTED
	local f
	f=$(folded "$1")
	like "$1: has ${2}_leaf" "$f" "${2}_leaf"
	[ -z "${3:-}" ] || unlike "$1: has no ${3}_leaf" "$f" "${3}_leaf"
}

ctr_record "$T/one" -G "$CGA" -F 499 -a -e cpu-clock --duration 1
has one aaa bbb
ctr_record "$T/order" -F 499 -a -e cpu-clock -G "$CGB" --duration 1
has order bbb aaa
ctr_record "$T/two" -G "$CGA,$CGB" -F 499 --duration 1
has two aaa
has two bbb
ctr_record "$T/twice" -G "$CGA" -G "$CGB" -F 499 --duration 1
has twice aaa
has twice bbb
ctr_record "$T/parent" --cgroup "$CTR_CGROOT" -F 499 --duration 1
has parent aaa
has parent bbb

# A parent and its child, both named: samples in the child are counted once. So the samples stand
# for no more CPU time than the cgroup used, by its own account, from before the recorder's start
# until after its end. They stand for not much less than it used between the two, which may be much
# less on a busy machine.
used() { awk '$1 == "usage_usec" { print $2 }' "$CTR_V2/$CTR_CGROOT/cpu.stat"; }
around=$(used)
"$NSPROF" record -q -o "$T/nested" -G "$CTR_CGROOT,$CGA,$CGB" -F 499 &
recorder=$!
wait_for '[ -s "$T/nested" ]' 20
within=$(used)
sleep 1
within=$((($(used) - within) * 499 / 1000000))
kill -INT $recorder
wait $recorder
most=$((($(used) - around) * 499 / 1000000))
n=$("$NSPROF" info --json "$T/nested" | jq .samples)
check "nested names count once ($n samples, $most by CPU time)" test "$n" -le $((most + most / 20))
check "and not nothing ($within at least)" test "$n" -ge $((within / 2))

# A command that only sets the duration is not recorded itself.
ctr_record "$T/timer" -G "$CGA" -F 499 -- "$TARGETS/spin-host" 1
has timer aaa host

# With this many names, everything is sampled and the cgroup in each sample decides. The result is
# the same, and includes cgroups that begin later below one of them.
many=$CGA
for i in $(seq 150); do
	mkdir "$CTR_V2/$CTR_CGROOT/many-$i"
	later "rmdir '$CTR_V2/$CTR_CGROOT/many-$i'"
	many+=,$CTR_CGROOT/many-$i
done
"$NSPROF" record -q -o "$T/many" -G "$many" -F 499 --duration 2 &
recorder=$!
wait_for '[ -s "$T/many" ]' 20
mkdir "$CTR_V2/$CTR_CGROOT/many-150/later"
later "rmdir '$CTR_V2/$CTR_CGROOT/many-150/later'"
(echo $BASHPID >"$CTR_V2/$CTR_CGROOT/many-150/later/cgroup.procs" && exec "$TARGETS/spin" 1)
wait $recorder
has many aaa bbb
like "what began later in one of 151" "$(folded many)" "^spin;.*app_leaf"
like "under its own name" "$("$NSPROF" info --json "$T/many" | jq -r '.containers[].cgroup')" '/many-150/later$'
unlike "no name of a cgroup outside" "$("$NSPROF" info --json "$T/many" | jq -r '.containers[].cgroup')" "^/?$CGB\$"

if unshare -m --propagation private sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup' 2>/dev/null; then
	unshare -m --propagation private sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh \
		"$NSPROF" record -q -o "$T/plain" -G "$CGA" -F 499 --duration 1
	has plain aaa bbb
	unshare -m --propagation private sh -c 'umount -R /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup && exec "$@"' sh \
		"$NSPROF" record -q -o "$T/plainabs" -G "/sys/fs/cgroup/$CGB" -F 499 --duration 1
	has plainabs bbb aaa
else
	skip "a host with nothing but v2" "cannot mount cgroup2 in a private namespace"
fi
done_testing
