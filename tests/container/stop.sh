#!/bin/bash
# ctr_stop ends a container although the number of its process was given to another one.
# beside others
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
ctr_need

ctr_rootfs "$T/root"
ctr_start ended "$T/root" /bin/busybox sleep 600 || { fail "a container starts"; done_testing; }
first=$CTR_PID cg=$CTR_V2/$CTR_CG
sleep 600 &
other=$!
CTR_UNSHARE[ended]=$other
ctr_stop ended
check "its process is gone" wait_for "[ ! -e /proc/$first ]" 20
check "its cgroup is gone" test ! -e "$cg"
check "the other process lives" kill -0 "$other"
kill "$other"
done_testing
