#!/bin/bash
# timeout: 120
# Alone: every program that looks for containers sees what this test makes. Runtimes with state in
# unusual places: nsprof finds it from mounts of the host, a container's own root, command lines of
# the runtimes' processes, daemon.json and storage.conf. Only root on the host is believed about all
# containers, others only about their own. If no name can be found, the message names the runtime,
# the places searched, and why that failed. No daemon runs: the test makes state files and cgroups
# as the runtimes do.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd jq
need_cmd setpriv
ctr_need
USER_ID=4242
PIDS=()
# End everything that runs there, also children of a shell that is gone.
over() {
	local there
	for _ in 1 2 3 4 5; do
		mapfile -t there < <(find "$CTR_V2/$CTR_CGROOT" -name cgroup.procs -exec cat {} +)
		kill -KILL "${there[@]}" "${PIDS[@]}"
		wait "${PIDS[@]}"
		find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -depth -type d -exec rmdir {} +
		[ -n "$(find "$CTR_V2/$CTR_CGROOT" -mindepth 1 -type d)" ] || break
		sleep 0.1
	done
	umount -R -l "$F"
} 2>/dev/null
F=$T/files
mkdir "$F"
later over
chmod 755 "$T"
# A separate tmpfs, since an overlay cannot lie on another one.
mount -t tmpfs -o mode=755 tmpfs "$F" || skip_all "cannot mount a tmpfs"
mkdir "$F/bin"
cp "$BUILD/bin"/nsprof* "$F/bin"

# settled: wait until everything started by at() is there. If the kernel refuses an overlay in a
# user namespace, that one ends at once.
settled() {
	local cg
	for cg in "${AT[@]}"; do
		[ -n "$(cat "$CTR_V2/$CTR_CGROOT/$cg/cgroup.procs")" ] || [ -s "$T/log.${cg//\//-}" ] || return 1
	done
}
# at CGROUP COMMAND...: run it in that cgroup.
AT=()
at() {
	AT+=("$1")
	mkdir -p "$CTR_V2/$CTR_CGROOT/$1"
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' - "$CTR_V2/$CTR_CGROOT/$1" "${@:2}" </dev/null >"$T/log.${1//\//-}" 2>&1 &
	PIDS+=("$!")
} 2>/dev/null
lives() { at "$1" sleep 600; }
docker_state() { # DIR ID NAME
	mkdir -p "$1/containers/$2"
	jq -n --arg id "$2" --arg name "/$3" '{ ID: $id, Name: $name, Config: { Image: "shop:1" } }' >"$1/containers/$2/config.v2.json"
}
podman_state() { # DIR ID NAME
	mkdir -p "$1/overlay-containers/$2/userdata"
	jq -n --arg id "$2" --arg name "$3" '[{ id: $id, names: [$name], metadata: "{}" }]' >"$1/overlay-containers/containers.json"
}
# process CGROUP NAME ARGS...: run a process there with this name and these arguments.
process() { # CGROUP NAME ARGS...
	[ -e "$F/bin/$2" ] || cp "$(command -v bash)" "$F/bin/$2"
	at "$1" ${AS-} "$F/bin/$2" -c 'sleep 600; :' - "${@:3}"
}
named() { jq -r --arg id "$1" '.containers[] | select(.id == $id) | .runtime + " " + .name' "${2-$T/ps}"; }
look() { "$F/bin/nsprof" ps --json --interval 0.01 --runtime-root "$F/given" >"$T/ps" 2>"$T/ps.err"; }

# Messages list three containers without a name; the machine may have others.
BESIDE=$("$F/bin/nsprof" ps --interval 0.01 2>&1 >/dev/null | grep 'no name for')
alone() { # NAME TEXT EXPRESSION
	if [ -n "$BESIDE" ]; then skip "$1" "other containers without a name are here"; else like "$@"; fi
}

# ---- found from processes on the host ----

MOUNTED=$(ctr_id a1) ROOTED=$(ctr_id a2) ARGS=$(ctr_id a3) CONMON=$(ctr_id a4) SHIM=$(ctr_id a5) CONFIG=$(ctr_id a6) RELATIVE=$(ctr_id a7) REMAPPED=$(ctr_id a8)
docker_state "$F/mounted" "$MOUNTED" by-mount
mkdir -p "$F/mounted/containers/$MOUNTED/mounts/shm"
mount -t tmpfs tmpfs "$F/mounted/containers/$MOUNTED/mounts/shm"
# If process 1 is in another mount namespace, it does not see that mount, and that container has no
# name.
RUN=19
if grep -q " $F/mounted/containers/" /proc/1/mountinfo; then
	lives "docker/$MOUNTED"
	RUN=20
fi
for c in "$ARGS" "$SHIM" "$CONFIG" "$RELATIVE" "$REMAPPED"; do lives "docker/$c"; done
docker_state "$F/args" "$ARGS" by-args
docker_state "$F/args/165536.165536" "$REMAPPED" by-remapped
process host dockerd -H fd:// --data-root "$F/args"
docker_state "$F/config" "$CONFIG" by-config
echo '{ "data-root": "'"$F/config"'" }' >"$F/daemon.json"
process host dockerd --config-file="$F/daemon.json"
docker_state "$F/relative" "$RELATIVE" by-relative
cd "$F" || exit 1
process host dockerd -g relative
cd "$T" || exit 1
podman_state "$F/storage" "$CONMON" by-conmon
lives "machine.slice/libpod-$CONMON.scope"
process host conmon -b "$F/storage/overlay-containers/$CONMON/userdata" -n by-conmon
mkdir -p "$F/state/io.containerd.runtime.v2.task/ns/$SHIM"
echo '{ "annotations": { "nerdctl/name": "by-shim" } }' >"$F/state/io.containerd.runtime.v2.task/ns/$SHIM/config.json"
cp "$(command -v bash)" "$F/bin/containerd-shim-runc-v2"
cd "$F/state/io.containerd.runtime.v2.task/ns/$SHIM" || exit 1
at host "$F/bin/containerd-shim-runc-v2" -c 'sleep 600; :'
cd "$T" || exit 1

# containerd in a cgroup with no ID in its path: runc's state for it leads to containerd's own.
NAMED=plain-name
at "ns/$NAMED" sleep 600
mkdir -p "$F/given/runc/ns/$NAMED" "$F/manager/io.containerd.runtime.v2.task/ns/$NAMED"
jq -n --argjson pid "${PIDS[-1]}" --argjson start "$(sed 's/.*) //' "/proc/${PIDS[-1]}/stat" | cut -d' ' -f20)" --arg cg "/$CTR_CGROOT/ns/$NAMED" \
	--arg bundle "$F/manager/io.containerd.runtime.v2.task/ns/$NAMED" '{ init_process_pid: $pid, init_process_start: $start, cgroup_paths: { "": $cg },
		config: { labels: ["bundle=/forged/io.containerd.runtime.v2.task/ns/x", "bundle=" + $bundle] } }' >"$F/given/runc/ns/$NAMED/state.json"
echo '{ "annotations": { "nerdctl/name": "by-bundle" } }' >"$F/manager/io.containerd.runtime.v2.task/ns/$NAMED/config.json"
echo "${PIDS[-1]}" >"$F/manager/io.containerd.runtime.v2.task/ns/$NAMED/init.pid"

# ---- found from a container's own root ----

mkdir -p "$F/root/overlay2/l1"/{diff,work,merged} "$F/lower"
docker_state "$F/root" "$ROOTED" by-root
ctr_rootfs "$F/lower" "$TARGETS/spin"
cat >"$T/init" <<INIT
set -e
m=$F/root/overlay2/l1
mount -t overlay overlay -o lowerdir=$F/lower,upperdir=\$m/diff,workdir=\$m/work \$m/merged
mount -t proc proc \$m/merged/proc
cd \$m/merged
./bin/busybox pivot_root . .old
exec /bin/busybox sh -c '/bin/busybox umount -l /.old; exec /bin/busybox sleep 600'
INIT
at "docker/$ROOTED" unshare -m -p --fork --kill-child --propagation private bash "$T/init"
# In a user namespace any user can mount anything: not believed.
FORGED=$(ctr_id b1)
mkdir -p "$F/forged/overlay2/l1"/{diff,work,merged}
docker_state "$F/forged" "$FORGED" forged
sed "s,$F/root,$F/forged,;s,workdir=,userxattr\\,&,;/-t proc/d" "$T/init" >"$T/init.forged"
at "docker/$FORGED" unshare -U -r -m -p --fork --kill-child --propagation private bash "$T/init.forged"

# ---- found from other processes and directories: not all of them are believed ----

INSIDE=$(ctr_id b2) OTHERS=$(ctr_id b3) MINE=$(ctr_id b4) OPEN=$(ctr_id b5) CALLED=$(ctr_id b6)
for c in "$INSIDE" "$OTHERS" "$OPEN" "$CALLED"; do lives "docker/$c"; done
# A container with its own dockerd, which may name any directory.
docker_state "$F/inside" "$INSIDE" stolen
process "docker/$INSIDE" dockerd --data-root "$F/inside"
# A user's podman, with state for the user's own container and for one of docker.
USERS=user.slice/user-$USER_ID.slice/user@$USER_ID.service
lives "$USERS/libpod-$MINE.scope"
mkdir -p "$F/mine"
podman_state "$F/mine" "$MINE" mine
jq --arg id "$OTHERS" '. + [{ id: $id, names: ["stolen"], metadata: "{}" }]' "$F/mine/overlay-containers/containers.json" >"$T/list"
cp "$T/list" "$F/mine/overlay-containers/containers.json"
chown -R $USER_ID "$F/mine"
AS="setpriv --reuid $USER_ID --clear-groups" process host conmon -b "$F/mine/overlay-containers/$MINE/userdata"
# A world-writable directory.
docker_state "$F/open" "$OPEN" stolen
chmod 777 "$F/open"
process host dockerd --data-root "$F/open"
# A process with the right name, but another program.
docker_state "$F/called" "$CALLED" stolen
printf '#!/bin/bash\nsleep 600\n' >"$F/bin/called"
chmod 755 "$F/bin/called"
mkdir "$F/bin/elsewhere"
ln -s ../called "$F/bin/elsewhere/dockerd"
at host "$F/bin/elsewhere/dockerd" --data-root "$F/called"

mkdir "$CTR_V2/$CTR_CGROOT/docker/$(ctr_id b0)"	# left behind
mkdir -p "$CTR_V2/$CTR_CGROOT/a.slice/docker-$ARGS.scope"	# left behind, too; the container restarted elsewhere
check "each is in its cgroup" wait_for settled 20
# tail(1) of coreutils 9.10 prints nothing for cgroup files.
check "all run" wait_for "[ \$(cat '$CTR_V2/$CTR_CGROOT'/docker/*/cgroup.procs '$CTR_V2/$CTR_CGROOT'/machine.slice/*/cgroup.procs '$CTR_V2/$CTR_CGROOT/host/cgroup.procs' | wc -l) -ge $RUN ] &&
	grep -q ' / / .*upperdir=' /proc/\$(sed -n \\\$p '$CTR_V2/$CTR_CGROOT/docker/$ROOTED/cgroup.procs')/mountinfo" 20
look
if [ $RUN = 20 ]; then
	is "a mount of the host" "$(named "$MOUNTED")" "docker by-mount"
else
	skip "a mount of the host" "process 1 is in another mount namespace"
fi
is "dockerd --data-root" "$(named "$ARGS")" "docker by-args"
is "dockerd --userns-remap" "$(named "$REMAPPED")" "docker by-remapped"
is "dockerd --config-file" "$(named "$CONFIG")" "docker by-config"
is "dockerd -g, relative" "$(named "$RELATIVE")" "docker by-relative"
is "conmon's bundle" "$(named "$CONMON")" "podman by-conmon"
is "the folder that containerd's shim is in" "$(named "$SHIM")" "docker by-shim"
is "the bundle that runc tells of" "$(named "$NAMED")" "containerd by-bundle"
is "a container's own root" "$(named "$ROOTED")" "docker by-root"
if grep -qs ' / / .*upperdir=' "/proc/$(sed -n '$p' "$CTR_V2/$CTR_CGROOT/docker/$FORGED/cgroup.procs")/mountinfo"; then
	is "a root made in a user namespace" "$(named "$FORGED")" "docker $FORGED"
else
	skip "a root made in a user namespace" "no overlay in one here: $(tail -n 1 "$T/log.docker-$FORGED")"
fi
is "a dockerd in a container" "$(named "$INSIDE")" "docker $INSIDE"
is "a user's podman, of the user's own" "$(named "$MINE")" "podman mine"
is "a user's podman, of docker's" "$(named "$OTHERS")" "docker $OTHERS"
is "what everybody can write" "$(named "$OPEN")" "docker $OPEN"
is "a program that is called like one" "$(named "$CALLED")" "docker $CALLED"

# ---- reported, once ----

alone "ps: which have no name" "$(cat "$T/ps.err")" "^nsprof ps: warning: no name for .*docker b20000000000, docker b30000000000"
unlike "ps: a cgroup that was left behind has no runtime to name it" "$(cat "$T/ps.err")" "b00000000000"
is "ps: one that is elsewhere by now" "$(jq -r --arg id "$ARGS" '.containers[] | select(.id == $id) | .cgroup' "$T/ps")" "/$CTR_CGROOT/docker/$ARGS"
unlike "ps: nor does it run" "$(jq -r '.containers[].id' "$T/ps")" "^b00000000000"
unlike "record: nor does it there" "$("$NSPROF" record --container nosuch -o "$T/data" 2>&1)" "b00000000000"
like "ps: what is not trusted" "$(cat "$T/ps.err")" "not trusted: '$F/open' \\(dockerd\\), to which others"
like "ps: what was read" "$(cat "$T/ps.err")" "no state file in .*'$F/given' \\(--runtime-root\\)"
is "ps: once" "$(wc -l <"$T/ps.err")" 1
at "docker/$ARGS" "$TARGETS/spin" 600
check "record: by a name from elsewhere" "$NSPROF" record --container by-args --duration 0.5 -o "$T/data"
unlike "record: nothing is said of containers that are not in it" "$(cat "$T/check.err")" "no name for"
check_rc "record: a name that nobody has" 1 "$NSPROF" record --container nobody --duration 0.1 -o "$T/none"
alone "record: a name that nobody has: where was looked" "$(cat "$T/check.err")" \
	"no container for --container nobody; .*; no name for docker b.*not trusted: '$F/open'"
at "docker/$OTHERS" "$TARGETS/spin" 600
"$NSPROF" record -F 999 -G "$CTR_CGROOT/docker" --duration 0.7 -o "$T/data" 2>"$T/err"
is "record: once" "$(grep -c 'warning: no name for .*docker ' "$T/err")" 1
"$NSPROF" doctor >"$T/doctor" 2>&1
like "doctor" "$(cat "$T/doctor")" "^not ok +container names +no name for .*docker .*: not trusted: .*"

# ---- without root, and by settings: in a mount namespace with its own /etc and /var/lib ----

SYSTEM=$(ctr_id c1) STORAGE=$(ctr_id c2) HOMES=$(ctr_id c3) BARRED=$(ctr_id c4)
for c in "$SYSTEM" "$BARRED"; do lives "docker/$c"; done
lives "machine.slice/libpod-$STORAGE.scope"
lives "$USERS/libpod-$HOMES.scope"
check "those of the settings run" wait_for settled 20
docker_state "$F/by-json" "$SYSTEM" by-json
podman_state "$F/by-conf" "$STORAGE" by-conf
podman_state "$F/by-home" "$HOMES" by-home
chown -R $USER_ID "$F/by-home"
cat >"$T/settings" <<SETTINGS
set -e
mount -t tmpfs tmpfs "$T/over"
mkdir "$T/over/upper" "$T/over/work"
mount -t overlay overlay -o lowerdir=/etc,upperdir="$T/over/upper",workdir="$T/over/work" /etc
mount -t tmpfs -o mode=755 tmpfs /var/lib
mkdir -m 711 /var/lib/docker
mkdir -m 700 /var/lib/docker/containers
mkdir -p /etc/docker /etc/containers "$T/home/.config/containers"
echo "somebody:x:$USER_ID:$USER_ID::$T/home:/bin/sh" >>/etc/passwd
echo '{ "data-root": "$F/by-json" }' >/etc/docker/daemon.json
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s" # not the usual one\n' "$F/by-conf" >/etc/containers/storage.conf
printf '[storage]\ngraphroot = "%s"\n' "\\\$HOME/../files/by-home" >"$T/home/.config/containers/storage.conf"
"$F/bin/nsprof" ps --json --interval 0.01 >"$T/settings.ps" 2>"$T/settings.err"
setpriv --reuid $USER_ID --clear-groups "$F/bin/nsprof" ps --json --interval 0.01 >"$T/barred.ps" 2>"$T/barred.err"
setpriv --reuid $USER_ID --clear-groups "$F/bin/nsprof" doctor >"$T/barred.doctor" 2>&1 || true
SETTINGS
mkdir "$T/over"
if unshare -m --propagation private bash "$T/settings" 2>"$T/err"; then
	is "daemon.json" "$(named "$SYSTEM" "$T/settings.ps")" "docker by-json"
	is "storage.conf" "$(named "$STORAGE" "$T/settings.ps")" "podman by-conf"
	is "storage.conf in a home" "$(named "$HOMES" "$T/settings.ps")" "podman by-home"
	like "without root: which folder, and why" "$(cat "$T/barred.err")" "warning: no name for .*: cannot read '/var/lib/docker'.*: Permission denied \\(names need root\\)"
	is "without root: once" "$(wc -l <"$T/barred.err")" 1
	like "without root: doctor" "$(cat "$T/barred.doctor")" "^not ok +container names +no name for .*'/var/lib/docker'.* Permission denied \\(names need root\\).*; run as root"
else
	skip "settings" "no mount namespace with an /etc of its own here: $(tail -n 1 "$T/err")"
fi
done_testing
