#!/bin/bash
# cgroup v2 as the kernel leaves it, with no controller in the root's cgroup.subtree_control:
# perf_event does not reach the cgroups. nsprof says so with the remedy, and -a still knows the
# container of each process. Only for a virtual machine of "make check-kernels" booted that way:
# once a controller was enabled, that cannot be undone.
. "$(dirname "$0")/../lib.sh"
need_root
need_cmd jq
[ -e /run/nsprof-guest ] || skip_all "it runs in the machines of 'make check-kernels'"
[ -z "$(cat /sys/fs/cgroup/cgroup.subtree_control)" ] || skip_all "controllers are enabled"
cd "$T" || exit 2
CG=/sys/fs/cgroup
line() { "$NSPROF" doctor | grep -E "^(ok|not ok|cannot tell|works|in part|no) +$1" | sed 's/  */ /g'; }

rmdir "$CG"/*/ 2>/dev/null
like "no cgroup yet: doctor cannot tell" "$(line cgroups)" "^cannot tell cgroups perf_event is v2 at '$CG', but it has no cgroup to try"
like "no cgroup yet: -G" "$(line "-G NAME")" "^in part -G NAME perhaps no cgroup but '/'; see cgroups"
check "no cgroup yet: -G /" "$NSPROF" record -q -G / -o root.data -- true

mkdir -p "$CG/lxc.payload.web/sub"
(echo $BASHPID >"$CG/lxc.payload.web/sub/cgroup.procs" && exec "$BUILD/tests/targets/spin-a" 1000) &
like "doctor: cgroups" "$(line cgroups)" "^not ok cgroups .*no controller was ever enabled there; for -G run: echo \+cpu >$CG/cgroup.subtree_control$"
like "doctor: -G" "$(line "-G NAME")" "^in part -G NAME no cgroup but '/'; see cgroups"
"$NSPROF" doctor >/dev/null
is "doctor: not everything works" $? 1
for target in "-G lxc.payload.web" "-G lxc.payload.web/sub" "-G lxc.payload.*" "--container web" "-e cycles:u -G lxc.payload.web"; do
	# shellcheck disable=SC2086
	check_rc "$target is an error" 1 "$NSPROF" record -o x.data $target --duration 0.1
	like "$target: which says why and what helps" "$(cat "$T/check.err")" \
		"cannot record cgroup '.*': perf_event_open: No such file or directory: .*no controller was ever enabled there; for -G run: echo \+cpu >$CG/cgroup.subtree_control$"
	unlike "$target: nothing was removed" "$(cat "$T/check.err")" "removed"
done
# More cgroups than get events of their own.
for i in $(seq 110); do mkdir "$CG/many$i"; done
check_rc "-G of more than 100 is an error, too" 1 "$NSPROF" record -o x.data -G 'many*' --duration 0.1
like "-G of more than 100: why" "$(cat "$T/check.err")" "no controller was ever enabled there"
for i in $(seq 110); do rmdir "$CG/many$i"; done

"$NSPROF" record -q -a -F 499 --duration 1 -o all.data
"$NSPROF" symbolize -q --by container,process all.data >all.folded
like "-a: the process is of its container" "$(cat all.folded)" "^web;spin-a"
unlike "-a: and of nobody else" "$(cat all.folded)" "^host;spin-a"

# A removed cgroup is reported as removed.
like "a cgroup that is not there" "$("$NSPROF" record -o x.data -G nosuch --duration 0.1 2>&1)" "no cgroup 'nosuch'"

# Following the advice makes recording possible.
echo +cpu >"$CG/cgroup.subtree_control"
check "the remedy helps: -G" "$NSPROF" record -q -F 499 -G lxc.payload.web --duration 0.5 -o web.data
check "the remedy helps: its samples" sh -c '[ "$1" -ge 100 ]' sh "$("$NSPROF" info -j web.data | jq .samples)"
like "the remedy helps: doctor" "$(line "-G NAME")" "^works"
echo -cpu >"$CG/cgroup.subtree_control"
like "it stays so without the controller" "$(line "-G NAME")" "^works"
check "and -G records" "$NSPROF" record -q -F 499 -G lxc.payload.web --duration 0.5 -o web.data
done_testing
