#!/bin/bash
# timeout: 200
# systemd-nspawn without a system bus: its cgroup is "payload" below the one it is started in.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd systemd-nspawn
ctr_need

NAME=nsprof-nspawn-$$
cg=$CTR_CGROOT/$NAME
mkdir "$CTR_V2/$cg"
rt_cgroups
rt_root
mkdir -p "$T/root/etc" "$T/root/run" "$T/root/sys" "$T/root/var" "$T/root/root"
: >"$T/root/etc/os-release"
(
	echo $BASHPID >"$CTR_V2/$cg/cgroup.procs"
	exec systemd-nspawn --register=no --keep-unit -q -D "$T/root" --private-network "${RT_COMMAND[@]}"
) </dev/null >"$T/log" 2>&1 &
NSPAWN=$!
later 'kill $NSPAWN; wait $NSPAWN'
find_pid() { PID=$(cat "$CTR_V2/$cg"/payload/cgroup.procs 2>/dev/null | while read -r p; do [ "$(cat "/proc/$p/comm")" != jit ] || echo "$p"; done) && [ -n "$PID" ]; }
wait_for 'find_pid || ! kill -0 $NSPAWN 2>/dev/null' 20
[ -n "${PID:-}" ] || skip_all "systemd-nspawn does not start it here: $(tail -n 1 "$T/log")"
rt_checks "$cg/payload" "$PID" "$NAME"
kill -KILL "$PID"
check "it ends" wait_for '! kill -0 $NSPAWN 2>/dev/null' 20
rt_gone
done_testing
