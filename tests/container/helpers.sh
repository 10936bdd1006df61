#!/bin/bash
# Alone: every program that looks for containers sees what this test makes. Helpers of containers
# are not containers: conmon, health checks, pause, lxc's monitor and other units with a container's
# ID in the names of their cgroups. The cgroups and processes are real, laid out as the runtimes do
# with both drivers; the test writes only the state files.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
later ctr_end

A=$(ctr_id a1) B=$(ctr_id b2) C=$(ctr_id c3) D=$(ctr_id d4) P=$(ctr_id e5)
U=7e1b3c5d-0001-4222-8333-abcdefabcdef
POD_SYSTEMD=kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod${U//-/_}.slice
POD_CGROUPFS=kubepods/burstable/pod$U
USERS=user.slice/user-1000.slice/user@1000.service
CONTAINERS="
$POD_SYSTEMD/crio-$A.scope
$POD_CGROUPFS/crio-$B
machine.slice/libpod-$C.scope
system.slice/web.service/libpod-payload-$D
libpod_parent/$P/libpod-$(ctr_id f6)
$USERS/user.slice/libpod-$(ctr_id f7).scope
docker/$(ctr_id 18)
system.slice/docker-$(ctr_id 19).scope
lxc.payload.helpers-web
machine.slice/machine-helpers-db.scope"
OTHERS="
$POD_SYSTEMD/crio-conmon-$A.scope
$POD_SYSTEMD/crio-$P
$POD_CGROUPFS/crio-conmon-$B
$POD_SYSTEMD/cri-containerd-$(ctr_id 2a).scope
system.slice/crio-conmon-$C.scope
machine.slice/libpod-conmon-$C.scope
machine.slice/machine-libpod_pod_$P.slice/libpod-conmon-$C.scope
machine.slice/machine-libpod_pod_$P.slice/libpod-$(ctr_id 2b).scope
libpod_parent/$P/libpod-$(ctr_id 2f)
libpod_parent/$P/libpod-$(ctr_id 30)
libpod_parent/conmon
libpod_parent/$P/conmon
parent/$(ctr_id 2c)/conmon
$USERS/user.slice/libpod-conmon-$(ctr_id f7).scope
system.slice/web.service/runtime
system.slice/$C-1a2b3c4d5e6f7081.service
system.slice/$C.service
system.slice/var-lib-docker-overlay2-$(ctr_id 19)-merged.mount
docker/buildkit/x2zq0a7m3l1r9v5c8b4n6k2j1
lxc.monitor.web
machine.slice/machine-qemu\\x2d1\\x2dvm.scope"
CONTAINERS+="
parent/$(ctr_id 2c)/libpod-$(ctr_id 2d)"
lives() {
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1"
	bash -c 'echo $$ >"$1/cgroup.procs" && exec sleep 600' - "$CTR_V2/$CTR_CGROOT/$1" &
	PIDS+=("$!")
	wait_for "grep -qx sleep /proc/$!/comm" 5
}
for cg in $OTHERS; do lives "$cg"; done
for cg in $CONTAINERS; do
	case $cg in
	*/machine-helpers-db.scope) lives "$cg/payload"; lives "$cg/supervisor" ;;
	*/libpod-$C.scope) lives "$cg/container" ;;
	*) lives "$cg" ;;
	esac
done

# The pause container of a Kubernetes pod, and podman's state for one.
S=$T/state
mkdir -p "$S/containerd/io.containerd.runtime.v2.task/k8s.io/$(ctr_id 2a)" "$S/storage/overlay-containers"
echo '{ "annotations": { "io.kubernetes.cri.container-type": "sandbox", "io.kubernetes.cri.sandbox-name": "front" } }' \
	>"$S/containerd/io.containerd.runtime.v2.task/k8s.io/$(ctr_id 2a)/config.json"
# podman's annotations call a normal container a sandbox.
mkdir -p "$S/storage/overlay-containers/$C/userdata"
echo '{ "annotations": { "io.container.manager": "libpod", "io.kubernetes.cri-o.ContainerType": "sandbox" } }' \
	>"$S/storage/overlay-containers/$C/userdata/config.json"
# podman 5.8 keeps it without an image. If it has another name, the state of another container of
# the pod identifies it.
mkdir "$S/storage/overlay-containers/$(ctr_id f6)" "$S/storage/overlay-containers/$(ctr_id f6)/userdata"
echo '{ "annotations": { "io.container.manager": "libpod", "io.kubernetes.cri-o.SandboxID": "'"$(ctr_id 30)"'" } }' >"$S/storage/overlay-containers/$(ctr_id f6)/userdata/config.json"
# podman run --rm.
jq -n --arg c "$(ctr_id f6)" '[{ id: $c, names: ["fleeting"], metadata: "{\"image-name\":\"docker.io/library/shop:1\"}" }]' \
	>"$S/storage/overlay-containers/volatile-containers.json"
jq -n --arg c "$C" --arg infra "$(ctr_id 2b)" --arg infra2 "$(ctr_id 2f)" --arg infra3 "$(ctr_id 30)" '[{ id: $c, names: ["shop"], metadata: "{\"image-name\":\"docker.io/library/shop:1\"}" },
	{ id: $infra, names: ["e50000000000-infra"], metadata: "{\"image-name\":\"localhost/podman-pause:4.3.1-0\"}" },
	{ id: $infra2, names: ["e50000000000-infra"], metadata: "{\"image-name\":\"\"}" }, { id: $infra3, names: ["front"], metadata: "{\"image-name\":\"\"}" }]' \
	>"$S/storage/overlay-containers/containers.json"
ROOTS=(--runtime-root "$S/containerd:$S/storage")

"$NSPROF" ps --json --interval 0.01 "${ROOTS[@]}" >"$T/ps"
is "containers, and nothing else" "$(jq -r --arg top "/$CTR_CGROOT/" '.containers[].cgroup | select(startswith($top))[($top | length):]' "$T/ps" | sort)" \
	"$(sed '/^$/d' <<<"$CONTAINERS" | sort)"
is "podman's annotation makes no sandbox" "$(jq -r --arg id "$C" '.containers[] | select(.id == $id) | .runtime + " " + .name' "$T/ps")" "podman shop"
is "podman run --rm has a name" "$(jq -r --arg id "$(ctr_id f6)" '.containers[] | select(.id == $id) | .runtime + " " + .name' "$T/ps")" "podman fleeting"
is "the name of what was meant" "$("$NSPROF" record --container shop "${ROOTS[@]}" --duration 0.1 -o "$T/data" 2>&1 >"$T/log" | grep -c "no container for")" 0
check_rc "pause cannot be meant" 1 "$NSPROF" record --container 2a "${ROOTS[@]}" --duration 0.1 -o "$T/none"
like "pause cannot be meant: nor is it offered" "$(grep -c 'no container for --container 2a' "$T/check.err") $(cat "$T/check.err")" '^1 '
unlike "pause is not offered" "$(cat "$T/check.err")" 'front/pause'

# podman --cgroups=disabled: the container is in the cgroup of the process that started it. That
# does not make this cgroup a container.
SHARED=$(ctr_id 2e)
lives session-1.scope
mkdir -p "$S/crun/$SHARED"
jq -n --argjson pid "${PIDS[-1]}" --argjson start "$(sed 's/.*) //' "/proc/${PIDS[-1]}/stat" | cut -d' ' -f20)" \
	'{ pid: $pid, "process-start-time": $start, "cgroup-path": "", rootfs: "/", bundle: "/b" }' >"$S/crun/$SHARED/status"
jq --arg id "$SHARED" '. + [{ id: $id, names: ["shared"], metadata: "{}" }]' "$S/storage/overlay-containers/containers.json" >"$T/list"
cp "$T/list" "$S/storage/overlay-containers/containers.json"
ROOTS=(--runtime-root "$S/containerd:$S/storage:$S/crun")
"$NSPROF" ps --json --interval 0.01 "${ROOTS[@]}" >"$T/ps"
is "a container without a cgroup names none" "$(jq -r --arg cg "/$CTR_CGROOT/session-1.scope" '.containers[] | select(.cgroup == $cg) | .name' "$T/ps")" ""
check_rc "a container without a cgroup cannot be chosen" 1 "$NSPROF" record --container shared "${ROOTS[@]}" --duration 0.1 -o "$T/none"
like "a container without a cgroup: why, and what can" "$(cat "$T/check.err")" "container 'shared' runs without a cgroup of its own.* -p ${PIDS[-1]} records its first process"

# Samples are attributed by the path of a cgroup, where the recording has no container for it.
busy() { # CGROUP COMM
	mkdir -p "$T/bin"
	cp "$TARGETS/spin" "$T/bin/$2"
	bash -c 'echo $$ >"$1/cgroup.procs"; exec "$2" 600' - "$CTR_V2/$CTR_CGROOT/$1" "$T/bin/$2" >/dev/null 2>&1 &
	PIDS+=("$!")
	wait_for "grep -qx '$2' /proc/$!/comm" 5
}
busy "$POD_SYSTEMD/crio-$A.scope" work-a
busy "$POD_SYSTEMD/crio-conmon-$A.scope" conmon-a
busy "machine.slice/machine-libpod_pod_$P.slice/libpod-conmon-$C.scope" conmon-c
busy "system.slice/$C-1a2b3c4d5e6f7081.service" health
busy "system.slice/web.service/libpod-payload-$D" work-d
busy "libpod_parent/$P/conmon" conmon-p
"$NSPROF" record -q -F 1999 -G "$CTR_CGROOT" --duration 1 -o "$T/data" 2>"$T/err"
"$NSPROF" symbolize -q --no-inline --by container,comm "$T/data" | cut -d';' -f1,2 | sort -u >"$T/who"
is "samples of work" "$(grep ';work' "$T/who")" "a10000000000;work-a
d40000000000;work-d"
is "samples of what serves it are in no container" "$(grep -Ev ';work' "$T/who" | sed "s,^/$CTR_CGROOT/,,")" "$POD_SYSTEMD/crio-conmon-$A.scope;conmon-a
libpod_parent/$P/conmon;conmon-p
machine.slice/machine-libpod_pod_$P.slice/libpod-conmon-$C.scope;conmon-c
system.slice/$C-1a2b3c4d5e6f7081.service;health"
done_testing
