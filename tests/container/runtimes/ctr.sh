#!/bin/bash
# timeout: 200
# containerd with its client ctr: a private daemon without the cri plugin, with cgroups of its own
# choice (NAMESPACE/NAME) and as Kubernetes lays them out.
. "$(dirname "$0")/../../lib.sh"
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/lib.sh"
need_cmd containerd ctr runc
ctr_need

D=$T/containerd
mkdir "$D"
cat >"$D/config.toml" <<TOML
version = 2
root = "$D/root"
state = "$D/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
  address = "$D/sock"
TOML
containerd -c "$D/config.toml" >"$T/containerd.log" 2>&1 &
DAEMON=$!
rt_cgroups
later 'rt_unmount "$D"'
# The folder of runc's states for a namespace, wherever the daemon's own state is.
later 'rmdir "/run/containerd/runc/$CTR_CGROOT"'
later 'kill $DAEMON; wait $DAEMON'
c() { ctr -a "$D/sock" -n "$CTR_CGROOT" "$@"; }
remove() { # NAME
	c task kill -s KILL "$1"
	wait_for "! c task ls -q | grep -qx '$1' || c task rm '$1'" 10
	c container rm "$1"
}
wait_for 'c version || ! kill -0 $DAEMON' 20 >"$T/log" 2>&1
c version >"$T/log" 2>&1 || skip_all "containerd does not start here: $(tail -n 1 "$T/containerd.log")"
rt_root
# ctr requires all flags before the folder. It builds its cgroup from the namespace and the name.
c run -d --rootfs "$T/root" shop-web "${RT_COMMAND[@]}" >"$T/log" 2>&1 || skip_all "ctr run fails: $(tail -n 1 "$T/log")"
later 'remove shop-web'
RT_RUNTIME=containerd RT_NAME=shop-web RT_ID=shop-web
first() { c task ls | awk '$1 == "shop-web" { print $2 }'; }
rt_checks "$CTR_CGROOT/shop-web" "$(first)"
check "ctr task exec" c task exec -d --exec-id beside shop-web /app/spin-a 30
rt_exec
again() {
	c task kill -s KILL -a shop-web
	wait_for 'c task rm -f shop-web' 10
	c task start -d shop-web
	PID=$(first)
} 2>"$T/again"
rt_lives "$(first)" again
c run -d --rootfs "$T/root" shop-queue /app/spin 60 >"$T/log" 2>&1 || fail "a second one starts" "$(cat "$T/log")"
later 'remove shop-queue'
rt_begins ctr -a "$D/sock" -n "$CTR_CGROOT" run --rm --rootfs "$T/root" late /app/rt-late 0.5
rt_unclear shop- shop-web shop-queue
check "it is removed" remove shop-web
rt_gone

# ---- a pod: two containers in child cgroups of one cgroup, selected by it, and one of them by its
# name
rt_root
pod=$CTR_CGROOT/kubepods/burstable/pod1234
for n in a b; do
	c run -d --cgroup "/$pod/c$n" --rootfs "$T/root" "p$n" /app/spin-a 600 >"$T/log" 2>&1 || fail "p$n starts" "$(cat "$T/log")"
	later "remove p$n"
done
rt_record "$T/pod" -G "$pod" --duration 2
rt_record "$T/one" --container pb --duration 1
remove pa
remove pb
"$NSPROF" symbolize -q --no-inline --by container "$T/pod" >"$T/f"
for n in a b; do
	check "pod: container p$n" has_chain <(grep "^p$n;spin-a;" "$T/f") "$("$TARGETS/spin-a" --chain)" 95
done
is "pod: one of them" "$("$NSPROF" symbolize -q --no-inline --by container "$T/one" | cut -d';' -f1 | sort -u)" pb
done_testing
