#!/bin/bash
# timeout: 200
# systemd-nspawn without a system bus: its cgroup is "payload" below the cgroup it is started in.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd systemd-nspawn
ctr_need

NAME=nsprof-nspawn-$$
rt_cgroups
rt_root
mkdir -p "$T/root/etc" "$T/root/run" "$T/root/sys" "$T/root/var" "$T/root/root"
: >"$T/root/etc/os-release"
# begin NAME COMMAND...: start it in the cgroup NAME/payload.
begin() {
	local cg=$CTR_V2/$CTR_CGROOT/$1
	mkdir -p "$cg"
	shift
	(
		echo $BASHPID >"$cg/cgroup.procs"
		exec systemd-nspawn --register=no --keep-unit -q -x -D "$T/root" --private-network "$@"
	) </dev/null >"$T/log" 2>&1 &
	NSPAWN=$!
	later "kill $NSPAWN; wait $NSPAWN"
}
# find_pid NAME COMM: which of its processes has become COMM.
find_pid() { # NAME COMM
	PID=$(ctr_pids "$CTR_CGROOT/$1/payload" "^$2\$")
	[ -n "$PID" ]
}
begin $NAME "${RT_COMMAND[@]}"
wait_for 'find_pid $NAME jit || ! kill -0 $NSPAWN 2>/dev/null' 20
[ -n "$PID" ] || skip_all "systemd-nspawn does not start it here: $(tail -n 1 "$T/log")"
RT_RUNTIME=nspawn RT_NAME=$NAME RT_ID=$NAME
rt_checks "$CTR_CGROOT/$NAME/payload" "$PID"
again() {
	kill -KILL "$PID"
	wait_for '! kill -0 $NSPAWN' 20
	begin $NAME "${RT_COMMAND[@]}"
	wait_for 'find_pid $NAME jit' 20
} 2>"$T/again"
rt_lives "$PID" again
begin $NAME-other /app/spin 60
check "a second one" wait_for 'find_pid $NAME-other spin' 20
rt_unclear "${NAME%?}" $NAME $NAME-other
kill -KILL "$PID"
find_pid $NAME jit
kill -KILL "$PID"
check "they end" wait_for '! find_pid $NAME jit && ! find_pid $NAME-other spin' 20
rt_gone
done_testing
