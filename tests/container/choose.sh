#!/bin/bash
# beside others
# takes: 20
# Containers chosen by the names that people use: --container, --pod, --cgroup-of, -G patterns. The
# processes and their cgroups are real. The test writes the state files in the runtimes' layouts
# (see runtimes.h), except runc's, which runc itself writes in runc.sh.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
STATE=$T/state
POD=7e1b3c5d-0001-4222-8333-abcdefabcdef
PIDS=()

# id LETTER...: 64 hexadecimal digits with this prefix.
WEB=$(ctr_id aaa1) WEB2=$(ctr_id aaa2) POSTGRES=$(ctr_id b1) NGINX=$(ctr_id c1) PAUSE=$(ctr_id c2) SIDE=$(ctr_id d1) CRIO=$(ctr_id e1)

# busy CGROUP COMM: start a process there that computes, under that name. Sets PID.
busy() {
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1" "$T/bin"
	[ -e "$T/bin/$2" ] || cp "$TARGETS/spin" "$T/bin/$2"
	bash -c 'echo $$ >"$1/cgroup.procs"; exec "$2" --rest 600' - "$CTR_V2/$CTR_CGROOT/$1" "$T/bin/$2" >/dev/null 2>&1 &
	PID=$!
	PIDS+=("$PID")
	wait_for "grep -qx '$2' /proc/$PID/comm" 5
}
over() {
	kill "${PIDS[@]}"
	wait "${PIDS[@]}"
	find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -depth -type d -exec rmdir {} +
} 2>/dev/null
later over

docker_state() { # ID NAME PID
	mkdir -p "$STATE/docker/containers/$1"
	jq -n --arg id "$1" --arg name "/$2" --argjson pid "$3" '{ ID: $id, Name: $name, Config: { Image: "registry/shop:1", Labels: {} },
		State: { Running: ($pid > 0), Pid: $pid } }' >"$STATE/docker/containers/$1/config.v2.json"
}
podman_state() { # ID NAME
	mkdir -p "$STATE/storage/overlay-containers/$1/userdata"
	jq -n --arg id "$1" --arg name "$2" '[{ id: $id, names: [$name], image: "0123", layer: "x", metadata:
		({ "image-name": "docker.io/library/postgres:15", name: $name } | tojson) }]' >"$STATE/storage/overlay-containers/containers.json"
}
containerd_state() { # ID TYPE CONTAINER PID CGROUP
	local d=$STATE/containerd/io.containerd.runtime.v2.task/k8s.io/$1
	mkdir -p "$d"
	jq -n --arg t "$2" --arg c "$3" --arg uid "$POD" --arg cg "$5" '{ linux: { cgroupsPath: $cg }, annotations: {
		"io.kubernetes.cri.container-type": $t, "io.kubernetes.cri.container-name": $c, "io.kubernetes.cri.image-name": "nginx:1.25",
		"io.kubernetes.cri.sandbox-name": "front-0", "io.kubernetes.cri.sandbox-namespace": "shop",
		"io.kubernetes.cri.sandbox-uid": $uid } }' >"$d/config.json"
	echo -n "$4" >"$d/init.pid"
}
crio_state() { # ID PID: below the run root, without a list
	local d=$STATE/crio/overlay-containers/$1/userdata
	mkdir -p "$d"
	jq -n '{ linux: { cgroupsPath: "kubepods-pod1.slice:crio:x" }, annotations: { "io.kubernetes.cri-o.ContainerType": "container",
		"io.kubernetes.container.name": "queue", "io.kubernetes.pod.name": "back-0", "io.kubernetes.pod.namespace": "shop",
		"io.kubernetes.pod.uid": "1", "io.kubernetes.cri-o.ImageName": "rabbit:3" } }' >"$d/config.json"
	echo "$2" >"$d/pidfile"
}
crun_state() { # NAME PID START
	mkdir -p "$STATE/crun/$1"
	jq -n --argjson pid "$2" --argjson start "$3" --arg cg "/$CTR_CGROOT/plain/$1" '{ pid: $pid, "process-start-time": $start, "cgroup-path": $cg,
		rootfs: "/r", bundle: "/b" }' >"$STATE/crun/$1/status"
}
started() { awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$1/stat"; }

busy "docker/$WEB" web-a
docker_state "$WEB" web "$PID"
# A process from docker exec is not a child of the first process.
busy "docker/$WEB" web-exec
busy "system.slice/docker-$WEB2.scope/init.scope" web-b
docker_state "$WEB2" web2 "$PID"
busy "machine.slice/libpod-$POSTGRES.scope" pg-a
podman_state "$POSTGRES" db
KUBE=kubepods/burstable/pod$POD
busy "$KUBE/$PAUSE" pause
containerd_state "$PAUSE" sandbox "" "$PID" "/$CTR_CGROOT/$KUBE/$PAUSE"
busy "$KUBE/$NGINX" nginx-a
containerd_state "$NGINX" container nginx "$PID" "/$CTR_CGROOT/$KUBE/$NGINX"
busy "$KUBE/$SIDE" side-a
containerd_state "$SIDE" container sidecar "$PID" "/$CTR_CGROOT/$KUBE/$SIDE"
busy "kubepods.slice/kubepods-pod1.slice/crio-$CRIO.scope" queue-a
crio_state "$CRIO" "$PID"
busy plain/cart cart-a
crun_state cart "$PID" "$(started "$PID")"
# The state of a container that is gone: the number of its process belongs to another process now.
busy plain/other other-a
crun_state ghost "$PID" 1
docker_state "$(ctr_id f1)" stopped 0
ROOTS=(--runtime-root "$STATE/docker:$STATE/storage" --runtime-root "$STATE/containerd" --runtime-root "$STATE/crio"
	--runtime-root "$STATE/crun")

# comms OPTIONS...: the names of the sampled processes, in one line.
comms() {
	"$NSPROF" record -q -F 1999 -o "$T/data" --duration 0.5 "${ROOTS[@]}" "$@" && "$NSPROF" symbolize -q --by comm "$T/data" |
		sed 's/;.*//' | sort -u | tr '\n' ' '
}
chosen() { # WHAT EXPECTED OPTIONS...
	local what=$1 want=$2
	shift 2
	is "$what" "$(comms "$@")" "$want "
}
chosen "docker, by name, with what was started beside" "web-a web-exec" --container web
chosen "docker with systemd's driver, and the cgroup below" web-b --container web2
chosen "by id" "web-a web-exec" --container "$WEB"
chosen "by the beginning of an id" web-b --container aaa2
chosen "podman, by name" pg-a --container db
chosen "crun, in a cgroup called otherwise" cart-a --container cart
chosen "a container of a pod, by its own name" queue-a --container queue
chosen "two containers" "cart-a pg-a" --container db,cart
chosen "two options" "cart-a pg-a" --container db --container cart
chosen "a pod, its containers and pause" "nginx-a pause side-a" --pod front-0
chosen "a pod of a namespace" "nginx-a pause side-a" --pod shop/front-0
chosen "one container of a pod" nginx-a --pod front-0/nginx
chosen "and of a namespace" side-a --pod shop/front-0/sidecar
chosen "a pod by CRI-O" queue-a --pod back-0
chosen "the cgroup of a process" cart-a --cgroup-of "$(cat "$CTR_V2/$CTR_CGROOT/plain/cart/cgroup.procs")"
chosen "a pattern" "cart-a other-a" -G "$CTR_CGROOT/plain/*"
chosen "a pattern, absolute" "cart-a other-a" -G "$CTR_V2/$CTR_CGROOT/plain/*"
chosen "a pattern and a name" "cart-a other-a pg-a" -G "/$CTR_CGROOT/plain/[co]*,$CTR_CGROOT/machine.slice"
chosen "a pattern whose matches lie in each other" "cart-a other-a" -G "$CTR_CGROOT/plain*" -G "$CTR_CGROOT/plain/*"

# Containers of a user without root, on a host with its /proc mounted elsewhere (a DaemonSet): the
# user, the home and /run/user are that host's. The recorder's own root has another user there.
MINE=$(ctr_id a41) ALSO=$(ctr_id a42)
USERS=user.slice/user-4242.slice/user@4242.service
mkdir -p "$CTR_V2/$CTR_CGROOT/$USERS"/{libpod-$MINE.scope,docker-$ALSO.scope} "$T"/{hostproc,out}
cat >"$T/host.sh" <<HOST
set -e
mount -t proc proc "$T/hostproc"
mount -t tmpfs tmpfs /home
mount -t tmpfs tmpfs /run
state=/home/somebody/.local/share/containers/storage/overlay-containers
mkdir -p \$state /run/user/4242/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/$ALSO
echo '[{ "id": "$MINE", "names": ["mine"], "metadata": "{}" }]' >\$state/containers.json
echo '{ "annotations": { "nerdctl/name": "also" } }' >/run/user/4242/docker/containerd/daemon/io.containerd.runtime.v2.task/moby/$ALSO/config.json
(cat /etc/passwd; echo somebody:x:4242:4242::/home/somebody:/bin/sh) >"$T/passwd"
mount --bind "$T/passwd" /etc/passwd
for c in libpod-$MINE docker-$ALSO; do
	bash -c 'echo \$\$ >"\$1/cgroup.procs"; exec "\$2" --rest 600' - "$CTR_V2/$CTR_CGROOT/$USERS/\$c.scope" "$T/bin/mine-\${c%%-*}" &
done
unshare -m bash "$T/inside.sh"
HOST
cat >"$T/inside.sh" <<INSIDE
umount /etc/passwd /home /run
until grep -qsx mine-libpod "$T"/hostproc/[0-9]*/comm && grep -qsx mine-docker "$T"/hostproc/[0-9]*/comm; do sleep 0.02; done
for name in mine also; do
	"$NSPROF" record -q -F 1999 --proc "$T/hostproc" --container \$name --duration 0.8 -o "$T/out/\$name"
done
INSIDE
cp "$TARGETS/spin" "$T/bin/mine-libpod"
cp "$TARGETS/spin" "$T/bin/mine-docker"
check "of a user of another root: they are found" unshare -m -p --fork --kill-child --propagation private bash "$T/host.sh"
is "podman's, by the list in the home" "$("$NSPROF" symbolize -q --by container,comm "$T/out/mine" | cut -d';' -f1,2 | sort -u)" "mine;mine-libpod"
is "docker's, in the runtime directory" "$("$NSPROF" symbolize -q --by container,comm "$T/out/also" | cut -d';' -f1,2 | sort -u)" "also;mine-docker"

refused() { # WHAT STATUS EXPRESSION OPTIONS...
	local what=$1 status=$2 re=$3
	shift 3
	rm -f "$T/none"
	check_rc "$what" "$status" "$NSPROF" record -o "$T/none" --duration 0.1 "${ROOTS[@]}" "$@"
	like "$what: says so" "$(cat "$T/check.err")" "$re"
	check "$what: no file" [ ! -e "$T/none" ]
}
refused "the beginning of two ids" 1 "--container aaa is ambiguous: it may be web \(docker aaa1.*, web2 \(docker aaa2" --container aaa
# Ten are listed, and other containers may run here: those that look like the name come first.
refused "a name of nobody" 1 "no container for --container dbx; running: db \(podman b1" --container dbx
refused "a name of nobody, much mistyped" 1 "no container for --container sidekick; running: shop/front-0/sidecar \(" --container sidekick
refused "a pause container is not chosen by an empty name" 1 "no container for" --container pause-
refused "one that has ended" 1 "no container for --container stopped" --container stopped
refused "one whose process is another by now" 1 "no container for --container ghost" --container ghost
refused "a pod of nobody" 1 "no container for --pod back-9" --pod back-9
refused "a pod in another namespace" 1 "no container for --pod other/front-0" --pod other/front-0
busy "$(ctr_id 9d3f7c21a)" left-a
busy "$(ctr_id 9d3f7c21b)" left-b
refused "the beginning of two without a name" 1 \
	"--container 9d3f7c21 is ambiguous: it may be 9d3f7c21a000, 9d3f7c21b000;" --container 9d3f7c21
refused "no name" 129 "--container needs a name; nsprof ps" --container ""
refused "no pod at all" 129 "invalid pod" --pod a/b/c/d
refused "a pattern without a match" 1 "no cgroup matches -G '$CTR_CGROOT/x\*'" -G "$CTR_CGROOT/x*"
refused "no process" 1 "cannot find the cgroup of process 2147483647.*No such process" --cgroup-of 2147483647
refused "no number" 129 "invalid process ID" --cgroup-of web
refused "with -p" 129 "cannot be combined with -p" --container web -p 1
done_testing
