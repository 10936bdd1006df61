#!/bin/bash
# beside others
# waits
# takes: 40
# A cgroup that shows the ID or the name of somebody else's container is not that container: a
# container is the cgroup that holds the process in its runtime's state. Cgroups made in a container,
# by a user, or by root where nothing shows an ID; with state files, without, and with those of a
# container that is stopped. The cgroups and processes are real; the test writes the state files as
# the runtimes do.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
ctr_need
later ctr_end

WEB=$(ctr_id a1) ATT=$(ctr_id b2) KIND=$(ctr_id c3) POD=$(ctr_id d4) TIE=$(ctr_id e5) MINE=$(ctr_id f6)
NAME=web-$$
U=7e1b3c5d-0001-4222-8333-abcdefabcdef
USERS=user.slice/user-4242.slice/user@4242.service
S=$T/state
mkdir -p "$T/bin"
cp "$TARGETS/spin" "$T/bin/evil"

# runs CGROUP PROGRAM ARGS...: in that cgroup; sets PID. A sleeper costs nothing.
runs() {
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1"
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$CTR_V2/$CTR_CGROOT/$1" "${@:2}" </dev/null >/dev/null 2>&1 &
	PID=$!
	PIDS+=("$PID")
	wait_for "grep -qsx '$(basename "$2")' /proc/$PID/comm" 10
}
# ends CGROUP...: its processes, and the cgroup.
ends() {
	local cg
	for cg; do
		xargs -r kill -KILL <"$CTR_V2/$CTR_CGROOT/$cg/cgroup.procs"
		wait_for "rmdir '$CTR_V2/$CTR_CGROOT/$cg'" 10
	done
} 2>/dev/null
docker_state() { # ID NAME PID
	mkdir -p "$S/docker/containers/$1"
	jq -n --arg id "$1" --arg name "/$2" --argjson pid "$3" '{ ID: $id, Name: $name, Config: { Image: "shop:1" },
		State: { Running: ($pid > 0), Pid: $pid } }' >"$S/docker/containers/$1/config.v2.json"
}
runc_state() { # ID PID
	mkdir -p "$S/runc/$1"
	jq -n --argjson pid "$2" --argjson start "$(sed 's/.*) //' "/proc/$2/stat" | cut -d' ' -f20)" --arg id "$1" \
		'{ id: $id, init_process_pid: $pid, init_process_start: $start, cgroup_paths: { "": "" }, config: { labels: [] } }' |
		jq --arg cg "/$CTR_CGROOT/docker/$1" '.cgroup_paths[""] = $cg' >"$S/runc/$1/state.json"
}
ps() { "$NSPROF" ps --json --interval 0.01 "$@" >"$T/ps" 2>"$T/ps.err"; }
# who EXPRESSION: the rows below the cgroup of this test.
rows() { jq -r --arg top "/$CTR_CGROOT/" ".containers[] | select(.cgroup | startswith(\$top)) | $1" "$T/ps" | sort; }
cgroup_of() { rows "select(.id == \"$1\") | .cgroup" | sed "s,^/$CTR_CGROOT/,,"; }
named() { rows "select(.name == \"$1\") | .cgroup" | sed "s,^/$CTR_CGROOT/,,"; }
# by CGROUP ARGS...: record it; the containers of the samples and the programs in them.
by() {
	rm -f "$T/data"
	"$NSPROF" record -F 999 --duration 0.4 "${ROOTS[@]}" "$@" -o "$T/data" 2>"$T/err" || echo "failed: $(tail -n 1 "$T/err")"
	"$NSPROF" symbolize -q --no-inline --by container,comm "$T/data" | cut -d';' -f1,2 | grep -E ';(spin|evil)' | sort -u | paste -sd' '
}
ROOTS=(--runtime-root "$S/docker" --runtime-root "$S/runc")
mkdir -p "$S/docker" "$S/runc"

# ---- cgroups that a container makes below its own ----

PATTERNS="$WEB docker/$WEB docker-$WEB.scope system.slice/docker-$WEB.scope libpod-$WEB.scope libpod-payload-$WEB
libpod_parent/libpod-$WEB cri-containerd-$WEB.scope crio-$WEB.scope crio/crio-$WEB nerdctl-$WEB.scope runc-$WEB crun-$WEB.scope
kubepods/burstable/pod$U/$WEB kubepods.slice/kubepods-pod${U//-/_}.slice/cri-containerd-$WEB.scope default/$WEB"
NAMES="lxc.payload.$NAME lxc/$NAME machine-$NAME.scope systemd-nspawn@$NAME.service kubepods/besteffort/pod$U/$NAME $NAME.service/payload"
runs "docker/$WEB" "$TARGETS/spin" --rest 600
WEB_PID=$PID
runs "docker/$ATT" sleep 600
docker_state "$WEB" "$NAME" "$WEB_PID"
docker_state "$ATT" att "$PID"
mkdir -p "$CTR_V2/$CTR_CGROOT/docker/$ATT/$NAME.service/supervisor"
for p in $PATTERNS $NAMES; do
	mkdir -p "$CTR_V2/$CTR_CGROOT/docker/$ATT/$p"
	sleep 600 &
	PIDS+=("$!")
	echo "$!" >"$CTR_V2/$CTR_CGROOT/docker/$ATT/$p/cgroup.procs"
done
runs "docker/$ATT/docker-$WEB.scope" "$T/bin/evil" --rest 600
# One sees it with a state file that names only the process, with one that has its start time, and
# without any.
for state in docker docker+runc none; do
	case $state in
	docker+runc) runc_state "$WEB" "$WEB_PID" ;;
	none) ROOTS=(--runtime-root "$T/empty") ;;
	esac
	ps "${ROOTS[@]}"
	is "state of $state: one row has the ID" "$(cgroup_of "$WEB")" "docker/$WEB"
	is "state of $state: the other container" "$(cgroup_of "$ATT")" "docker/$ATT"
	[ $state = none ] || is "state of $state: one row has the name" "$(named "$NAME")" "docker/$WEB"
	like "state of $state: says so" "$(cat "$T/ps.err")" \
		"warning: cgroup '/$CTR_CGROOT/docker/$ATT/.*' has the ID of container .*${WEB:0:12}\)?, which is in cgroup '/$CTR_CGROOT/docker/$WEB': it is not reported as"
	# Two of its cgroups may also have one ID, "both have the ID". Which contradictions come first
	# depends on the order in which the kernel lists cgroups.
	is "state of $state: a few times" "$(grep -c 'the ID of container' "$T/ps.err")" 3
done
is "names made there are unique there only" "$(rows 'select(.name | endswith("/'"$NAME"'")) | .name' | sort -u)" "${ATT:0:64}/$NAME"
ROOTS=(--runtime-root "$S/docker" --runtime-root "$S/runc")
is "record --container NAME" "$(by --container "$NAME")" "$NAME;spin"
is "record --container ID" "$(by --container "$WEB")" "$NAME;spin"
is "record --container, the beginning of its ID" "$(by --container "${WEB:0:44}")" "$NAME;spin"
is "record of all: reported as the container that made it" "$(by -G "$CTR_CGROOT")" "att;evil $NAME;spin"
like "record: says so" "$(cat "$T/err")" "warning: cgroup '/$CTR_CGROOT/docker/$ATT/.* has the ID of container '$NAME'.* which is in cgroup '/$CTR_CGROOT/docker/$WEB'"

# ---- it begins while recording, and the container ends ----

for p in $PATTERNS; do ends "docker/$ATT/$p"; done
"$NSPROF" record -F 999 --container "$NAME" -G "$CTR_CGROOT/docker" "${ROOTS[@]}" -o "$T/data" 2>"$T/err" &
RECORDER=$!
wait_for '[ -s "$T/data" ]' 20
computes "$WEB_PID" 200
runs "docker/$ATT/system.slice/docker-$WEB.scope" "$T/bin/evil" --rest 600
computes "$PID" 200
docker_state "$WEB" "$NAME" 0
ends "docker/$WEB"
runs "docker/$ATT/crio-$WEB.scope" "$T/bin/evil" --rest 600
computes "$PID" 200
# The same ID starts again.
runs "docker/$WEB" "$TARGETS/spin" --rest 600
docker_state "$WEB" "$NAME" "$PID"
runc_state "$WEB" "$PID"
computes "$PID" 200
kill -INT $RECORDER
wait $RECORDER
is "begun while recording" "$("$NSPROF" symbolize -q --no-inline --by container,comm "$T/data" | cut -d';' -f1,2 | grep -E ';(spin|evil)' |
	sort -u | paste -sd' ')" "att;evil $NAME;spin"

# ---- the container is stopped ----

docker_state "$WEB" "$NAME" 0
ends "docker/$WEB"
ps "${ROOTS[@]}"
is "stopped: no row has the ID" "$(cgroup_of "$WEB")" ""
is "stopped: no row has the name" "$(named "$NAME")" ""
like "stopped: says so" "$(cat "$T/ps.err")" "cgroup '/$CTR_CGROOT/docker/$ATT/.*' has the ID of container '$NAME' \(docker ${WEB:0:12}\), but no process of that"
for what in "$NAME" "$WEB" "${WEB:0:44}"; do
	check_rc "stopped: --container ${what:0:12}" 1 "$NSPROF" record --container "$what" "${ROOTS[@]}" --duration 0.1 -o "$T/none"
done
# By now another process has the number in docker's state, which has no start time.
docker_state "$WEB" "$NAME" "$(head -n 1 "$CTR_V2/$CTR_CGROOT/docker/$ATT/crio-$WEB.scope/cgroup.procs")"
ps "${ROOTS[@]}"
is "stopped: the number of its process is reused" "$(cgroup_of "$WEB")$(named "$NAME")" ""
docker_state "$WEB" "$NAME" 0

# ---- cgroups that a user makes ----

mkdir -p "$CTR_V2/$CTR_CGROOT/$USERS"
chown 4242 "$CTR_V2/$CTR_CGROOT/$USERS"
runs "$USERS/docker-$WEB.scope" "$T/bin/evil" --rest 600
ps "${ROOTS[@]}"
is "a user's: not while the container is stopped" "$(cgroup_of "$WEB")$(named "$NAME")" ""
is "a user's: it has a row by its path" "$(named "/$CTR_CGROOT/$USERS/docker-$WEB.scope")" "$USERS/docker-$WEB.scope"
runs "docker/$WEB" "$TARGETS/spin" --rest 600
docker_state "$WEB" "$NAME" "$PID"
runc_state "$WEB" "$PID"
ps "${ROOTS[@]}"
is "a user's: nor while it runs" "$(cgroup_of "$WEB") $(named "$NAME")" "docker/$WEB docker/$WEB"
is "a user's: samples have its path" "$(by -G "$CTR_CGROOT/$USERS")" "/$CTR_CGROOT/$USERS/docker-$WEB.scope;evil"
# A user's podman may call its container as it likes.
mkdir -p "$T/home/overlay-containers"
jq -n --arg id "$MINE" --arg name "$NAME" '[{ id: $id, names: [$name], metadata: "{}" }]' >"$T/home/overlay-containers/containers.json"
chown -R 4242 "$T/home"
chmod 755 "$T" "$T/home"
runs "$USERS/libpod-$MINE.scope" "$T/bin/evil" --rest 600
cp "$(command -v bash)" "$T/bin/conmon"
runs host "$T/bin/conmon" -c 'sleep 600; :' - -b "$T/home/overlay-containers/$MINE/userdata"
ps "${ROOTS[@]}"
is "a user's name: podman gives it" "$(rows 'select(.id == "'"$MINE"'") | .name')" "$NAME"
is "a user's name: the host's container is meant" "$(by --container "$NAME")" "$NAME;spin"
is "a user's name: the samples differ" "$(by -G "$CTR_CGROOT")" \
	"/$CTR_CGROOT/$USERS/docker-$WEB.scope;evil att;evil $NAME:${MINE:0:12};evil $NAME;spin"
ends "docker/$WEB"
docker_state "$WEB" "$NAME" 0
check_rc "a user's name: nor while the host's is stopped" 1 "$NSPROF" record --container "$NAME" "${ROOTS[@]}" --duration 0.1 -o "$T/none"
is "a user's name: by its ID" "$(by --container "$MINE")" "$NAME:${MINE:0:12};evil"

# Names that outputs give to something else: processes outside of containers, a placeholder, and
# containers of the host that were told apart or share a cgroup.
for n in host '[x]' a:docker a+x; do runs "$USERS/lxc.payload.$n" "$T/bin/evil" --rest 600; done
is "a user's name: not that of something else" "$(by -G "$CTR_CGROOT/$USERS" | tr ' ' '\n' | grep -v -e "^/" -e ":${MINE:0:12};" | LC_ALL=C sort | paste -sd' ')" \
	"[x]:[x];evil a+x:a+x;evil a:docker:a:docker;evil host:host;evil"
for n in host '[x]' a:docker a+x; do ends "$USERS/lxc.payload.$n"; done

# ---- what nothing contradicts stays as it is ----

runs "docker/$KIND/kubelet.slice/kubelet-kubepods.slice/cri-containerd-$POD.scope" "$TARGETS/spin" --rest 600
docker_state "$KIND" kind 0
ps "${ROOTS[@]}"
is "a container in a container" "$(cgroup_of "$POD")" "docker/$KIND/kubelet.slice/kubelet-kubepods.slice/cri-containerd-$POD.scope"
is "a container in a container: by its ID" "$(by --container "$POD")" "${POD:0:12};spin"
for p in $NAMES crio-$WEB.scope system.slice/docker-$WEB.scope; do ends "docker/$ATT/$p"; done
ends "$USERS/docker-$WEB.scope"
# Two cgroups of root's, and nothing says which one it is.
runs "one/docker-$TIE.scope" sleep 600
runs "two/docker-$TIE.scope" sleep 600
ps "${ROOTS[@]}"
is "a tie: none is it" "$(cgroup_of "$TIE")" ""
is "a tie: both are shown by their paths" "$(rows '.name' | grep "docker-$TIE.scope")" "/$CTR_CGROOT/one/docker-$TIE.scope
/$CTR_CGROOT/two/docker-$TIE.scope"
like "a tie: says so" "$(cat "$T/ps.err")" "cgroups '/$CTR_CGROOT/(one|two)/docker-$TIE.scope' and '/$CTR_CGROOT/(one|two)/docker-$TIE.scope' both have the ID"
docker_state "$TIE" tied "$PID"
runc_state "$TIE" "$PID"
ps "${ROOTS[@]}"
is "a tie: the state decides" "$(cgroup_of "$TIE") $(named tied)" "two/docker-$TIE.scope two/docker-$TIE.scope"
is "a tie: the other one" "$(named "/$CTR_CGROOT/one/docker-$TIE.scope")" "one/docker-$TIE.scope"
done_testing
