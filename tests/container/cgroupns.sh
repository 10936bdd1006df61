#!/bin/bash
# Cgroup namespaces: a container in one of its own has its samples and its name; a recorder in one records
# what is below its part, says what is out of its reach, and gives nobody a wrong name.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
need_target spin-a spin-b
unshare -C -m true 2>/dev/null || skip_all "no cgroup namespaces"
cd "$T" || exit 2

# ---- a container in one ----
ctr_rootfs "$T/root" "$TARGETS/spin-a"
CTR_OPTS=-C ctr_start within "$T/root" /app/spin-a 60 || { fail "a container starts"; done_testing; }
CTR_OPTS=
ctr_computes
is "it is in a cgroup namespace of its own" "$(($(stat -Lc %i /proc/self/ns/cgroup) != $(stat -Lc %i "/proc/$CTR_PID/ns/cgroup")))" 1
check "it is recorded" "$NSPROF" record -q -e cpu-clock -F 499 -G "$CTR_CG" --duration 0.5 -o within.data
like "with its names" "$("$NSPROF" symbolize -q --no-inline within.data)" ';aaa_leaf '
path=$(sed -n 's/^0:://p' "/proc/$CTR_PID/cgroup")
check "with -a, too" "$NSPROF" record -q -e cpu-clock -F 499 -a --duration 0.5 -o all.data
# Other tests may run programs of the same name.
"$NSPROF" symbolize -q --no-inline --by container,process all.data | grep -E "^[^;]*;spin-a-$CTR_PID[/;]" >folded
is "of its cgroup, as the host sees it" "$(cut -d ';' -f 1 folded | sort -u)" "$path"

# ---- the recorder in one ----
mkdir -p "$CTR_V2/$CTR_CGROOT/mine/inner" "$CTR_V2/$CTR_CGROOT/other"
(echo $BASHPID >"$CTR_V2/$CTR_CGROOT/other/cgroup.procs" && exec "$TARGETS/spin-a" 60) &
other=$!
later "kill $other 2>/dev/null"
cat >inside.sh <<'END'
umount -l /sys/fs/cgroup
mount -t cgroup2 none /sys/fs/cgroup || exit 77
(echo $BASHPID >/sys/fs/cgroup/inner/cgroup.procs && exec "$TARGETS/spin-b" 60) &
victim=$!
echo $victim >victim
while [ "$(cat /proc/$victim/comm)" != spin-b ]; do sleep 0.01; done
"$NSPROF" doctor | grep '^[a-z ]* cgroups ' >doctor
"$NSPROF" record -q -e cpu-clock -F 499 -G inner --duration 0.5 -o inner.data
echo $? >inner.status
"$NSPROF" record -e cpu-clock -G "$1/other" --duration 0.1 -o none.data 2>none.err
echo $? >none.status
"$NSPROF" record -q -e cpu-clock -F 499 -a --duration 0.5 -o inside.data
kill $victim
END
export TARGETS NSPROF
(echo $BASHPID >"$CTR_V2/$CTR_CGROOT/mine/cgroup.procs" && exec unshare -C -m --propagation private bash inside.sh "$CTR_CGROOT") 2>err
if [ -e inner.status ]; then
	like "inside: doctor says what is visible" "$(<doctor)" "^not ok +cgroups +perf_event is v2 at '/sys/fs/cgroup', only part of which is visible; to use -G for other cgroups, mount the host's"
	is "inside: a cgroup below is recorded" "$(<inner.status)" 0
	like "inside: with its names" "$("$NSPROF" symbolize -q --no-inline inner.data)" ';bbb_leaf '
	unlike "inside: and nobody else" "$("$NSPROF" symbolize -q --no-inline inner.data)" ';aaa_leaf '
	is "inside: one outside is an error" "$(<none.status)" 1
	like "inside: that says so" "$(<none.err)" "no cgroup '$CTR_CGROOT/other': No such file or directory"
	"$NSPROF" symbolize -q --no-inline --by container,process inside.data >folded
	is "inside: -a has the cgroup below" "$(grep -E "^[^;]*;spin-b-$(<victim)[/;]" folded | cut -d ';' -f 1 | sort -u)" /inner
	unlike "inside: and no process outside is said to be in it" "$(grep -F spin-a- folded)" '^/inner;'
else
	skip "inside" "cgroup2 cannot be mounted there: $(<err)"
fi
ctr_stop within
done_testing
