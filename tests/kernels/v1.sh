#!/bin/bash
# cgroup v1 only: cgroups and containers are recorded as with v2, and where the hierarchy of perf_event is
# not mounted, nsprof says so instead of recording something else. Only for a virtual machine of "make
# check-kernels" booted that way.
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd jq
[ -e /run/nsprof-guest ] || skip_all "it runs in the machines of 'make check-kernels'"
! grep -q ' - cgroup2 ' /proc/self/mountinfo || skip_all "cgroup v2 is mounted"
cd "$T" || exit 2
CG=/sys/fs/cgroup
TARGETS=$BUILD/tests/targets
line() { "$NSPROF" doctor | grep -E "^(ok|not ok|cannot tell|works|in part|no) +$1" | sed 's/  */ /g'; }

# within CGROUP PROGRAM: in the background, in that cgroup of all hierarchies.
within() {
	local h
	mkdir -p "$CG"/{cpu,cpuacct,cpu\,cpuacct,memory,pids,perf_event,systemd}/"$1" 2>/dev/null
	(for h in "$CG"/*/"$1"/cgroup.procs; do echo $BASHPID >"$h"; done; exec "$TARGETS/$2" 1000) &
	later "kill $! 2>/dev/null"
}
within lxc.payload.web/sub spin-a
within lxc.payload.db spin-b

like "doctor: cgroups" "$(line cgroups)" "^ok cgroups perf_event is v1 at '$CG/perf_event'"
like "doctor: -G" "$(line "-G NAME")" "^works"
for target in "-G lxc.payload.web" "-G lxc.payload.web/sub" "--container web"; do
	# shellcheck disable=SC2086
	check "$target is recorded" "$NSPROF" record -q -F 499 $target --duration 0.5 -o web.data
	"$NSPROF" symbolize -q --no-inline web.data >web.folded
	like "$target: has its stacks" "$(<web.folded)" ';aaa_leaf '
	unlike "$target: and no others" "$(<web.folded)" ';bbb_leaf '
done
"$NSPROF" record -q -a -F 499 --duration 1 -o all.data
"$NSPROF" symbolize -q --by container,process all.data >all.folded
like "-a: a process is of its container" "$(<all.folded)" "^web;spin-a"
like "-a: the other of its own" "$(<all.folded)" "^db;spin-b"
unlike "-a: and of nobody else" "$(<all.folded)" "^(host|db);spin-a"
like "ps lists both" "$("$NSPROF" ps | tr -s ' ')" "lxc web .*
.*lxc db |lxc db .*
.*lxc web "

# Without that hierarchy, nothing can be recorded by cgroup.
umount -l "$CG/perf_event" && rmdir "$CG/perf_event"
like "no perf_event: doctor" "$(line cgroups)" "^not ok cgroups "
for target in "-G lxc.payload.web" "--container web"; do
	# shellcheck disable=SC2086
	check_rc "no perf_event: $target is an error" 1 "$NSPROF" record -o x.data $target --duration 0.1
	like "no perf_event: $target: which says what to mount" "$(<"$T/check.err")" "no cgroup file system .*mount"
done
check "no perf_event: -a records" "$NSPROF" record -q -a -F 99 --duration 0.5 -o none.data
done_testing
