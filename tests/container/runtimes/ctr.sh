#!/bin/bash
# timeout: 200
# containerd with its client ctr: a private daemon without the cri plugin, cgroups as it chooses them (NAMESPACE/NAME) and as Kubernetes does.
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
# All flags before the folder. It makes its cgroup of the namespace and the name.
c run -d --rootfs "$T/root" k1 "${RT_COMMAND[@]}" >"$T/log" 2>&1 || skip_all "ctr run fails: $(tail -n 1 "$T/log")"
later 'remove k1'
rt_checks "$CTR_CGROOT/k1" "$(c task ls | awk '$1 == "k1" { print $2 }')"
check "it is removed" remove k1
rt_gone

# ---- a pod: two containers in one cgroup's children, picked by it
rt_root
pod=$CTR_CGROOT/kubepods/burstable/pod1234
for n in a b; do
	c run -d --cgroup "/$pod/c$n" --rootfs "$T/root" "p$n" /app/spin-a 600 >"$T/log" 2>&1 || fail "p$n starts" "$(cat "$T/log")"
	later "remove p$n"
done
ctr_record "$T/pod" -G "$pod" -F 499 --duration 2
remove pa
remove pb
"$NSPROF" symbolize -q --no-inline --by container "$T/pod" >"$T/f"
for n in a b; do
	check "pod: container c$n" has_chain <(grep "c$n;spin-a;" "$T/f") "$("$TARGETS/spin-a" --chain)" 95
done
done_testing
