#!/bin/bash
# timeout: 200
# podman with runc, all of its folders private, no network. Its cgroup is libpod_parent/libpod-ID, or below the parent it is given.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd podman runc conmon
ctr_need

D=$T/podman
mkdir "$D"
pm() { podman --root "$D/root" --runroot "$D/run" --tmpdir "$D/tmp" --runtime runc --cgroup-manager cgroupfs --events-backend file "$@"; }
rt_cgroups
later 'rt_unmount "$D"'
later 'pm rm -f -a'
rt_root
# Without CAP_SYS_RESOURCE its default limits cannot be set.
pm run -d --name p1 --cgroup-parent "/$CTR_CGROOT" --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 \
	--rootfs "$T/root:O" "${RT_COMMAND[@]}" >"$T/id" 2>"$T/log" || skip_all "podman run fails: $(tail -n 1 "$T/log")"
ID=$(tail -n 1 "$T/id")
rt_checks "$CTR_CGROOT/libpod-$ID" "$(pm inspect -f '{{.State.Pid}}' p1)" "${ID:0:12}"
check "podman rm -f" pm rm -f p1
rt_gone
done_testing
