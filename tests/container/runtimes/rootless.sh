#!/bin/bash
# timeout: 200
# podman with crun and without root: its state is below the user's home and /run/user, and nsprof
# gets no option that points there. Runs in a mount namespace with cgroup v2 only. Part of it is
# delegated to the user as systemd does it, and that user exists nowhere else.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_root
need_cmd podman crun conmon newuidmap newgidmap setpriv jq
if [ -z "${ROOTLESS_INSIDE-}" ]; then
	unshare -m --propagation private true 2>/dev/null || skip_all "cannot make a mount namespace here"
	rm -rf "$T"
	ROOTLESS_INSIDE=1 exec unshare -m --propagation private bash "$0"
fi
[ -z "${RUNTIMES_OF-}" ] || skip_all "its user has only this machine's podman"
USER_ID=4242
USER_NAME=nsprof-test
HOME_DIR=$T/home
STATE_DIR=/run/user/$USER_ID
! getent passwd $USER_ID $USER_NAME >/dev/null || skip_all "there is a user $USER_ID"
chmod 755 "$T"
mkdir -p "$HOME_DIR" /run/user
mkdir "$T/etc" "$T/work"
mount -t overlay -o lowerdir=/etc,upperdir="$T/etc",workdir="$T/work" overlay /etc || skip_all "no overlay on /etc"
echo "$USER_NAME:x:$USER_ID:$USER_ID::$HOME_DIR:/bin/sh" >>/etc/passwd
echo "$USER_NAME:x:$USER_ID:" >>/etc/group
echo "$USER_NAME:500000:65536" | tee /etc/subuid >/etc/subgid
mount -t tmpfs tmpfs /run/user
mkdir -p "$STATE_DIR"
chmod 700 "$STATE_DIR" "$HOME_DIR"
chown $USER_ID:$USER_ID "$STATE_DIR" "$HOME_DIR"
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
CTR_V2=/sys/fs/cgroup
ctr_need
SLICE=$CTR_CGROOT/user.slice/user-$USER_ID.slice/user@$USER_ID.service
later "find '$CTR_V2/$CTR_CGROOT' -mindepth 1 -depth -type d -exec rmdir {} +"
mkdir -p "$CTR_V2/$SLICE/app" "$CTR_V2/$SLICE/init"
chown -R $USER_ID:$USER_ID "$CTR_V2/$SLICE"

as_user() {
	(
		echo $BASHPID >"$CTR_V2/$SLICE/init/cgroup.procs"
		cd "$HOME_DIR" && exec setpriv --reuid $USER_ID --regid $USER_ID --clear-groups env -i XDG_RUNTIME_DIR="$STATE_DIR" \
			HOME="$HOME_DIR" PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
	)
}
pm() { as_user podman --storage-driver vfs --cgroup-manager cgroupfs --runtime crun --events-backend file "$@"; }
# The process that keeps the user namespace.
later 'p=$(cat "$STATE_DIR/libpod/tmp/pause.pid") && kill "$p" && wait_for "! kill -0 $p" 10'
later 'pm rm -f -t 0 -a'
rt_root
tar c -C "$T/root" . | pm import -q - nsprof-test >"$T/log" 2>&1 || skip_all "podman import fails without root: $(tail -n 1 "$T/log")"
OPTIONS=(--cgroup-parent "/$SLICE/app" --network none --pids-limit 0 --ulimit nofile=1024:1024 --ulimit nproc=1000:1000)
pm run -d --name mine "${OPTIONS[@]}" nsprof-test "${RT_COMMAND[@]}" >"$T/id" 2>"$T/log" || skip_all "podman run fails without root: $(tail -n 1 "$T/log")"
RT_ID=$(tail -n 1 "$T/id") RT_RUNTIME=podman RT_NAME=mine RT_IMAGE=localhost/nsprof-test:latest
first() { pm inspect -f '{{.State.Pid}}' mine 2>"$T/log"; }
rt_checks "$SLICE/app/libpod-$RT_ID" "$(first)"
# Storage in another place: only the command line of its conmon names it, nothing in the home.
far() {
	as_user podman --root "$HOME_DIR/far/root" --runroot "$STATE_DIR/far" --tmpdir "$STATE_DIR/far-tmp" --storage-driver vfs --cgroup-manager cgroupfs \
		--runtime crun --events-backend file "$@"
}
later 'far rm -f -t 0 -a'
tar c -C "$T/root" . | far import -q - nsprof-test >"$T/log" 2>&1
far run -d --name afar "${OPTIONS[@]}" nsprof-test /app/spin 600 >"$T/id" 2>"$T/log" || fail "podman with its storage elsewhere" "$(cat "$T/log")"
is "storage elsewhere" "$("$NSPROF" ps --json --interval 0.1 | jq -r --arg id "$(tail -n 1 "$T/id")" '.containers[] | select(.id == $id) | .runtime + " " + .name')" "podman afar"
# In a cgroup that is not its own.
pm run -d --cgroups=disabled --name nocg --network none --ulimit nofile=1024:1024 --ulimit nproc=1000:1000 nsprof-test /app/spin 600 >"$T/log" 2>&1 ||
	fail "podman --cgroups=disabled" "$(cat "$T/log")"
NOCG=$(pm inspect -f '{{.State.Pid}}' nocg 2>"$T/log")
is "no cgroup of its own: it names none" "$("$NSPROF" ps --json --interval 0.1 | jq -r --arg cg "/$CTR_CGROOT/" '.containers[] | select((.cgroup | startswith($cg)) and .processes > 0) | .name' | sort | paste -sd ' ')" "afar mine"
check_rc "no cgroup of its own: it cannot be chosen" 1 "$NSPROF" record --container nocg --duration 0.1 -o "$T/none"
like "no cgroup of its own: what to do" "$(cat "$T/check.err")" "container 'nocg' runs without a cgroup of its own.* -p $NOCG records"
pm rm -f -t 0 nocg >"$T/log" 2>&1
check "podman exec" pm exec -d mine /app/spin-a 30
rt_exec
again() { pm restart -t 0 mine >"$T/log" 2>&1; PID=$(first); }
rt_lives "$(first)" again

export -f pm as_user
export T USER_ID STATE_DIR HOME_DIR CTR_V2 SLICE
rt_begins bash -c 'pm "$@"' - run --rm --name late "${OPTIONS[@]}" nsprof-test /app/rt-late 0.5

# Another user must not read the home or the runtime directory.
mkdir "$T/bin"
cp "$BUILD/bin"/nsprof* "$T/bin"
setpriv --reuid $((USER_ID + 1)) --clear-groups "$T/bin/nsprof" ps --interval 0.01 >"$T/ps" 2>"$T/err"
like "another user: which folders, and why" "$(cat "$T/err")" "no name for .*: cannot read .*'$HOME_DIR', '$STATE_DIR': Permission denied \(names need root\)"
is "another user: once" "$(wc -l <"$T/err")" 1
is "the user" "$(as_user "$T/bin/nsprof" ps --json --interval 0.01 2>"$T/err" | jq -r --arg id "$RT_ID" '.containers[] | select(.id == $id) | .name')" mine

# State that the user writes about another user's container.
OTHER=$(printf 'ffff%060d' 1)
mkdir -p "$CTR_V2/$CTR_CGROOT/docker/$OTHER"
(echo $BASHPID >"$CTR_V2/$CTR_CGROOT/docker/$OTHER/cgroup.procs" && exec sleep 600) &
later "kill $!; wait $!"
jq --arg id "$OTHER" '. + [.[0] + { id: $id, names: ["stolen"] }]' "$HOME_DIR/.local/share/containers/storage/vfs-containers/containers.json" >"$T/list"
mkdir -p "$HOME_DIR/.local/share/docker/overlay-containers"
cp "$T/list" "$HOME_DIR/.local/share/docker/overlay-containers/containers.json"
"$NSPROF" ps --json --interval 0.1 >"$T/ps"
is "a container of others, named by a user" "$(jq -r --arg id "$OTHER" '.containers[] | select(.id == $id) | .runtime + " " + .name' "$T/ps")" "docker $OTHER"
check "podman rm -f" pm rm -f -t 0 mine
rt_gone
done_testing
