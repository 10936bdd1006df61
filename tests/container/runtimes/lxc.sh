#!/bin/bash
# timeout: 200
# lxc: a container from a folder, without network, in the cgroup lxc.payload.NAME.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd lxc-start lxc-stop lxc-info
ctr_need

NAME=nsprof-lxc-$$
D=$T/lxc
rt_root
printf '#!/bin/sh\n%s\n' "${RT_COMMAND[2]}" >"$T/root/app/init"
printf '#!/bin/sh\nexec /app/spin 60\n' >"$T/root/app/other"
chmod 755 "$T/root/app/init" "$T/root/app/other" "$T"
config() { # NAME INIT
	mkdir -p "$D/$1"
	cat >"$D/$1/config" <<-CONF
		lxc.rootfs.path = dir:$T/root
		lxc.uts.name = $1
		lxc.net.0.type = empty
		lxc.init.cmd = $2
		lxc.mount.auto = proc:rw
		lxc.cgroup.dir.container = $CTR_CGROOT/lxc.payload.$1
		lxc.cgroup.dir.monitor = $CTR_CGROOT/lxc.monitor.$1
	CONF
}
start() { lxc-start -P "$D" -n "$1" -d -o "$T/lxc.log" -l INFO; }
stop() { lxc-stop -P "$D" -n "$1" -k; }
config $NAME /app/init
config $NAME-other /app/other
rt_cgroups
# lxc moves itself there to remove a container's cgroups, and leaves that cgroup behind in each
# hierarchy.
for d in /sys/fs/cgroup /sys/fs/cgroup/*; do
	[ -e "$d/cgroup.procs" ] && [ ! -e "$d/lxc.pivot" ] && later "rmdir '$d/lxc.pivot'"
done
later 'stop $NAME'
start $NAME >"$T/log" 2>&1 || skip_all "lxc-start fails: $(grep ERROR "$T/lxc.log" | head -n 1)$(tail -n 1 "$T/log")"
RT_RUNTIME=lxc RT_NAME=$NAME RT_ID=$NAME
first() { lxc-info -P "$D" -n $NAME -p -H; }
rt_checks "$CTR_CGROOT/lxc.payload.$NAME" "$(first)"
lxc-attach -P "$D" -n $NAME -- /app/spin-a 30 >"$T/log" 2>&1 &
check "lxc-attach" wait_for "[ -n '\$(ctr_pids $CTR_CGROOT/lxc.payload.$NAME '^spin-a')' ]" 20
rt_exec
again() { { stop $NAME; start $NAME; } >"$T/log" 2>&1; PID=$(first); }
rt_lives "$(first)" again
later 'stop $NAME-other'
start $NAME-other >"$T/log" 2>&1 || fail "a second one starts" "$(cat "$T/log")"
rt_unclear "${NAME%?}" $NAME $NAME-other
check "it is stopped" stop $NAME
check "the second is stopped" stop $NAME-other
rm -rf "$D"
rt_gone
done_testing
