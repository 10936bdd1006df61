#!/bin/bash
# timeout: 200
# lxc: a container of a folder, without network, in the cgroup lxc.payload.NAME.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd lxc-start lxc-stop lxc-info
ctr_need

NAME=nsprof-lxc-$$
D=$T/lxc
mkdir -p "$D/$NAME"
rt_root
printf '#!/bin/sh\n%s\n' "${RT_COMMAND[2]}" >"$T/root/app/init"
chmod 755 "$T/root/app/init" "$T"
cat >"$D/$NAME/config" <<CONF
lxc.rootfs.path = dir:$T/root
lxc.uts.name = $NAME
lxc.net.0.type = empty
lxc.init.cmd = /app/init
lxc.mount.auto = proc:rw
lxc.cgroup.dir.container = $CTR_CGROOT/lxc.payload.$NAME
lxc.cgroup.dir.monitor = $CTR_CGROOT/lxc.monitor.$NAME
CONF
rt_cgroups
# It moves itself there to take a container's cgroups down, and leaves it in each hierarchy.
for d in /sys/fs/cgroup /sys/fs/cgroup/*; do
	[ -e "$d/cgroup.procs" ] && [ ! -e "$d/lxc.pivot" ] && later "rmdir '$d/lxc.pivot'"
done
later 'lxc-stop -P "$D" -n $NAME -k'
lxc-start -P "$D" -n $NAME -d -o "$T/lxc.log" -l INFO >"$T/log" 2>&1 || skip_all "lxc-start fails: $(grep ERROR "$T/lxc.log" | head -n 1)$(tail -n 1 "$T/log")"
rt_checks "$CTR_CGROOT/lxc.payload.$NAME" "$(lxc-info -P "$D" -n $NAME -p -H)"
check "it is stopped" lxc-stop -P "$D" -n $NAME -k
rm -rf "$D"
rt_gone
done_testing
